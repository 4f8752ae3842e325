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
    /// Adam at a constant rate, without limit on the gradient; a report and a checkpoint at the end.
    pub fn constant(steps: u64, batch: usize, rate: f64) -> Self {
        Plan {
            steps,
            batch,
            accumulate: 1,
            optimiser: Optimiser::adam(),
            rate: Rate {
                peak: rate,
                last: rate,
                warmup: 0,
            },
            clip: 0.0,
            report_every: steps,
            checkpoint_every: steps,
        }
    }

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

    /// The loss on what is never trained on, asked for at every point of the history.
    ///
    /// # Errors
    /// When the network does not fit the task.
    fn held_out(&self, _model: &Model) -> Result<Option<f64>> {
        Ok(None)
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
    /// Loss on what is never trained on, where the task has such.
    #[serde(default)]
    pub held_out: Vec<f64>,
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

/// Trains `model` on `task`, which progress lines call `label`. With a folder on the desk a killed run
/// goes on at its last checkpoint, and the result is the same to the bit.
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
    let settings = json!({
        "model": model.config(),
        "task": task.settings(),
        "plan": plan,
        "backend": model.place().name(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let checkpoints = desk.folder.as_deref().map(Checkpoint::in_folder);
    let mut run = Run {
        label,
        checkpoints: checkpoints.transpose()?,
        state: State::new(settings, streams.name()),
        trainer: Trainer::new(task, model, plan, streams)?,
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
        model: run.trainer.model,
        history: run.state.history,
        resumed,
    })
}

/// A training without checkpoints, step by step: for a loop of one's own, and for timings.
///
/// ```
/// use attnlab::model::{Model, ModelConfig, Place, preset};
/// use attnlab::rng::Streams;
/// use attnlab::sample::Functions;
/// use attnlab::train::{Climb, Curriculum, Plan, Trainer, in_context::InContextTask};
/// let small = ModelConfig { layers: 1, width: 16, heads: 2, ..preset("icl-aot-mssa")? };
/// let streams = Streams::new(1, "doc", 0, 0);
/// let model = Model::new(small, &Place::cpu(), &streams)?;
/// let (dims, points) = (Climb::fixed(20), Climb::fixed(5));
/// let curriculum = Curriculum { dims, points };
/// let task = InContextTask { functions: Functions::Linear, dim: 20, curriculum };
/// let plan = Plan::constant(100, 4, 1e-3);
/// let mut trainer = Trainer::new(&task, model, &plan, &streams)?;
/// assert!(trainer.step()?.loss > 0.0);
/// assert_eq!(trainer.steps(), 1);
/// # Ok::<(), attnlab::Error>(())
/// ```
pub struct Trainer<'a> {
    task: &'a dyn Task,
    plan: &'a Plan,
    streams: Streams,
    pub(super) memory: Memory,
    pub(super) model: Model,
    step: u64,
}

/// What a step found before it moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Mean loss over the batch.
    pub loss: f64,
    /// Length of the gradient before clipping.
    pub norm: f64,
}

impl<'a> Trainer<'a> {
    /// At step 0.
    ///
    /// # Errors
    /// A plan that cannot be run.
    pub fn new(
        task: &'a dyn Task,
        model: Model,
        plan: &'a Plan,
        streams: &Streams,
    ) -> Result<Self> {
        plan.validate()?;
        Ok(Trainer {
            task,
            plan,
            streams: streams.child("training", 0),
            memory: Memory::default(),
            model,
            step: 0,
        })
    }

    /// The network as it is now.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Steps done.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// One step of the optimiser. Where the loss or its gradient is not finite the network does not
    /// move and no step is counted: look at what is returned.
    ///
    /// # Errors
    /// A network that does not fit the task; a device that fails.
    pub fn step(&mut self) -> Result<Found> {
        let plan = self.plan;
        let (loss, mut gradients) = self.gradients()?;
        let most = (plan.clip > 0.0).then_some(plan.clip);
        let norm = clip(&mut gradients, most)?;
        if loss.is_finite() && norm.is_finite() {
            let rate = plan.rate.at(self.step, plan.steps);
            self.memory
                .step(&plan.optimiser, rate, &mut self.model, gradients);
            self.step += 1;
        }
        Ok(Found { loss, norm })
    }

    /// Mean loss and gradient over the parts of a batch.
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
}

struct Run<'a> {
    label: &'a str,
    checkpoints: Option<Checkpoint>,
    state: State,
    trainer: Trainer<'a>,
}

impl Run<'_> {
    fn restore(&mut self) -> Result<u64> {
        let Some(checkpoints) = &self.checkpoints else {
            return Ok(0);
        };
        let trainer = &mut self.trainer;
        let optimiser = &trainer.plan.optimiser;
        let found = checkpoints.restore(&mut trainer.model, optimiser, &self.state.settings)?;
        if let Some((memory, state)) = found {
            (trainer.memory, trainer.step) = (memory, state.step);
            self.state = state;
        }
        Ok(self.state.step)
    }

    fn save(&mut self) -> Result<()> {
        let (trainer, state) = (&self.trainer, &mut self.state);
        state.optimiser_steps = trainer.memory.steps;
        state.next_batch = state.step * trainer.plan.accumulate as u64;
        state.sequences = state.step * trainer.plan.batch as u64;
        state.curriculum = trainer.task.curriculum().map(|c| c.at(state.step));
        match &self.checkpoints {
            Some(checkpoints) => checkpoints.write(&trainer.model, &trainer.memory, state),
            None => Ok(()),
        }
    }

    fn step(&mut self) -> Result<()> {
        let Found { loss, norm } = self.trainer.step()?;
        if self.trainer.step == self.state.step {
            return Err(self.not_finite(loss));
        }
        self.state.step = self.trainer.step;
        let (trainer, history) = (&self.trainer, &mut self.state.history);
        if history.add(self.state.step, loss, norm, trainer.plan) {
            history
                .held_out
                .extend(trainer.task.held_out(&trainer.model)?);
        }
        Ok(())
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
    /// Whether that made a point.
    fn add(&mut self, step: u64, loss: f64, norm: f64, plan: &Plan) -> bool {
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
