//! The population loss of [linear self-attention](super) and its gradient, in principal axes.

use super::{LsaWeights, Pretraining};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, Zip};

impl Pretraining {
    /// Population loss $L = \frac12\mathbb E(\hat y - y)^2$ at `weights` given in principal axes.
    pub fn loss(&self, weights: &LsaWeights) -> f64 {
        self.minimum() + self.excess(weights)
    }

    /// Loss gap $L - \min L = \frac12\langle D, \Lambda\Gamma D\Lambda\rangle + \frac12\mathbb E(\text{even})^2$, without the
    /// cancellation of a difference. In principal axes.
    ///
    /// Not every stationary point has excess 0. All weights 0 is one; and where $u = 0$, $B = 0$ and $vc^T$ is the best
    /// matrix of rank one, the odd part gains from growing $uB$ only at the second order, at which the even part costs:
    /// for small N that is a strict local minimum (`lsa.local_minimum`).
    pub fn excess(&self, weights: &LsaWeights) -> f64 {
        let (residual, mut product) = (self.residual(weights), weights.product());
        for (i, gamma) in self.gamma().iter().enumerate() {
            product[[i, i]] -= 1.0 / gamma;
        }
        let odd = inner(product.view(), residual.view());
        0.5 * odd + Even::new(self, weights).map_or(0.0, |even| even.half_square())
    }

    /// Gradient $\nabla L$ at `weights`, both in principal axes; O(d²).
    pub fn gradient(&self, weights: &LsaWeights) -> LsaWeights {
        let mut flat = vec![0.0; LsaWeights::len_of(self.dim())];
        self.gradient_into(weights, &mut flat);
        LsaWeights::of_slice(self.dim(), &flat)
    }

    /// Writes [`Pretraining::gradient`] into `out`, in the order of [`LsaWeights::to_vec`].
    ///
    /// # Panics
    /// When `out` has another length than [`LsaWeights::len_of`]: a mistake of the caller.
    pub fn gradient_into(&self, weights: &LsaWeights, out: &mut [f64]) {
        let mut to = Slope::over(self.dim(), out);
        self.residual_into(weights, &mut to.b);
        *to.u = inner(to.b.view(), weights.b.view());
        to.v.assign(&to.b.dot(&weights.c));
        to.c.assign(&transposed_times(to.b.view(), &weights.v));
        to.b *= weights.u;
        if let Some(even) = Even::new(self, weights) {
            even.add_alpha_square(&mut to);
            even.add_cross(&mut to);
            even.add_beta_square(&mut to);
            even.add_to_b(&mut to);
        }
    }

    /// $R = \Lambda\Gamma D\Lambda$ with $D = A - \Gamma^{-1}$: the gradient of the odd part by A.
    fn residual(&self, weights: &LsaWeights) -> Array2<f64> {
        let mut r = Array2::zeros(weights.b.dim());
        self.residual_into(weights, &mut r.view_mut());
        r
    }

    fn residual_into(&self, w: &LsaWeights, r: &mut ArrayViewMut2<f64>) {
        let (l, g) = (self.covariance().values(), self.gamma());
        for (i, mut row) in r.rows_mut().into_iter().enumerate() {
            row.assign(&w.b.row(i));
            row *= w.u;
            row.scaled_add(w.v[i], &w.c);
            row *= l;
            row *= l[i] * g[i];
            // λ γ (1/γ) λ = λ², exactly as large as the other term at the minimum.
            row[i] -= l[i] * l[i];
        }
    }
}

/// A gradient in the order of [`LsaWeights::to_vec`], to be written to.
struct Slope<'a> {
    u: &'a mut f64,
    v: ArrayViewMut1<'a, f64>,
    c: ArrayViewMut1<'a, f64>,
    b: ArrayViewMut2<'a, f64>,
}

impl<'a> Slope<'a> {
    fn over(d: usize, flat: &'a mut [f64]) -> Self {
        assert_eq!(flat.len(), LsaWeights::len_of(d), "weights of dimension {d}");
        let (u, rest) = flat.split_at_mut(1);
        let (v, rest) = rest.split_at_mut(d);
        let (c, b) = rest.split_at_mut(d);
        let b = ArrayViewMut1::from(b).into_shape_with_order((d, d));
        Slope {
            u: &mut u[0], v: v.into(), c: c.into(), b: b.unwrap_or_else(|_| unreachable!("d² entries are d × d"))
        }
    }
}

/// ⟨A, B⟩ of two (m, n), row by row: ten times as fast as over single entries.
fn inner(a: ArrayView2<f64>, b: ArrayView2<f64>) -> f64 {
    a.rows().into_iter().zip(b.rows()).map(|(a, b)| a.dot(&b)).sum()
}

