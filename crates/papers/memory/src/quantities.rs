//! Every parameter of the room, typed once.

use attnlab_core::params::{Domain, Params, Quantity};

/// Dimension d of the patterns.
pub const DIM: Quantity<usize> = Quantity::whole("d", "d", "dimension of the patterns");

/// Number N of patterns.
pub const PATTERNS: Quantity<usize> = Quantity::whole("N", "N", "number of patterns");

/// Length K of the patterns over √(d − 1).
pub const RADIUS: Quantity<f64> =
    Quantity::real("K", "K", "length of the patterns over √(d - 1): M = K √(d - 1)").within(Domain::POSITIVE);

/// Inverse temperature β.
pub const BETA: Quantity<f64> = Quantity::real("beta", "β", "inverse temperature").within(Domain::POSITIVE);

/// Failure probability p.
pub const FAILURE: Quantity<f64> = Quantity::real("p", "p", "failure probability").within(Domain::LEFT_OPEN_UNIT);

/// Distance |ξ − x_1|/M of the query from the first pattern, over the length of the patterns.
pub const AWAY: Quantity<f64> =
    Quantity::real("away", "|ξ - x_1|/M", "distance of the query from the first pattern over the patterns' length")
        .within(Domain::left_open(0.0, 2.0));

/// Inverse temperature βM² of patterns of length 1.
pub const STRENGTH: Quantity<f64> = Quantity::real("strength", "βM²", "inverse temperature of patterns of length 1");

/// Inverse temperature λ = βM²/d per dimension.
pub const LAMBDA: Quantity<f64> =
    Quantity::real("lambda", "λ", "inverse temperature per dimension, βM²/d").within(Domain::POSITIVE);

/// Distance s = |α − α_1| of the load from the threshold.
pub const MARGIN: Quantity<f64> =
    Quantity::real("s", "s", "distance of the load α = (log N)/d from the threshold, on either side")
        .within(Domain::POSITIVE);

/// Computes the length M = K√(d − 1) of the patterns.
pub fn length(params: &Params) -> f64 {
    params.get(RADIUS) * (params.real(DIM) - 1.0).sqrt()
}
