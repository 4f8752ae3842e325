//! Multi-head subspace self-attention: AoT Eqs. (3)-(5), and its causal form (Section 4.1).

use super::{Nonlinearity, Phi};
use attnlab_core::error::{Result, require_shape};
use attnlab_core::linalg::{Threads, gemm, product};
use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2};

/// The tokens that a token may attend to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// No mask: a token attends to all tokens.
    None,
    /// Causal mask: token j attends to tokens i ≤ j.
    Causal,
}

/// One MSSA layer: Z ← Z + η Σ_k U_kU_kᵀZ φ(Mask(ZᵀU_k P(U_kᵀZ))).
///
/// P is the identity, or, with `normalise_queries`, the projection of each column onto the unit sphere.
/// The bases may differ from layer to layer (AoT Eq. 5) and need not be orthonormal.
///
/// ```
/// use attnlab_theory::attention::{Linear, Mask, Mssa};
/// use ndarray::{array, Array2};
/// let bases = [Array2::eye(2)];
/// let layer = Mssa { phi: Linear.into(), eta: 0.5, mask: Mask::None, normalise_queries: false };
/// // One token: the score is |z|^2 = 5, so z <- (1 + 0.5 * 5) z.
/// let z = layer.apply(array![[1.0], [2.0]].view(), &bases).unwrap();
/// assert_eq!(z, array![[3.5], [7.0]]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mssa {
    /// φ, applied to each column of the scores.
    pub phi: Phi,
    /// Step size η > 0.
    pub eta: f64,
    /// The tokens that a token may attend to.
    pub mask: Mask,
    /// Flag: queries are scaled to unit length, as in the causal language models of AoT.
    pub normalise_queries: bool,
}

impl Mssa {
    /// Makes the unmasked layer of AoT Eq. (3).
    pub fn new(phi: impl Into<Phi>, eta: f64) -> Self {
        Mssa { phi: phi.into(), eta, mask: Mask::None, normalise_queries: false }
    }

    /// Computes the next Z (d, N) from `tokens` (d, N) and `bases[k]` (d, p_k) by the plain definition,
    /// with an N x N score matrix in memory.
    ///
    /// # Errors
    /// If shapes do not fit or τ is out of range.
    pub fn apply(&self, tokens: ArrayView2<f64>, bases: &[Array2<f64>]) -> Result<Array2<f64>> {
        self.phi.validate()?;
        let mut next = tokens.to_owned();
        for (k, u) in bases.iter().enumerate() {
            let expected = format!("(d, p) with d = {} as the tokens have", tokens.nrows());
            require_shape(u.nrows() == tokens.nrows(), format!("bases[{k}]"), u.dim(), expected)?;
            let y = product(u.t(), tokens);
            let update = product(y.view(), self.weights(y.view()).view());
            gemm(self.eta, u.view(), update.view(), true, next.view_mut(), Threads::All);
        }
        Ok(next)
    }

    /// Computes φ(Mask(Yᵀ P(Y))) (N, N) from the coefficients Y = U_kᵀZ (p, N) of one head. Column j
    /// holds the weights with which token j attends to all tokens.
    pub fn weights(&self, y: ArrayView2<f64>) -> Array2<f64> {
        let queries = if self.normalise_queries { unit_columns(y) } else { y.to_owned() };
        let mut scores = product(y.t(), queries.view());
        apply_masked(&*self.phi, self.mask, scores.view_mut());
        scores
    }
}

/// Sets the masked scores to -∞ and applies φ to each column.
pub(super) fn apply_masked(phi: &dyn Nonlinearity, mask: Mask, mut scores: ArrayViewMut2<f64>) {
    for (j, mut column) in scores.columns_mut().into_iter().enumerate() {
        let mut weights = column.to_vec();
        if mask == Mask::Causal {
            weights[j + 1..].fill(f64::NEG_INFINITY);
        }
        phi.apply(&mut weights);
        column.assign(&ArrayView1::from(&weights));
    }
}

/// Computes P(Y): each column of Y (p, N) divided by its length; a zero column stays zero.
pub fn unit_columns(y: ArrayView2<f64>) -> Array2<f64> {
    let mut unit = y.to_owned();
    for mut column in unit.columns_mut() {
        let length = column.dot(&column).sqrt();
        if length > 0.0 {
            column /= length;
        }
    }
    unit
}
