//! Eq. (6), the nonlinear dynamics with attention: salient components first.

use attnlab_core::error::{Error, Result, require};
use attnlab_theory::dynamics::flow::VectorField;

/// $\dot v = (\mu - v) \circ e^{v^2/T}$ in the coordinates $\ell = \ln(1/\delta)$, δ = 1 - v/μ, in which it is
/// $\dot\ell = e^{v^2/T}$: no component is stiff, and none loses digits as it converges.
///
/// Eq. (6) has T = 2; the authors' code for Fig. 4 has T = 3 and divides by the sum of the exponentials.
///
/// ```
/// use attnlab_theory::dynamics::flow::{Flow, Method};
/// use attnlab_joma::dynamics::Salient;
/// use attnlab_joma::theory::convergence::log_inverse_gap;
/// let flow = Salient::new(vec![2.0, 1.0])?;
/// let path = Flow::new(Method::Tsit45).run(&flow, &[0.0, 0.0], &[3.0])?;
/// assert!((path.end()[0] / log_inverse_gap(2.0, 3.0) - 1.0).abs() < 1e-9);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Salient {
    mu: Vec<f64>,
    temperature: f64,
    feedback: Feedback,
}

/// Attention that speeds a component up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Exp attention by Theorem 1: e^{v²/T}.
    Exp,
    /// Softmax attention: e^{v²/T} over its sum.
    Softmax,
    /// No attention: 1.
    None,
}

impl Salient {
    /// The flow of Eq. (6) with these targets.
    ///
    /// # Errors
    /// No targets, or one that is 0 or not finite: δ is then undefined.
    pub fn new(mu: Vec<f64>) -> Result<Self> {
        require(!mu.is_empty(), "mu", "[]", "must hold at least one number")?;
        if let Some((i, bad)) = mu.iter().enumerate().find(|(_, m)| **m == 0.0 || !m.is_finite()) {
            return Err(Error::invalid(format!("mu[{i}]"), bad, "must be a finite number, not 0"));
        }
        Ok(Salient { mu, temperature: 2.0, feedback: Feedback::Exp })
    }

    /// The same flow with another T or feedback.
    ///
    /// # Errors
    /// T that is not positive.
    pub fn with(mut self, temperature: f64, feedback: Feedback) -> Result<Self> {
        attnlab_core::error::positive("temperature", temperature)?;
        (self.temperature, self.feedback) = (temperature, feedback);
        Ok(self)
    }

    /// The weights v of a state ℓ.
    pub fn weights(&self, state: &[f64]) -> Vec<f64> {
        self.mu.iter().zip(state).map(|(mu, l): (&f64, &f64)| -mu * (-l).exp_m1()).collect()
    }

    /// The state ℓ of weights v, each strictly between 0 and its target or 0 itself.
    pub fn state(&self, v: &[f64]) -> Vec<f64> {
        self.mu.iter().zip(v).map(|(mu, v): (&f64, &f64)| -(-v / mu).ln_1p()).collect()
    }
}

impl VectorField for Salient {
    fn dim(&self) -> usize {
        self.mu.len()
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let v = self.weights(x);
        for (o, v) in out.iter_mut().zip(&v) {
            *o = if self.feedback == Feedback::None { 1.0 } else { (v * v / self.temperature).exp() };
        }
        if self.feedback == Feedback::Softmax {
            let sum: f64 = out.iter().sum();
            out.iter_mut().for_each(|o| *o /= sum);
        }
    }
}
