//! Gradient flows of [linear self-attention](crate::theory::lsa) on its population loss.

use super::flow::VectorField;
use crate::error::{Error, Result};
use crate::linalg::product;
use crate::theory::lsa::{Training, Weights};
use ndarray::{Array1, Array2, s};

/// $\dot\theta = -\nabla L(\theta)$ for all the weights that matter, in principal axes; the state is
/// [`Weights::to_vec`], of length 1 + 2d + d².
#[derive(Clone, Copy, Debug)]
pub struct Full<'a>(pub &'a Training);

impl VectorField for Full<'_> {
    fn dim(&self) -> usize {
        Weights::len_of(self.0.dim())
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let gradient = self.0.gradient(&Weights::of_slice(self.0.dim(), x));
        let flat = gradient.to_vec();
        out.iter_mut().zip(&flat).for_each(|(o, g)| *o = -g);
    }
}

/// The same flow from weights with v = c = 0, which it preserves, in d + 2 coordinates instead of
/// d² + 2d + 1: small enough for implicit methods at any d, which flows with a condition number
/// of 1000 need.
///
/// In principal axes, with $R = \Lambda\Gamma(uB)\Lambda - \Lambda^2$, $\dot B = -uR$ and $\dot u = -\langle R, B\rangle$. Off the
/// diagonal the flow of B is linear: with $s(t) = \int_0^t u^2$ and $k_{ij} = \lambda_i\gamma_i\lambda_j$,
/// $B_{ij} = B_{ij}(0)\, e^{-k_{ij}s}$. What remains is
/// $$\dot s = u^2, \qquad \dot B_{ii} = -u\,\lambda_i^2(\gamma_i u B_{ii} - 1), \qquad
/// \dot u = -\sum_i \lambda_i^2 B_{ii}(\gamma_i u B_{ii} - 1) - u \sum_{i\ne j} k_{ij} B_{ij}(0)^2 e^{-2k_{ij}s}.$$
/// The state is (u, s, B_11 .. B_dd).
#[derive(Clone, Debug)]
pub struct Reduced<'a> {
    training: &'a Training,
    start: Weights,
    /// k_ij and B_ij(0)² off the diagonal, where the latter is not 0.
    decays: Vec<(f64, f64)>,
}

impl<'a> Reduced<'a> {
    /// The flow from these weights, in principal axes; None unless v = c = 0.
    pub fn new(training: &'a Training, start: &Weights) -> Option<Self> {
        if start.v.iter().chain(&start.c).any(|x| *x != 0.0) {
            return None;
        }
        let (l, g) = (training.covariance().values(), training.gamma());
        let off = start
            .b
            .indexed_iter()
            .filter(|((i, j), b)| i != j && **b != 0.0);
        Some(Reduced {
            training,
            start: start.clone(),
            decays: off.map(|((i, j), b)| (l[i] * g[i] * l[j], b * b)).collect(),
        })
    }

    /// The state at time 0.
    pub fn start(&self) -> Vec<f64> {
        let mut state = vec![self.start.u, 0.0];
        state.extend(self.start.b.diag());
        state
    }

    /// The weights of a state, in principal axes.
    pub fn weights(&self, state: &[f64]) -> Weights {
        let (l, g) = (self.training.covariance().values(), self.training.gamma());
        let mut weights = self.start.clone();
        weights.u = state[0];
        for ((i, j), b) in weights.b.indexed_iter_mut() {
            *b = if i == j {
                state[2 + i]
            } else {
                *b * (-l[i] * g[i] * l[j] * state[1]).exp()
            };
        }
        weights
    }

    /// Σ_{i≠j} k b² e^{-2ks} and its derivative by s.
    fn off_diagonal(&self, s: f64) -> (f64, f64) {
        let mut sums = (0.0, 0.0);
        for (k, b2) in &self.decays {
            let term = k * b2 * (-2.0 * k * s).exp();
            sums.0 += term;
            sums.1 -= 2.0 * k * term;
        }
        sums
    }

    /// i, λ_i² and γ_i.
    fn modes(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        let values = self.training.covariance().values().iter();
        let modes = values.zip(self.training.gamma()).enumerate();
        modes.map(|(i, (l, g))| (i, l * l, *g))
    }
}

impl VectorField for Reduced<'_> {
    fn dim(&self) -> usize {
        self.training.dim() + 2
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let (u, s) = (x[0], x[1]);
        out[0] = -u * self.off_diagonal(s).0;
        out[1] = u * u;
        for (i, l2, g) in self.modes() {
            let b = x[2 + i];
            let r = l2 * (g * u * b - 1.0);
            out[0] -= b * r;
            out[2 + i] = -u * r;
        }
    }

    fn derivative(&self, x: &[f64], v: &[f64], out: &mut [f64]) {
        let (u, s, du, ds) = (x[0], x[1], v[0], v[1]);
        out[0] = 0.0;
        // Zero for most directions of a Jacobian, and the costly part of it.
        if du != 0.0 || ds != 0.0 {
            let (sum, slope) = self.off_diagonal(s);
            out[0] = -du * sum - u * slope * ds;
        }
        out[1] = 2.0 * u * du;
        for (i, l2, g) in self.modes() {
            let (b, db) = (x[2 + i], v[2 + i]);
            let mixed = l2 * (2.0 * g * u * b - 1.0);
            out[0] -= l2 * g * b * b * du + mixed * db;
            out[2 + i] = -mixed * du - l2 * g * u * u * db;
        }
    }
}

