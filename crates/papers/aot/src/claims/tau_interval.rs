//! Existence of the τ interval: AoT Eq. (29).

use crate::quantities::MOST_TOKENS;
use attnlab_lab::prelude::*;
use rand::RngExt;

/// The condition under which (1/2, 1/(1 + N exp(-9p/32))] contains a τ.
#[derive(Clone, Copy, Debug)]
pub struct TauInterval {
    /// The interval is said to be non-empty iff p > `factor` · log N + `offset`.
    factor: f64,
    offset: f64,
}

impl Default for TauInterval {
    fn default() -> Self {
        TauInterval {
            factor: 32.0 / 9.0,
            offset: 0.0,
        }
    }
}

impl Claim for TauInterval {
    fn sheet(&self) -> &'static Sheet {
        sheet!("aot.tau_interval")
    }

    fn schema(&self) -> Schema {
        vec![MOST_TOKENS.or(1_000_000)]
    }

    /// Draws N, and p evenly on both sides of where the interval opens; p is a dimension in the
    /// paper and any number here. Then the same N at the printed bound on p.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("parameters", 0);
        let span = (params.real(MOST_TOKENS) / 2.0).ln();
        let tokens = (2.0 * (span * rng.random::<f64>()).exp()).floor();
        // Twice the opening is as far above it as zero is below.
        let dim = rng.random::<f64>() * 2.0 * (32.0 / 9.0) * tokens.ln();
        let printed_dim = 64.0 * (tokens.ln().sqrt() + 1.0).powi(2);
        // The upper end as printed, against the inequality between N and p.
        let end = |p: f64| 1.0 / (1.0 + tokens * (-9.0 * p / 32.0).exp());
        let said = dim > self.factor * tokens.ln() + self.offset;
        // Closer to 1/2 than the exponential's rounding, either answer is right.
        let close = (end(dim) - 0.5).abs() < 1e-12;
        let agrees = close || (end(dim) > 0.5) == said;
        let implied = end(printed_dim) > 0.5;
        Ok(Outcome::Event {
            holds: agrees && implied,
            witness: witness! {
                "tokens" => tokens, "dim" => dim, "upper_end" => end(dim),
                "said_to_be_non_empty" => said, "non_empty_at_printed_dim" => implied,
            },
        })
    }

    /// A trial takes no time, and the mutant that shifts the opening by 4 shows in one of ten.
    fn default_trials(&self, _params: &Params) -> u64 {
        400
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, factor, offset| Mutant::new(name, TauInterval { factor, offset });
        vec![
            variant("reciprocal", 9.0 / 32.0, 0.0),
            variant("theorem", 1.0, 0.0),
            variant("strict", 32.0 / 9.0, 4.0),
        ]
    }
}
