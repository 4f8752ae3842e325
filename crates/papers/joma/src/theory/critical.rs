//! Critical points of the nonlinear dynamics and their linearisation: Lemma 4, Theorem 3.
//!
//! Two isotropic components of the same law, the positive one around x̄_+, the negative one around 0,
//! move a node under uniform attention (Lemma 2, with Lemma 1 corrected) by
//!
//! $$ \dot v = a_+[\theta_1(\rho_+)\bar x_+ + \theta_2(\rho_+)\hat v] - a_-\theta_2(\rho_-)\hat v, \quad
//!    \dot\xi = a_+\theta_1(\rho_+) - a_-\theta_1(\rho_-), \quad
//!    \rho_+ = \frac{v^\top\bar x_+ + \xi}{|v|}, \; \rho_- = \frac{\xi}{|v|}. $$
//!
//! The field is homogeneous of degree 0 in (v, ξ): critical points come in rays. At one,
//! $\theta_1(\rho_+)/\theta_1(\rho_-) = F(\rho_+)/F(\rho_-) = a_-/a_+$ (56), so F/θ_1 takes the same value
//! at both. For ReLU $F(\rho)/\theta_1(\rho) = \mathbb E[t + \rho \mid t > -\rho]$ is the mean residual life
//! at -ρ of one coordinate. Where that density is log-concave it is strictly monotone, and there is no
//! critical point at all: for Gaussian or ball-shaped components Theorem 3 says nothing.
//!
//! Other homogeneous activations differ. The linear one has $F/\theta_1 = \rho$ and never a critical point.
//! Leaky ReLU of slope 0.1 has some for tails heavier than ReLU needs: Student's law with ν up to about
//! 1.5. |x| has $\theta_1(0) = 0 < F(0)$, so that $F/\theta_1$ falls from infinity before it rises: there
//! are critical points with $0 < \rho_- < \rho_+$ for every law, the Gaussian among them.

use super::bisection::{bisect, inverse};
use super::isotropic::Isotropic;
use attnlab_core::error::{Error, Result, require};

const RELU: (f64, f64) = (0.0, 1.0);

/// A critical point of two components, with a_+ = 1 and |μ| free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CriticalPoint {
    /// The law of either component around its centre.
    pub law: Isotropic,
    /// Slopes c_- and c_+ of the activation.
    pub slopes: (f64, f64),
    /// Position ρ_+ of the positive component.
    pub plus: f64,
    /// Position ρ_- < ρ_+ of the negative component.
    pub minus: f64,
    /// Weight a_- of the negative component, for a_+ = 1.
    pub weight: f64,
    /// Length |μ|.
    pub length: f64,
}

/// The coefficients β_1 and β_2 of Theorem 3: near μ, $\dot v = (\beta_1 I + \beta_2 \mu\mu^\top)(\mu - v)$ to first order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Betas {
    /// Rate β_1 across μ, per unit of time of the flow.
    pub one: f64,
    /// Coefficient β_2 of μμᵀ: the rate along μ is β_1 + β_2 |μ|².
    pub two: f64,
}

impl CriticalPoint {
    /// The critical point under ReLU with this ρ_- and |μ|, if there is one: a ρ_+ with the same mean residual life.
    ///
    /// # Errors
    /// When the law has no critical point with this ρ_-: a Gaussian or a ball has none at all.
    ///
    /// ```
    /// use attnlab_joma::theory::{CriticalPoint, Isotropic, Radial};
    /// let law = Isotropic::new(Radial::Student { nu: 3.0 }, 5)?;
    /// let point = CriticalPoint::relu(law, -3.0, 1.0)?;
    /// assert!((point.plus - 1.396839).abs() < 1e-6 && (point.weight - 30.2267).abs() < 1e-4);
    /// let normal = Isotropic::new(Radial::Gaussian, 5)?;
    /// assert!(CriticalPoint::relu(normal, -3.0, 1.0).is_err());
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn relu(law: Isotropic, minus: f64, length: f64) -> Result<Self> {
        Self::new(law, RELU, minus, length)
    }

