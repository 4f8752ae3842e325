//! Linear self-attention trained on random linear regression: the notes' "Linear transformers trained
//! on random linear regression tasks", after Zhang, Frei and Bartlett (JMLR 2024).
//!
//! # The model
//!
//! A task is $w \sim N(0, I_d)$; a prompt has $x_i \sim N(0, \Lambda)$ and $y_i = \langle w, x_i\rangle +
//! \varepsilon_i$ for $i \le N$, and a query $x = x_{N+1}$ whose label stands as 0 in the tokens
//! $$E = \begin{pmatrix} x_1 & \dots & x_N & x \\ y_1 & \dots & y_N & 0 \end{pmatrix}
//! \in \mathbb R^{(d+1)\times(N+1)}.$$
//! The layer is $f(E) = E + W^{PV} E\, \frac{1}{\rho} E^T W^{KQ} E$ with $\rho = N$, and predicts
//! $\hat y = f(E)_{d+1, N+1}$. (The notes leave ρ open; their limit needs ρ = N in training and
//! ρ = M at a test length M.) The notes have no label noise; here $\varepsilon_i \sim N(0, \sigma^2)$,
//! on the query's label too, and σ² = 0 is theirs.
//!
//! # What the prediction sees
//!
//! Entry (d+1, N+1) uses the last row $(v^T, u)$ of $W^{PV}$ and the first d columns $(B; c^T)$ of
//! $W^{KQ}$ only; every other entry has gradient 0. With $\hat\Lambda = \frac1N \sum_{i\le N} x_i x_i^T$,
//! $\hat b = \frac1N \sum_i y_i x_i$ and $\hat s = \frac1N \sum_i y_i^2$,
//! $$\hat y = \underbrace{\hat b^T (u B + v c^T)\, x}_{\text{odd in the labels}} +
//! \underbrace{x^T B^T \big(\hat\Lambda + \tfrac1N x x^T\big) v + u\,\hat s\, \langle c, x\rangle}_{\text{even}},$$
//! the query's own $x x^T$ included, because $E E^T$ includes it.
//!
//! # The population loss
//!
//! $(w, \varepsilon) \to -(w, \varepsilon)$ turns the sign of the labels and of the odd part only, so the
//! two parts do not mix:
//! $$L = \tfrac12 \mathbb E (\hat y - y)^2 = \underbrace{\tfrac12 \mathbb E(\hat b^T A x - \langle w, x\rangle)^2 +
//! \tfrac12\sigma^2}_{L_{odd}(A)} + \tfrac12 \mathbb E(\text{even})^2, \qquad A = uB + vc^T.$$
//!
//! *Odd part.* $\mathbb E \hat\Lambda^2 = (1+\frac1N)\Lambda^2 + \frac1N \mathrm{tr}(\Lambda)\Lambda$ for Gaussian $x_i$
//! (Isserlis), so that $\mathbb E\, \hat b \hat b^T = \Lambda\Gamma$ and $\mathbb E\, \hat b w^T = \Lambda$ with
//! $$\Gamma = \Gamma_N = \big(1 + \tfrac1N\big)\Lambda + \tfrac1N\big(\mathrm{tr}(\Lambda) + \sigma^2\big) I,$$
//! the notes' $\Gamma_N$ at σ² = 0. Completing the square, with $D = A - \Gamma^{-1}$,
//! $$L_{odd}(A) = \tfrac12 \mathrm{tr}\,\Lambda(I - \Gamma^{-1}\Lambda) + \tfrac12\sigma^2 +
//! \tfrac12 \langle D, \Lambda\Gamma D \Lambda\rangle, \qquad \nabla_A L_{odd} = \Lambda\Gamma D\Lambda.$$
//! The even part is at least 0, so $v = c = 0$, $uB = \Gamma^{-1}$ is a global minimum: the notes'
//! limit. It is not the only stationary point: see [`Pretraining::excess`].
//!
//! *Even part.* With $\alpha = B^T\hat\Lambda v + u\hat s c$, $\beta(x) = \frac1N (x^TBx)\langle x, v\rangle$,
//! $z = \Lambda v$, $S = \frac12(B + B^T)$, $t = \mathrm{tr}(B\Lambda)$ and
//! $\tau = \mathbb E \hat s = \mathrm{tr}\Lambda + \sigma^2$, again by Isserlis' theorem,
//! $$\mathbb E(\text{even})^2 = \mathbb E\,\alpha^T\Lambda\alpha + 2\, \mathbb E[\alpha]^T \mathbb E[x\beta(x)] + \mathbb E \beta(x)^2,$$
//! $$\mathbb E\,\alpha^T\Lambda\alpha = \big(1+\tfrac1N\big) z^T B\Lambda B^T z +
//! \tfrac1N \mathrm{tr}(\Lambda B\Lambda B^T)\langle v, z\rangle +
//! 2u\, c^T\Lambda B^T\big(\tau\Lambda + \tfrac2N\Lambda^2\big) v +
//! u^2\big(1+\tfrac2N\big)\big(\tau^2 + 2\,\mathrm{tr}\Lambda^2\big)\, c^T\Lambda c,$$
//! $$\mathbb E\alpha = B^T z + u\tau c, \qquad \mathbb E[x\beta(x)] = \tfrac1N\big(t z + 2\Lambda S z\big),$$
//! $$\mathbb E\beta(x)^2 = \tfrac{1}{N^2}\big[\langle v,z\rangle\big(t^2 + 2\,\mathrm{tr}(S\Lambda S\Lambda)\big) +
//! 4t\, z^TSz + 8\, z^TS\Lambda S z\big].$$
//! Both parts and their gradients are checked against Monte Carlo through the plain attention
//! operator (`lsa.population_loss`) and against finite differences.
//!
//! # Coordinates
//!
//! With $\Lambda = Q\,\mathrm{diag}(\lambda)\,Q^T$ the loss of $(v, u, B, c)$ is the loss for the diagonal covariance
//! of $(Q^Tv, u, Q^TBQ, Q^Tc)$, and gradient flow commutes with this rotation. So everything here is computed in the
//! principal axes of Λ, where a loss and its gradient cost O(d²); [`LsaWeights::rotated`] leads there and back.
//!
//! # What the flow conserves
//!
//! $\hat y$ is linear in $(v, u)$ and in $(B, c)$ alone, so $\langle (v,u), \nabla L\rangle =
//! \mathbb E(\hat y - y)\hat y = \langle (B,c), \nabla L\rangle$ and along every gradient flow, of the
//! population loss as of any empirical one, $|v|^2 + u^2 - \|B\|_F^2 - |c|^2$ is constant.
//!
//! # The Polyak-Łojasiewicz inequality along the flow
//!
//! Let $v = c = 0$, which the flow preserves, and let $u^2 - \|B\|_F^2 = I$ be the conserved
//! quantity. $\nabla_B L = uR$ with $R = \Lambda\Gamma D\Lambda$, and $L - \min L = \frac12\langle D, R\rangle$, so
//! $$\|\nabla L\|^2 \ge u^2\|R\|_F^2 \ge 2u^2\,\lambda_{min}\,(\lambda\gamma)_{min}\,(L - \min L).$$
//! As L falls along the flow, $L(A) \ge L(0) - \langle A, \Lambda^2\rangle$ bounds u from below: with
//! $g = (L(0) - L_{start})/\|\Lambda^2\|_F$, $g \le \|A\|_F = |u|\sqrt{u^2 - I}$, that is
//! $$u^2 \ge \tfrac12\big(I + \sqrt{I^2 + 4g^2}\big).$$
//! Where the start is better than predicting 0, L - min L therefore falls at least exponentially,
//! with the explicit rate of [`Pretraining::pl_constant`].
//!
//! # Where else the flow can end
//!
//! With $v = c = 0$ the stationary points are those with $uR = 0$ and $\langle R, B\rangle = 0$: either $R = 0$, which
//! is the global minimum, or $u = 0$ and $\langle\Lambda^2, B\rangle = 0$. At the latter the second derivative by u and
//! along $B \parallel \Lambda^2$ has determinant $-\|\Lambda^2\|_F^2 < 0$: every one is a strict saddle, and $L$ on a
//! trajectory, which stays bounded ($uB$ by L, $u^2 - \|B\|_F^2$ by conservation), converges by its being a polynomial.
//! So from almost every start with $v = c = 0$ the flow reaches the global minimum, whatever the scale σ and the sign
//! of B: the condition $\sigma^2\|\Gamma\|\sqrt d < 2$ is what the rate is proved from, not what convergence needs
//! (`lsa.any_start`). Near the origin $\dot u = \langle\Lambda^2, B\rangle$, $\dot B = u\Lambda^2$: weights of size σ
//! grow at the rate $\|\Lambda^2\|_F$, and the loss stays on a plateau for a time
//! $\ln(1/\sigma)/\|\Lambda^2\|_F + O(1)$ (`lsa.plateau`). Only weights 0, and a set of measure 0 such as
//! $B = -uI/\sqrt d$ for Λ = I, never leave it.

