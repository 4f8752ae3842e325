//! Isotropic laws and what a node sees of them: θ_1, θ_2 and F of Lemmas 1 to 5.
//!
//! Let x = x̄ + x' with x' isotropic in a subspace of dimension n with projector $RR^\top$, and let
//! $p_n$ be the density of one coordinate of x'. Along the weight only $|RR^\top v|\,t$ with t ~ $p_n$
//! matters, so for any ψ, with $r = v^\top\bar x + \xi$ and $s = |RR^\top v|$,
//!
//! $$ \mathbb E\,\psi(v^\top x + \xi) = \theta_1, \quad
//!    \mathbb E\,x\,\psi(v^\top x + \xi) = \theta_1 \bar x + \theta_2 \frac{RR^\top v}{s}, \qquad
//!    \theta_i(r, s) = \int \{1, t\}\,\psi(st + r)\,p_n(t)\,dt. $$
//!
//! Where ψ = φ' of a homogeneous φ, ψ(st + r) = ψ(t + r/s), and both depend on ρ = r/s alone:
//!
//! $$ \theta_1(\rho) = c_- + (c_+ - c_-)\,\mathbb P[t > -\rho], \qquad
//!    \theta_2(\rho) = (c_+ - c_-)\,\mathbb E\,t\,1[t > -\rho]. $$
//!
//! Lemma 1 prints them at r for r/s and divides by $|v|$ and $|v|^3$: its $p_n$ (33) is the density of
//! the unit projection, evaluated at y' = st without the Jacobian. It holds for $|v| = 1$ alone.

use super::Activation;
use attnlab_core::error::{self, Error, Result};
use attnlab_core::quadrature::{integrate, integrate_panels, panels_about};
use attnlab_core::special::{ln_normal_density, normal_cdf};
use libm::{erf, lgamma};
use statrs::function::beta::beta_reg;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// An isotropic law by its radial shape; every coordinate has the scale of the standard form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Radial {
    /// Standard normal.
    Gaussian,
    /// Student with ν degrees of freedom, ν > 1 so that θ_2 exists.
    Student {
        /// Degrees of freedom ν.
        nu: f64,
    },
    /// Uniform in the unit ball.
    Ball,
}

/// An isotropic law in n dimensions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Isotropic {
    radial: Radial,
    dim: usize,
}

/// Accuracy of the quadratures below, relative to the whole.
const TOL: f64 = 1e-12;
/// Accuracy of a quadrature over shells: above the rounding of the quadratures over caps within it.
const OUTER_TOL: f64 = 1e-10;

impl Isotropic {
    /// The law in `dim` dimensions.
    ///
    /// # Errors
    /// No dimensions; a Student law without mean.
    pub fn new(radial: Radial, dim: usize) -> Result<Self> {
        error::at_least("dim", dim, 1)?;
        match radial {
            Radial::Student { nu } if !(nu > 1.0 && nu.is_finite()) => {
                Err(Error::invalid("nu", nu, "must be a finite number > 1; below, theta_2 is infinite"))
            }
            _ => Ok(Isotropic { radial, dim }),
        }
    }

    /// The dimension n.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The radial shape.
    pub fn radial(&self) -> Radial {
        self.radial
    }

