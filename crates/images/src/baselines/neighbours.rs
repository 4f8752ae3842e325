//! k nearest neighbours.

use super::{check, check_finite, check_length};
use attnlab_core::error::{Result, require};
use ndarray::{Array2, ArrayView1, ArrayView2};
use rayon::prelude::*;

/// Classifier by the majority of the k nearest training images in Euclidean distance.
///
/// Neighbours are ordered by distance, and at equal distance by their index, the smaller first. Among classes with equal
/// numbers of votes the smallest label wins, as in scikit-learn, whose choice at equal distance is not specified.
/// Distances are sums of squares in f64, exact for features that are whole numbers up to 2²⁰ or small multiples of a power
/// of two.
#[derive(Clone, Debug)]
pub struct NearestNeighbours {
    /// Training images as rows (N, d), contiguous.
    rows: Array2<f32>,
    labels: Vec<usize>,
    classes: usize,
    k: usize,
}

impl NearestNeighbours {
    /// Keeps the training images, columns of `features` (d, N).
    ///
    /// # Errors
    /// As [`LinearClassifier::fit`](super::LinearClassifier::fit), of features and labels; k outside 1 to N.
    pub fn new(features: ArrayView2<f32>, labels: &[usize], classes: usize, k: usize) -> Result<Self> {
        check(features.ncols(), labels, classes)?;
        check_finite(features)?;
        let requirement = format!("must be from 1 to the number of training images, {}", labels.len());
        require((1..=labels.len()).contains(&k), "k", k, requirement)?;
        let rows = features.t().as_standard_layout().into_owned();
        Ok(NearestNeighbours { rows, labels: labels.to_vec(), classes, k })
    }

    /// Predicts the label of every column of `features` (d, M), in parallel.
    ///
    /// # Errors
    /// As [`LinearClassifier::predict`](super::LinearClassifier::predict).
    pub fn predict(&self, features: ArrayView2<f32>) -> Result<Vec<usize>> {
        check_length(features.dim(), self.rows.ncols())?;
        check_finite(features)?;
        let rows = features.t().as_standard_layout().into_owned();
        Ok(rows.outer_iter().into_par_iter().map(|row| self.vote(row)).collect())
    }

    fn vote(&self, query: ArrayView1<f32>) -> usize {
        let distance = |(i, row): (usize, ArrayView1<f32>)| (squared_distance(row, query), i);
        let mut nearest: Vec<(f64, usize)> = self.rows.outer_iter().enumerate().map(distance).collect();
        if self.k < nearest.len() {
            let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            nearest.select_nth_unstable_by(self.k - 1, order);
        }
        let mut votes = vec![0; self.classes];
        for (_, i) in &nearest[..self.k] {
            votes[self.labels[*i]] += 1;
        }
        let most = votes.iter().max().copied().unwrap_or(0);
        votes.iter().position(|count| *count == most).unwrap_or(0)
    }
}

/// Number of partial sums, so that the processor adds several at once; the order of additions is fixed.
const LANES: usize = 8;

fn squared_distance(a: ArrayView1<f32>, b: ArrayView1<f32>) -> f64 {
    let square = |x: &f32, y: &f32| (f64::from(*x) - f64::from(*y)).powi(2);
    let (Some(a), Some(b)) = (a.as_slice(), b.as_slice()) else {
        return a.iter().zip(b).map(|(x, y)| square(x, y)).sum();
    };
    let mut sums = [0.0; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += square(&x[lane], &y[lane]);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| square(x, y)).sum();
    sums.iter().sum::<f64>() + rest
}
