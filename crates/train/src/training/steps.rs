//! The training loop.

use super::checkpoint::{Checkpoint, CheckpointState};
use super::optimiser::{OptimiserSettings, OptimiserState, clip};
use super::schedule::{Curriculum, LearningRate, Stage};
use crate::model::{Model, Tensor, read};
use attnlab_core::error::{Error, Result, non_negative, require};
use attnlab_core::rng::Streams;
use attnlab_lab::experiment::ranges::{Ranges, table, whole};
use attnlab_lab::run::{Clock, Progress, TrainingCurve, TrialContext};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Settings of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingPlan {
    /// Number of optimiser steps.
    pub steps: u64,
    /// Number of sequences per step.
    pub batch: usize,
    /// Number of parts of a batch whose gradients are added; a divisor of `batch`.
    pub accumulate: usize,
    /// The optimiser.
    pub optimiser: OptimiserSettings,
    /// Learning rate.
    pub rate: LearningRate,
    /// Largest ℓ² norm of the gradient; 0 for no limit.
    pub clip: f64,
    /// Steps between two points of the history, each the mean loss since the last.
    pub report_every: u64,
    /// Steps between two checkpoints.
    pub checkpoint_every: u64,
}

impl TrainingPlan {
    /// Returns a plan with Adam at a constant rate, without clipping, with a report and a checkpoint at the end.
    pub fn constant(steps: u64, batch: usize, rate: f64) -> Self {
        TrainingPlan {
            steps,
            batch,
            accumulate: 1,
            optimiser: OptimiserSettings::adam(),
            rate: LearningRate { peak: rate, last: rate, warmup: 0 },
            clip: 0.0,
            report_every: steps,
            checkpoint_every: steps,
        }
    }

    /// Refuses a plan that cannot be run.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the setting and its range.
    pub fn validate(&self) -> Result<()> {
        self.ranges("")
    }
}

impl Ranges for TrainingPlan {
    fn ranges(&self, prefix: &str) -> Result<()> {
        for (name, value) in [
            ("steps", self.steps),
            ("batch", self.batch as u64),
            ("accumulate", self.accumulate as u64),
            ("report_every", self.report_every),
            ("checkpoint_every", self.checkpoint_every),
        ] {
            whole(1..)(&format!("{prefix}{name}"), &value)?;
        }
        let allowed = format!("must be a divisor of {prefix}batch = {}", self.batch);
        let divides = self.batch.is_multiple_of(self.accumulate);
        require(divides, format!("{prefix}accumulate"), self.accumulate, allowed)?;
        non_negative(&format!("{prefix}clip"), self.clip)?;
        table(&format!("{prefix}rate"), &self.rate)?;
        table(&format!("{prefix}optimiser"), &self.optimiser)
    }
}

/// Task that a network learns.
pub trait TrainingTask {
    /// Computes the mean loss over the sequences of a batch, with derivatives.
    ///
    /// # Errors
    /// When the network does not fit the task.
    fn loss(&self, model: &Model, batch: &Batch) -> Result<Tensor<1>>;

    /// Returns the curriculum; None if the task has none.
    fn curriculum(&self) -> Option<Curriculum> {
        None
    }

    /// Computes the loss on held-out data, at every point of the history; None without such data.
    ///
    /// # Errors
    /// When the network does not fit the task.
    fn held_out(&self, _model: &Model) -> Result<Option<f64>> {
        Ok(None)
    }

    /// Returns the settings of the task, for checkpoints.
    fn settings(&self) -> serde_json::Value;
}

/// Sequences of a loss: numbers `first` .. `first + count` of `streams`.
pub struct Batch {
    /// Streams of training data; those of evaluation are others.
    pub streams: Streams,
    /// Number of the first sequence since the start of training.
    pub first: u64,
    /// Number of sequences.
    pub count: usize,
    /// Size of the prompts under a curriculum.
    pub stage: Option<Stage>,
}

/// Losses over the steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingHistory {
    /// Number of steps done at each point.
    pub steps: Vec<u64>,
    /// Mean loss of the steps since the point before.
    pub losses: Vec<f64>,
    /// ℓ² norm of the gradient at the last of them, before clipping.
    pub norms: Vec<f64>,
    /// Loss on held-out data, where the task has such.
    #[serde(default)]
    pub held_out: Vec<f64>,
    /// Sum of the losses since the last point, and their number.
    pub since: (f64, u64),
}

/// Trained network with its history.
pub struct Trained {
    /// The network.
    pub model: Model,
    /// Losses over the steps.
    pub history: TrainingHistory,
    /// The step from which a killed run went on; 0 for a run from the start.
    pub resumed: u64,
}

