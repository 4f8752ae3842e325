//! Pure attention and the collapse of its tokens to one row: a layer takes the rows X (n, d) to
//! $\sum_h \mathrm{softmax}(X A_h X^T)\, X W_h$, without skip connections.
//!
//! With a row x that the tokens share and their residuals R, $X = 1x^T + R$, a term of the scores that a row of them shares
//! drops out of the softmax. With $p = \mathrm{softmax}(x^T A R^T)$, $s_{ij} = R_i A R_j^T$ and $e_i = \sum_k p_k (e^{s_{ik}} - 1)$
//! the residuals of a head are
//!
//! $$\sum_j p_j\, \frac{(e^{s_{ij}} - 1) - e_i}{1 + e_i}\, R_j W,$$
//!
//! cubic in R where they are small. Here they are computed as such: residuals of 1e-100 keep their digits.

use ndarray::{Array1, Array2, ArrayView2, Axis};

/// Rows of tokens, as one that they share and their residuals.
#[derive(Clone, Debug, PartialEq)]
pub struct Tokens {
    /// x (d), their mean after a layer.
    pub shared: Array1<f64>,
    /// R (n, d).
    pub residuals: Array2<f64>,
}

/// One head of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// A (d, d), product of the matrices of queries and keys over √d_qk.
    pub scores: Array2<f64>,
    /// W (d, d), matrix of the values.
    pub values: Array2<f64>,
}

impl Tokens {
    /// Splits tokens, the columns of a matrix (d, n), into their mean and the rest.
    pub fn of_columns(tokens: ArrayView2<f64>) -> Tokens {
        let rows = tokens.t();
        let shared = rows.sum_axis(Axis(0)) / rows.nrows().max(1) as f64;
        Tokens { residuals: &rows - &shared, shared }
    }

    /// Computes the largest modulus of a score of residuals, of $R A R^T$.
    pub fn largest_score(&self, head: &Head) -> f64 {
        let scores = self.residuals.dot(&head.scores).dot(&self.residuals.t());
        scores.fold(0.0, |most, s| if s.is_nan() { f64::INFINITY } else { most.max(s.abs()) })
    }

    /// Computes the tokens after a layer of these heads.
    ///
    /// ```
    /// use attnlab_cluster::theory::collapse::{Head, Tokens};
    /// use ndarray::array;
    /// // Two tokens r and −r on a line: the new residuals are r tanh(r²) and −r tanh(r²).
    /// let tokens = Tokens { shared: array![0.0], residuals: array![[1e-50], [-1e-50]] };
    /// let after = tokens.layer(&[Head { scores: array![[1.0]], values: array![[1.0]] }]);
    /// assert!((after.residuals[[0, 0]] / 1e-150 - 1.0).abs() < 1e-12);
    /// ```
    pub fn layer(&self, heads: &[Head]) -> Tokens {
        let mut shared = Array1::zeros(self.shared.len());
        let mut residuals = Array2::zeros(self.residuals.dim());
        for Head { scores, values } in heads {
            let common = softmax(self.residuals.dot(&self.shared.dot(scores)));
            let excess = self.residuals.dot(scores).dot(&self.residuals.t()).mapv(f64::exp_m1);
            let mean = excess.dot(&common).insert_axis(Axis(1));
            let weights = (excess - &mean) / (mean + 1.0) * &common;
            let values_of_residuals = self.residuals.dot(values);
            shared += &(self.shared.dot(values) + common.dot(&values_of_residuals));
            residuals += &weights.dot(&values_of_residuals);
        }
        let mean = residuals.sum_axis(Axis(0)) / residuals.nrows() as f64;
        Tokens { shared: shared + &mean, residuals: residuals - &mean }
    }
}

fn softmax(scores: Array1<f64>) -> Array1<f64> {
    let top = scores.fold(f64::NEG_INFINITY, |top, s| top.max(*s));
    let weights = scores.mapv(|s| (s - top).exp());
    let total = weights.sum();
    weights / total
}

/// Computes the norm ‖M‖_{1,∞} = √(‖M‖_1 ‖M‖_∞), from the largest absolute sums of a column and of a row.
pub fn composite_norm(matrix: ArrayView2<f64>) -> f64 {
    column_norm(matrix).sqrt() * column_norm(matrix.t()).sqrt()
}

/// Computes the norm ‖M‖_1, the largest absolute sum of a column.
fn column_norm(matrix: ArrayView2<f64>) -> f64 {
    matrix.columns().into_iter().map(|column| column.fold(0.0, |sum, x| sum + x.abs())).fold(0.0, f64::max)
}

/// Returns the printed constant 4βH/√d_qk of a layer, with β the largest ‖W_QK‖_1 ‖W‖_{1,∞} of its heads.
pub fn constant(heads: &[Head]) -> f64 {
    let size = |head: &Head| column_norm(head.scores.view()) * composite_norm(head.values.view());
    4.0 * heads.len() as f64 * heads.iter().map(size).fold(0.0, f64::max)
}

/// Returns the printed bound on the norm of the residuals after `layers` layers: $c^{(3^L - 1)/2} r^{3^L}$ with the
/// largest constant c of the layers and the norm r at the start.
///
/// ```
/// use attnlab_cluster::theory::collapse::bound;
/// assert!((bound(2.0, 0.5, 2) - 2.0_f64.powi(4) * 0.5_f64.powi(9)).abs() < 1e-18);
/// ```
pub fn bound(constant: f64, start: f64, layers: usize) -> f64 {
    (0..layers).fold(start, |norm, _| constant * norm.powi(3))
}
