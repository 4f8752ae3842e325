//! Adam, AdamW and Lion, as burn has them, and clipping by the norm of the whole gradient.

use crate::model::{Model, Tensor};
use attnlab_core::error::{Error, Result, non_negative, positive};
use attnlab_lab::experiment::ranges::{Ranges, within};
use burn::optim::{AdamConfig, AdamState, AdamWConfig, AdamWState};
use burn::optim::{AdaptiveMomentumState, LionConfig, LionState, Optimizer};
use serde::{Deserialize, Serialize};

/// Rule by which a gradient changes the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptimiserKind {
    /// Adam (Kingma and Ba 2015); weight decay is not used.
    Adam,
    /// AdamW (Loshchilov and Hutter 2019): decay apart from the gradient, on matrices only.
    AdamW,
    /// Lion (Chen et al. 2023): the sign of an average, with decay as in AdamW.
    Lion,
}

/// Optimiser with its constants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimiserSettings {
    /// Rule.
    pub kind: OptimiserKind,
    /// β₁, decay of the average of gradients, in [0, 1).
    pub beta_1: f64,
    /// β₂, decay of the average of their squares, in [0, 1).
    pub beta_2: f64,
    /// ε of Adam and AdamW, > 0.
    pub epsilon: f64,
    /// Weight decay of AdamW and Lion on matrices, ≥ 0.
    pub weight_decay: f64,
}

impl OptimiserSettings {
    /// Adam with its usual constants: β = (.9, .999), ε = 1e-8.
    pub fn adam() -> Self {
        OptimiserSettings { kind: OptimiserKind::Adam, beta_1: 0.9, beta_2: 0.999, epsilon: 1e-8, weight_decay: 0.0 }
    }

    /// Refuses constants out of range.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the constant and its range.
    pub fn validate(&self) -> Result<()> {
        self.ranges("")
    }

    /// Counts the moment tensors per parameter.
    pub fn moments(&self) -> usize {
        if self.kind == OptimiserKind::Lion { 1 } else { 2 }
    }
}

impl Ranges for OptimiserSettings {
    fn ranges(&self, prefix: &str) -> Result<()> {
        for (name, beta) in [("beta_1", self.beta_1), ("beta_2", self.beta_2)] {
            within("[0, 1)")(&format!("{prefix}{name}"), &beta)?;
        }
        let decay = format!("{prefix}weight_decay");
        if self.kind == OptimiserKind::Adam && self.weight_decay != 0.0 {
            let allowed = "must be 0 with adam; adam-w and lion have a decay";
            return Err(Error::invalid(decay, self.weight_decay, allowed));
        }
        positive(&format!("{prefix}epsilon"), self.epsilon)?;
        non_negative(&decay, self.weight_decay)
    }
}

/// State of an optimiser between steps.
#[derive(Clone, Default)]
pub struct OptimiserState {
    /// Number of steps taken.
    pub steps: usize,
    /// Per parameter, in the order of the network: the averages of the gradient and of its square;
    /// empty before the first step.
    pub averages: Vec<Vec<Tensor<2>>>,
}

impl OptimiserState {
    /// Moves the network one step along `gradients`, at rate `rate`.
    pub fn step(&mut self, optimiser: &OptimiserSettings, rate: f64, model: &mut Model, gradients: Vec<Tensor<2>>) {
        let mut before = std::mem::take(&mut self.averages).into_iter();
        let mut values = vec![];
        for (p, gradient) in model.parameters().zip(gradients) {
            let weight_decay = if p.spec.decays { optimiser.weight_decay } else { 0.0 };
            let optimiser = OptimiserSettings { weight_decay, ..*optimiser };
            let (next, average) = moved(&optimiser, rate, p.value.clone().inner(), gradient, before.next(), self.steps);
            values.push(next);
            self.averages.push(average);
        }
        self.steps += 1;
        model.set_values(values);
    }
}

/// Moves a parameter by burn's rule, from its averages after `steps` steps; returns it with the next averages.
fn moved(
    o: &OptimiserSettings,
    rate: f64,
    value: Tensor<2>,
    gradient: Tensor<2>,
    averages: Option<Vec<Tensor<2>>>,
    steps: usize,
) -> (Tensor<2>, Vec<Tensor<2>>) {
    let [b1, b2, epsilon, decay] = [o.beta_1, o.beta_2, o.epsilon, o.weight_decay].map(|x| x as f32);
    let mut averages = averages.into_iter().flatten();
    let first = averages.next();
    let pair = || Some(AdaptiveMomentumState::new(steps, first.clone()?, averages.next()?));
    let moments = |m: AdaptiveMomentumState<2>| vec![m.moment_1, m.moment_2];
    match o.kind {
        OptimiserKind::Adam => {
            let rule = AdamConfig::new().with_beta_1(b1).with_beta_2(b2).with_epsilon(epsilon).build();
            let state = { pair }().map(AdamState::new);
            let (value, state) = rule.step(rate, value, gradient, state);
            (value, state.map_or(vec![], |s| moments(s.momentum)))
        }
        OptimiserKind::AdamW => {
            let rule = AdamWConfig::new().with_beta_1(b1).with_beta_2(b2).with_epsilon(epsilon);
            let state = { pair }().map(AdamWState::new);
            let (value, state) = rule.with_weight_decay(decay).build().step(rate, value, gradient, state);
            (value, state.map_or(vec![], |s| moments(s.momentum)))
        }
        OptimiserKind::Lion => {
            let rule = LionConfig::new().with_beta_1(b1).with_beta_2(b2).with_weight_decay(decay).build();
            let (value, state) = rule.step(rate, value, gradient, first.map(LionState::new));
            (value, state.map_or(vec![], |s| vec![s.momentum]))
        }
    }
}

/// Scales all gradients by one factor so that their common ℓ² norm is at most `most`, and returns the norm
/// before. burn clips each parameter by itself, which changes the direction of the gradient; the papers' code
/// (PyTorch's `clip_grad_norm_`) does not.
///
/// # Errors
/// [`Error::Gpu`] when the device gives no result.
pub fn clip(gradients: &mut [Tensor<2>], most: Option<f64>) -> Result<f64> {
    let Some(total) = gradients.iter().map(|g| g.clone().square().sum()).reduce(|a, b| a + b) else { return Ok(0.0) };
    let norm = crate::model::read(&total)?[0].sqrt();
    if let Some(most) = most
        && norm > most
    {
        // PyTorch's constant: it divides by norm + 1e-6.
        let factor = most / (norm + 1e-6);
        for g in gradients {
            *g = g.clone().mul_scalar(factor);
        }
    }
    Ok(norm)
}
