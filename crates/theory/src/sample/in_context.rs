//! Prompts of in-context regression as Garg et al. (2022) draw them, which the AoT papers follow
//! (2024 version Section 4.1.2, ICML version Section 4.2.2): linear and sparse linear functions of
//! isotropic Gaussian inputs, and the shifted laws that a trained network is tried on.

use attnlab_core::error::{Error, Result, non_negative, positive};
use attnlab_core::linalg::haar_basis;
use attnlab_core::rng::{Generator, Streams};
use ndarray::{Array1, Array2, s};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// The functions that prompts are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Functions {
    /// $f(x) = w^Tx$ with $w \sim N(0, I_d)$.
    Linear,
    /// The same with all but `nonzero` coordinates of w set to zero, chosen uniformly.
    SparseLinear {
        /// Coordinates that stay; Garg et al. have 3.
        nonzero: usize,
    },
}

impl Functions {
    /// E f(x)² for x ~ N(0, I): what errors are divided by.
    pub fn variance(&self, dim: usize) -> f64 {
        match self {
            Functions::Linear => dim as f64,
            Functions::SparseLinear { nonzero } => *nonzero as f64,
        }
    }
}

/// The difference of a law of prompts from that of training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shift {
    /// None: x ~ N(0, I).
    None,
    /// Every input times this number.
    Scale(f64),
    /// Inputs $x = \sqrt{d / \sum_j j^{-2}}\; Q\,\mathrm{diag}(1/j)\,Q^Tz$ with z ~ N(0, I) and a Haar
    /// basis Q per prompt: a covariance of trace d whose eigenvalues fall as $1/j^2$.
    Skewed,
    /// Normal noise of this standard deviation on every label but those that are predicted.
    Noise(f64),
}

/// A law of prompts.
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
    /// The functions that the prompts are about.
    pub functions: Functions,
    /// d.
    pub dim: usize,
    /// Examples in a prompt; each is also asked for, given those before it.
    pub points: usize,
    /// Coordinates of x that are not set to zero: fewer than d early in a curriculum.
    pub active: usize,
    /// The difference of the law from that of training.
    pub shift: Shift,
}

/// One prompt: $x_1, f(x_1), x_2, f(x_2), \dots$
#[derive(Clone, Debug, PartialEq)]
pub struct Regression {
    /// x_1 .. x_n as columns, (d, n).
    pub inputs: Array2<f64>,
    /// The labels that the prompt shows, with their noise.
    pub labels: Array1<f64>,
    /// f(x_1) .. f(x_n), which are to be predicted.
    pub answers: Array1<f64>,
    /// w (d).
    pub weights: Array1<f64>,
}

impl InContext {
    /// Refuses what cannot be drawn.
    ///
    /// # Errors
    /// Names the parameter, its value and what is allowed.
    pub fn validate(&self) -> Result<()> {
        for (name, value) in [("dim", self.dim), ("points", self.points)] {
            if value == 0 {
                return Err(Error::invalid(name, 0, "must be a whole number >= 1"));
            }
        }
        if self.active == 0 || self.active > self.dim {
            let allowed = format!("must be a whole number from 1 to dim = {}", self.dim);
            return Err(Error::invalid("active", self.active, allowed));
        }
        if let Functions::SparseLinear { nonzero } = self.functions
            && (nonzero == 0 || nonzero > self.dim)
        {
            let allowed = format!("must be a whole number from 1 to dim = {}", self.dim);
            return Err(Error::invalid("nonzero", nonzero, allowed));
        }
        match self.shift {
            Shift::Scale(factor) => positive("scale", factor),
            Shift::Noise(deviation) => non_negative("noise", deviation),
            Shift::None | Shift::Skewed => Ok(()),
        }
    }

    /// The prompt of these streams. Prompts of two laws with the same streams share their normal
    /// draws: w, and the inputs before the shift.
    pub fn draw(&self, streams: &Streams) -> Regression {
        let weights = self.weights(&mut streams.part("function", 0));
        let mut rng = streams.part("inputs", 0);
        let mut inputs = Array2::zeros((self.dim, self.points));
        // Column by column: the first points of a longer prompt are those of a shorter one.
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
        Regression {
            inputs,
            labels,
            answers,
            weights,
        }
    }

    fn reshape(&self, inputs: &mut Array2<f64>, streams: &Streams) {
        match self.shift {
            Shift::Scale(factor) => *inputs *= factor,
            Shift::Skewed => {
                // A square Haar basis always exists.
                let Ok(q) = haar_basis(self.dim, self.dim, &mut streams.part("basis", 0)) else {
                    return;
                };
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
            // Among the coordinates that the inputs have; the rest would not be seen.
            let kept = rand::seq::index::sample(rng, self.active, nonzero.min(self.active));
            for j in 0..self.dim {
                if !kept.iter().any(|k| k == j) {
                    weights[j] = 0.0;
                }
            }
        }
        weights
    }
}
