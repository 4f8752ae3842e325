//! Parameters, random covariances and initial weights that the claims on linear self-attention share.

use crate::quantities::{CONDITION, CONTEXT, DIM};
use crate::theory::{Covariance, LsaWeights, Pretraining};
use attnlab_core::linalg::{haar_basis, normal_matrix};
use attnlab_lab::prelude::*;
use rand::RngExt;

/// The parameters d, condition number of Λ and N, with these defaults, and `more`.
pub(super) fn training_schema(dim: u64, condition: f64, context: u64, more: impl IntoIterator<Item = Spec>) -> Schema {
    [DIM.or(dim), CONDITION.or(condition), CONTEXT.or(context)].into_iter().chain(more).collect()
}

/// Refuses a condition number that one dimension cannot have.
pub(super) fn validate(params: &Params) -> Result<()> {
    let condition = params.get(CONDITION);
    require(params.get(DIM) > 1 || condition <= 1.0, CONDITION.name, condition, "must be 1 when dim = 1")
}

/// Multiplications in a second on one core, drawing the numbers included: measured at the default sizes, for
/// [`Claim::seconds`].
pub(super) const PER_SECOND: f64 = 2e8;

/// Trials after which a measured risk over the claimed one is known to within 1 % for M examples: with few
/// examples it scatters four times as much in variance.
pub(super) fn trials_of_ratio(examples: usize) -> u64 {
    if examples < 20 { 160 } else { 40 }
}

/// A random Λ with largest eigenvalue 1 and the given condition number.
pub(super) fn covariance(params: &Params, streams: &Streams) -> Result<Covariance> {
    let (d, condition) = (params.get(DIM), params.get(CONDITION));
    let mut rng = streams.part("covariance", 0);
    let mut value = |i: usize| match i {
        0 => 1.0,
        1 => 1.0 / condition,
        _ => condition.powf(-rng.random::<f64>()),
    };
    let values: Vec<f64> = (0..d).map(&mut value).collect();
    Covariance::with_axes(&values, haar_basis(d, d, &mut streams.part("axes", 0))?)
}

/// The theorem's initial weights with a normal Θ, in the principal axes of Λ.
pub(super) fn theorem_start(training: &Pretraining, scale: f64, streams: &Streams) -> Result<LsaWeights> {
    let d = training.dim();
    let theta = normal_matrix(d, d, &mut streams.part("theta", 0));
    Ok(LsaWeights::theorem(scale, theta.view())?.rotated(training.covariance().axes().view()))
}

/// Every weight that matters independent normal of standard deviation `scale`; in any axes.
pub(super) fn dense_start(d: usize, scale: f64, streams: &Streams) -> LsaWeights {
    let flat = normal_matrix(1, LsaWeights::len_of(d), &mut streams.part("weights", 0)) * scale;
    LsaWeights::of_slice(d, &flat.into_raw_vec_and_offset().0)
}

/// A task of independent normals.
pub(super) fn normal_task(d: usize, streams: &Streams) -> ndarray::Array1<f64> {
    normal_matrix(d, 1, &mut streams.part("task", 0)).column(0).to_owned()
}
