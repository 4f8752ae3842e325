//! The corrected laws of the closest pair: its path with masses and the unit of time at the present angle, and its duration.

use super::{ROUNDING, angle, left_out, no_room, parameters, place, printed_time, room};
use crate::quantities::{ANGLE, BETA, MASS_I, MASS_J, RESCALED};
use crate::setting::flow;
use crate::theory::pair;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::Watch;

/// Speed of the pair by its masses.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Speed {
    /// α_i/α_j + α_j/α_i.
    BothRatios,
    /// The mutant: 2 α_j/α_i.
    OneRatio,
    /// The mutant: 2, as if masses were equal.
    NoMasses,
}

impl Speed {
    fn of_masses(self, params: &Params) -> f64 {
        let (a, b) = (params.get(MASS_I), params.get(MASS_J));
        match self {
            Speed::BothRatios => pair::speed(a, b),
            Speed::OneRatio => 2.0 * b / a,
            Speed::NoMasses => 2.0,
        }
    }
}

/// The corrected law: masses, and the unit of time at the present angle.
#[derive(Serialize, Deserialize)]
pub struct PairPath {
    speed: Speed,
    /// Factor of the speed.
    faster: f64,
}

impl PairPath {
    /// tan(θ/2) falls like e^{−ms}.
    pub const DERIVED: Self = PairPath { speed: Speed::BothRatios, faster: 1.0 };
}

impl Claim for PairPath {
    from_sheet!("cluster.pair_corrected", trials = 12);

    fn schema(&self) -> Schema {
        let mut schema = parameters(0.1, 0.3);
        schema.push(RESCALED.within(Domain::left_open(0.0, 0.5)).or(0.15));
        schema
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let (a, b, s) = (params.get(MASS_I), params.get(MASS_J), params.get(RESCALED));
        let end = pair::angle(params.get(ANGLE), a, b, s);
        let printed = "beta → ∞ [here: what the limit leaves out moves angles by .002 at most]";
        vec![Hypothesis::new("large beta", printed, 0.002 - left_out(params, end, s)), room(params)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let Some(setting) = place(params, &mut streams.part("clusters", 0))? else { return Ok(no_room()) };
        let s = params.get(RESCALED);
        let path = flow().run(&setting.field(params)?, &setting.state, &[s])?;
        let start = params.get(ANGLE);
        // Equal masses have the speed 2.
        let claimed = pair::angle(start, 1.0, 1.0, 0.5 * self.faster * self.speed.of_masses(params) * s);
        let (angle, others) = (angle(path.end(), setting.n), setting.moved(path.end())?);
        let end = pair::angle(start, params.get(MASS_I), params.get(MASS_J), s);
        // The others rest: their motion counts like the pair's distance from its law.
        let gap = (angle - claimed).abs().max(others);
        Ok(Outcome::at_most(
            gap,
            0.0,
            left_out(params, end, s) + ROUNDING,
            witness! { "angle" => angle, "law" => claimed, "others_moved" => others },
        ))
    }
}

/// The time to contact in units of e^{β(1 − ρ_0)}/β.
#[derive(Serialize, Deserialize)]
pub struct Duration {
    speed: Speed,
    /// Power of sin θ_0.
    sine: i32,
    /// Flag of a mutant: in units of e^{β(1 − ρ_0)}.
    no_beta: bool,
}

impl Duration {
    /// 1/(m sin² θ_0).
    pub const DERIVED: Self = Duration { speed: Speed::BothRatios, sine: 2, no_beta: false };
}

impl Claim for Duration {
    from_sheet!("cluster.pair_duration_law", trials = 12);

    fn schema(&self) -> Schema {
        let mut schema = parameters(0.1, 0.3);
        schema[0] = BETA.within(Domain::closed(1.0, 400.0)).or(100.0);
        schema[1] = ANGLE.within(Domain::closed(0.5, 1.5)).or(0.8);
        schema
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let printed = "beta → ∞ [here: its share of the next orders and what the limit leaves out are .2 at most]";
        vec![Hypothesis::new("large beta", printed, 0.2 - next(params)), room(params)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let Some(setting) = place(params, &mut streams.part("clusters", 0))? else { return Ok(no_room()) };
        let (start, beta) = (params.get(ANGLE), params.get(BETA));
        let (a, b) = (params.get(MASS_I), params.get(MASS_J));
        let field = setting.field(params)?;
        let halved = |x: &[f64]| angle(x, setting.n) - 0.5 * start;
        let limit = 1.0 / (self.speed.of_masses(params) * start.sin().powi(self.sine));
        // s at half the angle is ln 2 / m or so.
        let path = flow().watched(&field, &setting.state, &[10.0], Watch::until(&halved))?;
        let Some((_, state)) = path.event else {
            let witness = witness! { "angle" => angle(path.end(), setting.n) };
            return Ok(Outcome::Event { holds: false, witness });
        };
        let time = printed_time(&state) * if self.no_beta { 1.0 } else { beta };
        Ok(Outcome::equal(
            time / limit,
            1.0,
            next(params) + ROUNDING,
            witness! {
                "time" => time, "limit" => limit, "with_all_orders" => pair::duration(beta, start, 0.5 * start, a, b)
            },
        ))
    }
}

/// Bounds the share by which the time may differ from its limit: with s = 1/(β sin² θ_0) the orders 2 cos θ_0 s of
/// β^{−1}, less than 8 s², 60 s³ and 400 s⁴ of those after it; the end at half the angle; what the limit leaves out.
fn next(params: &Params) -> f64 {
    let (beta, start) = (params.get(BETA), params.get(ANGLE));
    let small = 1.0 / (beta * start.sin().powi(2));
    let end = (-beta * ((0.5 * start).cos() - start.cos())).exp() * 4.0;
    let left_out = left_out(params, start, beta);
    2.0 * start.cos() * small + 8.0 * small.powi(2) + 60.0 * small.powi(3) + 400.0 * small.powi(4) + end + left_out
}
