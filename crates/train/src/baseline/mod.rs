//! Baselines of in-context regression: estimators that see the same examples as the network. Least
//! squares, Lasso, nearest neighbours and averaging as Garg et al. (2022) have them (Section 3 and
//! Appendix A.3), and the Bayes estimator.
//!
//! ```
//! use attnlab_train::baseline::RegressionBaseline;
//! use ndarray::array;
//! let inputs = array![[1.0, 0.0, 3.0], [0.0, 1.0, 4.0]]; // tokens are columns
//! let labels = array![2.0, -1.0, 0.0];
//! // Two examples fix a linear function of two variables; the third is to be predicted.
//! let predictions = RegressionBaseline::LeastSquares.predictions(inputs.view(), labels.view())?;
//! assert!((predictions[2] - (2.0 * 3.0 - 4.0)).abs() < 1e-12);
//! # Ok::<(), attnlab_core::Error>(())
//! ```

mod lasso;

pub use lasso::lasso;

use attnlab_core::error::{Result, at_least, non_negative, positive, require_shape};
use attnlab_core::linalg::symmetric_eigen;
use attnlab_theory::sample::Regression;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};

/// Estimator of f(x) from k examples (x_i, y_i). Without examples every estimator predicts 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RegressionBaseline {
    /// Least squares; of several solutions the one of least norm.
    LeastSquares,
    /// The Bayes estimator for w ~ N(0, I) and normal noise of this variance: ridge regression with
    /// λ = σ². Without noise it is least squares.
    Ridge {
        /// σ² ≥ 0, variance of the labels' noise.
        noise_var: f64,
    },
    /// Lasso, by [`lasso()`].
    Lasso {
        /// α > 0, weight of the ℓ¹ penalty; the papers plot .01.
        alpha: f64,
    },
    /// Mean label of the k nearest examples (of all, while there are fewer).
    Neighbours {
        /// k ≥ 1, number of neighbours; the papers have 3.
        count: usize,
    },
    /// The function with $\hat w = \frac1k\sum_i y_ix_i$.
    Averaging,
}

impl RegressionBaseline {
    /// Returns the name in rows, settings and figures.
    pub fn name(&self) -> String {
        match self {
            RegressionBaseline::LeastSquares => "least-squares".into(),
            RegressionBaseline::Ridge { .. } => "bayes".into(),
            RegressionBaseline::Lasso { alpha } => format!("lasso-{alpha}"),
            RegressionBaseline::Neighbours { count } => format!("{count}-nn"),
            RegressionBaseline::Averaging => "averaging".into(),
        }
    }

    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::Error::Invalid) with the parameter and its range.
    pub fn validate(&self) -> Result<()> {
        match *self {
            RegressionBaseline::Ridge { noise_var } => non_negative("noise_var", noise_var),
            RegressionBaseline::Lasso { alpha } => positive("alpha", alpha),
            RegressionBaseline::Neighbours { count } => at_least("count", count, 1),
            RegressionBaseline::LeastSquares | RegressionBaseline::Averaging => Ok(()),
        }
    }

    /// Predicts x_{k+1}'s label from the k examples before it, for every k. `inputs` (d, n) and `labels`
    /// (n) give n predictions.
    ///
    /// # Errors
    /// Parameters out of range, shapes that do not fit, eigenvalues that do not converge (NaN).
    pub fn predictions(&self, inputs: ArrayView2<f64>, labels: ArrayView1<f64>) -> Result<Array1<f64>> {
        self.validate()?;
        let expected = format!("({},), one per column of the inputs", inputs.ncols());
        require_shape(labels.len() == inputs.ncols(), "labels", labels.dim(), expected)?;
        let mut start = Array1::zeros(inputs.nrows());
        let mut predict = |k: usize| {
            if k == 0 {
                return Ok(0.0);
            }
            let (examples, y) = (inputs.slice(s![.., ..k]), labels.slice(s![..k]));
            let x = inputs.column(k);
            Ok(match *self {
                RegressionBaseline::LeastSquares => ridge(examples, y, 0.0)?.dot(&x),
                RegressionBaseline::Ridge { noise_var } => ridge(examples, y, noise_var)?.dot(&x),
                RegressionBaseline::Lasso { alpha } => {
                    // The solution for one example fewer is the start, which takes a few rounds instead of hundreds.
                    start = lasso(examples, y, alpha, start.view());
                    start.dot(&x)
                }
                RegressionBaseline::Neighbours { count } => nearest(examples, y, x, count),
                RegressionBaseline::Averaging => examples.dot(&y).dot(&x) / k as f64,
            })
        };
        (0..inputs.ncols()).map(&mut predict).collect()
    }

    /// Computes the squared errors $(\hat f_k(x_{k+1}) - f(x_{k+1}))^2$ for k = 0 .. n - 1.
    ///
    /// # Errors
    /// As [`RegressionBaseline::predictions`].
    pub fn errors(&self, prompt: &Regression) -> Result<Array1<f64>> {
        Ok((self.predictions(prompt.inputs.view(), prompt.labels.view())? - &prompt.answers).mapv(|e| e * e))
    }
}

/// Computes $X(X^TX + \lambda I)^+y$ for X (d, k), through the eigenvalues of the smaller Gram matrix:
/// min-norm least squares at λ = 0.
fn ridge(x: ArrayView2<f64>, y: ArrayView1<f64>, lambda: f64) -> Result<Array1<f64>> {
    let (d, k) = x.dim();
    let xy = x.dot(&y);
    // X (XᵀX + λ)⁺ y = (XXᵀ + λ)⁺ X y
    Ok(if k < d { x.dot(&solve(x.t().dot(&x), y, lambda)?) } else { solve(x.dot(&x.t()), xy.view(), lambda)? })
}

fn solve(gram: Array2<f64>, right: ArrayView1<f64>, lambda: f64) -> Result<Array1<f64>> {
    let n = gram.nrows();
    let (values, vectors) = symmetric_eigen(gram.view())?;
    let largest = values.iter().copied().fold(0.0, f64::max);
    // Eigenvalues of a Gram matrix are known to n ε times the largest; below that they are rounding.
    let floor = n as f64 * f64::EPSILON * largest;
    let mut rotated = vectors.t().dot(&right);
    for (c, value) in rotated.iter_mut().zip(&values) {
        *c = if *value > floor { *c / (value + lambda) } else { 0.0 };
    }
    Ok(vectors.dot(&rotated))
}

fn nearest(x: ArrayView2<f64>, y: ArrayView1<f64>, query: ArrayView1<f64>, count: usize) -> f64 {
    let distance = |i: usize| {
        let pairs = x.column(i).to_owned() - query;
        pairs.dot(&pairs)
    };
    let mut order: Vec<(f64, usize)> = (0..y.len()).map(|i| (distance(i), i)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let chosen = &order[..count.min(order.len())];
    chosen.iter().map(|(_, i)| y[*i]).sum::<f64>() / chosen.len() as f64
}
