//! The normal and chi distributions with their tails in logarithms, for probabilities far below 1e-16, and ratios of
//! Bessel functions.
//!
//! `erfc` is libm's; that of statrs has relative errors up to 5e-11. `ln_gamma` and the regularised
//! incomplete gamma functions are those of statrs; the tests of this module compare them with mpmath in
//! the range of the closed forms: relative errors below 1e-11.

mod bessel;

pub use bessel::{bessel_ratio, bessel_ratio_complement, ln_scaled_sphere_mean, ln_sphere_mean};

use libm::erfc;
use statrs::function::gamma::{gamma_lr, gamma_ur, ln_gamma};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

/// Value of x from which the asymptotic series of the normal tail is used: its smallest term is below 1e-30.
const FAR: f64 = 12.0;

/// Computes $\ln \phi(x)$, the logarithm of the standard normal density.
pub fn ln_normal_density(x: f64) -> f64 {
    -0.5 * x * x - 0.5 * (2.0 * PI).ln()
}

/// Computes $Q(x) = \mathbb P(g > x)$ for a standard normal $g$.
///
/// ```
/// // mpmath: erfc(10/sqrt(2))/2
/// let q = attnlab_core::special::normal_tail(10.0);
/// assert!((q / 7.619_853_024_160_526e-24 - 1.0).abs() < 1e-13);
/// ```
pub fn normal_tail(x: f64) -> f64 {
    0.5 * erfc(x * FRAC_1_SQRT_2)
}

/// Computes $\Phi(x) = Q(-x)$.
pub fn normal_cdf(x: f64) -> f64 {
    normal_tail(-x)
}

/// Computes $\ln Q(x)$, accurately also where $Q$ itself underflows (x > 38) and where it is close to 1.
///
/// ```
/// // mpmath: log(erfc(100/sqrt(2))/2)
/// let q = attnlab_core::special::ln_normal_tail(100.0);
/// assert!((q / -5005.524_208_694_205 - 1.0).abs() < 1e-14);
/// ```
pub fn ln_normal_tail(x: f64) -> f64 {
    if x < -1.0 {
        return (-normal_tail(-x)).ln_1p();
    }
    if x < FAR { normal_tail(x).ln() } else { ln_normal_density(x) + ln_mills_ratio(x) }
}

/// Computes $\ln(Q(x)/\phi(x))$ for x ≥ 0 to full precision, also where the difference of the two logarithms would be
/// lost in their rounding.
///
/// ```
/// // mpmath, 40 digits: log(erfc(x/sqrt(2))/2) - log(npdf(x)) at 2 and 1e9
/// let mills = attnlab_core::special::ln_mills_ratio;
/// assert!((mills(2.0) - -0.864_245_800_477_359_2).abs() < 1e-14);
/// assert!((mills(1e9) - -20.723_265_836_946_411).abs() < 1e-14);
/// ```
pub fn ln_mills_ratio(x: f64) -> f64 {
    if x < FAR {
        return normal_tail(x).ln() - ln_normal_density(x);
    }
    // Q(x) = phi(x)/x (1 - 1/x^2 + 3/x^4 - 15/x^6 + ...): the series alternates and its tenth term is
    // 1.7e-13 at x = 12, so the error after ten terms is smaller than that.
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..=10 {
        term *= -f64::from(2 * k - 1) / (x * x);
        sum += term;
    }
    (sum / x).ln()
}

/// Computes $\ln \Phi(x)$.
pub fn ln_normal_cdf(x: f64) -> f64 {
    ln_normal_tail(-x)
}

/// Computes $\ln$ of the density of $\chi_p$, the length of a standard normal vector in `p` dimensions.
///
/// ```
/// use attnlab_core::special::ln_chi_density;
/// // mpmath with 50 digits. Half the spacing of r, 2e-9 and 6e-11, moves the values by up to 3e-9 and 8e-11.
/// assert!((ln_chi_density(1e15, 1e15_f64.sqrt() + 0.7) + 1.062_364_958_171_599).abs() < 1e-8);
/// assert!((ln_chi_density(1e12, 1e6 + 0.7) + 1.062_365_528_526_156).abs() < 3e-10);
/// ```
pub fn ln_chi_density(p: f64, r: f64) -> f64 {
    // The terms of size p ln p cancel, which Stirling's series has done; its next term is below 1e-16.
    if p >= 1e3 {
        let y = (r - p.sqrt()) / p.sqrt();
        let ln = if y > -0.5 { y.ln_1p() } else { (r / p.sqrt()).ln() };
        let stirling = 1.0 / (6.0 * p) - 1.0 / (45.0 * p.powi(3));
        return (p - 1.0) * ln - p * (y + 0.5 * y * y) - 0.5 * PI.ln() - stirling;
    }
    let power = if p == 1.0 { 0.0 } else { (p - 1.0) * r.ln() };
    power - 0.5 * r * r - (0.5 * p - 1.0) * LN_2 - ln_gamma(0.5 * p)
}

