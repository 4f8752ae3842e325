//! Eq. (6) and Theorem 4: when the salient components of a nonlinear layer converge, and the others.
//!
//! The components of $\dot v = (\mu - v) \circ e^{v^2/2}$ from zero move independently: with
//! $r = v/\mu$ and $\delta = 1 - r$,
//!
//! $$ F(r, \mu) := \int_0^r \frac{e^{-\mu^2x^2/2}}{1-x} dx = t \qquad (79). $$
//!
//! Splitting off the pole (u = 1 - x),
//!
//! $$ F = e^{-\mu^2/2} \ln\frac1\delta + \rho(\delta, \mu), \qquad
//!    \rho = \int_\delta^1 \frac{e^{-\mu^2(1-u)^2/2} - e^{-\mu^2/2}}{u} du. $$
//!
//! The remainder ρ is what Eq. (88) bounds. The integrand is nowhere negative, so that ρ rises from 0
//! to $\rho(0, \mu)$, whose largest value over μ is .86433, at μ = 1.8722; (88) prints
//! $\sqrt{\pi/2} + 1 = 2.2533$ and Theorem 4 twice that for $|\lambda_{jk}|$, which is at most .86433
//! too, as both remainders are nowhere negative. The text around (88) writes $e^{-\mu^2}$ for
//! $e^{-\mu^2/2}$; with it the difference is not bounded.

use attnlab_core::quadrature::integrate;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The largest remainder ρ over δ and μ, rounded up: the maximum of [`remainder`]`(0, mu)`.
pub const LARGEST_REMAINDER: f64 = 0.864_326;

/// The target μ at which the remainder is largest.
pub const LARGEST_REMAINDER_AT: f64 = 1.8722;

/// Share up to which (79) is integrated as it stands.
const HALF: f64 = 0.5;
/// Argument μx from which on e^{-μ²x²/2} ≤ e^{-800} is 0.
const BUMP_END: f64 = 40.0;
/// Relative accuracy of the quadratures.
const ACCURACY: f64 = 1e-15;

/// The integral $F(r, \mu)$ of (79): the time of the flow at which a component with target μ has come to the share r of it.
///
/// `r` in [0, 1).
///
/// ```
/// use attnlab_joma::theory::convergence::time_to;
/// // No attention: plain exponential decay. The quadrature is asked for 1e-15 and sums some hundred rounded terms.
/// assert!((time_to(0.5, 0.0) - 2.0_f64.ln()).abs() < 1e-14);
/// // mpmath: quad(lambda x: exp(-2*x*x)/(1-x), [0, .9])
/// assert!((time_to(0.9, 2.0) - 1.111_823_665_806_107_5).abs() < 1e-12);
/// ```
pub fn time_to(r: f64, mu: f64) -> f64 {
    if r <= HALF {
        return away_from_pole(r, mu.abs());
    }
    -(-r).ln_1p() * (-0.5 * mu * mu).exp() + remainder(1.0 - r, mu)
}

/// The integral (79) for r ≤ 1/2, without its pole.
fn away_from_pole(r: f64, mu: f64) -> f64 {
    let integrand = |x: f64| (-0.5 * (mu * x).powi(2)).exp() / (1.0 - x);
    // With μ = 0 the end is infinite, and r is less.
    integrate(integrand, 0.0, r.min(BUMP_END / mu), panel_width(mu), ACCURACY)
}

/// The width of the first panels: the bump of the integrand has width 1/μ.
fn panel_width(mu: f64) -> f64 {
    0.25_f64.min(0.5 / mu.max(1.0))
}

/// The remainder $\rho(\delta, \mu) = F(1 - \delta, \mu) - e^{-\mu^2/2} \ln(1/\delta)$ of (88), for δ in [0, 1].
pub fn remainder(gap: f64, mu: f64) -> f64 {
    let mu = mu.abs();
    if mu * HALF > BUMP_END {
        // The pole has no weight, and `floor` is 0.
        return away_from_pole((1.0 - gap).min(HALF), mu);
    }
    let square = mu * mu;
    let floor = (-0.5 * square).exp();
    let integrand = |u: f64| {
        let exponent = square * u * (1.0 - 0.5 * u);
        // Near the pole the difference would cancel; far from it, for large μ, `floor` underflows.
        if exponent < 1.0 {
            floor * exponent.exp_m1() / u
        } else {
            ((-0.5 * square * (1.0 - u).powi(2)).exp() - floor) / u
        }
    };
    integrate(integrand, gap, 1.0, panel_width(mu), ACCURACY)
}

