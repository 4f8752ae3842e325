//! Multi-head self-attention with separate queries, keys and values: AoT, ICML version, Eq. (5).

use super::Phi;
use super::mssa::{Mask, apply_masked};
use attnlab_core::error::{Error, Result, require_shape};
use attnlab_core::linalg::{Threads, gemm, product};
use ndarray::{Array2, ArrayView2, s};

/// One layer Z ← Z + η W_O [head_1; ..; head_K] with head_k = V_k φ(Mask(K_kᵀ Q_k · scale)), Q_k = W_Q^k
/// Z, K_k = W_K^k Z, V_k = W_V^k Z (each (p, N)).
///
/// With W_Q^k = W_K^k = W_V^k = U_kᵀ, W_O = [U_1 .. U_K] and scale 1 the layer equals the MSSA layer;
/// with the usual scale 1/√p it does not (see the claim `aot.mssa_is_mhsa`).
#[derive(Clone, Debug, PartialEq)]
pub struct Mhsa {
    /// W_Q^k (p, d) for every head.
    pub w_q: Vec<Array2<f64>>,
    /// W_K^k (p, d) for every head.
    pub w_k: Vec<Array2<f64>>,
    /// W_V^k (p, d) for every head.
    pub w_v: Vec<Array2<f64>>,
    /// W_O (d, K p).
    pub w_o: Array2<f64>,
    /// φ, applied to each column of the scores.
    pub phi: Phi,
    /// Step size η.
    pub eta: f64,
    /// Factor on the scores: 1 or 1/√p.
    pub scale: f64,
    /// The tokens that a token may attend to.
    pub mask: Mask,
}

impl Mhsa {
    /// Makes the layer with all weights tied to `bases`, each U_k (d, p), which equals the MSSA layer.
    ///
    /// # Errors
    /// If there are no bases or their shapes differ in d.
    pub fn tied(bases: &[Array2<f64>], phi: impl Into<Phi>, eta: f64) -> Result<Self> {
        let transposed: Vec<_> = bases.iter().map(|u| u.t().to_owned()).collect();
        let views: Vec<_> = bases.iter().map(|u| u.view()).collect();
        let w_o = ndarray::concatenate(ndarray::Axis(1), &views)
            .map_err(|_| Error::shape("bases", bases.len(), "one (d, p) matrix per head"))?;
        Ok(Mhsa {
            w_q: transposed.clone(),
            w_k: transposed.clone(),
            w_v: transposed,
            w_o,
            phi: phi.into(),
            eta,
            scale: 1.0,
            mask: Mask::None,
        })
    }

    /// Computes the next Z (d, N).
    ///
    /// # Errors
    /// If shapes do not fit or τ is out of range.
    pub fn apply(&self, tokens: ArrayView2<f64>) -> Result<Array2<f64>> {
        self.phi.validate()?;
        self.check_shapes(tokens.nrows())?;
        let mut next = tokens.to_owned();
        let mut start = 0;
        for k in 0..self.w_q.len() {
            let (q, keys) = (product(self.w_q[k].view(), tokens), product(self.w_k[k].view(), tokens));
            let mut scores = product(keys.t(), q.view()) * self.scale;
            apply_masked(&*self.phi, self.mask, scores.view_mut());
            let head = product(product(self.w_v[k].view(), tokens).view(), scores.view());
            let stop = start + self.w_v[k].nrows();
            let w_o = self.w_o.slice(s![.., start..stop]);
            gemm(self.eta, w_o, head.view(), true, next.view_mut(), Threads::All);
            start = stop;
        }
        Ok(next)
    }

    /// Checks that the weights fit each other and tokens of dimension `ambient`.
    pub(super) fn check_shapes(&self, ambient: usize) -> Result<()> {
        for (name, weights) in [("w_k", &self.w_k), ("w_v", &self.w_v)] {
            let expected = format!("one matrix per head ({}, as w_q)", self.w_q.len());
            require_shape(weights.len() == self.w_q.len(), name, weights.len(), expected)?;
        }
        for k in 0..self.w_q.len() {
            for (name, w) in [("w_q", &self.w_q[k]), ("w_k", &self.w_k[k]), ("w_v", &self.w_v[k])] {
                let expected = format!("(p, d) with d = {ambient} as the tokens have");
                require_shape(w.ncols() == ambient, format!("{name}[{k}]"), w.dim(), expected)?;
            }
            let (queries, keys) = (&self.w_q[k], &self.w_k[k]);
            let expected = format!("the shape of w_q[{k}], {:?}", queries.dim());
            require_shape(keys.nrows() == queries.nrows(), format!("w_k[{k}]"), keys.dim(), expected)?;
        }
        let stacked: usize = self.w_v.iter().map(|w| w.nrows()).sum();
        let expected = format!("(d, sum of the heads' dimensions) = ({ambient}, {stacked})");
        require_shape(self.w_o.dim() == (ambient, stacked), "w_o", self.w_o.dim(), expected)
    }
}
