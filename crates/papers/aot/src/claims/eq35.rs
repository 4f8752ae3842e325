//! Eq. (35): Z after l exact layers.
//!
//! $Z^{(l)} = [(1+\eta\tau)^l U_1 A_1 + \sum_{j \ne 1} U_j E_{1,j}, \dots]$, *given* the pattern (30) at $\theta_0,
//! \dots, \theta_{l-1}$ with $\theta_m = (1+\eta\tau)^m$. That is what the induction in the proof of Theorem 1 shows,
//! and it is algebra: the claim is this conditional identity. A trial draws Definition 1 with ambient bases, checks
//! (30) at every θ by its plain definition on the coefficients, and only then unrolls the plain layers and compares.
//! Trials in which (30) breaks say nothing: they are uninformative.

use super::columns::validate;
use super::setting::{PER_SECOND, mixture, mixture_schema, network_schema};
use super::theorem1::shown_failure;
use crate::quantities::*;
use attnlab_core::linalg::product;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Mssa, ThresholdedSoftmax, unroll};
use attnlab_theory::sample::Mixture;
use ndarray::{Array2, s};

/// Given (30) for l < L, Z^(L) is Z with the signal multiplied by (1+ητ)^L.
#[derive(Default, Serialize, Deserialize)]
pub struct Eq35 {
    /// 1 + η in place of 1 + ητ.
    without_tau: bool,
    /// Layers besides those of the network.
    more_layers: usize,
    /// 1 + lητ, to first order in η.
    first_order: bool,
    /// The noise grows too.
    noise_grows: bool,
}

impl Eq35 {
    /// (35) at layer l.
    fn closed_form(
        &self,
        mixture: &Mixture,
        heads: &[Array2<f64>],
        bases: &[Array2<f64>],
        (eta, tau, layers): (f64, f64, usize),
    ) -> Array2<f64> {
        let rate = if self.without_tau { 1.0 + eta } else { 1.0 + eta * tau };
        let power = layers + self.more_layers;
        let factor = if self.first_order { 1.0 + power as f64 * (rate - 1.0) } else { rate.powi(power as i32) };
        let mut z = Array2::zeros((mixture.ambient, mixture.tokens()));
        for (k, (y, u)) in heads.iter().zip(bases).enumerate() {
            z += &product(u.view(), at_theta(mixture, k, y, factor, self.noise_grows).view());
        }
        z
    }
}

/// Y_k with the columns of its own cluster (or all of them) multiplied by θ.
fn at_theta(mixture: &Mixture, k: usize, y: &Array2<f64>, theta: f64, noise_grows: bool) -> Array2<f64> {
    let mut grown = y.clone();
    let columns = if noise_grows { 0..mixture.tokens() } else { mixture.cluster(k) };
    grown.slice_mut(s![.., columns]).mapv_inplace(|x| theta * x);
    grown
}

/// Says whether φ(M_k(θ)) is τ on the diagonal of C_k and 0 elsewhere.
fn pattern_holds(mixture: &Mixture, k: usize, y: &Array2<f64>, layer: &Mssa, tau: f64) -> bool {
    let weights = layer.weights(y.view());
    let cluster = mixture.cluster(k);
    weights.indexed_iter().all(|((i, j), w)| {
        let expected = if i == j && cluster.contains(&j) { tau } else { 0.0 };
        *w == expected
    })
}

impl Claim for Eq35 {
    from_sheet!("aot.eq35");

    fn schema(&self) -> Schema {
        // p ≥ (4/ln 2) log N = 28 is what (30) needs at θ = 1; at 60 nearly every draw has it for four layers.
        [mixture_schema(120, 3, 60), network_schema(4)].concat()
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn seconds(&self, params: &Params) -> f64 {
        let (n, width) = (params.real(TOKENS), params.real(CLUSTERS) * params.real(DIM));
        // Orthonormal bases in the ambient space, and layers there.
        let layer = n * width * (2.0 * n + 3.0 * width);
        (2.0 * width.powi(3) + params.real(LAYERS) * layer) / PER_SECOND
    }

    /// (35) is claimed given (30), so a check needs draws in which it holds.
    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let probability = 1.0 - shown_failure(params, params.get(LAYERS) as u64, 0);
        let printed = "(30) for all l < L, by the law in at least every second draw";
        vec![Hypothesis::new("pattern (30)", printed, probability - 0.5)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (eta, tau, layers) = (params.get(ETA), params.get(TAU), params.get(LAYERS));
        let mixture = mixture(params)?;
        let layer = Mssa::new(ThresholdedSoftmax { tau }, eta);
        let draw = mixture.draw(streams)?;
        let heads: Vec<_> = (0..mixture.clusters()).map(|k| mixture.head::<f64>(k, streams)).collect();
        for l in 0..layers {
            let theta = (1.0 + eta * tau).powi(l as i32);
            for (k, y) in heads.iter().enumerate() {
                let scaled = at_theta(&mixture, k, y, theta, false);
                if !pattern_holds(&mixture, k, &scaled, &layer, tau) {
                    let witness = witness! { "layer" => l, "head" => k };
                    return Ok(Outcome::uninformative("the pattern (30) broke before the last layer", witness));
                }
            }
        }
        let z = unroll(draw.tokens.view(), &layer, layers, |_| &draw.bases, |_, _| {})?;
        let expected = self.closed_form(&mixture, &heads, &draw.bases, (eta, tau, layers));
        let size = |a: &Array2<f64>| a.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let (gap, largest) = (size(&(&z - &expected)), size(&expected));
        if !largest.is_finite() {
            return Ok(Outcome::uninformative("the signal overflows", witness! { "layers" => layers }));
        }
        // Each layer sums over d coordinates of each of K heads, twice (Uᵀz, then U y): rounding errors of that many
        // terms at most, which later layers carry on without amplification beyond that of the signal itself.
        let tol = 4.0 * f64::EPSILON * (layers * mixture.ambient * mixture.clusters()) as f64;
        Ok(Outcome::equal(gap / largest, 0.0, tol, witness! { "largest_relative_difference" => gap / largest }))
    }

    fn memory(&self, params: &Params) -> u64 {
        let [n, k, p] = [TOKENS, CLUSTERS, DIM].map(|q| params.get(q) as u64);
        // Scores, weights and their pattern; Z and its copies.
        memory::total(&[&[8, 3, n, n], &[8, 6, n, k, p]])
    }
}
