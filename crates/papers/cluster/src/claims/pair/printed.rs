//! The theorem on the closest pair as printed: its unit of time, its masses, and its contact in finite time.

use super::{angle, equal_masses, left_out, no_room, parameters, place, printed_time, room};
use crate::quantities::{ANGLE, BETA, GAP, MASS_I, MASS_J, RESCALED};
use crate::setting::flow;
use crate::theory::pair;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{VectorField, Watch};

/// Distance of angles, in radians, within which a path follows the printed law: [`APART`] less the .01 that the limit leaves
/// out, and as much again for room.
const CLOSE: f64 = 0.05;

/// The printed unit of time, for equal masses.
#[derive(Serialize, Deserialize)]
pub struct Clock {
    /// Power of e^{β(1 − ρ_0)} that is the unit of time.
    power: f64,
}

impl Clock {
    /// As printed.
    pub const PRINTED: Self = Clock { power: 1.0 };
}

impl Claim for Clock {
    from_sheet!("cluster.pair_clock", trials = 8);

    fn schema(&self) -> Schema {
        let mut schema = parameters(0.25, 0.25);
        schema.retain(|spec| spec.name != MASS_I.name && spec.name != MASS_J.name);
        // The contact is sought between times that are not subnormal.
        schema.push(RESCALED.within(Domain::closed(1e-9, 0.5)).or(0.1));
        schema
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let needed = (0.75 / (params.get(RESCALED) * params.get(ANGLE).sin().powi(2))).max(30.0);
        let printed = "beta → ∞ at fixed s [here: beta >= 30 and 3 / (4 s sin^2 θ_0), and beta (1 - ρ_0), beta g >= 3]";
        let deep = params.get(BETA) * (1.0 - params.get(ANGLE).cos()).min(params.get(GAP));
        let margin = (params.get(BETA) / needed - 1.0).min(deep / 3.0 - 1.0);
        vec![Hypothesis::new("large beta", printed, margin), room(params)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let with_masses = equal_masses(params);
        let Some(setting) = place(&with_masses, &mut streams.part("clusters", 0))? else { return Ok(no_room()) };
        let field = setting.field(&with_masses)?;
        // The statement compares as long as ρ ≤ 1 − ε; here until the angle is halved.
        let (start, end, s) = (params.get(ANGLE), 0.5 * params.get(ANGLE), params.get(RESCALED));
        // The printed unit of time over that of the claim.
        let unit = ((1.0 - self.power) * params.get(BETA) * (1.0 - start.cos())).exp();
        let over = |x: &[f64]| (angle(x, setting.n) - end).min(s - unit * printed_time(x));
        // In the unit of the present angle the pair is at half its angle before 1.
        let path = flow().watched(&field, &setting.state, &[10.0], Watch::until(&over))?;
        let now = unit * printed_time(path.end());
        let (angle, printed) = (angle(path.end(), setting.n), pair::angle(start, 1.0, 1.0, now));
        Ok(Outcome::equal(angle, printed, CLOSE, witness! { "s" => now, "angle" => angle, "printed_angle" => printed }))
    }
}

/// The printed law without masses, in the unit of time that holds.
#[derive(Serialize, Deserialize)]
pub struct Masses {
    /// Factor of the printed speed.
    factor: f64,
}

impl Masses {
    /// As printed.
    pub const PRINTED: Self = Masses { factor: 1.0 };
}

/// Least distance of the printed law from the corrected one at which a trial can tell them apart, in radians.
const APART: f64 = 0.07;

impl Claim for Masses {
    from_sheet!("cluster.pair_masses", trials = 8);

    fn schema(&self) -> Schema {
        let mut schema = parameters(0.1, 0.3);
        schema[0] = BETA.within(Domain::closed(1.0, 400.0)).or(100.0);
        schema.push(RESCALED.within(Domain::closed(0.05, 0.5)).or(0.2));
        schema
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let (a, b) = (params.get(MASS_I), params.get(MASS_J));
        let end = pair::angle(params.get(ANGLE), a, b, params.get(RESCALED));
        vec![
            Hypothesis::new(
                "unequal masses",
                "[here: the laws with and without them differ by .07 radian]",
                (end - pair::angle(params.get(ANGLE), 1.0, 1.0, params.get(RESCALED))).abs() - APART,
            ),
            Hypothesis::new(
                "large beta",
                "beta → ∞ [here: what the limit leaves out moves angles by .01 at most]",
                0.01 - left_out(params, end, params.get(RESCALED)),
            ),
            room(params),
        ]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let Some(setting) = place(params, &mut streams.part("clusters", 0))? else { return Ok(no_room()) };
        let s = params.get(RESCALED);
        let path = flow().run(&setting.field(params)?, &setting.state, &[s])?;
        let angle = angle(path.end(), setting.n);
        let printed = pair::angle(params.get(ANGLE), 1.0, 1.0, self.factor * s);
        Ok(Outcome::equal(angle, printed, CLOSE, witness! { "angle" => angle, "printed_angle" => printed }))
    }
}

/// Contact in finite rescaled time, for the printed law itself.
#[derive(Serialize, Deserialize)]
pub struct Contact {
    /// Time of contact over s.
    share: f64,
}

impl Contact {
    /// By the time s.
    pub const PRINTED: Self = Contact { share: 1.0 };
}

/// Angle that counts as contact: the integrator's error.
const TOUCHING: f64 = 1e-9;

/// The printed law of two unit vectors.
struct Printed;

impl VectorField for Printed {
    fn dim(&self) -> usize {
        4
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        // y_i = (x0, x2), y_j = (x1, x3), as the states of two tokens.
        let dot = x[0] * x[1] + x[2] * x[3];
        out[0] = x[1] - dot * x[0];
        out[1] = x[0] - dot * x[1];
        out[2] = x[3] - dot * x[2];
        out[3] = x[2] - dot * x[3];
    }
}

impl Claim for Contact {
    from_sheet!("cluster.pair_contact", trials = 1);

    fn schema(&self) -> Schema {
        vec![ANGLE.within(Domain::closed(0.1, 3.0)).or(0.8), RESCALED.within(Domain::left_open(0.0, 8.0)).or(5.0)]
    }

    fn trial(&self, params: &Params, _streams: &Streams) -> Result<Outcome> {
        let start = params.get(ANGLE);
        let s = self.share * params.get(RESCALED);
        let end = flow().within(1e-12).run(&Printed, &[1.0, start.cos(), 0.0, start.sin()], &[s])?;
        let x = end.end();
        // The chord keeps small angles, which the cosine rounds away.
        let angle = 2.0 * (0.5 * (x[0] - x[1]).hypot(x[2] - x[3])).min(1.0).asin();
        Ok(Outcome::Event {
            holds: angle <= TOUCHING,
            witness: witness! { "angle" => angle, "closed_form" => pair::angle(start, 1.0, 1.0, s) },
        })
    }
}
