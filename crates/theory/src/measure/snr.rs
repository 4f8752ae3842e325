//! Signal-to-noise ratio of each cluster: AoT Eq. (6).

use attnlab_core::linalg::{Real, frobenius2, product};
use ndarray::{Array2, ArrayView2, Axis};

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
        let z = tokens.select(Axis(1), &members);
        let signal = product(u.view(), product(u.t(), z.view()).view());
        // The difference ‖Z‖² - ‖signal‖² would consist of rounding errors at high SNR.
        let noise = &z - &signal;
        (frobenius2(signal.view()) / frobenius2(noise.view())).sqrt()
    };
    bases.iter().enumerate().map(ratio).collect()
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
