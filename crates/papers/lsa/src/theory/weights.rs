//! The weights that the prediction sees.

use attnlab_core::error::{Result, require, require_shape};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};

/// The last row $(v^T, u)$ of $W^{PV}$ and the first d columns $(B; c^T)$ of $W^{KQ}$: what the
/// prediction of [linear self-attention](super) depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct LsaWeights {
    /// u, the entry (d+1, d+1) of $W^{PV}$.
    pub u: f64,
    /// v (d), the rest of the last row of $W^{PV}$.
    pub v: Array1<f64>,
    /// c (d), the last row of $W^{KQ}$ without its last entry.
    pub c: Array1<f64>,
    /// B (d, d), the upper left block of $W^{KQ}$.
    pub b: Array2<f64>,
}

impl LsaWeights {
    /// Weights that are all zero.
    pub fn zeros(d: usize) -> Self {
        LsaWeights { u: 0.0, v: Array1::zeros(d), c: Array1::zeros(d), b: Array2::zeros((d, d)) }
    }

    /// The theorem's initial weights (Zhang, Frei and Bartlett, Assumption 3.3): $u = \sigma$,
    /// $B = \sigma\,\Theta\Theta^T / \|\Theta\Theta^T\|_F$ for a (d, d) matrix Θ, v = c = 0.
    ///
    /// # Errors
    /// When ΘΘᵀ is 0 or not finite.
    pub fn theorem(scale: f64, theta: ArrayView2<f64>) -> Result<Self> {
        let product = theta.dot(&theta.t());
        let norm = product.iter().map(|x| x * x).sum::<f64>().sqrt();
        let allowed = "must be a matrix with a finite norm > 0";
        require(norm > 0.0 && norm.is_finite(), "theta", format!("norm {norm}"), allowed)?;
        Ok(LsaWeights { u: scale, b: product * (scale / norm), ..LsaWeights::zeros(theta.nrows()) })
    }

    /// Dimension d of the inputs.
    pub fn dim(&self) -> usize {
        self.v.len()
    }

    /// Reads them from the full matrices $W^{PV}$ and $W^{KQ}$, both (d+1, d+1).
    ///
    /// # Errors
    /// When they are not square and equal in size.
    pub fn of_matrices(w_pv: ArrayView2<f64>, w_kq: ArrayView2<f64>) -> Result<Self> {
        let size = w_pv.nrows();
        for (name, w) in [("w_pv", w_pv), ("w_kq", w_kq)] {
            let expected = "(d+1, d+1) with d >= 1, as W^PV and W^KQ both have";
            require_shape(w.dim() == (size, size) && size >= 2, name, w.dim(), expected)?;
        }
        let d = size - 1;
        Ok(LsaWeights {
            u: w_pv[[d, d]],
            v: w_pv.slice(s![d, ..d]).to_owned(),
            c: w_kq.slice(s![d, ..d]).to_owned(),
            b: w_kq.slice(s![..d, ..d]).to_owned(),
        })
    }

    /// Matrices $W^{PV}$ and $W^{KQ}$ (d+1, d+1), with 0 in the entries that do not matter.
    pub fn matrices(&self) -> (Array2<f64>, Array2<f64>) {
        let d = self.dim();
        let mut w_pv = Array2::zeros((d + 1, d + 1));
        let mut w_kq = w_pv.clone();
        w_pv[[d, d]] = self.u;
        w_pv.slice_mut(s![d, ..d]).assign(&self.v);
        w_kq.slice_mut(s![d, ..d]).assign(&self.c);
        w_kq.slice_mut(s![..d, ..d]).assign(&self.b);
        (w_pv, w_kq)
    }

    /// Product $A = uB + vc^T$ (d, d), of which the prediction odd in the labels is made.
    pub fn product(&self) -> Array2<f64> {
        let mut a = &self.b * self.u;
        for (mut row, v) in a.rows_mut().into_iter().zip(&self.v) {
            row.scaled_add(*v, &self.c);
        }
        a
    }

    /// Predictions of the layer with these weights, in the axes of the data, for each of `queries` (d, Q) after
    /// the same `examples` (d+1, M), whose last row holds the labels: entry (d+1, M+1) of
    /// $W^{PV}E\,\frac1\rho E^TW^{KQ}E$, E being the examples and one query over a 0.
    ///
    /// # Panics
    /// When the shapes do not fit: a mistake of the caller.
    pub fn predictions(&self, examples: ArrayView2<f64>, queries: ArrayView2<f64>, rho: f64) -> Array1<f64> {
        let d = self.dim();
        let (x, y) = (examples.slice(s![..d, ..]), examples.row(d));
        // (v, u)ᵀE, then over the examples (v, u)ᵀEEᵀ(B; cᵀ).
        let scores = x.t().dot(&self.v) + &(&y * self.u);
        let over = self.b.t().dot(&x.dot(&scores)) + &(&self.c * y.dot(&scores));
        let prediction = |q: ArrayView1<f64>| (over.dot(&q) + self.v.dot(&q) * q.dot(&self.b.dot(&q))) / rho;
        queries.columns().into_iter().map(prediction).collect()
    }

    /// Balance $|v|^2 + u^2 - \|B\|_F^2 - |c|^2$, which every gradient flow conserves.
    pub fn conserved(&self) -> f64 {
        let (pv, kq) = self.norms();
        pv - kq
    }

    /// Squared norms $|v|^2 + u^2$ and $\|B\|_F^2 + |c|^2$.
    pub fn norms(&self) -> (f64, f64) {
        let pv = self.u * self.u + self.v.dot(&self.v);
        let of_b: f64 = self.b.rows().into_iter().map(|row| row.dot(&row)).sum();
        let kq = of_b + self.c.dot(&self.c);
        (pv, kq)
    }

    /// The squared length of all of them.
    pub fn norm2(&self) -> f64 {
        let (pv, kq) = self.norms();
        pv + kq
    }

    /// The weights in the axes that are the columns of Q (d, d): $(u, Q^Tv, Q^Tc, Q^TBQ)$. With Qᵀ for Q, back.
    pub fn rotated(&self, axes: ArrayView2<f64>) -> LsaWeights {
        LsaWeights {
            u: self.u,
            v: axes.t().dot(&self.v),
            c: axes.t().dot(&self.c),
            b: axes.t().dot(&self.b).dot(&axes),
        }
    }

    /// Length of [`LsaWeights::to_vec`]: 1 + 2d + d².
    pub fn len_of(d: usize) -> usize {
        1 + d * (2 + d)
    }

    /// All of them in one vector: u, v, c, B by rows.
    pub fn to_vec(&self) -> Vec<f64> {
        let mut flat = Vec::with_capacity(Self::len_of(self.dim()));
        flat.push(self.u);
        flat.extend(self.v.iter().chain(&self.c));
        for row in self.b.rows() {
            flat.extend(row);
        }
        flat
    }

    /// Reads them from the vector of [`LsaWeights::to_vec`].
    ///
    /// # Panics
    /// When the length is not that of [`LsaWeights::len_of`]: a mistake of the caller, never of a user.
    pub fn of_slice(d: usize, flat: &[f64]) -> LsaWeights {
        assert_eq!(flat.len(), LsaWeights::len_of(d), "weights of dimension {d}");
        let part = |from: usize| Array1::from(flat[from..from + d].to_vec());
        let mut b = Array2::zeros((d, d));
        for (mut row, from) in b.rows_mut().into_iter().zip(flat[1 + 2 * d..].chunks(d)) {
            row.assign(&ArrayView1::from(from));
        }
        LsaWeights { u: flat[0], v: part(1), c: part(1 + d), b }
    }
}
