//! Gradient flow need not find the global minimum: beside the notes' first theorem.

use super::setting::{covariance, dense_start, training_schema, validate};
use crate::dynamics::{Full, from_scale};
use crate::quantities::{CONDITION, CONTEXT, DIM, PERTURBATION};
use crate::theory::{LsaWeights, Pretraining};
use attnlab_core::linalg::symmetric_eigen;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Method, Watch};
use ndarray::{Array1, Array2};

/// From weights near u = 0, B = 0, vcᵀ = e₁e₁ᵀ/γ₁ the flow returns there.
#[derive(Default, Serialize, Deserialize)]
pub struct LocalMinimum {
    /// Flag of a mutant: vcᵀ lies along the axis of the smallest eigenvalue, not of the largest.
    smallest: bool,
    /// Flag of a mutant: all weights are 0.
    origin: bool,
}

impl LocalMinimum {
    /// The stationary point near which the flow starts.
    fn point(&self, training: &Pretraining) -> LsaWeights {
        let values = training.covariance().values();
        let order = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let axes = 0..training.dim();
        let axis = if self.smallest { axes.min_by(order) } else { axes.max_by(order) };
        let mut weights = LsaWeights::zeros(training.dim());
        if let Some(i) = axis.filter(|_| !self.origin) {
            // Balanced: |v|² = |c|², as the flow from small weights leaves them.
            let size = training.gamma()[i].powf(-0.5);
            (weights.v[i], weights.c[i]) = (size, size);
        }
        weights
    }
}

/// 676 weights: their second derivative takes a second or two.
const MOST_DIM: usize = 25;

/// The second derivative of L. In one weight alone the prediction is linear, so that L is quadratic and a
/// central difference of the gradient exact, for any step: with step 1 only rounding is left.
fn second_derivative(training: &Pretraining, point: &LsaWeights) -> Array2<f64> {
    let (d, flat) = (training.dim(), point.to_vec());
    let mut second = Array2::zeros((flat.len(), flat.len()));
    for (i, mut column) in second.columns_mut().into_iter().enumerate() {
        for side in [1.0, -1.0] {
            let mut shifted = flat.clone();
            shifted[i] += side;
            let gradient = training.gradient(&LsaWeights::of_slice(d, &shifted));
            column.scaled_add(0.5 * side, &Array1::from(gradient.to_vec()));
        }
    }
    (&second + &second.t()) * 0.5
}

/// Adds a curvature along (v, -c), the direction in which vcᵀ and L do not change.
fn lifted(mut second: Array2<f64>, point: &LsaWeights) -> Array2<f64> {
    let along = LsaWeights { v: point.v.clone(), c: -&point.c, ..LsaWeights::zeros(point.dim()) };
    let (along, norm) = (Array1::from(along.to_vec()), along.norm2());
    let most = second.diag().iter().copied().fold(0.0, f64::max);
    if norm > 0.0 {
        for (mut row, a) in second.rows_mut().into_iter().zip(&along) {
            row.scaled_add(a * most / norm, &along);
        }
    }
    second
}

fn least_eigenvalue(matrix: &Array2<f64>) -> Result<f64> {
    let (values, _) = symmetric_eigen(matrix.view())?;
    Ok(values.iter().copied().fold(f64::INFINITY, f64::min))
}

/// The least eigenvalue of a second derivative whose diagonal is scaled to 1. Its sign is that of the least
/// curvature, whatever the sizes of the curvatures; at most 0 where the diagonal is not positive.
fn scaled_curvature(second: &Array2<f64>) -> Result<f64> {
    let diagonal = second.diag().to_owned();
    let least = diagonal.iter().copied().fold(f64::INFINITY, f64::min);
    if least <= 0.0 {
        return Ok(least.min(least_eigenvalue(second)?));
    }
    let root = diagonal.mapv(f64::sqrt);
    let scale = |((i, j), x): ((usize, usize), &f64)| x / (root[i] * root[j]);
    let scaled: Vec<f64> = second.indexed_iter().map(scale).collect();
    let scaled = Array2::from_shape_vec(second.dim(), scaled);
    least_eigenvalue(&scaled.map_err(|e| Error::undefined(format!("second derivative: {e}")))?)
}

