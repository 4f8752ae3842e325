//! Checkpoints of networks on burn: parameters and optimiser as safetensors, everything else as JSON beside them,
//! in the folders of [`attnlab_lab::run::checkpoints`].

use super::optimiser::{OptimiserSettings, OptimiserState};
use super::schedule::Stage;
use super::steps::TrainingHistory;
use crate::model::{ComputeDevice, Model, ModelConfig, Parameter, Tensor, read};
use attnlab_core::error::{Error, Result};
use attnlab_core::input;
use attnlab_core::rng::{Streams, hash};
use attnlab_lab::run::checkpoints::{Checkpoints, Restored, content};
use attnlab_lab::run::{Progress, Silent};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// Version of the layout.
const FORMAT: u32 = 1;

/// Everything in a checkpoint but its tensors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointState {
    /// Version of the layout.
    pub format: u32,
    /// Settings of network, task and plan; a checkpoint of other settings is refused.
    pub settings: Value,
    /// Number of steps done.
    pub step: u64,
    /// Number of steps that the optimiser took.
    pub optimiser_steps: usize,
    /// The random state: the streams, by name, and the number of the next batch in them.
    pub streams: String,
    /// Number of the next batch.
    pub next_batch: u64,
    /// Number of sequences drawn so far.
    pub sequences: u64,
    /// Size of the next step's prompts.
    pub curriculum: Option<Stage>,
    /// Losses so far.
    pub history: TrainingHistory,
}

/// Network of a checkpoint.
pub struct TrainedNetwork {
    /// The network.
    pub model: Model,
    /// Number of steps that it was trained for.
    pub step: u64,
    /// Checksum of the file of its tensors.
    pub checksum: String,
}

/// Folder of the checkpoints of a training.
pub struct Checkpoint(Checkpoints);

impl Checkpoint {
    /// Opens this folder, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be made.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        Checkpoints::in_folder(folder).map(Checkpoint)
    }

    /// Returns the path of the folder.
    pub fn folder(&self) -> &Path {
        self.0.folder()
    }

    /// Writes a checkpoint, and removes those before the last two.
    ///
    /// # Errors
    /// [`Error::Io`] when the disk is full or the folder cannot be written; the checkpoints before are
    /// kept.
    pub fn write(&self, model: &Model, memory: &OptimiserState, state: &CheckpointState) -> Result<()> {
        self.0.write(state.step, &pack(model, memory)?, state)
    }

    /// Loads the newest intact checkpoint into `model`; None if there is none. Damaged checkpoints are
    /// skipped and reported to `progress`.
    ///
    /// # Errors
    /// [`Error::Content`] for a checkpoint of other settings, [`Error::Io`] for a file that cannot be
    /// read.
    pub fn restore(
        &self,
        model: &mut Model,
        optimiser: &OptimiserSettings,
        settings: &Value,
        progress: &dyn Progress,
    ) -> Result<Option<(OptimiserState, CheckpointState)>> {
        let same = |state: &CheckpointState| state.settings == *settings && state.format == FORMAT;
        let Some(Restored { path, tensors, state }) = self.0.restore(same, progress)? else { return Ok(None) };
        Ok(Some((unpack(&path, &tensors, model, optimiser, state.optimiser_steps)?, state)))
    }

    /// Reads the network of the newest intact checkpoint in a folder, which need not be one of the same run.
    ///
    /// # Errors
    /// [`Error::Io`] for a folder that cannot be read, [`Error::Content`] for one without a checkpoint of a network.
    pub fn network(folder: &Path, device: &ComputeDevice) -> Result<TrainedNetwork> {
        let (newest, config) = Self::newest_in(folder)?;
        let mut model = Model::new(config, device, &Streams::new(0, "checkpoint", 0, 0))?;
        let file = SafeTensors::deserialize(&newest.tensors).map_err(|e| content(&newest.path, e))?;
        let values = model.parameters();
        let values = values.map(|p| tensor(&newest.path, &file, GROUPS[0], &p, device)).collect::<Result<_>>()?;
        model.set_values(values);
        Ok(TrainedNetwork { model, step: newest.state.step, checksum: format!("{:016x}", hash(&newest.tensors)) })
    }

    /// Reads the configuration of that network alone.
    ///
    /// # Errors
    /// As [`Checkpoint::network`].
    pub fn config(folder: &Path) -> Result<ModelConfig> {
        Self::newest_in(folder).map(|(_, config)| config)
    }

    fn newest_in(folder: &Path) -> Result<(Restored<CheckpointState>, ModelConfig)> {
        let none = "there is no checkpoint of a training. Name a folder with files such as \
                    step-000001000.json and step-000001000.safetensors";
        if !folder.is_dir() {
            return Err(content(folder, none));
        }
        let checkpoints = Checkpoints::at(folder);
        let newest = checkpoints.restore(|_: &CheckpointState| true, &Silent)?.ok_or_else(|| content(folder, none))?;
        for file in [&newest.path, &newest.path.with_extension("json")] {
            input::note("checkpoint", file);
        }
        let config = ModelConfig::deserialize(&newest.state.settings["model"]);
        let config = config.map_err(|e| content(&newest.path, format!("no network: {e}")))?;
        Ok((newest, config))
    }

    /// Returns the step of the newest checkpoint, for messages.
    pub fn newest(&self) -> Option<u64> {
        self.0.newest()
    }
}

