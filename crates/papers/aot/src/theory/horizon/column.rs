//! One noise column of the horizon law at given σ: the inner integral over its largest score.

use super::{Horizon, root};
use crate::theory::ln_sum_exp;
use attnlab_core::quadrature::{integrate_panels, panels_about};
use attnlab_core::special::{ln_mills_ratio, ln_normal_cdf, ln_normal_density, normal_cdf};

/// Noise scores of a variance below this never come near c_x, and their truncation is left out.
const NARROW: f64 = 0.01;
/// Relative error asked of the integral: a hundredth of that of the average over σ.
const TOL: f64 = 1e-8;
/// Error of the place of the step, in x, where the mean of the sum does not grow with x; no panel is narrower.
const STEP_TOL: f64 = 1e-10;
/// The first panel on either side of the step, in widths of the step.
const FIRST: f64 = 4.0;
/// Widest panel: its nodes are at most .21 apart, and $\Phi^{n-1}$ rises over $1/\sqrt{2 \ln n} > .15$.
const WIDEST: f64 = 2.0;
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
        let s2 = self.s * self.s;
        let sum = [self.self_score, (self.n - 1.0).ln() + 0.5 * s2, self.noise.ln() + 0.5 * self.noise_var];
        let mean = (self.logit + ln_sum_exp(&sum)) / self.s;
        // A variance that overflows has made NaN of it.
        let mean = if mean.is_nan() { f64::INFINITY } else { mean };
        // Beyond, φ is below e^{-50} of its value where c_x passes the mean of S + B: less than 1e-21 is left
        // for τ ≥ 1/2, and n Q(10) < 1e-14 for smaller τ.
        let (low, high) = (from.max(-10.0), mean.max(0.0).hypot(10.0).min(END));
        let (step, width) = self.step(low, mean.clamp(low, high));
        // NaN, where a variance overflows, is taken as WIDEST.
        let first = if FIRST * width < STEP_TOL { STEP_TOL } else { FIRST * width };
        let ends = panels_about((low, high), step, first, WIDEST);
        (self.n * integrate_panels(|x| self.integrand(x, &at_most), &ends, TOL)).min(1.0)
    }

    /// Computes the x between `low` and `high` at which c_x passes the mean of $S_y + B$, and the standard deviation of the
    /// sum there over s, at most the width of the step in x that the probability makes about it. The bound of Markov's
    /// inequality begins there.
    fn step(&self, low: f64, high: f64) -> (f64, f64) {
        let ln_ratio = |x: f64| {
            let terms = self.terms(x);
            -((self.self_score - terms.ln_c).exp() + terms.sum(self).mean).ln().clamp(-700.0, 700.0)
        };
        let (at_low, at_high) = (ln_ratio(low), ln_ratio(high));
        let step = if at_low >= 0.0 {
            low
        } else if at_high <= 0.0 {
            high
        } else {
            // ln c_x has slope s, and the difference at most that.
            root(ln_ratio, (low, at_low), (high, at_high), (STEP_TOL, STEP_TOL * self.s))
        };
        // NaN where a variance overflows.
        let step = step.max(low).min(high);
        (step, self.terms(step).sum(self).var.sqrt() / self.s)
    }

    /// Computes where x as the largest score truncates the terms of the sum.
    fn terms(&self, x: f64) -> Terms {
        let y = x.min(x - self.logit / self.s);
        let ln_c = self.s * x - self.logit;
        let noise = (self.noise_var > NARROW).then(|| {
            let y = ln_c / self.noise_var.sqrt();
            (y, ln_normal_cdf(y))
        });
        Terms { ln_c, y, ln_cdf: ln_normal_cdf(y), noise }
    }

    /// $\phi(x) \Phi(y)^{n-1} P(S_y + B \le c_x)$.
    fn integrand(&self, x: f64, at_most: &impl Fn(Moments, f64) -> f64) -> f64 {
        let terms = self.terms(x);
        let room = 1.0 - (self.self_score - terms.ln_c).exp();
        if room <= 0.0 {
            return 0.0;
        }
        let ln_noise_cdf = terms.noise.map_or(0.0, |(_, ln_cdf)| ln_cdf);
        let ln_weight = ln_normal_density(x) + (self.n - 1.0) * terms.ln_cdf + self.noise * ln_noise_cdf;
        if ln_weight < -745.0 {
            return 0.0;
        }
        ln_weight.exp() * at_most(terms.sum(self), room)
    }
}

/// Where the terms of the sum are truncated at x.
struct Terms {
    /// ln c_x.
    ln_c: f64,
    /// The largest score of an in-cluster term, in its standard deviations.
    y: f64,
    /// ln Φ(y).
    ln_cdf: f64,
    /// The same of the noise terms, if they are truncated.
    noise: Option<(f64, f64)>,
}

impl Terms {
    /// Moments of the sum without the self score, in units of c_x, so that nothing overflows.
    fn sum(&self, column: &Column) -> Moments {
        // s y - ln c_x is the lesser one of 0 and ℓ, and 0 for the noise: the difference itself would be rounding.
        let in_cluster = truncated(column.s, self.y, self.ln_c, column.logit.min(0.0), self.ln_cdf);
        let noise = match self.noise {
            Some((y, ln_cdf)) => truncated(column.noise_var.sqrt(), y, self.ln_c, 0.0, ln_cdf),
            None => narrow(column.noise_var, self.ln_c),
        };
        in_cluster.times(column.n - 1.0).plus(noise.times(column.noise))
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
    use attnlab_core::quadrature::integrate;

    fn columns() -> Vec<Column> {
        let taus = [0.01_f64, 0.5, 0.99];
        let mut columns = vec![];
        for n in [2.0, 13.0, 400.0, 20_000.0] {
            for s in [0.9, 2.5, 6.2, 59.0, 390.0] {
                for (tau, sigma) in taus.into_iter().flat_map(|tau| [(tau, 0.03_f64), (tau, 2.0)]) {
                    let (logit, self_score) = ((tau / (1.0 - tau)).ln(), sigma * sigma);
                    columns.push(Column {
                        n,
                        s,
                        logit,
                        self_score,
                        noise: 3.0 * n - 1.0,
                        noise_var: 2.6e-3 * self_score,
                    });
                }
            }
        }
        columns
    }

    /// P and the bound of Markov's inequality against panels of a twentieth over [-10, 39], which are halved up to 300
    /// times in each tenth. Those may miss a jump near an end of a panel; none of these columns has one.
    #[test]
    fn panels_about_the_step_miss_nothing() {
        fn narrow_panels(column: &Column, at_most: impl Fn(Moments, f64) -> f64) -> f64 {
            let f = |x: f64| column.integrand(x, &at_most);
            let tenths = -100..390_i32;
            column.n * tenths.map(|i| f64::from(i) / 10.0).map(|x| integrate(f, x, x + 0.1, 0.05, 1e-12)).sum::<f64>()
        }
        for column in columns() {
            let p = narrow_panels(&column, |sum, room| sum.at_most(room));
            let markov = narrow_panels(&column, |sum, room| (1.0 - sum.mean / room).max(0.0));
            let setting = (column.n, column.s, column.logit, column.self_score);
            assert!((column.breaks() - p).abs() <= 1e-6 * p, "{setting:?}: {} {p}", column.breaks());
            assert!((column.breaks_at_least() - markov).abs() <= 1e-6 * markov, "{setting:?}: {markov}");
        }
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
