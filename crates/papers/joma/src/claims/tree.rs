//! Lemmas 8 and 9 on latent trees, and Eq. (8).

use super::setting::*;
use crate::theory::tree::{Parent, Tree, cooccurrence};

/// A statement on the tree's matrices M(ρ), or the limit (8).
#[derive(Serialize, Deserialize)]
pub struct TreeLaw {
    statement: Statement,
    /// Flag of a mutant of Lemma 8: ρ_1 + ρ_2 for the product.
    sum: bool,
    /// Flag of a mutant of Lemma 9: the product lacks the last edge.
    short: bool,
    /// Relative change of the products of Lemmas 8 and 9; a mutant's is near 0.
    change: f64,
    /// Share of the term of order ε in (8).
    next: f64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Statement {
    Lemma8,
    Lemma9,
    Limit,
    LimitCorrected,
}

impl TreeLaw {
    /// Lemma 8.
    pub const LEMMA8: Self = TreeLaw { statement: Statement::Lemma8, sum: false, short: false, change: 0.0, next: 0.0 };
    /// Lemma 9.
    pub const LEMMA9: Self = TreeLaw { statement: Statement::Lemma9, ..Self::LEMMA8 };
    /// Eq. (8), with an error of order ε².
    pub const LIMIT: Self = TreeLaw { statement: Statement::Limit, ..Self::LEMMA8 };
    /// Eq. (8) with its next term.
    pub const LIMIT_CORRECTED: Self = TreeLaw { statement: Statement::LimitCorrected, next: 1.0, ..Self::LEMMA8 };

    fn lemma8(&self, a: f64, b: f64) -> Outcome {
        let product = if self.sum { a + b } else { (1.0 + self.change) * a * b };
        let (first, second) = (m(a), m(b));
        let columns = [0, 1].map(|j| apply(&first, [second[0][j], second[1][j]]));
        let said = m(product);
        let entries = (0..4).map(|i| (columns[i % 2][i / 2], said[i / 2][i % 2]));
        let ones = apply(&first, [1.0, 1.0]).map(|x| (x, 1.0));
        let vector = apply(&first, p(b)).into_iter().zip(p(product));
        let pairs = entries.chain(ones).chain(vector).chain([(first[0][1], first[1][0])]);
        Outcome::equal(off(pairs), 0.0, LEMMA8_TOLERANCE, witness! { "rho" => [a, b] })
    }

    fn lemma9(&self, chain: &[f64]) -> Result<Outcome> {
        let length = chain.len();
        let mut parents = vec![Parent::Class { zero: vec![0.3] }];
        parents.extend(chain.iter().enumerate().map(|(index, rho): (usize, &f64)| Parent::Latent { index, rho: *rho }));
        let tree = Tree::new(vec![1.0], parents)?;
        let edges = if self.short { &chain[..length - 1] } else { chain };
        let said = m((1.0 + self.change) * edges.iter().product::<f64>());
        let mut pairs = vec![];
        for parent in [false, true] {
            let given = tree.probability(&[(0, parent)])?;
            for child in [false, true] {
                let exact = tree.probability(&[(0, parent), (length, child)])? / given;
                pairs.push((exact, said[usize::from(child)][usize::from(parent)]));
            }
        }
        Ok(Outcome::equal(off(pairs), 0.0, LEMMA9_TOLERANCE, witness! { "rho" => chain }))
    }

    fn limit(&self, depth: u32, height: u32) -> Result<Outcome> {
        let (l, h) = (f64::from(depth), f64::from(height));
        let exact = cooccurrence(1.0 - EPSILON, depth, height, &[1.0], &[1.0 - 0.5 * EPSILON])?;
        let next = EPSILON * h * (2.0 * h - l) / (2.0 * l);
        let said = 1.0 - h / l + self.next * next;
        let witness = witness! { "L" => depth, "H" => height, "exact" => exact, "said" => said };
        // The expansion runs in powers of Lε.
        Ok(Outcome::at_most((exact - said).abs(), (l * EPSILON).powi(2), LIMIT_ROUNDING, witness))
    }
}

type Matrix = [[f64; 2]; 2];

/// The matrix M(ρ) of Definition 1.
fn m(rho: f64) -> Matrix {
    let (same, other) = (0.5 * (1.0 + rho), 0.5 * (1.0 - rho));
    [[same, other], [other, same]]
}

/// The vector p(ρ) of Definition 1.
fn p(rho: f64) -> [f64; 2] {
    [0.5 * (1.0 + rho), 0.5 * (1.0 - rho)]
}

fn apply(a: &Matrix, x: [f64; 2]) -> [f64; 2] {
    [a[0][0] * x[0] + a[0][1] * x[1], a[1][0] * x[0] + a[1][1] * x[1]]
}

/// The largest difference of entries.
fn off(pairs: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    pairs.into_iter().map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

impl Claim for TreeLaw {
    from_sheet!(
        self,
        match self.statement {
            Statement::Lemma8 => sheet!("joma.lemma8"),
            Statement::Lemma9 => sheet!("joma.lemma9"),
            Statement::Limit => sheet!("joma.eq8"),
            Statement::LimitCorrected => sheet!("joma.eq8_corrected"),
        }
    );

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("tree", 0);
        let mut rho = || 2.0 * rng.random::<f64>() - 1.0;
        match self.statement {
            Statement::Lemma8 => Ok(self.lemma8(rho(), rho())),
            Statement::Lemma9 => {
                let length = 2 + (5.5 * (rho() + 1.0)) as usize;
                self.lemma9(&(0..length).map(|_| rho()).collect::<Vec<f64>>())
            }
            _ => {
                let depth = 3 + (4.9 * (rho() + 1.0)) as u32;
                let mut height = 1 + (0.5 * (rho() + 1.0) * f64::from(depth - 1)) as u32;
                if 2 * height == depth {
                    // There the term of order ε vanishes.
                    height -= 1;
                }
                self.limit(depth, height)
            }
        }
    }
}

/// Some roundings of numbers up to 1.
const LEMMA8_TOLERANCE: f64 = 1e-15;
/// Roundings of up to twelve edges, divided by probabilities of at least .3.
const LEMMA9_TOLERANCE: f64 = 1e-14;
/// The ε of (8).
const EPSILON: f64 = 1e-4;
/// Rounding error of (8): numbers up to 1 over 1 - ρ^L ρ_0 ≥ EPSILON, which costs four digits.
const LIMIT_ROUNDING: f64 = 1e-11;
