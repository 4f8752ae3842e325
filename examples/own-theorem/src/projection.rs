//! Sparsemax projects the scores onto the simplex.

use crate::quantities::{SPREAD, TOKENS};
use crate::sparsemax::Sparsemax;
use attnlab::attention::{Phi, ReluNormalised, Softmax};
use attnlab::linalg::normal_matrix;
use attnlab::prelude::*;

/// Rounding that the gap may have, in units of n ε (1 + max |x|).
///
/// Error budget: the sum of at most n scores errs by n ε max |x| and enters τ, the weights and the inner
/// product: three units. The fourth is for the single operations.
const ROUNDING: f64 = 4.0;

/// The claim that `phi`, applied to `factor` times the scores, projects the scores onto the simplex.
pub struct Projection {
    phi: Phi,
    factor: f64,
}

impl Projection {
    /// The claim as it is printed.
    pub fn printed() -> Self {
        Projection { phi: Sparsemax.into(), factor: 1.0 }
    }
}

impl Claim for Projection {
    fn sheet(&self) -> &'static Sheet {
        sheet!("own.projection")
    }

    fn schema(&self) -> Schema {
        vec![TOKENS.or(64), SPREAD.or(1.0)]
    }

    /// A point w of the simplex is the projection of x exactly when (x - w)·(v - w) ≤ 0 for every vertex v:
    /// max_i (x_i - w_i) ≤ (x - w)·w.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, spread) = (params.get(TOKENS), params.get(SPREAD));
        let standard = normal_matrix(n, 1, &mut streams.part("scores", 0));
        let scores: Vec<f64> = standard.iter().map(|z| spread * z).collect();
        let mut weights: Vec<f64> = scores.iter().map(|x| self.factor * x).collect();
        self.phi.apply(&mut weights);
        let differences = scores.iter().zip(&weights).map(|(x, w)| x - w);
        let inner: f64 = differences.clone().zip(&weights).map(|(d, w)| d * w).sum();
        let largest = scores.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        Ok(Outcome::at_most(differences.fold(f64::NEG_INFINITY, f64::max), inner, ROUNDING * n as f64 * f64::EPSILON * (1.0 + largest), witness! {
                "support" => weights.iter().filter(|w| **w > 0.0).count(),
                "sum" => weights.iter().sum::<f64>(),
            }))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let with = |phi: Phi, factor| Projection { phi, factor };
        vec![
            Mutant::new("softmax", with(Softmax.into(), 1.0)),
            Mutant::new("relu", with(ReluNormalised.into(), 1.0)),
            Mutant::new("near", with(Sparsemax.into(), 1.0 + 1e-9)),
        ]
    }
}