/// The logarithm $\ln(1/\delta(t))$ of the gap of a component with target μ at time t ≥ 0.
///
/// The root of $F = t$ in $\ell = \ln(1/\delta)$: F is concave in ℓ, with slope $e^{-\mu^2(1-\delta)^2/2}$, so that
/// Newton's method climbs to it from below. Not finite where it is too large, as from |μ| = 37 on.
///
/// ```
/// use attnlab_joma::theory::convergence::{log_inverse_gap, time_to};
/// let l = log_inverse_gap(2.0, 2.0);
/// assert!((time_to(1.0 - (-l).exp(), 2.0) - 2.0).abs() < 1e-9);
/// ```
pub fn log_inverse_gap(mu: f64, t: f64) -> f64 {
    let growth = (0.5 * mu * mu).exp();
    let mut l = t.max((t - remainder(0.0, mu)) * growth);
    // Quadratic from the first steps on; each costs one quadrature.
    for _ in 0..100 {
        let share = -(-l).exp_m1();
        let f = match share <= HALF {
            true => away_from_pole(share, mu.abs()),
            false => l / growth + remainder((-l).exp(), mu),
        };
        let step = (t - f) * (0.5 * (mu * share).powi(2)).exp();
        l += step;
        if step.abs() <= 1e-14 * l {
            break;
        }
    }
    l
}

/// The correction $\Lambda(t)$ of (7): $\ln(1/\delta_j) / \ln(1/\delta_k) = e^{\mu_j^2/2 - \mu_k^2/2} (1 + \Lambda)$.
///
/// Exactly $(\rho_k - \rho_j) e^{\mu_k^2/2} / \ln(1/\delta_k)$, which keeps its digits where Λ is small and the gaps are.
pub fn lambda(mu_j: f64, mu_k: f64, t: f64) -> f64 {
    let (l_j, l_k) = (log_inverse_gap(mu_j, t), log_inverse_gap(mu_k, t));
    let lambda = l_j / l_k * (0.5 * (mu_k * mu_k - mu_j * mu_j)).exp() - 1.0;
    if lambda.abs() > 0.1 || l_j.min(l_k) < 1.0 {
        return lambda;
    }
    let rest = |mu: f64, l: f64| remainder((-l).exp(), mu);
    (rest(mu_k, l_k) - rest(mu_j, l_j)) * (0.5 * mu_k * mu_k).exp() / l_k
}

/// The time at which ln(1/δ) is `l` for target μ under linear attention from v = 0 and the logit `z0` > 0.
///
/// By Theorem 1 (1) $z^2 = v^2 + z_0^2$, and with $s = \sqrt{\mu^2 + z_0^2}$, $x = v/\mu$,
/// $$ t = \int_0^x \frac{dx'}{(1 - x')\sqrt{\mu^2x'^2 + z_0^2}} = \frac1s\Big[\ln\frac1\delta +
///    \ln\frac{s z + \mu v + z_0^2}{(s + z_0) z_0}\Big]. $$
///
/// ```
/// // mpmath: quad(lambda x: 1/((1-x)*sqrt(4*x*x+.25)), [0, .9])
/// let t = attnlab_joma::theory::convergence::linear_time(-(0.1_f64).ln(), 2.0, 0.5);
/// assert!((t - 1.9870980528394753).abs() < 1e-13);
/// ```
pub fn linear_time(l: f64, mu: f64, z0: f64) -> f64 {
    let (s, v) = (mu.hypot(z0), -mu * (-l).exp_m1());
    let z = v.hypot(z0);
    // From zero on, where the second logarithm vanishes, without cancellation.
    let rest = (s * (z - z0) + mu * v) / ((s + z0) * z0);
    (l + rest.ln_1p()) / s
}

