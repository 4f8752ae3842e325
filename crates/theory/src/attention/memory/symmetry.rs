//! Weights for which the softmax layer $F(s) = W_{PV} X\,\mathrm{softmax}(X^T W_{KQ} s)$ is a
//! gradient: Denoising (A.24), (A.25).
//!
//! A field is a gradient where its Jacobian $J = W_{PV} Y W_{KQ}$ is symmetric, with
//! $Y = X(\mathrm{diag}(g) - gg^T)X^T$, that is
//! $$W_{PV} Y W_{KQ} = W_{KQ}^T Y W_{PV}^T.$$
//! The printed (A.25), $W_{PV} Y W_{KQ}^T = W_{KQ} Y W_{PV}^T$, differs in its transposes and is neither
//! necessary nor sufficient.
//!
//! If the condition holds for every symmetric Y, and $W_{PV}$ has rank 2 or more, then
//! $W_{KQ} = c\,W_{PV}^T$: for $Y = vv^T$ it makes $W_{PV} v$ and $W_{KQ}^T v$ parallel, for every v.
//! The layer is then a step on the energy (7) with tokens $W_{PV} X$, $\alpha = 1$ and $\beta = c$.

use super::super::{Nonlinearity, Softmax};
use super::{DenseMemory, check_context, check_finite};
use attnlab_core::error::{Result, require_shape};
use attnlab_core::linalg::{Threads, frobenius2, gemm};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

/// Computes $X(\mathrm{diag}(g) - gg^T)X^T = \sum_t g_t (X_t - \bar X)(X_t - \bar X)^T$ (n, n), with
/// $\bar X = \sum_t g_t X_t$, for tokens X (n, L) and weights g (L,) that sum to one.
pub fn weighted_covariance(context: ArrayView2<f64>, g: ArrayView1<f64>) -> Array2<f64> {
    // Centred tokens give exactly symmetric products and no difference of large numbers.
    let mean = context.dot(&g);
    let mut scaled = context.to_owned();
    for (mut token, g) in scaled.columns_mut().into_iter().zip(g) {
        token -= &mean;
        token *= g.sqrt();
    }
    let mut y = Array2::zeros((context.nrows(), context.nrows()));
    gemm(1.0, scaled.view(), scaled.t(), false, y.view_mut(), Threads::One);
    y
}

/// Computes Y of (A.24) at a state.
fn y_of(context: ArrayView2<f64>, w_kq: ArrayView2<f64>, s: ArrayView1<f64>) -> Array2<f64> {
    let mut g = context.t().dot(&w_kq.dot(&s)).to_vec();
    Softmax.apply(&mut g);
    weighted_covariance(context, Array1::from(g).view())
}

/// Computes the Jacobian (n, n) of the softmax layer, Denoising (A.24), for tokens (n, L), weights (n, n)
/// and state (n,).
pub fn jacobian(
    context: ArrayView2<f64>,
    w_pv: ArrayView2<f64>,
    w_kq: ArrayView2<f64>,
    s: ArrayView1<f64>,
) -> Array2<f64> {
    w_pv.dot(&y_of(context, w_kq, s)).dot(&w_kq)
}

/// Computes the asymmetry $\|A - A^T\|_F / \|A\|_F$ in [0, 2]; 0 for A = 0.
pub fn asymmetry(a: ArrayView2<f64>) -> f64 {
    let norm2 = frobenius2(a);
    if norm2 == 0.0 { 0.0 } else { (frobenius2((&a - &a.t()).view()) / norm2).sqrt() }
}

/// Distance of given weights from the symmetry condition at one context and state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Symmetry {
    /// Asymmetry of the Jacobian $W_{PV} Y W_{KQ}$; 0 if the layer is a gradient there.
    pub jacobian: f64,
    /// Asymmetry of $W_{PV} Y W_{KQ}^T$, which vanishes under the printed (A.25).
    pub printed: f64,
}

