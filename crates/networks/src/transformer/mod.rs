//! Trained networks of attention and MLP blocks, read from local files and run in f32 with records of their parts.
//!
//! A network is a [`TransformerArchitecture`] with numbers. The families GPT-2, GPT-NeoX (Pythia), OPT, Llama (SmolLM2)
//! and BERT (MiniLM) are read from `config.json` with safetensors, Llama and GPT-2 from GGUF files too. Settings and
//! tensors that the reader does not know are refused by name, because they may change the computation.
//!
//! Tokens are columns: the residual stream is (d, N), and column j of a head's scores and weights (N, N) belongs to the
//! query of token j.
//!
//! ```
//! use attnlab_networks::transformer::{Recordings, Transformer};
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/llama");
//! let network = Transformer::open(folder.as_ref())?;
//! let pass = network.forward(&[1, 5, 3], &Recordings::named(&["weights", "residual"])?)?;
//! let weights = &pass.layers[0].weights[0];
//! assert_eq!(weights[[2, 1]], 0.0, "token 1 does not see token 2");
//! assert!((weights.column(2).sum() - 1.0).abs() < 1e-6);
//! assert_eq!(pass.layers[1].residual.as_ref().map(|z| z.dim()), Some((network.architecture().width, 3)));
//! # Ok::<(), attnlab_core::Error>(())
//! ```

mod architecture;
mod attention;
mod cost;
mod families;
mod forward;
#[cfg(test)]
mod mutants;
mod neutral;
mod parts;
mod predict;
mod recordings;
mod settings;
mod stored;
mod untrained;
mod weights;

pub use architecture::{
    HeadForm, HeadMaps, MlpKind, NormKind, NormPlace, OutputHead, PositionEncoding, RotaryPairs, RotaryScaling,
    TransformerArchitecture,
};
pub use cost::ForwardCost;
pub use forward::TokenInput;
pub use predict::{Prefix, log_loss};
pub use recordings::{Recorded, RecordedLayer, Recordings};

use crate::Checkpoint;
use crate::checkpoint::entries;
use crate::foreign;
use crate::gguf::{Gguf, remove_later_parts};
use crate::tensors::content;
use crate::training;
use attnlab_core::error::{Error, Result, require};
use attnlab_core::input;
use attnlab_lab::run::memory;
use families::Family;
use families::attention_only::TRAINING;
use ndarray::{Array2, ArrayView2};
use settings::Settings;
use std::path::{Path, PathBuf};
use stored::StoredNames;
use weights::{Source, Weights};

/// A network with its numbers in f32.
#[derive(Clone, Debug)]
pub struct Transformer {
    path: PathBuf,
    architecture: TransformerArchitecture,
    weights: Weights,
}

/// Matrices of a head, as views of those of its block. p is the dimension of the head; x is an input of attention.
#[derive(Clone, Copy, Debug)]
pub struct HeadMatrices<'a> {
    /// W_Q (p, d): queries are W_Q x, plus a bias in some families, then rotated in some.
    pub query: ArrayView2<'a, f32>,
    /// W_K (p, d), shared by the heads of a group.
    pub key: ArrayView2<'a, f32>,
    /// W_V (p, d), shared by the heads of a group.
    pub value: ArrayView2<'a, f32>,
    /// W_O (d, p): the head adds W_O · output to the residual stream.
    pub output: ArrayView2<'a, f32>,
}

impl Transformer {
    /// Opens a folder with `config.json` and safetensors, a GGUF file (the first part of a split one), a folder with one
    /// GGUF file, or the checkpoints of a language network that `attnlab train` trained, of which the newest is taken.
    /// All numbers are read into memory as f32. A file without the matrix of the output has [`OutputHead::Absent`] and
    /// gives no logits.
    ///
    /// # Errors
    /// A missing or malformed file; an unknown family; a setting or a tensor that is unknown, missing or of another
    /// shape than announced, by name; a network that the memory cannot hold.
    pub fn open(path: &Path) -> Result<Self> {
        let (from, family, mut architecture) = described(path)?;
        let checkpoint = Checkpoint::open(&from)?;
        memory::ensure(&format!("reading {}", path.display()), architecture.parameters().saturating_mul(4))?;
        let weights = Source::new(&checkpoint, &family.names)?.weights(&architecture, family.qkv)?;
        if architecture.output == OutputHead::Own && weights.output.is_none() {
            architecture.output = OutputHead::Absent;
        }
        Ok(Transformer { path: path.to_path_buf(), architecture, weights })
    }

    /// Returns the path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lists the changes of the names under which a network stores its tensors, one sentence each: wrappers such as
    /// `_orig_mod.` that are taken off, and old names such as `LayerNorm.gamma`. None of its numbers is read.
    ///
    /// # Errors
    /// Those of [`Transformer::open`] that concern settings and names.
    pub fn renamings(path: &Path) -> Result<Vec<String>> {
        let (from, family, _) = described(path)?;
        let checkpoint = Checkpoint::open(&from)?;
        Ok(StoredNames::new(&checkpoint, &family.names)?.renamings)
    }

    /// Opens the tokenizer that lies with the network.
    ///
    /// # Errors
    /// As [`Tokenizer::open`](crate::Tokenizer::open).
    #[cfg(all(feature = "tokenizers", not(target_family = "wasm")))]
    pub fn tokenizer(&self) -> Result<crate::Tokenizer> {
        crate::Tokenizer::open(&self.path)
    }

    /// Returns sizes and parts.
    pub fn architecture(&self) -> &TransformerArchitecture {
        &self.architecture
    }

