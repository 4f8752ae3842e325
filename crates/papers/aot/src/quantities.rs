//! Parameters of this room, each typed once: claims, closed forms and experiments share them.
//!
//! A name that has two meanings after `--set` has two constants.

use attnlab_core::params::{Domain, Quantity, Word};
use attnlab_theory::attention::Phi;

/// N of Definition 1 with clusters of equal size.
pub const TOKENS: Quantity<usize> = Quantity::whole("tokens", "N", "number of tokens, a multiple of K");

/// The largest N where a trial draws its own.
pub const MOST_TOKENS: Quantity<usize> =
    Quantity::whole("tokens", "", "largest N; each trial draws N log-uniformly from 2 up to it")
        .within(Domain::Whole(3, 1_000_000_000_000));

/// K: a head belongs to each cluster.
pub const CLUSTERS: Quantity<usize> = Quantity::whole("clusters", "K", "number of clusters and of heads");

/// p, the same for all subspaces.
pub const DIM: Quantity<usize> = Quantity::whole("dim", "p", "dimension of each subspace");

/// d of a single Gaussian vector.
pub const VECTOR_DIM: Quantity<usize> = Quantity::whole("dim", "d", "dimension").within(Domain::Whole(1, 100_000_000));

/// d, the dimension in which tokens live.
pub const AMBIENT: Quantity<f64> = Quantity::real("ambient", "d", "ambient dimension").within(Domain::POSITIVE);

/// δ of Definition 1.
pub const DELTA: Quantity<f64> =
    Quantity::real("delta", "δ", "noise level").unit("standard deviation").within(Domain::NON_NEGATIVE);

/// δ of a single Gaussian vector.
pub const VECTOR_DELTA: Quantity<f64> = Quantity::real("delta", "δ", "standard deviation").within(Domain::POSITIVE);

/// δ in units of its limit in (11) times 8.
pub const NOISE: Quantity<f64> =
    Quantity::real("noise", "", "noise level δ in units of √(log N / p)").within(Domain::POSITIVE);

/// δ√p.
pub const NOISE_LENGTH: Quantity<f64> =
    Quantity::real("noise_length", "δ√p", "typical length of a token's noise in the head of another cluster")
        .within(Domain::POSITIVE);

/// c of U_kᵀU_l = cI.
pub const COHERENCE: Quantity<f64> =
    Quantity::real("coherence", "c", "coherence of the bases: U_kᵀU_l = cI").within(Domain::OPEN_UNIT);

/// t of Lemma 1.
pub const T: Quantity<f64> = Quantity::real("t", "t", "deviation beyond 2δ").within(Domain::NON_NEGATIVE);

/// η.
pub const ETA: Quantity<f64> = Quantity::real("eta", "η", "step size").within(Domain::POSITIVE);

/// τ, below which φ sets a softmax weight to 0.
pub const TAU: Quantity<f64> = Quantity::real("tau", "τ", "threshold of φ").within(Domain::LEFT_OPEN_UNIT);

/// τ where φ is a hard threshold on raw scores.
pub const SCORE_TAU: Quantity<f64> = Quantity::real("tau", "τ", "threshold on raw scores").within(Domain::OPEN_UNIT);

/// L of the unrolled network.
pub const LAYERS: Quantity<usize> = Quantity::whole("layers", "L", "number of layers").within(Domain::Whole(1, 10_000));

/// θ = (1 + ητ)^l before update l.
pub const THETA: Quantity<f64> =
    Quantity::real("theta", "θ", "factor of the signal, (1 + ητ)^l before update l").within(Domain::POSITIVE);

/// b = θδ√(p / log N).
pub const REACH: Quantity<f64> = Quantity::real("reach", "b", "θδ√p in units of √(log N)").within(Domain::POSITIVE);

/// Probability by which a horizon is asked for.
pub const PROBABILITY: Quantity<f64> =
    Quantity::real("probability", "", "probability that the pattern has broken").within(Domain::OPEN_UNIT);

/// ε of the corrected Theorem 1; its range is set where it is used.
pub const SLACK: Quantity<f64> = Quantity::real("slack", "ε", "distance from the limit 2 - √2");

/// The probability that "with high probability" leaves out.
pub const FAILURE_PROBABILITY: Quantity<f64> =
    Quantity::real("failure_probability", "", "with high probability: at least 1 minus this").within(Domain::OPEN_UNIT);

/// Largest distance of two distribution functions that still counts as agreement.
pub const TOLERANCE: Quantity<f64> =
    Quantity::real("tolerance", "", "largest difference in probability, over all θ, that still agrees with the law")
        .within(Domain::OPEN_UNIT);

/// Columns of every head.
pub const COLUMNS: Quantity<usize> =
    Quantity::whole("columns", "", "columns (tokens) that a trial looks at in each head; 0 takes all")
        .within(Domain::Whole(0, u64::MAX));

/// Columns of head 0 alone, unless all heads are seen.
pub const SAMPLED_COLUMNS: Quantity<usize> =
    Quantity::whole("columns", "", "columns of head 0 looked at per trial, 0 for every column of every head")
        .within(Domain::Whole(0, u64::MAX));

/// The way in which a failure probability is found.
pub const METHOD: Quantity<Word> = Quantity::word(
    "method",
    "",
    "draws, or rare events where enough draws take minutes",
    &["auto", "direct", "rare-event"],
);

/// Draws of the rare-event estimator behind one mean.
pub const DRAWS: Quantity<usize> = Quantity::whole("draws", "", "draws of the rare-event estimator in one mean");

/// φ; in a cell of `snr_per_layer` a list of them.
pub const PHI: Quantity<Word> = Quantity::word("phi", "", "nonlinearity", &Phi::NAMES);

/// The panel or map of an experiment that a cell belongs to.
pub const GROUP: Quantity<Word> = Quantity::word(
    "group",
    "",
    "part of the experiment that the cell belongs to",
    &["noise", "figure4", "map", "rate", "tokens", "clusters", "tau", "coherent", "random"],
);

/// Functions that a network learns in context.
pub const FUNCTIONS: Quantity<Word> =
    Quantity::word("functions", "", "class of functions learnt in context", &["linear", "sparse-linear"]);

/// A network by the name that its experiment gives it, or the baselines.
pub const MODEL: Quantity<Word> = Quantity::word("model", "", "network, or baselines", &[]);

/// A network trained on language.
pub const NETWORK: Quantity<Word> = Quantity::word("network", "", "network", &[]);

/// d of the inputs that functions are learnt on.
pub const INPUT_DIM: Quantity<usize> = Quantity::whole("dim", "d", "dimension of the inputs");

/// Examples in a prompt.
pub const POINTS: Quantity<usize> = Quantity::whole("points", "", "examples in a prompt");

/// Length of the vectors between the layers of a trained network.
pub const WIDTH: Quantity<usize> = Quantity::whole("width", "", "width of the network");

/// Heads of a trained network.
pub const HEADS: Quantity<usize> = Quantity::whole("heads", "K", "number of heads");

/// Tokens that a trained network knows.
pub const VOCABULARY: Quantity<usize> = Quantity::whole("vocabulary", "", "number of different tokens");

/// Tokens of a sequence that a trained network sees at once.
pub const CONTEXT: Quantity<usize> = Quantity::whole("context", "", "tokens in a sequence");
