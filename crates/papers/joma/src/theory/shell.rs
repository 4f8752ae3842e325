//! A blurred sphere: an isotropic law whose coordinates may have two modes.
//!
//! x = R u + σ g with u uniform on the unit sphere of n dimensions and g standard normal. One coordinate is
//! R s + σ g, s a coordinate of u, whose density is $(1 - s^2)^{(n-3)/2}$ up to a factor: two points for n = 1,
//! large at the ends for n = 2, flat for n = 3, and largest in the middle beyond. Every isotropic law is a mixture of
//! spheres, so that from three dimensions on the density of a coordinate falls with |t| for every isotropic law.

use attnlab_core::error::{self, Result};
use attnlab_core::quadrature::{integrate_panels, panels_about};
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

    /// The mean of f(R s - `place`) over the coordinate s of the sphere, for an f that changes about 0 over the width σ.
    fn over_sphere(&self, place: f64, f: impl Fn(f64) -> f64) -> f64 {
        if self.dim == 1 {
            return 0.5 * (f(self.radius - place) + f(-self.radius - place));
        }
        let n = self.dim as f64;
        let factor = (lgamma(0.5 * n) - lgamma(0.5 * (n - 1.0))).exp() / PI.sqrt();
        // Over x = a - a₀ with s = cos a, and a₀ the angle of the point that is nearest to the place. That point's distance
        // and a product that does not cancel are R s - place.
        let nearest = place.clamp(-self.radius, self.radius);
        let start = (nearest / self.radius).acos();
        let integrand = |x: f64| {
            let distance = nearest - place - 2.0 * self.radius * (start + 0.5 * x).sin() * (0.5 * x).sin();
            f(distance) * (start + x).sin().powi(self.dim as i32 - 2)
        };
        // In the angle the blur has the width σ/R, or more at the poles, and the sphere 1/√n about the equator.
        let ends = panels_about((-start, PI - start), 0.0, self.width / self.radius, 0.5_f64.min(1.0 / n.sqrt()));
        factor * integrate_panels(integrand, &ends, ACCURACY)
    }

    /// The density $p_n(t)$ of one coordinate.
    pub fn density(&self, t: f64) -> f64 {
        self.over_sphere(t, |d| ln_normal_density(d / self.width).exp() / self.width)
    }

    /// The mean θ_1(ρ) = P[t > -ρ] under ReLU.
    pub fn theta1(&self, rho: f64) -> f64 {
        self.over_sphere(-rho, |d| normal_cdf(d / self.width))
    }

    /// The function F(ρ) = E max(t + ρ, 0) under ReLU.
    pub fn f(&self, rho: f64) -> f64 {
        self.over_sphere(-rho, |d| {
            let u = d / self.width;
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

    /// With next to no blur: the arcsine law, and by Archimedes the uniform one, half of which is left at its end.
    #[test]
    fn a_thin_shell_is_seen() {
        for width in [1e-4, 1e-6, 1e-12] {
            let (ring, sphere) = (Shell::new(2, 2.0, width).unwrap(), Shell::new(3, 2.0, width).unwrap());
            for t in [-1.7_f64, 0.0, 0.3, 1.1] {
                let arcsine = 1.0 / (std::f64::consts::PI * (4.0 - t * t).sqrt());
                assert!((ring.density(t) / arcsine - 1.0).abs() < 2.0 * width + 1e-8, "{width} {t}");
                assert!((sphere.density(t) - 0.25).abs() < 1e-8, "{width} {t}");
            }
            assert!((sphere.density(2.0) - 0.125).abs() < 1e-8, "{width}: {}", sphere.density(2.0));
        }
    }

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
