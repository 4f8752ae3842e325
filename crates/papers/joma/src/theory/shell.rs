//! A blurred sphere: an isotropic law whose coordinates may have two modes.
//!
//! x = R u + σ g with u uniform on the unit sphere of n dimensions and g standard normal. One coordinate is
//! R s + σ g, s a coordinate of u, whose density is $(1 - s^2)^{(n-3)/2}$ up to a factor: two points for n = 1,
//! large at the ends for n = 2, flat for n = 3, and largest in the middle beyond. Every isotropic law is a mixture of
//! spheres, so that from three dimensions on the density of a coordinate falls with |t| for every isotropic law.

use attnlab_core::error::{self, Result};
use attnlab_core::quadrature::integrate;
use attnlab_core::special::{ln_normal_density, normal_cdf};
use libm::lgamma;
use std::f64::consts::PI;

/// The law of R u + σ g.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shell {
    dim: usize,
    radius: f64,
    width: f64,
}

/// Accuracy of the quadrature over the sphere, relative to the whole.
const ACCURACY: f64 = 1e-13;

impl Shell {
    /// The sphere of this radius R in n = `dim` dimensions, blurred by normal noise of standard deviation σ = `width`.
    ///
    /// # Errors
    /// No dimensions; a radius or width that is not positive.
    ///
    /// ```
    /// use attnlab_joma::theory::Shell;
    /// let ring = Shell::new(2, 3.0, 0.3)?;
    /// assert!(ring.density(3.0) > 1.5 * ring.density(0.0)); // two modes
    /// let sphere = Shell::new(3, 3.0, 0.3)?;
    /// assert!((sphere.density(0.0) - 1.0 / 6.0).abs() < 1e-12); // flat: Archimedes
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new(dim: usize, radius: f64, width: f64) -> Result<Self> {
        error::at_least("dim", dim, 1)?;
        error::positive("radius", radius)?;
        error::positive("width", width)?;
        Ok(Shell { dim, radius, width })
    }

    /// The mean of f(R s) over the coordinate s of the sphere.
    fn over_sphere(&self, f: impl Fn(f64) -> f64) -> f64 {
        if self.dim == 1 {
            return 0.5 * (f(self.radius) + f(-self.radius));
        }
        let n = self.dim as f64;
        let factor = (lgamma(0.5 * n) - lgamma(0.5 * (n - 1.0))).exp() / PI.sqrt();
        let integrand = |a: f64| f(self.radius * a.cos()) * a.sin().powi(self.dim as i32 - 2);
        // The blur has the width σ/R in the angle.
        factor * integrate(integrand, 0.0, PI, (self.width / self.radius).clamp(0.05, 0.5), ACCURACY)
    }

    /// The density $p_n(t)$ of one coordinate.
    pub fn density(&self, t: f64) -> f64 {
        self.over_sphere(|s| ln_normal_density((t - s) / self.width).exp() / self.width)
    }

    /// The mean θ_1(ρ) = P[t > -ρ] under ReLU.
    pub fn theta1(&self, rho: f64) -> f64 {
        self.over_sphere(|s| normal_cdf((rho + s) / self.width))
    }

    /// The function F(ρ) = E max(t + ρ, 0) under ReLU.
    pub fn f(&self, rho: f64) -> f64 {
        self.over_sphere(|s| {
            let u = (rho + s) / self.width;
            self.width * (ln_normal_density(u).exp() + u * normal_cdf(u))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Shell;

    /// mpmath at 30 digits: means of the normal law's density, distribution function and E max(t + ρ, 0) over the
    /// arcsine law of a coordinate of the circle, R = 2, σ = .4, at .7.
    #[test]
    fn a_ring_agrees_with_mpmath() {
        let ring = Shell::new(2, 2.0, 0.4).unwrap();
        assert!((ring.density(0.7) - RING[0]).abs() < 1e-12);
        assert!((ring.theta1(0.7) - RING[1]).abs() < 1e-12);
        assert!((ring.f(0.7) - RING[2]).abs() < 1e-12);
    }

    const RING: [f64; 3] = [0.177_225_878_180_090_09, 0.617_042_270_795_893_2, 1.039_881_222_956_103_3];

    /// θ_1 and F are integrals of the density, in every dimension.
    #[test]
    fn derivatives() {
        for dim in [1, 2, 3, 7] {
            let shell = Shell::new(dim, 1.7, 0.3).unwrap();
            for rho in [-1.6, 0.2, 1.9] {
                let h = 1e-4;
                let slope = |f: &dyn Fn(f64) -> f64| (f(rho + h) - f(rho - h)) / (2.0 * h);
                assert!((slope(&|r| shell.theta1(r)) - shell.density(rho)).abs() < 1e-6, "{dim} {rho}");
                assert!((slope(&|r| shell.f(r)) - shell.theta1(rho)).abs() < 1e-6, "{dim} {rho}");
            }
        }
    }
}
