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

use attnlab_core::quadrature::{integrate_panels, panels_about};
use attnlab_core::special::ln_chi_density;

/// Computes the average of f(x) over x = `scale` · χ_p, for an f that jumps at most at `jump`. Otherwise it may change from x
/// of some tenths of `unit` on, over a share of x.
fn chi_average(p: f64, scale: f64, unit: f64, jump: Option<f64>, f: impl Fn(f64) -> f64) -> f64 {
    // Ten standard deviations and more of χ_p to either side leave out less than 1e-40.
    let (low, high) = ((p.sqrt() - 10.0).max(0.0), p.sqrt() + 14.0);
    let mut ends = panels_about((low, high), low, low.max(unit / scale), 1.0);
    ends.extend(jump.map(|x| x / scale).filter(|r| (low..high).contains(r)));
    ends.sort_by(f64::total_cmp);
    integrate_panels(|r| ln_chi_density(p, r).exp() * f(scale * r), &ends, 1e-9)
}

/// Computes the logarithm of a sum of exponentials.
pub(crate) fn ln_sum_exp(terms: &[f64]) -> f64 {
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + terms.iter().map(|t| (t - most).exp()).sum::<f64>().ln()
}