/// Reads the tensors into `model` and the memory of its optimiser.
fn unpack(
    path: &Path,
    bytes: &[u8],
    model: &mut Model,
    optimiser: &OptimiserSettings,
    steps: usize,
) -> Result<OptimiserState> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| content(path, e))?;
    let (mut values, mut averages) = (vec![], vec![]);
    for p in model.parameters() {
        let tensor = |group: &str| tensor(path, &file, group, &p, model.device());
        values.push(tensor(GROUPS[0])?);
        if steps > 0 {
            let groups = &GROUPS[1..=optimiser.moments()];
            averages.push(groups.iter().map(|g| tensor(g)).collect::<Result<_>>()?);
        }
    }
    model.set_values(values);
    Ok(OptimiserState { steps, averages })
}

fn tensor(path: &Path, file: &SafeTensors, group: &str, p: &Parameter, device: &ComputeDevice) -> Result<Tensor<2>> {
    let shape = [p.spec.rows, p.spec.columns];
    let name = format!("{group}.{}", p.spec.name);
    let view = file.tensor(&name).map_err(|e| content(path, e))?;
    let fits = view.shape() == shape.as_slice();
    let numbers = fits.then(|| numbers(&view)).flatten();
    Ok(device.tensor(numbers.ok_or_else(|| content(path, format!("{name} is not of shape {shape:?}")))?, shape))
}

const GROUPS: [&str; 3] = ["parameters", "first", "second"];

/// Serialises the tensors: f32 as f32, f64 as f64, so that nothing is rounded.
fn pack(model: &Model, memory: &OptimiserState) -> Result<Vec<u8>> {
    let mut entries = vec![];
    for (i, p) in model.parameters().enumerate() {
        let averages = memory.averages.get(i).into_iter().flatten();
        for (group, tensor) in GROUPS.iter().zip(std::iter::once(p.value).chain(averages)) {
            let name = format!("{group}.{}", p.spec.name);
            let wide = model.device().is_f64();
            let values = read(tensor)?;
            let bytes: Vec<u8> = match wide {
                true => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
                false => values.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
            };
            let dtype = if wide { Dtype::F64 } else { Dtype::F32 };
            entries.push((name, dtype, vec![p.spec.rows, p.spec.columns], bytes));
        }
    }
    let fail = |e: safetensors::SafeTensorError| Error::unwritable("the checkpoint (safetensors)", e);
    let views = entries.iter().map(|(name, dtype, shape, bytes)| {
        Ok((name.as_str(), TensorView::new(*dtype, shape.clone(), bytes).map_err(fail)?))
    });
    safetensors::serialize(views.collect::<Result<Vec<_>>>()?, None).map_err(fail)
}

fn numbers(view: &TensorView) -> Option<Vec<f64>> {
    let bytes = view.data();
    match view.dtype() {
        Dtype::F32 => {
            let (words, _) = bytes.as_chunks::<4>();
            Some(words.iter().map(|w| f64::from(f32::from_le_bytes(*w))).collect())
        }
        Dtype::F64 => {
            let (words, _) = bytes.as_chunks::<8>();
            Some(words.iter().map(|w| f64::from_le_bytes(*w)).collect())
        }
        _ => None,
    }
}

impl CheckpointState {
    /// State before the first step.
    pub(super) fn new(settings: Value, streams: String) -> Self {
        CheckpointState { format: FORMAT, settings, streams, ..CheckpointState::default() }
    }
}
