//! Draws from hierarchical binary latent trees (JoMA, Definition 2).

use crate::theory::tree::{Parent, Tree};
use attnlab_core::rng::Streams;
use rand::RngExt;

/// One draw of all variables of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeDraw {
    /// The class label $y_0$, from 0.
    pub class: usize,
    /// Every binary variable, numbered as in the tree: parents first.
    pub values: Vec<bool>,
}

impl TreeDraw {
    /// Draws the class, then every variable given its parent.
    ///
    /// ```
    /// use attnlab_core::rng::Streams;
    /// use attnlab_joma::tree::TreeDraw;
    /// use attnlab_joma::theory::tree::Tree;
    /// let tree = Tree::regular(vec![1.0], vec![0.3], 1.0, 3, 2)?; // rho = 1: all variables agree
    /// let draw = TreeDraw::new(&tree, &Streams::new(1, "doc", 0, 0));
    /// assert!(draw.values.iter().all(|y| *y == draw.values[0]));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new(tree: &Tree, streams: &Streams) -> Self {
        let mut rng = streams.part("tree", 0);
        let class = class_at(tree.classes(), rng.random());
        let mut values: Vec<bool> = Vec::with_capacity(tree.len());
        for parent in tree.parents() {
            let u: f64 = rng.random();
            values.push(match parent {
                Parent::Class { zero } => u >= zero[class],
                // Equal to the parent with probability (1 + ρ)/2.
                Parent::Latent { index, rho } => values[*index] == (u < 0.5 * (1.0 + rho)),
            });
        }
        TreeDraw { class, values }
    }
}

/// The class whose share of [0, 1) holds u; the last one should the shares fall short by rounding.
fn class_at(classes: &[f64], u: f64) -> usize {
    let mut below = 0.0;
    let class = classes.iter().position(|p| {
        below += p;
        u < below
    });
    class.unwrap_or(classes.len() - 1)
}