    /// Returns the matrices of a head of a block, both counted from 0.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a block or a head that is not there.
    pub fn head_matrices(&self, layer: usize, head: usize) -> Result<HeadMatrices<'_>> {
        let a = &self.architecture;
        let Some(block) = self.weights.blocks.get(layer) else {
            let allowed = format!("must be less than the number of blocks, {}", a.layers);
            return Err(Error::invalid("layer", layer, allowed));
        };
        require(head < a.heads, "head", head, format!("must be less than the number of heads, {}", a.heads))?;
        let p = a.head_dim;
        let group = head / (a.heads / a.kv_heads);
        let rows = |first: usize| block.qkv.weight.slice(ndarray::s![first * p..(first + 1) * p, ..]);
        let [keys, values] = match a.form.maps {
            HeadMaps::Separate => [a.heads, a.heads + a.kv_heads],
            HeadMaps::Shared | HeadMaps::Tied { .. } => [0, 0],
        };
        let columns = head * p..(head + 1) * p;
        Ok(HeadMatrices {
            query: rows(head),
            key: rows(keys + group),
            value: rows(values + group),
            output: block.out.weight.slice(ndarray::s![.., columns]),
        })
    }

    /// Computes what a head reads of the residual stream, (p, d): W_V times the linear part of the norm before
    /// attention, which is its gain and, in LayerNorm, the subtraction of the token's mean. Where the norm comes after
    /// attention it is W_V.
    ///
    /// # Errors
    /// As [`Transformer::head_matrices`].
    pub fn value_map(&self, layer: usize, head: usize) -> Result<Array2<f32>> {
        let mut map = self.head_matrices(layer, head)?.value.to_owned();
        if self.architecture.place == NormPlace::After {
            return Ok(map);
        }
        let norm = &self.weights.blocks[layer].attention_norm;
        for mut row in map.rows_mut() {
            for (x, gain) in row.iter_mut().zip(&norm.gain) {
                *x *= gain;
            }
            if self.architecture.norm == NormKind::Layer {
                row -= row.mean().unwrap_or(0.0);
            }
        }
        Ok(map)
    }
}

impl TransformerArchitecture {
    /// Reads the architecture of a network and none of its numbers.
    ///
    /// # Errors
    /// Those of [`Transformer::open`] that concern settings.
    pub fn of_network(path: &Path) -> Result<Self> {
        Ok(described(path)?.2)
    }
}

/// Reads the settings of a network: the file or folder of its tensors, its family and its architecture.
fn described(path: &Path) -> Result<(PathBuf, &'static Family, TransformerArchitecture)> {
    let (from, mut settings, family, prefix) = if let Some(file) = gguf_at(path)? {
        let mut settings = Settings::from_gguf(&Gguf::open(&file)?);
        let family = family(&mut settings, "general.architecture", families::GGUF)?;
        // The settings of the vocabulary and words of the writer are in the same place.
        (file, settings, family, format!("{}.", family.name))
    } else if let Some(checkpoint) = training::newest(path)? {
        let settings = Settings::new(&checkpoint.state, checkpoint.configuration()?);
        (path.to_path_buf(), settings, &TRAINING, String::new())
    } else {
        let config = path.join("config.json");
        if !input::is_file("config.json", &config)
            && let Some(problem) = foreign::refusal_of_folder(path)
        {
            return Err(content(path, problem));
        }
        let mut settings = Settings::open(&config)?;
        let family = family(&mut settings, "model_type", families::JSON)?;
        (path.to_path_buf(), settings, family, String::new())
    };
    let architecture = TransformerArchitecture { family: family.name, ..(family.architecture)(&mut settings)? };
    architecture.validate().map_err(|e| content(&settings.path, e.to_string()))?;
    settings.finish(&prefix)?;
    Ok((from, family, architecture))
}

/// Finds the family that the settings name.
fn family(settings: &mut Settings, key: &str, families: &[&'static Family]) -> Result<&'static Family> {
    let name = settings.text(key)?.unwrap_or_default();
    families.iter().find(|f| f.name == name).copied().ok_or_else(|| {
        let names: Vec<&str> = families.iter().map(|f| f.name).collect();
        settings.refuse(key, &format!("must be one of {}", names.join(", ")))
    })
}

/// The refusal of a file that is no GGUF file.
fn of_file(path: &Path) -> String {
    let folder = path.parent().unwrap_or(Path::new(""));
    let beside = || {
        let known = folder.join("config.json").is_file();
        known.then(|| format!("must be a GGUF file or a folder. Give the folder of this file, {}", folder.display()))
    };
    let known = foreign::adapter(folder).or_else(|| foreign::refusal(path)).or_else(beside);
    known.unwrap_or_else(|| "must be a GGUF file, or a folder with config.json and safetensors".into())
}

/// Finds the GGUF file that a path means: itself, or the only one in a folder without config.json or safetensors.
pub(crate) fn gguf_at(path: &Path) -> Result<Option<PathBuf>> {
    let is_gguf = |path: &Path| path.extension().is_some_and(|e| e == "gguf");
    if !path.is_dir() {
        return match is_gguf(path) {
            true => Ok(Some(path.to_path_buf())),
            false if path.exists() => Err(content(path, of_file(path))),
            false => Err(content(path, "must be a GGUF file, or a folder with config.json and safetensors")),
        };
    }
    let mut files = entries(path)?;
    let safetensors = files.iter().any(|file| file.extension().is_some_and(|e| e == "safetensors"));
    if input::is_file("config.json", &path.join("config.json")) && safetensors {
        return Ok(None);
    }
    files.retain(|file| is_gguf(file));
    remove_later_parts(&mut files);
    match &files[..] {
        [] => Ok(None),
        [file] => Ok(Some(file.clone())),
        [first, second, ..] => {
            let (first, second) = (first.display(), second.display());
            Err(content(path, format!("must hold one GGUF file; it has {first} and {second}. Give one by name")))
        }
    }
}