/// Tests given weights for symmetry of the Jacobian at one context and state.
///
/// # Errors
/// If shapes do not fit or an entry is not finite.
///
/// ```
/// use attnlab_theory::attention::memory::symmetry;
/// use ndarray::array;
/// let context = array![[1.0, 0.0, -1.0], [0.0, 2.0, 1.0]];
/// let (m, s) = (array![[1.0, 2.0], [0.0, 1.0]], array![0.3, 0.1]);
/// // W_KQ = W_PV^T: a gradient, though the printed condition denies it.
/// let asymmetry = symmetry::test(context.view(), m.view(), m.t(), s.view())?;
/// assert!(asymmetry.jacobian < 1e-14 && asymmetry.printed > 0.1);
/// // W_KQ = W_PV: the printed condition holds, but the layer is no gradient.
/// let asymmetry = symmetry::test(context.view(), m.view(), m.view(), s.view())?;
/// assert!(asymmetry.jacobian > 0.1 && asymmetry.printed < 1e-14);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn test(
    context: ArrayView2<f64>,
    w_pv: ArrayView2<f64>,
    w_kq: ArrayView2<f64>,
    s: ArrayView1<f64>,
) -> Result<Symmetry> {
    check(context, w_pv, w_kq)?;
    let n = context.nrows();
    require_shape(s.len() == n, "state", s.len(), format!("the n = {n} components of the tokens"))?;
    let y = y_of(context, w_kq, s);
    let left = w_pv.dot(&y);
    Ok(Symmetry { jacobian: asymmetry(left.dot(&w_kq).view()), printed: asymmetry(left.dot(&w_kq.t()).view()) })
}

/// Returns the memory for which the softmax layer with these weights is a step from every state, if the
/// weights admit one for every context: $W_{KQ} = c\,W_{PV}^T$ up to `tolerance` relative to
/// $\|W_{KQ}\|_F$. Its tokens are $W_{PV} X$, with α = 1 and β = c.
///
/// # Errors
/// If shapes do not fit or an entry is not finite.
///
/// ```
/// use attnlab_theory::attention::memory::symmetry;
/// use attnlab_theory::attention::softmax_attention;
/// use ndarray::array;
/// let context = array![[1.0, 0.0, -1.0], [0.0, 2.0, 1.0]];
/// let w_pv = array![[1.0, 2.0], [0.0, 1.0]];
/// let w_kq = &w_pv.t() * 0.5;
/// let memory = symmetry::memory(context.view(), w_pv.view(), w_kq.view(), 1e-12)?.unwrap();
/// let s = array![0.3, 0.1];
/// let layer = softmax_attention(context.view(), w_pv.view(), w_kq.view(), s.view());
/// assert!((memory.attend(s.view()) - layer).iter().all(|x| x.abs() < 1e-14));
/// assert!(symmetry::memory(context.view(), w_pv.view(), w_pv.view(), 1e-12)?.is_none());
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn memory(
    context: ArrayView2<f64>,
    w_pv: ArrayView2<f64>,
    w_kq: ArrayView2<f64>,
    tolerance: f64,
) -> Result<Option<DenseMemory>> {
    check(context, w_pv, w_kq)?;
    // The scalar c is found by least squares.
    let inner: f64 = w_kq.iter().zip(w_pv.t()).map(|(a, b)| a * b).sum();
    let c = inner / frobenius2(w_pv);
    let residual = frobenius2((&w_kq - &(&w_pv.t() * c)).view());
    if c == 0.0 || !c.is_finite() || residual > tolerance * tolerance * frobenius2(w_kq) {
        return Ok(None);
    }
    DenseMemory::new(w_pv.dot(&context).view(), 1.0, c).map(Some)
}

fn check(context: ArrayView2<f64>, w_pv: ArrayView2<f64>, w_kq: ArrayView2<f64>) -> Result<()> {
    check_context(context)?;
    let n = context.nrows();
    for (name, w) in [("W_PV", w_pv), ("W_KQ", w_kq)] {
        require_shape(w.dim() == (n, n), name, w.dim(), format!("({n}, {n}), the components of the tokens"))?;
        check_finite(name, w)?;
    }
    Ok(())
}
