//! The loop.

use super::checkpoint::{Checkpoint, State};
use super::optimiser::{Memory, Optimiser, clip};
use super::schedule::{Curriculum, Rate, Stage};
use crate::error::{Error, Result, positive};
use crate::model::{Model, Tensor, read};
use crate::rng::Streams;
use crate::run::Desk;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::{Duration, Instant};

/// How to train.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Steps of the optimiser.
    pub steps: u64,
    /// Sequences per step.
    pub batch: usize,
    /// Parts into which a batch is cut, whose gradients are added; a divisor of `batch`.
    pub accumulate: usize,
    /// The optimiser.
    pub optimiser: Optimiser,
    /// Its rate.
    pub rate: Rate,
    /// Largest length of the gradient; 0 for no limit.
    pub clip: f64,
    /// Steps between two points of the history: each is the mean loss since the last.
    pub report_every: u64,
    /// Steps between two checkpoints.
    pub checkpoint_every: u64,
}

impl Plan {
    /// Refuses what cannot be run.
    ///
    /// # Errors
    /// Names the setting.
    pub fn validate(&self) -> Result<()> {
        for (name, value) in [
            ("steps", self.steps),
            ("batch", self.batch as u64),
            ("accumulate", self.accumulate as u64),
            ("report_every", self.report_every),
            ("checkpoint_every", self.checkpoint_every),
        ] {
            if value == 0 {
                return Err(Error::invalid(name, 0, "a whole number >= 1"));
            }
        }
        if !self.batch.is_multiple_of(self.accumulate) {
            let allowed = format!("a divisor of batch = {}", self.batch);
            return Err(Error::invalid("accumulate", self.accumulate, allowed));
        }
        if self.clip != 0.0 {
            positive("clip", self.clip)?;
        }
        self.rate.validate()?;
        self.optimiser.validate()
    }
}

/// What a network learns.
pub trait Task {
    /// The mean loss over the sequences of a batch, with derivatives.
    ///
    /// # Errors
    /// When the network does not fit the task.
    fn loss(&self, model: &Model, batch: &Batch) -> Result<Tensor<1>>;

    /// Its curriculum, if it has one.
    fn curriculum(&self) -> Option<Curriculum> {
        None
    }

    /// Its settings, for checkpoints.
    fn settings(&self) -> serde_json::Value;
}

/// Which sequences a loss is over: numbers `first` .. `first + count` of `streams`.
pub struct Batch {
    /// Streams of training data; those of evaluation are others.
    pub streams: Streams,
    /// Number of the first sequence since the start of training.
    pub first: u64,
    /// How many.
    pub count: usize,
    /// What the curriculum says.
    pub stage: Option<Stage>,
}

/// Losses over the steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Steps done at each point.
    pub steps: Vec<u64>,
    /// Mean loss of the steps since the point before.
    pub losses: Vec<f64>,
    /// Length of the gradient at the last of them, before clipping.
    pub norms: Vec<f64>,
    /// Sum of the losses since the last point, and their number.
    pub since: (f64, u64),
}

/// A trained network.
pub struct Trained {
    /// The network.
    pub model: Model,
    /// Its losses.
    pub history: History,
    /// The step from which a killed run went on; 0 for a run from the start.
    pub resumed: u64,
}