/// The function g(y) = (1 - e^{-y²})/y of Lemma 6, for y ≥ 0; at most .638173, at y = 1.120906.
///
/// ```
/// // mpmath: the maximum of (1 - exp(-y*y))/y
/// let most = attnlab_joma::theory::convergence::lemma6(1.120_906_422_778_535);
/// assert!((most - 0.638_172_686_338_951_3).abs() < 1e-14);
/// ```
pub fn lemma6(y: f64) -> f64 {
    if y.abs() < 1e-9 { y } else { -(-y * y).exp_m1() / y }
}

/// The function G(y) = e^{-y²/2} ∫_0^y e^{x²/2} dx of Lemma 7, for y ≥ 0: at most .765152, at y = 1.306930.
///
/// ```
/// // scipy: sqrt(2) * dawsn(1.5/sqrt(2))
/// let g = attnlab_joma::theory::convergence::lemma7(1.5);
/// assert!((g - 0.752_136_210_019_980_4).abs() < 1e-13);
/// ```
pub fn lemma7(y: f64) -> f64 {
    // Over d = y - x, where the integrand falls over a length 1/y: beyond 40/y it is below e^-40.
    let end = y.min(40.0 / y.max(1e-3));
    integrate(|d| (-d * (y - 0.5 * d)).exp(), 0.0, end, 0.5_f64.min(1.0 / y.max(1e-3)), 1e-15)
}

/// The function ζ(r, μ) of (84): $\sqrt{\pi/2}\,\operatorname{erf}(r\mu/\sqrt2) + (1 - e^{-r^2\mu^2/2})/\mu$.
pub fn zeta(r: f64, mu: f64) -> f64 {
    let y = r * mu * FRAC_1_SQRT_2;
    (0.5 * PI).sqrt() * libm::erf(y) + r * FRAC_1_SQRT_2 * lemma6(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// mp.dps = 30; mp.quad(lambda x: mp.exp(-mu**2*x*x/2)/(1-x), mp.linspace(0, r, 20))
    #[test]
    fn times_agree_with_mpmath() {
        let known = [
            (0.1, 1.0, 0.1051805302935878),
            (0.5, 0.3, 0.6900915183148075),
            (0.9, 2.0, 1.1118236658061076),
            (0.99, 1.0, 3.3213590577106493),
            (0.999, 3.0, 0.6931966360369622),
            (0.999999, 2.0, 2.728230028237197),
            (0.5, 10.0, 0.1368327254851793),
            (0.95, 6.0, 0.24478690515001716),
            // For small r: r + r²/2. For large μ: √(π/2)/μ + 1/μ² + √(π/2)/μ³ + 2/μ⁴ ..
            (1e-20, 2.0, 1e-20),
            (0.9, 1e4, 1.253_414_149_850_641_6e-4),
            (0.5, 1e9, 1.2533141383155e-9),
            (0.5, 1e300, 1.2533141373155003e-300),
        ];
        for (r, mu, t) in known {
            assert!((time_to(r, mu) / t - 1.0).abs() < 1e-12, "{r} {mu}: {}", time_to(r, mu));
        }
    }

    /// mpmath.findroot of the derivative in mu; value at the root.
    #[test]
    fn the_largest_remainder() {
        let limit = |mu: f64| remainder(0.0, mu);
        assert!((limit(1.8722) - 0.864_325).abs() < 1e-5);
        let most = (0..4000).map(|i| limit(f64::from(i) * 2e-3)).fold(0.0, f64::max);
        assert!(most <= LARGEST_REMAINDER && most > LARGEST_REMAINDER - 2e-6, "{most}");
    }

    proptest! {
        /// The root solves the equation, and lies where its bounds say.
        #[test]
        fn the_gap_at_a_time(mu in 0.0..6.0_f64, t in 1e-6..20.0_f64) {
            let l = log_inverse_gap(mu, t);
            let back = l * (-0.5 * mu * mu).exp() + remainder((-l).exp(), mu);
            prop_assert!((back / t - 1.0).abs() < 1e-10, "{l} {back}");
            prop_assert!(l >= t * (1.0 - 1e-12) && l <= t * (0.5 * mu * mu).exp() * (1.0 + 1e-12));
        }

        #[test]
        fn remainders_are_between_zero_and_the_largest(gap in 0.0..1.0_f64, mu in 0.0..30.0_f64) {
            let rest = remainder(gap, mu);
            prop_assert!((0.0..=LARGEST_REMAINDER).contains(&rest), "{rest}");
        }
    }
}