/// Trains `model` on `task`, which progress lines call `label`. With a folder on the context a killed run
/// goes on at its last checkpoint, and the result is the same to the bit.
///
/// # Errors
/// A plan that cannot be run, a loss that is not finite (with the step and the last good checkpoint), a
/// disk that is full; [`Error::Stopped`] when the user stops it (after a checkpoint).
pub fn train(
    task: &dyn TrainingTask,
    model: Model,
    plan: &TrainingPlan,
    streams: &Streams,
    label: &str,
    context: &TrialContext,
) -> Result<Trained> {
    let settings = json!({
        "model": model.config(), "task": task.settings(), "plan": plan, "backend": model.device().name(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let checkpoints = context.folder.as_deref().map(Checkpoint::in_folder);
    let mut run = Run {
        label,
        checkpoints: checkpoints.transpose()?,
        state: CheckpointState::new(settings, streams.name()),
        trainer: Trainer::new(task, model, plan, streams)?,
    };
    let resumed = run.restore(context.progress)?;
    let mut clock = Clock::new(resumed);
    while run.state.step < plan.steps {
        run.step()?;
        let step = run.state.step;
        // Before the checkpoint: after a kill between the two the step is taken and told again. A curve that cannot be
        // written costs no checkpoint.
        let told = match step.is_multiple_of(plan.report_every) || step == plan.steps {
            true => {
                let TrainingHistory { steps, losses, held_out, .. } = &run.state.history;
                context.report(&mut clock, label, &TrainingCurve::new(plan.steps, steps, losses, held_out))
            }
            false => Ok(()),
        };
        let stopped = context.progress.stopped();
        if step == plan.steps || step.is_multiple_of(plan.checkpoint_every) || stopped {
            run.save()?;
        }
        told?;
        if stopped && step < plan.steps {
            return Err(Error::Stopped { done: step, all: plan.steps, what: "steps", kept: run.checkpoints.is_some() });
        }
    }
    Ok(Trained { model: run.trainer.model, history: run.state.history, resumed })
}

/// Trainer without checkpoints that takes one step at a time, for custom loops and timings.
///
/// ```
/// use attnlab_train::model::{Model, ModelConfig, ComputeDevice, preset};
/// use attnlab_core::rng::Streams;
/// use attnlab_theory::sample::Functions;
/// use attnlab_train::training::{Ramp, Curriculum, TrainingPlan, Trainer};
/// use attnlab_train::training::in_context::InContextTask;
/// let small = ModelConfig { layers: 1, width: 16, heads: 2, ..preset("icl-aot-mssa")? };
/// let streams = Streams::new(1, "doc", 0, 0);
/// let model = Model::new(small, &ComputeDevice::cpu(), &streams)?;
/// let (dims, points) = (Ramp::fixed(20), Ramp::fixed(5));
/// let curriculum = Curriculum { dims, points };
/// let task = InContextTask { functions: Functions::Linear, dim: 20, curriculum };
/// let plan = TrainingPlan::constant(100, 4, 1e-3);
/// let mut trainer = Trainer::new(&task, model, &plan, &streams)?;
/// assert!(trainer.step()?.loss > 0.0);
/// assert_eq!(trainer.steps(), 1);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub struct Trainer<'a> {
    task: &'a dyn TrainingTask,
    plan: &'a TrainingPlan,
    streams: Streams,
    optimiser: OptimiserState,
    model: Model,
    step: u64,
}

/// Loss and gradient norm of a step, at the parameters before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepReport {
    /// Mean loss over the batch.
    pub loss: f64,
    /// ℓ² norm of the gradient before clipping.
    pub norm: f64,
}

impl<'a> Trainer<'a> {
    /// Starts a training at step 0.
    ///
    /// # Errors
    /// As [`TrainingPlan::validate`].
    pub fn new(task: &'a dyn TrainingTask, model: Model, plan: &'a TrainingPlan, streams: &Streams) -> Result<Self> {
        plan.validate()?;
        Ok(Trainer {
            task,
            plan,
            streams: streams.child("training", 0),
            optimiser: OptimiserState::default(),
            model,
            step: 0,
        })
    }

    /// Returns the network in its present state.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Counts the steps done.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Takes one step of the optimiser. Where the loss or its gradient is not finite the network does not
    /// move and no step is counted; the report shows it.
    ///
    /// # Errors
    /// A network that does not fit the task; a device that fails.
    pub fn step(&mut self) -> Result<StepReport> {
        let plan = self.plan;
        let (loss, mut gradients) = self.gradients()?;
        let norm = clip(&mut gradients, (plan.clip > 0.0).then_some(plan.clip))?;
        if loss.is_finite() && norm.is_finite() {
            self.optimiser.step(&plan.optimiser, plan.rate.at_step(self.step, plan.steps), &mut self.model, gradients);
            self.step += 1;
        }
        Ok(StepReport { loss, norm })
    }

    /// Computes mean loss and gradient over the parts of a batch.
    fn gradients(&self) -> Result<(f64, Vec<Tensor<2>>)> {
        let (plan, step) = (self.plan, self.step);
        let parts = plan.accumulate;
        let (mut total, mut sums): (f64, Vec<Tensor<2>>) = (0.0, vec![]);
        for part in 0..parts {
            let count = plan.batch / parts;
            let batch = Batch {
                streams: self.streams.clone(),
                first: step * plan.batch as u64 + (part * count) as u64,
                count,
                stage: self.task.curriculum().map(|c| c.at_step(step)),
            };
            let loss = self.task.loss(&self.model, &batch)?;
            total += read(&loss)?[0] / parts as f64;
            let loss = if parts > 1 { loss.mul_scalar(1.0 / parts as f64) } else { loss };
            let mut gradients = loss.backward();
            let of_part = self.model.parameters().map(|p| {
                let gradient = p.value.grad_remove(&mut gradients);
                // The loss does not depend on this parameter, such as positions beyond a short prompt.
                gradient.unwrap_or_else(|| p.value.clone().inner().zeros_like())
            });
            sums = match part {
                0 => of_part.collect(),
                _ => sums.into_iter().zip(of_part).map(|(a, b)| a + b).collect(),
            };
        }
        Ok((total, sums))
    }
}

struct Run<'a> {
    label: &'a str,
    checkpoints: Option<Checkpoint>,
    state: CheckpointState,
    trainer: Trainer<'a>,
}

