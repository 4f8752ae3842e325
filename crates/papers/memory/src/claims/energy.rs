//! Theorem 1: the update never raises the energy.

use crate::patterns::{STATES, THE_PATTERNS, longest, patterns_and_queries, with_query};
use crate::quantities::{AWAY, BETA, DIM, PATTERNS, RADIUS, length};
use attnlab_lab::prelude::*;
use attnlab_theory::attention::memory::DenseMemory;
use ndarray::ArrayView1;

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

/// Rounding of an energy relative to its largest term: sums of N terms and products of d numbers, 1256 in draws. More of
/// them count ε each.
const ROUNDING: f64 = 1e-12;

impl Claim for Descent {
    from_sheet!("memory.theorem1");

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
        let (patterns, query) = with_query(params, params.get(AWAY), streams)?;
        Ok(self.energies(&DenseMemory::new(patterns.view(), 1.0, params.get(BETA))?, query.view(), length(params)))
    }

    fn takes(&self) -> &'static [ArraySpec] {
        const { &[THE_PATTERNS, STATES] }
    }

    fn on(&self, params: &Params, arrays: &Arrays) -> Result<Vec<Outcome>> {
        let (patterns, queries) = patterns_and_queries(arrays)?;
        let memory = DenseMemory::new(patterns, 1.0, params.get(BETA))?;
        let length = longest(patterns);
        Ok(queries.columns().into_iter().map(|query| self.energies(&memory, query, length)).collect())
    }
}

impl Descent {
    /// Compares the energy before and after the update of a query, with patterns of at most this length.
    fn energies(&self, memory: &DenseMemory, query: ArrayView1<f64>, length: f64) -> Outcome {
        let next = memory.step(query, self.gradients);
        let step = &next - &query;
        let (before, after) = (memory.energy(query), memory.energy(next.view()));
        let (d, n) = memory.context().dim();
        let terms = (d + n) as f64;
        let largest = query.dot(&query).max(length * length) + (n as f64).ln() / memory.beta();
        Outcome::at_most(
            after + self.fall * step.dot(&step),
            before,
            ROUNDING.max(f64::EPSILON * terms) * largest,
            witness! { "fell_by" => before - after, "squared_step" => step.dot(&step) },
        )
    }
}
