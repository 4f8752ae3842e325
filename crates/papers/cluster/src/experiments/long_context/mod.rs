//! Long contexts: the transition of one attention layer at β = γ log n.

mod pictures;

use super::data;
use crate::PAPERS;
use crate::quantities::{DIM, GAMMA, TOKENS};
use crate::setting::uniform;
use attnlab_core::error::{Error, Result, positive};
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::{Described, Experiment, settings};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::{Row, memory, store};
use attnlab_theory::attention::{Mssa, Softmax};
use ndarray::{Array1, ArrayView1};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Settings of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongContexts {
    /// Draws per cell.
    pub trials: u64,
    /// Inner product of equiangular tokens.
    pub rho: f64,
    /// Numbers of equiangular tokens.
    pub equiangular: Vec<f64>,
    /// γ(1 − ρ) of the rates.
    pub kappas: Vec<f64>,
    /// Numbers of uniform tokens.
    pub contexts: Vec<usize>,
    /// Dimension over log N.
    pub delta: f64,
    /// Factors of log N.
    pub gammas: Vec<f64>,
    /// Pairs of outputs behind a mean.
    pub pairs: usize,
}

impl Described for LongContexts {
    const ID: &'static str = "cluster.long_contexts";
    const NAME: &'static str = "cluster_long_context";
    const TITLE: &'static str = "Long contexts: the transition of one attention layer at β = γ log n";
    const SOURCE: Source = Source { paper: &PAPERS[3], place: "the three regimes" };
}

/// Factor γ at which a token's weight for itself changes from 0 to 1, for N uniform tokens in d = δ log N dimensions as
/// N → ∞.
///
/// The sum over the others is N E e^{βu} with the density (1 − u²)^{d/2} of u = ⟨x_i, x_j⟩: its logarithm over log N is
/// $\max_u\, [1 + \frac\delta2\ln(1 - u^2) + \gamma u]$ over the u that occur among N tokens, where the first two terms are
/// ≥ 0. The token itself has γ.
pub fn transition(delta: f64) -> f64 {
    let entropy = |u: f64| 1.0 + 0.5 * delta * (-u * u).ln_1p();
    let others = |gamma: f64| {
        // The stationary u of γ = δu/(1 − u²), or the largest that occurs.
        let stationary = ((delta * delta + 4.0 * gamma * gamma).sqrt() - delta) / (2.0 * gamma);
        let largest = (-(-2.0 / delta).exp_m1()).sqrt();
        let u = stationary.min(largest);
        entropy(u) + gamma * u
    };
    let (mut low, mut high) = (1e-6, 1e3);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if others(middle) > middle { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

impl LongContexts {
    fn dim(&self, n: usize) -> usize {
        (self.delta * (n as f64).ln()).round().max(2.0) as usize
    }
}

impl Experiment for LongContexts {
    fn validate(&self) -> Result<()> {
        settings::spread("trials", self.trials)?;
        for (name, list) in [("equiangular", &self.equiangular), ("kappas", &self.kappas), ("gammas", &self.gammas)] {
            settings::some(name, list)?;
            settings::positive(name, list)?;
        }
        settings::some("contexts", &self.contexts)?;
        settings::at_least("contexts", &self.contexts, 2)?;
        positive("delta", self.delta)?;
        attnlab_core::error::at_least("pairs", self.pairs, 1)?;
        if !(self.rho > 0.0 && self.rho < 1.0) {
            return Err(Error::invalid("rho", self.rho, "must be a number in (0, 1)"));
        }
        if let Some(n) = self.equiangular.iter().find(|n| **n < 2.0) {
            return Err(Error::invalid("equiangular", n, "must be numbers >= 2"));
        }
        Ok(())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cells = self.contexts.iter().flat_map(|n| {
            self.gammas.iter().map(|gamma| {
                let values = [TOKENS.is(*n), DIM.is(self.dim(*n)), GAMMA.is(*gamma)];
                values.into_iter().collect()
            })
        });
        Ok(cells.collect())
    }

    fn trials(&self) -> u64 {
        self.trials
    }

    /// "own": mean weight of a token for itself; "cosine": mean cosine of two outputs; "input_cosine": of an output and its
    /// token.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (n, d) = (cell.get(TOKENS), cell.get(DIM));
        let beta = cell.get(GAMMA) * (n as f64).ln();
        let tokens = uniform(d, n, &mut streams.part("tokens", 0))?;
        // Scores β⟨x_i, x_j⟩ of √β x, in f32: the layer's own products are the same in f64 to 1e-6.
        let scaled = tokens.mapv(|x| (x * beta.sqrt()) as f32);
        let output = Mssa::new(Softmax, 1.0).stream_head(scaled.view())?.output.mapv(f64::from);
        let step = (n / self.pairs).max(1);
        let shown: Vec<usize> = (0..n).step_by(step).take(self.pairs).collect();
        let cosine = |a: ArrayView1<f64>, b: ArrayView1<f64>| a.dot(&b) / (a.dot(&a) * b.dot(&b)).sqrt();
        let count = shown.len() as f64;
        let (mut own, mut between, mut input) = (0.0, 0.0, 0.0);
        for i in &shown {
            let token = tokens.column(*i);
            let scores: Array1<f64> = tokens.t().dot(&token) * beta;
            let z: f64 = scores.iter().map(|s| (s - beta).exp()).sum();
            own += 1.0 / (z * count);
            let other = output.column((i + n / 2) % n);
            between += cosine(output.column(*i), other) / count;
            input += cosine(output.column(*i), token) / count;
        }
        Ok(data([
            ("own", store::number(own)),
            ("cosine", store::number(between)),
            ("input_cosine", store::number(input)),
        ]))
    }

    fn memory(&self, cell: &Params) -> u64 {
        memory::product(&[8, 6, cell.get(TOKENS) as u64, cell.get(DIM) as u64 + 4])
    }

    fn size(&self) -> String {
        format!("{} draws, means over {} tokens or pairs", self.trials, self.pairs)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

#[cfg(test)]
#[test]
fn the_transition_is_where_both_weights_agree() {
    // At δ = 4: u = .2704 and γ = 4u/(1 − u²), by hand to three digits.
    assert!((transition(4.0) - 1.165).abs() < 3e-3, "{}", transition(4.0));
    // In a high dimension the others are orthogonal: γ = 1.
    assert!((transition(1e6) - 1.0).abs() < 1e-3);
}
