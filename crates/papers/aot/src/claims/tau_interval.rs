//! Existence of the τ interval: AoT Eq. (29).

use crate::quantities::MOST_TOKENS;
use crate::theory::printed::least_dim;
use attnlab_lab::prelude::*;
use rand::RngExt;

/// Factor by which the printed bound on p exceeds (32/9) log N at the least: $64 (\sqrt L + 1)^2 / (32 L/9) =
/// 18 (1 + 1/\sqrt L)^2$.
const SPARE: f64 = 18.0;

/// Relative rounding of N e^(-9p/32) after p products and of p > (32/9) log N.
const CLOSE: f64 = 1e-12;

/// The condition under which (1/2, 1/(1 + N exp(-9p/32))] contains a τ.
#[derive(Serialize, Deserialize)]
pub struct TauInterval {
    /// The interval is said to be non-empty iff p > `factor` · log N + `offset`.
    factor: f64,
    offset: f64,
    /// The printed bound on p is said to exceed (32/9) log N by this factor.
    spare: f64,
}

impl Default for TauInterval {
    fn default() -> Self {
        TauInterval { factor: 32.0 / 9.0, offset: 0.0, spare: SPARE }
    }
}

impl Claim for TauInterval {
    // A trial takes no time, and the mutant that shifts the opening by 1 shows in one of fifty.
    from_sheet!("aot.tau_interval", trials = 400);

    fn schema(&self) -> Schema {
        vec![MOST_TOKENS.or(1_000_000)]
    }

    /// Draws N, and p evenly on both sides of where the interval opens. Whether the interval of (29) is empty is
    /// found without a logarithm: N multiplied by e^(-9/32) p times is below 1 iff the upper end is above 1/2.
    /// Then the same N at the printed bound on p.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("parameters", 0);
        let span = (params.real(MOST_TOKENS) / 2.0).ln();
        let tokens = (2.0 * (span * rng.random::<f64>()).exp()).floor();
        let opening = (32.0 / 9.0) * tokens.ln();
        // Twice the opening is as far above it as zero is below.
        let dim = (rng.random::<f64>() * 2.0 * opening).ceil();
        let printed_dim = least_dim(tokens, 64.0);
        let odds = (0..dim as u64).fold(tokens, |odds, _| odds * (-9.0_f64 / 32.0).exp());
        let said = dim > self.factor * tokens.ln() + self.offset;
        // Closer to 1 than rounding, either answer is right.
        let agrees = (odds - 1.0).abs() < CLOSE || (odds < 1.0) == said;
        let spare = printed_dim / opening;
        Ok(Outcome::Event {
            holds: agrees && spare >= self.spare,
            witness: witness! {
                "tokens" => tokens, "dim" => dim, "upper_end" => 1.0 / (1.0 + odds),
                "said_to_be_non_empty" => said, "printed_dim_over_least" => spare,
            },
        })
    }
}
