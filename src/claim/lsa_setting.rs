//! What the claims on linear self-attention share: parameters and random covariances.

use super::{Domain, Params, Spec};
use crate::error::{Error, Result};
use crate::linalg::{haar_basis, normal_matrix};
use crate::rng::Streams;
use crate::theory::lsa::{Covariance, Training, Weights};
use rand::RngExt;

/// Dimensions beyond this make one trial longer than anybody waits for.
const MOST_DIM: u64 = 500;

/// d, the condition number of Λ and N.
pub(super) fn training_schema(dim: u64, condition: f64, context: u64) -> Vec<Spec> {
    let whole = |high| Domain::Whole(1, high);
    let from_one = Domain::Number {
        low: 1.0,
        low_in: true,
        high: f64::INFINITY,
        high_in: false,
    };
    vec![
        Spec::new("dim", whole(MOST_DIM), dim, "d, dimension of the inputs"),
        Spec::new(
            "condition",
            from_one,
            condition,
            "condition number of Λ: eigenvalues from 1/condition to 1, log-uniform between, on \
             random axes",
        ),
        Spec::new(
            "N",
            whole(1 << 53),
            context,
            "examples in a training prompt",
        ),
    ]
}

/// σ, the scale of the initial weights.
pub(super) fn scale_spec(scale: f64) -> Spec {
    Spec::new(
        "scale",
        Domain::POSITIVE,
        scale,
        "σ, scale of the initial weights",
    )
}

/// Refuses a condition number that one dimension cannot have.
pub(super) fn validate(params: &Params) -> Result<()> {
    if params.usize("dim") == 1 && params.f64("condition") > 1.0 {
        let allowed = "1, where dim is 1";
        return Err(Error::invalid(
            "condition",
            params.f64("condition"),
            allowed,
        ));
    }
    Ok(())
}

/// A random Λ with largest eigenvalue 1 and the given condition number.
pub(super) fn covariance(params: &Params, streams: &Streams) -> Result<Covariance> {
    let (d, condition) = (params.usize("dim"), params.f64("condition"));
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
pub(super) fn theorem_start(training: &Training, scale: f64, streams: &Streams) -> Result<Weights> {
    let d = training.dim();
    let theta = normal_matrix(d, d, &mut streams.part("theta", 0));
    let start = Weights::theorem(scale, theta.view())?;
    Ok(start.rotated(training.covariance().axes().view()))
}

/// Every weight that matters independent normal of standard deviation `scale`; in any axes.
pub(super) fn dense_start(d: usize, scale: f64, streams: &Streams) -> Weights {
    let flat = normal_matrix(1, Weights::len_of(d), &mut streams.part("weights", 0)) * scale;
    Weights::of_slice(d, &flat.into_raw_vec_and_offset().0)
}

/// A task of independent normals.
pub(super) fn normal_task(d: usize, streams: &Streams) -> ndarray::Array1<f64> {
    normal_matrix(d, 1, &mut streams.part("task", 0))
        .column(0)
        .to_owned()
}
