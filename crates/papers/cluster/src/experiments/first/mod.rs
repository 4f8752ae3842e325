//! The number of first clusters on the circle.

mod pictures;

use super::data;
use crate::PAPERS;
use crate::quantities::{BETA, MODEL, TOKENS};
use crate::setting::{model, uniform};
use crate::theory::modes;
use attnlab_core::error::{Error, Result};
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::{Described, Experiment, settings};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::{Row, store};
use attnlab_theory::dynamics::flow::{Flow, Method, VectorField};
use attnlab_theory::particles::{Normalisation, ParticleFlow, Particles, of_state, to_state};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::f64::consts::TAU;

/// Settings of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstClusters {
    /// Draws per cell.
    pub trials: u64,
    /// Number of tokens.
    pub tokens: usize,
    /// Inverse temperatures.
    pub betas: Vec<f64>,
    /// Largest width of a cluster in units of 2π/√(2β).
    pub tight: f64,
    /// Share of the tokens in clusters at the time of the count.
    pub share: f64,
}

impl Described for FirstClusters {
    const ID: &'static str = "cluster.first";
    const NAME: &'static str = "cluster_first";
    const TITLE: &'static str = "Number of first clusters on the circle and the fastest mode";
    const SOURCE: Source = Source { paper: &PAPERS[4], place: "circle" };
}

/// Gap between two clusters in units of 2π/√(2β): tokens closer than it belong together.
const LINK: f64 = 0.125;

/// Times between two looks, and the last time, in units of 1/(rate of the fastest mode).
const LOOKS: (f64, usize) = (0.25, 240);

/// Sizes and widths (radian) of the groups of angles in [0, 2π) that gaps of more than `link` separate.
pub fn arcs(mut angles: Vec<f64>, link: f64) -> Vec<(usize, f64)> {
    angles.sort_by(f64::total_cmp);
    let n = angles.len();
    let gap = |i: usize| {
        if i + 1 < n { angles[i + 1] - angles[i] } else { angles[0] + TAU - angles[n - 1] }
    };
    let Some(cut) = (0..n).find(|i| gap(*i) > link) else {
        return vec![(n, TAU)];
    };
    let (mut all, mut size, mut width) = (vec![], 1, 0.0);
    for step in 1..=n {
        let before = gap((cut + step) % n);
        if before > link {
            all.push((size, width));
            (size, width) = (1, 0.0);
        } else {
            size += 1;
            width += before;
        }
    }
    all
}

/// The flow with time in units of 1/rate: rates of USA are of order e^β.
struct InUnits {
    flow: ParticleFlow,
    rate: f64,
}

impl VectorField for InUnits {
    fn dim(&self) -> usize {
        self.flow.dim()
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        self.flow.rate(x, out);
        out.iter_mut().for_each(|v| *v /= self.rate);
    }
}

impl Experiment for FirstClusters {
    fn validate(&self) -> Result<()> {
        settings::spread("trials", self.trials)?;
        settings::some("betas", &self.betas)?;
        settings::positive("betas", &self.betas)?;
        settings::positive("tight", &[self.tight])?;
        attnlab_core::error::at_least("tokens", self.tokens, 2)?;
        if !(self.share > 0.0 && self.share <= 1.0) {
            return Err(Error::invalid("share", self.share, "must be a number in (0, 1]"));
        }
        Ok(())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cells = Normalisation::NAMES.iter().flat_map(|model| {
            self.betas.iter().map(|beta| {
                let values = [MODEL.is(*model), BETA.is(*beta), TOKENS.is(self.tokens)];
                values.into_iter().collect()
            })
        });
        Ok(cells.collect())
    }

    fn trials(&self) -> u64 {
        self.trials
    }

    /// "count": clusters at the first look at which the share of the tokens is in tight groups; "time": of that look, in
    /// units of 1/(rate of the fastest mode).
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (model, beta, n) = (model(cell)?, cell.get(BETA), cell.get(TOKENS));
        let start = uniform(2, n, &mut streams.part("tokens", 0))?;
        let rate = modes::rate(model, beta, modes::fastest(beta));
        let times: Vec<f64> = (1..=LOOKS.1).map(|i| LOOKS.0 * i as f64).collect();
        let flow = Particles::new(beta, model).flow(n, 2)?;
        let field = InUnits { flow, rate };
        let flow = Flow::new(Method::Tsit45).within(1e-5);
        let path = flow.run(&field, &to_state(start.view()), &times)?;
        let unit = TAU / (2.0 * beta).sqrt().max(1.0);
        for (state, t) in path.states.iter().zip(&times) {
            let tokens = of_state(state, n)?;
            let angles = (0..n).map(|i| tokens[[1, i]].atan2(tokens[[0, i]]).rem_euclid(TAU));
            let groups = arcs(angles.collect(), LINK * unit);
            let tight = groups.iter().filter(|(_, width)| *width <= self.tight * unit);
            // A single token is no cluster.
            let tight: Vec<usize> = tight.map(|(size, _)| *size).filter(|size| *size > 1).collect();
            if tight.iter().sum::<usize>() as f64 >= self.share * n as f64 {
                return Ok(data([("count", store::number(tight.len() as f64)), ("time", store::number(*t))]));
            }
        }
        Ok(data([("count", store::number(f64::NAN)), ("time", store::number(f64::NAN))]))
    }

    fn size(&self) -> String {
        format!("*n* = {}, {} draws", self.tokens, self.trials)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

#[cfg(test)]
#[test]
fn arcs_go_around() {
    let found = arcs(vec![0.1, 6.2, 3.0, 3.05, 3.1], 0.3);
    assert_eq!(found.len(), 2);
    assert!(found.iter().any(|(size, width)| *size == 3 && (width - 0.1).abs() < 1e-12));
    assert!(found.iter().any(|(size, width)| *size == 2 && (width - 0.1832).abs() < 1e-3));
    assert_eq!(arcs(vec![0.0, 2.0, 4.0], 3.0), vec![(3, TAU)]);
}
