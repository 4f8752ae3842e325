//! Checkpoints: parameters and optimiser as safetensors, everything else as JSON beside it.
//!
//! The JSON is written last and names the checksum of the tensors, so a kill at any moment leaves the
//! checkpoint before it as the newest whole one. Two are kept.

use super::optimiser::{Memory, Optimiser};
use super::schedule::Stage;
use super::steps::History;
use crate::error::{Error, Result};
use crate::model::{Model, Tensor, read};
use crate::rng::hash;
use crate::run::files;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Version of the layout.
const FORMAT: u32 = 1;
/// Checkpoints kept: the newest, and one before it, should the newest be damaged.
const KEPT: usize = 2;

/// Everything but tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Layout of this file.
    pub format: u32,
    /// What is trained and how; a checkpoint of other settings is refused.
    pub settings: Value,
    /// Steps that are done.
    pub step: u64,
    /// Steps that the optimiser took.
    pub optimiser_steps: usize,
    /// The random state: the streams, by name, and the number of the next batch in them.
    pub streams: String,
    /// Number of the next batch.
    pub next_batch: u64,
    /// Sequences drawn so far.
    pub sequences: u64,
    /// What the next step's prompts look like.
    pub curriculum: Option<Stage>,
    /// Losses so far.
    pub history: History,
    /// Checksum of the tensors.
    pub tensors: String,
}

/// A folder of checkpoints.
pub struct Checkpoint {
    folder: PathBuf,
}

impl Checkpoint {
    /// In this folder, which is made.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        let advice = "Choose a folder that you may write with --out";
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e, advice))?;
        Ok(Checkpoint {
            folder: folder.to_path_buf(),
        })
    }

    /// Its path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, step: u64, extension: &str) -> PathBuf {
        self.folder.join(format!("step-{step:09}.{extension}"))
    }

    /// Writes one, and removes those before the last two.
    ///
    /// # Errors
    /// When the disk is full or the folder cannot be written; the ones before are kept.
    pub fn write(&self, model: &Model, memory: &Memory, state: &State) -> Result<()> {
        let bytes = pack(model, memory)?;
        let state = State {
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
                // What cannot be removed only takes room.
                let _ = fs::remove_file(self.path(step, extension));
            }
        }
        Ok(())
    }

    /// The newest whole checkpoint, laid into `model`. None where there is none.
    ///
    /// # Errors
    /// A checkpoint of other settings, files that cannot be read.
    pub fn restore(
        &self,
        model: &mut Model,
        optimiser: &Optimiser,
        settings: &Value,
    ) -> Result<Option<(Memory, State)>> {
        for step in self.steps()?.into_iter().rev() {
            let path = self.path(step, "json");
            let text =
                fs::read(&path).map_err(|e| Error::io(&path, e, "Is it readable for you?"))?;
            let Ok(state) = serde_json::from_slice::<State>(&text) else {
                continue;
            };
            if state.settings != *settings || state.format != FORMAT {
                let problem = "a checkpoint of other settings. Choose another folder with --out, or \
                               delete it to start anew";
                return Err(self.problem(&path, problem));
            }
            let path = self.path(step, "safetensors");
            let Ok(bytes) = fs::read(&path) else { continue };
            if format!("{:016x}", hash(&bytes)) != state.tensors {
                continue;
            }
            let memory = self.unpack(&path, &bytes, model, optimiser, state.optimiser_steps)?;
            return Ok(Some((memory, state)));
        }
        Ok(None)
    }

    /// The newest step that is here, for messages.
    pub fn newest(&self) -> Option<u64> {
        self.steps().ok()?.last().copied()
    }

    /// Steps of the JSON files, ascending.
    fn steps(&self) -> Result<Vec<u64>> {
        let unreadable = |e| Error::io(&self.folder, e, "Is it readable for you?");
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
        optimiser: &Optimiser,
        steps: usize,
    ) -> Result<Memory> {
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
                Ok(model.place().tensor(numbers, shape))
            };
            values.push(tensor(GROUPS[0])?);
            if steps > 0 {
                let groups = &GROUPS[1..=optimiser.remembers()];
                averages.push(groups.iter().map(|g| tensor(g)).collect::<Result<_>>()?);
            }
        }
        model.set_values(values);
        Ok(Memory { steps, averages })
    }

    fn problem(&self, path: &Path, problem: impl std::fmt::Display) -> Error {
        Error::Content {
            path: path.to_path_buf(),
            problem: problem.to_string(),
        }
    }
}

/// Groups of tensors in a file.
const GROUPS: [&str; 3] = ["parameters", "first", "second"];

/// The file: f32 as f32, f64 as f64, so that nothing is rounded.
fn pack(model: &Model, memory: &Memory) -> Result<Vec<u8>> {
    let mut entries = vec![];
    for (i, p) in model.parameters().enumerate() {
        let averages = memory.averages.get(i).into_iter().flatten();
        for (group, tensor) in GROUPS.iter().zip(std::iter::once(p.value).chain(averages)) {
            let name = format!("{group}.{}", p.spec.name);
            let wide = model.place().is_f64();
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
    let fail = |e: safetensors::SafeTensorError| Error::Numerical(format!("checkpoint: {e}"));
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

impl State {
    /// The state after `step` steps.
    pub(super) fn new(settings: Value, streams: String) -> Self {
        State {
            format: FORMAT,
            settings,
            step: 0,
            optimiser_steps: 0,
            streams,
            next_batch: 0,
            sequences: 0,
            curriculum: None,
            history: History::default(),
            tensors: String::new(),
        }
    }
}
