//! Hierarchical binary latent trees (JoMA, Definition 2): exact probabilities.
//!
//! The root $y_0$ is a class label with D values; every other variable is binary. A child of the root
//! has $\mathbb P[y = 0 \mid y_0 = k]$ given; any other edge is $M(\rho)$: the child equals its parent
//! with probability $(1 + \rho)/2$. A leaf with value 1 is a token that appears in the sequence.
//!
//! **Theorem 5.** Let tokens l and m have their common latent ancestor c, a binary one, at height H
//! above them, every edge the same ρ, and the leaves at depth L under the root. As
//! $2\mathbb P[y = 0] - 1$ is multiplied by ρ along an edge (Lemma 9),
//!
//! $$ \mathbb P[y_l = 1 \mid y_m = 1] = \frac12 \cdot
//!    \frac{1 + \rho^{2H} - 2\rho^{L-1}\rho_0}{1 - \rho^{L-1}\rho_0}, \qquad
//!    \rho_0 = 2\, p_{\cdot|0}^\top p_0 - 1. $$
//!
//! The theorem prints $\rho_0 = p_{\cdot|0}^\top p_0$, a probability where the proof uses the
//! correlation: from (101) on it writes $(1 + p_{k|0})/2$ for $p_{k|0}$.

use attnlab_core::error::{self, Error, Result, require, require_shape};
use std::ops::Range;

/// Largest distance of a sum of probabilities from one: rounding.
const SUM: f64 = 1e-9;

/// The place of a variable in the tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Parent {
    /// Under the class label: $\mathbb P[y = 0 \mid y_0 = k]$ for every class k.
    Class {
        /// One probability per class.
        zero: Vec<f64>,
    },
    /// Under another variable.
    Latent {
        /// Number of the parent, smaller than the variable's own.
        index: usize,
        /// Correlation along the edge, in [-1, 1].
        rho: f64,
    },
}

/// A tree of binary variables under a class label.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    classes: Vec<f64>,
    parents: Vec<Parent>,
}

impl Tree {
    /// A tree from the class probabilities and each variable's parent, parents first.
    ///
    /// # Errors
    /// Probabilities that are none or do not sum to one, ρ outside [-1, 1], a parent after its child.
    pub fn new(classes: Vec<f64>, parents: Vec<Parent>) -> Result<Self> {
        check_probabilities("class_probabilities", &classes)?;
        let sum: f64 = classes.iter().sum();
        let allowed = format!("must be probabilities that sum to 1, not to {sum}");
        require((sum - 1.0).abs() <= SUM, "class_probabilities", format!("{classes:?}"), allowed)?;
        for (i, parent) in parents.iter().enumerate() {
            match parent {
                Parent::Class { zero } => {
                    check_probabilities("child_zero_given_class", zero)?;
                    let expected = format!("one entry per class, {} of them", classes.len());
                    require_shape(zero.len() == classes.len(), "child_zero_given_class", [zero.len()], expected)?;
                }
                Parent::Latent { index, rho } => {
                    if *index >= i {
                        let allowed = format!("must be a variable before its child, less than {i}");
                        return Err(Error::invalid("parent", index, allowed));
                    }
                    check_rho(*rho)?;
                }
            }
        }
        Ok(Tree { classes, parents })
    }

    /// The tree of Theorem 5: a single binary variable under the root, then `branches` children per variable down to
    /// the leaves at depth L = `depth`, every edge ρ. Its leaves are the last `branches^(depth - 1)` variables.
    ///
    /// # Errors
    /// As [`Tree::new`]; a depth or number of branches of 0, or more than 2^24 variables.
    pub fn regular(classes: Vec<f64>, zero: Vec<f64>, rho: f64, depth: u32, branches: usize) -> Result<Self> {
        error::at_least("depth", depth as usize, 1)?;
        let leaves = branches.checked_pow(depth - 1);
        let allowed = format!("must be from 1 to where branches^{} is 2^23", depth - 1);
        require(branches > 0 && leaves.is_some_and(|n| n <= 1 << 23), "branches", branches, allowed)?;
        let mut parents = vec![Parent::Class { zero }];
        grow(&mut parents, depth, branches, rho);
        Tree::new(classes, parents)
    }

