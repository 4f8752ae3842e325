//! Singular values of weight matrices, summed up in a few numbers.

use attnlab_core::error::{Result, require};
use attnlab_core::linalg::{product, symmetric_eigen};
use ndarray::ArrayView2;

/// Norms and ranks of a matrix by its singular values σ_i.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spectrum {
    /// Frobenius norm, $\sqrt{\sum\sigma_i^2}$.
    pub frobenius: f64,
    /// Largest singular value.
    pub largest: f64,
    /// Stable rank, $\sum\sigma_i^2/\sigma_1^2$, from 1 to min(m, n).
    pub stable_rank: f64,
    /// Entropy rank, $\exp(-\sum p_i\ln p_i)$ with $p_i = \sigma_i^2/\sum\sigma_j^2$ (Roy, Vetterli 2007), from 1 to
    /// min(m, n).
    pub entropy_rank: f64,
}

/// Computes the spectrum of W (m, n) from the eigenvalues of its smaller Gram matrix, in O(mn·min(m, n)). Both ranks
/// are NaN for W = 0.
///
/// # Errors
/// A matrix with an entry that is not finite, or of so large ones that their squares are not.
///
/// ```
/// use attnlab_theory::measure::spectrum;
/// use ndarray::array;
/// let spectrum = spectrum(array![[3.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].view())?;
/// assert!((spectrum.stable_rank - 11.0 / 9.0).abs() < 1e-14);
/// assert!((spectrum.largest - 3.0).abs() < 1e-14);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn spectrum(weights: ArrayView2<f64>) -> Result<Spectrum> {
    let (rows, columns) = weights.dim();
    let gram = if rows <= columns { product(weights, weights.t()) } else { product(weights.t(), weights) };
    let allowed = "must hold finite numbers, with finite squares";
    require(gram.iter().all(|x| x.is_finite()), "weights", "NaN or infinite", allowed)?;
    let (squares, _) = symmetric_eigen(gram.view())?;
    // Rounding makes some of the small ones negative.
    let squares: Vec<f64> = squares.iter().map(|s| s.max(0.0)).collect();
    let sum: f64 = squares.iter().sum();
    let largest = squares.iter().copied().fold(0.0, f64::max);
    let entropy: f64 = squares.iter().map(|s| s / sum).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum();
    Ok(Spectrum {
        frobenius: sum.sqrt(),
        largest: largest.sqrt(),
        stable_rank: sum / largest,
        entropy_rank: if sum > 0.0 { entropy.exp() } else { f64::NAN },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::stable_rank;
    use attnlab_core::linalg::normal_matrix;
    use attnlab_core::rng::Streams;
    use ndarray::Array2;

    #[test]
    fn a_spectrum_is_that_of_the_singular_values() {
        for (rows, columns) in [(1, 1), (5, 3), (3, 5), (40, 40)] {
            let mut rng = Streams::new(1, "test", 0, rows as u64).part("weights", 0);
            let w: Array2<f64> = normal_matrix(rows, columns, &mut rng);
            let spectrum = spectrum(w.view()).unwrap();
            let plain = stable_rank(w.view()).unwrap();
            assert!((spectrum.stable_rank - plain).abs() < 1e-10 * plain);
            let norm = w.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!((spectrum.frobenius - norm).abs() < 1e-12 * norm);
            assert!(spectrum.entropy_rank >= spectrum.stable_rank - 1e-9);
            assert!(spectrum.entropy_rank <= rows.min(columns) as f64 + 1e-9);
        }
    }

    #[test]
    fn equal_singular_values_have_full_rank_and_zero_has_none() {
        let equal = spectrum((2.0 * Array2::<f64>::eye(4)).view()).unwrap();
        assert!((equal.stable_rank - 4.0).abs() < 1e-12);
        assert!((equal.entropy_rank - 4.0).abs() < 1e-12);
        let zero = spectrum(Array2::zeros((2, 3)).view()).unwrap();
        assert!(zero.stable_rank.is_nan() && zero.entropy_rank.is_nan());
        assert!(spectrum(Array2::from_elem((2, 2), f64::NAN).view()).is_err());
        assert!(spectrum(Array2::from_elem((2, 2), 1e200).view()).is_err());
    }
}
