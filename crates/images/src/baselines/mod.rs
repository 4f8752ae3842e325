//! Classifiers that a network must beat, and their accuracy.
//!
//! Features are matrices (d, N) whose columns are images, as [`flattened`](crate::flattened) makes them.

mod linear;
mod neighbours;

pub use linear::{FitSettings, LinearClassifier};
pub use neighbours::NearestNeighbours;

use crate::dataset::check_label;
use attnlab_core::error::{Error, Result, require_shape};
use attnlab_core::stats::{Estimate, binomial};

/// Computes the share of predictions that equal their labels, with its exact (Clopper-Pearson) interval at `level`.
///
/// # Errors
/// [`Error::Shape`] for other numbers of predictions than of labels; no labels, more than the exact interval allows, a
/// level outside (0, 1).
pub fn top1(predictions: &[usize], labels: &[usize], level: f64) -> Result<Estimate> {
    let expected = format!("({},), one for each label", labels.len());
    require_shape(predictions.len() == labels.len(), "predictions", [predictions.len()], expected)?;
    binomial(predictions.iter().zip(labels).filter(|(p, l)| p == l).count() as u64, labels.len() as u64, level)
}

/// Refuses features and labels that do not belong together.
fn check(columns: usize, labels: &[usize], classes: usize) -> Result<()> {
    let expected = format!("({columns},), one for each column of the features, and at least one");
    require_shape(labels.len() == columns && columns > 0, "labels", [labels.len()], expected)?;
    labels.iter().try_for_each(|label| check_label(*label, classes))
}

/// Refuses features of another length than those of the fit.
fn check_length(dim: (usize, usize), length: usize) -> Result<()> {
    require_shape(dim.0 == length, "features", dim, format!("({length}, N), as long as those of the training part"))
}

/// Refuses features that are NaN or infinite.
fn check_finite(features: ndarray::ArrayView2<f32>) -> Result<()> {
    match features.indexed_iter().find(|(_, x)| !x.is_finite()) {
        Some(((i, j), x)) => Err(Error::invalid(format!("feature[{i}, {j}]"), x, "must be a finite number")),
        None => Ok(()),
    }
}
