//! Tokens whose only common ancestor is the class label, which Theorem 5 leaves out.

use super::setting::*;
use crate::theory::tree::{Parent, Tree, class_cooccurrence, cooccurrence, grow};

/// The probability P[y_l = 1 | y_m = 1] of two tokens under different children of the root.
#[derive(Default, Serialize, Deserialize)]
pub struct ClassPair {
    /// Flag of a mutant: Theorem 5 at the height of the children of the root, for Σ p_k a_k b_k / Σ p_k b_k.
    theorem5: bool,
    /// Flag of a mutant: the tokens do not depend on each other.
    independent: bool,
    /// Relative change of ρ; a mutant's is near 0.
    change: f64,
}

/// Rounding error of a probability: some hundred roundings of numbers up to 1.
const ROUNDING: f64 = 1e-13;
/// Most tokens of a tree under one child.
const MOST_TOKENS: u64 = 1 << 14;

impl Claim for ClassPair {
    from_sheet!("joma.theorem5_class");

    fn schema(&self) -> Schema {
        vec![DEPTH.within(Domain::Whole(1, 16)).or(5), BRANCHES.or(2), CLASSES.or(3)]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        affordable_tree(params, MOST_TOKENS)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (depth, branches) = (params.get(DEPTH), params.get(BRANCHES));
        let mut rng = streams.part("parameters", 0);
        let classes = class_law(params.get(CLASSES), &mut rng);
        let mut zero = || classes.iter().map(|_| rng.random()).collect::<Vec<f64>>();
        let zeros = [zero(), zero()];
        let rho = rng.random_range(0.2..1.0_f64) * if rng.random_bool(0.3) { -1.0 } else { 1.0 };
        // Two regular trees under the root.
        let mut parents: Vec<Parent> = zeros.iter().map(|z| Parent::Class { zero: z.clone() }).collect();
        let leaves = grow(&mut parents, depth as u32, branches, rho);
        let tree = Tree::new(classes.clone(), parents)?;
        // The first and the last leaf are under different children.
        let (l, m) = (leaves.start, leaves.end - 1);
        let exact = tree.cooccurrence(l, m)?;
        let said = match (self.theorem5, self.independent) {
            (true, _) => cooccurrence(rho, depth as u32, depth as u32 - 1, &classes, &zeros[1])?,
            (_, true) => tree.probability(&[(l, true)])?,
            _ => class_cooccurrence((1.0 + self.change) * rho, depth as u32, &classes, &zeros[0], &zeros[1])?,
        };
        let witness = witness! { "rho" => rho, "formula" => said, "exact" => exact };
        Ok(Outcome::equal(said, exact, ROUNDING / tree.probability(&[(m, true)])?, witness))
    }
}
