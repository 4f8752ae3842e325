//! Pairs on the upper half of G, ρ_- ≥ 0, which the proof of Lemma 4 looks at under ReLU.

use super::{dim, generator};
use crate::claims::setting::*;
use crate::theory::critical;

/// The least degrees of freedom: at 1 the mean of |t| diverges.
const LEAST_NU: f64 = 1.1;

/// The parameters of a random law that satisfies (58).
pub(super) fn schema() -> Schema {
    vec![dim(), MOST_NU.or(1.95)]
}

/// The hypothesis (58).
pub(super) fn hypotheses(params: &Params) -> Vec<Hypothesis> {
    // It holds for all of the laws where it holds for the lightest tail.
    let margin = student(params, params.get(MOST_NU)).map_or(f64::NAN, |law| critical::existence(&law) - 0.25);
    vec![Hypothesis::new("(58)", "theta_2(0) p_n(0) >= 1/4", margin)]
}

fn student(params: &Params, nu: f64) -> Result<Isotropic> {
    Isotropic::new(Radial::Student { nu }, params.get(DIM))
}

/// A random law, and a number in [0, 1) beside it.
pub(super) fn law(params: &Params, streams: &Streams) -> Result<(Isotropic, f64)> {
    let mut rng = generator(streams);
    Ok((student(params, LEAST_NU + (params.get(MOST_NU) - LEAST_NU) * rng.random::<f64>())?, rng.random()))
}

/// The critical point with ρ_- = `minus`, where the line through 0 and (θ_1(ρ_-), F(ρ_-)) meets G again, or with
/// the first half, quarter, .. of it for which the line does.
pub(super) fn pair(law: &Isotropic, mut minus: f64) -> Option<CriticalPoint> {
    let mut point = CriticalPoint::relu(*law, minus, 1.0);
    while point.is_err() && minus > 1e-6 {
        minus *= 0.5;
        point = CriticalPoint::relu(*law, minus, 1.0);
    }
    point.ok()
}