/// tr(BΛBᵀΛ) = Σ λ_i λ_j b_ij².
fn weighted(b: &Array2<f64>, l: &Array1<f64>) -> f64 {
    let term = |(row, li): (ArrayView1<f64>, &f64)| {
        let mut scaled = l.to_owned();
        scaled *= &row;
        li * scaled.dot(&row)
    };
    b.rows().into_iter().zip(l).map(term).sum()
}

/// Every (i, j) of a d × d matrix in blocks, so that b_ij and b_ji are both in the first cache.
fn blocks(d: usize, mut visit: impl FnMut(usize, usize)) {
    const BLOCK: usize = 16;
    for top in (0..d).step_by(BLOCK) {
        for left in (0..d).step_by(BLOCK) {
            for i in top..(top + BLOCK).min(d) {
                for j in left..(left + BLOCK).min(d) {
                    visit(i, j);
                }
            }
        }
    }
}

/// Aᵀv for A (m, n), reading A along its rows.
fn transposed_times(a: ArrayView2<f64>, v: &Array1<f64>) -> Array1<f64> {
    let mut sum = Array1::zeros(a.ncols());
    for (row, v) in a.rows().into_iter().zip(v) {
        sum.scaled_add(*v, &row);
    }
    sum
}

/// The terms of the even part, named as in [the module](super).
struct Even<'a> {
    w: &'a LsaWeights,
    /// λ.
    l: &'a Array1<f64>,
    /// N.
    n: f64,
    /// τ = tr Λ + σ².
    tau: f64,
    /// E ŝ², from (1 + 2/N)(τ² + 2 tr Λ²).
    kappa: f64,
    /// z = Λv.
    z: Array1<f64>,
    /// t = tr(BΛ).
    t: f64,
    /// E α = Bᵀz + uτc.
    alpha: Array1<f64>,
    /// m = E[xβ(x)] = (tz + 2ΛSz)/N.
    m: Array1<f64>,
    /// Sz.
    sz: Array1<f64>,
    /// ΛBᵀz.
    lbz: Array1<f64>,
}

impl<'a> Even<'a> {
    /// None where v = c = 0, which makes it and its gradient vanish.
    fn new(training: &'a Pretraining, w: &'a LsaWeights) -> Option<Self> {
        if w.v.iter().chain(&w.c).all(|x| *x == 0.0) {
            return None;
        }
        let (l, n) = (training.covariance().values(), training.context() as f64);
        let tau = training.covariance().trace() + training.noise_var();
        let kappa = (1.0 + 2.0 / n) * (tau * tau + 2.0 * l.dot(l));
        let z = l * &w.v;
        let t = w.b.diag().dot(l);
        let bz = transposed_times(w.b.view(), &z);
        let sz = (w.b.dot(&z) + &bz) * 0.5;
        let m = (&z * t + 2.0 * (l * &sz)) / n;
        let alpha = &bz + &(&w.c * (w.u * tau));
        let lbz = l * &bz;
        Some(Even { w, l, n, tau, kappa, z, t, alpha, m, sz, lbz })
    }

    /// (τΛ + (2/N)Λ²) v.
    fn qv(&self) -> Array1<f64> {
        &self.z * &(self.l * (2.0 / self.n) + self.tau)
    }

    /// tr(ΛBΛBᵀ).
    fn norm_b(&self) -> f64 {
        weighted(&self.w.b, self.l)
    }

    /// tr(SΛSΛ), S = (B + Bᵀ)/2: the mean of tr(BΛBᵀΛ) and tr(BΛBΛ).
    fn norm_s(&self) -> f64 {
        let (b, l) = (&self.w.b, self.l);
        let mut crossed = 0.0;
        blocks(l.len(), |i, j| crossed += l[i] * l[j] * b[[i, j]] * b[[j, i]]);
        0.5 * (self.norm_b() + crossed)
    }

    /// Sx.
    fn s_times(&self, x: &Array1<f64>) -> Array1<f64> {
        let b = &self.w.b;
        (b.dot(x) + transposed_times(b.view(), x)) * 0.5
    }

