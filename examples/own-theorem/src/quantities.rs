//! The quantities of this room: name, symbol, meaning, unit and range of every parameter, once.

use attnlab::prelude::*;

/// n.
pub const TOKENS: Quantity<usize> =
    Quantity::whole("tokens", "n", "number of scores").within(Domain::Whole(1, 1_000_000));

/// β.
pub const SCALE: Quantity<f64> =
    Quantity::real("scale", "β", "mean of the exponential scores").within(Domain::POSITIVE);

/// σ.
pub const SPREAD: Quantity<f64> =
    Quantity::real("spread", "σ", "spread of the normal scores").unit("standard deviation").within(Domain::POSITIVE);
