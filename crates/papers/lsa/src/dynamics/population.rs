//! Gradient flow on the population loss.

use crate::theory::{LsaWeights, Pretraining};
use attnlab_core::error::Result;
use attnlab_theory::dynamics::flow::{Flow, Method, VectorField, Watch};

/// Gradient flow $\dot\theta = -\nabla L(\theta)$ in all the weights that matter, in principal axes; the state is
/// [`LsaWeights::to_vec`], of length 1 + 2d + d².
#[derive(Clone, Copy, Debug)]
pub struct Full<'a>(pub &'a Pretraining);

impl VectorField for Full<'_> {
    fn dim(&self) -> usize {
        LsaWeights::len_of(self.0.dim())
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        self.0.gradient_into(&LsaWeights::of_slice(self.0.dim(), x), out);
        out.iter_mut().for_each(|o| *o = -*o);
    }
}

/// The same flow from weights with v = c = 0, which it preserves, in d + 2 coordinates instead of d² + 2d + 1: small
/// enough for implicit methods at any d, which flows with a condition number of 1000 need.
///
/// In principal axes, with $R = \Lambda\Gamma(uB)\Lambda - \Lambda^2$, $\dot B = -uR$ and $\dot u = -\langle R, B\rangle$. Off the
/// diagonal the flow of B is linear: with $s(t) = \int_0^t u^2$ and $k_{ij} = \lambda_i\gamma_i\lambda_j$,
/// $B_{ij} = B_{ij}(0)\, e^{-k_{ij}s}$. What remains is
/// $$\dot s = u^2, \qquad \dot B_{ii} = -u\,\lambda_i^2(\gamma_i u B_{ii} - 1), \qquad
/// \dot u = -\sum_i \lambda_i^2 B_{ii}(\gamma_i u B_{ii} - 1) - u \sum_{i\ne j} k_{ij} B_{ij}(0)^2 e^{-2k_{ij}s}.$$
/// The state is (u, s, B_11 .. B_dd).
#[derive(Clone, Debug)]
pub struct Reduced<'a> {
    training: &'a Pretraining,
    start: LsaWeights,
    /// k_ij and B_ij(0)² off the diagonal, where the latter is not 0.
    decays: Vec<(f64, f64)>,
}

/// Exponent beyond which exp(-x) is 0 in double precision.
const VANISHED: f64 = 745.2;

impl<'a> Reduced<'a> {
    /// The flow from these weights, in principal axes; None unless v = c = 0.
    pub fn new(training: &'a Pretraining, start: &LsaWeights) -> Option<Self> {
        if start.v.iter().chain(&start.c).any(|x| *x != 0.0) {
            return None;
        }
        let (l, g) = (training.covariance().values(), training.gamma());
        let off = start.b.indexed_iter().filter(|((i, j), b)| i != j && **b != 0.0);
        let decay = |((i, j), b): ((usize, usize), &f64)| (l[i] * g[i] * l[j], b * b);
        Some(Reduced { training, start: start.clone(), decays: off.map(decay).collect() })
    }

    /// The state at time 0.
    pub fn start(&self) -> Vec<f64> {
        let mut state = vec![self.start.u, 0.0];
        state.extend(self.start.b.diag());
        state
    }

    /// The weights of a state, in principal axes.
    pub fn weights(&self, state: &[f64]) -> LsaWeights {
        let (l, g) = (self.training.covariance().values(), self.training.gamma());
        let mut weights = self.start.clone();
        weights.u = state[0];
        for ((i, j), b) in weights.b.indexed_iter_mut() {
            *b = if i == j { state[2 + i] } else { *b * (-l[i] * g[i] * l[j] * state[1]).exp() };
        }
        weights
    }

    /// Σ_{i≠j} k b² e^{-2ks} and its derivative by s.
    fn off_diagonal(&self, s: f64) -> (f64, f64) {
        let mut sums = (0.0, 0.0);
        for (k, b2) in self.decays.iter().filter(|(k, _): &&(f64, f64)| 2.0 * k * s < VANISHED) {
            let term = k * b2 * (-2.0 * k * s).exp();
            sums.0 += term;
            sums.1 -= 2.0 * k * term;
        }
        sums
    }

    /// i, λ_i² and γ_i.
    fn modes(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        let values = self.training.covariance().values().iter();
        values.zip(self.training.gamma()).enumerate().map(|(i, (l, g))| (i, l * l, *g))
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

/// Steps after which a flow is given up: a stiff one takes some thousand, and 70 000 at condition number 10⁶,
/// where rounding limits them.
const MOST_STEPS: usize = 200_000;

/// Returns an integration whose absolute tolerance is below the weights at the start. With weights of 1e-20
/// under a tolerance of 1e-13 an implicit method would step over their growth and stay at 0.
pub fn from_scale(method: Method, start: &[f64]) -> Flow {
    let largest = start.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let flow = Flow::new(method);
    let scale = if largest > 0.0 { largest.min(1.0) } else { 1.0 };
    Flow { atol: (flow.atol * scale).max(f64::MIN_POSITIVE), most_steps: MOST_STEPS, ..flow }
}

/// Time and place at which a flow has come close to the global minimum.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival {
    /// The time at which L - min L fell to what was asked for; None where it did not.
    pub time: Option<f64>,
    /// The weights then, or at the last time, in principal axes.
    pub weights: LsaWeights,
    /// Steps of the integrator.
    pub steps: usize,
}

/// Follows the flow on the population loss from `start`, in principal axes, until L - min L is `gap`,
/// below that of the start, or until the time `until`. Where v = c = 0, by the [`Reduced`] flow.
///
/// # Errors
/// As [`Flow::watched`].
///
/// ```
/// use attnlab_lsa::dynamics::arrival;
/// use attnlab_lsa::theory::{Covariance, Pretraining, LsaWeights};
/// use ndarray::Array2;
/// let training = Pretraining::new(Covariance::diagonal(&[1.0, 0.5])?, 10, 0.0)?;
/// let start = LsaWeights::theorem(0.1, Array2::eye(2).view())?;
/// let end = arrival(&training, &start, 1e-8, 1e4)?;
/// assert!(end.time.is_some_and(|t| t < 1e3));
/// // Weights 0 are a saddle: nothing moves.
/// assert_eq!(arrival(&training, &LsaWeights::zeros(2), 1e-8, 1e4)?.time, None);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn arrival(training: &Pretraining, start: &LsaWeights, gap: f64, until: f64) -> Result<Arrival> {
    let (reduced, full) = (Reduced::new(training, start), Full(training));
    let weights = |x: &[f64]| match &reduced {
        Some(flow) => flow.weights(x),
        None => LsaWeights::of_slice(training.dim(), x),
    };
    let (field, from): (&dyn VectorField, _) = match &reduced {
        Some(flow) => (flow, flow.start()),
        None => (&full, start.to_vec()),
    };
    let arrived = |x: &[f64]| training.excess(&weights(x)) - gap;
    let path = from_scale(Method::stiff(field.dim()), &from).watched(field, &from, &[until], Watch::until(&arrived))?;
    Ok(Arrival { time: path.event.as_ref().map(|(t, _)| *t), weights: weights(path.end()), steps: path.steps })
}
