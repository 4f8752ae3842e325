//! The logits of softmax attention as (18) predicts them: Fig. 2.

use super::Training;
use ndarray::{Array1, Axis};

/// The prediction ẑ = ẑ_1 + ẑ_2 + c of (18), with $\hat z_1 = \frac{1}{2T}\sum_k v_k^2$ and
/// $\hat z_2 = -\frac{1}{2T}\sum_k \|v_k\|^2\,\bar b$, c from the start.
#[derive(Clone, Debug)]
pub struct Prediction<'a> {
    training: &'a Training,
    mean: Array1<f64>,
    whole_norm: bool,
    constant: Array1<f64>,
}

/// Centred correlations with the logits, and the relative distance from them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Correlation of ẑ.
    pub whole: f64,
    /// Correlation of ẑ_1.
    pub squares: f64,
    /// Correlation of ẑ_2.
    pub norm: f64,
    /// Relative distance |z - ẑ| / |z|.
    pub amplitude: f64,
}

impl<'a> Prediction<'a> {
    /// The prediction as the paper has it: b̄ and c from the start.
    pub fn new(training: &'a Training, start: &[f64]) -> Self {
        Self::with(training, start, training.mean_scores(start), false)
    }

    /// The prediction as the authors' code has it: b̄ at z = 0, and the norm of w_k, its part along the query included.
    pub fn of_code(training: &'a Training, start: &[f64]) -> Self {
        Self::with(training, start, training.mean_scores(&training.zero()), true)
    }

    fn with(training: &'a Training, start: &[f64], mean: Array1<f64>, whole_norm: bool) -> Self {
        Prediction { training, mean, whole_norm, constant: Array1::zeros(training.tokens()) }.with_constant(start)
    }

    /// The same prediction with c from this start.
    fn with_constant(mut self, start: &[f64]) -> Self {
        let (first, second) = self.parts(start);
        self.constant = &self.training.logits(start) - &(first + second);
        self
    }

    /// The prediction with entry l of b̄ taken from token l + `by`: a control with the sizes of b̄ in other places.
    pub fn moved_on(mut self, by: usize, start: &[f64]) -> Self {
        let tokens = self.mean.len();
        self.mean = Array1::from_shape_fn(tokens, |l| self.mean[(l + by) % tokens]);
        self.with_constant(start)
    }

    /// The parts ẑ_1 and ẑ_2 at a state, (M_C,) each.
    pub fn parts(&self, state: &[f64]) -> (Array1<f64>, Array1<f64>) {
        let scale = 0.5 / self.training.temperature;
        let v = self.training.weights(state);
        let squares = v.mapv(|v| v * v).sum_axis(Axis(1)) * scale;
        let mut length2: f64 = v.iter().map(|v| v * v).sum();
        if self.whole_norm {
            length2 += self.training.biases(state).mapv(|x| x * x).sum();
        }
        (squares, &self.mean * (-scale * length2))
    }

    /// The agreement of ẑ and its parts with the logits of a state.
    pub fn agreement(&self, state: &[f64]) -> Agreement {
        let z = self.training.logits(state).to_owned();
        let (first, second) = self.parts(state);
        let whole = &(&first + &second) + &self.constant;
        let off = &z - &whole;
        let [whole, squares, norm] = [&whole, &first, &second].map(|part| correlation(&z, part));
        Agreement { whole, squares, norm, amplitude: (off.dot(&off) / z.dot(&z)).sqrt() }
    }

    /// Total variation between the mean attention and b̄.
    pub fn moved(&self, state: &[f64]) -> f64 {
        0.5 * (self.training.mean_scores(state) - &self.mean).mapv(f64::abs).sum()
    }
}

/// Cosine of the angle between two vectors without their means.
fn correlation(a: &Array1<f64>, b: &Array1<f64>) -> f64 {
    let centred = |a: &Array1<f64>| a - a.sum() / a.len() as f64;
    let (a, b) = (centred(a), centred(b));
    a.dot(&b) / (a.dot(&a) * b.dot(&b)).sqrt()
}
