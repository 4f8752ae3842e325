//! Eqs. (94) to (98) and (104): the joint law of two variables of a latent tree, edges and depths unequal.

use super::setting::*;
use crate::theory::tree::{Parent, Tree};

/// The matrix (98) of two variables under their common latent ancestor.
#[derive(Default, Serialize, Deserialize)]
pub struct Pair {
    /// Flag of a mutant: e1ᵀ and 1eᵀ exchanged.
    exchanged: bool,
    /// Flag of a mutant: one correlation for both variables, as Theorem 5 has it.
    one_rho: bool,
    /// Relative change of ρ_c; a mutant's is near 0.
    change: f64,
}

/// Largest number of edges from the ancestor to a variable, and from the class to the ancestor.
const MOST_EDGES: usize = 5;
/// Rounding of probabilities: some ten edges, and a sum over up to 1000 classes.
const TOLERANCE: f64 = 1e-13;

/// A tree of two chains under a common latent ancestor.
struct Chains {
    tree: Tree,
    ancestor: usize,
    ends: [usize; 2],
    /// Products of the correlations along both chains.
    rho: [f64; 2],
}

impl Chains {
    fn draw(classes: usize, rng: &mut Generator) -> Result<Self> {
        let law = class_law(classes, rng);
        let mut parents = vec![Parent::Class { zero: (0..classes).map(|_| rng.random()).collect() }];
        let chain = |from: usize, edges: usize, parents: &mut Vec<Parent>, rng: &mut Generator| {
            let (mut index, mut product) = (from, 1.0);
            for _ in 0..edges {
                let rho: f64 = rng.random_range(-1.0..1.0);
                parents.push(Parent::Latent { index, rho });
                (index, product) = (parents.len() - 1, product * rho);
            }
            (index, product)
        };
        let (ancestor, _) = chain(0, rng.random_range(0..=MOST_EDGES), &mut parents, rng);
        let mut next = || chain(ancestor, rng.random_range(1..=MOST_EDGES), &mut parents, rng);
        let [(first, rho_1), (second, rho_2)] = [next(), next()];
        Ok(Chains { tree: Tree::new(law, parents)?, ancestor, ends: [first, second], rho: [rho_1, rho_2] })
    }
}

impl Claim for Pair {
    from_sheet!("joma.eq98");

    fn schema(&self) -> Schema {
        vec![CLASSES.or(3)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("chains", 0);
        let chains = Chains::draw(params.get(CLASSES), &mut rng)?;
        let tree = &chains.tree;
        // ρ_c := 2 P[y_c = 0] - 1.
        let rho_c = (1.0 + self.change) * (2.0 * tree.probability(&[(chains.ancestor, false)])? - 1.0);
        let [rho_1, rho_2] = chains.rho;
        let first = if self.exchanged { rho_2 } else { rho_1 };
        let second = if self.exchanged || self.one_rho { rho_1 } else { rho_2 };
        let mut off = 0.0_f64;
        let (mut exact, mut said) = (vec![], vec![]);
        for (a, b) in iproduct!([false, true], [false, true]) {
            let [e_a, e_b] = [a, b].map(|y| if y { -1.0 } else { 1.0 });
            let product = chains.rho[0] * chains.rho[1] * e_a * e_b;
            let linear = first * rho_c * e_a + second * rho_c * e_b;
            said.push(0.25 * (1.0 + product + linear));
            exact.push(tree.probability(&[(chains.ends[0], a), (chains.ends[1], b)])?);
            off = off.max((said[said.len() - 1] - exact[exact.len() - 1]).abs());
        }
        let witness = witness! { "rho" => chains.rho, "rho_c" => rho_c, "exact" => exact, "said" => said };
        Ok(Outcome::equal(off, 0.0, TOLERANCE, witness))
    }
}