    /// The critical point under slopes (c_-, c_+): a second ρ_+ > ρ_- with the same F/θ_1.
    ///
    /// # Errors
    /// When there is none with this ρ_-.
    ///
    /// ```
    /// use attnlab_joma::theory::{Activation, CriticalPoint, Isotropic, Radial};
    /// let normal = Isotropic::new(Radial::Gaussian, 5)?;
    /// let absolute = (-1.0, 1.0);
    /// let point = CriticalPoint::new(normal, absolute, 0.5, 1.0)?;
    /// assert!(point.plus > point.minus && point.weight > 1.0);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new(law: Isotropic, slopes: (f64, f64), minus: f64, length: f64) -> Result<Self> {
        require(minus.is_finite(), "rho_-", minus, "must be a finite number")?;
        let life = |rho: f64| law.f(slopes, rho) / law.theta1(slopes, rho);
        let level = life(minus);
        // Beyond its minimum the mean residual life rises to infinity like ρ.
        let (mut high, mut steps) = (level + 1.0, 0);
        let Some(low) = dip(&life, minus, high) else {
            let message = format!(
                "no critical point with rho_- = {minus}: the mean residual life of this law, F/theta_1, \
                 rises from there on, as it does everywhere for a log-concave law under ReLU"
            );
            return Err(Error::not_converged(message));
        };
        while life(high) < level && steps < 60 {
            high *= 2.0;
            steps += 1;
        }
        let plus = bisect((low, high), 200, |rho| life(rho) < level);
        let weight = law.theta1(slopes, plus) / law.theta1(slopes, minus);
        Ok(CriticalPoint { law, slopes, plus, minus, weight, length })
    }

    /// The same pair with the components exchanged, a_+ = 1 again: μ then points away from x̄_+, s_μ = -1.
    pub fn exchanged(self) -> Self {
        CriticalPoint { plus: self.minus, minus: self.plus, weight: 1.0 / self.weight, ..self }
    }

    /// The distance s_μ |x̄_+| = ρ_+ - ρ_- of the centres along μ.
    pub fn distance(&self) -> f64 {
        self.plus - self.minus
    }

    /// The bias ξ* = ρ_- |μ|.
    pub fn bias(&self) -> f64 {
        self.minus * self.length
    }

    /// The field (v̇, ξ̇) at any (v, ξ), with x̄_+ along the first axis; v̇ is as long as v.
    pub fn field(&self, v: &[f64], xi: f64) -> (Vec<f64>, f64) {
        let length = norm(v);
        let (plus, minus) = ((v[0] * self.distance() + xi) / length, xi / length);
        self.assemble(v, length, (plus, minus), 1.0, 1.0)
    }

    /// The field (50) as printed: θ at r for r/|v|, divided by |v| and |v|³ (times v).
    pub fn field_printed(&self, v: &[f64], xi: f64) -> (Vec<f64>, f64) {
        let length = norm(v);
        self.assemble(v, length, (v[0] * self.distance() + xi, xi), 1.0 / length, 1.0 / (length * length))
    }

    fn assemble(&self, v: &[f64], length: f64, (plus, minus): (f64, f64), first: f64, second: f64) -> (Vec<f64>, f64) {
        let (law, c) = (&self.law, self.slopes);
        let theta1 = law.theta1(c, plus);
        let radial = law.theta2(c, plus) - self.weight * law.theta2(c, minus);
        let mut rate: Vec<f64> = v.iter().map(|x| second * radial * x / length).collect();
        rate[0] += first * theta1 * self.distance();
        (rate, first * (theta1 - self.weight * law.theta1(c, minus)))
    }

    /// The coefficients (73) and (74), with $r_+^* = \mu^\top\bar x_+ + \xi^*$ as printed.
    pub fn betas_printed(&self) -> Betas {
        let (mu, x, r) = (self.length, self.distance(), self.length * self.plus);
        let theta1 = self.law.theta1(self.slopes, r);
        let slope = (self.slopes.1 - self.slopes.0) * self.law.density(r);
        Betas { one: x * theta1 / mu.powi(2), two: x * (self.bias() * slope - 2.0 * theta1) / mu.powi(4) }
    }

    /// The coefficients of the corrected field:
    /// $\beta_1 = a_+|\bar x_+|\theta_1(\rho_+)/|\mu|$ and
    /// $\beta_1 + \beta_2|\mu|^2 = (c_+ - c_-)\,\xi^2 (a_-p_n(\rho_-) - a_+p_n(\rho_+))/|\mu|^3$.
    pub fn betas(&self) -> Betas {
        let (mu, c) = (self.length, self.slopes);
        let one = self.distance() * self.law.theta1(c, self.plus) / mu;
        let densities = self.weight * self.law.density(self.minus) - self.law.density(self.plus);
        let radial = (c.1 - c.0) * self.minus.powi(2) * densities / mu;
        Betas { one, two: (radial - one) / mu.powi(2) }
    }

    /// The rate at which (v, ξ) returns to the ray of critical points in the plane of μ and ξ, ξ free:
    /// $(c_+ - c_-)(1 + \rho_-^2)(a_-p_n(\rho_-) - a_+p_n(\rho_+))/|\mu|$, minus the trace of the Jacobian there.
    pub fn joint_rate(&self) -> f64 {
        let densities = self.weight * self.law.density(self.minus) - self.law.density(self.plus);
        let slopes = self.slopes.1 - self.slopes.0;
        slopes * (1.0 + self.minus.powi(2)) * densities / self.length
    }
}

