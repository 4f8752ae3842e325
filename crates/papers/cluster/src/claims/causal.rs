//! Theorem 4.1 of the causal paper: with V = I and any Q, K all tokens tend to the first.

use crate::quantities::{BETA, DIM, TIME, TOKENS};
use crate::setting::{seconds, settled, uniform};
use attnlab_core::linalg::normal_matrix;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::Mask;
use attnlab_theory::particles::{Normalisation, Particles, to_state};
use ndarray::Array2;

/// Convergence to the first token.
#[derive(Serialize, Deserialize)]
pub struct Causal {
    /// Flag of a mutant: every token attends to all.
    unmasked: bool,
    /// Factor of V along the first axis.
    stretch: f64,
}

impl Causal {
    /// Under the causal mask, with V = I.
    pub const PRINTED: Self = Causal { unmasked: false, stretch: 1.0 };
}

/// 1 − cos to the first token at which a token has arrived.
const ARRIVED: f64 = 1e-4;

/// Speed below which tokens count as stationary: two tokens at opposite scores move at e^{−2β|B|} of their sine at least.
const STATIONARY: f64 = 1e-8;

/// Computes the largest 1 − cos of a token to `first`, the first token's place at the start.
fn farthest(state: &[f64], n: usize, first: &[f64]) -> f64 {
    let deficit = |i: usize| {
        let rows = state.chunks_exact(n).map(|row| row[i]);
        let (dot, square) = rows.zip(first).fold((0.0, 0.0), |(d, s), (x, f)| (d + x * f, s + x * x));
        1.0 - dot / f64::sqrt(square)
    };
    (0..n).map(deficit).fold(0.0, |m: f64, x| if x > m || x.is_nan() { x } else { m })
}

impl Claim for Causal {
    from_sheet!("cluster.causal", trials = 16, least_trials = 8);

    fn schema(&self) -> Schema {
        vec![
            TOKENS.within(Domain::Whole(2, 64)).or(16),
            DIM.within(Domain::Whole(2, 32)).or(3),
            BETA.within(Domain::closed(0.0, 2.0)).or(1.0),
            TIME.within(Domain::left_open(0.0, 1e8)).or(1e5),
        ]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        // Scores are β times a matrix of spectral norm up to 2 or 3.
        let needed = 100.0 * (5.0 * params.get(BETA)).exp();
        vec![Hypothesis::new("long time", "t → ∞ [here: t >= 100 e^(5 beta)]", params.get(TIME) / needed - 1.0)]
    }

    fn seconds(&self, params: &Params) -> f64 {
        seconds(60.0 + 10.0 * (2.0 * params.get(BETA)).exp(), params.get(TOKENS), params.get(DIM))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, d, beta) = (params.get(TOKENS), params.get(DIM), params.get(BETA));
        let start = uniform(d, n, &mut streams.part("tokens", 0))?;
        let matrix = |name| normal_matrix(d, d, &mut streams.part(name, 0)) / (d as f64).sqrt();
        let query_key = matrix("query").t().dot(&matrix("key"));
        let mut value = Array2::eye(d);
        value[[0, 0]] = self.stretch;
        let mask = if self.unmasked { Mask::None } else { Mask::Causal };
        let law = Particles {
            query_key: Some(query_key),
            value: Some(value),
            ..Particles::new(beta, Normalisation::Softmax).masked(mask)
        };
        let (field, state) = (law.flow(n, d)?, to_state(start.view()));
        let first = start.column(0).to_vec();
        let arrived = |x: &[f64]| farthest(x, n, &first) - ARRIVED;
        let end = params.get(TIME);
        let run = settled(&field, &state, end, STATIONARY, &arrived)?;
        Ok(run.outcome(end, witness! { "largest_deficit" => farthest(&run.state, n, &first) }))
    }
}
