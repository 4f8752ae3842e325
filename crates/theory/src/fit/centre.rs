//! Mean of tokens beside a mixture.

use super::model::{FINE, alternate};
use super::{Options, search};
use attnlab_core::error::Result;
use ndarray::{Array1, Array2, ArrayView2, Axis, CowArray, Ix2};

/// Takes the mean of all tokens Z (d, N) away if `centre`, and returns it beside the others.
pub(super) fn centred(tokens: ArrayView2<'_, f64>, centre: bool) -> (CowArray<'_, f64, Ix2>, Option<Array1<f64>>) {
    match tokens.mean_axis(Axis(1)).filter(|_| centre) {
        Some(mean) => ((&tokens - &mean.view().insert_axis(Axis(1))).into(), Some(mean)),
        None => (tokens.into(), None),
    }
}

/// Times that a mean and the model beside it are estimated in turn, at most.
const ROUNDS: usize = 4;
/// Square of a mean, relative to that of its own standard error, at which the rounds end.
const NO_MEAN: f64 = 1e-4;

/// Takes the mean of tokens (r, N) away that the mean of all of them has left, and returns it. That mean is off by the
/// signal's over √N, which is noise where the other clusters have none: it is found from a model of the clusters.
/// The search begins with the first tokens of `order`, a random one: files often have theirs sorted by cluster.
pub(super) fn shift(x: &mut Array2<f64>, order: &[usize], options: &Options, tick: &dyn Fn()) -> Result<Array1<f64>> {
    let mut shift = Array1::zeros(x.nrows());
    let mut labelled = search(x.select(Axis(1), order).view(), options, tick)?.best;
    for _ in 0..ROUNDS {
        let (labels, _) = labelled.model.assign(x.view());
        let mean = labelled.model.mean(x.view(), &labels);
        *x -= &mean.view().insert_axis(Axis(1));
        shift += &mean;
        let error = labelled.model.noise * x.nrows() as f64 / x.ncols() as f64;
        if mean.dot(&mean) <= NO_MEAN * error {
            break;
        }
        // K stays; labels, dimensions and bases follow the tokens without that mean.
        match alternate(x.view(), labels, labelled.model.dims.len(), FINE)? {
            Some(next) => labelled = next,
            None => break,
        }
    }
    Ok(shift)
}
