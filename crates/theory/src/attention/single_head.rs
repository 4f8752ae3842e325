//! A single head with merged weights, as in the lecture notes on transformers and linear attention:
//! linear self-attention and softmax attention.

use super::Phi;
use attnlab_core::error::{Error, Result, positive, require_shape};
use attnlab_core::linalg::product;
use ndarray::{Array2, ArrayView2};

/// One layer E + W^{PV} E φ(Eᵀ W^{KQ} E / ρ) on tokens E (D, N+1): f of the lecture notes with W^P W^V
/// and (W^K)ᵀW^Q merged. [`Linear`](super::Linear) gives linear self-attention f_LSA,
/// [`Softmax`](super::Softmax) gives softmax attention.
///
/// ```
/// use attnlab_theory::attention::{Linear, SingleHead};
/// use ndarray::{array, Array2};
/// let layer = SingleHead { w_pv: Array2::eye(1), w_kq: Array2::eye(1), phi: Linear.into(), rho: 2.0 };
/// // Eᵀ E / ρ of E = (1 2) is ((1/2, 1), (1, 2)), so that E + E Eᵀ E / ρ = (1 + 5/2, 2 + 5).
/// assert_eq!(layer.apply(array![[1.0, 2.0]].view())?, array![[3.5, 7.0]]);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SingleHead {
    /// W^{PV} = W^P W^V (D, D).
    pub w_pv: Array2<f64>,
    /// W^{KQ} = (W^K)ᵀ W^Q (D, D).
    pub w_kq: Array2<f64>,
    /// φ, applied to each column of the scores.
    pub phi: Phi,
    /// ρ > 0, divisor of the scores; for linear self-attention the number of labelled examples.
    pub rho: f64,
}

impl SingleHead {
    /// Computes the next E (D, N+1).
    ///
    /// # Errors
    /// If the weights are not (D, D) with the tokens' D, or ρ is not positive and finite.
    pub fn apply(&self, tokens: ArrayView2<f64>) -> Result<Array2<f64>> {
        self.phi.validate()?;
        positive("rho", self.rho)?;
        let size = tokens.nrows();
        for (name, w) in [("w_pv", &self.w_pv), ("w_kq", &self.w_kq)] {
            let expected = format!("({size}, {size}), as the tokens have {size} rows");
            require_shape(w.dim() == (size, size), name, w.dim(), expected)?;
        }
        let keys = product(self.w_kq.view(), tokens);
        let mut weights = product(tokens.t(), keys.view()) / self.rho;
        for mut column in weights.columns_mut() {
            let mut scores = column.to_vec();
            self.phi.apply(&mut scores);
            column.assign(&ndarray::ArrayView1::from(&scores));
        }
        Ok(&tokens + &product(product(self.w_pv.view(), tokens).view(), weights.view()))
    }

    /// Returns the prediction for the query: the last entry of the last column of [`SingleHead::apply`].
    ///
    /// # Errors
    /// As [`SingleHead::apply`], or if there are no tokens.
    pub fn predict(&self, tokens: ArrayView2<f64>) -> Result<f64> {
        let last = self.apply(tokens)?.last().copied();
        last.ok_or_else(|| Error::shape("tokens", tokens.dim(), "at least one token"))
    }
}