/// $\dot\theta = -\nabla\hat L(\theta)$ for the empirical loss $\hat L = \frac{1}{2B}\sum_z(\hat y_z - y_z)^2$ over B prompts,
/// in the axes of the data; the state is [`Weights::to_vec`].
///
/// With $p = (v, u)$, $K = (B; c^T)$ and the Gram matrix $G = \frac1N EE^T$ of a prompt,
/// $\hat y = p^TGKx$, so that $\nabla_p = \frac1B\sum(\hat y - y)\,GKx$ and
/// $\nabla_K = \frac1B\sum(\hat y - y)\,Gp\,x^T$.
#[derive(Clone, Debug)]
pub struct Empirical {
    prompts: Vec<Seen>,
    dim: usize,
}

/// What the loss keeps of a prompt.
#[derive(Clone, Debug)]
struct Seen {
    gram: Array2<f64>,
    query: Array1<f64>,
    answer: f64,
}

impl Empirical {
    /// The loss over prompts given as tokens E (d+1, N+1), the query in the last column over a 0,
    /// and the answers to the queries.
    ///
    /// # Errors
    /// No prompts, or shapes that do not fit.
    pub fn new<'a>(prompts: impl IntoIterator<Item = (&'a Array2<f64>, f64)>) -> Result<Self> {
        let mut seen: Vec<Seen> = vec![];
        for (tokens, answer) in prompts {
            let (rows, columns) = tokens.dim();
            let like = seen.first().map_or(rows, |s| s.gram.nrows());
            if rows < 2 || columns < 2 || rows != like {
                let expected = "(d+1, N+1) with d, N >= 1 and the d of the other prompts";
                return Err(Error::shape("prompt", tokens.dim(), expected));
            }
            let query = tokens.slice(s![..rows - 1, columns - 1]).to_owned();
            let gram = product(tokens.view(), tokens.t()) / (columns - 1) as f64;
            seen.push(Seen {
                gram,
                query,
                answer,
            });
        }
        match seen.first() {
            None => Err(Error::invalid("prompts", 0, "at least one")),
            Some(first) => Ok(Empirical {
                dim: first.query.len(),
                prompts: seen,
            }),
        }
    }

    /// $\hat L$ at `weights` in the axes of the data.
    pub fn loss(&self, weights: &Weights) -> f64 {
        let error = |s: &Seen| s.terms(weights).error;
        let sum: f64 = self.prompts.iter().map(|s| error(s).powi(2)).sum();
        0.5 * sum / self.prompts.len() as f64
    }

    /// $\nabla\hat L$ at `weights`, both in the axes of the data.
    pub fn gradient(&self, weights: &Weights) -> Weights {
        let d = self.dim;
        let mut sum = Weights::zeros(d);
        for seen in &self.prompts {
            let Terms { gkx, gp, error } = seen.terms(weights);
            let error = error / self.prompts.len() as f64;
            sum.u += error * gkx[d];
            sum.v.scaled_add(error, &gkx.slice(s![..d]));
            sum.c.scaled_add(error * gp[d], &seen.query);
            for (mut row, g) in sum.b.rows_mut().into_iter().zip(&gp) {
                row.scaled_add(error * g, &seen.query);
            }
        }
        sum
    }
}

/// G K x, G p and ŷ - y of one prompt.
struct Terms {
    gkx: Array1<f64>,
    gp: Array1<f64>,
    error: f64,
}

impl Seen {
    fn terms(&self, weights: &Weights) -> Terms {
        let d = self.query.len();
        let mut p = Array1::zeros(d + 1);
        p.slice_mut(s![..d]).assign(&weights.v);
        p[d] = weights.u;
        let mut kx = Array1::zeros(d + 1);
        kx.slice_mut(s![..d]).assign(&weights.b.dot(&self.query));
        kx[d] = weights.c.dot(&self.query);
        let (gkx, gp) = (self.gram.dot(&kx), self.gram.dot(&p));
        let error = p.dot(&gkx) - self.answer;
        Terms { gkx, gp, error }
    }
}

impl VectorField for Empirical {
    fn dim(&self) -> usize {
        Weights::len_of(self.dim)
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let gradient = self.gradient(&Weights::of_slice(self.dim, x)).to_vec();
        out.iter_mut().zip(&gradient).for_each(|(o, g)| *o = -g);
    }
}