    /// The density $p_n(t)$ of one coordinate.
    ///
    /// ```
    /// use attnlab_joma::theory::{Isotropic, Radial};
    /// let ball = Isotropic::new(Radial::Ball, 3)?; // 3/4 (1 - t²) by Archimedes
    /// assert!((ball.density(0.5) - 0.75 * 0.75).abs() < 1e-14);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn density(&self, t: f64) -> f64 {
        match self.radial {
            Radial::Gaussian => ln_normal_density(t).exp(),
            Radial::Student { nu } => {
                let ln = lgamma(0.5 * (nu + 1.0)) - lgamma(0.5 * nu) - 0.5 * (nu * PI).ln();
                (ln - 0.5 * (nu + 1.0) * (t * t / nu).ln_1p()).exp()
            }
            Radial::Ball => {
                let (n, inside) = (self.dim as f64, 1.0 - t * t);
                if inside <= 0.0 {
                    return 0.0;
                }
                let ln = lgamma(0.5 * n + 1.0) - lgamma(0.5 * n + 0.5) - 0.5 * PI.ln();
                (ln + 0.5 * (n - 1.0) * inside.ln()).exp()
            }
        }
    }

    /// The density $p_0(l)$ at distance l from the centre, per n-dimensional volume.
    pub fn joint_density(&self, l: f64) -> f64 {
        let n = self.dim as f64;
        let ln = match self.radial {
            Radial::Gaussian => -0.5 * n * (2.0 * PI).ln() - 0.5 * l * l,
            Radial::Student { nu } => {
                lgamma(0.5 * (nu + n))
                    - lgamma(0.5 * nu)
                    - 0.5 * n * (nu * PI).ln()
                    - 0.5 * (nu + n) * (l * l / nu).ln_1p()
            }
            Radial::Ball if l > 1.0 => return 0.0,
            Radial::Ball => lgamma(0.5 * n + 1.0) - 0.5 * n * PI.ln(),
        };
        ln.exp()
    }

    /// The density $p_n(y)$ by (36): the joint density integrated over the other coordinates, with the printed surface.
    pub fn density_by_integral(&self, y: f64) -> f64 {
        if self.dim == 1 {
            return self.joint_density(y.abs());
        }
        let n = self.dim as i32;
        let double_factorial = |m: i32| (1..=m).rev().step_by(2).map(f64::from).product::<f64>();
        let factorial = |m: i32| (1..=m).map(f64::from).product::<f64>();
        let surface = if n % 2 == 0 {
            2.0_f64.powi(n / 2) * PI.powi(n / 2 - 1) / double_factorial(n - 3)
        } else {
            2.0 * PI.powi((n - 1) / 2) / factorial((n - 3) / 2)
        };
        let f = |l: f64| self.joint_density((y * y + l * l).sqrt()) * l.powi(n - 2);
        let integral = match self.radial {
            Radial::Ball => from_place(&f, 0.0, (1.0 - y * y).max(0.0).sqrt(), f64::INFINITY, TOL),
            _ => self.over_lengths(f, (0.0, f64::INFINITY), TOL),
        };
        surface * integral
    }

    /// The probability P[0 < t < x] for x ≥ 0, with the digits of a small one.
    fn within(&self, x: f64) -> f64 {
        match self.radial {
            Radial::Gaussian => 0.5 * erf(x * FRAC_1_SQRT_2),
            Radial::Student { .. } if x * x == f64::INFINITY => 0.5,
            Radial::Student { nu } => 0.5 * beta_reg(0.5, 0.5 * nu, x * x / (nu + x * x)),
            Radial::Ball => integrate(|t| self.density(t), 0.0, x.min(1.0), 0.25, TOL),
        }
    }

    /// The probability P[t > x] for x ≥ 0, with the digits of a small one.
    fn beyond(&self, x: f64) -> f64 {
        match self.radial {
            Radial::Gaussian => normal_cdf(-x),
            Radial::Student { nu } => 0.5 * beta_reg(0.5 * nu, 0.5, nu / (nu + x * x)),
            Radial::Ball => integrate(|t| self.density(t), x, 1.0, 0.25, TOL),
        }
    }

    /// The mean E t 1[t > -ρ], even in ρ.
    fn first_above(&self, rho: f64) -> f64 {
        match self.radial {
            Radial::Gaussian => self.density(rho),
            Radial::Student { nu } => self.density(rho) * (nu + rho * rho) / (nu - 1.0),
            Radial::Ball => self.density(rho) * (1.0 - rho * rho).max(0.0) / (self.dim as f64 + 1.0),
        }
    }

    /// The mean θ_1(ρ) for slopes (c_-, c_+).
    ///
    /// ```
    /// use attnlab_joma::theory::{Isotropic, Radial};
    /// let normal = Isotropic::new(Radial::Gaussian, 3)?;
    /// // Exact but for the roundings of a few operations on numbers up to 1.
    /// assert!((normal.theta1((0.0, 1.0), 0.0) - 0.5).abs() < 8.0 * f64::EPSILON);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn theta1(&self, slopes: (f64, f64), rho: f64) -> f64 {
        if rho.is_nan() {
            return f64::NAN;
        }
        mean_slope(slopes, rho, self.within(rho.abs()), || self.beyond(rho.abs()))
    }

    /// The mean θ_2(ρ) for slopes (c_-, c_+).
    pub fn theta2(&self, (minus, plus): (f64, f64), rho: f64) -> f64 {
        (plus - minus) * self.first_above(rho)
    }

    /// The function F(ρ) = θ_2(ρ) + ρ θ_1(ρ) of Lemma 3: the mean of φ(t + ρ).
    pub fn f(&self, slopes: (f64, f64), rho: f64) -> f64 {
        self.theta2(slopes, rho) + rho * self.theta1(slopes, rho)
    }

    /// The means θ_1 and θ_2 of any ψ = φ' at r and s = |RRᵀv|, by their definition as integrals over p_n.
    pub fn thetas(&self, phi: Activation, r: f64, s: f64) -> (f64, f64) {
        let kink = (-r / s, 1.0 / s);
        let value = |power: i32| self.over_line(|t: f64| t.powi(power) * phi.slope(s * t + r) * self.density(t), kink);
        (value(0), value(1))
    }

    /// The mean of ψ(v·x') and that of ψ(v·x') times the component of x' along v, over the joint law in
    /// polar coordinates: shells times caps, nothing of which uses a marginal. |v| = s, ψ = φ'(· + r).
    pub fn polar(&self, phi: Activation, r: f64, s: f64) -> (f64, f64) {
        let n = self.dim;
        if n == 1 {
            let both = |t: f64, power: i32| self.joint_density(t.abs()) * t.powi(power) * phi.slope(s * t + r);
            let moment = |power| self.over_line(|t| both(t, power), (-r / s, 1.0 / s));
            return (moment(0), moment(1));
        }
        // Surface of the unit sphere in n - 1 dimensions, 2 for n = 2.
        let m = n as f64 - 1.0;
        let surface = 2.0 * PI.powf(0.5 * m) / lgamma(0.5 * m).exp();
        let shell = |l: f64, power: i32| {
            // Along v the point is l cos a; the kink of ψ is at l cos a = -r/s.
            let f = |a: f64| {
                let along = l * a.cos();
                along.powi(power) * phi.slope(s * along + r) * a.sin().powi(n as i32 - 2)
            };
            let kink = (-r / (s * l)).clamp(-1.0, 1.0).acos();
            let width = 1.0 / (s * l);
            from_place(&f, kink, 0.0, width, TOL) + from_place(&f, kink, PI, width, TOL)
        };
        let over = |power: i32| {
            let f = |l: f64| surface * self.joint_density(l) * l.powi(n as i32 - 1) * shell(l, power);
            // Shells that only touch the kink's plane: the integrand has no derivative there.
            self.over_lengths(f, ((r / s).abs(), 1.0 / s), OUTER_TOL)
        };
        (over(0), over(1))
    }

    /// The integral over the line of an f that is negligible where this law has no mass, and elsewhere may have a kink, or
    /// change over the width of one: `kink` is its place and that width.
    fn over_line(&self, f: impl Fn(f64) -> f64, kink: (f64, f64)) -> f64 {
        let end = if self.radial == Radial::Ball { 1.0 } else { f64::INFINITY };
        around(f, (-end, end), kink, (0.0, 1.0), TOL)
    }

    /// The same over the distances from the centre.
    fn over_lengths(&self, f: impl Fn(f64) -> f64, kink: (f64, f64), tol: f64) -> f64 {
        let root = (self.dim as f64).sqrt();
        let (end, bulk) = if self.radial == Radial::Ball { (1.0, 1.0) } else { (f64::INFINITY, root) };
        around(f, (0.0, end), kink, (bulk, bulk), tol)
    }
}

