//! The population loss of [linear self-attention](super) and its gradient, in principal axes.

use super::{Training, Weights};
use ndarray::{Array1, Array2};

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
        let residual = self.residual(weights);
        let mut odd = 0.0;
        for ((i, j), d) in weights.product().indexed_iter() {
            let target = if i == j { 1.0 / self.gamma()[i] } else { 0.0 };
            odd += (d - target) * residual[[i, j]];
        }
        0.5 * odd + Even::of(self, weights).map_or(0.0, |even| even.half_square())
    }

    /// $\nabla L$ at `weights`, both in principal axes; O(d²).
    pub fn gradient(&self, weights: &Weights) -> Weights {
        let r = self.residual(weights);
        let mut gradient = Weights {
            u: r.iter().zip(&weights.b).map(|(r, b)| r * b).sum(),
            v: r.dot(&weights.c),
            c: r.t().dot(&weights.v),
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
        for ((i, j), r) in r.indexed_iter_mut() {
            // λ γ (1/γ) λ = λ², exactly as large as the other term at the minimum.
            let target = if i == j { l[i] * l[j] } else { 0.0 };
            *r = l[i] * g[i] * *r * l[j] - target;
        }
        r
    }
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
        let s = (&w.b + &w.b.t()) * 0.5;
        let t = w.b.diag().dot(l);
        let bz = w.b.t().dot(&z);
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
        let l = self.l;
        let term = |((i, j), b): ((usize, usize), &f64)| l[i] * l[j] * b * b;
        self.w.b.indexed_iter().map(term).sum()
    }

    /// tr(SΛSΛ).
    fn norm_s(&self) -> f64 {
        let l = self.l;
        let term = |((i, j), s): ((usize, usize), &f64)| l[i] * l[j] * s * s;
        self.s.indexed_iter().map(term).sum()
    }

    /// ½ E(even)².
    fn half_square(&self) -> f64 {
        let (w, l, n) = (self.w, self.l, self.n);
        let vz = w.v.dot(&self.z);
        let b_z = w.b.t().dot(&self.z);
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
    }

    /// Of ½ E αᵀΛα.
    fn add_alpha_square(&self, to: &mut Weights) {
        let (w, l, n) = (self.w, self.l, self.n);
        let (k1, vz, qv, lc) = (1.0 + 1.0 / n, w.v.dot(&self.z), self.qv(), l * &w.c);
        let (blbz, blc) = (w.b.dot(&self.lbz), w.b.dot(&lc));
        let norm_b = self.norm_b();
        to.u += blc.dot(&qv) + w.u * self.kappa * w.c.dot(&lc);
        to.v += &(l * &blbz * k1 + &self.z * (norm_b / n));
        to.v += &(&(l * &(l * (2.0 / n) + self.tau)) * &blc * w.u);
        to.c += &((l * &w.b.t().dot(&qv)) * w.u + &lc * (w.u * w.u * self.kappa));
        for ((i, j), g) in to.b.indexed_iter_mut() {
            *g += k1 * self.z[i] * self.lbz[j]
                + vz / n * l[i] * w.b[[i, j]] * l[j]
                + w.u * qv[i] * lc[j];
        }
    }

    /// Of (E α)ᵀ E[xβ(x)].
    fn add_cross(&self, to: &mut Weights) {
        let (w, l, n) = (self.w, self.l, self.n);
        let la = l * &self.alpha;
        to.u += self.tau * w.c.dot(&self.m);
        to.c += &(&self.m * (w.u * self.tau));
        let by_z = w.b.dot(&self.m) + (&self.alpha * self.t + self.s.dot(&la) * 2.0) / n;
        to.v += &(l * &by_z);
        let az = self.alpha.dot(&self.z);
        for ((i, j), g) in to.b.indexed_iter_mut() {
            *g += self.z[i] * self.m[j] + (la[i] * self.z[j] + self.z[i] * la[j]) / n;
            if i == j {
                *g += az * l[i] / n;
            }
        }
    }

    /// Of ½ E β(x)².
    fn add_beta_square(&self, to: &mut Weights) {
        let (l, t, z, n2) = (self.l, self.t, &self.z, self.n * self.n);
        let vz = self.w.v.dot(z);
        let zsz = z.dot(&self.sz);
        let lsz = l * &self.sz;
        let along = z * (t * t + 2.0 * self.norm_s()) + &lsz * (4.0 * t);
        let twice = (l * &self.s.dot(&lsz)) * 8.0;
        to.v += &((along + twice) / n2);
        for ((i, j), g) in to.b.indexed_iter_mut() {
            let mut sum = 2.0 * vz * l[i] * self.s[[i, j]] * l[j]
                + 2.0 * t * z[i] * z[j]
                + 4.0 * (z[i] * lsz[j] + lsz[i] * z[j]);
            if i == j {
                sum += (vz * t + 2.0 * zsz) * l[i];
            }
            *g += sum / n2;
        }
    }
}
