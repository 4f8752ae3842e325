//! Prompts of in-context regression as drawn by Garg et al. (2022) and the AoT papers (2024 version
//! Section 4.1.2, ICML version Section 4.2.2): linear and sparse linear functions of isotropic Gaussian
//! inputs, and the shifted laws on which a trained network is tested.

use attnlab_core::error::{Result, at_least, non_negative, positive, require};
use attnlab_core::linalg::haar_basis;
use attnlab_core::rng::{Generator, Streams};
use ndarray::{Array1, Array2, s};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// Class of functions of the prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Functions {
    /// Linear functions $f(x) = w^Tx$ with $w \sim N(0, I_d)$.
    Linear,
    /// Linear functions with all but `nonzero` coordinates of w set to zero, chosen uniformly.
    SparseLinear {
        /// Number of coordinates that are kept; 3 in Garg et al.
        nonzero: usize,
    },
}

impl Functions {
    /// Returns E f(x)² for x ~ N(0, I_d), by which errors are divided.
    pub fn variance(&self, dim: usize) -> f64 {
        match self {
            Functions::Linear => dim as f64,
            Functions::SparseLinear { nonzero } => *nonzero as f64,
        }
    }
}

/// Difference between a law of prompts and that of training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shift {
    /// No shift: x ~ N(0, I_d).
    None,
    /// Scaling of every input by this number.
    Scale(f64),
    /// Skewed inputs $x = \sqrt{d / \sum_j j^{-2}}\; Q\,\mathrm{diag}(1/j)\,Q^Tz$ with z ~ N(0, I_d) and
    /// a Haar basis Q (d, d) per prompt: a covariance of trace d whose eigenvalues fall as $1/j^2$.
    Skewed,
    /// Normal noise of this standard deviation on every label except those to be predicted.
    Noise(f64),
}

/// Law of prompts of in-context regression.
///
/// ```
/// use attnlab_core::rng::Streams;
/// use attnlab_theory::sample::{Functions, InContext, Shift};
/// let law = InContext { functions: Functions::Linear, dim: 5, points: 11, active: 5, shift: Shift::None };
/// let prompt = law.draw(&Streams::new(1, "doc", 0, 0));
/// assert_eq!(prompt.inputs.dim(), (5, 11)); // (d, points)
/// assert!((prompt.inputs.column(3).dot(&prompt.weights) - prompt.answers[3]).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InContext {
    /// Class of functions of the prompts.
    pub functions: Functions,
    /// Dimension d of the inputs.
    pub dim: usize,
    /// Number of examples in a prompt; each is also to be predicted from those before it.
    pub points: usize,
    /// Number of coordinates of x that are not set to zero: fewer than d early in a curriculum.
    pub active: usize,
    /// Difference of the law from that of training.
    pub shift: Shift,
}

/// One prompt: $x_1, f(x_1), x_2, f(x_2), \dots$
#[derive(Clone, Debug, PartialEq)]
pub struct Regression {
    /// Inputs x_1 .. x_n as columns, (d, n).
    pub inputs: Array2<f64>,
    /// Labels shown in the prompt (n,), with their noise.
    pub labels: Array1<f64>,
    /// Answers f(x_1) .. f(x_n) (n,), which are to be predicted.
    pub answers: Array1<f64>,
    /// Weights w (d,) of the function.
    pub weights: Array1<f64>,
}

impl InContext {
    /// Checks the parameters of the law.
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::Error::Invalid) with the parameter, its value and its range.
    pub fn validate(&self) -> Result<()> {
        at_least("dim", self.dim, 1)?;
        at_least("points", self.points, 1)?;
        let up_to_dim = |name: &str, value: usize| {
            let allowed = format!("must be a whole number from 1 to dim = {}", self.dim);
            require((1..=self.dim).contains(&value), name, value, allowed)
        };
        up_to_dim("active", self.active)?;
        if let Functions::SparseLinear { nonzero } = self.functions {
            up_to_dim("nonzero", nonzero)?;
        }
        match self.shift {
            Shift::Scale(factor) => positive("scale", factor),
            Shift::Noise(deviation) => non_negative("noise", deviation),
            Shift::None | Shift::Skewed => Ok(()),
        }
    }

    /// Draws the prompt of these streams. Prompts of two laws with the same streams share their normal
    /// draws: w, and the inputs before the shift.
    pub fn draw(&self, streams: &Streams) -> Regression {
        let weights = self.weights(&mut streams.part("function", 0));
        let mut rng = streams.part("inputs", 0);
        let mut inputs = Array2::zeros((self.dim, self.points));
        // Inputs are drawn column by column, so that a longer prompt begins with the points of a shorter one.
        for mut x in inputs.columns_mut() {
            x.mapv_inplace(|_: f64| StandardNormal.sample(&mut rng));
        }
        self.reshape(&mut inputs, streams);
        inputs.slice_mut(s![self.active.., ..]).fill(0.0);
        let answers = inputs.t().dot(&weights);
        let mut labels = answers.clone();
        if let Shift::Noise(deviation) = self.shift {
            let mut rng = streams.part("noise", 0);
            labels.mapv_inplace(|y| {
                let z: f64 = StandardNormal.sample(&mut rng);
                y + deviation * z
            });
        }
        Regression { inputs, labels, answers, weights }
    }

    fn reshape(&self, inputs: &mut Array2<f64>, streams: &Streams) {
        match self.shift {
            Shift::Scale(factor) => *inputs *= factor,
            Shift::Skewed => {
                // A square Haar basis exists in every dimension.
                let Ok(q) = haar_basis(self.dim, self.dim, &mut streams.part("basis", 0)) else { return };
                let trace: f64 = (1..=self.dim).map(|j| (j as f64).powi(-2)).sum();
                let size = (self.dim as f64 / trace).sqrt();
                let mut rotated = q.t().dot(inputs);
                for (j, mut row) in rotated.rows_mut().into_iter().enumerate() {
                    row *= size / (j + 1) as f64;
                }
                *inputs = q.dot(&rotated);
            }
            Shift::None | Shift::Noise(_) => {}
        }
    }

    fn weights(&self, rng: &mut Generator) -> Array1<f64> {
        let mut weights: Array1<f64> = Array1::zeros(self.dim);
        weights.mapv_inplace(|_| StandardNormal.sample(rng));
        if let Functions::SparseLinear { nonzero } = self.functions {
            // The nonzero coordinates are chosen among the active ones; others would have no effect.
            let support = rand::seq::index::sample(rng, self.active, nonzero.min(self.active));
            (0..self.dim).filter(|j| !support.iter().any(|k| k == *j)).for_each(|j| weights[j] = 0.0);
        }
        weights
    }
}
