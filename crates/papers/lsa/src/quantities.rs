//! Parameters of this room, each typed once: claims, closed forms and experiments share them.
//!
//! A name that has two meanings after `--set` has two constants. The settings of the
//! experiments call N `context`; both names are understood, in claims and in settings.

use attnlab_core::params::{Domain, Quantity, Word};
use ndarray::Array2;

/// Dimensions beyond this make one trial longer than anybody waits for.
const MOST_DIM: u64 = 500;

/// Whole numbers up to here are exact in double precision.
const MOST: u64 = 1 << 53;

/// The largest number of prompts in a trial.
const MOST_PROMPTS: u64 = 100_000_000;
/// The smallest one. A loss is the square of a product of normal numbers: over fewer prompts its mean is far from
/// normal, and Student's interval too short.
const FEWEST_PROMPTS: u64 = 1000;

/// A finite number ≥ 1.
const FROM_ONE: Domain = Domain::right_open(1.0, f64::INFINITY);

/// Dimension d of the inputs.
pub const DIM: Quantity<usize> =
    Quantity::whole("dim", "d", "dimension of the inputs").within(Domain::Whole(1, MOST_DIM));

/// Condition number of a random Λ with largest eigenvalue 1.
pub const CONDITION: Quantity<f64> = Quantity::real(
    "condition",
    "",
    "condition number of Λ: eigenvalues from 1/condition to 1, log-uniform between, on random axes",
)
.within(FROM_ONE);

/// Number N of examples in a training prompt.
pub const CONTEXT: Quantity<usize> =
    Quantity::whole("N", "N", "examples in a training prompt").alias(&["context"]).within(Domain::Whole(1, MOST));

/// Number M of examples in a test prompt.
pub const EXAMPLES: Quantity<usize> =
    Quantity::whole("M", "M", "examples in a test prompt").within(Domain::Whole(1, MOST));

/// Covariance Λ of a closed form.
pub const COVARIANCE: Quantity<Array2<f64>> =
    Quantity::matrix("covariance", "Λ", "covariance of the inputs in training, by rows", &Domain::FINITE);

/// Task a of a closed form.
pub const TASK: Quantity<Vec<f64>> = Quantity::vector("task", "a", "the weights of the test task", &Domain::FINITE);

/// Scale σ of the theorem's initial weights.
pub const SCALE: Quantity<f64> = Quantity::real("scale", "σ", "scale of the initial weights").within(Domain::POSITIVE);

/// Words of [`WEIGHTS`].
pub const PLACES: [&str; 2] = ["flow", "anywhere"];

/// Weights at which an inequality is asked for.
pub const WEIGHTS: Quantity<Word> = Quantity::word(
    "weights",
    "u",
    "weights at which the inequality is asked for: along the flow from the theorem's start, or random \
     ones of any scale",
    &PLACES,
);

/// Factor c of a covariate shift.
pub const COVARIANCE_FACTOR: Quantity<f64> =
    Quantity::real("scale", "c", "factor on Λ at test time").within(Domain::POSITIVE);

/// Spread of a start around a stationary point.
pub const PERTURBATION: Quantity<f64> =
    Quantity::real("perturbation", "", "standard deviation of every weight around the point").within(Domain::POSITIVE);

/// Label noise σ² of training, in claims.
pub const TRAINING_NOISE: Quantity<f64> =
    Quantity::real("noise_var", "σ²", "variance of the label noise in training").within(Domain::NON_NEGATIVE);

/// Label noise σ² of training, in closed forms, which have a noise at test time too.
pub const FORMULA_TRAINING_NOISE: Quantity<f64> =
    Quantity::real("train_noise_var", "", "variance of the label noise in training; the notes have none")
        .within(Domain::NON_NEGATIVE);

/// Variance of the label noise at test time.
pub const TEST_NOISE: Quantity<f64> =
    Quantity::real("noise_var", "", "variance of the label noise at test time").within(Domain::NON_NEGATIVE);

/// Number B of prompts, in a claim.
pub const BATCH: Quantity<usize> =
    Quantity::whole("prompts", "B", "prompts of the empirical loss; 0 for the population loss")
        .within(Domain::Whole(0, 1_000_000));