/// Computes $\mathbb P(\chi_p > r)$.
pub fn chi_tail(p: f64, r: f64) -> f64 {
    chi(p, r, gamma_ur, 1.0)
}

/// Computes $\mathbb P(\chi_p \le r)$.
pub fn chi_cdf(p: f64, r: f64) -> f64 {
    chi(p, r, gamma_lr, -1.0)
}

/// Dimension from which on the functions of statrs, whose steps grow like √p, are too slow.
const MANY: f64 = 2e7;

/// Computes the upper tail for the `side` 1 and the lower one for −1, by `gamma` below [`MANY`] dimensions.
fn chi(p: f64, r: f64, gamma: fn(f64, f64) -> f64, side: f64) -> f64 {
    // Those functions panic at 0 and infinity, which the square of a finite length may be.
    match 0.5 * r * r {
        x if r <= 0.0 || x == 0.0 => f64::from(side > 0.0),
        f64::INFINITY => f64::from(side < 0.0),
        x if p < MANY => gamma(0.5 * p, x),
        x => many_chi(0.5 * p, x, side),
    }
}

/// Computes the regularised incomplete gamma function at large `a` by the first two terms of Temme's uniform expansion
/// (DLMF 8.12.3 and 8.12.4, $c_0$ of 8.12.10); the third is below 1e-13.
fn many_chi(a: f64, x: f64, side: f64) -> f64 {
    let mu = (x - a) / a;
    // η²/2 = μ − ln(1 + μ)
    let half = match mu.abs() < 1e-3 {
        true => mu * mu * (0.5 + mu * (-1.0 / 3.0 + mu * (0.25 - 0.2 * mu))),
        false => mu - mu.ln_1p(),
    };
    let eta = (2.0 * half).sqrt().copysign(mu);
    let c0 = if mu.abs() < 1e-3 { -1.0 / 3.0 + eta / 12.0 } else { 1.0 / mu - 1.0 / eta };
    let rest = (-a * half).exp() / (2.0 * PI * a).sqrt() * c0;
    normal_tail(side * eta * a.sqrt()) + side * rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_dimensions_agree_with_others() {
        // scipy.special.gammaincc and gammainc (1.17) at p/2 and r²/2, near √p and 3 and 8 standard deviations off. The first
        // lower tail, where scipy has 5.845e-16, and the one of 1.3e-3 by quadrature of the density in mpmath, 40 digits.
        let known = [
            (4e7, 6_318.895_933_999_864, 0.999_999_999_999_999_4, 5.987_878_620_915_518e-16),
            (4e7, 6_322.433_644_117_588, 0.998_652_743_393_168_7, 0.001_347_256_606_831_302),
            (4e7, 6_324.555_320_336_759, 0.499_970_264_597_723_53, 0.500_029_735_402_276_5),
            (4e7, 6_325.050_275_716_154, 0.241_951_781_886_289_9, 0.758_048_218_113_71),
            (4e7, 6_330.209_647_024_338, 6.462_453_557_928_27e-16, 0.999_999_999_999_999_3),
            (9e15, 94_868_327.683_731_02, 0.998_650_102_113_166, 0.001_349_897_886_833_987_6),
            (9e15, 94_868_330.300_026_12, 0.241_963_653_887_145_89, 0.758_036_346_112_854_2),
        ];
        for (p, r, upper, lower) in known {
            // r² has 53 bits, of which the standard deviation of χ² leaves 26 at 9e15.
            let tolerance = if p < 1e8 { 1e-10 } else { 1e-7 };
            assert!((chi_tail(p, r) / upper - 1.0).abs() < tolerance, "{p} {r}: {}", chi_tail(p, r));
            assert!((chi_cdf(p, r) / lower - 1.0).abs() < tolerance, "{p} {r}: {}", chi_cdf(p, r));
        }
        // Each function goes on where the other form begins; that of statrs is there the exponential of a difference of
        // numbers of 1.6e8, so that it has an error of 1e-8.
        for z in [-3.0, -0.1, 0.0, 2.0] {
            let r = (MANY + z * (2.0 * MANY).sqrt()).sqrt();
            let (below, beyond) = (gamma_ur(0.5 * MANY, 0.5 * r * r), chi_tail(MANY, r));
            assert!((below / beyond - 1.0).abs() < 1e-7, "{z}: {below} {beyond}");
        }
    }

    #[test]
    fn the_normal_tail_agrees_with_mpmath() {
        // mp.dps=30; for x in (...): mp.log(mp.erfc(mp.mpf(x)/mp.sqrt(2))/2)
        let known = [
            (-10.0, -7.619_853_024_189_557e-24),
            (-1.0, -0.172_753_779_023_449_9),
            (0.0, -std::f64::consts::LN_2),
            (0.5, -1.175_911_761_593_618_6),
            (3.0, -6.607_726_221_510_35),
            (8.0, -35.013_437_159_914_55),
            (15.0, -116.131_384_845_711_7),
            (30.0, -454.321_243_956_343_2),
            (37.0, -689.030_585_576_890_6),
            (100.0, -5_005.524_208_694_205),
        ];
        for (x, expected) in known {
            let computed = ln_normal_tail(x);
            // At -10 mpmath's own subtraction at 30 digits leaves seven of them.
            let tol = if x == -10.0 { 1e-7 } else { 1e-13 };
            assert!((computed / expected - 1.0).abs() < tol, "{x}: {computed}");
        }
        let (near, far) = (ln_normal_tail(FAR - 1e-12), ln_normal_tail(FAR));
        assert!((near - far).abs() < 1e-10, "the branches meet: {near} {far}");
    }

    #[test]
    fn the_chi_law_has_its_limits_where_squares_leave_the_range() {
        for (r, tail) in [(0.0, 1.0), (1e-200, 1.0), (1e200, 0.0), (f64::INFINITY, 0.0)] {
            assert_eq!((chi_tail(64.0, r), chi_cdf(64.0, r)), (tail, 1.0 - tail), "{r}");
        }
    }

    #[test]
    fn the_chi_law_agrees_with_mpmath_far_out() {
        // s = sqrt(log(N)); u = 2 + 2 s
        // hi = mp.gammainc(d/2, (mp.sqrt(d)+u)**2/2, mp.inf, regularized=True)
        // lo = mp.gammainc(d/2, 0, (mp.sqrt(d)-u)**2/2, regularized=True)
        let known: [(f64, f64, f64, f64); 6] = [
            (10.0, 3.0, 3.835_438_380_946_617e-5, 3.262_057_342_499_917e-12),
            (100.0, 4.0, 3.295_982_041_572_304e-8, 4.466_287_158_843_585e-10),
            (640.0, 6.603_614_826_002_73, 1.030_958_245_897_390_4e-19, 4.924_992_392_298_853e-23),
            (900.0, 7.513_946_847_600_939, 5.308_140_203_460_756e-25, 3.806_587_072_688_322e-29),
            (1e4, 3.0, 1.186_596_285_716_168_3e-5, 1.024_194_425_237_014e-5),
            (1e4, 12.0, 1.264_380_120_540_345e-62, 1.281_342_586_599_896_3e-67),
        ];
        for (d, u, high, low) in known {
            let r = d.sqrt();
            assert!((chi_tail(d, r + u) / high - 1.0).abs() < 1e-11, "{d} {u}");
            assert!((chi_cdf(d, r - u) / low - 1.0).abs() < 1e-11, "{d} {u}");
        }
    }

    #[test]
    fn the_chi_density_integrates_to_the_tail() {
        let (p, from) = (7.0, 2.0);
        let h = 1e-4;
        let sum: f64 = (0..150_000).map(|i| ln_chi_density(p, from + (f64::from(i) + 0.5) * h).exp() * h).sum();
        assert!((sum / chi_tail(p, from) - 1.0).abs() < 1e-8);
    }
}