/// The first point in (from, to] where `life` is below its value at `from`: at doubling distances, then at equal ones.
fn dip(life: &impl Fn(f64) -> f64, from: f64, to: f64) -> Option<f64> {
    // Relative rounding error of F/θ_1.
    const ROUNDING: f64 = 1e-12;
    let level = life(from) * (1.0 - ROUNDING);
    let doubling = (1..=30).map(|i| from + (to - from) * 0.5_f64.powi(31 - i));
    doubling.chain((1..4000).map(|i| from + (to - from) * f64::from(i) / 4000.0)).find(|x| life(*x) < level)
}

/// The ratio F/θ_1 under ReLU: the mean residual life of one coordinate at -ρ.
///
/// ```
/// use attnlab_joma::theory::{Isotropic, Radial};
/// use attnlab_joma::theory::critical::residual_life;
/// let normal = Isotropic::new(Radial::Gaussian, 1)?;
/// assert!((residual_life(&normal, 0.0) - (2.0 / std::f64::consts::PI).sqrt()).abs() < 1e-14);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn residual_life(law: &Isotropic, rho: f64) -> f64 {
    law.f(RELU, rho) / law.theta1(RELU, rho)
}

/// The left side θ_2(0) p_n(0) of (58) under ReLU, which asks for at least 1/4.
pub fn existence(law: &Isotropic) -> f64 {
    law.theta2(RELU, 0.0) * law.density(0.0)
}

/// The curve G(y) = F(θ_1^{-1}(y)) of (57) under ReLU, for y in (0, 1): Fig. 9.
///
/// ```
/// use attnlab_joma::theory::{Isotropic, Radial};
/// use attnlab_joma::theory::critical::g;
/// let normal = Isotropic::new(Radial::Gaussian, 1)?;
/// let peak = (2.0 * std::f64::consts::PI).powf(-0.5);
/// assert!((g(&normal, 0.5) - peak).abs() < 1e-12); // F(0) = theta_2(0)
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn g(law: &Isotropic, y: f64) -> f64 {
    law.f(RELU, theta1_inverse(law, y))
}

