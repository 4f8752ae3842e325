//! Every parameter of the room, typed once.

use attnlab_core::params::{Domain, Quantity};

/// d.
pub const DIM: Quantity<usize> = Quantity::whole("d", "d", "dimension of the patterns");
/// N.
pub const PATTERNS: Quantity<usize> = Quantity::whole("N", "N", "number of patterns");
/// K.
pub const RADIUS: Quantity<f64> =
    Quantity::real("K", "K", "radius of the patterns' sphere over √(d - 1): their length is M = K √(d - 1)")
        .within(Domain::POSITIVE);
/// β.
pub const BETA: Quantity<f64> = Quantity::real("beta", "β", "inverse temperature").within(Domain::POSITIVE);
/// p.
pub const FAILURE: Quantity<f64> = Quantity::real("p", "p", "failure probability").within(above(0.0, 1.0));
/// |ξ − x_i|/M.
pub const AWAY: Quantity<f64> = Quantity::real(
    "away",
    "|ξ - x_i|/M",
    "distance of the query from its pattern, relative to the length of the patterns",
)
.within(above(0.0, 2.0));
/// λ.
pub const LAMBDA: Quantity<f64> =
    Quantity::real("lambda", "λ", "inverse temperature per dimension, β M²/d").within(Domain::POSITIVE);
/// |α − α_1|.
pub const SLACK: Quantity<f64> =
    Quantity::real("s", "s", "distance of the load α = (log N)/d from the threshold, on either side")
        .within(Domain::POSITIVE);

/// The half-open interval without its lower end.
pub const fn above(low: f64, high: f64) -> Domain {
    Domain::Number { low, low_in: false, high, high_in: true }
}

/// The closed interval.
pub const fn closed(low: f64, high: f64) -> Domain {
    Domain::Number { low, low_in: true, high, high_in: true }
}
