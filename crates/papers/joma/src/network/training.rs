//! Training: steps of Adam, records on the way, checkpoints from which a killed run goes on to the same bits.

use super::{Adam, Batch, Dropout, Network, Record, Records, Slot, Targets, clip};
use attnlab_core::clock::Instant;
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::Streams;
use attnlab_lab::run::checkpoints::content;
use attnlab_lab::run::{Checkpoints, Clock, TrainingCurve, TrialContext};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Version of the layout of checkpoints.
const FORMAT: u32 = 1;

/// Plan of a training.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Steps at which the network is recorded; the last ends training.
    pub records: Records,
    /// Norm to which longer gradients are shortened.
    pub clip: Option<f64>,
    /// Share of entries that dropout sets to zero.
    pub dropout: f64,
    /// Number of steps after which the optimiser begins anew, with zero moments.
    pub reset_every: Option<u64>,
    /// Parameters that stay as they are.
    pub frozen: Vec<Slot>,
    /// Least time between two checkpoints: what a kill can cost.
    pub checkpoint_every: Duration,
    /// Settings of the run; a checkpoint of other settings is refused.
    pub settings: Value,
    /// Name in lines of progress.
    pub label: String,
}

impl Plan {
    /// Returns a plan without clipping, dropout, fresh optimisers and frozen parameters, with a checkpoint a minute.
    pub fn new(records: &Records, settings: Value, label: String) -> Self {
        Plan {
            records: records.clone(),
            clip: None,
            dropout: 0.0,
            reset_every: None,
            frozen: vec![],
            checkpoint_every: Duration::from_secs(60),
            settings,
            label,
        }
    }

    fn steps(&self) -> u64 {
        self.records.last()
    }
}

/// Everything in a checkpoint but its tensors.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    format: u32,
    settings: Value,
    step: u64,
    optimiser_steps: i32,
    /// Sum and number of the losses since the last record.
    since: (f64, u64),
    record: Record,
}

/// Sequences and targets of a step, from 0.
pub type Batches<'a> = &'a dyn Fn(u64) -> Result<(Batch, Targets)>;

/// Function that adds measurements of the network after so many steps to a record.
pub type Look<'a> = &'a mut dyn FnMut(&Network<f32>, u64, &mut Record) -> Result<()>;

/// Trains a network; its checkpoints are removed at the end. `batch` gives the sequences and targets of a step, from
/// 0, and must be a function of its argument; `look` records the network at the steps of the plan. The mean loss of the
/// steps before a record is added to it as "training_loss"; for step 0, NaN.
///
/// # Errors
/// A loss that is not finite; a checkpoint of other settings; a full disk; [`Error::Stopped`] after a checkpoint.
pub fn train(
    network: &mut Network<f32>,
    mut adam: Adam<f32>,
    plan: &Plan,
    streams: &Streams,
    context: &TrialContext,
    batch: Batches,
    look: Look,
) -> Result<Record> {
    let checkpoints = context.folder.as_deref().map(Checkpoints::in_folder).transpose()?;
    let mut state = State { format: FORMAT, settings: plan.settings.clone(), ..State::default() };
    // The last step that was recorded; a checkpoint holds the record of its own step.
    let mut recorded = None;
    if let Some(checkpoints) = &checkpoints {
        let same = |s: &State| s.format == FORMAT && s.settings == plan.settings;
        if let Some(checkpoint) = checkpoints.restore(same, context.progress)? {
            state = checkpoint.state;
            recorded = Some(state.step);
            let [values, first, second] = unpack(&checkpoint.path, &checkpoint.tensors, network.parameters().len())?;
            network.parameters_mut().copy_from_slice(&values);
            adam.restore(state.optimiser_steps, [first, second]);
        }
    }
    let mut clock = Clock::new(state.step);
    let mut written = Instant::now();
    loop {
        let step = state.step;
        if plan.records.contains(step) && recorded != Some(step) {
            let (sum, count) = std::mem::take(&mut state.since);
            state.record.push("training_loss", sum / count as f64);
            look(network, step, &mut state.record)?;
            let losses = state.record.series("training_loss");
            let done = plan.records.first(losses.len());
            context.report(&mut clock, &plan.label, &TrainingCurve::new(plan.steps(), done, &losses, &[]))?;
            recorded = Some(step);
        }
        let stopped = context.progress.stopped();
        if let Some(checkpoints) = &checkpoints
            && (stopped || (step < plan.steps() && written.elapsed() >= plan.checkpoint_every))
        {
            state.optimiser_steps = adam.state().0;
            checkpoints.write(step, &pack(network, &adam)?, &state)?;
            written = Instant::now();
        }
        if step >= plan.steps() {
            // Weights of all trials together may fill a disk; the rows hold what is measured.
            checkpoints.map_or(Ok(()), Checkpoints::clear)?;
            return Ok(state.record);
        }
        if stopped {
            return Err(Error::Stopped { done: step, all: plan.steps(), what: "steps", kept: checkpoints.is_some() });
        }
        if step > 0 && plan.reset_every.is_some_and(|every| step.is_multiple_of(every)) {
            adam.reset();
        }
        state.since.0 += one_step(network, &mut adam, plan, streams, step, batch)?;
        state.since.1 += 1;
        state.step += 1;
    }
}