/// The mean slope $c_- + (c_+ - c_-) \mathbb P[t > -\rho]$ of a symmetric law by P[0 < t < |ρ|] and P[t > |ρ|]: from the middle
/// where most of the law lies beyond, and from the limit otherwise, so that small and far ρ keep their digits.
pub(super) fn mean_slope((minus, plus): (f64, f64), rho: f64, within: f64, beyond: impl FnOnce() -> f64) -> f64 {
    if within < 0.25 {
        0.5 * (minus + plus) + (plus - minus) * within.copysign(rho)
    } else if rho > 0.0 {
        plus + (minus - plus) * beyond()
    } else {
        minus + (plus - minus) * beyond()
    }
}

/// A kink beyond it is nowhere: squares do not overflow before it.
const FAR: f64 = 1e150;

/// The integral over [low, high] of a function with a kink of this place and width and its bulk, as wide as `scale`, about
/// `centre`.
///
/// From the kink and the centre on t = a ± scale tan(u): both are seen however far apart they are, and power tails are finite
/// at the end.
fn around(
    f: impl Fn(f64) -> f64,
    (low, high): (f64, f64),
    (kink, width): (f64, f64),
    (centre, scale): (f64, f64),
    tol: f64,
) -> f64 {
    // NaN is nowhere too.
    let kink = kink.max(low.max(-FAR)).min(high.min(FAR));
    let middle = 0.5 * (kink + centre);
    let outwards = |a: f64, end: f64, scale: f64| {
        let signed = scale.copysign(end - a);
        let g = |u: f64| {
            let value = f(a + signed * u.tan()) * scale / u.cos().powi(2);
            // At the very end the density underflows before the Jacobian overflows.
            if value.is_finite() { value } else { 0.0 }
        };
        from_place(&g, 0.0, ((end - a) / signed).atan(), width / scale, tol)
    };
    let (towards, away) = if kink < centre { (low, high) } else { (high, low) };
    // Power tails beyond the kink fall over its distance.
    let beyond = outwards(kink, towards, scale.max((kink - centre).abs()));
    outwards(centre, away, scale) + outwards(centre, middle, scale) + outwards(kink, middle, scale) + beyond
}

