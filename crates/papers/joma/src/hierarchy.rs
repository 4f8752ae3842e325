//! The hierarchy of latents behind JoMA's Table 1, as the authors' code draws it.
//!
//! A latent of layer 0 is a set of tokens, a latent of layer 1 a set of latents of layer 0, and a class a set of
//! latents of layer 1; all sets have the same size. A class therefore has one sequence of tokens: nothing is
//! random in it, and there are at most as many distinct sequences as classes.

use attnlab_core::error::{Result, require};
use rand::Rng;
use rand::seq::index::sample;
use std::collections::BTreeSet;

/// A drawn hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// Children of every latent of layer 0, of layer 1, and of every class.
    layers: [Vec<Vec<usize>>; 3],
}

impl Hierarchy {
    /// Draws a hierarchy over `tokens` tokens with `sizes` = [N_0, N_1, C] and different sets of `children` members.
    ///
    /// # Errors
    /// When a layer has fewer possible sets than it needs.
    ///
    /// ```
    /// use attnlab_core::rng::Streams;
    /// use attnlab_joma::hierarchy::Hierarchy;
    /// let mut rng = Streams::new(1, "doc", 0, 0).part("hierarchy", 0);
    /// let drawn = Hierarchy::draw(99, [10, 20, 5], 2, &mut rng)?;
    /// // Two latents of layer 1, up to four of layer 0, up to eight tokens.
    /// assert!(drawn.tokens(0).len() <= 8);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn draw(tokens: usize, sizes: [usize; 3], children: usize, rng: &mut impl Rng) -> Result<Self> {
        let mut below = tokens;
        let mut layers = [const { vec![] }; 3];
        for (layer, size) in layers.iter_mut().zip(sizes) {
            let allowed = format!("must be such that {size} different sets of {children} out of {below} exist");
            require(sets(below, children) >= size as f64, "children", children, allowed)?;
            let mut different = BTreeSet::new();
            while layer.len() < size {
                let mut set = sample(rng, below, children).into_vec();
                set.sort_unstable();
                if different.insert(set.clone()) {
                    layer.push(set);
                }
            }
            below = size;
        }
        Ok(Hierarchy { layers })
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.layers[2].len()
    }

    /// Returns the number of latents of layer `s`, 0 or 1; s = 2 counts the classes.
    pub fn latents(&self, s: usize) -> usize {
        self.layers[s].len()
    }

    /// Returns which members of layer `s` are active in a class, ascending; s = 2 is the class itself.
    pub fn active(&self, s: usize, class: usize) -> Vec<usize> {
        let mut members = vec![class];
        for layer in self.layers[s + 1..].iter().rev() {
            members = below(layer, &members);
        }
        members
    }

    /// Returns the tokens of a class, ascending. The authors' code has the fixed order of a set of Python.
    pub fn tokens(&self, class: usize) -> Vec<usize> {
        below(&self.layers[0], &self.active(0, class))
    }

    /// Returns for every latent of layer `s` in which classes it is active: (latent, class).
    pub fn table(&self, s: usize) -> Vec<Vec<bool>> {
        let active: Vec<Vec<usize>> = (0..self.classes()).map(|class| self.active(s, class)).collect();
        (0..self.latents(s)).map(|latent| active.iter().map(|on| on.contains(&latent)).collect()).collect()
    }

    /// Counts the classes of every distinct sequence.
    pub fn multiplicities(&self) -> Vec<usize> {
        let mut counts = std::collections::BTreeMap::new();
        for class in 0..self.classes() {
            *counts.entry(self.tokens(class)).or_insert(0) += 1;
        }
        counts.into_values().collect()
    }

    /// Computes the least cross-entropy that a network can reach: classes with equal tokens cannot be told apart.
    pub fn least_loss(&self) -> f64 {
        let sum: f64 = self.multiplicities().into_iter().map(|c| c as f64 * (c as f64).ln()).sum();
        sum / self.classes() as f64
    }
}

fn below(layer: &[Vec<usize>], of: &[usize]) -> Vec<usize> {
    let members: BTreeSet<usize> = of.iter().flat_map(|i| layer[*i].iter().copied()).collect();
    members.into_iter().collect()
}

/// Number of sets of k out of n.
fn sets(n: usize, k: usize) -> f64 {
    if k > n { 0.0 } else { (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use attnlab_core::rng::Streams;

    #[test]
    fn latents_of_a_class_are_those_of_its_sets() {
        let drawn = Hierarchy {
            layers: [
                vec![vec![0, 1], vec![1, 2], vec![5, 6]],
                vec![vec![0, 1], vec![1, 2]],
                vec![vec![0, 1], vec![0, 1]],
            ],
        };
        assert_eq!(drawn.active(1, 0), [0, 1]);
        assert_eq!(drawn.active(0, 0), [0, 1, 2]);
        assert_eq!(drawn.tokens(0), [0, 1, 2, 5, 6]);
        assert_eq!(drawn.active(2, 1), [1]);
        // Two equal classes: ln 2.
        assert!((drawn.least_loss() - 2_f64.ln()).abs() < 1e-15);
    }

    /// Shares of latents that no class uses, measured by another program (5 seeds): 20 classes, sets of two,
    /// (20, 30) latents: .09 in layer 0 and .25 in layer 1; here over 200 draws.
    #[test]
    fn unused_latents_are_as_frequent_as_elsewhere() {
        let mut unused = [0.0; 2];
        for i in 0..200 {
            let mut rng = Streams::new(0, "test", 0, i).part("hierarchy", 0);
            let drawn = Hierarchy::draw(99, [20, 30, 20], 2, &mut rng).unwrap();
            for (s, sum) in unused.iter_mut().enumerate() {
                let table = drawn.table(s);
                *sum += table.iter().filter(|row| !row.contains(&true)).count() as f64 / table.len() as f64 / 200.0;
            }
        }
        assert!((unused[0] - 0.09).abs() < 0.03 && (unused[1] - 0.25).abs() < 0.03, "{unused:?}");
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let mut rng = Streams::new(0, "test", 0, 0).part("hierarchy", 0);
        assert!(Hierarchy::draw(99, [3, 20, 5], 2, &mut rng).is_err());
        assert!(Hierarchy::draw(1, [3, 2, 1], 2, &mut rng).is_err());
        assert!(Hierarchy::draw(99, [10, 45, 5], 2, &mut rng).is_ok());
    }
}