impl Run<'_> {
    fn restore(&mut self, progress: &dyn Progress) -> Result<u64> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(0) };
        let trainer = &mut self.trainer;
        let optimiser = &trainer.plan.optimiser;
        let restored = checkpoints.restore(&mut trainer.model, optimiser, &self.state.settings, progress)?;
        if let Some((optimiser, state)) = restored {
            (trainer.optimiser, trainer.step) = (optimiser, state.step);
            self.state = state;
        }
        Ok(self.state.step)
    }

    fn save(&mut self) -> Result<()> {
        let (trainer, state) = (&self.trainer, &mut self.state);
        state.optimiser_steps = trainer.optimiser.steps;
        state.next_batch = state.step * trainer.plan.accumulate as u64;
        state.sequences = state.step * trainer.plan.batch as u64;
        state.curriculum = trainer.task.curriculum().map(|c| c.at_step(state.step));
        self.checkpoints.as_ref().map_or(Ok(()), |c| c.write(&trainer.model, &trainer.optimiser, state))
    }

    fn step(&mut self) -> Result<()> {
        let StepReport { loss, norm } = self.trainer.step()?;
        if self.trainer.step == self.state.step {
            return Err(self.not_finite(loss));
        }
        self.state.step = self.trainer.step;
        let (trainer, history) = (&self.trainer, &mut self.state.history);
        if history.add(self.state.step, loss, norm, trainer.plan) {
            history.held_out.extend(trainer.task.held_out(&trainer.model)?);
        }
        Ok(())
    }

    fn not_finite(&self, loss: f64) -> Error {
        let step = self.state.step + 1;
        let checkpoint = match self.checkpoints.as_ref().and_then(|c| Some((c, c.newest()?))) {
            Some((c, step)) => format!("the last good checkpoint is that of step {step} in {}", c.folder().display()),
            None => "there is no checkpoint".into(),
        };
        Error::diverged(format!(
            "{}: the loss is {loss} at step {step} (or its gradient is not finite); {checkpoint}. Write a \
             smaller rate.peak, a longer rate.warmup or a smaller clip",
            self.label
        ))
    }
}

impl TrainingHistory {
    /// Adds the loss of a step; returns `true` if it completed a point of the history.
    fn add(&mut self, step: u64, loss: f64, norm: f64, plan: &TrainingPlan) -> bool {
        self.since.0 += loss;
        self.since.1 += 1;
        let point = step.is_multiple_of(plan.report_every) || step == plan.steps;
        if point {
            self.steps.push(step);
            self.losses.push(self.since.0 / self.since.1 as f64);
            self.norms.push(norm);
            self.since = (0.0, 0);
        }
        point
    }
}
