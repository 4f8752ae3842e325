//! Eq. (9): the training loss of regression in context.
//!
//! A trial evaluates the display and the mean over all prefixes for least squares of least norm on one prompt: the
//! difference is a share 1/N of the loss at the last query, which vanishes only once N > d.

use crate::quantities::*;
use attnlab_lab::prelude::*;
use rand_distr::{Distribution, StandardNormal};

/// (1/N) Σ_{i<N} of the squared errors is their mean over all N prefixes.
#[derive(Default, Serialize, Deserialize)]
pub struct Eq9 {
    /// Divided by N - 1.
    fewer: bool,
}

/// Rounding errors that the squared error of one query may carry, in units of dε times the largest square.
const ROUNDINGS: f64 = 64.0;

/// Squared errors of least squares of least norm at the queries of one prompt of a linear function.
fn squared_errors(points: usize, dim: usize, streams: &Streams) -> Vec<f64> {
    let mut rng = streams.part("prompt", 0);
    let mut normals =
        || -> Vec<f64> { (0..dim).map(|_| Distribution::<f64>::sample(&StandardNormal, &mut rng)).collect() };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
    // The part of w outside the span of the queries seen: what the predictor does not know.
    let mut unknown = normals();
    let mut span: Vec<Vec<f64>> = vec![];
    let mut errors = vec![];
    for _ in 0..points {
        let mut x = normals();
        errors.push(dot(&unknown, &x).powi(2));
        if span.len() == dim {
            continue;
        }
        // Twice, so that the basis stays orthogonal to rounding.
        for q in span.iter().chain(span.iter()) {
            let share = dot(q, &x);
            x.iter_mut().zip(q).for_each(|(x, q)| *x -= share * q);
        }
        let length = dot(&x, &x).sqrt();
        x.iter_mut().for_each(|x| *x /= length);
        let share = dot(&x, &unknown);
        unknown.iter_mut().zip(&x).for_each(|(w, q)| *w -= share * q);
        span.push(x);
    }
    errors
}

impl Claim for Eq9 {
    from_sheet!("aot.eq9");

    fn schema(&self) -> Schema {
        vec![POINTS.within(Domain::Whole(2, 2000)).or(20), INPUT_DIM.within(Domain::Whole(1, 2000)).or(20)]
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        // Least squares knows the function once it has seen d examples.
        if params.get(POINTS) > params.get(INPUT_DIM) { VerdictKind::Supported } else { self.sheet().expected }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (points, dim) = (params.get(POINTS), params.get(INPUT_DIM));
        let errors = squared_errors(points, dim, streams);
        let count = if self.fewer { points - 1 } else { points } as f64;
        let printed = errors[..points - 1].iter().sum::<f64>() / count;
        let mean = errors.iter().sum::<f64>() / points as f64;
        let largest = errors.iter().fold(0.0_f64, |a, b| a.max(*b));
        let tolerance = ROUNDINGS * f64::EPSILON * dim as f64 * largest;
        let witness = witness! { "printed" => printed, "over_all_prefixes" => mean };
        Ok(Outcome::equal(printed, mean, tolerance, witness))
    }
}
