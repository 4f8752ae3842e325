//! Lemmas 8 and 9 on latent trees, and Eq. (8).

use super::joma_setting::{at_most, equal};
use super::*;
use crate::theory::joma::tree::{Parent, Tree, cooccurrence};
use crate::witness;
use rand::RngExt;

/// A statement on the tree's matrices M(ρ), or the limit (8).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeLaw {
    says: Says,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    /// Lemma 8.
    Lemma8,
    /// The mutant: M(ρ_1) M(ρ_2) = M(ρ_1 + ρ_2).
    Lemma8Sum,
    /// Lemma 9.
    Lemma9,
    /// The mutant: without the last edge.
    Lemma9Short,
    /// (8): an error of order ε².
    Limit,
    /// With the term of order ε.
    LimitCorrected,
    /// The mutant: with half of that term.
    LimitHalf,
}

impl TreeLaw {
    /// Lemma 8.
    pub const LEMMA8: Self = TreeLaw { says: Says::Lemma8 };
    /// Lemma 9.
    pub const LEMMA9: Self = TreeLaw { says: Says::Lemma9 };
    /// (8).
    pub const LIMIT: Self = TreeLaw { says: Says::Limit };
    /// (8) with its next term.
    pub const LIMIT_CORRECTED: Self = TreeLaw {
        says: Says::LimitCorrected,
    };
}

type Matrix = [[f64; 2]; 2];

/// M(ρ) of Definition 1.
fn m(rho: f64) -> Matrix {
    let (same, other) = (0.5 * (1.0 + rho), 0.5 * (1.0 - rho));
    [[same, other], [other, same]]
}

/// p(ρ) of Definition 1.
fn p(rho: f64) -> [f64; 2] {
    [0.5 * (1.0 + rho), 0.5 * (1.0 - rho)]
}

fn apply(a: &Matrix, x: [f64; 2]) -> [f64; 2] {
    [
        a[0][0] * x[0] + a[0][1] * x[1],
        a[1][0] * x[0] + a[1][1] * x[1],
    ]
}

