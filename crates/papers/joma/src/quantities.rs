//! Parameters of this room, each typed once. Every meaning of a name is a constant of its own.

mod trained;

pub use trained::*;

use crate::theory::Activation;
use crate::theory::attention_entropy::LARGEST_TARGET;
use crate::theory::marginal::Marginal;
use attnlab_core::params::{Domain, Quantity, Word};
use ndarray::Array2;

const PROBABILITY: Domain = Domain::closed(0.0, 1.0);

type Text = &'static str;

/// A whole number from `least` to `most`.
const fn whole(name: Text, symbol: Text, meaning: Text, least: u64, most: u64) -> Quantity<usize> {
    Quantity::whole(name, symbol, meaning).within(Domain::Whole(least, most))
}

/// A real number in `domain`.
const fn real(name: Text, symbol: Text, meaning: Text, domain: Domain) -> Quantity<f64> {
    Quantity::real(name, symbol, meaning).within(domain)
}

// The layer, Eqs. (1) and (2).

/// Number of contextual tokens, $M_C$.
pub const TOKENS: Quantity<usize> = whole("tokens", "M_C", "contextual tokens", 1, 200);
/// Number of nodes, K.
pub const NODES: Quantity<usize> = whole("nodes", "K", "nodes of the MLP layer", 1, 100);
/// Number of samples of a layer.
pub const SAMPLES: Quantity<usize> = whole("samples", "", "samples with the query m", 1, 1000);
/// Activation φ, by name.
pub const ACTIVATION: Quantity<Word> = Quantity::word("activation", "φ", "activation of the layer", &Activation::NAMES);

// Theorem 1.

/// Back-propagated gradient of a random layer.
pub const BACKPROPAGATED: Quantity<Word> = Quantity::word(
    "gradient",
    "g",
    "back-propagated gradient: fixed normal numbers (stationary, Assumption 1) or their absolute values (positive: \
     then few flows come to slide along a kink of φ), or that of the cross-entropy of random labels (cross-entropy)",
    &["positive", "stationary", "cross-entropy"],
);
/// Data of the claims on softmax attention.
pub const DATA: Quantity<Word> = Quantity::word(
    "data",
    "",
    "data of the layer: both hypotheses hold (exact: one token per sample, the gradient in \
     proportion to p_l^{-1/2}, zero start), or neither does (random)",
    &["exact", "random"],
);
/// Inner product of any two contextual embeddings.
pub const COHERENCE: Quantity<f64> =
    Quantity::real("coherence", "", "inner product of any two contextual embeddings; the hypothesis is 0")
        .within(Domain::right_open(0.0, 1.0));
/// Inner product of the query with every contextual embedding.
pub const QUERY_OVERLAP: Quantity<f64> = real(
    "query_overlap",
    "",
    "inner product of the query with every contextual embedding; the hypothesis is 0",
    Domain::open(-1.0, 1.0),
);
/// Step size η of gradient descent.
pub const STEP: Quantity<f64> =
    Quantity::real("step", "η", "step size of gradient descent; 0, the hypothesis, means the flow itself")
        .unit("time of the flow")
        .within(Domain::NON_NEGATIVE);
/// End of training.
pub const UNTIL: Quantity<f64> =
    Quantity::real("until", "", "end of training; in shorter times the weights hardly move")
        .unit("time of the flow")
        .within(Domain::closed(0.05, 1e6));

// Theorem 2's remark on softmax attention, and footnote 1.

/// Normalization of the attention of a sample.
pub const NORMALIZER: Quantity<Word> = Quantity::word(
    "normalizer",
    "A[i]",
    "normalization of the attention: the mean over samples for all (common), as the remark wants it, or \
     each sample's own (own)",
    &["common", "own"],
);
/// Mean attention in (17).
pub const MEAN_ATTENTION: Quantity<Word> = Quantity::word(
    "mean_attention",
    "b_m",
    "mean attention in (17): equal elements (equal), as the remark wants it, or that of the samples (own)",
    &["equal", "own"],
);
/// Meaning of the inputs x_l of a sample.
pub const INPUT_KIND: Quantity<Word> = Quantity::word(
    "inputs",
    "x_l[i]",
    "inputs: frequencies of the tokens in the sample, counts, or 1 where a token is present",
    &["frequency", "count", "presence"],
);

// Almost orthogonal embeddings, Appendix C.

/// Number of embeddings, M.
pub const EMBEDDINGS: Quantity<usize> = whole("tokens", "M", "embedding vectors", 2, 5000);
/// Largest inner product ε of two embeddings.
pub const EPSILON: Quantity<f64> =
    real("epsilon", "ε", "largest |inner product| allowed", Domain::right_open(0.02, 1.0));

// Fig. 2.

/// Token frequencies of the classes.
pub const INPUTS: Quantity<Word> = Quantity::word(
    "inputs",
    "",
    "token frequencies of the classes: moving smoothly with the class, uniform (random), or a run on each (both)",
    &["both", "smooth", "random"],
);

