//! Controls: arrays that lack what the theory speaks of and keep the rest.

use attnlab_core::linalg::{normal_matrix, product, symmetric_eigen};
use attnlab_lab::prelude::*;
use ndarray::{Array2, ArrayView2};
use rand::seq::SliceRandom;

/// Every coordinate in a random order of its own over the tokens: the marginal laws stay, the structure goes.
pub(super) fn permuted(tokens: ArrayView2<f64>, streams: &Streams) -> Array2<f64> {
    let mut permuted = tokens.to_owned();
    for (i, mut row) in permuted.rows_mut().into_iter().enumerate() {
        let mut values = row.to_vec();
        values.shuffle(&mut streams.part("row", i as u64));
        row.assign(&ndarray::ArrayView1::from(&values));
    }
    permuted
}

/// Normal tokens with the second moments of the given ones.
pub(super) fn gaussian(tokens: ArrayView2<f64>, streams: &Streams) -> Result<Array2<f64>> {
    let (d, n) = tokens.dim();
    let moments = product(tokens, tokens.t()) / n as f64;
    let (values, vectors) = symmetric_eigen(moments.view())?;
    // Rounding leaves small numbers where the tokens have nothing.
    let least = 1e-14 * values.iter().copied().fold(0.0, f64::max);
    let scaled = &vectors * &values.map(|v| if *v > least { v.sqrt() } else { 0.0 });
    let normal = normal_matrix(d, n, &mut streams.part("tokens", 0));
    Ok(product(scaled.view(), normal.view()))
}

/// Labels in random order.
pub(super) fn shuffled(labels: &[usize], streams: &Streams) -> Vec<usize> {
    let mut labels = labels.to_vec();
    labels.shuffle(&mut streams.part("order", 0));
    labels
}
