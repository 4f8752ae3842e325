//! Prediction and test risk of the trained layer: the notes' second theorem, printed and corrected.
//!
//! At the [limit of training](super) the prediction after M test examples is
//! $\hat y = x^T\hat\theta$ with $\hat\theta = \Gamma^{-1}\hat b$, $\hat b = \frac1M\sum y_ix_i$. Let
//! the test examples be independent with $x \sim N(0, \Lambda_t)$, $r = \mathbb E\,xy$,
//! $a = \Lambda_t^{-1}r$ and $\Sigma = \mathrm{Cov}(xy)$. Then $\mathbb E\hat b = r$, $\mathrm{Cov}(\hat b) =
//! \Sigma/M$, and for any θ $\mathbb E(x^T\theta - y)^2 = \min + \|\theta - a\|_{\Lambda_t}^2$, so exactly
//! $$\mathbb E(\hat y - y)^2 = \min_w \mathbb E(\langle w, x\rangle - y)^2 +
//! \tfrac1M\mathrm{tr}(\Sigma\,\Gamma^{-1}\Lambda_t\Gamma^{-1}) + \|(\Gamma^{-1}\Lambda_t - I)a\|_{\Lambda_t}^2.$$
//! Without shift, $\Lambda_t = \Lambda$, $\Gamma^{-1}\Lambda - I = -\frac1N\Gamma^{-1}(\Lambda + \mathrm{tr}(\Lambda) I)$
//! turns the last two terms into
//! $$\tfrac1M\mathrm{tr}(\Sigma\Gamma^{-2}\Lambda) + \tfrac{1}{N^2}\big(\|a\|^2_{\Gamma^{-2}\Lambda^3} +
//! 2\,\mathrm{tr}(\Lambda)\|a\|^2_{\Gamma^{-2}\Lambda^2} + \mathrm{tr}(\Lambda)^2\|a\|^2_{\Gamma^{-2}\Lambda}\big),$$
//! where the notes print $\Lambda^{-2}\Lambda$ four times.
//!
//! The query may have another law than the examples, with covariance $\Lambda_q$ and
//! $a_q = \Lambda_q^{-1}\mathbb E_q xy$. Then $\hat\theta$ keeps its law and is only measured otherwise:
//! $$\mathbb E(\hat y - y)^2 = \min_w \mathbb E_q(\langle w, x\rangle - y)^2 +
//! \tfrac1M\mathrm{tr}(\Sigma\,\Gamma^{-1}\Lambda_q\Gamma^{-1}) + \|\Gamma^{-1}r - a_q\|_{\Lambda_q}^2.$$
//! For a linear target $a_q = a$: as $N, M \to \infty$ a shift of the query costs nothing, where one of the
//! examples does not go away.

use super::{Covariance, Pretraining};
use attnlab_core::error::{Error, Result, require_shape};
use attnlab_core::linalg::{Threads, gemm};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

/// A nonlinear function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// 1 for s > 0, else -1.
    Sign,
    /// max(s, 0): the labels have a mean.
    Relu,
    /// s³.
    Cube,
}

impl Link {
    /// Names of the links, in the order of [`Link::ALL`].
    pub const NAMES: [&'static str; 3] = ["sign", "relu", "cube"];
    /// All links.
    pub const ALL: [Link; 3] = [Link::Sign, Link::Relu, Link::Cube];

    /// The link with this name.
    ///
    /// # Errors
    /// An unknown name, with the known ones.
    pub fn parse(name: &str) -> Result<Link> {
        let place = Self::NAMES.iter().position(|n| *n == name);
        let unknown = || Error::unknown("link", name, Self::NAMES);
        place.map(|i| Self::ALL[i]).ok_or_else(unknown)
    }

    /// Value g(s).
    pub fn value(self, s: f64) -> f64 {
        match self {
            Link::Sign if s > 0.0 => 1.0,
            Link::Sign => -1.0,
            Link::Relu => s.max(0.0),
            Link::Cube => s.powi(3),
        }
    }

    /// E g(s)s, E g(s)² and E g(s)²s² for s ~ N(0, `variance`).
    fn moments(self, variance: f64) -> (f64, f64, f64) {
        let q = variance;
        match self {
            Link::Sign => ((2.0 * q / std::f64::consts::PI).sqrt(), 1.0, q),
            Link::Relu => (q / 2.0, q / 2.0, 1.5 * q * q),
            Link::Cube => (3.0 * q * q, 15.0 * q.powi(3), 105.0 * q.powi(4)),
        }
    }
}

/// Label as a function of x; label noise comes on top.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Linear label ⟨a, x⟩.
    Linear {
        /// Weights a (d).
        task: Array1<f64>,
    },
    /// Quadratic label ⟨a, x⟩ + xᵀFx.
    Quadratic {
        /// Weights a (d).
        task: Array1<f64>,
        /// Symmetric matrix F (d, d).
        form: Array2<f64>,
    },
    /// Label g(⟨a, x⟩).
    Index {
        /// Weights a (d), not 0.
        task: Array1<f64>,
        /// Link g.
        link: Link,
    },
}