mod covariance;
mod loss;
pub mod risk;
mod weights;

pub use covariance::Covariance;
pub use risk::{LabelMoments, Law, Link, Risk, Target, printed_risk, risk, risk_at_query};
pub use weights::LsaWeights;

use attnlab_core::error::{self, Result};
use ndarray::{Array1, Array2};

/// Law of the prompts that the layer is trained on: Λ, N and σ².
///
/// ```
/// use attnlab_lsa::theory::{Covariance, Pretraining};
/// let training = Pretraining::new(Covariance::diagonal(&[1.0, 2.0])?, 5, 0.0)?;
/// // Γ_N = 1.2 Λ + 0.6 I
/// assert!((training.gamma()[0] - 1.8).abs() < 1e-15 && (training.gamma()[1] - 3.0).abs() < 1e-15);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pretraining {
    covariance: Covariance,
    context: usize,
    noise_var: f64,
    gamma: Array1<f64>,
}

impl Pretraining {
    /// Training on prompts of `context` = N labelled examples with covariance Λ and label noise of
    /// variance σ² (0 in the notes).
    ///
    /// # Errors
    /// N = 0, or a σ² that is negative or not finite.
    pub fn new(covariance: Covariance, context: usize, noise_var: f64) -> Result<Self> {
        error::at_least("N", context, 1)?;
        error::non_negative("noise_var", noise_var)?;
        let n = context as f64;
        let floor = (covariance.trace() + noise_var) / n;
        let gamma = covariance.values().mapv(|l| (1.0 + 1.0 / n) * l + floor);
        Ok(Pretraining { covariance, context, noise_var, gamma })
    }