/// Scaled curvature that is not told from 0: rounding of 676 × 676 entries of size 1, 676 ε, with room.
const RESOLUTION: f64 = 1e-11;

/// Lifetimes of the slowest mode for which the flow runs. Where all curvatures are at least half of those
/// at the point, the gradient falls by e⁻²⁰ or more in that time.
const LIFETIMES: f64 = 40.0;

/// Factor by which the gradient has fallen where the flow has returned.
const FALL: f64 = 1e-4;

/// Times that the perturbation is divided by 4 until L is convex at the start.
const MOST_SHRINKS: i32 = 20;

/// A start near a strict minimum.
struct Near {
    start: LsaWeights,
    /// Standard deviation of its weights around the point.
    spread: f64,
}

/// Perturbs `point` by normal weights of standard deviation `spread`, or of a 4^-k of it: the largest at which
/// every curvature is still half of the least one at the point, so that the start is in the basin.
fn near(training: &Pretraining, point: &LsaWeights, curvature: f64, spread: f64, streams: &Streams) -> Result<Near> {
    let d = training.dim();
    for k in 0..MOST_SHRINKS {
        let spread = spread * 0.25_f64.powi(k);
        let noise = dense_start(d, spread, streams).to_vec();
        let start: Vec<f64> = point.to_vec().iter().zip(&noise).map(|(p, e)| p + e).collect();
        let start = LsaWeights::of_slice(d, &start);
        if least_eigenvalue(&lifted(second_derivative(training, &start), point))? >= 0.5 * curvature {
            return Ok(Near { start, spread });
        }
    }
    Err(Error::not_converged(format!("no convex neighbourhood was found at a least curvature of {curvature:.1e}")))
}

/// The end of the flow from a start near a strict minimum.
struct Return {
    end: LsaWeights,
    steps: usize,
    /// Flag: the gradient fell, and the end is no farther from the point than twice the start.
    returned: bool,
}

fn returns(training: &Pretraining, point: &LsaWeights, start: &LsaWeights, curvature: f64) -> Result<Return> {
    let d = training.dim();
    let weights = |x: &[f64]| LsaWeights::of_slice(d, x);
    let enough = training.gradient(start).norm2() * FALL * FALL;
    let left = |x: &[f64]| training.gradient(&weights(x)).norm2() - enough;
    let from = start.to_vec();
    let until = LIFETIMES / curvature;
    let flow = from_scale(Method::Bdf, &[point.norm2().sqrt()]);
    let path = flow.watched(&Full(training), &from, &[until], Watch::until(&left))?;
    let away = |x: &[f64]| x.iter().zip(point.to_vec()).map(|(x, p)| (x - p).powi(2)).sum::<f64>().sqrt();
    let stayed = away(path.end()) <= 2.0 * away(&from);
    Ok(Return { end: weights(path.end()), steps: path.steps, returned: path.event.is_some() && stayed })
}

/// The curvature by u at the point, over the one that the even part alone has there, for eigenvalues `values`
/// of which the first is the largest and belongs to the point; B is chosen best. Negative at a saddle.
///
/// Near the point L is, to the second order in u and the diagonal of B, half the mean square of the even part,
/// a quadratic form Q by the [module](crate::theory)'s formulas, less $u\sum_{i\ge2}\lambda_i^2B_{ii}$, and all
/// other weights have positive curvature.
fn margin(values: &[f64], context: f64) -> Result<f64> {
    let (n, d) = (context, values.len());
    let tau: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|l| l * l).sum();
    let first = values[0];
    // s² = vᵢcᵢ = 1/γ_1 at the point.
    let s2 = 1.0 / ((1.0 + 1.0 / n) * first + tau / n);
    let (z2, vz) = (s2 * first * first, s2 * first);
    let kappa = (1.0 + 2.0 / n) * (tau * tau + 2.0 * squares);
    let by_u = kappa * vz;
    let mut by_b = Array2::<f64>::zeros((d, d));
    let mut mixed = Array1::<f64>::zeros(d);
    for (i, l) in values.iter().enumerate() {
        // E[α]E[xβ]: uτ s² λ_1 (t + 2λ_1 B_11)/N, less u λ_i² B_ii.
        mixed[i] = tau * vz * l / n - l * l;
        by_b[[i, i]] = vz * l * l / n + 2.0 * vz * l * l / (n * n);
        for (j, m) in values.iter().enumerate() {
            by_b[[i, j]] += vz * l * m / (n * n);
        }
        // B_11 (t + ..) of E[α]E[xβ] and 4t z²B_11 of Eβ².
        let crossed = z2 * l * (1.0 / n + 2.0 / (n * n));
        by_b[[0, i]] += crossed;
        by_b[[i, 0]] += crossed;
    }
    mixed[0] += first * first + 2.0 * tau * vz * first / n + z2 * (tau + 2.0 * first / n);
    by_b[[0, 0]] += z2 * first * (1.0 + 1.0 / n + 4.0 / n + 8.0 / (n * n));
    let (eigen, axes) = symmetric_eigen(by_b.view())?;
    let lowered: f64 = axes.t().dot(&mixed).iter().zip(&eigen).map(|(m, e)| m * m / e).sum();
    Ok((by_u - lowered) / by_u)
}

