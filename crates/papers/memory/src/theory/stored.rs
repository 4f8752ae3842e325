//! Storage of patterns by Definition 1 of *Hopfield networks is all you need*: certificates for and against.

use attnlab_core::error::Result;
use attnlab_core::linalg::product;
use attnlab_theory::attention::memory::DenseMemory;
use ndarray::{ArrayView2, Axis};

/// Storage of a set of patterns, as far as it is certified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Every pattern has a ball of its own that the update maps into itself and contracts.
    All,
    /// At least two patterns have one fixed point, for this reason.
    NotAll(&'static str),
    /// Neither is shown.
    Unknown,
}

/// Decides whether all patterns X (d, N) are stored at β.
///
/// - *Not all*, if the update contracts the whole space: its Jacobian $\beta\,\mathrm{Cov}_p(x)$ has norm at most
///   $\beta \max_i|x_i|^2$ whatever the weights p. Below 1 there is a single fixed point, and disjoint balls would need
///   one each.
/// - *All*, if each pattern has a radius r below half the distance to its neighbours with
///   $\sum_j e_j |x_j - x_i| \le r$ and $\beta\sum_j e_j |x_j - x_i|^2 < 1$, where
///   $e_j = e^{-\beta(\langle x_i, x_i - x_j\rangle - r|x_i - x_j|)}$ bounds the weight of pattern j in the ball of radius r
///   around x_i. The ball is then mapped into itself, and contracted.
/// - *Not all*, if the iterations from two patterns end in one fixed point, which would lie in both balls.
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
        // (⟨x_i, x_i − x_j⟩, |x_i − x_j|) of the others.
        let others = (0..n).filter(|j| *j != i).map(|j| {
            let distance = (squares[i] + squares[j] - 2.0 * gram[[i, j]]).max(0.0).sqrt();
            (squares[i] - gram[[i, j]], distance)
        });
        has_ball(&others.collect::<Vec<_>>(), beta)
    });
    if certified {
        return Ok(Storage::All);
    }
    let reached = DenseMemory::new(patterns, 1.0, beta)?.minima_from(patterns)?;
    let merged = reached.minima.iter().any(|minimum| minimum.starts > 1);
    Ok(if merged { Storage::NotAll("two patterns have one fixed point") } else { Storage::Unknown })
}

/// Number of radii that are tried for a ball, each half of the one before.
const RADII: i32 = 48;

/// The largest radius over half the distance to the nearest pattern; below 1, so that balls are disjoint.
const APART: f64 = 0.98;

/// The largest ratio of either side of a certificate to its limit: a thousandth of room for rounding.
const SURE: f64 = 0.999;

/// Returns `true` if a ball around a pattern is mapped into itself and contracted; `others` are gaps and distances.
fn has_ball(others: &[(f64, f64)], beta: f64) -> bool {
    let nearest = others.iter().map(|(_, distance)| *distance).fold(f64::INFINITY, f64::min);
    (0..RADII).any(|halvings| {
        let r = 0.5 * APART * nearest * 0.5_f64.powi(halvings);
        let (mut moved, mut slope) = (0.0, 0.0);
        for (gap, distance) in others {
            let weight = (-beta * (gap - r * distance)).exp();
            moved += weight * distance;
            slope += beta * weight * distance * distance;
        }
        moved <= SURE * r && slope <= SURE
    })
}
