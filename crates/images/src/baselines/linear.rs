//! Multinomial logistic regression with ridge.
//!
//! The objective is convex and, with λ > 0, has one minimum but for a common shift of the intercepts; Newton's method
//! with conjugate gradients for its steps needs a dozen of them, each product with the Hessian two products of matrices.
//! It is written here because it is shorter than the adapter to a crate of optimisers would be, which brings line
//! searches and checkpoints that a convex problem of this size has no use for.

use super::{check, check_finite, check_length};
use attnlab_core::error::{Error, Result, positive};
use attnlab_core::linalg::product;
use ndarray::{Array1, Array2, ArrayView2, Axis, Zip, s};

/// Settings of the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitSettings {
    /// λ > 0, ridge: the objective is the mean cross-entropy (nats) + λ/2 ‖W‖², intercepts free. scikit-learn's C is
    /// 1 / (λ N).
    pub ridge: f64,
    /// Largest entry of the gradient at which the fit ends, in absolute value.
    pub tolerance: f64,
    /// Largest number of Newton steps.
    pub steps: usize,
}

impl FitSettings {
    /// Returns the settings with this ridge, a tolerance of 1e-8 and at most 100 steps.
    pub fn with_ridge(ridge: f64) -> Self {
        FitSettings { ridge, tolerance: 1e-8, steps: 100 }
    }
}

/// Linear classifier: the scores of an image x are W x + b.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearClassifier {
    /// (classes, d + 1): W, and b as the last column.
    weights: Array2<f64>,
}

/// Largest number of conjugate gradients for a step.
const MAX_GRADIENTS: usize = 500;

/// Largest number of halvings of a step.
const MAX_HALVINGS: usize = 40;

/// Share of the decrease along the slope that a step must reach (Armijo).
const SUFFICIENT: f64 = 1e-4;

/// Rounding error of the objective relative to its size: within it two values count as equal.
const ROUNDING: f64 = 1e-14;

impl LinearClassifier {
    /// Fits weights to training images, columns of `features` (d, N), and their labels.
    ///
    /// # Errors
    /// [`Error::Shape`] for other numbers of labels than of columns; [`Error::Invalid`] for features that are not finite,
    /// a label that is not below `classes`, or settings out of range; [`Error::NotConverged`] when the gradient stays
    /// above the tolerance.
    pub fn fit(features: ArrayView2<f32>, labels: &[usize], classes: usize, settings: FitSettings) -> Result<Self> {
        check(features.ncols(), labels, classes)?;
        check_finite(features)?;
        positive("ridge", settings.ridge)?;
        positive("tolerance", settings.tolerance)?;
        let problem = Problem { x: extended(features), labels, ridge: settings.ridge };
        let mut weights = Array2::zeros((classes, features.nrows() + 1));
        let mut state = problem.evaluate(&weights);
        let mut largest = state.largest();
        for _ in 0..settings.steps {
            if largest <= settings.tolerance {
                break;
            }
            let Some(next) = problem.search(&weights, &state, &problem.newton_step(&state)) else { break };
            (weights, state) = next;
            largest = state.largest();
        }
        if largest <= settings.tolerance {
            // A common shift of the intercepts changes nothing; the one without a mean is reported.
            let mut intercepts = weights.column_mut(features.nrows());
            let mean = intercepts.sum() / classes as f64;
            intercepts -= mean;
            return Ok(LinearClassifier { weights });
        }
        Err(Error::not_converged(format!(
            "largest entry of the gradient = {largest:e}: must be at most {:e} after {} steps. Write a larger ridge or \
             tolerance, or more steps",
            settings.tolerance, settings.steps
        )))
    }

    /// Predicts the class with the largest score for every column of `features` (d, M); at equal scores the smallest
    /// label.
    ///
    /// # Errors
    /// [`Error::Shape`] for features of another length; [`Error::Invalid`] for those that are not finite.
    pub fn predict(&self, features: ArrayView2<f32>) -> Result<Vec<usize>> {
        let scores = self.scores(features)?;
        let best = |column: ndarray::ArrayView1<f64>| {
            column.iter().enumerate().fold(0_usize, |best, (c, score)| if *score > column[best] { c } else { best })
        };
        Ok(scores.columns().into_iter().map(best).collect())
    }

    /// Computes the scores (classes, M) of every column of `features` (d, M).
    ///
    /// # Errors
    /// As [`LinearClassifier::predict`].
    pub fn scores(&self, features: ArrayView2<f32>) -> Result<Array2<f64>> {
        check_length(features.dim(), self.weights.ncols() - 1)?;
        check_finite(features)?;
        Ok(product(self.weights.view(), extended(features).view()))
    }

    /// Returns the weights (classes, d + 1); the last column has the intercepts, whose sum is 0.
    pub fn weights(&self) -> ArrayView2<'_, f64> {
        self.weights.view()
    }
}