/// The largest difference of entries.
fn off(pairs: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    pairs
        .into_iter()
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

impl Claim for TreeLaw {
    fn card(&self) -> Card {
        let base = |id, equation, title, statement| Card {
            id,
            paper: Paper::Joma,
            equation,
            title,
            statement,
            kind: Kind::Identity,
            expected: VerdictKind::Supported,
            corrected: None,
        };
        match self.says {
            Says::Lemma8 | Says::Lemma8Sum => base(
                "joma.lemma8",
                "Lemma 8, Eq. (90)",
                "The transition matrices of a latent tree multiply like numbers",
                "$M(\\rho)$ is a symmetric matrix. $M(\\rho) 1_2 = 1_2$. $M(\\rho_1)M(\\rho_2) = \
                 M(\\rho_1\\rho_2)$. $M(\\rho_1) p(\\rho_2) = p(\\rho_1\\rho_2)$.",
            ),
            Says::Lemma9 | Says::Lemma9Short => base(
                "joma.lemma9",
                "Lemma 9, Eqs. (91), (92)",
                "Correlations multiply along a chain of descendants",
                "For latent $y_\\alpha$ and its descendent $y_\\gamma$, we have $P_{\\gamma|\\alpha} = \
                 M(\\rho_{\\gamma|\\alpha})$ where $\\rho_{\\gamma|\\alpha} := \\rho_{\\gamma|\\beta_1} \
                 \\rho_{\\beta_1|\\beta_2} \\cdots \\rho_{\\beta_k|\\alpha}$.",
            ),
            Says::Limit => Card {
                kind: Kind::Bound,
                expected: VerdictKind::Refuted,
                corrected: Some(
                    "$1 - \\frac HL + \\epsilon\\frac{H(2H - L)}{2L} + O(\\epsilon^2)$ \
                     (`joma.eq8_corrected`).",
                ),
                ..base(
                    "joma.eq8",
                    "Theorem 5, remarks, Eq. (8)",
                    "Co-occurrence in a nearly deterministic tree, as printed",
                    "Assume $\\rho = \\rho_0 = 1 - \\epsilon$, then we have: $P[y_l = 1 | y_m = 1] = 1 - \
                     \\frac HL + O(\\epsilon^2)$. (Read as: within $(L\\epsilon)^2$ at $\\epsilon = 10^{-4}$.)",
                )
            },
            _ => Card {
                kind: Kind::Bound,
                ..base(
                    "joma.eq8_corrected",
                    "Theorem 5, remarks, Eq. (8), with the term of order ε",
                    "Co-occurrence in a nearly deterministic tree",
                    "For $\\rho = \\rho_0 = 1 - \\epsilon$, $P[y_l = 1 | y_m = 1] = 1 - \\frac HL + \
                     \\epsilon\\frac{H(2H - L)}{2L} + O(\\epsilon^2)$. (Read as: within $(L\\epsilon)^2$ at \
                     $\\epsilon = 10^{-4}$.)",
                )
            },
        }
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        (self.says == Says::Limit).then_some(Discrepancy {
            printed: "(8) expands numerator and denominator to first order in ε each, of which the quotient keeps \
                      the leading term only; the error is called $O(\\epsilon^2)$.",
            witness: "At $\\epsilon = 10^{-4}$ the error is $\\epsilon H(2H - L)/(2L)$, hundreds of times \
                      $\\epsilon^2$.",
            range: "$2H \\neq L$, $H \\neq 0$.",
            correction: "An error of order ε; the leading term $1 - H/L$ and the conclusion stand.",
        })
    }

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("tree", 0);
        let mut rho = || 2.0 * rng.random::<f64>() - 1.0;
        match self.says {
            Says::Lemma8 | Says::Lemma8Sum => {
                let (a, b) = (rho(), rho());
                let product = if self.says == Says::Lemma8 {
                    a * b
                } else {
                    a + b
                };
                let (first, second) = (m(a), m(b));
                let columns = [0, 1].map(|j| apply(&first, [second[0][j], second[1][j]]));
                let said = m(product);
                let entries = (0..4).map(|i| (columns[i % 2][i / 2], said[i / 2][i % 2]));
                let ones = apply(&first, [1.0, 1.0]).map(|x| (x, 1.0));
                let vector = apply(&first, p(b)).into_iter().zip(p(product));
                let symmetric = [(first[0][1], first[1][0])];
                let all = entries.chain(ones).chain(vector).chain(symmetric);
                // A few roundings of numbers up to 1.
                Ok(equal(off(all), 0.0, 1e-15, witness! { "rho" => [a, b] }))
            }
            Says::Lemma9 | Says::Lemma9Short => {
                let length = 2 + (5.5 * (rho() + 1.0)) as usize;
                let chain: Vec<f64> = (0..length).map(|_| rho()).collect();
                let mut parents = vec![Parent::Class { zero: vec![0.3] }];
                let edge = |(index, rho): (usize, &f64)| Parent::Latent { index, rho: *rho };
                parents.extend(chain.iter().enumerate().map(edge));
                let tree = Tree::new(vec![1.0], parents)?;
                let kept = length - usize::from(self.says == Says::Lemma9Short);
                let said = m(chain[..kept].iter().product());
                let mut pairs = vec![];
                for parent in [false, true] {
                    let given = tree.probability(&[(0, parent)])?;
                    for child in [false, true] {
                        let exact = tree.probability(&[(0, parent), (length, child)])? / given;
                        pairs.push((exact, said[usize::from(child)][usize::from(parent)]));
                    }
                }
                Ok(equal(off(pairs), 0.0, 1e-14, witness! { "rho" => chain }))
            }
            _ => {
                let epsilon = 1e-4;
                let depth = 3 + (4.9 * (rho() + 1.0)) as u32;
                let mut height = 1 + (0.5 * (rho() + 1.0) * f64::from(depth - 1)) as u32;
                if 2 * height == depth {
                    // There the term of order ε vanishes.
                    height -= 1;
                }
                let (l, h) = (f64::from(depth), f64::from(height));
                let exact =
                    cooccurrence(1.0 - epsilon, depth, height, &[1.0], &[1.0 - 0.5 * epsilon])?;
                let next = epsilon * h * (2.0 * h - l) / (2.0 * l);
                let said = 1.0 - h / l
                    + match self.says {
                        Says::Limit => 0.0,
                        Says::LimitHalf => 0.5 * next,
                        _ => next,
                    };
                let witness =
                    witness! { "L" => depth, "H" => height, "exact" => exact, "said" => said };
                // The expansion runs in powers of Lε; cancellation in 1 - ρ^L ρ_0 costs four digits.
                Ok(at_most(
                    (exact - said).abs(),
                    (l * epsilon).powi(2),
                    1e-11,
                    witness,
                ))
            }
        }
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, text, says| vec![Mutant::new(name, text, TreeLaw { says })];
        match self.says {
            Says::Lemma8 | Says::Lemma8Sum => {
                variant("sum", "M(ρ_1) M(ρ_2) = M(ρ_1 + ρ_2)", Says::Lemma8Sum)
            }
            Says::Lemma9 | Says::Lemma9Short => variant(
                "short",
                "the product without the last edge",
                Says::Lemma9Short,
            ),
            _ => variant("half", "with half the term of order ε", Says::LimitHalf),
        }
    }
}
