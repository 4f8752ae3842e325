//! Lasso by coordinate descent.

use ndarray::{Array1, ArrayView1, ArrayView2};

/// Duality gap at which the descent ends, relative to $\|y\|^2/2k$; far below the plotted errors.
const GAP: f64 = 1e-10;
/// Largest number of rounds. Some dozens are usual; more are needed only if the columns are nearly dependent
/// and α is tiny, where the objective hardly changes.
const ROUNDS: usize = 10_000;

/// Computes $\arg\min_w \frac1{2k}\|y - X^Tw\|^2 + \alpha\|w\|_1$ for examples X (d, k): scikit-learn's
/// scaling, no intercept, from `start` (d).
///
/// ```
/// use attnlab_train::baseline::lasso;
/// use ndarray::{array, Array1};
/// // One variable: the mean of x y / x² is pulled towards 0 by α.
/// let x = array![[1.0, 1.0]];
/// let w = lasso(x.view(), array![2.0, 4.0].view(), 0.5, Array1::zeros(1).view());
/// assert!((w[0] - 2.5).abs() < 1e-9);
/// ```
pub fn lasso(x: ArrayView2<f64>, y: ArrayView1<f64>, alpha: f64, start: ArrayView1<f64>) -> Array1<f64> {
    let (d, k) = x.dim();
    let n = k as f64;
    let gram = x.dot(&x.t()) / n;
    let target = x.dot(&y) / n;
    let scale = y.dot(&y) / (2.0 * n);
    let mut w = start.to_owned();
    let mut product = gram.dot(&w);
    for _ in 0..ROUNDS {
        for j in 0..d {
            if gram[[j, j]] == 0.0 {
                w[j] = 0.0;
                continue;
            }
            let pull = target[j] - product[j] + gram[[j, j]] * w[j];
            let next = pull.signum() * (pull.abs() - alpha).max(0.0) / gram[[j, j]];
            let change = next - w[j];
            if change != 0.0 {
                product.scaled_add(change, &gram.column(j));
                w[j] = next;
            }
        }
        if duality_gap(x, y, alpha, &w) <= GAP * scale {
            break;
        }
    }
    w
}

/// Computes the primal minus the dual objective at w, where the dual point is the residual scaled to be
/// feasible. It is zero only at the solution.
fn duality_gap(x: ArrayView2<f64>, y: ArrayView1<f64>, alpha: f64, w: &Array1<f64>) -> f64 {
    let n = y.len() as f64;
    let residual = &y - &x.t().dot(w);
    let slopes = x.dot(&residual) / n;
    let steepest = slopes.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
    let shrink = if steepest > alpha { alpha / steepest } else { 1.0 };
    let primal = residual.dot(&residual) / (2.0 * n) + alpha * w.iter().map(|w| w.abs()).sum::<f64>();
    let dual = shrink * residual.dot(&y) / n - shrink * shrink * residual.dot(&residual) / (2.0 * n);
    primal - dual
}
