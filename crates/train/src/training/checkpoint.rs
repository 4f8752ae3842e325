//! Checkpoints: parameters and optimiser as safetensors, everything else as JSON beside them.
//!
//! The JSON is written last and names the checksum of the tensors, so a kill at any moment leaves the
//! checkpoint before it as the newest whole one. Two are kept.

use super::optimiser::{OptimiserSettings, OptimiserState};
use super::schedule::Stage;
use super::steps::TrainingHistory;
use crate::model::{Model, Tensor, read};
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::hash;
use attnlab_lab::run::{Progress, files};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Version of the layout.
const FORMAT: u32 = 1;
/// Number of checkpoints kept: the newest, and the one before it in case the newest is damaged.
const KEPT: usize = 2;

/// Everything in a checkpoint but its tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Checksum of the tensors.
    pub tensors: String,
}

/// Folder of checkpoints.
pub struct Checkpoint {
    folder: PathBuf,
}

impl Checkpoint {
    /// Opens this folder, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be made.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        let advice = "Choose a folder that you may write with --out";
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e, advice))?;
        Ok(Checkpoint {
            folder: folder.to_path_buf(),
        })
    }

    /// Returns the path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, step: u64, extension: &str) -> PathBuf {
        self.folder.join(format!("step-{step:09}.{extension}"))
    }

    /// Writes a checkpoint, and removes those before the last two.
    ///
    /// # Errors
    /// [`Error::Io`] when the disk is full or the folder cannot be written; the checkpoints before are
    /// kept.
    pub fn write(
        &self,
        model: &Model,
        memory: &OptimiserState,
        state: &CheckpointState,
    ) -> Result<()> {
        let bytes = pack(model, memory)?;
        let state = CheckpointState {
            tensors: format!("{:016x}", hash(&bytes)),
            ..state.clone()
        };
        let text = serde_json::to_string_pretty(&state)
            .map_err(|e| self.problem(&self.path(state.step, "json"), e))?;
        for (extension, bytes) in [("safetensors", bytes.as_slice()), ("json", text.as_bytes())] {
            let path = self.path(state.step, extension);
            let advice =
                "The checkpoint before it is kept: make room and give the same command again";
            files::replace(&path, |file| file.write_all(bytes))
                .map_err(|e| Error::io(&path, e, advice))?;
        }
        for step in self.steps()?.into_iter().rev().skip(KEPT) {
            for extension in ["json", "safetensors"] {
                // An old checkpoint that cannot be removed only takes space.
                let _ = fs::remove_file(self.path(step, extension));
            }
        }
        Ok(())
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
        for step in self.steps()?.into_iter().rev() {
            let path = self.path(step, "json");
            let text = fs::read(&path).map_err(|e| Error::io(&path, e, "Check its permissions"))?;
            let Ok(state) = serde_json::from_slice::<CheckpointState>(&text) else {
                progress.line(&damaged(&path));
                continue;
            };
            if state.settings != *settings || state.format != FORMAT {
                let problem = "it is a checkpoint of other settings. Choose another folder with --out, or \
                               delete it to start anew";
                return Err(self.problem(&path, problem));
            }
            let path = self.path(step, "safetensors");
            let bytes = fs::read(&path).unwrap_or_default();
            if format!("{:016x}", hash(&bytes)) != state.tensors {
                progress.line(&damaged(&path));
                continue;
            }
            let memory = self.unpack(&path, &bytes, model, optimiser, state.optimiser_steps)?;
            return Ok(Some((memory, state)));
        }
        Ok(None)
    }

    /// Returns the step of the newest checkpoint, for messages.
    pub fn newest(&self) -> Option<u64> {
        self.steps().ok()?.last().copied()
    }

    /// Lists the steps of the JSON files, ascending.
    fn steps(&self) -> Result<Vec<u64>> {
        let unreadable = |e| Error::io(&self.folder, e, "Check its permissions");
        let mut steps = vec![];
        for entry in fs::read_dir(&self.folder).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            let name = name.to_string_lossy().to_string();
            let number = name
                .strip_prefix("step-")
                .and_then(|n| n.strip_suffix(".json"));
            steps.extend(number.and_then(|n| n.parse::<u64>().ok()));
        }
        steps.sort_unstable();
        Ok(steps)
    }

    fn unpack(
        &self,
        path: &Path,
        bytes: &[u8],
        model: &mut Model,
        optimiser: &OptimiserSettings,
        steps: usize,
    ) -> Result<OptimiserState> {
        let file = SafeTensors::deserialize(bytes).map_err(|e| self.problem(path, e))?;
        let (mut values, mut averages) = (vec![], vec![]);
        for p in model.parameters() {
            let shape = [p.spec.rows, p.spec.columns];
            let tensor = |group: &str| -> Result<Tensor<2>> {
                let name = format!("{group}.{}", p.spec.name);
                let view = file.tensor(&name).map_err(|e| self.problem(path, e))?;
                let fits = view.shape() == shape.as_slice();
                let numbers = fits.then(|| numbers(&view)).flatten();
                let numbers = numbers.ok_or_else(|| {
                    self.problem(path, format!("{name} is not of shape {shape:?}"))
                })?;
                Ok(model.device().tensor(numbers, shape))
            };
            values.push(tensor(GROUPS[0])?);
            if steps > 0 {
                let groups = &GROUPS[1..=optimiser.moments()];
                averages.push(groups.iter().map(|g| tensor(g)).collect::<Result<_>>()?);
            }
        }
        model.set_values(values);
        Ok(OptimiserState { steps, averages })
    }

    fn problem(&self, path: &Path, problem: impl std::fmt::Display) -> Error {
        Error::Content {
            path: path.to_path_buf(),
            problem: problem.to_string(),
        }
    }
}

/// Returns a message for the user about a checkpoint that is skipped.
fn damaged(path: &Path) -> String {
    let path = path.display();
    format!("{path} is damaged: going on from the checkpoint before it, or from the start")
}

/// Groups of tensors in a file.
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
                false => values
                    .iter()
                    .flat_map(|x| (*x as f32).to_le_bytes())
                    .collect(),
            };
            let dtype = if wide { Dtype::F64 } else { Dtype::F32 };
            entries.push((name, dtype, vec![p.spec.rows, p.spec.columns], bytes));
        }
    }
    let fail =
        |e: safetensors::SafeTensorError| Error::unwritable("the checkpoint (safetensors)", e);
    let views = entries.iter().map(|(name, dtype, shape, bytes)| {
        let view = TensorView::new(*dtype, shape.clone(), bytes).map_err(fail)?;
        Ok((name.as_str(), view))
    });
    let views = views.collect::<Result<Vec<_>>>()?;
    safetensors::serialize(views, None).map_err(fail)
}

fn numbers(view: &TensorView) -> Option<Vec<f64>> {
    let bytes = view.data();
    match view.dtype() {
        Dtype::F32 => {
            let (words, _) = bytes.as_chunks::<4>();
            Some(
                words
                    .iter()
                    .map(|w| f64::from(f32::from_le_bytes(*w)))
                    .collect(),
            )
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
        CheckpointState {
            format: FORMAT,
            settings,
            step: 0,
            optimiser_steps: 0,
            streams,
            next_batch: 0,
            sequences: 0,
            curriculum: None,
            history: TrainingHistory::default(),
            tensors: String::new(),
        }
    }
}