    /// Number of binary variables.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Returns `true` if there is no variable but the class.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// The probabilities P[y_0 = k] of the classes.
    pub fn classes(&self) -> &[f64] {
        &self.classes
    }

    /// The place of every variable, parents first.
    pub fn parents(&self) -> &[Parent] {
        &self.parents
    }

    /// The numbers of the variables that are nobody's parent: the tokens.
    pub fn leaves(&self) -> Vec<usize> {
        let mut is_leaf = vec![true; self.len()];
        for parent in &self.parents {
            if let Parent::Latent { index, .. } = parent {
                is_leaf[*index] = false;
            }
        }
        (0..self.len()).filter(|i| is_leaf[*i]).collect()
    }

    /// The probability that the listed variables have the listed values, by passing messages from the
    /// leaves to the root: exact, in time proportional to the number of variables.
    ///
    /// # Errors
    /// A variable that the tree does not have.
    pub fn probability(&self, values: &[(usize, bool)]) -> Result<f64> {
        // belief[i][y] = P[what is asked at and below i | y_i = y].
        let mut belief = vec![[1.0, 1.0]; self.len()];
        for &(i, value) in values {
            let Some(entry) = belief.get_mut(i) else {
                let allowed = format!("must be a variable of the tree, less than {}", self.len());
                return Err(Error::invalid("variable", i, allowed));
            };
            entry[usize::from(!value)] = 0.0;
        }
        let mut root = self.classes.clone();
        for (i, parent) in self.parents.iter().enumerate().rev() {
            let [zero, one] = belief[i];
            match parent {
                Parent::Latent { index, rho } => {
                    let (same, other) = (0.5 * (1.0 + rho), 0.5 * (1.0 - rho));
                    belief[*index][0] *= same * zero + other * one;
                    belief[*index][1] *= other * zero + same * one;
                }
                Parent::Class { zero: p } => {
                    for (weight, p) in root.iter_mut().zip(p) {
                        *weight *= p * zero + (1.0 - p) * one;
                    }
                }
            }
        }
        Ok(root.iter().sum())
    }

    /// The probability $\mathbb P\[y_l = 1 \mid y_m = 1\]$; NaN when token m never appears.
    ///
    /// # Errors
    /// As [`Tree::probability`].
    ///
    /// ```
    /// use attnlab_joma::theory::tree::{Tree, cooccurrence};
    /// let (classes, zero) = (vec![0.5, 0.5], vec![0.9, 0.6]);
    /// let tree = Tree::regular(classes.clone(), zero.clone(), 0.8, 4, 2)?;
    /// let tokens = tree.leaves(); // eight; the first two are siblings
    /// let exact = tree.cooccurrence(tokens[0], tokens[1])?;
    /// assert!((exact - cooccurrence(0.8, 4, 1, &classes, &zero)?).abs() < 1e-14);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn cooccurrence(&self, l: usize, m: usize) -> Result<f64> {
        Ok(self.probability(&[(l, true), (m, true)])? / self.probability(&[(m, true)])?)
    }
}

/// Adds `branches` children to every variable, and so on to theirs, until there are `depth` layers; every edge has the
/// correlation ρ. Returns the places of the leaves.
pub(crate) fn grow(parents: &mut Vec<Parent>, depth: u32, branches: usize, rho: f64) -> Range<usize> {
    let mut layer = 0..parents.len();
    for _ in 1..depth {
        for index in layer.clone() {
            parents.extend((0..branches).map(|_| Parent::Latent { index, rho }));
        }
        layer = layer.end..parents.len();
    }
    layer
}

/// The probability of Theorem 5 as derived: $\rho_0 = 2 p_{\cdot|0}^\top p_0 - 1$. `depth` is L, `ancestor_height` H, from
/// 0 (the same token) to L - 1. NaN when token m never appears.
///
/// # Errors
/// As [`Tree::new`], and a height that is not below the depth.
pub fn cooccurrence(rho: f64, depth: u32, ancestor_height: u32, classes: &[f64], zero: &[f64]) -> Result<f64> {
    Ok(formula(rho, depth, ancestor_height, 2.0 * mean_zero(rho, depth, ancestor_height, classes, zero)? - 1.0))
}