fn one_step(
    network: &mut Network<f32>,
    adam: &mut Adam<f32>,
    plan: &Plan,
    streams: &Streams,
    step: u64,
    batch: Batches,
) -> Result<f64> {
    let (sequences, targets) = batch(step)?;
    let dropout = |share: f64| Dropout::new(share, streams.part("dropout", step));
    let mut dropout = (plan.dropout > 0.0).then(|| dropout(plan.dropout)).transpose()?;
    let (loss, mut gradient) = network.loss_and_gradient(&sequences, &targets, dropout.as_mut());
    for slot in &plan.frozen {
        slot.slice_mut(&mut gradient).fill(0.0);
    }
    let norm = clip(&mut gradient, plan.clip.unwrap_or(f64::INFINITY));
    if !(loss.is_finite() && norm.is_finite()) {
        let label = &plan.label;
        return Err(Error::Diverged(format!("{label}: the loss is {loss} at step {step}. Write a smaller rate")));
    }
    let frozen: Vec<Vec<f32>> = plan.frozen.iter().map(|slot| slot.slice(network.parameters()).to_vec()).collect();
    adam.step(network.parameters_mut(), &gradient);
    // Weight decay must not move them either.
    for (slot, values) in plan.frozen.iter().zip(frozen) {
        slot.slice_mut(network.parameters_mut()).copy_from_slice(&values);
    }
    Ok(loss)
}

/// Tensors of a checkpoint: parameters and both moments, each as one vector.
const TENSORS: [&str; 3] = ["parameters", "first", "second"];

fn pack(network: &Network<f32>, adam: &Adam<f32>) -> Result<Vec<u8>> {
    let (_, [first, second]) = adam.state();
    let bytes = [network.parameters(), first, second]
        .map(|list| list.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>());
    let fail = |e: safetensors::SafeTensorError| Error::unwritable("the checkpoint (safetensors)", e);
    let shape = vec![network.parameters().len()];
    let views = TENSORS
        .iter()
        .zip(&bytes)
        .map(|(name, bytes)| Ok((*name, TensorView::new(Dtype::F32, shape.clone(), bytes).map_err(fail)?)));
    safetensors::serialize(views.collect::<Result<Vec<_>>>()?, None).map_err(fail)
}

fn unpack(path: &Path, bytes: &[u8], length: usize) -> Result<[Vec<f32>; 3]> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| content(path, e))?;
    let mut tensors = TENSORS.iter().map(|name| {
        let view = file.tensor(name).map_err(|e| content(path, e))?;
        if view.dtype() != Dtype::F32 || view.shape() != [length] {
            let shape = view.shape();
            return Err(content(path, format!("{name}: must be {length} numbers of type F32; its shape is {shape:?}")));
        }
        let (words, _) = view.data().as_chunks::<4>();
        Ok(words.iter().map(|w| f32::from_le_bytes(*w)).collect::<Vec<f32>>())
    });
    let mut next = || tensors.next().unwrap_or_else(|| Ok(vec![]));
    Ok([next()?, next()?, next()?])
}
