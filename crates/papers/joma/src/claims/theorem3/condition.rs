//! Lemma 4, Eq. (56): which (v, ξ) are critical points.

use super::printed_field::{Pair, dot};
use super::{draw, hypotheses, none, schema};
use crate::claims::setting::*;

/// The condition (56), printed and with the direction of v.
#[derive(Serialize, Deserialize)]
pub struct Condition {
    printed: bool,
    /// Tangent of the angle between v and x̄_+ - x̄_-: 0 where the statement asks for none, 1 as printed.
    tilt: f64,
    /// Relative change of the share of r_+ - r_-, by which (56) is broken: 0 where it holds.
    moved: f64,
}

impl Condition {
    /// The condition as printed: (56) for any v.
    pub const PRINTED: Self = Condition { printed: true, tilt: 1.0, moved: 0.0 };
    /// The condition for v along x̄_+ - x̄_-.
    pub const CORRECTED: Self = Condition { printed: false, tilt: 0.0, moved: 0.0 };

    /// The largest rate at a (v, ξ) for which r takes both values of the pair, relative to one of its terms.
    fn residual(&self, point: &CriticalPoint, drawn: &Drawn, printed: bool, moved: f64) -> f64 {
        let scale = if printed { 1.0 } else { point.length };
        let (plus, minus) = (point.plus + moved * point.distance(), point.minus);
        // v = |v| e; x̄_+ - x̄_- = (r_+ - r_-)/|v| (e + tilt e'), e' across e.
        let v: Vec<f64> = drawn.direction.iter().map(|e| point.length * e).collect();
        let size = scale * (plus - minus) / point.length;
        let apart = drawn.direction.iter().zip(&drawn.across).map(|(e, across)| size * (e + self.tilt * across));
        let upper: Vec<f64> = apart.zip(&drawn.centre).map(|(d, x)| d + x).collect();
        let CriticalPoint { law, slopes, weight, .. } = *point;
        let pair = Pair { law, slopes, weight, centres: [&upper, &drawn.centre], printed };
        let (rate, bias) = pair.rate(&v, scale * minus - dot(&v, &drawn.centre));
        let theta1 = point.law.theta1(point.slopes, point.plus).abs();
        let term = theta1 * size.abs() / if printed { point.length } else { 1.0 };
        // ξ̇ and v̇ - ξ̇ x̄_-: the terms of x̄_- cancel with that of ξ̇.
        let rest = rate.iter().zip(&drawn.centre).map(|(rate, x)| rate - bias * x);
        rest.fold(0.0_f64, |m, x| m.max(x.abs())).max(bias.abs() * size.abs()) / term
    }
}

/// Directions and a centre at random.
struct Drawn {
    /// Unit vector along v.
    direction: Vec<f64>,
    /// Unit vector across it; zeros in one dimension.
    across: Vec<f64>,
    /// Centre x̄_-.
    centre: Vec<f64>,
}

impl Drawn {
    fn new(dim: usize, rng: &mut Generator) -> Self {
        let mut normal = || normal_matrix(1, dim, rng).row(0).to_vec();
        let unit = |x: Vec<f64>| {
            let length = dot(&x, &x).sqrt();
            x.iter().map(|x| x / length).collect::<Vec<f64>>()
        };
        let direction = unit(normal());
        let other = normal();
        let along = dot(&other, &direction);
        let across = match dim {
            1 => vec![0.0],
            _ => unit(other.iter().zip(&direction).map(|(o, e)| o - along * e).collect()),
        };
        Drawn { direction, across, centre: normal() }
    }
}

/// Largest relative rate at a critical point: ρ_+ by bisection to rounding, times condition numbers of some thousand.
const TOLERANCE: f64 = 1e-9;
/// Relative change of r_+ - r_- by which (56) is broken, and the least relative rate there.
const BROKEN: (f64, f64) = (1e-3, 1e-6);

impl Claim for Condition {
    from_sheet!(
        self,
        if self.printed { sheet!("joma.lemma4_condition") } else { sheet!("joma.lemma4_condition_corrected") },
        trials = super::TRIALS
    );

    fn schema(&self) -> Schema {
        schema()
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        hypotheses(params)
    }

    /// In one dimension every v is along x̄_+ - x̄_-.
    fn expected(&self, params: &Params) -> VerdictKind {
        if params.get(DIM) == 1 { VerdictKind::Supported } else { self.sheet().expected }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let Some(point) = draw(params, streams)? else { return Ok(none()) };
        let drawn = Drawn::new(params.get(DIM), &mut streams.part("directions", 0));
        let fields = [true, false];
        let at_rest = fields.map(|printed| self.residual(&point, &drawn, printed, self.moved));
        let broken = fields.map(|printed| self.residual(&point, &drawn, printed, BROKEN.0));
        let holds = at_rest.iter().all(|rate| *rate <= TOLERANCE) && broken.iter().all(|rate| *rate >= BROKEN.1);
        let witness = witness! {
            "r" => [point.plus, point.minus], "weight" => point.weight, "length" => point.length,
            "rate" => at_rest, "rate_without_56" => broken,
        };
        Ok(Outcome::Event { holds, witness })
    }
}
