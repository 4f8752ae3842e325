//! Theorem 3: exponentially many patterns are stored.

use crate::patterns::uniform;
use crate::quantities::{BETA, DIM, FAILURE, RADIUS, length};
use crate::theory::ramsauer::Capacity;
use crate::theory::stored::{Storage, storage};
use attnlab_lab::prelude::*;

/// Storage of as many patterns as the theorem promises.
#[derive(Serialize, Deserialize)]
pub struct Stored {
    /// Flag: it is judged where β M² ≥ 1.
    bounded: bool,
    /// Factor of the number of patterns; 1 but for a mutant.
    factor: f64,
}

/// The largest number of patterns of a trial, which then takes seconds at most.
const MOST: f64 = 1000.0;

/// Number of trials times p: where none of 3.7/p trials fails, the 95 % interval of the failure probability ends at p
/// (−ln .025 = 3.7). Half as many again leave room.
const TRIALS: f64 = 1.5 * 3.7;

impl Stored {
    /// As printed.
    pub const PRINTED: Self = Stored { bounded: false, factor: 1.0 };
    /// For β M² ≥ 1.
    pub const BOUNDED: Self = Stored { bounded: true, factor: 1.0 };

    fn capacity(&self, params: &Params) -> Result<Capacity> {
        let capacity = Capacity::new(params.get(DIM), params.get(RADIUS), params.get(BETA), params.get(FAILURE))?;
        Ok(Capacity { ln_patterns: capacity.ln_patterns + self.factor.ln(), ..capacity })
    }
}

/// Computes β M².
fn strength(params: &Params) -> f64 {
    params.get(BETA) * length(params).powi(2)
}

impl Claim for Stored {
    from_sheet!(self, if self.bounded { sheet!("memory.theorem3_bounded") } else { sheet!("memory.theorem3") });

    fn schema(&self) -> Schema {
        let (radius, beta) = if self.bounded { (3.0, 1.0) } else { (1.0, 0.001) };
        vec![
            DIM.within(Domain::Whole(2, 128)).or(20),
            RADIUS.within(Domain::closed(0.01, 10.0)).or(radius),
            BETA.within(Domain::closed(1e-6, 100.0)).or(beta),
            FAILURE.within(Domain::closed(1e-3, 0.5)).or(0.1),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let n = self.capacity(params)?.patterns();
        // The promise grows without bound towards β M² = 0 too.
        let advice = if strength(params) < 1.0 { "a larger beta" } else { "fewer dimensions or a smaller K" };
        let allowed =
            format!("must be such that {MOST} patterns are promised at most; here there are {n:.2e}. Take {advice}");
        require(n <= MOST, BETA.name, params.get(BETA), allowed)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let margin = self.capacity(params).map_or(f64::NAN, |c| c.margin);
        let mut hypotheses = vec![Hypothesis::new("two patterns", "c >= (2/√p)^{4/(d-1)}", margin)];
        if self.bounded {
            hypotheses.push(Hypothesis::new("no contraction", "β M² >= 1", strength(params) - 1.0));
        }
        hypotheses
    }

    fn promise(&self, params: &Params) -> Promise {
        Promise::FailsAtMost(params.get(FAILURE))
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        if strength(params) < 1.0 { VerdictKind::Refuted } else { VerdictKind::Supported }
    }

    fn default_trials(&self, params: &Params) -> u64 {
        (TRIALS / params.get(FAILURE)).ceil() as u64
    }

    fn seconds(&self, params: &Params) -> f64 {
        let n = self.capacity(params).map_or(1.0, |c| c.patterns());
        n * n * (params.real(DIM) * 1e-9 + 5e-7)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let n = self.capacity(params)?.patterns() as usize;
        let patterns = uniform(params.get(DIM), n, length(params), &mut streams.part("patterns", 0))?;
        let witness = |why: &str| witness! { "patterns" => n, "beta_m2" => strength(params), "because" => why };
        Ok(match storage(patterns.view(), params.get(BETA))? {
            Storage::All => {
                Outcome::Event { holds: true, witness: witness("every pattern has a ball that is contracted") }
            }
            Storage::NotAll(why) => Outcome::Event { holds: false, witness: witness(why) },
            Storage::Unknown => Outcome::uninformative("storage neither shown nor excluded", witness("")),
        })
    }
}
