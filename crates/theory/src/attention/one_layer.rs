//! One-layer attention from a context of clean tokens to a query: Denoising Eqs. (3) and (5).

use super::{Nonlinearity, Softmax};
use ndarray::{Array1, ArrayView1, ArrayView2};

/// Computes $\frac1L W_{PV} X X^T W_{KQ} \tilde x$, Denoising Eq. (3), for tokens X (n, L), weights (n,
/// n) and query (n,).
///
/// ```
/// use attnlab_theory::attention::linear_attention;
/// use ndarray::{array, Array1, Array2};
/// let (x, eye) = (array![[1.0, 3.0], [0.0, 0.0]], Array2::eye(2));
/// let query = Array1::from(vec![2.0, 7.0]);
/// let output = linear_attention(x.view(), eye.view(), eye.view(), query.view());
/// assert_eq!(output, array![10.0, 0.0]); // (1 + 9) / 2 * 2
/// ```
pub fn linear_attention(
    context: ArrayView2<f64>,
    w_pv: ArrayView2<f64>,
    w_kq: ArrayView2<f64>,
    query: ArrayView1<f64>,
) -> Array1<f64> {
    let scores = context.t().dot(&w_kq.dot(&query));
    let tokens = context.ncols() as f64;
    w_pv.dot(&context.dot(&scores)) / tokens
}

/// Computes $W_{PV} X\, \mathrm{softmax}(X^T W_{KQ} \tilde x)$, Denoising Eq. (5); shapes as in
/// [`linear_attention`].
///
/// ```
/// use attnlab_theory::attention::softmax_attention;
/// use ndarray::{array, Array1, Array2};
/// let (x, eye) = (array![[1.0, -1.0]], Array2::eye(1));
/// let query = Array1::from(vec![0.7_f64]);
/// let output = softmax_attention(x.view(), eye.view(), eye.view(), query.view());
/// // A dozen operations on numbers up to 1.4, each rounded by half an ε of them.
/// assert!((output[0] - 0.7_f64.tanh()).abs() < 12.0 * f64::EPSILON);
/// ```
pub fn softmax_attention(
    context: ArrayView2<f64>,
    w_pv: ArrayView2<f64>,
    w_kq: ArrayView2<f64>,
    query: ArrayView1<f64>,
) -> Array1<f64> {
    let mut weights = context.t().dot(&w_kq.dot(&query)).to_vec();
    Softmax.apply(&mut weights);
    w_pv.dot(&context.dot(&Array1::from(weights)))
}