    /// Covariance Λ of the inputs.
    pub fn covariance(&self) -> &Covariance {
        &self.covariance
    }

    /// Dimension d of the inputs.
    pub fn dim(&self) -> usize {
        self.gamma.len()
    }

    /// Number N of examples in a training prompt.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Variance σ² of the label noise.
    pub fn noise_var(&self) -> f64 {
        self.noise_var
    }

    /// Eigenvalues γ (d) of $\Gamma$, in the order of those of Λ, whose axes it shares.
    pub fn gamma(&self) -> &Array1<f64> {
        &self.gamma
    }

    /// Matrix $\Gamma^{-1}$ (d, d), in the axes of the data.
    pub fn gamma_inverse(&self) -> Array2<f64> {
        self.covariance.with_values(&self.gamma.mapv(|g| 1.0 / g))
    }

    /// The least population loss, $\frac12\mathrm{tr}\,\Lambda(I - \Gamma^{-1}\Lambda) + \frac12\sigma^2$.
    pub fn minimum(&self) -> f64 {
        let values = self.covariance.values().iter().zip(&self.gamma);
        // λ(1 - λ/γ) without cancellation: γ - λ = (λ + tr Λ + σ²)/N.
        let rest = self.covariance.trace() + self.noise_var;
        let term = |(l, g): (&f64, &f64)| l * (l + rest) / (self.context as f64 * g);
        0.5 * (values.map(term).sum::<f64>() + self.noise_var)
    }

