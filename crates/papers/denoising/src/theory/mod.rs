//! In-context denoising (Smart, Bietti, Sengupta): the Bayes-optimal predictors of its tasks, the
//! predictors that they are compared with, and their expected losses.
//!
//! A task fixes a law $p_X$ on $\mathbb R^n$ ([`Prior`]). The prompt holds $L$ clean tokens and the
//! query $\tilde x = x + z$ with $z \sim \mathcal N(0, \sigma_Z^2 I_n)$; the loss of a prediction is
//! $\|\hat x - x\|^2$, summed over components, not divided by $n$. All `sigma..2` are variances.
//!
//! - [`linear`]: Gaussians on a subspace (Propositions 1 and 2), and the exact loss of linear
//!   attention at finite $L$ (Theorem 3.1);
//! - [`sphere`]: spheres (Proposition 3), and the rate at which softmax attention converges to the
//!   Bayes optimum (Theorem 3.2);
//! - [`mixture`]: Gaussian clusters (Proposition 4, Appendix C.3, as printed and corrected);
//! - [`spherical`]: clusters on a sphere with a finite spread, beyond the paper;
//! - [`Tilt`] and [`Asymptotics`]: tilted laws, and how long a context the limits of softmax attention need.

pub mod linear;
pub mod mixture;
mod predictor;
mod prior;
pub mod sphere;
pub mod spherical;
mod tilt;

pub use predictor::Predictor;
pub use prior::Prior;
pub use tilt::{Asymptotics, Tilt};

pub(crate) use attnlab_core::error::{Result, non_negative, positive, require, require_shape};

/// Largest distance of a sum of weights from 1, as weights written with ten digits leave it.
const WEIGHT_SUM: f64 = 1e-9;

/// Refuses weights that are negative, not finite, or do not sum to one.
pub(crate) fn weights(weights: &[f64]) -> Result<()> {
    each(non_negative, "weights", weights)?;
    let sum: f64 = weights.iter().sum();
    let normalised = (sum - 1.0).abs() <= WEIGHT_SUM;
    require(normalised, "sum of weights", sum, "must be 1. Divide each weight by their sum")
}

/// Refuses a list with an entry that `check` refuses.
pub(crate) fn each(check: fn(&str, f64) -> Result<()>, name: &str, entries: &[f64]) -> Result<()> {
    entries.iter().enumerate().try_for_each(|(a, x)| check(&format!("{name}[{a}]"), *x))
}

/// Refuses anything but one value per cluster.
pub(crate) fn per_cluster(name: &str, entries: usize, clusters: usize) -> Result<()> {
    let expected = format!("one entry per cluster, of which means has {clusters}");
    require_shape(entries == clusters, name, entries, expected)
}

/// Turns logarithms of weights into weights that sum to one, and their normaliser's logarithm.
pub(crate) fn softmax(logs: &mut [f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for x in logs.iter_mut() {
        *x = (*x - largest).exp();
        sum += *x;
    }
    logs.iter_mut().for_each(|x| *x /= sum);
    largest + sum.ln()
}