    /// ½ E(even)².
    fn half_square(&self) -> f64 {
        let (w, l, n) = (self.w, self.l, self.n);
        let vz = w.v.dot(&self.z);
        let b_z = transposed_times(w.b.view(), &self.z);
        let lc = l * &w.c;
        let alpha_square = (1.0 + 1.0 / n) * b_z.dot(&self.lbz)
            + self.norm_b() * vz / n
            + 2.0 * w.u * w.b.dot(&lc).dot(&self.qv())
            + w.u * w.u * self.kappa * w.c.dot(&lc);
        let lsz = l * &self.sz;
        let beta_square = (vz * (self.t * self.t + 2.0 * self.norm_s())
            + 4.0 * self.t * self.z.dot(&self.sz)
            + 8.0 * self.sz.dot(&lsz))
            / (n * n);
        0.5 * alpha_square + self.alpha.dot(&self.m) + 0.5 * beta_square
    }

    /// Of ½ E αᵀΛα, without that by B.
    fn add_alpha_square(&self, to: &mut Slope) {
        let (w, l, n) = (self.w, self.l, self.n);
        let (vz, qv, lc) = (w.v.dot(&self.z), self.qv(), l * &w.c);
        let (blbz, blc) = (w.b.dot(&self.lbz), w.b.dot(&lc));
        *to.u += blc.dot(&qv) + w.u * self.kappa * w.c.dot(&lc);
        to.v += &(l * &blbz * (1.0 + 1.0 / n) + &self.z * (self.norm_b() / n));
        to.v += &(&(l * &(l * (2.0 / n) + self.tau)) * &blc * w.u);
        to.c += &((l * &transposed_times(w.b.view(), &qv)) * w.u);
        to.c += &(lc * (w.u * w.u * self.kappa));
        let lbl = vz / n;
        for ((mut to, b), li) in to.b.rows_mut().into_iter().zip(w.b.rows()).zip(l) {
            Zip::from(&mut to).and(&b).and(l).for_each(|to, b, lj| *to += lbl * li * b * lj);
        }
    }

    /// Of (E α)ᵀ E[xβ(x)], without that by B.
    fn add_cross(&self, to: &mut Slope) {
        let (w, l, n) = (self.w, self.l, self.n);
        let la = l * &self.alpha;
        *to.u += self.tau * w.c.dot(&self.m);
        to.c += &(&self.m * (w.u * self.tau));
        let by_z = w.b.dot(&self.m) + (&self.alpha * self.t + self.s_times(&la) * 2.0) / n;
        to.v += &(l * &by_z);
    }

    /// Of ½ E β(x)², without that by B but for its symmetric term.
    fn add_beta_square(&self, to: &mut Slope) {
        let (l, t, z, n2) = (self.l, self.t, &self.z, self.n * self.n);
        let (b, lsz) = (&self.w.b, l * &self.sz);
        // tr(BΛBΛ) and, by B, 2⟨v, z⟩ΛSΛ/N², both of which read b_ij and b_ji.
        let (mut crossed, lsl) = (0.0, self.w.v.dot(z) / n2);
        blocks(l.len(), |i, j| {
            let weight = l[i] * l[j];
            crossed += weight * b[[i, j]] * b[[j, i]];
            to.b[[i, j]] += lsl * weight * (b[[i, j]] + b[[j, i]]);
        });
        let along = z * (t * t + self.norm_b() + crossed) + &lsz * (4.0 * t);
        let twice = (l * &self.s_times(&lsz)) * 8.0;
        to.v += &((along + twice) / n2);
    }

    /// By B, of all three: what has rank one, gathered by the left factor, and the diagonal.
    fn add_to_b(&self, to: &mut Slope) {
        let (l, n, z, t) = (self.l, self.n, &self.z, self.t);
        let (k1, n2) = (1.0 + 1.0 / n, n * n);
        let (la, lsz) = (l * &self.alpha, l * &self.sz);
        let (qv, lc) = (self.qv(), l * &self.w.c);
        // ½ E αᵀΛα: k1 z (ΛBᵀz)ᵀ + u qv (Λc)ᵀ. The product of means: z mᵀ + (Λα zᵀ + z (Λα)ᵀ)/N.
        // ½ Eβ²: (2t z zᵀ + 4 z (ΛSz)ᵀ + 4 ΛSz zᵀ)/N².
        let with_z = &self.lbz * k1 + &self.m + &la / n + (z * (2.0 * t) + &lsz * 4.0) / n2;
        let before_z = &la / n + &lsz * (4.0 / n2);
        let on_diagonal = self.alpha.dot(z) / n + (self.w.v.dot(z) * t + 2.0 * z.dot(&self.sz)) / n2;
        for (i, mut row) in to.b.rows_mut().into_iter().enumerate() {
            row.scaled_add(z[i], &with_z);
            row.scaled_add(before_z[i], z);
            row.scaled_add(self.w.u * qv[i], &lc);
            row[i] += on_diagonal * l[i];
        }
    }
}
