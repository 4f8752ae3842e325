//! Regression in context: prompts as tokens, the loss over all prefixes, and errors by prefix.

use super::schedule::Curriculum;
use super::steps::{Batch, TrainingTask};
use crate::model::{ComputeDevice, Input, Model, Recording, Tensor, read};
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::Streams;
use attnlab_theory::sample::{Functions, InContext, Regression, Shift};
use serde_json::{Value, json};

/// Training on prompts of isotropic Gaussian inputs (AoT ICML Eq. 9, with the query that the print
/// drops): the squared error at every example given those before it, averaged.
#[derive(Clone, Debug, PartialEq)]
pub struct InContextTask {
    /// Class of functions.
    pub functions: Functions,
    /// d, dimension of the inputs.
    pub dim: usize,
    /// Schedule of dimensions and points.
    pub curriculum: Curriculum,
}

impl InContextTask {
    fn law(&self, dims: usize, points: usize) -> InContext {
        InContext { functions: self.functions, dim: self.dim, points, active: dims, shift: Shift::None }
    }
}

impl TrainingTask for InContextTask {
    fn loss(&self, model: &Model, batch: &Batch) -> Result<Tensor<1>> {
        let stage = batch.stage.unwrap_or_else(|| self.curriculum.at_step(u64::MAX));
        let law = self.law(stage.dims, stage.points);
        let prompts: Vec<Regression> = (batch.first..batch.first + batch.count as u64)
            .map(|i| law.draw(&batch.streams.child("prompt", i)))
            .collect();
        let answers = answers(model.device(), &prompts);
        Ok((predictions(model, &prompts, &mut Recording::default())? - answers).square().mean())
    }

    fn curriculum(&self) -> Option<Curriculum> {
        Some(self.curriculum)
    }

    fn settings(&self) -> Value {
        json!({ "functions": self.functions, "dim": self.dim, "curriculum": self.curriculum })
    }
}

/// Writes prompts as tokens (batch, 2 n, d): x_1, (y_1, 0, .., 0), x_2, ..
///
/// # Errors
/// [`Error::Invalid`] when there are no prompts.
pub fn tokens(device: &ComputeDevice, prompts: &[Regression]) -> Result<Tensor<3>> {
    let Some(first) = prompts.first() else { return Err(Error::invalid("prompts", 0, "must be a whole number >= 1")) };
    let (d, n) = first.inputs.dim();
    let mut values = vec![0.0; prompts.len() * 2 * n * d];
    for (prompt, rows) in prompts.iter().zip(values.chunks_exact_mut(2 * n * d)) {
        for (i, pair) in rows.chunks_exact_mut(2 * d).enumerate() {
            for (slot, x) in pair.iter_mut().zip(prompt.inputs.column(i)) {
                *slot = *x;
            }
            pair[d] = prompt.labels[i];
        }
    }
    Ok(device.tensor(values, [prompts.len(), 2 * n, d]))
}

fn answers(device: &ComputeDevice, prompts: &[Regression]) -> Tensor<2> {
    let n = prompts.first().map_or(0, |p| p.answers.len());
    device.tensor(prompts.iter().flat_map(|p| p.answers.iter().copied()).collect(), [prompts.len(), n])
}

/// Computes the network's predictions (batch, n): its outputs at the inputs x.
///
/// # Errors
/// When there are no prompts, or the network does not take them.
pub fn predictions(model: &Model, prompts: &[Regression], recording: &mut Recording) -> Result<Tensor<2>> {
    let outputs = model.forward(tokens(model.device(), prompts)?, recording)?;
    let [batch, length, _] = outputs.dims();
    Ok(outputs.narrow(2, 0, 1).reshape([batch, length / 2, 2]).narrow(2, 0, 1).reshape([batch, length / 2]))
}

/// Computes the squared errors of `prompts` prompts of `law`, (prompt, prefix): `errors[i][k]` is that of x_{k+1}
/// given k examples. `batch` prompts are computed at a time.
///
/// # Errors
/// When the network does not take such prompts.
pub fn errors(
    model: &Model,
    law: &InContext,
    prompts: usize,
    batch: usize,
    streams: &Streams,
) -> Result<Vec<Vec<f64>>> {
    law.validate()?;
    if let Input::Vectors { dim } = model.config().input
        && dim != law.dim
    {
        let allowed = format!("must be {dim}, the length of the network's input vectors");
        return Err(Error::invalid("dim", law.dim, allowed));
    }
    let (mut errors, model) = (vec![], model.frozen());
    let draw = |i: usize| law.draw(&streams.child("prompt", i as u64));
    for start in (0..prompts).step_by(batch.max(1)) {
        let drawn: Vec<Regression> = (start..prompts.min(start + batch.max(1))).map(draw).collect();
        let off = predictions(&model, &drawn, &mut Recording::default())? - answers(model.device(), &drawn);
        errors.extend(read(&off.square())?.chunks(law.points).map(<[f64]>::to_vec));
    }
    Ok(errors)
}
