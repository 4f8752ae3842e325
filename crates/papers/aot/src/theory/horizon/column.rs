//! One noise column of the horizon law at given σ: the inner integral over its largest score.

use super::Horizon;
use crate::theory::ln_sum_exp;
use attnlab_core::quadrature::integrate;
use attnlab_core::special::{ln_mills_ratio, ln_normal_cdf, ln_normal_density, normal_cdf};

/// Noise scores of a variance below this never come near c_x, and their truncation is left out.
const NARROW: f64 = 0.01;
/// Relative error asked of the integral: a tenth of that of the average over σ.
const TOL: f64 = 1e-7;
/// See [`support`]: what lies outside is less than 1e-12 of the integral.
const LITTLE: f64 = 1e-14;
/// The normal density underflows beyond this.
const END: f64 = 39.0;
/// Distance from the mean, in standard deviations, beyond which a sum stays with probability below 1e-18 (Chebyshev).
const SURELY: f64 = 1e9;

/// A noise column with $|e_{j,k}| = \sigma$ at θ.
pub(super) struct Column {
    /// n, in-cluster scores.
    n: f64,
    /// s = θσ, their standard deviation.
    s: f64,
    /// ln(τ/(1-τ)).
    logit: f64,
    /// The self score σ².
    self_score: f64,
    /// N - n - 1, scores with other noise tokens.
    noise: f64,
    /// (δσ)², their variance.
    noise_var: f64,
}

/// Mean, variance and third central moment.
#[derive(Clone, Copy)]
struct Moments {
    mean: f64,
    var: f64,
    third: f64,
}

impl Column {
    pub(super) fn new(law: &Horizon, theta: f64, sigma: f64) -> Self {
        Column {
            n: law.per_cluster() as f64,
            s: theta * sigma,
            logit: law.logit(),
            self_score: sigma * sigma,
            noise: law.noise_scores(),
            noise_var: (law.delta * sigma).powi(2),
        }
    }

    /// The probability that an in-cluster weight is above τ.
    pub(super) fn breaks(&self) -> f64 {
        self.probability(|sum, room| sum.at_most(room))
    }

    /// A lower bound on [`Column::breaks`] without approximation: by Markov's inequality the truncated sum
    /// $S_y + B$ is at most $c_x$ with probability at least $1 - \mathbb E(S_y + B)/c_x$.
    pub(super) fn breaks_at_least(&self) -> f64 {
        self.probability(|sum, room| (1.0 - sum.mean / room).max(0.0))
    }

    /// n times the integral over the largest score, with the probability that the random part of the sum is
    /// at most the room that the self score leaves.
    fn probability(&self, at_most: impl Fn(Moments, f64) -> f64) -> f64 {
        // An x that underflows below already has φ(x) = 0 where the self score alone forbids less.
        let from = (self.logit + self.self_score) / self.s;
        if self.s <= 0.0 || from > END {
            return 0.0;
        }
        // Beyond the x at which c_x passes the mean of S + B, only φ shapes the integrand: ten
        // more standard deviations lose less than 1e-22 of it.
        let s2 = self.s * self.s;
        let sum = [self.self_score, (self.n - 1.0).ln() + 0.5 * s2, self.noise.ln() + 0.5 * self.noise_var];
        let to = ((self.logit + ln_sum_exp(&sum)) / self.s).max(0.0) + 10.0;
        let integrand = |x: f64| self.integrand(x, &at_most);
        let (low, high) = support(integrand, from.max(-10.0), to.min(END));
        (self.n * integrate(integrand, low, high, 1.0, TOL)).min(1.0)
    }

    /// $\phi(x) \Phi(y)^{n-1} P(S_y + B \le c_x)$.
    fn integrand(&self, x: f64, at_most: &impl Fn(Moments, f64) -> f64) -> f64 {
        let y = x.min(x - self.logit / self.s);
        // All sums in units of c_x, so that nothing overflows.
        let ln_c = self.s * x - self.logit;
        let room = 1.0 - (self.self_score - ln_c).exp();
        if room <= 0.0 {
            return 0.0;
        }
        let noise_y = ln_c / self.noise_var.sqrt();
        let is_wide = self.noise_var > NARROW;
        let ln_cdf = ln_normal_cdf(y);
        let ln_noise_cdf = if is_wide { ln_normal_cdf(noise_y) } else { 0.0 };
        let ln_weight = ln_normal_density(x) + (self.n - 1.0) * ln_cdf + self.noise * ln_noise_cdf;
        if ln_weight < -745.0 {
            return 0.0;
        }
        // s y - ln c_x is the lesser one of 0 and ℓ, and 0 for the noise: the difference itself would be rounding.
        let in_cluster = truncated(self.s, y, ln_c, self.logit.min(0.0), ln_cdf).times(self.n - 1.0);
        let noise = if is_wide {
            truncated(self.noise_var.sqrt(), noise_y, ln_c, 0.0, ln_noise_cdf)
        } else {
            narrow(self.noise_var, ln_c)
        };
        ln_weight.exp() * at_most(in_cluster.plus(noise.times(self.noise)), room)
    }
}

/// The part of [a, b] outside of which a function with one peak is below [`LITTLE`] of its largest value, by its values
/// at steps of at most 1, and one more step on each side.
fn support(f: impl Fn(f64) -> f64, a: f64, b: f64) -> (f64, f64) {
    let steps = (b - a).ceil().max(1.0);
    let place = |i: f64| a + (b - a) * i / steps;
    let values: Vec<f64> = (0..=steps as usize).map(|i| f(place(i as f64))).collect();
    let least = LITTLE * values.iter().copied().fold(0.0, f64::max);
    let (first, last) = (values.iter().position(|f| *f > least), values.iter().rposition(|f| *f > least));
    match first.zip(last) {
        Some((first, last)) => (place((first as f64 - 1.0).max(0.0)), place((last as f64 + 1.0).min(steps))),
        None => (a, b),
    }
}