impl Target {
    /// Dimension d of x.
    pub fn dim(&self) -> usize {
        self.task().len()
    }

    fn task(&self) -> &Array1<f64> {
        match self {
            Target::Linear { task } | Target::Quadratic { task, .. } | Target::Index { task, .. } => task,
        }
    }

    /// Refuses a target that does not fit a covariance of dimension d, or is not finite.
    ///
    /// # Errors
    /// Names what is wrong.
    pub fn validate(&self, d: usize) -> Result<()> {
        let task = self.task();
        require_shape(task.len() == d, "task", task.len(), format!("{d} entries, as the covariance has rows"))?;
        if let Some(bad) = task.iter().find(|x| !x.is_finite()) {
            return Err(Error::invalid("task", bad, "must be finite numbers"));
        }
        match self {
            Target::Quadratic { form, .. } => {
                let good = form.dim() == (d, d) && form.iter().all(|x| x.is_finite()) && form == form.t();
                require_shape(good, "form", form.dim(), format!("a finite symmetric ({d}, {d}) matrix"))
            }
            Target::Index { task, .. } if task.iter().all(|x| *x == 0.0) => {
                Err(Error::invalid("task", "0", "must be a task that is not 0, under a nonlinear target"))
            }
            _ => Ok(()),
        }
    }

    /// The label at x, without noise.
    pub fn value(&self, x: ArrayView1<f64>) -> f64 {
        let along = self.task().dot(&x);
        match self {
            Target::Linear { .. } => along,
            Target::Quadratic { form, .. } => along + x.dot(&form.dot(&x)),
            Target::Index { link, .. } => link.value(along),
        }
    }

    /// The moments of (x, y) for x ~ N(0, Λ) and label noise of variance `noise_var`, by Isserlis' theorem.
    pub fn moments(&self, covariance: &Covariance, noise_var: f64) -> LabelMoments {
        let l = covariance.matrix();
        let la = l.dot(self.task());
        let along = self.task().dot(&la);
        let outer = |x: &Array1<f64>| Array2::from_shape_fn(l.dim(), |(i, j)| x[i] * x[j]);
        let (correlation, square, residual, second) = match self {
            Target::Linear { .. } => (la.clone(), along, 0.0, l * along + outer(&la) * 2.0),
            Target::Quadratic { form, .. } => {
                let lfl = times(times(l.view(), form.view()).view(), l.view());
                let (t, q) = (trace(form, l), trace(form, &lfl));
                let fourth = times(times(lfl.view(), form.view()).view(), l.view());
                let residual = t * t + 2.0 * q;
                let square = along + residual;
                let second = l * square + outer(&la) * 2.0 + lfl * (4.0 * t) + fourth * 8.0;
                (la, square, residual, second)
            }
            Target::Index { link, .. } => {
                // Along s = ⟨a, x⟩ alone: x = Λa s/q + rest, the rest independent of s.
                let (first, square, second) = link.moments(along);
                let excess = (second / along - square) / along;
                let second = l * square + outer(&la) * excess;
                (la * (first / along), square, square - first * first / along, second)
            }
        };
        let second = second + l * noise_var;
        let products = second - outer(&correlation);
        LabelMoments { correlation, products, square: square + noise_var, residual: residual + noise_var }
    }
}

/// tr(AB) of symmetric matrices.
fn trace(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    (a * b).sum()
}

fn times(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    let mut c = Array2::zeros((a.nrows(), b.ncols()));
    gemm(1.0, a, b, false, c.view_mut(), Threads::One);
    c
}

/// The moments that the risk depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelMoments {
    /// Correlation r = E xy (d).
    pub correlation: Array1<f64>,
    /// Covariance Σ = Cov(xy) (d, d).
    pub products: Array2<f64>,
    /// Second moment E y².
    pub square: f64,
    /// What the best linear predictor leaves of it, $\mathbb E y^2 - r^\top\Lambda^{-1}r$.
    pub residual: f64,
}

/// A test risk E(ŷ - y)² in its three parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Risk {
    /// Risk of the best linear predictor.
    pub best: f64,
    /// Excess from the finite test context: falls like 1/M.
    pub variance: f64,
    /// Excess from the finite training contexts, like 1/N² without shift, and from the shift.
    pub bias: f64,
}

