//! Weights of the layer.

use attnlab_core::error::{Error, Result, require_shape};
use attnlab_core::linalg::Real;
use attnlab_core::rng::Streams;
use ndarray::{Array2, ShapeBuilder};
use rand::RngExt;

/// Trained entries of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All entries of both matrices, as in the authors' code.
    Full,
    /// Two numbers α and β: $W_{PV} = \alpha I$ and $W_{KQ} = \beta I$.
    ScaledIdentity,
}

attnlab_core::named!(Form, "form of the weights": Full = "full", ScaledIdentity = "scaled-identity");

/// Weights $W_{KQ}$ and $W_{PV}$, both (n, n). A gradient has the same shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights<T> {
    /// Merged key and query matrix $W_{KQ}$ (n, n).
    pub kq: Array2<T>,
    /// Merged projection and value matrix $W_{PV}$ (n, n).
    pub pv: Array2<T>,
}

impl<T: Real> Weights<T> {
    /// Makes the weights $W_{PV} = \alpha I$ and $W_{KQ} = \beta I$.
    pub fn scaled_identity(n: usize, alpha: f64, beta: f64) -> Self {
        let scaled = |c: f64| {
            let mut w = Array2::zeros((n, n).f());
            w.diag_mut().fill(T::of_f64(c));
            w
        };
        Weights { kq: scaled(beta), pv: scaled(alpha) }
    }

    /// Draws initial weights with independent entries, uniform on $\pm 1/\sqrt n$, as the authors do. For scaled
    /// identities, where the authors start both scales at 0.1, the scales are drawn from the same interval.
    ///
    /// ```
    /// use attnlab_theory::dynamics::{Form, Weights};
    /// use attnlab_core::rng::Streams;
    /// let start = Weights::<f64>::uniform(16, Form::Full, &Streams::new(1, "doc", 0, 0));
    /// assert!(start.kq.iter().chain(&start.pv).all(|w| w.abs() <= 0.25));
    /// assert!(start.alpha().abs() < 0.2); // the mean of 16 of them
    /// ```
    pub fn uniform(n: usize, form: Form, streams: &Streams) -> Self {
        let mut rng = streams.part("weights", 0);
        let mut entry = || (2.0 * rng.random::<f64>() - 1.0) / (n as f64).sqrt();
        match form {
            Form::ScaledIdentity => {
                let (beta, alpha) = (entry(), entry());
                Self::scaled_identity(n, alpha, beta)
            }
            Form::Full => {
                let mut matrix = || {
                    let mut w = Array2::zeros((n, n).f());
                    w.mapv_inplace(|_: T| T::of_f64(entry()));
                    w
                };
                Weights { kq: matrix(), pv: matrix() }
            }
        }
    }

    /// Returns α, the mean of the diagonal of $W_{PV}$.
    pub fn alpha(&self) -> f64 {
        mean_diagonal(&self.pv)
    }

    /// Returns β, the mean of the diagonal of $W_{KQ}$.
    pub fn beta(&self) -> f64 {
        mean_diagonal(&self.kq)
    }

    /// Checks that both matrices are (n, n) and finite.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Invalid`] with the name of the matrix.
    pub fn validate(&self, n: usize) -> Result<()> {
        for (name, w) in [("W_KQ", &self.kq), ("W_PV", &self.pv)] {
            let expected = format!("(n, n) = ({n}, {n}), the components of a token");
            require_shape(w.dim() == (n, n), name, w.dim(), expected)?;
            if let Some(bad) = w.iter().find(|x| !x.is_finite()) {
                return Err(Error::invalid(name, bad, "must be finite numbers only"));
            }
        }
        Ok(())
    }

    /// Returns the trained parameters as one list.
    pub(super) fn parameters(&self, form: Form) -> Vec<T> {
        match form {
            Form::Full => self.kq.iter().chain(&self.pv).copied().collect(),
            Form::ScaledIdentity => vec![T::of_f64(self.beta()), T::of_f64(self.alpha())],
        }
    }

    /// Writes back the parameters in the order of [`Weights::parameters`].
    pub(super) fn set(&mut self, form: Form, parameters: &[T]) {
        match form {
            Form::Full => {
                self.kq.iter_mut().chain(&mut self.pv).zip(parameters).for_each(|(w, p)| *w = *p);
            }
            Form::ScaledIdentity => {
                self.kq.diag_mut().fill(parameters[0]);
                self.pv.diag_mut().fill(parameters[1]);
            }
        }
    }

    /// Returns the derivatives by [`Weights::parameters`] from a gradient.
    pub(super) fn derivatives(&self, form: Form) -> Vec<T> {
        match form {
            Form::Full => self.parameters(form),
            Form::ScaledIdentity => {
                [&self.kq, &self.pv].map(|w| w.diag().iter().fold(T::zero(), |sum, x| sum + *x)).to_vec()
            }
        }
    }
}

fn mean_diagonal<T: Real>(w: &Array2<T>) -> f64 {
    w.diag().iter().map(|x| x.as_f64()).sum::<f64>() / w.nrows() as f64
}
