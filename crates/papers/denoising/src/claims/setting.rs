//! Shared parts of the claims of in-context denoising: problems, outcomes, and the posterior mean by its
//! definition, computed by brute force and without any of the closed forms that are checked; and the names of their
//! files: `use super::setting::*;`.

pub(super) use crate::prompts::{Denoising, Dimension, Family, Prompt};
pub(super) use crate::quantities::*;
pub(super) use crate::theory::mixture::Clusters;
pub(super) use crate::theory::{Prior, linear, sphere};
pub(super) use attnlab_core::linalg::normal_matrix;
use attnlab_core::stats::log_log_slope;
pub(super) use attnlab_lab::prelude::*;
pub(super) use attnlab_theory::attention::memory::DenseMemory;
pub(super) use attnlab_theory::attention::{Nonlinearity, Softmax, softmax_attention};
pub(super) use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

/// Closed form and brute force may differ by this much, relative to the lengths that they are made of: the
/// brute-force integrals are accurate to about 1e-13, and exponents of size up to `MOST_CONTRAST` turn rounding
/// into a relative error of 1e-10 of a weight.
pub const IDENTITY: f64 = 1e-9;

/// Largest n of an identity that costs n² or more in each trial: beyond it a check takes minutes.
pub const MOST_AMBIENT: u64 = 300;

/// Multiplications in a second on one core, the exponentials and normal numbers among them included: measured at the
/// default sizes, for [`Claim::seconds`].
pub const PER_SECOND: f64 = 8e8;

/// A problem whose context is not used.
pub fn problem(family: Family, ambient: usize, sigma_z2: f64) -> Denoising {
    Denoising { family, ambient, context: 1, sigma_z2 }
}

/// Prompts of `context` Gaussian tokens in a subspace.
pub fn subspace_problem(params: &Params, context: usize) -> Denoising {
    let family = Family::Subspace { dim: Dimension::Fixed(params.get(DIM)), sigma0_2: params.get(TOKEN_VARIANCE) };
    Denoising { context, ..problem(family, params.get(AMBIENT), params.get(NOISE_VARIANCE)) }
}

/// Prompts of `context` tokens on a sphere.
pub fn sphere_problem(params: &Params, context: usize) -> Denoising {
    let family = Family::Sphere { dim: Dimension::Fixed(params.get(DIM)), radius: params.get(RADIUS) };
    Denoising { context, ..problem(family, params.get(AMBIENT), params.get(NOISE_VARIANCE)) }
}

/// The outcome of an identity between two vectors: their distance relative to the second plus `scale`, the length
/// of the terms that may cancel in it.
pub fn same(formula: &Array1<f64>, expected: &Array1<f64>, scale: f64) -> Outcome {
    let gap = relative(formula, expected, scale);
    if !gap.is_finite() {
        return not_finite();
    }
    let (formula, expected) = (formula.to_vec(), expected.to_vec());
    let witness = witness! { "relative_gap" => gap, "formula" => formula, "by_definition" => expected };
    Outcome::equal(gap, 0.0, IDENTITY, witness)
}

/// The distance of two vectors relative to the second plus `scale`.
pub fn relative(value: &Array1<f64>, expected: &Array1<f64>, scale: f64) -> f64 {
    let length = |v: &Array1<f64>| v.dot(v).sqrt();
    length(&(value - expected)) / (length(expected) + scale)
}

/// Draws without contexts behind a share that decides a hypothesis: a standard deviation of .035 at one half.
const PILOT: u64 = 200;

/// Share of draws that are informative, over streams of their own.
pub fn share(informative: impl Fn(&Streams) -> Result<bool>) -> f64 {
    let tells = |i| informative(&Streams::new(0, "denoise.pilot", 0, i)).unwrap_or(false);
    (0..PILOT).filter(|i| tells(*i)).count() as f64 / PILOT as f64
}

/// The outcome of a trial whose numbers leave the range of f64.
pub fn not_finite() -> Outcome {
    Outcome::failed(&Error::undefined("a number of the trial is not finite"))
}

/// A value; a failed computation where it is not finite.
pub fn value(value: f64, witness: Witness) -> Outcome {
    if value.is_finite() { Outcome::Value { value, witness } } else { not_finite() }
}

/// The outcome of a trial that measures the exponent of `errors` as a power of `sizes`; uninformative where an error
/// is not well above its `rounding`.
pub fn exponent(sizes: &[f64], errors: &[f64], rounding: &[f64], witness: Witness) -> Result<Outcome> {
    let lost = |(error, rounding): (&f64, &f64)| *error <= ABOVE_ROUNDING * rounding;
    if errors.iter().zip(rounding).any(lost) {
        return Ok(Outcome::uninformative("the remainder is lost in rounding", witness));
    }
    Ok(value(log_log_slope(sizes, errors, 0.95)?.value, witness))
}

/// Least ratio of a remainder to its rounding error: rounding then moves an exponent over two decades by .005.
const ABOVE_ROUNDING: f64 = 100.0;

