//! The unrolled network on a draw, in the coefficients of its heads.

use attnlab_lab::prelude::*;
use attnlab_theory::attention::Mssa;
use attnlab_theory::measure::snr::{energy_by_cluster, snr_of_heads};
use attnlab_theory::sample::Mixture;
use ndarray::Array2;

/// Computes the SNR (6) at layers 0..=L of every cluster of a draw with orthonormal bases, in coefficients: `snr[l][k]`.
///
/// # Errors
/// When the layer is refused, such as for τ out of range.
pub fn unroll_heads(mixture: &Mixture, layer: &Mssa, layers: usize, streams: &Streams) -> Result<Vec<Vec<f64>>> {
    let (labels, clusters) = (mixture.labels(), mixture.clusters());
    let mut heads: Vec<_> = (0..clusters).map(|k| mixture.head::<f64>(k, streams)).collect();
    let snr = |heads: &[Array2<f64>]| {
        snr_of_heads(&heads.iter().map(|y| energy_by_cluster(y.view(), &labels, clusters)).collect::<Vec<_>>())
    };
    let mut by_layer = vec![snr(&heads)];
    for _ in 0..layers {
        layer.apply_coefficients(&mut heads)?;
        by_layer.push(snr(&heads));
    }
    Ok(by_layer)
}