/// Moments of X/c for X = e^{sg} given g ≤ y, with `ln_end` = s y - ln c and `ln_cdf` = ln Φ(y).
fn truncated(s: f64, y: f64, ln_c: f64, ln_end: f64, ln_cdf: f64) -> Moments {
    let raw = |m: f64| {
        let ms = m * s;
        // ln(e^{(ms)²/2} Φ(y - ms) / c^m). Beyond y the square cancels that of the density of Φ at y - ms.
        let ln_part = match ms > y {
            true => ln_normal_density(y) + ln_mills_ratio(ms - y) + m * ln_end,
            false => 0.5 * ms * ms + ln_normal_cdf(y - ms) - m * ln_c,
        };
        (ln_part - ln_cdf).exp()
    };
    let (m1, m2, m3) = (raw(1.0), raw(2.0), raw(3.0));
    Moments {
        mean: m1,
        // Rounding may leave a tiny negative rest where nothing varies.
        var: (m2 - m1 * m1).max(0.0),
        third: m3 - 3.0 * m1 * m2 + 2.0 * m1.powi(3),
    }
}

/// The same without truncation for a small variance v, without cancellation.
fn narrow(v: f64, ln_c: f64) -> Moments {
    let mean = (0.5 * v - ln_c).exp();
    // With w - 1 = e^v - 1: var = mean² (w - 1), third = mean³ (w - 1)² (w + 2).
    let w1 = v.exp_m1();
    Moments { mean, var: mean * mean * w1, third: mean.powi(3) * w1 * w1 * (w1 + 3.0) }
}

impl Moments {
    fn times(self, n: f64) -> Self {
        Moments { mean: n * self.mean, var: n * self.var, third: n * self.third }
    }

    fn plus(self, other: Moments) -> Self {
        Moments { mean: self.mean + other.mean, var: self.var + other.var, third: self.third + other.third }
    }

    /// $P(T \le z)$ of the shifted lognormal T with these moments; reflected for negative skewness.
    fn at_most(self, z: f64) -> f64 {
        let sd = self.var.sqrt();
        // Without variance T is its mean. Far from the mean the third moment may underflow, and decides nothing.
        if sd <= 1e-14 * self.mean || (z - self.mean).abs() > SURELY * sd {
            return if self.mean <= z { 1.0 } else { 0.0 };
        }
        let skewness = self.third / (self.var * sd);
        let standard = (z - self.mean) / sd;
        if skewness < 0.0 {
            1.0 - shifted_lognormal(-standard, -skewness)
        } else {
            shifted_lognormal(standard, skewness)
        }
    }
}

/// $P(X \le z)$ for the standardised lognormal X (mean 0, variance 1) of this skewness ≥ 0.
fn shifted_lognormal(z: f64, skewness: f64) -> f64 {
    // Below, the lognormal differs from the normal law by less than the rounding of the formula.
    if skewness < 1e-6 {
        return normal_cdf(z);
    }
    // The skewness of a lognormal is (w + 2) √(w - 1), w = e^{spread²}: Cardano gives w.
    let g2 = 0.5 * skewness * skewness;
    let root = (1.0 + g2 + skewness * (1.0 + 0.5 * g2).sqrt()).cbrt();
    let w1 = (root - 1.0).powi(2) / root;
    let (spread, shift) = (w1.ln_1p().sqrt(), 1.0 / w1.sqrt());
    // X = e^{spread·g - spread²/2} shift - shift has mean 0 and variance 1.
    let u = 1.0 + z / shift;
    if u <= 0.0 {
        return 0.0;
    }
    normal_cdf(u.ln() / spread + 0.5 * spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_lies_outside_the_support() {
        for (mean, sd) in [(0.0, 1.0), (30.3, 0.2), (-9.9, 0.5)] {
            let f = |x: f64| (-0.5 * ((x - mean) / sd).powi(2)).exp();
            let (low, high) = support(f, -10.0, END);
            let (part, whole) = (integrate(f, low, high, 0.2, 1e-12), integrate(f, -10.0, END, 0.2, 1e-12));
            assert!((part / whole - 1.0).abs() < 1e-12 && high - low < 20.0, "{mean}: {low} {high}");
        }
        assert_eq!(support(|_| 0.0, 0.0, 3.5), (0.0, 3.5));
    }

    #[test]
    fn the_shifted_lognormal_has_its_moments() {
        for skewness in [1e-5, 0.01, 0.5, 3.0, 40.0] {
            // E X^2 and E X^3 from the distribution function, by parts.
            let cdf = |z| shifted_lognormal(z, skewness);
            let above = |m: i32| integrate(|z| f64::from(m) * z.powi(m - 1) * (1.0 - cdf(z)), 0.0, 4e3, 0.5, 1e-9);
            let below = |m: i32| integrate(|z| f64::from(m) * z.powi(m - 1) * cdf(-z), 0.0, 60.0, 0.5, 1e-9);
            assert!((above(1) - below(1)).abs() < 1e-4, "{skewness}");
            assert!((above(2) + below(2) - 1.0).abs() < 1e-2, "{skewness}");
            if skewness < 5.0 {
                assert!((above(3) - below(3) - skewness).abs() < 1e-3, "{skewness}");
            }
        }
    }
}