impl Claim for LocalMinimum {
    from_sheet!("lsa.local_minimum", trials = 10);

    fn schema(&self) -> Schema {
        training_schema(3, 3.0, 4, [PERTURBATION.or(0.01)])
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let d = params.get(DIM);
        let allowed = format!("must be at most {MOST_DIM}; the second derivative has (1 + 2 dim + dim²)² entries");
        require(d <= MOST_DIM, DIM.name, d, allowed)?;
        require(d >= 2, DIM.name, d, "must be at least 2; in one dimension a matrix of rank one is all there is")?;
        validate(params)
    }

    /// For every Λ that may be drawn: [`margin`] is least where each eigenvalue is at an end of the range, as
    /// random ones show (d = 2, 3, 5, 10, 25).
    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let (d, condition) = (params.get(DIM), params.get(CONDITION));
        let at_ends =
            |k: usize| -> Vec<f64> { (0..d).map(|i: usize| if i < k { 1.0 } else { 1.0 / condition }).collect() };
        let least = (1..d).map(|k| margin(&at_ends(k), params.real(CONTEXT))).map(|m| m.unwrap_or(f64::NEG_INFINITY));
        vec![
            Hypothesis::new(
                "N small",
                "the curvature by u at the point is positive for any Λ drawn, over that of the even part",
                least.fold(f64::INFINITY, f64::min),
            ),
            Hypothesis::new(
                "one largest eigenvalue",
                "Λ has one largest eigenvalue, not several: condition > 1",
                1.0 - 1.0 / condition - LEAST_SPREAD,
            ),
        ]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Pretraining::new(covariance(params, streams)?, params.get(CONTEXT), 0.0)?;
        let d = training.dim();
        let point = self.point(&training);
        let second = lifted(second_derivative(&training, &point), &point);
        let scaled = scaled_curvature(&second)?;
        let there = training.excess(&point);
        let zero = training.excess(&LsaWeights::zeros(d));
        if scaled.abs() <= RESOLUTION {
            let witness = witness! { "scaled_curvature" => scaled };
            return Ok(Outcome::uninformative("the least curvature is not told from 0", witness));
        }
        let mut witness = witness! {
            "scaled_curvature_at_the_point" => scaled, "loss_gap_at_the_point" => there,
            "loss_gap_of_predicting_0" => zero,
        };
        if scaled <= 0.0 {
            return Ok(Outcome::Event { holds: false, witness });
        }
        let curvature = least_eigenvalue(&second)?;
        let near = near(&training, &point, curvature, params.get(PERTURBATION), streams)?;
        let flow = returns(&training, &point, &near.start, curvature)?;
        witness.extend(witness! {
            "least_curvature_at_the_point" => curvature, "perturbation" => near.spread,
            "flow_returned" => flow.returned, "loss_gap_at_the_end" => training.excess(&flow.end),
            "squared_gradient_at_the_end" => training.gradient(&flow.end).norm2(), "steps" => flow.steps,
        });
        Ok(Outcome::Event { holds: flow.returned, witness })
    }
}

/// Share of the largest eigenvalue that the condition number must leave to the smallest: below it nearly all
/// draws have two largest ones but for rounding.
const LEAST_SPREAD: f64 = 1e-3;
