//! Gradient flow of softmax attention on the prompts of linear self-attention.

use attnlab_theory::dynamics::flow::VectorField;

use crate::prompts::RegressionPrompt;
use crate::theory::LsaWeights;
use attnlab_core::error::{Result, require_shape};
use attnlab_theory::dynamics;
use attnlab_theory::dynamics::{Attention, Example, gradient_of, loss_of};
use ndarray::{Array1, s};

/// Gradient flow $\dot\theta = -\nabla\hat L(\theta)$ of the notes' softmax layer
/// $f(E) = E + W^{PV}E\,\mathrm{softmax}(E^TW^{KQ}E)$, with ρ merged into $W^{KQ}$, and the empirical loss
/// $\hat L = \frac{1}{2B}\sum_z(\hat y_z - y_z)^2$, $\hat y = f(E)_{d+1,N+1}$, over B prompts.
///
/// As in [linear attention](crate::theory) the prediction sees the last row $(v^T, u)$ of $W^{PV}$ and
/// the first d columns $(B; c^T)$ of $W^{KQ}$ alone, because the query's label stands as 0 in its token;
/// the state is [`LsaWeights::to_vec`].
///
/// The layer is that of [`dynamics`](attnlab_theory::dynamics) with $n = d + 1$, the N + 1 tokens as context, the
/// query's token as query and $(0, .., 0, y)$ as target: the rows of $W^{PV}$ before the last predict 0
/// where 0 is wanted and stay 0, and so do the columns of $W^{KQ}$ that do not matter. Loss and gradient
/// there are a mean over the n components, $\frac{2}{n}\hat L$.
#[derive(Clone, Debug)]
pub struct SoftmaxLoss {
    prompts: dynamics::Prompts<f64>,
    indices: Vec<usize>,
}

impl SoftmaxLoss {
    /// The loss over these prompts.
    ///
    /// # Errors
    /// No prompts, or prompts that differ in shape.
    ///
    /// ```
    /// use attnlab_lsa::dynamics::SoftmaxLoss;
    /// use attnlab_lsa::prompts::RegressionPrompt;
    /// use attnlab_lsa::theory::LsaWeights;
    /// use ndarray::array;
    /// // One example, x = 2 with y = 3, and the query 1 with the answer 5.
    /// let prompt = RegressionPrompt {
    ///     inputs: array![[2.0]], labels: array![3.0], query: array![1.0], answer: 5.0,
    /// };
    /// let loss = SoftmaxLoss::new(&[prompt])?;
    /// let mut weights = LsaWeights::zeros(1);
    /// weights.u = 2.0;
    /// // Equal weights on the example's 3 and on the query's own 0: 2 (3 + 0)/2 = 3.
    /// assert!((loss.loss(&weights) - 0.5 * (3.0_f64 - 5.0).powi(2)).abs() < 1e-14);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new(prompts: &[RegressionPrompt]) -> Result<Self> {
        let example = |prompt: &RegressionPrompt| {
            let context = prompt.tokens();
            let (rows, columns) = context.dim();
            let mut target = Array1::zeros(rows);
            target[rows - 1] = prompt.answer;
            Example { query: context.column(columns - 1).to_owned(), context, target }
        };
        require_shape(prompts.iter().all(|p| !p.query.is_empty()), "query", 0, "at least one component")?;
        let examples: Vec<Example> = prompts.iter().map(example).collect();
        Ok(SoftmaxLoss {
            prompts: dynamics::Prompts::new(&[Attention::Softmax], &examples)?,
            indices: (0..prompts.len()).collect(),
        })
    }

    /// Dimension d of the inputs.
    fn inputs(&self) -> usize {
        self.prompts.ambient() - 1
    }

    /// Half of n: what makes a mean over n components the loss here.
    fn scale(&self) -> f64 {
        0.5 * self.prompts.ambient() as f64
    }

    /// Empirical loss $\hat L$ at `weights`, in the axes of the data.
    pub fn loss(&self, weights: &LsaWeights) -> f64 {
        self.scale() * loss_of(Attention::Softmax, &self.prompts, &layer(weights))
    }

    /// Gradient $\nabla\hat L$ at `weights`, both in the axes of the data.
    pub fn gradient(&self, weights: &LsaWeights) -> LsaWeights {
        let (_, slope) = gradient_of(Attention::Softmax, &self.prompts, &layer(weights), &self.indices);
        let (d, scale) = (self.inputs(), self.scale());
        LsaWeights {
            u: slope.pv[[d, d]] * scale,
            v: &slope.pv.slice(s![d, ..d]) * scale,
            c: &slope.kq.slice(s![d, ..d]) * scale,
            b: &slope.kq.slice(s![..d, ..d]) * scale,
        }
    }
}

/// Both matrices (d+1, d+1).
fn layer(weights: &LsaWeights) -> dynamics::Weights<f64> {
    let (pv, kq) = weights.matrices();
    dynamics::Weights { kq, pv }
}

impl VectorField for SoftmaxLoss {
    fn dim(&self) -> usize {
        LsaWeights::len_of(self.inputs())
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(&self.gradient(&LsaWeights::of_slice(self.inputs(), x)).to_vec()).for_each(|(o, g)| *o = -g);
    }
}
