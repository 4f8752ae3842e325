//! Gradient flow need not find the global minimum: beside the notes' first theorem.

use super::lsa_setting::{covariance, dense_start, training_schema, validate};
use super::*;
use crate::dynamics::flow::{Flow, Method};
use crate::dynamics::lsa::Full;
use crate::linalg::symmetric_eigen;
use crate::theory::lsa::{Training, Weights};
use crate::witness;
use ndarray::{Array1, Array2};

/// From weights near u = 0, B = 0, vcᵀ = e₁e₁ᵀ/γ₁ the flow returns there.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalMinimum {
    point: Point,
}

/// Near which stationary point.
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
    fn weights(self, training: &Training) -> Weights {
        let values = training.covariance().values();
        let order = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let axes = || 0..training.dim();
        let axis = match self {
            Point::First => axes().max_by(order),
            Point::Last => axes().min_by(order),
            Point::Origin => None,
        };
        let mut weights = Weights::zeros(training.dim());
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
fn least_curvature(training: &Training, point: &Weights) -> Result<f64> {
    let (d, flat) = (training.dim(), point.to_vec());
    // The cube root of the rounding error, for weights of order 1.
    let h = f64::EPSILON.cbrt();
    let mut second = Array2::zeros((flat.len(), flat.len()));
    for (i, mut column) in second.columns_mut().into_iter().enumerate() {
        for side in [1.0, -1.0] {
            let mut shifted = flat.clone();
            shifted[i] += side * h;
            let gradient = training.gradient(&Weights::of_slice(d, &shifted)).to_vec();
            column.scaled_add(0.5 * side / h, &Array1::from(gradient));
        }
    }
    let symmetric = (&second + &second.t()) * 0.5;
    let along = Weights {
        v: point.v.clone(),
        c: -&point.c,
        ..Weights::zeros(d)
    };
    let along = Array2::from_shape_vec((flat.len(), 1), along.to_vec())
        .map_err(|e| Error::Numerical(format!("second derivative: {e}")))?;
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
    fn card(&self) -> Card {
        Card {
            id: "lsa.local_minimum",
            paper: Paper::Notes,
            equation: "beside the first theorem",
            title: "There are strict local minima: \"suitable\" is needed",
            statement: "For a suitable random init, GF converges to a global min of $L(\\theta)$. (Not for \
                        every init: at $u = 0$, $B = 0$, $vc^T = e_1e_1^T/\\gamma_1$, with $e_1$ the axis of \
                        the largest eigenvalue, L has a local minimum that is not global when N is small.)",
            kind: Kind::Existence,
            expected: VerdictKind::Supported,
            corrected: Some(
                "Growing $uB$ lowers the odd part at the second order only, where the part of the \
                 prediction even in the labels, at the strength of v and c, costs more. That cost falls \
                 with N: at the defaults every Λ has a minimum there for N = 4, about half of them for \
                 N = 8, and from N = 16 on all have a saddle with one direction down (the mutant \
                 `long-prompts`).",
            ),
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = training_schema(3, 3.0, 4);
        schema.push(Spec::new(
            "perturbation",
            Domain::POSITIVE,
            0.01,
            "standard deviation of every weight around the point",
        ));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        if params.usize("dim") > MOST_DIM {
            let allowed = format!(
                "at most {MOST_DIM}: the second derivative has (1 + 2 dim + dim²)² entries"
            );
            return Err(Error::invalid("dim", params.usize("dim"), allowed));
        }
        if params.usize("dim") < 2 {
            let allowed = "at least 2: in one dimension a matrix of rank one is all there is";
            return Err(Error::invalid("dim", params.usize("dim"), allowed));
        }
        validate(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Training::new(covariance(params, streams)?, params.usize("N"), 0.0)?;
        let d = training.dim();
        let point = self.point.weights(&training);
        let noise = dense_start(d, params.f64("perturbation"), streams).to_vec();
        let start: Vec<f64> = point
            .to_vec()
            .iter()
            .zip(&noise)
            .map(|(p, e)| p + e)
            .collect();
        let path = Flow::new(Method::Bdf).run(&Full(&training), &start, &[UNTIL])?;
        let end = Weights::of_slice(d, path.end());
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
                "loss_gap_of_predicting_0" => training.excess(&Weights::zeros(d)),
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
            Mutant::new(
                "smallest-axis",
                "the same at the smallest eigenvalue",
                near(Point::Last),
            ),
            Mutant::new(
                "origin",
                "the flow returns to weights 0",
                near(Point::Origin),
            ),
            Mutant::new("long-prompts", "the same at N = 1000", *self).at("N", 1000),
        ]
    }
}
