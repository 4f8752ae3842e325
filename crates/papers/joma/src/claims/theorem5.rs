//! Theorem 5: how often two tokens of a latent tree appear together, by the height of their common latent ancestor.
//!
//! A trial draws the class law, the law of the root's child, the correlation ρ and the height, and compares the formula
//! with the tree's exact probability, by messages. The proof is right up to (100); from (101) on it writes $(1 +
//! p_{k|0})/2$ for the probability $p_{k|0}$, as if that were a correlation. See [`tree`](crate::theory::tree).

use super::setting::*;
use crate::theory::tree::{Tree, cooccurrence, cooccurrence_printed};

/// Most tokens of a tree.
const MOST_TOKENS: u64 = 1 << 16;

/// The probability P[y_l = 1 | y_m = 1] of two tokens whose common latent ancestor is at height H.
#[derive(Serialize, Deserialize)]
pub struct Cooccurrence {
    printed: bool,
    /// Flag: a correlation stands in place of the probability.
    corrected: bool,
    /// Added to H: a mutant counts the ancestor from the next layer.
    shift: u32,
    /// Flag: a mutant forgets that a class has a probability, and takes all as equally likely.
    uniform: bool,
    /// Factor of ρ; a mutant's is near 1.
    factor: f64,
}

/// Rounding error of a probability: some hundred roundings of numbers up to 1.
const ROUNDING: f64 = 1e-13;

impl Cooccurrence {
    /// The claim as printed.
    pub const PRINTED: Self = Cooccurrence { printed: true, corrected: false, shift: 0, uniform: false, factor: 1.0 };
    /// The claim with a correlation in place of the probability.
    pub const CORRECTED: Self = Cooccurrence { printed: false, corrected: true, ..Self::PRINTED };
}

impl Claim for Cooccurrence {
    from_sheet!(self, if self.printed { sheet!("joma.theorem5") } else { sheet!("joma.theorem5_corrected") });

    fn schema(&self) -> Schema {
        vec![DEPTH.within(Domain::Whole(2, 16)).or(6), BRANCHES.or(2), CLASSES.or(3)]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        affordable_tree(params, MOST_TOKENS)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (depth, branches) = (params.get(DEPTH) as u32, params.get(BRANCHES));
        let mut rng = streams.part("parameters", 0);
        let classes = class_law(params.get(CLASSES), &mut rng);
        let mut unit = || rng.random::<f64>();
        let zero: Vec<f64> = classes.iter().map(|_| unit()).collect();
        // Near 0 all tokens are independent, and every formula says so.
        let rho = (0.2 + 0.8 * unit()).copysign(unit() - 0.3);
        // Two tokens of the first and of another branch below the ancestor, at every height.
        let height = 1 + (unit() * f64::from(depth - 1)) as u32;
        let tree = Tree::regular(classes.clone(), zero.clone(), rho, depth, branches)?;
        let first = tree.len() - branches.pow(depth - 1);
        let exact = tree.cooccurrence(first, first + branches.pow(height - 1))?;
        let formula = if self.corrected { cooccurrence } else { cooccurrence_printed };
        let said_classes = if self.uniform { vec![1.0 / classes.len() as f64; classes.len()] } else { classes };
        let said = formula(self.factor * rho, depth + self.shift, height + self.shift, &said_classes, &zero)?;
        let witness = witness! { "rho" => rho, "height" => height, "formula" => said, "exact" => exact };
        Ok(Outcome::equal(said, exact, ROUNDING / tree.probability(&[(first, true)])?, witness))
    }
}
