//! First labels of the tokens, by spectral clustering of their squared correlations.
//!
//! For tokens of one cluster, ⟨z_i, z_j⟩² is on average p_k, and for tokens of two clusters it is of order
//! δ²(p_k + p_l): the matrix of squared correlations has one block per cluster. Its leading eigenvectors are
//! constant on the blocks, up to a rotation that pivoted QR finds without restarts (Damle, Minden, Ying 2019).

use crate::measure::unit_tokens;
use attnlab_core::error::Result;
use attnlab_core::linalg::{product, symmetric_eigen};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};

/// Steps of Lloyd's algorithm after the pivots.
const LLOYD: usize = 20;

/// Computes the `most` leading eigenvectors, largest eigenvalue first, of the normalised matrix of squared
/// correlations of tokens (r, m): an array (m, most).
///
/// # Errors
/// If the eigenvalue iteration does not converge.
pub fn embedding(tokens: ArrayView2<f64>, most: usize) -> Result<Array2<f64>> {
    let unit = unit_tokens(tokens);
    let mut affinity = product(unit.t(), unit.view());
    affinity.mapv_inplace(|c| c * c);
    // Without the diagonal, which is 1 for every token and says nothing about clusters.
    affinity.diag_mut().fill(0.0);
    let root = |sum: f64| if sum > 0.0 { sum.sqrt().recip() } else { 0.0 };
    let roots: Array1<f64> = affinity.sum_axis(Axis(1)).mapv(root);
    affinity *= &roots;
    affinity *= &roots.insert_axis(Axis(1));
    let (values, vectors) = symmetric_eigen(affinity.view())?;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    order.truncate(most);
    Ok(vectors.select(Axis(1), &order))
}

/// Labels tokens in `clusters` groups from the leading eigenvectors of [`embedding`].
pub fn labels(embedding: ArrayView2<f64>, clusters: usize) -> Vec<usize> {
    let rows = embedding.slice(s![.., ..clusters.min(embedding.ncols())]);
    // Rows of length 1: the length of a row says how typical its token is, not where it belongs.
    let points = unit_tokens(rows.t());
    let mut centres = points.select(Axis(1), &pivots(rows, clusters));
    let mut labels = vec![0; points.ncols()];
    for _ in 0..LLOYD {
        let next: Vec<usize> = points.columns().into_iter().map(|point| nearest(point, centres.view())).collect();
        let done = next == labels;
        labels = next;
        if done {
            break;
        }
        let mut sums = Array2::<f64>::zeros(centres.dim());
        for (point, label) in points.columns().into_iter().zip(&labels) {
            let mut sum = sums.column_mut(*label);
            sum += &point;
        }
        // A cluster that lost all its tokens keeps its centre.
        for (mut centre, sum) in centres.columns_mut().into_iter().zip(sums.columns()) {
            let length = sum.dot(&sum).sqrt();
            if length > 0.0 {
                centre.assign(&(&sum / length));
            }
        }
    }
    labels
}

/// Returns the rows that pivoted QR of the transpose takes first: each has the largest part outside the span
/// of those before it.
fn pivots(rows: ArrayView2<f64>, clusters: usize) -> Vec<usize> {
    let mut rest = rows.to_owned();
    let mut pivots = vec![];
    for _ in 0..clusters {
        let lengths = rest.map_axis(Axis(1), |row| row.dot(&row));
        let best = (0..lengths.len()).max_by(|a, b| lengths[*a].total_cmp(&lengths[*b])).unwrap_or(0);
        pivots.push(best);
        if lengths.get(best).is_some_and(|l| *l > 0.0) {
            let direction = &rest.row(best) / lengths[best].sqrt();
            let along = rest.dot(&direction).insert_axis(Axis(1));
            rest -= &(along * &direction.insert_axis(Axis(0)));
        }
    }
    pivots
}

fn nearest(point: ArrayView1<f64>, centres: ArrayView2<f64>) -> usize {
    let along: Vec<f64> = centres.columns().into_iter().map(|c| c.dot(&point)).collect();
    (0..along.len()).max_by(|a, b| along[*a].total_cmp(&along[*b])).unwrap_or(0)
}
