//! Signal-to-noise ratio of each cluster: AoT Eq. (6).

use attnlab_core::linalg::{Real, frobenius2, product};
use ndarray::{Array2, ArrayView2, Axis};
use std::ops::RangeInclusive;

/// Computes SNR(Z_k) = ‖U_kU_kᵀZ_k‖_F / ‖(I - U_kU_kᵀ)Z_k‖_F, a pure number, for every cluster k.
///
/// `tokens` Z is (d, N), `bases[k]` U_k is (d, p_k) with orthonormal columns, `labels` is (N,). A cluster
/// without noise has SNR infinity, an empty one NaN.
///
/// ```
/// use attnlab_theory::measure::snr;
/// use ndarray::array;
/// let u = array![[1.0], [0.0]];
/// // One token: 3 along the subspace, 4 off it.
/// assert_eq!(snr(array![[3.0], [4.0]].view(), &[u], &[0]), vec![0.75]);
/// ```
pub fn snr(tokens: ArrayView2<f64>, bases: &[Array2<f64>], labels: &[usize]) -> Vec<f64> {
    let ratio = |(k, u): (usize, &Array2<f64>)| {
        let members: Vec<usize> = (0..labels.len()).filter(|i| labels[*i] == k).collect();
        let mut z = tokens.select(Axis(1), &members);
        let largest = largest_entry(z.view());
        if largest > 0.0 && !SQUARES_EXACT.contains(&largest) {
            z /= largest;
        }
        let signal = product(u.view(), product(u.t(), z.view()).view());
        // The difference ‖Z‖² - ‖signal‖² would consist of rounding errors at high SNR.
        let noise = &z - &signal;
        ratio_of_norms(signal.view(), noise.view())
    };
    bases.iter().enumerate().map(ratio).collect()
}

/// Largest entries (absolute values) of matrices whose squares neither overflow nor lose digits to underflow, with 10⁸⁷
/// to spare for their number.
const SQUARES_EXACT: RangeInclusive<f64> = 1e-110..=1e110;

fn largest_entry(a: ArrayView2<f64>) -> f64 {
    a.iter().fold(0.0, |most, x| x.abs().max(most))
}

/// Computes ‖A‖_F / ‖B‖_F, also where squares of the entries underflow or overflow.
fn ratio_of_norms(a: ArrayView2<f64>, b: ArrayView2<f64>) -> f64 {
    let largest = [a, b].map(largest_entry);
    if largest.iter().all(|x| *x == 0.0 || SQUARES_EXACT.contains(x)) {
        return (frobenius2(a) / frobenius2(b)).sqrt();
    }
    let norm = |(a, largest): (ArrayView2<f64>, f64)| match largest {
        0.0 => 0.0,
        _ => frobenius2((&a / largest).view()).sqrt() * largest,
    };
    let [above, below] = [(a, largest[0]), (b, largest[1])].map(norm);
    above / below
}

/// Computes the SNR of every cluster from coefficients under jointly orthonormal bases that span every
/// token: `energy[k][s]` = ‖U_kᵀZ_s‖_F², the energy of cluster s in head k.
pub fn snr_of_heads(energy: &[Vec<f64>]) -> Vec<f64> {
    let clusters = energy.first().map_or(0, Vec::len);
    let ratio = |s: usize| {
        let noise: f64 = energy.iter().enumerate().filter(|(k, _)| *k != s).map(|(_, e)| e[s]).sum();
        (energy[s][s] / noise).sqrt()
    };
    (0..clusters).map(ratio).collect()
}

/// Computes ‖Y[:, C_s]‖_F² for every cluster s from one head's coefficients Y (p, N).
pub fn energy_by_cluster<T: Real>(y: ArrayView2<T>, labels: &[usize], clusters: usize) -> Vec<f64> {
    let mut energy = vec![0.0; clusters];
    for (column, label) in y.columns().into_iter().zip(labels) {
        energy[*label] += column.iter().map(|x| x.as_f64().powi(2)).sum::<f64>();
    }
    energy
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Tokens (3, 4), (1, 2) and (1, 1e-170) beside an axis: 3/4, 1/2 and, exactly, 1e170.
    #[test]
    fn the_unit_of_the_tokens_does_not_matter() {
        let bases = [array![[1.0], [0.0]]];
        for unit in [1e-310, 1e-300, 1e-200, 1e-160, 1e-120, 1.0, 1e120, 1e154, 1e200, 1e307] {
            for (token, expected) in [(array![[3.0], [4.0]], 0.75), (array![[1.0], [2.0]], 0.5)] {
                let value = snr((&token * unit).view(), &bases, &[0])[0];
                // A subnormal number near 1e-310 has 13 digits.
                assert!((value / expected - 1.0).abs() < 1e-12, "{unit:e}: {value}");
            }
        }
        let value = snr(array![[1.0], [1e-170]].view(), &bases, &[0])[0];
        assert!((value / 1e170 - 1.0).abs() < 1e-12, "{value:e}");
        assert_eq!(snr(array![[1e-200], [0.0]].view(), &bases, &[0]), [f64::INFINITY]);
        assert!(snr(array![[0.0], [0.0]].view(), &bases, &[0])[0].is_nan());
    }
}
