//! Every parameter of the room, typed once.

use attnlab_core::params::{Domain, Quantity, Word};
use attnlab_theory::particles::Normalisation;
use std::f64::consts::PI;

/// SA or USA.
pub const MODEL: Quantity<Word> =
    Quantity::word("model", "", "sa: softmax attention; usa: the sum is divided by n instead", &Normalisation::NAMES);
/// n.
pub const TOKENS: Quantity<usize> = Quantity::whole("n", "n", "number of tokens");
/// d.
pub const DIM: Quantity<usize> = Quantity::whole("d", "d", "dimension of the space; the sphere has d - 1");
/// K.
pub const CLUSTERS: Quantity<usize> = Quantity::whole("K", "K", "number of clusters").within(Domain::Whole(2, 8));
/// β.
pub const BETA: Quantity<f64> = Quantity::real("beta", "β", "inverse temperature").within(Domain::NON_NEGATIVE);
/// t.
pub const TIME: Quantity<f64> = Quantity::real("t", "t", "time, depth of the network").within(Domain::POSITIVE);
/// s.
pub const RESCALED: Quantity<f64> = Quantity::real("s", "s", "rescaled time").within(Domain::NON_NEGATIVE);
/// θ_0.
pub const ANGLE: Quantity<f64> =
    Quantity::real("angle", "θ_0", "angle of the closest pair at the start").unit("radian").within(open(0.0, PI));
/// α_i.
pub const MASS_I: Quantity<f64> =
    Quantity::real("mass_i", "α_i", "mass of one cluster of the pair").within(Domain::POSITIVE);
/// α_j.
pub const MASS_J: Quantity<f64> =
    Quantity::real("mass_j", "α_j", "mass of the other cluster of the pair").within(Domain::POSITIVE);
/// ρ_0 less the next inner product.
pub const GAP: Quantity<f64> =
    Quantity::real("gap", "g", "least distance of the pair's inner product from all others").within(open(0.0, 2.0));
/// ρ.
pub const RHO: Quantity<f64> = Quantity::real("rho", "ρ", "inner product of two tokens");
/// γ.
pub const GAMMA: Quantity<f64> =
    Quantity::real("gamma", "γ", "inverse temperature over log n").within(Domain::POSITIVE);
/// γ(1 − ρ).
pub const KAPPA: Quantity<f64> =
    Quantity::real("kappa", "κ", "γ (1 − ρ), inverse temperature in units of the critical one")
        .within(Domain::POSITIVE);
/// k.
pub const MODE: Quantity<usize> = Quantity::whole("k", "k", "number of a mode of the circle");
/// δ.
pub const DELTA: Quantity<f64> =
    Quantity::real("delta", "δ", "distance of Rényi centres").unit("radian").within(open(0.0, PI));

/// The open interval.
pub const fn open(low: f64, high: f64) -> Domain {
    Domain::Number { low, low_in: false, high, high_in: false }
}

/// The half-open interval without its lower end.
pub const fn above(low: f64, high: f64) -> Domain {
    Domain::Number { low, low_in: false, high, high_in: true }
}

/// The closed interval.
pub const fn closed(low: f64, high: f64) -> Domain {
    Domain::Number { low, low_in: true, high, high_in: true }
}