/// Step at which Fig. 3 is judged.
pub const JUDGED_AT: Quantity<Word> = Quantity::word(
    "judged_at",
    "",
    "step after which the components of v_0 are judged: 2000, where the figure ends (figure), or 6000 (late)",
    &["figure", "late"],
);

// Isotropic inputs, Lemmas 1 to 5 and Theorem 3.

/// Dimension n of an isotropic law.
pub const DIM: Quantity<usize> = whole("dim", "n", "dimension of the isotropic law", 1, 12);
/// Dimension $M_C$ = n of inputs that a layer sees whole.
pub const INPUT_DIM: Quantity<usize> = whole("dim", "M_C = n", "dimension of the inputs", 1, 100);
/// Number of inputs that a trial draws.
pub const DRAWN_INPUTS: Quantity<usize> = whole("samples", "", "inputs drawn per trial", 100, 1_000_000);
/// Length |v| of a weight.
pub const LENGTH: Quantity<f64> = real("length", "|v|", "length of the weight", Domain::closed(0.01, 100.0));
/// Law of the inputs around either centre.
pub const LAW: Quantity<Word> =
    Quantity::word("law", "", "law of the inputs around either centre", &["student", "gaussian", "ball"]);
/// Largest ν of a Student law.
pub const MOST_NU: Quantity<f64> = real(
    "nu",
    "ν",
    "most degrees of freedom of the inputs' Student laws, which are drawn uniformly from 1.1 on",
    Domain::closed(1.1, 100.0),
);

// Eq. (6), Theorem 4 and Fig. 4.

/// Number of components of μ, M.
pub const TARGETS: Quantity<usize> = whole("tokens", "M", "components of μ", 2, 1000);
/// Lower end of the law of the components of μ.
pub const LOW: Quantity<f64> = real("low", "", "lower end of the uniform law of the components of μ", Domain::POSITIVE);
/// Upper end of the law of the components of μ: $e^{\mathrm{high}^2/2}$ must fit into an f64, and its square.
pub const HIGH: Quantity<f64> =
    real("high", "", "upper end of the uniform law of the components of μ", Domain::left_open(0.0, 20.0));
/// Target $\mu_j$ of the one component of a pair.
pub const MU_J: Quantity<f64> = Quantity::real("mu_j", "μ_j", "target of component j");
/// Target $\mu_k$ of the other component of a pair.
pub const MU_K: Quantity<f64> = Quantity::real("mu_k", "μ_k", "target of component k");

// Pattern superposition, Section E.4.

/// Number of contextual tokens of a weight that holds two patterns, $M_C$.
pub const PATTERN_TOKENS: Quantity<usize> =
    whole("tokens", "M_C", "contextual tokens, a third each for pattern 1, pattern 2 and neither", 3, 300);

// Latent trees, Theorem 5.

/// A depth beyond it is no tree that one could hold.
const MOST_DEPTH: u64 = 1 << 20;
/// Depth L of the tokens.
pub const DEPTH: Quantity<usize> = whole("depth", "L", "depth of the tokens under the class label", 1, MOST_DEPTH);
/// Height H of the common latent ancestor.
pub const ANCESTOR_HEIGHT: Quantity<usize> =
    whole("ancestor_depth", "H", "height of the common latent ancestor above the two tokens", 0, MOST_DEPTH);
/// Number of children of every latent variable.
pub const BRANCHES: Quantity<usize> = whole("branches", "", "children of every latent variable", 2, 4);
/// Number of classes, D.
pub const CLASSES: Quantity<usize> = whole("classes", "D", "number of classes", 1, 1000);
/// Correlation ρ along every edge.
pub const RHO: Quantity<f64> = real("rho", "ρ", "correlation along every edge", Domain::closed(-1.0, 1.0));
/// Probability $\mathbb P\[y_0 = k\]$ of every class k.
pub const CLASS_PROBABILITIES: Quantity<Vec<f64>> =
    Quantity::vector("class_probabilities", "P[y_0 = k]", "probability of every class k", &PROBABILITY);
/// Probability $\mathbb P\[y = 0 \mid y_0 = k\]$ of the child of the root, for every class k.
pub const CHILD_ZERO: Quantity<Vec<f64>> = Quantity::vector(
    "child_zero_given_class",
    "P[y = 0 | y_0 = k]",
    "law of the child of the root, for every class k",
    &PROBABILITY,
);

// Closed forms.

/// Gradient $\Delta_l$ of Theorem 2.
pub const DELTA: Quantity<Vec<f64>> =
    Quantity::vector("gradient", "Delta_l = E[g x_l]", "constant by Assumption 1", &Domain::FINITE);
/// Time of the gradient flow.
pub const TIME: Quantity<f64> = real("t", "t", "time of the gradient flow", Domain::NON_NEGATIVE);
/// Target μ of one component; every finite one has a time.
pub const TARGET: Quantity<f64> = Quantity::real("mu", "μ", "target of the component");
/// Share r = v/μ.
pub const SHARE: Quantity<f64> =
    real("r", "r = v / mu", "share of its target that the component has reached", Domain::right_open(0.0, 1.0));

