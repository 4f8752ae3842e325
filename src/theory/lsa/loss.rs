//! The population loss of [linear self-attention](super) and its gradient, in principal axes.

use super::{Training, Weights};
use ndarray::{Array1, Array2, ArrayViewMut1, Zip};

impl Training {
    /// $L = \frac12\mathbb E(\hat y - y)^2$ at `weights` given in principal axes.
    pub fn loss(&self, weights: &Weights) -> f64 {
        self.minimum() + self.excess(weights)
    }

    /// $L - \min L = \frac12\langle D, \Lambda\Gamma D\Lambda\rangle + \frac12\mathbb E(\text{even})^2$, without the
    /// cancellation of a difference. In principal axes.
    ///
    /// Not every stationary point has excess 0. All weights 0 is one; and where $u = 0$, $B = 0$ and
    /// $vc^T$ is the best matrix of rank one, the odd part gains from growing $uB$ only at the second
    /// order, at which the even part costs: for small N that is a strict local minimum
    /// (`lsa.local_minimum`).
    pub fn excess(&self, weights: &Weights) -> f64 {
        let (residual, mut product) = (self.residual(weights), weights.product());
        for (i, gamma) in self.gamma().iter().enumerate() {
            product[[i, i]] -= 1.0 / gamma;
        }
        let odd = inner(&product, &residual);
        0.5 * odd + Even::of(self, weights).map_or(0.0, |even| even.half_square())
    }

    /// $\nabla L$ at `weights`, both in principal axes; O(d²).
    pub fn gradient(&self, weights: &Weights) -> Weights {
        let r = self.residual(weights);
        let mut gradient = Weights {
            u: inner(&r, &weights.b),
            v: r.dot(&weights.c),
            c: transposed_times(&r, &weights.v),
            b: r * weights.u,
        };
        if let Some(even) = Even::of(self, weights) {
            even.add_gradient(&mut gradient);
        }
        gradient
    }

    /// $R = \Lambda\Gamma D\Lambda$ with $D = A - \Gamma^{-1}$: the gradient of the odd part by A.
    fn residual(&self, weights: &Weights) -> Array2<f64> {
        let (l, g) = (self.covariance().values(), self.gamma());
        let mut r = weights.product();
        for (i, mut row) in r.rows_mut().into_iter().enumerate() {
            row *= l;
            row *= l[i] * g[i];
            // λ γ (1/γ) λ = λ², exactly as large as the other term at the minimum.
            row[i] -= l[i] * l[i];
        }
        r
    }
}

/// ⟨A, B⟩ of two (m, n), row by row: ten times as fast as over single entries.
fn inner(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    let rows = a.rows().into_iter().zip(b.rows());
    rows.map(|(a, b)| a.dot(&b)).sum()
}

/// tr(AΛBᵀΛ) = Σ λ_i λ_j a_ij b_ij.
fn weighted(a: &Array2<f64>, b: &Array2<f64>, l: &Array1<f64>) -> f64 {
    let rows = a.rows().into_iter().zip(b.rows()).zip(l);
    rows.map(|((a, b), li)| li * a.dot(&(&b * l))).sum()
}

/// Aᵀv for A (m, n), reading A along its rows.
fn transposed_times(a: &Array2<f64>, v: &Array1<f64>) -> Array1<f64> {
    let mut sum = Array1::zeros(a.ncols());
    for (row, v) in a.rows().into_iter().zip(v) {
        sum.scaled_add(*v, &row);
    }
    sum
}

/// (A + Aᵀ)/2 of a square A, in blocks that stay in the first cache.
fn symmetric_part(a: &Array2<f64>) -> Array2<f64> {
    const BLOCK: usize = 16;
    let d = a.nrows();
    let mut s = Array2::zeros((d, d));
    for top in (0..d).step_by(BLOCK) {
        for left in (0..d).step_by(BLOCK) {
            for i in top..(top + BLOCK).min(d) {
                for j in left..(left + BLOCK).min(d) {
                    s[[i, j]] = 0.5 * (a[[i, j]] + a[[j, i]]);
                }
            }
        }
    }
    s
}

