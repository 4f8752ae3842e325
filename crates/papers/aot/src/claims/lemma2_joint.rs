//! Lemma 2 (i), (ii) and (iv) as they are printed: several inequalities with one probability.
//!
//! The brackets of the parts combine without any independence: some part fails with probability at least that of
//! the likeliest and at most the sum. A trial sees all parts on the same sampled columns of one draw.

use super::columns::*;
use super::lemma2::{ColumnEvent, Event, Lemma2Event};
use super::lemma2_lengths::Lengths;
use super::lemma2_products::Products;
use super::lemma2_weights::Weights;
use super::setting::mixture;
use crate::quantities::*;
use crate::theory::Lemma2;
use attnlab_lab::prelude::*;

/// A part of the lemma with several inequalities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// (12) and (13).
    I,
    /// (14), (15) read with e_{j,k}, and (16) for i ≠ j.
    II,
    /// (18) and (19).
    IV,
}

/// All inequalities of one part hold with the printed probability.
#[derive(Clone, Copy, Debug)]
pub struct Joint {
    part: Part,
    /// The right sides are multiplied by it; 1 as printed.
    factor: f64,
}

impl Joint {
    /// Part (i).
    pub fn lengths() -> Self {
        Self::exact(Part::I)
    }

    /// Part (ii).
    pub fn products() -> Self {
        Self::exact(Part::II)
    }

    /// Part (iv).
    pub fn weights() -> Self {
        Self::exact(Part::IV)
    }

    fn exact(part: Part) -> Self {
        Joint { part, factor: 1.0 }
    }

    fn events(&self) -> Vec<Box<dyn ColumnEvent>> {
        match self.part {
            Part::I => vec![Box::new(Lengths::signal()), Box::new(Lengths::noise())],
            Part::II => {
                vec![Box::new(Products::signal()), Box::new(Products::mixed()), Box::new(Products::noise_corrected())]
            }
            Part::IV => vec![Box::new(Weights::signal()), Box::new(Weights::noise())],
        }
    }
}

impl Lemma2Event for Joint {
    fn sheet(&self) -> &'static Sheet {
        match self.part {
            Part::I => sheet!("aot.lemma2_i"),
            Part::II => sheet!("aot.lemma2_ii"),
            Part::IV => sheet!("aot.lemma2_iv"),
        }
    }

    fn fails_at_most(&self, params: &Params) -> f64 {
        let (n, k) = (params.real(TOKENS), params.real(CLUSTERS));
        match self.part {
            Part::I => 2.0 * k / n,
            Part::II => 4.0 * k / (n * n),
            Part::IV => 4.0 * k / n,
        }
    }

    fn failure(&self, lemma: &Lemma2) -> Option<(Bracket, &'static str)> {
        let brackets = self.events().into_iter().map(|e| e.bracket(lemma));
        let union = |a: Bracket, b: Bracket| Bracket::new(a.low.max(b.low), a.high + b.high);
        let how = "from the likeliest part to the sum of the parts, each from the exact tail of one column or pair";
        (self.factor == 1.0).then(|| (brackets.fold(Bracket::NEVER, union), how))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let events = self.events();
        let mut worst = vec![Worst::default(); events.len()];
        let (mixture, count) = (mixture(params)?, params.get(COLUMNS));
        each_column(&mixture, count, Side::Both, streams, |column| {
            for (event, worst) in events.iter().zip(&mut worst) {
                event.record(params, column, worst);
            }
        })?;
        let (mut holds, mut witness) = (true, Witness::new());
        for (event, worst) in events.iter().zip(&worst) {
            let share = worst.over(event.limit(params));
            holds &= share <= self.factor;
            witness.insert(format!("share_of_the_bound_{}", event.equation()), share.into());
        }
        Ok(Outcome::Event { holds, witness })
    }

    fn memory(&self, params: &Params) -> u64 {
        // Signal and noise columns: twice as many.
        2 * memory(params)
    }

    fn mutants(&self) -> Vec<Mutant> {
        let with = |factor| Event(Joint { factor, ..*self });
        let (name, factor) = match self.part {
            Part::I => ("seventh", 0.15),
            Part::II => ("half", 0.45),
            // Of N/K = 90 000 weights none is above 5e-5, 4.5 times the average.
            Part::IV => ("tiny", 1e-4),
        };
        vec![Mutant::new(name, with(factor))]
    }
}
