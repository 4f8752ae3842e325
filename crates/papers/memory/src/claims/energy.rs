//! Theorem 1: the update never raises the energy.

use crate::patterns::with_query;
use crate::quantities::{AWAY, BETA, DIM, PATTERNS, RADIUS, length};
use attnlab_lab::prelude::*;
use attnlab_theory::attention::memory::DenseMemory;

/// Descent of the energy.
#[derive(Serialize, Deserialize)]
pub struct Descent {
    /// Share of the squared step by which the energy must fall.
    fall: f64,
    /// Length of the step in gradients; the update has 1.
    gradients: f64,
}

impl Default for Descent {
    fn default() -> Self {
        Descent { fall: 0.0, gradients: 1.0 }
    }
}

/// Rounding of an energy relative to its largest term: sums of N terms and products of d numbers.
const ROUNDING: f64 = 1e-12;

impl Claim for Descent {
    fn sheet(&self) -> &'static Sheet {
        sheet!("memory.theorem1")
    }

    fn schema(&self) -> Schema {
        vec![
            DIM.within(Domain::Whole(2, 256)).or(8),
            PATTERNS.within(Domain::Whole(1, 1000)).or(12),
            RADIUS.within(Domain::closed(0.01, 10.0)).or(1.0),
            BETA.within(Domain::closed(1e-4, 100.0)).or(0.2),
            AWAY.or(1.0),
        ]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (beta, length) = (params.get(BETA), length(params));
        let (patterns, query) = with_query(params, params.get(AWAY), streams)?;
        let memory = DenseMemory::new(patterns.view(), 1.0, beta)?;
        let next = memory.step(query.view(), self.gradients);
        let step = &next - &query;
        let (before, after) = (memory.energy(query.view()), memory.energy(next.view()));
        let largest = query.dot(&query).max(length * length) + params.real(PATTERNS).ln() / beta;
        Ok(Outcome::Gap {
            lhs: after + self.fall * step.dot(&step),
            rhs: before,
            tol: ROUNDING * largest,
            relation: Relation::AtMost,
            witness: witness! { "fell_by" => before - after, "squared_step" => step.dot(&step) },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        variants(self)
    }
}
