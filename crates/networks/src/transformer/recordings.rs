//! Choice of what a forward pass records, and the records.

use super::architecture::{MlpKind, OutputHead, TransformerArchitecture};
use super::attention::TILE;
use attnlab_core::error::{Error, Result, require};
use attnlab_lab::run::memory;
use ndarray::Array2;
use std::collections::BTreeSet;

/// Quantities that a forward pass of N tokens keeps. Tokens are columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recordings {
    names: BTreeSet<&'static str>,
    layers: Option<BTreeSet<usize>>,
}

impl Recordings {
    /// Names that [`Recordings::named`] knows:
    /// - `residual`: the residual stream (d, N) after the embedding, after every block, and after the last norm;
    /// - `inputs`: the input of attention (d, N), which is normalised where the norm comes before;
    /// - `scores`: keyᵀquery/√p per head (N, N), −∞ where masked; column j belongs to the query of token j;
    /// - `weights`: softmax of the scores' columns, per head (N, N);
    /// - `outputs`: values times weights, per head (p, N);
    /// - `hidden`: the MLP's hidden layer after its nonlinearity (h, N);
    /// - `logits`: scores of tokens (V, N).
    pub const NAMES: [&'static str; 7] = ["residual", "inputs", "scores", "weights", "outputs", "hidden", "logits"];

    /// Returns the choice of nothing.
    pub fn none() -> Self {
        Recordings::default()
    }

    /// Returns the choice of everything, in all layers.
    pub fn all() -> Self {
        Recordings { names: Recordings::NAMES.into_iter().collect(), layers: None }
    }

    /// Returns a choice by name, in all layers.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a name that is not in [`Recordings::NAMES`].
    pub fn named(names: &[impl AsRef<str>]) -> Result<Self> {
        let mut chosen = Recordings::none();
        for name in names {
            let name = name.as_ref();
            let known = Recordings::NAMES.into_iter().find(|known| *known == name);
            chosen.names.insert(known.ok_or_else(|| Error::unknown("recording", name, Recordings::NAMES))?);
        }
        Ok(chosen)
    }

    /// Restricts the choice to some blocks, counted from 0. The embedding, the last norm and the logits stay.
    pub fn in_layers(mut self, layers: impl IntoIterator<Item = usize>) -> Self {
        self.layers = Some(layers.into_iter().collect());
        self
    }

    /// Returns `true` if a quantity is recorded somewhere.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns `true` if a quantity is recorded in a block.
    pub fn has_in(&self, name: &str, layer: usize) -> bool {
        self.has(name) && self.layers.as_ref().is_none_or(|l| l.contains(&layer))
    }

    /// Computes the memory (bytes) of the records of N tokens.
    pub fn bytes(&self, a: &TransformerArchitecture, tokens: usize) -> u64 {
        let chosen = self.layers.as_ref().map(|chosen| chosen.range(..a.layers).count());
        self.bytes_of(a, tokens, chosen.unwrap_or(a.layers))
    }

    /// Computes the memory (bytes) of the records of N tokens, those of `layers` blocks among them.
    fn bytes_of(&self, a: &TransformerArchitecture, tokens: usize, layers: usize) -> u64 {
        let per_layer = self.names.iter().map(|name| numbers_in_layer(name, a, tokens));
        let per_layer = per_layer.fold(0_u64, u64::saturating_add);
        let mut numbers = memory::product(&[per_layer, layers as u64]);
        if self.has("residual") {
            numbers = numbers.saturating_add(memory::product(&[2, a.width as u64, tokens as u64]));
        }
        if self.has("logits") {
            numbers = numbers.saturating_add(memory::product(&[a.vocabulary as u64, tokens as u64]));
        }
        numbers.saturating_mul(4)
    }

    /// Refuses records, and a pass, that the memory cannot hold. With `one_by_one` a block's records are gone before
    /// those of the next.
    pub(super) fn ensure(&self, a: &TransformerArchitecture, tokens: usize, one_by_one: bool) -> Result<()> {
        let n = tokens as u64;
        let maps = if a.mlp == MlpKind::SwiGlu { 3 } else { 1 };
        let columns = 3 * a.width + 4 * a.heads * a.head_dim + maps * a.hidden;
        let tiles = memory::product(&[rayon::current_num_threads() as u64, TILE as u64, n]);
        let pass = memory::product(&[columns as u64, n]).saturating_add(tiles);
        let records = if one_by_one { self.bytes_of(a, tokens, 1) } else { self.bytes(a, tokens) };
        let needed = records.saturating_add(pass.saturating_mul(4));
        memory::ensure(&format!("a forward pass of {tokens} tokens with its recordings"), needed)?;
        let without = self.has("logits") && a.output == OutputHead::Absent;
        require(!without, "recordings", "logits", "must be absent; the network has no language-model head")?;
        let Some(last) = self.layers.as_ref().and_then(BTreeSet::last) else { return Ok(()) };
        require(*last < a.layers, "layer", last, format!("must be less than the number of blocks, {}", a.layers))
    }
}

/// Numbers that a quantity takes in a block.
fn numbers_in_layer(name: &str, a: &TransformerArchitecture, tokens: usize) -> u64 {
    let (n, heads) = (tokens as u64, a.heads as u64);
    match name {
        "residual" | "inputs" => memory::product(&[a.width as u64, n]),
        "scores" | "weights" => memory::product(&[heads, n, n]),
        "outputs" => memory::product(&[heads, a.head_dim as u64, n]),
        "hidden" => memory::product(&[a.hidden as u64, n]),
        _ => 0,
    }
}

/// Records of a forward pass of N tokens; None and empty where nothing was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Residual stream (d, N) before the first block.
    pub embedding: Option<Array2<f32>>,
    /// Blocks of which something was recorded, in order.
    pub layers: Vec<RecordedLayer>,
    /// Residual stream (d, N) after the last norm; recorded with `residual`.
    pub last: Option<Array2<f32>>,
    /// Scores of tokens (V, N): column j is for the token after token j.
    pub logits: Option<Array2<f32>>,
}

/// Records of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedLayer {
    /// Number of the block, from 0.
    pub layer: usize,
    /// Residual stream (d, N) after the block.
    pub residual: Option<Array2<f32>>,
    /// Input of attention (d, N).
    pub inputs: Option<Array2<f32>>,
    /// keyᵀquery/√p per head (N, N): row i is the key of token i, column j the query of token j; −∞ where masked.
    pub scores: Vec<Array2<f32>>,
    /// Weights per head (N, N): column j sums to 1 and holds what token j takes of every token.
    pub weights: Vec<Array2<f32>>,
    /// Outputs per head (p, N), before the map back to the residual stream.
    pub outputs: Vec<Array2<f32>>,
    /// Hidden layer of the MLP (h, N), after its nonlinearity.
    pub hidden: Option<Array2<f32>>,
}
