//! Theorem 2: a linear activation under exp attention, trained from zero.

use super::setting::{equal, inputs};
use crate::dynamics::{Attention, Backpropagated, Training};
use crate::quantities::{SAMPLES, TOKENS};
use crate::theory::{Activation, linear};
use attnlab_core::linalg::normal_matrix;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method, Watch};
use std::f64::consts::SQRT_2;

/// A statement of Theorem 2 on a trained layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theorem2 {
    /// The claim whose sheet it bears: for a mutant, the one that it belongs to.
    claim: Says,
    says: Says,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    /// erf(v/2)/Δ is the same for all tokens.
    Printed,
    /// erf(v/√2)/Δ is.
    Corrected,
    /// The mutant: v/Δ is, as without attention.
    NoAttention,
    /// The mutant: erf(v)/Δ is.
    Narrow,
    /// The largest component blows up at √(π/2)/max|Δ|, the others stay finite.
    Winner,
    /// The mutant: at half that time.
    Earlier,
}

impl Theorem2 {
    const fn genuine(says: Says) -> Self {
        Theorem2 { claim: says, says }
    }
    /// Eq. (4) as printed.
    pub const PRINTED: Self = Self::genuine(Says::Printed);
    /// Eq. (4) as derived.
    pub const CORRECTED: Self = Self::genuine(Says::Corrected);
    /// The remark: winner takes all, with time and limits.
    pub const WINNER: Self = Self::genuine(Says::Winner);
}

/// Share of the time to the blow-up, at which the invariant is read.
const SHARE: f64 = 0.95;
/// |v| of the winner at which the blow-up is taken to have come: the rest of the integral,
/// erfc(5/√2), is 6e-7 of the time.
const BLOWN_UP: f64 = 5.0;

impl Claim for Theorem2 {
    fn sheet(&self) -> &'static Sheet {
        match self.claim {
            Says::Printed => sheet!("joma.theorem2"),
            Says::Winner => sheet!("joma.theorem2_winner"),
            _ => sheet!("joma.theorem2_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        vec![TOKENS.within(Domain::Whole(2, 200)).or(6), SAMPLES.or(9)]
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        20
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (tokens, samples) = (params.get(TOKENS), params.get(SAMPLES));
        let x = inputs(tokens, samples, streams);
        let g = normal_matrix(1, samples, &mut streams.part("gradient", 0));
        let delta = (x.dot(&g.row(0)) / samples as f64).to_vec();
        let layer = Training::new(
            Attention::Exp,
            Activation::LINEAR,
            1,
            x,
            vec![1.0 / samples as f64; samples],
            Backpropagated::Stationary(g),
        )?;
        let end = linear::blow_up(&delta);
        let flow = Flow::new(Method::Tsit45).within(1e-12);
        if matches!(self.says, Says::Winner | Says::Earlier) {
            let factor = if self.says == Says::Winner { 1.0 } else { 0.5 };
            return winner(&layer, &flow, &delta, factor * end);
        }
        let path = flow.run(&layer, &layer.zero(), &[SHARE * end])?;
        let v = layer.weights(path.end());
        let quantity = |v: f64, d: f64| match self.says {
            Says::Printed => linear::invariant_printed(v, d),
            Says::NoAttention => v / d,
            Says::Narrow => libm::erf(v) / d,
            _ => linear::invariant(v, d),
        };
        let all: Vec<f64> = v
            .iter()
            .zip(&delta)
            .map(|(v, d)| quantity(*v, *d))
            .collect();
        let (low, high) = ends(&all);
        Ok(equal(
            high / low,
            1.0,
            // Some hundred steps of 1e-12, and the growth of their errors towards the blow-up.
            1e-8,
            witness! { "least" => low, "largest" => high, "steps" => path.steps },
        ))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, says| Mutant::new(name, Theorem2 { says, ..*self });
        match self.claim {
            Says::Winner => vec![variant("earlier", Says::Earlier)],
            _ => vec![
                variant("no-attention", Says::NoAttention).drawn_as("joma.theorem2_corrected"),
                variant("narrow", Says::Narrow).drawn_as("joma.theorem2_corrected"),
            ],
        }
    }
}

fn ends(all: &[f64]) -> (f64, f64) {
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    (low, all.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// The outcome of the remark: how far the time of the blow-up and the places of the others are off, both
/// relative.
fn winner(layer: &Training, flow: &Flow, delta: &[f64], said: f64) -> Result<Outcome> {
    let largest = |x: &[f64]| x[..delta.len()].iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let event = |x: &[f64]| BLOWN_UP - largest(x);
    let watch = Watch::until(&event);
    let path = flow.watched(layer, &layer.zero(), &[2.0 * linear::blow_up(delta)], watch)?;
    let Some((time, state)) = &path.event else {
        let witness = witness! { "largest" => largest(path.end()) };
        return Ok(Outcome::Event {
            holds: false,
            witness,
        });
    };
    let most = delta.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    let v = layer.weights(state);
    let limit = |d: f64| SQRT_2 * linear::inverse_erf(d / most);
    let mut off = (time / said - 1.0).abs();
    let others = v.iter().zip(delta).filter(|(_, d)| d.abs() < most);
    // The limits in the units of the integral, in which all components are equally far from them.
    for (v, d) in others {
        off = off.max((libm::erf(v / SQRT_2) - libm::erf(limit(*d) / SQRT_2)).abs());
    }
    Ok(equal(
        off,
        0.0,
        // erfc(5/√2) = 5.7e-7 remains of the time.
        1e-6,
        witness! { "time" => time, "said" => said, "v" => v.column(0).to_vec() },
    ))
}
