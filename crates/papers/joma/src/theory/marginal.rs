//! Laws of one coordinate by name, and the right sides of Lemmas 1 and 2.

use super::bisection::inverse;
use super::isotropic::mean_slope;
use super::{Isotropic, Radial};
use attnlab_core::error::{Error, Result, require, require_shape};

/// The law $p_n$ of one coordinate of an isotropic law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Marginal {
    /// That of a Gaussian, Student or ball law.
    Of(Isotropic),
    /// Laplace: $e^{-|t|}/2$, for which (58) is an equality.
    Laplace,
}

/// Slopes (c_-, c_+) of a homogeneous activation.
type Slopes = (f64, f64);

impl Marginal {
    /// Names of the laws.
    pub const NAMES: [&'static str; 4] = ["student", "gaussian", "ball", "laplace"];

    /// The law with this name; ν for Student's law, n for the ball.
    ///
    /// # Errors
    /// An unknown name, or what [`Isotropic::new`] refuses.
    pub fn parse(name: &str, nu: f64, dim: usize) -> Result<Self> {
        let radial = match name {
            "student" => Radial::Student { nu },
            "gaussian" => Radial::Gaussian,
            "ball" => Radial::Ball,
            "laplace" => return Ok(Marginal::Laplace),
            _ => return Err(Error::unknown("law", name, Self::NAMES)),
        };
        Ok(Marginal::Of(Isotropic::new(radial, dim)?))
    }

    /// The density $p_n(t)$.
    pub fn density(&self, t: f64) -> f64 {
        match self {
            Marginal::Of(law) => law.density(t),
            Marginal::Laplace => 0.5 * (-t.abs()).exp(),
        }
    }

    /// The mean θ_1(ρ).
    ///
    /// ```
    /// use attnlab_joma::theory::marginal::Marginal;
    /// let laplace = Marginal::parse("laplace", 3.0, 1)?;
    /// // A few operations on numbers up to 1, each rounded by half an ε.
    /// let (tail, rounding) = (0.5 * (-1.0_f64).exp(), 8.0 * f64::EPSILON);
    /// assert!((laplace.theta1((0.0, 1.0), -1.0) - tail).abs() < rounding);
    /// assert!((laplace.f((0.0, 1.0), -1.0) - tail).abs() < rounding);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn theta1(&self, slopes: Slopes, rho: f64) -> f64 {
        match self {
            Marginal::Of(law) => law.theta1(slopes, rho),
            Marginal::Laplace => {
                let within = -0.5 * (-rho.abs()).exp_m1();
                mean_slope(slopes, rho, within, || 0.5 * (-rho.abs()).exp())
            }
        }
    }

    /// The mean θ_2(ρ).
    pub fn theta2(&self, slopes: Slopes, rho: f64) -> f64 {
        match self {
            Marginal::Of(law) => law.theta2(slopes, rho),
            Marginal::Laplace => (slopes.1 - slopes.0) * 0.5 * (1.0 + rho.abs()) * (-rho.abs()).exp(),
        }
    }

    /// The function F(ρ) = θ_2(ρ) + ρ θ_1(ρ).
    pub fn f(&self, slopes: Slopes, rho: f64) -> f64 {
        self.theta2(slopes, rho) + rho * self.theta1(slopes, rho)
    }

    /// The curve G(y) = F(θ_1^{-1}(y)) of (57), for y between the slopes, by bisection.
    ///
    /// # Errors
    /// A y that is not strictly between the slopes.
    ///
    /// ```
    /// use attnlab_joma::theory::marginal::Marginal;
    /// let laplace = Marginal::parse("laplace", 3.0, 1)?;
    /// // F = θ_1 on ρ < 0.
    /// assert!((laplace.g((0.0, 1.0), 0.3)? - 0.3).abs() < 1e-14);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn g(&self, slopes: Slopes, y: f64) -> Result<f64> {
        let share = (y - slopes.0) / (slopes.1 - slopes.0);
        let allowed = format!("must be strictly between slopes = {} and {}, the values of theta_1", slopes.0, slopes.1);
        require(share > 0.0 && share < 1.0, "y", y, allowed)?;
        Ok(self.f(slopes, inverse(|rho| self.theta1((0.0, 1.0), rho), share)))
    }

    /// The right sides of (23) for R = I: E xψ, by entry, then Eψ; at ρ = r/|v|, or, printed, at r over |v|³ and
    /// |v|.
    ///
    /// # Errors
    /// A weight of length 0, or one of another dimension than the mean.
    pub fn lemma1(&self, slopes: Slopes, plane: &Plane, printed: bool) -> Result<Vec<f64>> {
        let Plane { v, mean, xi } = plane;
        let expected = format!("one number per entry of the weight, {} of them", v.len());
        require_shape(v.len() == mean.len(), "mean", [mean.len()], expected)?;
        let length = v.iter().copied().fold(0.0, f64::hypot);
        require(length != 0.0, "weight", "of length 0", "must not be 0")?;
        let r = v.iter().zip(mean).map(|(v, x)| v * x).sum::<f64>() + xi;
        let rho = if printed { r } else { r / length };
        let (theta1, theta2) = (self.theta1(slopes, rho), self.theta2(slopes, rho));
        let (on_mean, on_v) = match printed {
            true => (theta1 / length, theta2 / length.powi(3)),
            false => (theta1, theta2 / length),
        };
        Ok(mean.iter().zip(v).map(|(x, v)| on_mean * x + on_v * v).chain([on_mean]).collect())
    }
}

/// The weight and the bias of a node, and the mean of its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// Weight v.
    pub v: Vec<f64>,
    /// Mean x̄ of the inputs.
    pub mean: Vec<f64>,
    /// Bias ξ.
    pub xi: f64,
}