/// The inverse θ_1^{-1}(y) under ReLU, by bisection; -∞ and ∞ at the ends of (0, 1).
pub fn theta1_inverse(law: &Isotropic, y: f64) -> f64 {
    if y <= 0.0 || y >= 1.0 {
        return if y <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    inverse(|rho| law.theta1(RELU, rho), y)
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::isotropic::Radial;
    use super::*;

    fn point(length: f64) -> CriticalPoint {
        CriticalPoint::relu(Isotropic::new(Radial::Student { nu: 3.0 }, 4).unwrap(), -3.0, length).unwrap()
    }

    /// The field vanishes, and its Jacobian by differences is -(β_1 I + β_2 μμᵀ), at any length; so it
    /// is for the printed field where both agree on the point, at length 1.
    #[test]
    fn the_linearisation() {
        for length in [0.5, 1.0, 2.3] {
            let p = point(length);
            let mu = [length, 0.0, 0.0];
            let (rate, bias) = p.field(&mu, p.bias());
            assert!(norm(&rate) < 1e-11 && bias.abs() < 1e-12, "{rate:?} {bias}");
            let h = 1e-5 * length;
            for axis in 0..2 {
                let rate = |h: f64| {
                    let mut v = mu;
                    v[axis] += h;
                    p.field(&v, p.bias()).0[axis]
                };
                let slope = (rate(h) - rate(-h)) / (2.0 * h);
                let b = p.betas();
                let radial = if axis == 0 { b.two * length * length } else { 0.0 };
                assert!((slope + b.one + radial).abs() < 1e-6 * b.one, "{slope} {b:?}");
            }
        }
        let p = point(1.0);
        let h = 1e-5;
        let rate = |h: f64| p.field_printed(&[1.0 + h, 0.0], p.minus).0[0];
        let slope = (rate(h) - rate(-h)) / (2.0 * h);
        let b = p.betas_printed();
        // -(β_1 + β_2) = 5.612 > 0: the printed field leaves this point.
        assert!((slope - 5.612).abs() < 1e-3 && (slope + b.one + b.two).abs() < 1e-5);
    }

    #[test]
    fn log_concave_laws_have_no_critical_point() {
        for radial in [Radial::Gaussian, Radial::Ball] {
            let law = Isotropic::new(radial, 3).unwrap();
            for minus in [-0.9, -0.5, -0.1, 0.3] {
                assert!(CriticalPoint::relu(law, minus, 1.0).is_err(), "{law:?} {minus}");
            }
        }
    }

    /// The field vanishes at the critical points of other activations, and attracts along μ.
    #[test]
    fn critical_points_of_other_activations() {
        let heavy = Isotropic::new(Radial::Student { nu: 1.2 }, 3).unwrap();
        let normal = Isotropic::new(Radial::Gaussian, 3).unwrap();
        for (law, slopes, minus) in [(heavy, (0.1, 1.0), -1.0), (normal, (-1.0, 1.0), 0.3)] {
            let p = CriticalPoint::new(law, slopes, minus, 1.3).unwrap();
            let (rate, bias) = p.field(&[1.3, 0.0], p.bias());
            assert!(norm(&rate) < 1e-11 && bias.abs() < 1e-12, "{rate:?} {bias}");
            let b = p.betas();
            assert!(b.one > 0.0 && b.one + b.two * 1.69 > 0.0, "{b:?}");
        }
        let t3 = Isotropic::new(Radial::Student { nu: 3.0 }, 3).unwrap();
        for minus in [-3.0, -0.5, 0.5] {
            assert!(CriticalPoint::new(t3, (1.0, 1.0), minus, 1.0).is_err());
            assert!(CriticalPoint::new(t3, (0.1, 1.0), minus, 1.0).is_err());
        }
    }

    #[test]
    fn g_rises_with_slope_theta1_over_density() {
        let law = Isotropic::new(Radial::Student { nu: 3.0 }, 2).unwrap();
        for y in [0.1, 0.5, 0.9] {
            let h = 1e-5;
            let slope = (g(&law, y + h) - g(&law, y - h)) / (2.0 * h);
            assert!((slope / (y / law.density(theta1_inverse(&law, y))) - 1.0).abs() < 1e-6, "{y}");
        }
    }
}
