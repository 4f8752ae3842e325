//! Theorem 2: a linear activation under exp attention, trained from zero.

use super::setting::*;
use crate::theory::linear;
use attnlab_lab::experiment::draw::ends;
use std::f64::consts::SQRT_2;

/// A statement of Theorem 2 on a trained layer.
#[derive(Serialize, Deserialize)]
pub struct Theorem2 {
    statement: Statement,
    /// Scale of v in erf(v/scale)/Δ, which is the same for all tokens.
    scale: f64,
    /// Flag of a mutant: v/Δ is the same, as without attention.
    no_attention: bool,
    /// Relative change of the time to the blow-up; a mutant's is near 0.
    change: f64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Statement {
    Printed,
    Corrected,
    /// The largest component blows up at √(π/2)/max|Δ|, the others stay finite.
    Winner,
}

impl Theorem2 {
    /// Eq. (4) as printed.
    pub const PRINTED: Self = Theorem2 { statement: Statement::Printed, scale: 2.0, no_attention: false, change: 0.0 };
    /// Eq. (4) as derived.
    pub const CORRECTED: Self = Theorem2 { statement: Statement::Corrected, scale: SQRT_2, ..Self::PRINTED };
    /// The remark: winner takes all, with time and limits.
    pub const WINNER: Self = Theorem2 { statement: Statement::Winner, ..Self::CORRECTED };
}

/// Share of the time to the blow-up, at which the invariant is read.
const SHARE: f64 = 0.95;
/// Accuracy of erf(v/√2) along the flow, in which errors do not grow: 1e-12 over some hundred steps.
const TOLERANCE: f64 = 1e-9;
/// |v| of the winner at which the blow-up is taken to have come.
const BLOWN_UP: f64 = 5.0;
/// The rest of the integral at [`BLOWN_UP`], erfc(5/√2) = 5.8e-7 of the time, and the integrator's error, below 1e-8.
const BLOW_UP_TOLERANCE: f64 = 6e-7;

impl Claim for Theorem2 {
    from_sheet!(
        self,
        match self.statement {
            Statement::Printed => sheet!("joma.theorem2"),
            Statement::Corrected => sheet!("joma.theorem2_corrected"),
            Statement::Winner => sheet!("joma.theorem2_winner"),
        },
        trials = 20
    );

    fn schema(&self) -> Schema {
        vec![TOKENS.within(Domain::Whole(2, 200)).or(6), SAMPLES.or(9)]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        affordable(params, &[SAMPLES], MOST_OF_NODE)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (tokens, samples) = (params.get(TOKENS), params.get(SAMPLES));
        let x = inputs(tokens, samples, streams);
        let g = normal_matrix(1, samples, &mut streams.part("gradient", 0));
        let delta = (x.dot(&g.row(0)) / samples as f64).to_vec();
        let layer = Training::uniform(Attention::Exp, Activation::LINEAR, 1, x, Backpropagated::Stationary(g))?;
        let end = linear::blow_up(&delta);
        let flow = Flow::new(Method::Tsit45).within(1e-12);
        if let Statement::Winner = self.statement {
            return winner(&layer, &flow, &delta, (1.0 + self.change) * end);
        }
        let path = flow.run(&layer, &layer.zero(), &[SHARE * end])?;
        let v = layer.weights(path.end());
        let quantity = |v: f64| if self.no_attention { v } else { libm::erf(v / self.scale) };
        let winner = largest_place(&delta);
        let top = quantity(v[[winner, 0]]);
        // The invariant times Δ_l, so that tokens of next to no gradient do not divide by it.
        let off = |(v, d): (&f64, &f64)| (quantity(*v) / top - d / delta[winner]).abs();
        let off = v.iter().zip(&delta).map(off).fold(0.0, f64::max);
        let (low, high) = ends(v.iter().zip(&delta).map(|(v, d)| quantity(*v) / d));
        Ok(Outcome::equal(off, 0.0, TOLERANCE, witness! { "least" => low, "largest" => high, "steps" => path.steps }))
    }
}

/// The place of the largest |Δ|.
pub(super) fn largest_place(delta: &[f64]) -> usize {
    (0..delta.len()).max_by(|a, b| delta[*a].abs().total_cmp(&delta[*b].abs())).unwrap_or(0)
}

/// The outcome of the remark: how far the time of the blow-up and the places of the others are off, both relative.
fn winner(layer: &Training, flow: &Flow, delta: &[f64], said: f64) -> Result<Outcome> {
    let largest = |x: &[f64]| x[..delta.len()].iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let event = |x: &[f64]| BLOWN_UP - largest(x);
    let path = flow.watched(layer, &layer.zero(), &[2.0 * linear::blow_up(delta)], Watch::until(&event))?;
    let Some((time, state)) = &path.event else {
        return Ok(Outcome::Event { holds: false, witness: witness! { "largest" => largest(path.end()) } });
    };
    let most = delta.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    let v = layer.weights(state);
    let limit = |d: f64| SQRT_2 * linear::inverse_erf(d / most);
    let mut off = (time / said - 1.0).abs();
    // The limits in the units of the integral, in which all components are equally far from them.
    for (v, d) in v.iter().zip(delta).filter(|(_, d)| d.abs() < most) {
        off = off.max((libm::erf(v / SQRT_2) - libm::erf(limit(*d) / SQRT_2)).abs());
    }
    let witness = witness! { "time" => time, "said" => said, "v" => v.column(0).to_vec() };
    Ok(Outcome::equal(off, 0.0, BLOW_UP_TOLERANCE, witness))
}
