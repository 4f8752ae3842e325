//! Energy of linear attention: Denoising (A.21), (A.23).

use super::check_context;
use attnlab_core::error::{Result, positive};
use attnlab_core::linalg::symmetric_eigen;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

/// The naive spherical Hopfield model (A.21), $\mathcal E(X, s) = \frac{1}{2\gamma}\|s\|^2 - \frac1{2L} s^T X X^T s$.
#[derive(Clone, Debug, PartialEq)]
pub struct SphericalHopfield {
    /// Second moment $\frac1L X X^T$ (n, n).
    second: Array2<f64>,
    gamma: f64,
}

impl SphericalHopfield {
    /// Makes the model of a context X (n, L). (A.23) has γ = 1/(σ_0² + σ_Z²).
    ///
    /// # Errors
    /// If there is no token, a token is not finite, or γ is not a finite number > 0.
    ///
    /// ```
    /// use attnlab_theory::attention::linear_attention;
    /// use attnlab_theory::attention::memory::SphericalHopfield;
    /// use ndarray::{array, Array2};
    /// let (context, s) = (array![[1.0, 3.0], [2.0, 0.0]], array![0.5, -1.0]);
    /// let model = SphericalHopfield::new(context.view(), 0.25)?;
    /// // A step of size gamma is linear attention (A.20) with alpha beta = gamma.
    /// let (eye, scaled) = (Array2::eye(2), Array2::eye(2) * 0.25);
    /// let layer = linear_attention(context.view(), eye.view(), scaled.view(), s.view());
    /// assert!((model.step(s.view(), 0.25) - layer).iter().all(|x| x.abs() < 1e-14));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new(context: ArrayView2<f64>, gamma: f64) -> Result<Self> {
        check_context(context)?;
        positive("gamma", gamma)?;
        Ok(SphericalHopfield { second: context.dot(&context.t()) / context.ncols() as f64, gamma })
    }

    /// Computes the energy $\mathcal E(X, s)$ (A.21).
    pub fn energy(&self, s: ArrayView1<f64>) -> f64 {
        0.5 * (s.dot(&s) / self.gamma - s.dot(&self.second.dot(&s)))
    }

    /// Computes the gradient $\nabla_s\mathcal E$ (n,).
    pub fn gradient(&self, s: ArrayView1<f64>) -> Array1<f64> {
        &s / self.gamma - self.second.dot(&s)
    }

    /// Takes one gradient step of the given size.
    pub fn step(&self, s: ArrayView1<f64>, size: f64) -> Array1<f64> {
        &s - &(self.gradient(s) * size)
    }

    /// Computes the least eigenvalue of the Hessian $\frac1\gamma I - \frac1L XX^T$. If it is positive,
    /// the energy is positive definite and descent ends at 0.
    ///
    /// # Errors
    /// If the eigenvalues do not converge.
    pub fn least_curvature(&self) -> Result<f64> {
        let (values, _) = symmetric_eigen(self.second.view())?;
        Ok(1.0 / self.gamma - values[values.len() - 1])
    }
}
