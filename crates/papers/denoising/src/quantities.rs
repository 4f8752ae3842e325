//! Parameters of this room, each typed once.
//!
//! Claims and closed forms write the paper's letters (`n`, `d`, `L`); the cells of the experiments write
//! words (`ambient`, `dim`, `context`), because rows and cells of earlier runs do: see [`cell`].

use attnlab_lab::claim::{Domain, Quantity, Word};
use ndarray::Array2;

/// The largest n, L and number of queries that a claim takes.
const MOST: u64 = 1_000_000;

/// Range of lengths and variances: their eighth powers stay in the range of f64.
const SCALE: Domain = Domain::closed(1e-30, 1e30);

/// The largest dimension of a closed form: the Bessel ratio is tested up to order 50 000.
pub const MOST_DIM: u64 = 100_000;

/// n, dimension of the tokens.
pub const AMBIENT: Quantity<usize> =
    Quantity::whole("n", "n", "dimension of the tokens").within(Domain::Whole(1, MOST));

/// d, dimension of what the tokens of a task lie on.
pub const DIM: Quantity<usize> =
    Quantity::whole("d", "d", "dimension of the subspace or sphere, below n").within(Domain::Whole(0, MOST));

/// L, number of clean tokens.
pub const CONTEXT: Quantity<usize> = Quantity::whole("L", "L", "number of clean tokens").within(Domain::Whole(1, MOST));

/// K, number of clusters.
pub const CLUSTERS: Quantity<usize> = Quantity::whole("K", "K", "number of clusters").within(Domain::Whole(1, 1000));

/// Number of queries per trial.
pub const QUERIES: Quantity<usize> = Quantity::whole("queries", "", "queries per trial").within(Domain::Whole(1, MOST));

/// N, number of prompts behind one landscape of the loss.
pub const PROMPTS: Quantity<usize> =
    Quantity::whole("prompts", "N", "prompts per landscape").within(Domain::Whole(10, MOST));

/// R, radius of a sphere, or length of the centres of clusters.
pub const RADIUS: Quantity<f64> = Quantity::real("R", "R", "radius").within(SCALE);

/// σ_0², variance of the tokens: on a subspace, or within a cluster.
pub const TOKEN_VARIANCE: Quantity<f64> =
    Quantity::real("sigma0_2", "σ_0²", "variance of the tokens per component").within(SCALE);

/// σ_0², variance of each cluster; 0 for points.
pub const CLUSTER_VARIANCE: Quantity<f64> =
    Quantity::real("sigma0_2", "σ_0²", "variance of each cluster per component").within(Domain::NON_NEGATIVE);

/// σ_Z², variance of the noise.
pub const NOISE_VARIANCE: Quantity<f64> =
    Quantity::real("sigma_z2", "σ_Z²", "variance of the noise per component").within(SCALE);

/// α, scale of W_PV.
pub const ALPHA: Quantity<f64> = Quantity::real("alpha", "α", "scale of W_PV").within(Domain::POSITIVE);

/// β, scale of W_KQ.
pub const BETA: Quantity<f64> = Quantity::real("beta", "β", "scale of W_KQ").within(Domain::POSITIVE);

/// γ = αβ.
pub const GAMMA: Quantity<f64> = Quantity::real("gamma", "γ = αβ", "product of the attention scales");

/// γ/α, size of a step of gradient descent over α.
pub const STEP: Quantity<f64> =
    Quantity::real("step", "γ/α", "size of a gradient step over alpha").within(Domain::left_open(0.0, 5.0));

/// αβR², below one where the energy is convex.
pub const STRENGTH: Quantity<f64> = Quantity::real("strength", "αβR²", "at α = 1").within(Domain::OPEN_UNIT);

/// p_X, the law of the tokens that Theorem 3.2 is tried on.
pub const LAW: Quantity<Word> =
    Quantity::word("law", "p_X", "law of the tokens", &["sphere", "points", "spherical-clusters"]);

/// The rival of one step of attention.
pub const RIVAL: Quantity<Word> =
    Quantity::word("against", "", "rival of the single step", &["minimum", "nearest-token"]);

/// w_a, weights of clusters.
pub const WEIGHTS: Quantity<Vec<f64>> = Quantity::vector("weights", "w_a", "which sum to one", &Domain::NON_NEGATIVE);

