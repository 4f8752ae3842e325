//! Stable rank, coding rate and SNR of a set of tokens.

/// Tokens (d, N) scaled to length 1; zero tokens stay zero.
pub use crate::attention::mssa::unit_columns as unit_tokens;

use attnlab_core::error::{Result, positive, require};
use attnlab_core::linalg::{product, singular_values, symmetric_eigen};
use ndarray::{Array2, ArrayView2, Axis};

/// Computes the stable rank ‖Z‖_F² / ‖Z‖₂² of tokens Z (d, N), the effective number of directions that
/// share the energy, from 1 to min(d, N). NaN for tokens that are all zero.
///
/// # Errors
/// If Z contains a number that is not finite.
///
/// ```
/// use attnlab_theory::measure::stable_rank;
/// use ndarray::Array2;
/// assert!((stable_rank(Array2::eye(3).view())? - 3.0).abs() < 1e-12);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn stable_rank(tokens: ArrayView2<f64>) -> Result<f64> {
    finite(tokens)?;
    let values = singular_values(tokens)?;
    let largest = values.iter().copied().fold(0.0, f64::max);
    Ok(values.iter().map(|s| (s / largest).powi(2)).sum())
}

/// Computes the coding rate $R(Z) = \frac12\log\det(I + \frac{d}{N\epsilon^2}ZZ^T)$ of tokens Z (d, N) in
/// nats: the volume of the tokens at precision ε (Yu et al. 2020, Eq. 7). It grows with the length of the
/// tokens; to measure their shape alone, scale them to length 1 first ([`unit_tokens`]).
///
/// # Errors
/// If Z contains a number that is not finite, or ε is not > 0.
///
/// ```
/// use attnlab_theory::measure::coding_rate;
/// use ndarray::Array2;
/// // d = N = 2 at ε = 1: ½ log det(I + ZZᵀ) = ½ log 4.
/// let rate = coding_rate(Array2::eye(2).view(), 1.0)?;
/// assert!((rate - 2.0_f64.ln()).abs() < 1e-12);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn coding_rate(tokens: ArrayView2<f64>, epsilon: f64) -> Result<f64> {
    positive("epsilon", epsilon)?;
    finite(tokens)?;
    let (d, n) = tokens.dim();
    let scale = d as f64 / (n as f64 * epsilon * epsilon);
    // ZZᵀ and ZᵀZ have the same eigenvalues up to zeros, which add nothing.
    let gram = if d <= n { product(tokens, tokens.t()) } else { product(tokens.t(), tokens) };
    let (values, _) = symmetric_eigen(gram.view())?;
    Ok(values.iter().map(|v| 0.5 * (scale * v.max(0.0)).ln_1p()).sum())
}

/// Computes ‖signal‖ / ‖noise‖ of tokens Z (d, N), where the signal of token i is its projection onto the subspace
/// `labels[i]` of `bases` (each (d, p), orthonormal columns): AoT Eq. (6) over all clusters together.
pub fn labelled_snr(tokens: ArrayView2<f64>, bases: &[Array2<f64>], labels: &[usize]) -> f64 {
    let (mut signal, mut noise) = (0.0, 0.0);
    for (token, label) in tokens.columns().into_iter().zip(labels) {
        let u = &bases[*label];
        let projected = u.dot(&u.t().dot(&token));
        signal += projected.dot(&projected);
        let rest = &token - &projected;
        noise += rest.dot(&rest);
    }
    (signal / noise).sqrt()
}

/// Returns, for each token of (d, N), the index of the basis in `bases` with the largest projection.
pub fn nearest_subspace(tokens: ArrayView2<f64>, bases: &[Array2<f64>]) -> Vec<usize> {
    let energies: Vec<_> = bases.iter().map(|u| product(u.t(), tokens).map_axis(Axis(0), |y| y.dot(&y))).collect();
    let nearest = |i: usize| (0..bases.len()).max_by(|a, b| energies[*a][i].total_cmp(&energies[*b][i])).unwrap_or(0);
    (0..tokens.ncols()).map(nearest).collect()
}

fn finite(tokens: ArrayView2<f64>) -> Result<()> {
    tokens.iter().try_for_each(|x| require(x.is_finite(), "tokens", x, "must be finite numbers"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::snr;
    use ndarray::array;

    /// numpy 2: `Z = np.array([[1, 2, .5], [0, -1, 1.5]])`;
    /// `.5 * np.linalg.slogdet(np.eye(d) + d/(n*eps**2) * A @ A.T)[1]` for A = Z at ε = .5 and A = Z.T
    /// at ε = .3; `s = np.linalg.svd(Z, compute_uv=False); (s**2).sum() / s[0]**2`.
    #[test]
    fn rates_and_ranks_are_numpy_s() {
        let z = array![[1.0, 2.0, 0.5], [0.0, -1.0, 1.5]];
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        close(coding_rate(z.view(), 0.5).unwrap(), 2.448505134294268);
        close(coding_rate(z.t(), 0.3).unwrap(), 4.2001298973572165);
        close(stable_rank(z.view()).unwrap(), 1.4527974835777546);
        assert!(coding_rate(z.view(), 0.0).is_err());
        assert!(stable_rank(array![[f64::NAN]].view()).is_err());
    }

    #[test]
    fn one_cluster_s_snr_is_eq_6() {
        let z = array![[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]];
        let bases = [array![[1.0], [0.0], [0.0]], array![[0.0], [1.0], [0.0]]];
        let labels = nearest_subspace(z.view(), &bases);
        assert_eq!(labels, [1, 0]);
        assert_eq!(labelled_snr(z.view(), &bases[..1], &[0, 0]), snr(z.view(), &bases[..1], &[0, 0])[0]);
        // Signal 3² + 2², noise 1² + .5² + 1² + .25².
        assert!((labelled_snr(z.view(), &bases, &labels) - (13.0_f64 / 2.3125).sqrt()).abs() < 1e-14);
    }
}
