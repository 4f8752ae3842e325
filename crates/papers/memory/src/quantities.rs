//! Every parameter of the room, typed once.

use attnlab_core::params::{Domain, Params, Quantity};

/// d.
pub const DIM: Quantity<usize> = Quantity::whole("d", "d", "dimension of the patterns");

/// N.
pub const PATTERNS: Quantity<usize> = Quantity::whole("N", "N", "number of patterns");

/// K.
pub const RADIUS: Quantity<f64> =
    Quantity::real("K", "K", "length of the patterns over √(d - 1): M = K √(d - 1)").within(Domain::POSITIVE);

/// β.
pub const BETA: Quantity<f64> = Quantity::real("beta", "β", "inverse temperature").within(Domain::POSITIVE);

/// p.
pub const FAILURE: Quantity<f64> = Quantity::real("p", "p", "failure probability").within(Domain::LEFT_OPEN_UNIT);

/// |ξ − x_1|/M.
pub const AWAY: Quantity<f64> =
    Quantity::real("away", "|ξ - x_1|/M", "distance of the query from the first pattern over the patterns' length")
        .within(above(0.0, 2.0));

/// βM², the inverse temperature of patterns of length 1.
pub const STRENGTH: Quantity<f64> = Quantity::real("strength", "βM²", "inverse temperature of patterns of length 1");

/// λ.
pub const LAMBDA: Quantity<f64> =
    Quantity::real("lambda", "λ", "inverse temperature per dimension, βM²/d").within(Domain::POSITIVE);

/// |α − α_1|.
pub const MARGIN: Quantity<f64> =
    Quantity::real("s", "s", "distance of the load α = (log N)/d from the threshold, on either side")
        .within(Domain::POSITIVE);

/// M = K√(d − 1), the length of the patterns.
pub fn length(params: &Params) -> f64 {
    params.get(RADIUS) * (params.real(DIM) - 1.0).sqrt()
}

/// The interval (low, high].
pub const fn above(low: f64, high: f64) -> Domain {
    Domain::Number { low, low_in: false, high, high_in: true }
}

/// The interval [low, high].
pub const fn closed(low: f64, high: f64) -> Domain {
    Domain::Number { low, low_in: true, high, high_in: true }
}
