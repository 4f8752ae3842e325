//! Parameters of the trained networks, Table 1 and Figs. 5 to 8 and 10.

use super::{real, whole};
use attnlab_core::params::{Domain, Quantity, Word};

/// Number of latents of the bottom layer, $N_0$.
pub const LATENTS_0: Quantity<usize> = Quantity::whole("latents_0", "N_0", "latents of the bottom layer");
/// Number of latents of the layer above, $N_1$.
pub const LATENTS_1: Quantity<usize> = Quantity::whole("latents_1", "N_1", "latents of the layer above");
/// Number of members of every latent, $N_{ch}$.
pub const CHILDREN: Quantity<usize> = whole("children", "N_ch", "members of every latent and of every class", 1, 10);
/// Learning rate of Adam.
pub const LEARNING_RATE: Quantity<f64> = real("rate", "η", "learning rate", Domain::POSITIVE);
/// Number of blocks of a network.
pub const BLOCKS: Quantity<usize> = Quantity::whole("layers", "", "blocks of the network");
/// Changes of a network or its text that a training is compared with.
pub const CONTROLS: [&str; 7] = ["none", "frozen", "linear", "shuffled", "own", "rate", "theorem1"];
/// Control of a training on a text.
pub const CONTROL: Quantity<Word> = Quantity::word(
    "control",
    "",
    "the network itself (none), its queries and keys never trained (frozen), linear hidden units (linear), the \
     words of the text in random order (shuffled), blocks with starts of their own (own), another learning rate \
     (rate), or one layer of Eq. (1) on the same text, for which Theorem 1 holds (theorem1)",
    &CONTROLS,
);
/// Labels of a training: the classes, or random ones.
pub const LABEL_WORDS: [&str; 2] = ["classes", "random"];
/// Labels of a training.
pub const LABELS: Quantity<Word> =
    Quantity::word("labels", "", "labels that are learnt: the classes of the sequences, or random ones", &LABEL_WORDS);
/// Labels that a query can be trained on.
pub const LABELS_OF: [&str; 2] = ["parent", "class"];
/// Label that a query is trained on.
pub const LABEL_OF: Quantity<Word> =
    Quantity::word("target", "", "label that is learnt: the parent latent of the query, or the class", &LABELS_OF);
/// Controls of the order of association.
pub const ASSOCIATIONS: [&str; 4] = ["none", "permuted", "independent", "linear"];
/// Control of the order of association.
pub const ASSOCIATION: Quantity<Word> = Quantity::word(
    "control",
    "",
    "the layer itself (none), heights permuted over the tokens (permuted), a tree with ρ = 0 (independent), or \
     linear nodes (linear)",
    &ASSOCIATIONS,
);