impl Risk {
    /// Sum of the three parts.
    pub fn total(&self) -> f64 {
        self.best + self.excess()
    }

    /// Excess over the best linear predictor.
    pub fn excess(&self) -> f64 {
        self.variance + self.bias
    }
}

/// The best linear predictor, a = Λ_t⁻¹r.
fn best_linear(test: &Covariance, moments: &LabelMoments) -> Array1<f64> {
    test.with_values(&test.values().mapv(|l| 1.0 / l)).dot(&moments.correlation)
}

/// The risk of the layer after training, on M test examples (infinitely many where None) with
/// covariance `test` and these moments: derived in [the module](self).
///
/// ```
/// use attnlab_lsa::theory::{Covariance, Target, Pretraining, risk};
/// use ndarray::array;
/// let training = Pretraining::new(Covariance::diagonal(&[1.0, 2.0])?, 5, 0.0)?;
/// let test = training.covariance();
/// let moments = Target::Linear { task: array![1.0, -1.0] }.moments(test, 0.1);
/// let expected = risk(&training, test, &moments, Some(10));
/// // By hand: Γ = diag(1.8, 3), (Γ⁻¹Λ - I)a = (-4/9, 1/3), and Σ = diag(4.1, 10.2) off-diagonal -2.
/// assert!((expected.bias - (16.0 / 81.0 + 2.0 / 9.0)).abs() < 1e-14);
/// assert!((expected.variance - (4.1 / 3.24 + 2.0 * 10.2 / 9.0) / 10.0).abs() < 1e-14);
/// assert!((expected.best - 0.1).abs() < 1e-14);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn risk(training: &Pretraining, test: &Covariance, moments: &LabelMoments, examples: Option<usize>) -> Risk {
    let law = Law { covariance: test, moments };
    risk_at_query(training, law, law, examples)
}

/// A law of test data, as far as the risk depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Law<'a> {
    /// Covariance of x.
    pub covariance: &'a Covariance,
    /// Moments of x and y.
    pub moments: &'a LabelMoments,
}

/// The risk where the query has another law than the M examples: derived in [the module](self).
///
/// ```
/// use attnlab_lsa::theory::{Covariance, Law, Target, Pretraining, risk_at_query};
/// use ndarray::array;
/// let training = Pretraining::new(Covariance::diagonal(&[1.0, 2.0])?, 5, 0.0)?;
/// let (examples, query) = (training.covariance(), Covariance::diagonal(&[4.0, 0.5])?);
/// let target = Target::Linear { task: array![1.0, -1.0] };
/// let (m, q) = (target.moments(examples, 0.1), target.moments(&query, 0.1));
/// let expected = risk_at_query(
///     &training,
///     Law { covariance: examples, moments: &m },
///     Law { covariance: &query, moments: &q },
///     Some(10),
/// );
/// // By hand: the numbers of `risk`, with the axes weighted 4 and 1/2 instead of 1 and 2.
/// assert!((expected.bias - (4.0 * 16.0 / 81.0 + 0.5 / 9.0)).abs() < 1e-14);
/// assert!((expected.variance - (4.0 * 4.1 / 3.24 + 0.5 * 10.2 / 9.0) / 10.0).abs() < 1e-14);
/// assert!((expected.best - 0.1).abs() < 1e-14);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn risk_at_query(training: &Pretraining, examples: Law, query: Law, count: Option<usize>) -> Risk {
    let a = best_linear(query.covariance, query.moments);
    let (gi, lambda) = (training.gamma_inverse(), query.covariance.matrix());
    let error = gi.dot(&examples.moments.correlation) - &a;
    let inner = times(times(gi.view(), lambda.view()).view(), gi.view());
    let variance = trace(&examples.moments.products, &inner);
    Risk {
        best: query.moments.residual,
        variance: count.map_or(0.0, |m| variance / m as f64),
        bias: error.dot(&lambda.dot(&error)),
    }
}

/// The risk as the notes print it, with $\Lambda^{-2}\Lambda$ throughout; without shift only.
pub fn printed_risk(training: &Pretraining, moments: &LabelMoments, examples: usize) -> Risk {
    let covariance = training.covariance();
    let a = best_linear(covariance, moments);
    let inverse = covariance.with_values(&covariance.values().mapv(|l| 1.0 / l));
    let (n, tr) = (training.context() as f64, covariance.trace());
    let norm = a.dot(&inverse.dot(&a));
    Risk {
        best: moments.residual,
        variance: trace(&moments.products, &inverse) / examples as f64,
        bias: (1.0 + 2.0 * tr + tr * tr) * norm / (n * n),
    }
}
