//! In-context denoising Fig. 3: the energy landscape of one context, one step and many.

use crate::PAPERS;
use crate::prompts::{Denoising, Dimension, Family, Prompt};
use crate::quantities::NOISE_VARIANCE;
use crate::theory::mixture::distance2;
use attnlab_core::stats::mean;
use attnlab_lab::figure::ASPECT;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::memory::DenseMemory;
use ndarray::{Array2, ArrayView1, array};

mod pictures;

settings! {
    /// In-context denoising Fig. 3 for any context, temperature and step size, and the loss by steps.
    #[experiment("denoise.landscape", rows = "denoise_landscape",
        title = "Energy landscape of a context: one step against many")]
    #[source(&PAPERS[0], "Figure 3")]
    pub struct DenoiseLandscape {
        pub task: String = word("task", &TASKS),
        pub radius: f64 = positive,
        pub context: usize = whole(1..),
        pub noise: Vec<f64> = positive,
        pub alpha: f64 = positive,
        pub beta: f64 = positive,
        pub gamma: f64 = positive,
        pub steps: usize = whole(2..),
        pub clusters: usize = whole(1..),
        pub cluster_variance: f64,
        pub queries: usize = whole(1..),
        pub grid: usize = whole(10..),
        pub prompts: usize = whole(2..),
    }
}

const TASKS: [&str; 2] = ["circle", "clusters"];

impl DenoiseLandscape {
    fn problem(&self, sigma_z2: f64) -> Denoising {
        let family = match self.task.as_str() {
            "circle" => Family::Sphere { dim: Dimension::Fixed(1), radius: self.radius },
            _ => Family::balanced(self.clusters, self.cluster_variance, self.radius),
        };
        Denoising { family, ambient: 2, context: self.context, sigma_z2 }
    }

    fn memory_of(&self, prompt: &Prompt, sigma_z2: f64) -> Result<DenseMemory> {
        DenseMemory::new(prompt.context.view(), self.alpha, self.beta / sigma_z2)
    }
}

impl Experiment for DenoiseLandscape {
    fn validate(&self) -> Result<()> {
        self.problem(self.noise[0]).validate()
    }

    fn cells(&self) -> Result<Vec<Params>> {
        Ok(self.noise.iter().map(|sigma_z2| Params::from_iter([NOISE_VARIANCE.is(*sigma_z2)])).collect())
    }

