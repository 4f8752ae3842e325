//! Theorem 3: exponentially many patterns are stored.

use crate::quantities::{BETA, DIM, FAILURE, RADIUS, closed};
use crate::theory::ramsauer::Capacity;
use crate::theory::stored::{Storage, storage, uniform};
use attnlab_lab::prelude::*;

/// Storage of as many patterns as the theorem allows.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// Flag: judged where β M² ≥ 1.
    bounded: bool,
    variant: Variant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Genuine,
    /// The mutant: 16 times as many patterns.
    Sixteenfold,
}

/// Most patterns of a trial, so that it takes seconds at most.
const MOST: f64 = 1000.0;

impl Stored {
    /// As printed.
    pub const PRINTED: Self = Stored { bounded: false, variant: Variant::Genuine };
    /// For β M² ≥ 1.
    pub const BOUNDED: Self = Stored { bounded: true, variant: Variant::Genuine };

    /// β M².
    fn heat(&self, params: &Params) -> f64 {
        params.get(BETA) * params.get(RADIUS).powi(2) * (params.real(DIM) - 1.0)
    }

    fn capacity(&self, params: &Params) -> Result<Capacity> {
        let (d, p) = (params.get(DIM), params.get(FAILURE));
        let mut found = Capacity::new(d, params.get(RADIUS), params.get(BETA), p)?;
        if self.variant == Variant::Sixteenfold {
            found.ln_patterns += 16.0_f64.ln();
        }
        Ok(found)
    }
}

impl Claim for Stored {
    fn sheet(&self) -> &'static Sheet {
        match self.bounded {
            false => sheet!("memory.theorem3"),
            true => sheet!("memory.theorem3_bounded"),
        }
    }

    fn schema(&self) -> Schema {
        let (radius, beta, p) = match self.bounded {
            // β M² = 0.019, and four patterns.
            false => (1.0, 0.001, 0.1),
            true => (3.0, 1.0, 0.1),
        };
        vec![
            DIM.within(Domain::Whole(2, 128)).or(20),
            RADIUS.within(closed(0.01, 10.0)).or(radius),
            BETA.within(closed(1e-6, 100.0)).or(beta),
            FAILURE.within(closed(1e-3, 0.5)).or(p),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let n = self.capacity(params)?.patterns();
        if n <= MOST {
            return Ok(());
        }
        let allowed = format!(
            "must leave {MOST} patterns at most; here the theorem has {n:.3e}. Take fewer dimensions or a smaller K"
        );
        Err(Error::invalid(BETA.name, params.get(BETA), allowed))
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let margin = self.capacity(params).map_or(f64::NAN, |c| c.margin);
        let mut all = vec![Hypothesis::new("two patterns", "c >= (2/√p)^{4/(d-1)}", margin)];
        if self.bounded {
            all.push(Hypothesis::new("cold", "β M² >= 1", self.heat(params) - 1.0));
        }
        all
    }

    fn promise(&self, params: &Params) -> Promise {
        Promise::FailsAtMost(params.get(FAILURE))
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        match self.heat(params) < 1.0 {
            true => VerdictKind::Refuted,
            false => VerdictKind::Supported,
        }
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // Enough for an interval below p if none fails, and half as many again.
        (1.5 * 3.7 / params.get(FAILURE)).ceil() as u64
    }

    fn seconds(&self, params: &Params) -> f64 {
        let n = self.capacity(params).map_or(1.0, |c| c.patterns());
        n * n * (params.real(DIM) * 1e-9 + 5e-7)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (d, beta) = (params.get(DIM), params.get(BETA));
        let n = self.capacity(params)?.patterns() as usize;
        let length = params.get(RADIUS) * ((d - 1) as f64).sqrt();
        let patterns = uniform(d, n, length, &mut streams.part("patterns", 0))?;
        let heat = self.heat(params);
        let seen = |why: &str| witness! { "patterns" => n, "beta_m2" => heat, "because" => why };
        Ok(match storage(patterns.view(), beta)? {
            Storage::All => {
                Outcome::Event { holds: true, witness: seen("every pattern has a ball that is contracted") }
            }
            Storage::NotAll(why) => Outcome::Event { holds: false, witness: seen(why) },
            Storage::Unknown => Outcome::uninformative("storage neither shown nor excluded", seen("")),
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        // On the circle the theorem is within a factor of 5 of what is stored.
        let many = Stored { variant: Variant::Sixteenfold, ..*self };
        vec![Mutant::new("sixteenfold", many).with(DIM, 2).with(RADIUS, 10.0).with(BETA, 100.0).with(FAILURE, 0.5)]
    }
}
