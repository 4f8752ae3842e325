//! Gradient flow need not find the global minimum: beside the notes' first theorem.

use super::setting::{covariance, dense_start, training_schema, validate};
use crate::dynamics::Full;
use crate::quantities::{CONTEXT, DIM, PERTURBATION};
use crate::theory::{LsaWeights, Pretraining};
use attnlab_core::linalg::symmetric_eigen;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method};
use ndarray::{Array1, Array2};

/// From weights near u = 0, B = 0, vcᵀ = e₁e₁ᵀ/γ₁ the flow returns there.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalMinimum {
    point: Point,
}

/// The stationary point near which the flow starts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Point {
    /// vcᵀ along the axis of the largest eigenvalue.
    #[default]
    First,
    /// vcᵀ along the axis of the smallest.
    Last,
    /// All weights 0.
    Origin,
}

impl Point {
    fn weights(self, training: &Pretraining) -> LsaWeights {
        let values = training.covariance().values();
        let order = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let axes = || 0..training.dim();
        let axis = match self {
            Point::First => axes().max_by(order),
            Point::Last => axes().min_by(order),
            Point::Origin => None,
        };
        let mut weights = LsaWeights::zeros(training.dim());
        if let Some(i) = axis {
            // Balanced: |v|² = |c|², as the flow from small weights leaves them.
            let size = training.gamma()[i].powf(-0.5);
            (weights.v[i], weights.c[i]) = (size, size);
        }
        weights
    }
}

/// 676 weights: their second derivative takes a second or two.
const MOST_DIM: usize = 25;

/// The least eigenvalue of the second derivative of L at a stationary point, by central differences of the
/// gradient, but for the direction (v, -c) along which L is constant: $vc^T$ does not change.
fn least_curvature(training: &Pretraining, point: &LsaWeights) -> Result<f64> {
    let (d, flat) = (training.dim(), point.to_vec());
    // The cube root of the rounding error, for weights of order 1.
    let h = f64::EPSILON.cbrt();
    let mut second = Array2::zeros((flat.len(), flat.len()));
    for (i, mut column) in second.columns_mut().into_iter().enumerate() {
        for side in [1.0, -1.0] {
            let mut shifted = flat.clone();
            shifted[i] += side * h;
            let gradient = training
                .gradient(&LsaWeights::of_slice(d, &shifted))
                .to_vec();
            column.scaled_add(0.5 * side / h, &Array1::from(gradient));
        }
    }
    let symmetric = (&second + &second.t()) * 0.5;
    let along = LsaWeights {
        v: point.v.clone(),
        c: -&point.c,
        ..LsaWeights::zeros(d)
    };
    let along = Array2::from_shape_vec((flat.len(), 1), along.to_vec())
        .map_err(|e| Error::undefined(format!("second derivative: {e}")))?;
    let norm = along.iter().map(|x| x * x).sum::<f64>();
    // Any curvature above the others' least will do for that direction: those of order 1 are there.
    let lifted = if norm > 0.0 {
        symmetric + along.dot(&along.t()) / norm
    } else {
        symmetric
    };
    let (values, _) = symmetric_eigen(lifted.view())?;
    Ok(values.iter().copied().fold(f64::INFINITY, f64::min))
}

/// Time of the flow. The slowest rates at the defaults are some hundredths.
const UNTIL: f64 = 3000.0;

impl Claim for LocalMinimum {
    fn sheet(&self) -> &'static Sheet {
        sheet!("lsa.local_minimum")
    }

    fn schema(&self) -> Schema {
        let mut schema = training_schema(3, 3.0, 4);
        schema.push(PERTURBATION.or(0.01));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        if params.get(DIM) > MOST_DIM {
            let allowed = format!(
                "must be at most {MOST_DIM}; the second derivative has (1 + 2 dim + dim²)² entries"
            );
            return Err(Error::invalid(DIM.name, params.get(DIM), allowed));
        }
        if params.get(DIM) < 2 {
            let allowed =
                "must be at least 2; in one dimension a matrix of rank one is all there is";
            return Err(Error::invalid(DIM.name, params.get(DIM), allowed));
        }
        validate(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Pretraining::new(covariance(params, streams)?, params.get(CONTEXT), 0.0)?;
        let d = training.dim();
        let point = self.point.weights(&training);
        let noise = dense_start(d, params.get(PERTURBATION), streams).to_vec();
        let start: Vec<f64> = point
            .to_vec()
            .iter()
            .zip(&noise)
            .map(|(p, e)| p + e)
            .collect();
        let path = Flow::new(Method::Bdf).run(&Full(&training), &start, &[UNTIL])?;
        let end = LsaWeights::of_slice(d, path.end());
        let (there, here) = (training.excess(&point), training.excess(&end));
        // At the point the gradient vanishes, so that a converged flow has its loss to the second
        // order of what is left of the perturbation.
        let returned = (here - there).abs() <= 1e-6 * there;
        let curvature = least_curvature(&training, &point)?;
        // Differences of the gradient are good to 1e-9; curvatures at the defaults are a hundredth.
        let strict = curvature > 1e-7;
        Ok(Outcome::Event {
            holds: strict && returned && training.gradient(&end).norm2() < 1e-12,
            witness: witness! {
                "least_curvature_at_the_point" => curvature,
                "flow_returned" => returned,
                "loss_gap_at_the_point" => there,
                "loss_gap_at_the_end" => here,
                "loss_gap_of_predicting_0" => training.excess(&LsaWeights::zeros(d)),
                "squared_gradient_at_the_end" => training.gradient(&end).norm2(),
                "steps" => path.steps,
            },
        })
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        10
    }

    fn mutants(&self) -> Vec<Mutant> {
        let near = |point| LocalMinimum { point };
        vec![
            Mutant::new("smallest-axis", near(Point::Last)),
            Mutant::new("origin", near(Point::Origin)),
            Mutant::new("long-prompts", *self).with(CONTEXT, 1000),
        ]
    }
}
