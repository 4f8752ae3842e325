//! Dense associative memory: the energy for which one-layer softmax attention is a gradient step
//! (Denoising, Section 4 and Appendix H).
//!
//! The clean tokens of a context are the memories, and the query is the initial state:
//! $$\mathcal E(X, s) = \frac{1}{2\alpha}\|s\|^2 - \frac1\beta
//!   \log\sum_{t=1}^L e^{\beta\langle X_t, s\rangle},
//!   \qquad s \mapsto s - \gamma\nabla\mathcal E
//!   = \Big(1 - \frac\gamma\alpha\Big) s + \gamma X\,\mathrm{softmax}(\beta X^T s). \tag{7, 8}$$
//! With $\gamma = \alpha$ a step from the query is the attention layer (5) with $W_{PV} = \alpha I$ and
//! $W_{KQ} = \beta I$.
//!
//! - [`DenseMemory`]: energy, gradient, Hessian, descent with any step size and number of steps;
//! - [`Minima`]: the states in which descent ends, from a grid in two dimensions or from any starts in
//!   more, and the minima among them that are context tokens;
//! - [`SphericalHopfield`]: the corresponding energy of linear attention, (A.21), (A.23);
//! - [`symmetry`]: conditions on the weights under which a softmax layer is a gradient, (A.24) and (A.25).

mod hopfield;
mod minima;
pub mod symmetry;

pub use hopfield::SphericalHopfield;
pub use minima::{Minima, Minimum};

use super::{Nonlinearity, Softmax};
use attnlab_core::error::{Result, at_least, require, require_shape};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

/// Energy of one context, Denoising Eq. (7).
#[derive(Clone, Debug, PartialEq)]
pub struct DenseMemory {
    context: Array2<f64>,
    alpha: f64,
    beta: f64,
}