/// The integral between `place` and `end`, on either side, of a function that is smooth but for a change at the place over
/// `width`.
fn from_place(f: &impl Fn(f64) -> f64, place: f64, end: f64, width: f64, tol: f64) -> f64 {
    let (a, b) = (place.min(end), place.max(end));
    integrate_panels(f, &panels_about((a, b), place, width, (b - a) / 3.0), tol)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELU: (f64, f64) = (0.0, 1.0);

    fn laws() -> impl Iterator<Item = Isotropic> {
        let radials = [Radial::Gaussian, Radial::Student { nu: 3.0 }, Radial::Student { nu: 1.7 }, Radial::Ball];
        [1, 2, 3, 5, 8].into_iter().flat_map(move |dim| radials.map(|radial| Isotropic::new(radial, dim).unwrap()))
    }

    /// scipy.stats.t(3): cdf(.7), pdf(.7) (3 + .49)/2; and the same of norm.
    #[test]
    fn thetas_agree_with_scipy() {
        let t3 = Isotropic::new(Radial::Student { nu: 3.0 }, 4).unwrap();
        assert!((t3.theta1(RELU, 0.7) - 0.7328365008476182).abs() < 1e-12);
        assert!((t3.theta2(RELU, 0.7) - 0.4739216866089903).abs() < 1e-12);
        let normal = Isotropic::new(Radial::Gaussian, 4).unwrap();
        assert!((normal.theta1(RELU, 0.7) - 0.758036347776927).abs() < 1e-14);
        assert!((normal.theta2(RELU, 0.7) - 0.3122539333667613).abs() < 1e-14);
    }

    #[test]
    fn closed_forms_agree_with_both_integrals() {
        for law in laws() {
            for (rho, s) in [(0.3, 1.0), (-0.8, 2.3), (1.7, 0.4)] {
                let (theta1, theta2) = (law.theta1(RELU, rho), law.theta2(RELU, rho));
                for (a, b) in [law.thetas(Activation::RELU, rho * s, s), law.polar(Activation::RELU, rho * s, s)] {
                    assert!((a - theta1).abs() < 1e-9, "{law:?} {rho}: {a} {theta1}");
                    assert!((b - theta2).abs() < 1e-8, "{law:?} {rho}: {b} {theta2}");
                }
            }
            for y in [0.0, 0.4, 0.9] {
                let (a, b) = (law.density(y), law.density_by_integral(y));
                assert!((a - b).abs() < 1e-9, "{law:?} {y}: {a} {b}");
            }
        }
    }

    /// A short weight: the kink is far from the law, and in the last case nowhere.
    #[test]
    fn the_integrals_see_the_law_from_a_far_kink() {
        for law in laws().chain([Isotropic::new(Radial::Gaussian, 100).unwrap()]) {
            for (rho, s) in [(-40.0, 0.03), (52.0, 0.02), (100.0, 0.01), (1e9, 1e-9), (f64::INFINITY, 0.0)] {
                let r = if s == 0.0 { 1.0 } else { rho * s };
                let (theta1, theta2) = (law.theta1(RELU, rho), if s == 0.0 { 0.0 } else { law.theta2(RELU, rho) });
                let (a, b) = law.thetas(Activation::RELU, r, s);
                assert!((a - theta1).abs() < 1e-9, "{law:?} {rho}: {a} {theta1}");
                assert!((b - theta2).abs() < 1e-8, "{law:?} {rho}: {b} {theta2}");
                if law.dim() < 100 && s > 0.0 {
                    let (a, b) = law.polar(Activation::RELU, r, s);
                    assert!((a - theta1).abs() < 1e-7, "{law:?} {rho}: {a} {theta1}");
                    assert!((b - theta2).abs() < 1e-7, "{law:?} {rho}: {b} {theta2}");
                }
            }
        }
    }

    /// mpmath, 30 digits: quad(pdf(t) t^k sech(s t + r)^2) with ν = 1.7, about the kink at -100.
    #[test]
    fn a_change_far_out_in_a_tail_is_seen() {
        let law = Isotropic::new(Radial::Student { nu: 1.7 }, 3).unwrap();
        let known = [
            (200.0, 2.0, 2.824_290_866_583_376e-6, -2.824_134_075_285_867e-4),
            (1000.0, 10.0, 5.648_024_958_449_799e-7, -5.648_012_418_158_944e-5),
            (1e4, 100.0, 5.648_001_995_917_039e-8, -5.648_001_870_515_373e-6),
        ];
        for (r, s, theta1, theta2) in known {
            let (a, b) = law.thetas(Activation::Tanh, r, s);
            assert!((a / theta1 - 1.0).abs() < 1e-9 && (b / theta2 - 1.0).abs() < 1e-9, "{s}: {a} {b}");
        }
    }

    #[test]
    fn laws_without_mean_are_refused() {
        let error = Isotropic::new(Radial::Student { nu: 1.0 }, 2).unwrap_err();
        assert_eq!(error.to_string(), "nu = 1: must be a finite number > 1; below, theta_2 is infinite");
    }
}