    /// The loss of predicting 0, $\frac12\mathrm{tr}\Lambda + \frac12\sigma^2$: that of all weights zero.
    pub fn loss_of_zero(&self) -> f64 {
        0.5 * (self.covariance.trace() + self.noise_var)
    }

    /// Weights $u$ and $B$ to which the flow with conserved $u^2 - \|B\|_F^2$ = `conserved` and u > 0 tends:
    /// $u^2 = \frac12(I + \sqrt{I^2 + 4\|\Gamma^{-1}\|_F^2})$, and $B = \Gamma^{-1}/u$. In principal axes.
    pub fn limit(&self, conserved: f64) -> LsaWeights {
        let norm2: f64 = self.gamma.iter().map(|g| g.powi(-2)).sum();
        let u = positive_root(conserved, norm2).sqrt();
        let mut limit = LsaWeights::zeros(self.dim());
        limit.u = u;
        limit.b = Array2::from_diag(&self.gamma.mapv(|g| 1.0 / (u * g)));
        limit
    }

    /// Constant c > 0 with $\|\nabla L\|^2 \ge c\,(L - \min L)$ all along the flow from `start`, as derived in [the
    /// module](self); None where the derivation says nothing: v or c not 0, or a start no better than predicting 0.
    pub fn pl_constant(&self, start: &LsaWeights) -> Option<f64> {
        if start.v.iter().chain(&start.c).any(|x| *x != 0.0) {
            return None;
        }
        let values = self.covariance.values();
        let gain = self.gain(&start.product());
        if gain <= 0.0 {
            return None;
        }
        let square = values.iter().map(|l| l.powi(4)).sum::<f64>();
        let u2 = positive_root(start.conserved(), gain * gain / square);
        let least = |a: f64, b: f64| a.min(b);
        let lambda = values.iter().copied().fold(f64::INFINITY, least);
        Some(2.0 * u2 * lambda * values.iter().zip(&self.gamma).map(|(l, g)| l * g).fold(f64::INFINITY, least))
    }

    /// L(0) - L(A) = ⟨A, Λ²⟩ - ½⟨A, ΛΓAΛ⟩ for v = c = 0, without the cancellation of a difference of losses:
    /// weights of 1e-20 gain 1e-40.
    fn gain(&self, product: &Array2<f64>) -> f64 {
        let l = self.covariance.values();
        let entry = |((i, j), a): ((usize, usize), &f64)| {
            let linear = if i == j { a * l[i] * l[i] } else { 0.0 };
            linear - 0.5 * l[i] * self.gamma[i] * l[j] * a * a
        };
        product.indexed_iter().map(entry).sum()
    }

    /// The lifetime of the slowest mode of the flow from the theorem's initial weights. Mode i of B
    /// falls towards its limit at the rate $u^2\lambda_i^2\gamma_i$, and $u^2$ is about $1/\gamma_1$ or more once the
    /// first mode is learned ($uB_{11} = 1/\gamma_1$ with $u^2 \approx \|B\|_F^2$).
    pub fn lifetime(&self) -> f64 {
        let modes = self.covariance.values().iter().zip(&self.gamma);
        let slowest = modes.map(|(l, g)| l * l * g).fold(f64::INFINITY, f64::min);
        self.gamma.iter().copied().fold(0.0, f64::max) / slowest
    }

    /// Upper end of the scales σ of the theorem's initial weights, √(2 / (√d ‖Γ‖)): Assumption 3.3
    /// of Zhang, Frei and Bartlett, which the notes call "suitable".
    pub fn scale_limit(&self) -> f64 {
        let largest = self.gamma.iter().copied().fold(0.0, f64::max);
        (2.0 / ((self.dim() as f64).sqrt() * largest)).sqrt()
    }
}

/// The positive root of $q^2 - Iq = n$ for n ≥ 0, without cancellation where I < 0.
fn positive_root(conserved: f64, n: f64) -> f64 {
    let root = (conserved * conserved + 4.0 * n).sqrt();
    if conserved >= 0.0 { 0.5 * (conserved + root) } else { 2.0 * n / (root - conserved) }
}