/// w_1, weight of the first of two clusters.
pub const WEIGHT: Quantity<f64> =
    Quantity::real("weight", "w_1", "weight of the first cluster").within(Domain::OPEN_UNIT);

/// σ_a², variances of clusters.
pub const VARIANCES: Quantity<Vec<f64>> =
    Quantity::vector("variances", "σ_a²", "one per weight", &Domain::NON_NEGATIVE);

/// λ_i, variances of Gaussian tokens along the axes of their subspace.
pub const AXIS_VARIANCES: Quantity<Vec<f64>> =
    Quantity::vector("variances", "λ_i", "variances of the tokens along each axis of the subspace", &Domain::POSITIVE);

/// κ_a, concentrations of von Mises-Fisher clusters.
pub const CONCENTRATIONS: Quantity<Vec<f64>> = Quantity::vector(
    "concentrations",
    "κ_a",
    "one per cluster: the tangent variance is about R² / κ_a",
    &Domain::NON_NEGATIVE,
);

/// μ_a, centres of clusters.
pub const MEANS: Quantity<Array2<f64>> =
    Quantity::matrix("means", "μ_a", "centres, one row per cluster", &Domain::FINITE);

/// The query x̃ of a posterior mean.
pub const QUERY: Quantity<Vec<f64>> = Quantity::vector("x", "x̃", "the query", &Domain::FINITE);

/// |P x̃|, length of the query within the subspace of its task.
pub const NORM: Quantity<f64> =
    Quantity::real("norm", "|P x̃|", "length of the projected query").within(Domain::NON_NEGATIVE);

/// ν, order of the Bessel function in the denominator of a ratio.
pub const ORDER: Quantity<f64> =
    Quantity::real("order", "ν", "order of the denominator").within(Domain::closed(-0.5, 0.5 * MOST_DIM as f64));

/// Argument of a ratio of Bessel functions: the recurrence takes √(46 x) steps where the expansion does not serve yet.
pub const ARGUMENT: Quantity<f64> = Quantity::real("x", "x", "argument").within(Domain::closed(0.0, 1e12));

/// Parameters of the experiments' cells.
pub mod cell {
    use attnlab_lab::claim::{Domain, Quantity, Word};

    /// The tasks of the paper, in its order.
    pub const TASKS: [&str; 3] = ["subspace", "sphere", "clusters"];

    /// The sources of settings that differ from each other.
    pub const VARIANTS: [&str; 2] = ["code", "text"];

    /// The tasks of Figure 6.
    pub const CASES: [&str; 2] = ["sphere", "clusters"];

    /// n.
    pub const AMBIENT: Quantity<usize> = Quantity::whole("ambient", "n", "dimension of the tokens");

    /// d.
    pub const DIM: Quantity<usize> = Quantity::whole("dim", "d", "dimension of the subspace or sphere");

    /// L.
    pub const CONTEXT: Quantity<usize> = Quantity::whole("context", "L", "number of clean tokens");

    /// L, where 0 stands for infinitely many tokens.
    pub const CONTEXT_OR_LIMIT: Quantity<usize> =
        CONTEXT.within(Domain::Whole(0, u64::MAX)).meaning("number of clean tokens; 0 for infinitely many");

    /// Number of passes over the training prompts.
    pub const EPOCHS: Quantity<usize> = Quantity::whole("epochs", "", "passes over the training prompts");

    /// Task of the paper: cases 1, 2, 3 of Section 2.
    pub const TASK: Quantity<Word> = Quantity::word("task", "", "task of the paper", &TASKS);

    /// Source of the settings: the authors' code or the paper's text.
    pub const VARIANT: Quantity<Word> = Quantity::word("variant", "", "source of the settings", &VARIANTS);

    /// Task of Figure 6.
    pub const CASE: Quantity<Word> = Quantity::word("case", "", "task of the paper", &CASES);

    /// Part of Figure 5: (a) context lengths, (b) dimensions.
    pub const PANEL: Quantity<Word> = Quantity::word("group", "", "part of the figure", &["length", "dimension"]);

    /// Map of the excess risk.
    pub const MAP: Quantity<Word> = Quantity::word("group", "", "map", &["context-noise", "dimensions"]);
}