/// The probability of Theorem 5 as printed: $\rho_0 = p_{\cdot|0}^\top p_0$.
///
/// # Errors
/// As [`cooccurrence`].
pub fn cooccurrence_printed(rho: f64, depth: u32, ancestor_height: u32, classes: &[f64], zero: &[f64]) -> Result<f64> {
    Ok(formula(rho, depth, ancestor_height, mean_zero(rho, depth, ancestor_height, classes, zero)?))
}

/// The probability $\mathbb P[y_l = 1 \mid y_m = 1]$ of two tokens whose only common ancestor is the class label, with every
/// edge ρ: $\sum_k p_k a_k b_k / \sum_k p_k b_k$. `zero_l` and `zero_m` are the laws of the children of the root above
/// them. NaN when token m never appears.
///
/// # Errors
/// As [`Tree::new`], and a depth of 0.
///
/// ```
/// use attnlab_joma::theory::tree::class_cooccurrence;
/// // One class: independent tokens.
/// let p = class_cooccurrence(0.5, 3, &[1.0], &[0.2], &[0.7])?;
/// assert!((p - 0.5 * (1.0 + 0.25 * 0.6)).abs() < 1e-15);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn class_cooccurrence(rho: f64, depth: u32, classes: &[f64], zero_l: &[f64], zero_m: &[f64]) -> Result<f64> {
    check_rho(rho)?;
    error::at_least("depth", depth as usize, 1)?;
    let child = |zero: &[f64]| Parent::Class { zero: zero.to_vec() };
    Tree::new(classes.to_vec(), vec![child(zero_l), child(zero_m)])?;
    let chain = rho.powi((depth - 1).min(i32::MAX as u32) as i32);
    let appears = |zero: f64| 0.5 * (1.0 - chain * (2.0 * zero - 1.0));
    let (mut joint, mut marginal) = (0.0, 0.0);
    for ((p, l), m) in classes.iter().zip(zero_l).zip(zero_m) {
        joint += p * appears(*l) * appears(*m);
        marginal += p * appears(*m);
    }
    Ok(joint / marginal)
}

fn formula(rho: f64, depth: u32, height: u32, root: f64) -> f64 {
    let power = |exponent: u32| rho.powi(exponent.min(i32::MAX as u32) as i32);
    let token = power(depth - 1) * root;
    0.5 * (1.0 + power(height).powi(2) - 2.0 * token) / (1.0 - token)
}

/// The probability $p_{\cdot|0}^\top p_0$, after checking everything.
fn mean_zero(rho: f64, depth: u32, height: u32, classes: &[f64], zero: &[f64]) -> Result<f64> {
    check_rho(rho)?;
    let allowed = format!("must be a whole number from 0 to below depth = {depth}");
    require(height < depth, "ancestor_depth", height, allowed)?;
    Tree::new(classes.to_vec(), vec![Parent::Class { zero: zero.to_vec() }])?.probability(&[(0, false)])
}

fn check_probabilities(name: &str, values: &[f64]) -> Result<()> {
    match values.iter().position(|p| !(0.0..=1.0).contains(p)) {
        None => Ok(()),
        Some(i) => Err(Error::invalid(format!("{name}[{i}]"), values[i], "must be a probability in [0, 1]")),
    }
}

