//! Theorem 1: the update never raises the energy.

use crate::quantities::{AWAY, BETA, DIM, PATTERNS, RADIUS, closed};
use crate::theory::stored::uniform;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::memory::DenseMemory;

/// Descent of the energy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Descent {
    variant: Variant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Variant {
    #[default]
    Genuine,
    /// The mutant: the energy falls by 6/10 of the squared step.
    SixTenths,
    /// The mutant: steps of 2.2 gradients.
    TooLong,
}

/// Rounding of an energy relative to its largest term: sums of N terms and products of d.
const ROUNDING: f64 = 1e-12;

impl Claim for Descent {
    fn sheet(&self) -> &'static Sheet {
        sheet!("memory.theorem1")
    }

    fn schema(&self) -> Schema {
        vec![
            DIM.within(Domain::Whole(2, 256)).or(8),
            PATTERNS.within(Domain::Whole(1, 1000)).or(12),
            RADIUS.within(closed(0.01, 10.0)).or(1.0),
            BETA.within(closed(1e-4, 100.0)).or(0.2),
            AWAY.or(1.0),
        ]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (d, n, beta) = (params.get(DIM), params.get(PATTERNS), params.get(BETA));
        let length = params.get(RADIUS) * ((d - 1) as f64).sqrt();
        let patterns = uniform(d, n, length, &mut streams.part("patterns", 0))?;
        let aside = uniform(d, 1, length * params.get(AWAY), &mut streams.part("query", 0))?;
        let query = &patterns.column(0) + &aside.column(0);
        let memory = DenseMemory::new(patterns.view(), 1.0, beta)?;
        let next = match self.variant {
            Variant::TooLong => memory.step(query.view(), 2.2),
            _ => memory.attend(query.view()),
        };
        let step = &next - &query;
        let (before, after) = (memory.energy(query.view()), memory.energy(next.view()));
        let asked = match self.variant {
            Variant::SixTenths => 0.6 * step.dot(&step),
            _ => 0.0,
        };
        let largest = query.dot(&query).max(length * length) + (n as f64).ln() / beta;
        Ok(Outcome::Gap {
            lhs: after + asked,
            rhs: before,
            tol: ROUNDING * largest,
            relation: Relation::AtMost,
            witness: witness! { "fell_by" => before - after, "squared_step" => step.dot(&step) },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![
            Mutant::new("six-tenths", Descent { variant: Variant::SixTenths }).with(BETA, 0.01),
            Mutant::new("too-long", Descent { variant: Variant::TooLong }).with(BETA, 0.01),
        ]
    }
}