    /// The data of one picture and one curve: the landscape, tokens, queries and paths of one context,
    /// its minima, and the mean loss after each step over fresh prompts.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let sigma_z2 = cell.get(NOISE_VARIANCE);
        let mut data = self.picture(sigma_z2, streams)?;
        data.extend(self.losses(sigma_z2, streams)?);
        Ok(data)
    }

    fn memory(&self, cell: &Params) -> u64 {
        let prompt = self.problem(cell.get(NOISE_VARIANCE)).memory(self.queries);
        let losses = 8 * (self.prompts as u64).saturating_mul(self.steps as u64 + 4);
        prompt + losses + 16 * (self.grid as u64).pow(2)
    }

    fn size(&self) -> String {
        format!("*L* = {}, {} prompts, {} cells along x", self.context, self.prompts, self.grid)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

impl DenoiseLandscape {
    fn picture(&self, sigma_z2: f64, streams: &Streams) -> Result<Map<String, Value>> {
        let problem = self.problem(sigma_z2);
        let prompt = problem.draw(streams)?;
        let (targets, queries) = problem.draw_queries(&prompt.prior, self.queries, streams)?;
        let memory = self.memory_of(&prompt, sigma_z2)?;
        let mut data = Map::new();
        let mut plane = |name: &str, points: &Array2<f64>| {
            for (axis, row) in ["x", "y"].iter().zip(points.rows()) {
                data.insert(format!("{name}_{axis}"), store::series(&row.to_vec()));
            }
        };
        plane("token", &prompt.context);
        plane("target", &targets);
        plane("query", &queries);
        plane("bayes", &prompt.prior.posterior_means(queries.view(), sigma_z2)?);
        let mut reach = reach(&prompt.context).max(reach(&queries)).max(self.radius);
        for (i, query) in queries.columns().into_iter().enumerate() {
            let path = memory.descend(query, self.gamma * self.alpha, self.steps)?;
            reach = reach.max(self::reach(&path));
            plane(&format!("path_{}", i + 1), &path);
        }
        // Some air around everything that is drawn.
        let half = 1.12 * reach;
        let (x, y) = axes(half, self.grid);
        let energies: Vec<f64> = iproduct!(&y, &x).map(|(y, x)| memory.energy(array![*x, *y].view())).collect();
        data.insert("half_height".into(), store::number(half));
        data.insert("energy".into(), store::series(&energies));
        // Starts half as dense as the cells: minima are found by descent, the grid only feeds it.
        let valleys = memory.minima_on_grid(self.grid.div_ceil(2))?;
        let of = |f: fn(&attnlab_theory::attention::memory::Minimum) -> f64| {
            store::series(&valleys.minima.iter().map(f).collect::<Vec<_>>())
        };
        data.insert("minimum_x".into(), of(|m| m.state[0]));
        data.insert("minimum_y".into(), of(|m| m.state[1]));
        data.insert("minimum_energy".into(), of(|m| m.energy));
        data.insert("minimum_shared_by".into(), of(|m| m.shared_by));
        data.insert("minimum_is_token".into(), of(|m| f64::from(u8::from(m.token.is_some()))));
        data.insert("minimum_starts".into(), of(|m| m.starts as f64));
        Ok(data)
    }

    /// Mean losses with 95 % intervals: "loss" after each step, and of what it is compared with.
    fn losses(&self, sigma_z2: f64, streams: &Streams) -> Result<Map<String, Value>> {
        let problem = self.problem(sigma_z2);
        let mut by_step = vec![Vec::with_capacity(self.prompts); self.steps + 1];
        let (mut zero, mut bayes, mut nearest) = (vec![], vec![], vec![]);
        for i in 0..self.prompts as u64 {
            let prompt = problem.draw(&streams.child("prompt", i))?;
            let memory = self.memory_of(&prompt, sigma_z2)?;
            let target = prompt.target.view();
            let path = memory.descend(prompt.query.view(), self.gamma * self.alpha, self.steps)?;
            for (losses, state) in by_step.iter_mut().zip(path.columns()) {
                losses.push(distance2(state, target));
            }
            zero.push(target.dot(&target));
            let best = prompt.prior.posterior_mean(prompt.query.view(), sigma_z2)?;
            bayes.push(distance2(best.view(), target));
            let far = |t: &ArrayView1<f64>| distance2(*t, prompt.query.view());
            let near = prompt.context.columns().into_iter().min_by(|a, b| far(a).total_cmp(&far(b)));
            nearest.extend(near.map(|token| distance2(token, target)));
        }
        let mut data = Map::new();
        let mut keep = |name: &str, losses: &[Vec<f64>]| -> Result<()> {
            let means = losses.iter().map(|l| mean(l, 0.95)).collect::<Result<Vec<_>>>()?;
            let mut insert = |end: &str, values: Vec<f64>| data.insert(format!("{name}{end}"), store::series(&values));
            insert("", means.iter().map(|e| e.value).collect());
            insert("_low", means.iter().map(|e| e.low).collect());
            insert("_high", means.iter().map(|e| e.high).collect());
            Ok(())
        };
        // One step against the last, on the same prompts: the difference is far better known than either of them.
        let paired = by_step[self.steps].iter().zip(&by_step[1]).map(|(last, first)| last - first).collect();
        keep("loss", &by_step)?;
        keep("zero", &[zero])?;
        keep("bayes", &[bayes])?;
        keep("nearest", &[nearest])?;
        keep("last_minus_first", &[paired])?;
        Ok(data)
    }
}

/// Middles of the cells of a window of this half height, as wide as a panel makes it, so that both axes have one scale.
fn axes(half: f64, grid: usize) -> (Vec<f64>, Vec<f64>) {
    let middles = |half: f64, count: usize| -> Vec<f64> {
        (0..count).map(|i| half * ((2 * i + 1) as f64 / count as f64 - 1.0)).collect()
    };
    (middles(half / ASPECT, grid), middles(half, ((grid as f64 * ASPECT).round() as usize).max(2)))
}

/// Half the height of a window that shows these points (2, M).
fn reach(points: &Array2<f64>) -> f64 {
    let [wide, high] = [0, 1].map(|axis| points.row(axis).iter().fold(0.0_f64, |m, x| m.max(x.abs())));
    high.max(ASPECT * wide)
}