/// The terms of the even part, named as in [the module](super).
struct Even<'a> {
    w: &'a Weights,
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
    /// S = (B + Bᵀ)/2.
    s: Array2<f64>,
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
    fn of(training: &'a Training, w: &'a Weights) -> Option<Self> {
        if w.v.iter().chain(&w.c).all(|x| *x == 0.0) {
            return None;
        }
        let (l, n) = (training.covariance().values(), training.context() as f64);
        let tau = training.covariance().trace() + training.noise_var();
        let kappa = (1.0 + 2.0 / n) * (tau * tau + 2.0 * l.dot(l));
        let z = l * &w.v;
        let s = symmetric_part(&w.b);
        let t = w.b.diag().dot(l);
        let bz = transposed_times(&w.b, &z);
        let sz = s.dot(&z);
        let m = (&z * t + 2.0 * (l * &sz)) / n;
        let alpha = &bz + &(&w.c * (w.u * tau));
        let lbz = l * &bz;
        Some(Even {
            w,
            l,
            n,
            tau,
            kappa,
            z,
            s,
            t,
            alpha,
            m,
            sz,
            lbz,
        })
    }

    /// (τΛ + (2/N)Λ²) v.
    fn qv(&self) -> Array1<f64> {
        &self.z * &(self.l * (2.0 / self.n) + self.tau)
    }

    /// tr(ΛBΛBᵀ).
    fn norm_b(&self) -> f64 {
        weighted(&self.w.b, &self.w.b, self.l)
    }

    /// tr(SΛSΛ).
    fn norm_s(&self) -> f64 {
        weighted(&self.s, &self.s, self.l)
    }

    /// ½ E(even)².
    fn half_square(&self) -> f64 {
        let (w, l, n) = (self.w, self.l, self.n);
        let vz = w.v.dot(&self.z);
        let b_z = transposed_times(&w.b, &self.z);
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

    fn add_gradient(&self, to: &mut Weights) {
        self.add_alpha_square(to);
        self.add_cross(to);
        self.add_beta_square(to);
        self.add_to_b(to);
    }

    /// Of ½ E αᵀΛα, without that by B.
    fn add_alpha_square(&self, to: &mut Weights) {
        let (w, l, n) = (self.w, self.l, self.n);
        let (vz, qv, lc) = (w.v.dot(&self.z), self.qv(), l * &w.c);
        let (blbz, blc) = (w.b.dot(&self.lbz), w.b.dot(&lc));
        to.u += blc.dot(&qv) + w.u * self.kappa * w.c.dot(&lc);
        to.v += &(l * &blbz * (1.0 + 1.0 / n) + &self.z * (self.norm_b() / n));
        to.v += &(&(l * &(l * (2.0 / n) + self.tau)) * &blc * w.u);
        to.c += &((l * &transposed_times(&w.b, &qv)) * w.u);
        to.c += &(lc * (w.u * w.u * self.kappa));
        let lbl = vz / n;
        for ((mut to, b), li) in rows(&mut to.b).zip(w.b.rows()).zip(l) {
            Zip::from(&mut to)
                .and(&b)
                .and(l)
                .for_each(|to, b, lj| *to += lbl * li * b * lj);
        }
    }

    /// Of (E α)ᵀ E[xβ(x)], without that by B.
    fn add_cross(&self, to: &mut Weights) {
        let (w, l, n) = (self.w, self.l, self.n);
        let la = l * &self.alpha;
        to.u += self.tau * w.c.dot(&self.m);
        to.c += &(&self.m * (w.u * self.tau));
        let by_z = w.b.dot(&self.m) + (&self.alpha * self.t + self.s.dot(&la) * 2.0) / n;
        to.v += &(l * &by_z);
    }

    /// Of ½ E β(x)², without that by B but for its symmetric term.
    fn add_beta_square(&self, to: &mut Weights) {
        let (l, t, z, n2) = (self.l, self.t, &self.z, self.n * self.n);
        let lsz = l * &self.sz;
        let along = z * (t * t + 2.0 * self.norm_s()) + &lsz * (4.0 * t);
        let twice = (l * &self.s.dot(&lsz)) * 8.0;
        to.v += &((along + twice) / n2);
        let lsl = 2.0 * self.w.v.dot(z) / n2;
        for ((mut to, s), li) in rows(&mut to.b).zip(self.s.rows()).zip(l) {
            Zip::from(&mut to)
                .and(&s)
                .and(l)
                .for_each(|to, s, lj| *to += lsl * li * s * lj);
        }
    }

    /// By B, of all three: what has rank one, gathered by the left factor, and the diagonal.
    fn add_to_b(&self, to: &mut Weights) {
        let (l, n, z, t) = (self.l, self.n, &self.z, self.t);
        let (k1, n2) = (1.0 + 1.0 / n, n * n);
        let (la, lsz) = (l * &self.alpha, l * &self.sz);
        let (qv, lc) = (self.qv(), l * &self.w.c);
        // ½ E αᵀΛα: k1 z (ΛBᵀz)ᵀ + u qv (Λc)ᵀ. The product of means: z mᵀ + (Λα zᵀ + z (Λα)ᵀ)/N.
        // ½ Eβ²: (2t z zᵀ + 4 z (ΛSz)ᵀ + 4 ΛSz zᵀ)/N².
        let with_z = &self.lbz * k1 + &self.m + &la / n + (z * (2.0 * t) + &lsz * 4.0) / n2;
        let before_z = &la / n + &lsz * (4.0 / n2);
        let on_diagonal =
            self.alpha.dot(z) / n + (self.w.v.dot(z) * t + 2.0 * z.dot(&self.sz)) / n2;
        for (i, mut row) in rows(&mut to.b).enumerate() {
            row.scaled_add(z[i], &with_z);
            row.scaled_add(before_z[i], z);
            row.scaled_add(self.w.u * qv[i], &lc);
            row[i] += on_diagonal * l[i];
        }
    }
}

/// The rows of a matrix, to be written to.
fn rows(a: &mut Array2<f64>) -> impl Iterator<Item = ArrayViewMut1<'_, f64>> {
    a.rows_mut().into_iter()
}
