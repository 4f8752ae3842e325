//! Theorem 5: how often two tokens of a latent tree appear together, by the height of their common
//! latent ancestor.
//!
//! A trial draws the class law, the law of the root's child, the correlation ρ and the height, and compares the
//! formula with the exact probability of the whole tree, message by message. The proof is right up
//! to (100); from (101) on it writes $(1 + p_{k|0})/2$ for the probability $p_{k|0}$, as if that were a
//! correlation. See [`tree`](crate::theory::joma::tree).

use super::*;
use crate::theory::joma::tree::{Tree, cooccurrence, cooccurrence_printed};
use crate::witness;
use rand::RngExt;

/// P[y_l = 1 | y_m = 1] of two tokens whose common latent ancestor is at height H.
#[derive(Clone, Copy, Debug)]
pub struct Cooccurrence {
    corrected: bool,
    /// Added to H: a mutant counts the ancestor from the next layer.
    shift: u32,
    /// A mutant forgets that a class has a probability, and takes all as equally likely.
    uniform: bool,
}

impl Cooccurrence {
    /// As printed.
    pub fn printed() -> Self {
        Cooccurrence {
            corrected: false,
            shift: 0,
            uniform: false,
        }
    }

    /// With a correlation in place of the probability.
    pub fn corrected() -> Self {
        Cooccurrence {
            corrected: true,
            ..Self::printed()
        }
    }
}

impl Claim for Cooccurrence {
    fn card(&self) -> Card {
        let (id, equation, title, statement, expected, corrected) = if self.corrected {
            (
                "joma.theorem5_corrected",
                "Theorem 5, with a correlation at the root",
                "Co-occurrence of two tokens in a latent tree",
                "If token l and m have common latent ancestor of depth H, then $P[y_l = 1 | y_m = \
                 1] = \\frac12 \\frac{1 + \\rho^{2H} - 2\\rho^{L-1}\\rho_0}{1 - \
                 \\rho^{L-1}\\rho_0}$ with $\\rho_0 = 2 p_{\\cdot|0}^T p_0 - 1$.",
                VerdictKind::Supported,
                None,
            )
        } else {
            (
                "joma.theorem5",
                "Theorem 5",
                "Co-occurrence of two tokens in a latent tree, as printed",
                "If token l and m have common latent ancestor of depth H, then $P[y_l = 1 | y_m = \
                 1] = \\frac12 \\frac{1 + \\rho^{2H} - 2\\rho^{L-1}\\rho_0}{1 - \
                 \\rho^{L-1}\\rho_0}$ with $\\rho_0 := p_{\\cdot|0}^T p_0$.",
                VerdictKind::Refuted,
                Some(
                    "Holds with $\\rho_0 = 2 p_{\\cdot|0}^T p_0 - 1$ (`joma.theorem5_corrected`): \
                     the proof uses a correlation where the theorem has a probability.",
                ),
            )
        };
        Card {
            id,
            paper: Paper::Joma,
            equation,
            title,
            statement,
            kind: Kind::Identity,
            expected,
            corrected,
        }
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        (!self.corrected).then_some(Discrepancy {
            printed: "$\\rho_0 := p_{\\cdot|0}^T p_0$ is the probability of 0; (101) to (103) use it as \
                      the correlation, and (103) prints the matrix $M(\\cdot)$ for the vector $p(\\cdot)$.",
            witness: "One class, $P[y_1 = 0] = 3/4$, $\\rho = 1/2$, L = 2, H = 1: exactly 1/2; the \
                      printed formula gives 2/5.",
            range: "Fails unless $\\rho^{L-1} = 0$ or every class makes the root's child 0 for \
                    certain ($\\rho_0 = 1$ in both readings).",
            correction: "$\\rho_0 = 2 p_{\\cdot|0}^T p_0 - 1$. The remark for $\\rho_0 = 1 - \\epsilon$, \
                         Eq. (8), stands.",
        })
    }

    fn schema(&self) -> Schema {
        vec![
            Spec::new(
                "depth",
                Domain::Whole(2, 16),
                6,
                "L, depth of the tokens under the class label",
            ),
            Spec::new(
                "branches",
                Domain::Whole(2, 4),
                2,
                "children of every latent variable",
            ),
            Spec::new("classes", Domain::Whole(1, 1000), 3, "D, number of classes"),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let (branches, depth) = (
            params.usize("branches") as u64,
            params.usize("depth") as u32,
        );
        if branches.pow(depth - 1) > 1 << 16 {
            let allowed =
                format!("at most where branches^(depth - 1) is 65536, branches = {branches}");
            return Err(Error::invalid("depth", depth, allowed));
        }
        Ok(())
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (depth, branches) = (params.usize("depth") as u32, params.usize("branches"));
        let mut rng = streams.part("parameters", 0);
        let mut unit = || rng.random::<f64>();
        let weights: Vec<f64> = (0..params.usize("classes"))
            .map(|_| unit() + 1e-3)
            .collect();
        let sum: f64 = weights.iter().sum();
        let classes: Vec<f64> = weights.iter().map(|w| w / sum).collect();
        let zero: Vec<f64> = classes.iter().map(|_| unit()).collect();
        // Near 0 all tokens are independent, and every formula says so.
        let rho = (0.2 + 0.8 * unit()).copysign(unit() - 0.3);
        // Two tokens of the first and of another branch below the ancestor, at every height.
        let height = 1 + (unit() * f64::from(depth - 1)) as u32;
        let tree = Tree::regular(classes.clone(), zero.clone(), rho, depth, branches)?;
        let first = tree.len() - branches.pow(depth - 1);
        let exact = tree.cooccurrence(first, first + branches.pow(height - 1))?;
        let formula = if self.corrected {
            cooccurrence
        } else {
            cooccurrence_printed
        };
        let said_classes = if self.uniform {
            vec![1.0 / classes.len() as f64; classes.len()]
        } else {
            classes
        };
        let said_height = height + self.shift;
        let said = formula(rho, depth + self.shift, said_height, &said_classes, &zero)?;
        Ok(Outcome::Gap {
            lhs: said,
            rhs: exact,
            // Some hundred roundings of numbers up to 1, divided by P[y_m = 1].
            tol: 1e-13 / tree.probability(&[(first, true)])?,
            relation: Relation::Equal,
            witness: witness! {
                "rho" => rho, "height" => height, "formula" => said, "exact" => exact,
            },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![
            Mutant::new(
                "next_layer",
                "the same with the ancestor and the root one layer higher",
                Cooccurrence { shift: 1, ..*self },
            ),
            Mutant::new(
                "equal_classes",
                "the same with all classes equally likely",
                Cooccurrence {
                    uniform: true,
                    ..*self
                },
            ),
        ]
    }
}