/// Number B of prompts, in the cells of experiments.
pub const CELL_BATCH: Quantity<usize> = Quantity::whole("B", "B", "prompts of the empirical loss");

/// Prompts over which a trial takes the mean.
pub const PROMPTS: Quantity<usize> =
    Quantity::whole("prompts", "", "prompts in a trial").within(Domain::Whole(FEWEST_PROMPTS, MOST_PROMPTS));

/// Test prompts over which a trial takes the mean.
pub const TEST_PROMPTS: Quantity<usize> =
    Quantity::whole("prompts", "", "test prompts in a trial").within(Domain::Whole(FEWEST_PROMPTS, MOST_PROMPTS));

/// Words of [`TARGET`].
pub const TARGETS: [&str; 5] = ["linear", "quadratic", "sign", "relu", "cube"];

/// Target of a test prompt.
pub const TARGET: Quantity<Word> =
    Quantity::word("target", "", "function of x that labels are, before noise", &TARGETS);

/// Number N of tokens, of the notes' first part.
pub const TOKENS: Quantity<usize> = Quantity::whole("tokens", "N", "number of tokens").alias(&["N"]);

/// Dimension D of the tokens.
pub const TOKEN_DIM: Quantity<usize> = Quantity::whole("dim", "D", "dimension of the tokens");

/// Number H of heads.
pub const HEADS: Quantity<usize> = Quantity::whole("heads", "H", "number of heads").within(Domain::Whole(1, 64));

/// Words of [`DISPLAY`], in the order of the notes.
pub const DISPLAYS: [&str; 4] = ["simple", "one-map", "two-maps", "multi-head"];

/// Display of the attention matrix.
pub const DISPLAY: Quantity<Word> =
    Quantity::word("display", "", "one of the notes' four displays of the attention matrix, in their order", &DISPLAYS);

/// Words of [`SIZES`].
pub const LENGTHS: [&str; 2] = ["any", "long"];

/// Numbers N and D of tokens and dimensions that are drawn.
pub const SIZES: Quantity<Word> = Quantity::word(
    "sizes",
    "",
    "numbers N of tokens and D of dimensions: any, or long sequences with N >= D",
    &LENGTHS,
);

/// Words of [`PART`]: those of `lsa_flow`, then those of `lsa_training`.
pub const PARTS: [&str; 10] =
    ["flow", "descent", "limit", "risk", "shift", "softmax", "population", "prompts", "start", "dense"];

/// Part of an experiment that a cell belongs to.
pub const PART: Quantity<Word> = Quantity::word("part", "", "part of the experiment", &PARTS);

/// Step size η of gradient descent.
pub const ETA: Quantity<f64> =
    Quantity::real("eta", "η", "step size of gradient descent").unit("time of the flow").within(Domain::POSITIVE);

/// Words of [`SHIFTED`].
pub const SHIFTS: [&str; 3] = ["covariance", "query", "task"];

/// Part of a prompt that is shifted by a factor c: the covariance of examples and query, that of the query
/// alone, or the variance of the labels through the task.
pub const SHIFTED: Quantity<Word> = Quantity::word("what", "", "shifted part of a prompt", &SHIFTS);

/// Factor c of a shift.
pub const SHIFT: Quantity<f64> =
    Quantity::real("c", "c", "factor on the variance of what is shifted").within(Domain::POSITIVE);

/// Words of [`START`]: B = ΘΘᵀ as in the theorem, Θ, or -ΘΘᵀ, each of norm σ = u.
pub const STARTS: [&str; 3] = ["theorem", "normal", "mirrored"];

/// Kind of a start with v = c = 0.
pub const START: Quantity<Word> = Quantity::word("kind", "", "kind of the initial B", &STARTS);

/// Scale σ of a start with v = c = 0.
pub const RELATIVE_SCALE: Quantity<f64> =
    Quantity::real("scale", "σ", "scale of the initial weights over the largest that the theorem allows")
        .within(Domain::POSITIVE);

/// Spread of dense initial weights.
pub const DENSE_SCALE: Quantity<f64> =
    Quantity::real("scale", "", "standard deviation of every initial weight").within(Domain::POSITIVE);