/// The derivative of `f` at 0 by the five-point rule, with an error of order h⁴: for functions that
/// change over lengths of one, h = 0.01 leaves 1e-9.
pub fn derivative(f: impl Fn(f64) -> Array1<f64>, h: f64) -> Array1<f64> {
    let pair = |h: f64| f(h) - f(-h);
    (pair(h) * 8.0 - pair(2.0 * h)) / (12.0 * h)
}

/// Largest ratio of squared lengths to the least variance for which the brute-force integrals keep
/// [`IDENTITY`]: exponents of that size carry 1e-16 of it as an error.
const MOST_CONTRAST: f64 = 1e6;

/// Refuses a problem whose posterior cannot be integrated by brute force to [`IDENTITY`].
pub fn accurate(problem: &Denoising, name: &str, variance: f64) -> Result<()> {
    let n = problem.ambient as f64;
    let tokens = match &problem.family {
        Family::Sphere { radius, .. } => radius * radius,
        Family::Clusters { radius, variances, .. } => {
            radius * radius + n * variances.iter().copied().fold(0.0, f64::max)
        }
        Family::Subspace { sigma0_2, .. } => n * sigma0_2,
        _ => 0.0,
    };
    let least = (tokens + n * problem.sigma_z2) / MOST_CONTRAST;
    let allowed = format!(
        "must be at least {least:e} here; below that the definition of the posterior mean cannot be computed \
         accurately enough to compare a formula with"
    );
    require(variance >= least, name, variance, allowed)
}

/// The posterior of Gaussian clusters by its definition.
pub struct ByDefinition {
    /// $E[X|\tilde x]$ (n,).
    pub mean: Array1<f64>,
    /// Posterior weight of all clusters but the most probable one.
    pub others: f64,
    /// Length of the longest centre.
    pub longest: f64,
}

/// $E[X|\tilde x]$ for Gaussian clusters by its definition, the ratio of two integrals over
/// $\mathbb R^n$ (Appendix A.2). For one cluster the integrand is a product over coordinates, so each
/// is integrated alone by the trapezoidal rule; no square is completed.
pub fn clusters_by_definition(clusters: &Clusters, sigma_z2: f64, query: ArrayView1<f64>) -> ByDefinition {
    let (mut logs, mut centres, mut longest) = (vec![], vec![], 0.0_f64);
    for (a, mean) in clusters.means.columns().into_iter().enumerate() {
        let (mut ln, mut centre) = (clusters.weights[a].ln(), Array1::zeros(query.len()));
        for (i, (mu, x)) in mean.iter().zip(query).enumerate() {
            let (ln_mass, first) = coordinate(*mu, clusters.variances[a], *x, sigma_z2);
            ln += ln_mass;
            centre[i] = first;
        }
        longest = longest.max(mean.dot(&mean).sqrt());
        logs.push(ln);
        centres.push(centre);
    }
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|ln| (ln - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    let most = weights.iter().position(|w| *w == 1.0).unwrap_or(0);
    let others = weights.iter().enumerate().filter(|(a, _)| *a != most);
    ByDefinition { mean: average(&logs, &centres), others: others.map(|(_, w)| w).sum::<f64>() / total, longest }
}

/// The mean of vectors with weights given by their logarithms.
pub fn average(logs: &[f64], vectors: &[Array1<f64>]) -> Array1<f64> {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    let mut mean = Array1::zeros(vectors[0].len());
    for (ln, vector) in logs.iter().zip(vectors) {
        let w = (ln - largest).exp();
        sum += w;
        mean.scaled_add(w, vector);
    }
    mean / sum
}

/// $\ln\int e^{-(x-c)^2/2\sigma_Z^2}\, \mathcal N(c; \mu, v)\, dc$ and the mean of $c$ under it.
fn coordinate(mu: f64, v: f64, x: f64, sigma_z2: f64) -> (f64, f64) {
    // Both factors are Gaussians; their product is at least 0.7 times as wide as the narrower one and
    // peaks between the centres. Steps of a third of the narrower width make the trapezoidal rule
    // exact to e^-88, and twelve widths beyond the centres leave e^-72.
    let narrow = v.min(sigma_z2).sqrt();
    let (low, step) = (mu.min(x) - 12.0 * narrow, narrow / 3.0);
    let count = ((mu.max(x) + 12.0 * narrow - low) / step).ceil() as usize;
    let point = |i: usize| low + step * i as f64;
    let exponent = |c: f64| -(x - c).powi(2) / (2.0 * sigma_z2) - (c - mu).powi(2) / (2.0 * v);
    let exponents: Vec<f64> = (0..=count).map(|i| exponent(point(i))).collect();
    let largest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut mass, mut first) = (0.0, 0.0);
    for (i, e) in exponents.iter().enumerate() {
        let w = (e - largest).exp();
        mass += w;
        first += w * point(i);
    }
    let ln_normaliser = 0.5 * (2.0 * std::f64::consts::PI * v).ln();
    (largest + (mass * step).ln() - ln_normaliser, first / mass)
}
