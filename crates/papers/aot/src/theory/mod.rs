//! Closed forms of these papers: how deep Theorem 1 holds, how probable the events of Lemma 2 are, and
//! what one layer does under other nonlinearities.
//!
//! Every form carries its derivation, and is held against simulation and independent numbers by tests.

pub mod horizon;
pub mod lemma2;
pub mod printed;
pub mod softmax;
pub mod tails;
pub mod threshold;

pub use horizon::Horizon;
pub use lemma2::Lemma2;

use attnlab_core::quadrature::integrate;
use attnlab_core::special::ln_chi_density;

/// Computes the average of f(r) over r = χ_p.
fn chi_average(p: f64, f: impl Fn(f64) -> f64) -> f64 {
    // Ten standard deviations and more of χ_p to either side leave out less than 1e-40.
    let (low, high) = ((p.sqrt() - 10.0).max(0.0), p.sqrt() + 14.0);
    integrate(|r| ln_chi_density(p, r).exp() * f(r), low, high, 1.0, 1e-9)
}

/// Computes the logarithm of a sum of exponentials.
pub(crate) fn ln_sum_exp(terms: &[f64]) -> f64 {
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + terms.iter().map(|t| (t - most).exp()).sum::<f64>().ln()
}