impl DenseMemory {
    /// Makes the memory of a context X (n, L) with scales α and β.
    ///
    /// # Errors
    /// If there is no token, a token, α or β is not finite, or α or β is 0.
    ///
    /// ```
    /// use attnlab_theory::attention::memory::DenseMemory;
    /// use ndarray::array;
    /// let memory = DenseMemory::new(array![[1.0, -1.0]].view(), 1.0, 0.5)?;
    /// // Two tokens at +-1: s^2/2 - 2 log(2 cosh(s/2)), and one step leads to tanh(s/2).
    /// let s = array![0.3];
    /// let exact = 0.045 - 2.0 * (2.0 * 0.15_f64.cosh()).ln();
    /// // A dozen operations on numbers up to 2, each rounded by half an ε of them.
    /// let rounding = 12.0 * f64::EPSILON;
    /// assert!((memory.energy(s.view()) - exact).abs() < rounding);
    /// assert!((memory.step(s.view(), 1.0)[0] - 0.15_f64.tanh()).abs() < rounding);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new(context: ArrayView2<f64>, alpha: f64, beta: f64) -> Result<Self> {
        check_context(context)?;
        for (name, value) in [("alpha", alpha), ("beta", beta)] {
            let allowed = "must be a finite number other than 0; the energy divides by it";
            require(value != 0.0 && value.is_finite(), name, value, allowed)?;
        }
        Ok(DenseMemory { context: context.to_owned(), alpha, beta })
    }

    /// Returns the tokens X (n, L).
    pub fn context(&self) -> ArrayView2<'_, f64> {
        self.context.view()
    }

    /// Returns the scale α.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Returns the scale β.
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// Computes the energy $\mathcal E(X, s)$, Denoising Eq. (7).
    pub fn energy(&self, s: ArrayView1<f64>) -> f64 {
        let scores = self.scores(s);
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|x| (x - largest).exp()).sum();
        s.dot(&s) / (2.0 * self.alpha) - (largest + sum.ln()) / self.beta
    }

    /// Computes $\mathrm{softmax}(\beta X^T s)$ (L,): the weight of each token.
    pub fn weights(&self, s: ArrayView1<f64>) -> Array1<f64> {
        let mut weights = self.scores(s);
        Softmax.apply(&mut weights);
        Array1::from(weights)
    }

    /// Computes $\alpha X\,\mathrm{softmax}(\beta X^T s)$ (n,): the attention layer, equal to a step with γ = α.
    pub fn attend(&self, s: ArrayView1<f64>) -> Array1<f64> {
        self.context.dot(&self.weights(s)) * self.alpha
    }

    /// Computes the gradient $\nabla_s\mathcal E$ (n,).
    pub fn gradient(&self, s: ArrayView1<f64>) -> Array1<f64> {
        (&s - &self.attend(s)) / self.alpha
    }

    /// Computes the Hessian $\nabla_s^2\mathcal E = \frac1\alpha I - \beta X(\mathrm{diag}(g) - gg^T)X^T$
    /// (n, n) with g the weights; the second term holds the covariance of the tokens under g.
    pub fn hessian(&self, s: ArrayView1<f64>) -> Array2<f64> {
        let mut hessian = symmetry::weighted_covariance(self.context.view(), self.weights(s).view());
        hessian *= -self.beta;
        hessian.diag_mut().mapv_inplace(|x| x + 1.0 / self.alpha);
        hessian
    }

    /// Takes one step of size γ, Denoising Eq. (8).
    pub fn step(&self, s: ArrayView1<f64>, gamma: f64) -> Array1<f64> {
        // With γ/α computed first, γ = α gives the attention layer to the bit.
        let share = gamma / self.alpha;
        &s * (1.0 - share) + self.attend(s) * share
    }

    /// Returns the states s(0), .., s(`steps`) of descent (8) from `start`, as columns (n, `steps` + 1).
    ///
    /// # Errors
    /// If the length of `start` differs from that of the tokens, or `start` or γ is not finite.
    ///
    /// ```
    /// use attnlab_theory::attention::memory::DenseMemory;
    /// use ndarray::{array, Axis};
    /// let memory = DenseMemory::new(array![[1.0, 0.0], [0.0, 1.0]].view(), 1.0, 0.1)?;
    /// let path = memory.descend(array![3.0, -2.0].view(), 1.0, 60)?;
    /// // At this temperature all is forgotten but the mean of the tokens. A step shrinks what is left by 20, so that only
    /// // the roundings of the last one remain: a dozen operations on numbers up to 1.
    /// let rounding = 12.0 * f64::EPSILON;
    /// assert!((&path.column(60) - &array![0.5, 0.5]).iter().all(|x| x.abs() < rounding));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn descend(&self, start: ArrayView1<f64>, gamma: f64, steps: usize) -> Result<Array2<f64>> {
        self.check_state(start)?;
        require(gamma.is_finite(), "gamma", gamma, "must be a finite number")?;
        let mut path = Array2::zeros((start.len(), steps + 1));
        path.column_mut(0).assign(&start);
        for k in 0..steps {
            let next = self.step(path.column(k), gamma);
            path.column_mut(k + 1).assign(&next);
        }
        Ok(path)
    }

    fn scores(&self, s: ArrayView1<f64>) -> Vec<f64> {
        (self.context.t().dot(&s) * self.beta).to_vec()
    }

    fn check_state(&self, s: ArrayView1<f64>) -> Result<()> {
        let expected = format!("the n = {} components of the tokens", self.context.nrows());
        require_shape(s.len() == self.context.nrows(), "state", s.len(), expected)?;
        check_finite("state", s)
    }
}

/// Checks that the context is not empty and has finite entries.
fn check_context(context: ArrayView2<f64>) -> Result<()> {
    require_shape(context.nrows() > 0, "context", context.dim(), "(n, L) with n >= 1")?;
    at_least("L", context.ncols(), 1)?;
    check_finite("context", context)
}

fn check_finite<'a>(name: &str, entries: impl IntoIterator<Item = &'a f64>) -> Result<()> {
    entries.into_iter().try_for_each(|x| require(x.is_finite(), name, x, "must be finite numbers only"))
}
