//! Every parameter of the room, typed once.

use attnlab_core::params::{Domain, Quantity, Word};
use attnlab_theory::particles::Normalisation;
use std::f64::consts::PI;

/// Model, SA or USA.
pub const MODEL: Quantity<Word> =
    Quantity::word("model", "", "sa: softmax attention; usa: the sum is divided by n instead", &Normalisation::NAMES);
/// Number n of tokens.
pub const TOKENS: Quantity<usize> = Quantity::whole("n", "n", "number of tokens");
/// Dimension d of the space.
pub const DIM: Quantity<usize> = Quantity::whole("d", "d", "dimension of the space; the sphere has d - 1");
/// Number K of clusters.
pub const CLUSTERS: Quantity<usize> = Quantity::whole("K", "K", "number of clusters").within(Domain::Whole(2, 8));
/// Inverse temperature β.
pub const BETA: Quantity<f64> = Quantity::real("beta", "β", "inverse temperature").within(Domain::NON_NEGATIVE);
/// Time t.
pub const TIME: Quantity<f64> = Quantity::real("t", "t", "time, depth of the network").within(Domain::POSITIVE);
/// Rescaled time s.
pub const RESCALED: Quantity<f64> = Quantity::real("s", "s", "rescaled time").within(Domain::NON_NEGATIVE);
/// Angle θ_0 of the closest pair at the start.
pub const ANGLE: Quantity<f64> = Quantity::real("angle", "θ_0", "angle of the closest pair at the start")
    .unit("radian")
    .within(Domain::open(0.0, PI));
/// Mass α_i of one cluster of the pair.
pub const MASS_I: Quantity<f64> =
    Quantity::real("mass_i", "α_i", "mass of one cluster of the pair").within(Domain::POSITIVE);
/// Mass α_j of the other cluster of the pair.
pub const MASS_J: Quantity<f64> =
    Quantity::real("mass_j", "α_j", "mass of the other cluster of the pair").within(Domain::POSITIVE);
/// Gap g between the pair's inner product and all others.
pub const GAP: Quantity<f64> = Quantity::real("gap", "g", "least distance of the pair's inner product from all others")
    .within(Domain::open(0.0, 2.0));
/// Inner product ρ of two tokens.
pub const RHO: Quantity<f64> = Quantity::real("rho", "ρ", "inner product of two tokens");
/// Factor γ of log n in the inverse temperature.
pub const GAMMA: Quantity<f64> =
    Quantity::real("gamma", "γ", "inverse temperature over log n").within(Domain::POSITIVE);
/// Inverse temperature κ = γ (1 − ρ) in units of the critical one.
pub const KAPPA: Quantity<f64> =
    Quantity::real("kappa", "κ", "γ (1 − ρ), inverse temperature in units of the critical one")
        .within(Domain::POSITIVE);
/// Number k of a mode of the circle.
pub const MODE: Quantity<usize> = Quantity::whole("k", "k", "number of a mode of the circle");
/// Distance δ of Rényi centres.
pub const DELTA: Quantity<f64> =
    Quantity::real("delta", "δ", "distance of Rényi centres").unit("radian").within(Domain::open(0.0, PI));

/// Number H of heads.
pub const HEADS: Quantity<usize> = Quantity::whole("H", "H", "number of heads").within(Domain::Whole(1, 16));
/// Number L of layers.
pub const LAYERS: Quantity<usize> = Quantity::whole("L", "L", "number of layers").within(Domain::Whole(1, 3));
/// Standard deviation of the scores of two tokens of variance 1.
pub const SCALE: Quantity<f64> =
    Quantity::real("scale", "", "standard deviation of the scores of two tokens of variance 1")
        .within(Domain::POSITIVE);
/// Standard deviation of the residuals at the start.
pub const START: Quantity<f64> =
    Quantity::real("start", "", "standard deviation of the residuals at the start").within(Domain::POSITIVE);
/// Words of [`PART`]: those of `cluster_trajectories`, of `cluster_pair` and of `cluster_collapse`.
pub const PARTS: [&str; 6] = ["circle", "sphere", "path", "duration", "layers", "contexts"];
/// Part of an experiment that a cell belongs to.
pub const PART: Quantity<Word> = Quantity::word("part", "", "part of the experiment", &PARTS);
/// Words of [`VARIANT`].
pub const VARIANTS: [&str; 4] = ["trained", "untrained", "law", "uniform"];
/// Tokens of `cluster_network`.
pub const VARIANT: Quantity<Word> = Quantity::word(
    "variant",
    "",
    "trained: the network as given; untrained: random weights; law: SA at β from the directions of the embedding; uniform: on the sphere",
    &VARIANTS,
);