/// Law of one coordinate of the inputs.
pub const COORDINATE_LAW: Quantity<Word> =
    Quantity::word("law", "p_n", "law of one coordinate of the inputs", &Marginal::NAMES);
/// Degrees of freedom of one Student law.
pub const NU: Quantity<f64> =
    real("nu", "ν", "degrees of freedom of Student's law; the other laws have none", Domain::left_open(1.0, 1000.0));
/// Slopes (c_-, c_+) of a homogeneous activation.
pub const SLOPES: Quantity<Vec<f64>> = Quantity::vector(
    "slopes",
    "[c_-, c_+]",
    "slopes of the activation below and above 0: [0, 1] for ReLU",
    &Domain::FINITE,
);
/// Place ρ = r/|v| of a hyperplane.
pub const PLACE: Quantity<f64> =
    Quantity::real("rho", "ρ = r/|v|", "distance of the centre from the hyperplane, in lengths of the weight");
/// Argument of G.
pub const LEVEL: Quantity<f64> = Quantity::real("y", "y = θ_1(ρ)", "argument of G, between the slopes");
/// Weight v of a node.
pub const WEIGHT: Quantity<Vec<f64>> = Quantity::vector("weight", "v", "weight of the node", &Domain::FINITE);
/// Mean x̄ of the inputs.
pub const CENTRE: Quantity<Vec<f64>> = Quantity::vector("mean", "x", "mean of the inputs", &Domain::FINITE);
/// Means x̄_j of the components of a mixture.
pub const CENTRES: Quantity<Array2<f64>> =
    Quantity::matrix("means", "x_j", "means of the components of a mixture, one per row", &Domain::FINITE);
/// Weights a_j of the components of a mixture.
pub const MIXTURE: Quantity<Vec<f64>> =
    Quantity::vector("a", "a_j = E[g] P[c = j]", "weight of every component", &Domain::FINITE);
/// Bias ξ of a node.
pub const BIAS: Quantity<f64> = Quantity::real("xi", "ξ", "bias of the node");
/// Position ρ_- of the negative component at a critical point.
pub const MINUS: Quantity<f64> =
    real("rho_minus", "ρ_-", "position of the negative component at the critical point", Domain::closed(-1e3, 1e3));
/// Gap δ = 1 - v/μ.
pub const GAP: Quantity<f64> = real("delta", "δ = 1 - v/μ", "gap of the component, 0 for the limit", PROBABILITY);
/// Argument y of the functions of Lemmas 6 and 7.
pub const ARGUMENT: Quantity<f64> = real("y", "y", "argument", Domain::closed(0.0, 1e6));
/// Targets μ of Eq. (6), all that one attention entropy depends on.
pub const TARGET_VECTOR: Quantity<Vec<f64>> = Quantity::vector("mu", "μ", "targets of the components", &TARGET_DOMAIN);
const TARGET_DOMAIN: Domain = Domain::closed(-LARGEST_TARGET, LARGEST_TARGET);
/// Law of the child of the root above token m.
pub const CHILD_ZERO_M: Quantity<Vec<f64>> = Quantity::vector(
    "child_zero_given_class_m",
    "P[y = 0 | y_0 = k]",
    "law of the child of the root above token m, for every class k",
    &PROBABILITY,
);

// Chance levels.

/// Number of units among which the best is chosen.
pub const UNITS: Quantity<usize> = whole("units", "", "units among which the best is chosen", 1, 1_000_000_000);
/// Number of points of a correlation.
pub const POINTS: Quantity<usize> = whole("points", "n", "points over which correlations are taken", 3, 100_000);
/// Rows of a matrix.
pub const ROWS: Quantity<usize> = whole("rows", "m", "rows of the matrix", 1, 1 << 32);
/// Columns of a matrix.
pub const COLUMNS: Quantity<usize> = whole("columns", "n", "columns of the matrix", 1, 1 << 32);
/// Positions of a context.
pub const POSITIONS: Quantity<usize> = whole("positions", "n", "length of the context", 1, 1 << 32);

// Cells of the experiments.

/// Settings of Figs. 2 and 4: those of the authors' code, or those that the paper's text names.
pub const SETTING: Quantity<Word> =
    Quantity::word("setting", "", "settings of the authors' code or of the paper's text", &["code", "text"]);
/// Token frequencies of the classes in the two columns of Fig. 2.
pub const FREQUENCIES: Quantity<Word> = Quantity::word(
    "data",
    "",
    "token frequencies of the classes: moving smoothly with the class, or uniform (random)",
    &["smooth", "random"],
);
/// Part of the experiment on convergence: a chosen pair of components, or random ones.
pub const PART: Quantity<Word> =
    Quantity::word("part", "", "a chosen pair of components, or random ones", &["pair", "random"]);
/// Field of the flows near a critical point.
pub const FIELD: Quantity<Word> =
    Quantity::word("field", "", "field of Lemma 2: with Lemma 1 corrected, or as printed", &["corrected", "printed"]);
