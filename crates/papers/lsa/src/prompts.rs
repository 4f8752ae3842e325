//! Prompts of in-context regression: the notes' "Linear transformers trained on random linear
//! regression tasks", with label noise, nonlinear targets and shifts.

use crate::theory::{Covariance, Pretraining, Target};
use attnlab_core::error::{self, Result, require_shape};
use attnlab_core::linalg::normal_matrix;
use attnlab_core::rng::Generator;
use ndarray::{Array1, Array2, Axis, s};
use rand_distr::{Distribution, StandardNormal};

/// Origin of a prompt's task.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptTask {
    /// A task $w \sim N(0, s^2 I_d)$ drawn anew in each prompt, with linear labels. The notes have s = 1; another
    /// scale s is a task shift.
    Random {
        /// s ≥ 0, standard deviation of its components.
        scale: f64,
    },
    /// The same target in every prompt.
    Fixed(Target),
}

/// A law of prompts: $x_i \sim N(0, \Lambda)$ and a query of the same law, labels of a [`PromptTask`] with
/// noise of variance σ².
///
/// ```
/// use attnlab_core::rng::Streams;
/// use attnlab_lsa::prompts::{RegressionPrompts, PromptTask};
/// use attnlab_lsa::theory::Covariance;
/// let prompts = RegressionPrompts {
///     covariance: Covariance::diagonal(&[1.0, 2.0])?,
///     query: None,
///     examples: 7,
///     task: PromptTask::Random { scale: 1.0 },
///     noise_var: 0.0,
/// };
/// let prompt = prompts.draw(&mut Streams::new(1, "doc", 0, 0).part("prompt", 0));
/// let tokens = prompt.tokens();
/// assert_eq!(tokens.dim(), (3, 8)); // (d + 1, M + 1)
/// assert_eq!(tokens[[2, 7]], 0.0); // the query's label is hidden
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RegressionPrompts {
    /// Covariance Λ (d, d) of the examples, and of the query unless that has its own.
    pub covariance: Covariance,
    /// Covariance (d, d) of the query, where it is another.
    pub query: Option<Covariance>,
    /// Number M (N in training) of labelled examples.
    pub examples: usize,
    /// Origin of the task.
    pub task: PromptTask,
    /// Variance σ² ≥ 0 of the noise on every label, the query's too.
    pub noise_var: f64,
}

/// One prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct RegressionPrompt {
    /// Inputs x_1 .. x_M as columns, (d, M).
    pub inputs: Array2<f64>,
    /// Labels y_1 .. y_M.
    pub labels: Array1<f64>,
    /// Query x (d).
    pub query: Array1<f64>,
    /// Label of the query, which the tokens do not show.
    pub answer: f64,
}

impl RegressionPrompts {
    /// The prompts that a layer is trained on: N examples of random tasks.
    pub fn of_training(training: &Pretraining) -> Self {
        RegressionPrompts {
            covariance: training.covariance().clone(),
            query: None,
            examples: training.context(),
            task: PromptTask::Random { scale: 1.0 },
            noise_var: training.noise_var(),
        }
    }

    /// Refuses what cannot be drawn.
    ///
    /// # Errors
    /// Names the parameter, its value and what is allowed.
    pub fn validate(&self) -> Result<()> {
        error::at_least("M", self.examples, 1)?;
        let d = self.covariance.dim();
        if let Some(query) = &self.query {
            let expected = format!("{d} rows, as the examples' has");
            require_shape(query.dim() == d, "covariance of the query", query.dim(), expected)?;
        }
        if let PromptTask::Fixed(target) = &self.task {
            target.validate(d)?;
        }
        error::non_negative("noise_var", self.noise_var)?;
        match self.task {
            PromptTask::Random { scale } => error::non_negative("task_scale", scale),
            PromptTask::Fixed(_) => Ok(()),
        }
    }

    /// Draws one prompt: the task, then the inputs column by column, then the noise.
    pub fn draw(&self, rng: &mut Generator) -> RegressionPrompt {
        let d = self.covariance.dim();
        let target = match &self.task {
            PromptTask::Random { scale } => Target::Linear { task: normals(d, rng) * *scale },
            PromptTask::Fixed(target) => target.clone(),
        };
        let mut columns = inputs(&self.covariance, self.examples + 1, rng);
        if let Some(query) = &self.query {
            // One more column: the others are the same draws with and without a shift.
            columns.column_mut(self.examples).assign(&inputs(query, 1, rng).column(0));
        }
        let noise = normals(self.examples + 1, rng) * self.noise_var.sqrt();
        let labels: Array1<f64> = columns.axis_iter(Axis(1)).zip(&noise).map(|(x, e)| target.value(x) + e).collect();
        RegressionPrompt {
            inputs: columns.slice(s![.., ..self.examples]).to_owned(),
            labels: labels.slice(s![..self.examples]).to_owned(),
            query: columns.column(self.examples).to_owned(),
            answer: labels[self.examples],
        }
    }

    /// Draws the labelled examples (d+1, M) of one prompt with a fixed target, the labels in the last row, and
    /// `count` queries (d, count).
    pub fn draw_queries(&self, target: &Target, count: usize, rng: &mut Generator) -> (Array2<f64>, Array2<f64>) {
        let (d, m) = (self.covariance.dim(), self.examples);
        let x = inputs(&self.covariance, m, rng);
        let noise = normals(m, rng) * self.noise_var.sqrt();
        let mut examples = Array2::zeros((d + 1, m));
        for ((column, x), e) in examples.columns_mut().into_iter().zip(x.columns()).zip(&noise) {
            let (mut input, mut label) = column.split_at(Axis(0), d);
            input.assign(&x);
            label[0] = target.value(x) + e;
        }
        (examples, inputs(self.query.as_ref().unwrap_or(&self.covariance), count, rng))
    }

    /// Draws $\hat b = \frac1M \sum y_i x_i$ (d) of one prompt with a fixed target, without a query: all that
    /// linear attention sees of the examples where v = c = 0.
    pub fn draw_correlation(&self, target: &Target, rng: &mut Generator) -> Array1<f64> {
        let x = inputs(&self.covariance, self.examples, rng);
        let noise = normals(self.examples, rng) * self.noise_var.sqrt();
        let labels: Array1<f64> = x.axis_iter(Axis(1)).zip(&noise).map(|(x, e)| target.value(x) + e).collect();
        x.dot(&labels) / self.examples as f64
    }
}

/// Independent columns of law N(0, Λ), (d, `count`): Q diag(√λ) g.
fn inputs(covariance: &Covariance, count: usize, rng: &mut Generator) -> Array2<f64> {
    let root = covariance.values().mapv(f64::sqrt);
    let map = covariance.axes() * &root;
    map.dot(&normal_matrix(root.len(), count, rng))
}

fn normals(n: usize, rng: &mut Generator) -> Array1<f64> {
    (0..n).map(|_| StandardNormal.sample(rng)).collect()
}

impl RegressionPrompt {
    /// Token matrix E (d+1, M+1): examples over their labels, the query over 0.
    pub fn tokens(&self) -> Array2<f64> {
        let (d, m) = self.inputs.dim();
        let mut tokens = Array2::zeros((d + 1, m + 1));
        tokens.slice_mut(s![..d, ..m]).assign(&self.inputs);
        tokens.slice_mut(s![d, ..m]).assign(&self.labels);
        tokens.slice_mut(s![..d, m]).assign(&self.query);
        tokens
    }
}
