//! Storage of patterns by Definition 1 of *Hopfield networks is all you need*: certificates for and against.

use attnlab_core::error::Result;
use attnlab_core::linalg::{normal_matrix, product};
use attnlab_core::rng::Generator;
use attnlab_theory::attention::memory::DenseMemory;
use attnlab_theory::particles::directions;
use ndarray::{Array2, ArrayView2, Axis};

/// Whether a set of patterns is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Every pattern has a ball of its own that the update maps into itself and contracts.
    All,
    /// At least two patterns have one fixed point; why.
    NotAll(&'static str),
    /// Neither could be shown.
    Unknown,
}

/// Draws patterns (d, N) uniformly from the sphere of this radius.
///
/// # Errors
/// When a normal vector is zero, which has probability 0.
pub fn uniform(d: usize, n: usize, radius: f64, rng: &mut Generator) -> Result<Array2<f64>> {
    Ok(directions(normal_matrix(d, n, rng).view())? * radius)
}

/// Decides whether all patterns X (d, N) are stored at β.
///
/// - *Not all*, if the update is a contraction of the whole space: its Jacobian $\beta\,\mathrm{Cov}_p(x)$ has norm at most
///   $\beta \max_i|x_i|^2$ whatever the weights p. Below 1 there is a single fixed point, and disjoint spheres would need
///   one each.
/// - *All*, if each pattern has a radius r below half the distance to its neighbours with
///   $\sum_j e_j |x_j - x_i| \le r$ and $\beta\sum_j e_j |x_j - x_i|^2 < 1$, where
///   $e_j = e^{-\beta(\langle x_i, x_i - x_j\rangle - r|x_i - x_j|)}$ bounds the weight of pattern j in the ball of radius r
///   around x_i. The ball is then mapped into itself, and contracted.
/// - *Not all*, if the iterations from two patterns end in one fixed point, which would lie in both spheres.
///
/// # Errors
/// When an iteration does not converge.
pub fn storage(patterns: ArrayView2<f64>, beta: f64) -> Result<Storage> {
    let n = patterns.ncols();
    if n < 2 {
        return Ok(Storage::All);
    }
    let squares = patterns.map_axis(Axis(0), |x| x.dot(&x));
    let longest = squares.iter().copied().fold(0.0, f64::max);
    if beta * longest < 1.0 {
        return Ok(Storage::NotAll("the update has a single fixed point"));
    }
    let gram = product(patterns.t(), patterns);
    let certified = (0..n).all(|i| {
        let own = squares[i];
        // (⟨x_i, x_i − x_j⟩, |x_i − x_j|) of the others.
        let others = (0..n).filter(|j| *j != i).map(|j| {
            let distance = (own + squares[j] - 2.0 * gram[[i, j]]).max(0.0).sqrt();
            (own - gram[[i, j]], distance)
        });
        has_ball(&others.collect::<Vec<_>>(), beta)
    });
    if certified {
        return Ok(Storage::All);
    }
    let found = DenseMemory::new(patterns, 1.0, beta)?.minima_from(patterns)?;
    let shared = found.minima.iter().any(|m| m.starts > 1);
    Ok(match shared {
        true => Storage::NotAll("two patterns have one fixed point"),
        false => Storage::Unknown,
    })
}

/// Radii that are tried for a ball: halves of the largest allowed one.
const RADII: i32 = 48;

/// Part of half the distance to the nearest pattern that a radius may have, so that balls are disjoint.
const APART: f64 = 0.98;

/// Returns `true` if a ball around a pattern is mapped into itself and contracted; `others` are gaps and distances.
fn has_ball(others: &[(f64, f64)], beta: f64) -> bool {
    let nearest = others.iter().map(|o| o.1).fold(f64::INFINITY, f64::min);
    (0..RADII).any(|halvings| {
        let r = 0.5 * APART * nearest * 0.5_f64.powi(halvings);
        let (mut moved, mut slope) = (0.0, 0.0);
        for (gap, distance) in others {
            let weight = (-beta * (gap - r * distance)).exp();
            moved += weight * distance;
            slope += beta * weight * distance * distance;
        }
        // A thousandth of room for rounding.
        moved <= 0.999 * r && slope < 0.999
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn few_patterns_by_hand() {
        let apart = array![[2.0, -2.0], [0.0, 0.0]];
        // β M² = 4β: below 1/4 a contraction; the fixed points ± exist for β > 1/4 and are far apart at 1.
        assert!(matches!(storage(apart.view(), 0.2).unwrap(), Storage::NotAll(_)));
        assert_eq!(storage(apart.view(), 1.0).unwrap(), Storage::All);
        // Two close patterns share their mean, and a far one changes nothing.
        let (sin, cos) = 0.15_f64.sin_cos();
        let close = array![[2.0, 2.0 * cos, -2.0], [0.0, 2.0 * sin, 0.0]];
        assert_eq!(storage(close.view(), 1.0).unwrap(), Storage::NotAll("two patterns have one fixed point"));
        assert_eq!(storage(close.view(), 400.0).unwrap(), Storage::All);
        assert_eq!(storage(array![[3.0]].view(), 1e-3).unwrap(), Storage::All);
    }
}