/// Trains `model` on `task`, which progress lines call `label`. With a folder on the desk a killed run goes on at its last checkpoint, and
/// the result is the same to the bit.
///
/// # Errors
/// A plan that cannot be run, a loss that is not finite (with the step and the last good checkpoint), a
/// disk that is full, the user's wish to stop (after a checkpoint).
pub fn train(
    task: &dyn Task,
    model: Model,
    plan: &Plan,
    streams: &Streams,
    label: &str,
    desk: &Desk,
) -> Result<Trained> {
    plan.validate()?;
    let settings = json!({
        "model": model.config(),
        "task": task.settings(),
        "plan": plan,
        "backend": model.place().name(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let mut run = Run {
        task,
        plan,
        label,
        streams: streams.child("training", 0),
        checkpoints: desk
            .folder
            .as_deref()
            .map(Checkpoint::in_folder)
            .transpose()?,
        memory: Memory::default(),
        state: State::new(settings, streams.name()),
        model,
    };
    let resumed = run.restore()?;
    let clock = Clock::new(resumed);
    while run.state.step < plan.steps {
        run.step()?;
        let step = run.state.step;
        let stopped = desk.progress.stopped();
        if step == plan.steps || step.is_multiple_of(plan.checkpoint_every) || stopped {
            run.save()?;
        }
        if stopped && step < plan.steps {
            return Err(Error::Stopped {
                done: step,
                all: plan.steps,
            });
        }
        if step.is_multiple_of(plan.report_every) || step == plan.steps {
            let loss = run.state.history.losses.last().copied();
            desk.progress
                .tell(&clock.line(label, step, plan.steps, loss));
        }
    }
    Ok(Trained {
        model: run.model,
        history: run.state.history,
        resumed,
    })
}

struct Run<'a> {
    task: &'a dyn Task,
    plan: &'a Plan,
    label: &'a str,
    streams: Streams,
    checkpoints: Option<Checkpoint>,
    memory: Memory,
    state: State,
    model: Model,
}

impl Run<'_> {
    fn restore(&mut self) -> Result<u64> {
        let Some(checkpoints) = &self.checkpoints else {
            return Ok(0);
        };
        let optimiser = &self.plan.optimiser;
        let found = checkpoints.restore(&mut self.model, optimiser, &self.state.settings)?;
        if let Some((memory, state)) = found {
            (self.memory, self.state) = (memory, state);
        }
        Ok(self.state.step)
    }

    fn save(&mut self) -> Result<()> {
        self.state.optimiser_steps = self.memory.steps;
        self.state.next_batch = self.state.step * self.plan.accumulate as u64;
        self.state.sequences = self.state.step * self.plan.batch as u64;
        self.state.curriculum = self.task.curriculum().map(|c| c.at(self.state.step));
        match &self.checkpoints {
            Some(checkpoints) => checkpoints.write(&self.model, &self.memory, &self.state),
            None => Ok(()),
        }
    }

    /// One step of the optimiser.
    fn step(&mut self) -> Result<()> {
        let (plan, step) = (self.plan, self.state.step);
        let (loss, mut gradients) = self.gradients()?;
        let most = (plan.clip > 0.0).then_some(plan.clip);
        let norm = clip(&mut gradients, most)?;
        if !loss.is_finite() || !norm.is_finite() {
            return Err(self.not_finite(loss));
        }
        let rate = plan.rate.at(step, plan.steps);
        self.memory
            .step(&plan.optimiser, rate, &mut self.model, gradients);
        self.state.step += 1;
        self.state.history.add(self.state.step, loss, norm, plan);
        Ok(())
    }

    /// Mean loss and gradient over the parts of a batch.
    fn gradients(&self) -> Result<(f64, Vec<Tensor<2>>)> {
        let (plan, step) = (self.plan, self.state.step);
        let parts = plan.accumulate;
        let (mut total, mut sums): (f64, Vec<Tensor<2>>) = (0.0, vec![]);
        for part in 0..parts {
            let count = plan.batch / parts;
            let batch = Batch {
                streams: self.streams.clone(),
                first: step * plan.batch as u64 + (part * count) as u64,
                count,
                stage: self.task.curriculum().map(|c| c.at(step)),
            };
            let loss = self.task.loss(&self.model, &batch)?;
            total += read(&loss)?[0] / parts as f64;
            let loss = if parts > 1 {
                loss.mul_scalar(1.0 / parts as f64)
            } else {
                loss
            };
            let mut found = loss.backward();
            let own = self.model.parameters().map(|p| {
                let gradient = p.value.grad_remove(&mut found);
                // A parameter that the loss does not reach, such as places beyond a short prompt's.
                gradient.unwrap_or_else(|| p.value.clone().inner().zeros_like())
            });
            sums = if sums.is_empty() {
                own.collect()
            } else {
                sums.into_iter().zip(own).map(|(a, b)| a + b).collect()
            };
        }
        Ok((total, sums))
    }

    fn not_finite(&self, loss: f64) -> Error {
        let step = self.state.step + 1;
        let newest = self
            .checkpoints
            .as_ref()
            .and_then(|c| Some((c, c.newest()?)));
        let kept = match newest {
            Some((c, step)) => format!(
                "the last good checkpoint is that of step {step} in {}",
                c.folder().display()
            ),
            None => "there is no checkpoint".into(),
        };
        Error::Numerical(format!(
            "{}: the loss is {loss} at step {step} (or its gradient is not finite); {kept}. Write a \
             smaller rate.peak, a longer rate.warmup or a smaller clip",
            self.label
        ))
    }
}

impl History {
    fn add(&mut self, step: u64, loss: f64, norm: f64, plan: &Plan) {
        self.since.0 += loss;
        self.since.1 += 1;
        if step.is_multiple_of(plan.report_every) || step == plan.steps {
            self.steps.push(step);
            self.losses.push(self.since.0 / self.since.1 as f64);
            self.norms.push(norm);
            self.since = (0.0, 0);
        }
    }
}

/// Rate and time left.
struct Clock {
    started: Instant,
    from: u64,
}

impl Clock {
    fn new(from: u64) -> Self {
        Clock {
            started: Instant::now(),
            from,
        }
    }

    fn line(&self, label: &str, step: u64, steps: u64, loss: Option<f64>) -> String {
        let rate = (step - self.from) as f64 / self.started.elapsed().as_secs_f64().max(1e-9);
        let left = Duration::from_secs_f64(((steps - step) as f64 / rate).min(1e9)).as_secs();
        let loss = loss.map_or(String::new(), |l| format!(", loss {l:.4}"));
        let (hours, minutes, seconds) = (left / 3600, left / 60 % 60, left % 60);
        format!(
            "{label}: step {step} of {steps}{loss}, {rate:.2} steps/s, {hours}:{minutes:02}:{seconds:02} left"
        )
    }
}
