//! In-context denoising Fig. 6: the loss of softmax attention with scaled identities.

use crate::PAPERS;
use crate::prompts::{Denoising, Dimension, Family, Prompt};
use crate::quantities::cell::{CASE, CASES, CONTEXT_OR_LIMIT};
use crate::scales::ScaleLandscape;
use attnlab_core::stats::mean;
use attnlab_lab::prelude::*;

mod pictures;

settings! {
    /// In-context denoising Fig. 6, with the landscape of infinitely many tokens beside it.
    #[experiment("denoise.alpha_beta", rows = "denoise_alpha_beta",
        title = "Loss landscape of softmax attention with scaled identities")]
    #[source(&PAPERS[0], "Figure 6")]
    pub struct DenoiseAlphaBeta {
        pub trials: u64 = whole(2..),
        pub prompts: usize = whole(2..),
        pub ambient: usize,
        pub contexts: Vec<usize> = whole(1..),
        pub sphere_dim: usize,
        pub radius: f64 = positive,
        pub clusters: usize = whole(1..),
        pub cluster_variance: f64,
        pub noise: f64 = positive,
        pub points: usize = whole(10..),
        pub beta_range: [f64; 2],
        pub alpha_range: [f64; 2],
        pub trained_sphere: Vec<[f64; 2]>,
        pub trained_clusters: Vec<[f64; 2]>,
    }
}

/// Contours are drawn on a grid this many times as fine as the cells, so that the narrow valleys at
/// small β do not break up.
const FINER: usize = 3;

/// The context length that stands for infinitely many tokens.
const WITHOUT_END: usize = 0;

impl DenoiseAlphaBeta {
    fn problem(&self, case: &str, context: usize) -> Denoising {
        let family = match case {
            "sphere" => Family::Sphere { dim: Dimension::Fixed(self.sphere_dim), radius: self.radius },
            _ => Family::balanced(self.clusters, self.cluster_variance, self.radius),
        };
        // The limit needs no tokens; a prompt has one at least.
        Denoising { family, ambient: self.ambient, context: context.max(1), sigma_z2: self.noise }
    }

    /// The α or β of the cells, and more between them for the contours.
    fn grid(&self, [low, high]: [f64; 2]) -> Vec<f64> {
        let points = FINER * (self.points - 1) + 1;
        (0..points).map(|i| low + (high - low) * i as f64 / (points - 1) as f64).collect()
    }
}

impl Experiment for DenoiseAlphaBeta {
    fn validate(&self) -> Result<()> {
        for (name, [low, high]) in [("beta_range", self.beta_range), ("alpha_range", self.alpha_range)] {
            let fits = low < high && low.is_finite() && high.is_finite();
            require(fits, name, format!("[{low}, {high}]"), "must be two finite numbers, the smaller first")?;
        }
        CASES.iter().try_for_each(|case| self.problem(case, 1).validate())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let lengths = self.contexts.iter().copied().chain([WITHOUT_END]);
        let cell = |(case, context): (&str, usize)| Params::from_iter([CASE.is(case), CONTEXT_OR_LIMIT.is(context)]);
        Ok(iproduct!(CASES, lengths).map(cell).collect())
    }

    /// The means of which the landscape is made, its lowest point with β > 0, and how much the loss
    /// at the heuristic exceeds it, on the same prompts.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (case, context) = (cell.get(CASE), cell.get(CONTEXT_OR_LIMIT));
        let problem = self.problem(case, context);
        let draw = |i: u64| problem.draw(&streams.child("prompt", i));
        let prompts: Result<Vec<Prompt>> = (0..self.prompts as u64).map(draw).collect();
        let make = if context == WITHOUT_END { ScaleLandscape::of_limit } else { ScaleLandscape::new };
        let landscape = make(prompts?)?;
        let betas = self.grid(self.beta_range).into_iter();
        let moments = betas.map(|beta| landscape.moments(beta)).collect::<Result<Vec<_>>>()?;
        // The heuristic lies in the middle of two decades.
        let heuristic = 1.0 / self.noise;
        let lowest = landscape.minimum(0.1 * heuristic, 10.0 * heuristic)?;
        let at_heuristic = landscape.losses(1.0, heuristic)?;
        let at_lowest = landscape.losses(lowest.alpha, lowest.beta)?;
        let more: Vec<f64> = at_heuristic.iter().zip(&at_lowest).map(|(h, l)| h - l).collect();
        let (more, at_heuristic) = (mean(&more, 0.95)?, mean(&at_heuristic, 0.95)?);
        let mut data = Map::new();
        let series = |f: fn(&crate::scales::Moments) -> f64| store::series(&moments.iter().map(f).collect::<Vec<_>>());
        data.insert("square".into(), series(|m| m.square));
        data.insert("cross".into(), series(|m| m.cross));
        for (name, x) in [
            ("target", moments[0].target),
            ("alpha_min", lowest.alpha),
            ("beta_min", lowest.beta),
            ("loss_min", lowest.loss),
            ("loss_heuristic", at_heuristic.value),
            ("more", more.value),
            ("more_low", more.low),
            ("more_high", more.high),
        ] {
            data.insert(name.into(), store::number(x));
        }
        Ok(data)
    }

    fn memory(&self, cell: &Params) -> u64 {
        self.problem(cell.get(CASE), cell.get(CONTEXT_OR_LIMIT)).memory(1).saturating_mul(self.prompts as u64)
    }

    fn size(&self) -> String {
        format!("*n* = {}, {} sets of {} prompts", self.ambient, self.trials, self.prompts)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