fn check_rho(rho: f64) -> Result<()> {
    require((-1.0..=1.0).contains(&rho), "rho", rho, "must be a number in [-1, 1]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::Index;

    /// The joint law by the definition: all conditional probabilities, summed over what is not asked.
    fn enumerate(tree: &Tree, values: &[(usize, bool)]) -> f64 {
        let mut total = 0.0;
        for state in 0..1_u32 << tree.len() {
            let y = |i: usize| state >> i & 1 == 1;
            if values.iter().any(|(i, v)| y(*i) != *v) {
                continue;
            }
            for (k, class) in tree.classes().iter().enumerate() {
                let factor = |(i, parent): (usize, &Parent)| match parent {
                    Parent::Class { zero } if y(i) => 1.0 - zero[k],
                    Parent::Class { zero } => zero[k],
                    Parent::Latent { index, rho } if y(i) == y(*index) => 0.5 * (1.0 + rho),
                    Parent::Latent { rho, .. } => 0.5 * (1.0 - rho),
                };
                total += class * tree.parents().iter().enumerate().map(factor).product::<f64>();
            }
        }
        total
    }

    /// Trees of any shape with up to twelve variables under up to three classes.
    fn trees() -> impl Strategy<Value = Tree> {
        let variable = (any::<Index>(), -1.0..=1.0_f64, prop::collection::vec(0.0..=1.0_f64, 3));
        let laws = (prop::collection::vec(0.01..1.0_f64, 1..4), prop::collection::vec(variable, 1..13));
        laws.prop_map(|(weights, variables)| {
            let sum: f64 = weights.iter().sum();
            let classes: Vec<f64> = weights.iter().map(|w| w / sum).collect();
            let parent = |(i, (place, rho, zero)): (usize, &(Index, f64, Vec<f64>))| match place.index(i + 1) {
                0 => Parent::Class { zero: zero[..classes.len()].to_vec() },
                index => Parent::Latent { index: index - 1, rho: *rho },
            };
            let parents = variables.iter().enumerate().map(parent).collect();
            Tree::new(classes, parents).unwrap()
        })
    }

    proptest! {
        #[test]
        fn messages_agree_with_enumeration(tree in trees(), l: Index, m: Index) {
            let (l, m) = (l.index(tree.len()), m.index(tree.len()));
            for values in [vec![(l, true)], vec![(l, true), (m, true)], vec![(l, false), (m, true)]] {
                let exact = enumerate(&tree, &values);
                let probability = tree.probability(&values).unwrap();
                prop_assert!((probability - exact).abs() < 1e-12, "{values:?}: {probability} {exact}");
            }
        }

        /// Theorem 5 in its corrected form, for every pair of leaves of a regular tree.
        #[test]
        fn theorem_5_corrected(rho in -1.0..=1.0_f64, depth in 1..6_u32, p in 0.01..0.99_f64, q in 0.0..0.99_f64) {
            let (classes, zero) = (vec![p, 1.0 - p], vec![q, 0.5]);
            let tree = Tree::regular(classes.clone(), zero.clone(), rho, depth, 2).unwrap();
            let leaves = tree.leaves();
            for (i, l) in leaves.iter().enumerate() {
                for (j, m) in leaves.iter().enumerate() {
                    let height = usize::BITS - (i ^ j).leading_zeros();
                    let exact = tree.cooccurrence(*l, *m).unwrap();
                    let formula = cooccurrence(rho, depth, height, &classes, &zero).unwrap();
                    // Both divide by P[y_m = 1], which may be small.
                    let tol = 1e-13 / tree.probability(&[(*m, true)]).unwrap();
                    prop_assert!((exact - formula).abs() < tol, "{exact} {formula}");
                }
            }
        }
    }

    /// Fractions by hand: L = 2, ρ = 1/2, one class, P[y_1 = 0] = 3/4. P[y_m = 1] = 3/4·1/4 +
    /// 1/4·3/4 = 3/8; both tokens: 3/4·1/16 + 1/4·9/16 = 3/16. Hence 1/2.
    #[test]
    fn by_hand() {
        assert!((cooccurrence(0.5, 2, 1, &[1.0], &[0.75]).unwrap() - 0.5).abs() < 1e-15);
        // Printed: (1 + 1/4 - 3/4) / (2 (1 - 3/8)) = 2/5.
        assert!((cooccurrence_printed(0.5, 2, 1, &[1.0], &[0.75]).unwrap() - 0.4).abs() < 1e-15);
    }

    #[test]
    fn bad_input_is_named() {
        let sum = "class_probabilities = [0.5, 0.4]: must be probabilities that sum to 1, not to 0.9";
        for (rho, height, classes, zero, message) in [
            (1.5, 1, vec![1.0], vec![0.5], "rho = 1.5: must be a number in [-1, 1]"),
            (0.5, 2, vec![1.0], vec![0.5], "ancestor_depth = 2: must be a whole number from 0 to below depth = 2"),
            (0.5, 1, vec![0.5, 0.4], vec![0.5, 0.5], sum),
            (0.5, 1, vec![1.0], vec![1.2], "child_zero_given_class[0] = 1.2: must be a probability in [0, 1]"),
        ] {
            assert_eq!(cooccurrence(rho, 2, height, &classes, &zero).unwrap_err().to_string(), message);
        }
    }
}