/// Adds a row of ones.
fn extended(features: ArrayView2<f32>) -> Array2<f64> {
    let (d, n) = features.dim();
    let mut values = Array2::ones((d + 1, n));
    values.slice_mut(s![..d, ..]).assign(&features.mapv(f64::from));
    values
}

/// The objective.
struct Problem<'a> {
    /// (d + 1, N).
    x: Array2<f64>,
    labels: &'a [usize],
    ridge: f64,
}

/// Value, gradient (classes, d + 1) and probabilities (classes, N) at some weights.
struct Point {
    value: f64,
    gradient: Array2<f64>,
    probabilities: Array2<f64>,
}

impl Point {
    fn largest(&self) -> f64 {
        self.gradient.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
    }
}

impl Problem<'_> {
    fn count(&self) -> f64 {
        self.labels.len() as f64
    }

    fn evaluate(&self, weights: &Array2<f64>) -> Point {
        let mut probabilities = product(weights.view(), self.x.view());
        let mut value = 0.0;
        for (mut column, label) in probabilities.columns_mut().into_iter().zip(self.labels) {
            let most = column.iter().fold(f64::NEG_INFINITY, |most, x| most.max(*x));
            value -= column[*label] - most;
            column.mapv_inplace(|x| (x - most).exp());
            let sum = column.sum();
            value += sum.ln();
            column /= sum;
        }
        let mut residuals = probabilities.clone();
        for (mut column, label) in residuals.columns_mut().into_iter().zip(self.labels) {
            column[*label] -= 1.0;
        }
        let mut gradient = product(residuals.view(), self.x.t()) / self.count();
        let squares = self.add_ridge(&mut gradient, weights);
        Point { value: value / self.count() + 0.5 * self.ridge * squares, gradient, probabilities }
    }

    /// Adds λ W to a gradient, without intercepts; returns ‖W‖².
    fn add_ridge(&self, gradient: &mut Array2<f64>, weights: &Array2<f64>) -> f64 {
        let without = s![.., ..weights.ncols() - 1];
        let w = weights.slice(without);
        gradient.slice_mut(without).scaled_add(self.ridge, &w);
        w.iter().map(|x| x * x).sum()
    }

    /// Multiplies the Hessian by a direction (classes, d + 1).
    fn hessian(&self, state: &Point, direction: &Array2<f64>) -> Array2<f64> {
        let mut moved = product(direction.view(), self.x.view());
        moved *= &state.probabilities;
        let means: Array1<f64> = moved.sum_axis(Axis(0));
        for ((mut column, p), mean) in moved.columns_mut().into_iter().zip(state.probabilities.columns()).zip(&means) {
            column.scaled_add(-mean, &p);
        }
        let mut made = product(moved.view(), self.x.t()) / self.count();
        self.add_ridge(&mut made, direction);
        made
    }

    /// Computes the diagonal of the Hessian (classes, d + 1), the scale of each weight: pixels at the border hardly vary,
    /// those in the middle do. Intercepts of a class without probability left keep a scale above 0.
    fn diagonal(&self, state: &Point) -> Array2<f64> {
        let variances = state.probabilities.mapv(|p| p * (1.0 - p));
        product(variances.view(), self.x.mapv(|x| x * x).t()) / self.count() + self.ridge
    }

    /// Solves for Newton's step by conjugate gradients, scaled by the diagonal, the more accurately the smaller the gradient
    /// is.
    fn newton_step(&self, state: &Point) -> Array2<f64> {
        let diagonal = self.diagonal(state);
        let mut step: Array2<f64> = Array2::zeros(state.gradient.dim());
        let mut residual = -&state.gradient;
        let mut scaled = &residual / &diagonal;
        let mut direction = scaled.clone();
        let mut squares = dot(&residual, &scaled);
        let norm = dot(&residual, &residual).sqrt();
        let enough = norm * norm.sqrt().min(0.1);
        for _ in 0..MAX_GRADIENTS {
            if dot(&residual, &residual).sqrt() <= enough {
                break;
            }
            let bent = self.hessian(state, &direction);
            let curvature = dot(&direction, &bent);
            if curvature <= 0.0 {
                break;
            }
            let along = squares / curvature;
            step.scaled_add(along, &direction);
            residual.scaled_add(-along, &bent);
            scaled = &residual / &diagonal;
            let next = dot(&residual, &scaled);
            let ratio = next / squares;
            Zip::from(&mut direction).and(&scaled).for_each(|d, r| *d = r + ratio * *d);
            squares = next;
        }
        step
    }

    /// Halves a step until the objective falls by enough; None if it never does.
    fn search(&self, weights: &Array2<f64>, state: &Point, step: &Array2<f64>) -> Option<(Array2<f64>, Point)> {
        let slope = dot(&state.gradient, step);
        let mut along = 1.0;
        for _ in 0..MAX_HALVINGS {
            let next = weights + &(step * along);
            let there = self.evaluate(&next);
            if there.value <= state.value + SUFFICIENT * along * slope + ROUNDING * state.value.abs() {
                return Some((next, there));
            }
            along /= 2.0;
        }
        None
    }
}

fn dot(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
