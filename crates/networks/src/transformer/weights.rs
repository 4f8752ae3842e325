//! Numbers of a network, taken from a checkpoint by name and shape.

use super::architecture::{HeadMaps, MlpKind, OutputHead, PositionEncoding, TransformerArchitecture};
use super::stored::StoredNames;
use crate::Checkpoint;
use crate::names::fits;
use crate::tensors::{content, require_content};
use attnlab_core::error::Result;
use ndarray::{Array2, ArrayD, Axis, Ix2, concatenate};
use std::collections::BTreeSet;

/// A map x -> W x + b, W (out, in).
#[derive(Clone, Debug)]
pub(crate) struct Affine {
    pub(crate) weight: Array2<f32>,
    pub(crate) bias: Option<Vec<f32>>,
}

/// Gain and bias of a normalisation.
#[derive(Clone, Debug)]
pub(crate) struct NormWeights {
    pub(crate) gain: Vec<f32>,
    pub(crate) bias: Option<Vec<f32>>,
}

/// The numbers of a block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) attention_norm: NormWeights,
    /// Rows: queries of all heads, then keys, then values; where one map is all three, its own alone.
    pub(crate) qkv: Affine,
    pub(crate) out: Affine,
    /// None in a block of attention only.
    pub(crate) mlp: Option<MlpWeights>,
}

/// The numbers of an MLP.
#[derive(Clone, Debug)]
pub(crate) struct MlpWeights {
    pub(crate) norm: NormWeights,
    /// Map into the hidden layer; of SwiGLU the rows of the gate, then those of the other map.
    pub(crate) up: Affine,
    pub(crate) down: Affine,
}

/// The numbers of a network.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    /// (V, d).
    pub(crate) tokens: Array2<f32>,
    /// (context + offset, d).
    pub(crate) positions: Option<Array2<f32>>,
    /// (number of segments, d).
    pub(crate) segments: Option<Array2<f32>>,
    pub(crate) embedding_norm: Option<NormWeights>,
    /// Divisors of the rotary frequencies (r/2), of a scaling that the settings do not describe.
    pub(crate) rotary_factors: Option<Vec<f32>>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) last_norm: Option<NormWeights>,
    /// (V, d); None if it is the table of the embedding, or absent.
    pub(crate) output: Option<Array2<f32>>,
}

/// The map ηU back from heads whose map is Uᵀ.
pub(crate) fn back(shared: &Affine, eta: f64) -> Affine {
    Affine { weight: shared.weight.t().mapv(|u| (eta * f64::from(u)) as f32), bias: None }
}

/// Names of the tensors of a family; `{}` stands for the block.
pub(crate) struct Names {
    /// Table of tokens.
    pub(crate) tokens: &'static str,
    /// Table of positions.
    pub(crate) positions: &'static str,
    /// Table of segments.
    pub(crate) segments: &'static str,
    /// Norm of the embedding, without ".weight".
    pub(crate) embedding_norm: &'static str,
    /// Divisors of the rotary frequencies, which the checkpoint may have; none where it is empty.
    pub(crate) rotary_factors: &'static str,
    /// Norm of attention in a block.
    pub(crate) attention_norm: &'static str,
    /// Map back from the heads.
    pub(crate) out: &'static str,
    /// Norm of the MLP in a block.
    pub(crate) mlp_norm: &'static str,
    /// Map into the hidden layer.
    pub(crate) up: &'static str,
    /// Gate of SwiGLU.
    pub(crate) gate: &'static str,
    /// Map out of the hidden layer.
    pub(crate) down: &'static str,
    /// Last norm.
    pub(crate) last_norm: &'static str,
    /// Matrix of the output; its prefix is never that of the rest.
    pub(crate) output: &'static str,
    /// Prefixes of all names but the output's: the first under which the table of tokens is there.
    pub(crate) prefixes: &'static [&'static str],
    /// Flag: maps are stored (in, out), as GPT-2's Conv1D has them.
    pub(crate) transposed: bool,
    /// End of the names of matrices and gains: ".weight", or nothing; then vectors are stored as matrices of one row.
    pub(crate) suffix: &'static str,
    /// Patterns of stored tensors that are no parameters of the forward pass: buffers, heads for other tasks.
    pub(crate) dropped: &'static [&'static str],
}

impl Names {
    /// No names; matrices are stored (out, in) as NAME.weight.
    pub(crate) const NONE: Names = Names {
        tokens: "",
        positions: "",
        segments: "",
        embedding_norm: "",
        rotary_factors: "",
        attention_norm: "",
        out: "",
        mlp_norm: "",
        up: "",
        gate: "",
        down: "",
        last_norm: "",
        output: "",
        prefixes: &[""],
        transposed: false,
        suffix: ".weight",
        dropped: &[],
    };

    /// Names that GGUF files of every family have. The converter transposes what was stored (in, out).
    pub(crate) const GGUF: Names = Names {
        tokens: "token_embd.weight",
        attention_norm: "blk.{}.attn_norm",
        out: "blk.{}.attn_output",
        mlp_norm: "blk.{}.ffn_norm",
        up: "blk.{}.ffn_up",
        down: "blk.{}.ffn_down",
        last_norm: "output_norm",
        output: "output.weight",
        ..Names::NONE
    };
}

/// Tensors of a checkpoint, each checked against the shape that the settings announce.
pub(crate) struct Source<'a> {
    checkpoint: &'a Checkpoint,
    names: &'a Names,
    stored: StoredNames<'a>,
    prefix: &'static str,
    used: BTreeSet<String>,
}

impl<'a> Source<'a> {
    /// Lists the tensors of a checkpoint by the names of a family.
    ///
    /// # Errors
    /// Tensors of an adapter, of a parametrisation or of packed numbers; two tensors of one name.
    pub(crate) fn new(checkpoint: &'a Checkpoint, names: &'a Names) -> Result<Self> {
        let stored = StoredNames::new(checkpoint, names)?;
        let there = |prefix: &&&str| stored.get(&format!("{prefix}{}", names.tokens)).is_some();
        let prefix = names.prefixes.iter().find(there).copied();
        Ok(Source { checkpoint, names, prefix: prefix.unwrap_or_default(), stored, used: BTreeSet::new() })
    }

    /// Reads all numbers; `qkv` is the family's way to queries, keys and values of a block.
    pub(crate) fn weights(
        mut self,
        a: &TransformerArchitecture,
        qkv: fn(&mut Source<'_>, &TransformerArchitecture, usize) -> Result<Affine>,
    ) -> Result<Weights> {
        let n = self.names;
        let d = a.width;
        let tokens = self.matrix(n.tokens, a.vocabulary, d)?;
        let (positions, rotary_factors) = match a.positions {
            PositionEncoding::Learned { offset } => (Some(self.matrix(n.positions, a.context + offset, d)?), None),
            PositionEncoding::Rotary { turned, .. } => (None, self.rotary_factors(turned / 2)?),
            PositionEncoding::Absent => (None, None),
        };
        let segments = (a.segments > 0).then(|| self.matrix(n.segments, a.segments, d)).transpose()?;
        let embedding_norm = a.embedding_norm.then(|| self.norm(n.embedding_norm, a)).transpose()?;
        let mut blocks = vec![];
        for layer in 0..a.layers {
            let name = |pattern: &str| pattern.replace("{}", &layer.to_string());
            let qkv = qkv(&mut self, a, layer)?;
            let out = match a.form.maps {
                HeadMaps::Tied { eta } => back(&qkv, eta),
                HeadMaps::Separate | HeadMaps::Shared => {
                    self.affine(&name(n.out), a.width, a.heads * a.head_dim, a.out_bias)?
                }
            };
            blocks.push(Block {
                attention_norm: self.norm(&name(n.attention_norm), a)?,
                qkv,
                out,
                mlp: a.has_mlp(layer).then(|| self.mlp(a, name)).transpose()?,
            });
        }
        let last_norm = a.last_norm.then(|| self.norm(n.last_norm, a)).transpose()?;
        // Some writers store a tied table twice; then both must be the same.
        if a.output == OutputHead::Tied && self.has(n.output) {
            let same = self.unprefixed(n.output, a.vocabulary, d)? == tokens;
            let table = format!("{}{}", self.prefix, n.tokens);
            let problem = format!("{}: must equal {table}; the settings say that they are tied", n.output);
            require_content(same, self.checkpoint.path(), problem)?;
        }
        let output = match a.output {
            // Base models (`AutoModel`) are stored without the head that their settings announce.
            OutputHead::Own if !self.has(n.output) => None,
            OutputHead::Own => Some(self.unprefixed(n.output, a.vocabulary, d)?),
            OutputHead::Tied | OutputHead::Absent => None,
        };
        self.finish()?;
        Ok(Weights { tokens, positions, segments, embedding_norm, rotary_factors, blocks, last_norm, output })
    }

    /// Reads the divisors of the rotary frequencies, if the checkpoint has them.
    fn rotary_factors(&mut self, pairs: usize) -> Result<Option<Vec<f32>>> {
        let name = self.names.rotary_factors;
        if !self.has(name) {
            return Ok(None);
        }
        let factors: Vec<f32> = self.tensor(name, &[pairs])?.into_iter().collect();
        if let Some(i) = factors.iter().position(|f| *f <= 0.0) {
            let problem = format!("{name}: entry {i} must be > 0; it is {}", factors[i]);
            return Err(content(self.checkpoint.path(), problem));
        }
        Ok(Some(factors))
    }

    /// Reads the MLP of a block, whose tensors `name` makes of patterns.
    fn mlp(&mut self, a: &TransformerArchitecture, name: impl Fn(&str) -> String) -> Result<MlpWeights> {
        let n = self.names;
        let mut up = self.affine(&name(n.up), a.hidden, a.width, a.mlp_bias)?;
        if a.mlp == MlpKind::SwiGlu {
            let gate = self.affine(&name(n.gate), a.hidden, a.width, a.mlp_bias)?;
            up = self.stacked(&[gate, up])?;
        }
        Ok(MlpWeights {
            norm: self.norm(&name(n.mlp_norm), a)?,
            up,
            down: self.affine(&name(n.down), a.width, a.hidden, a.mlp_bias)?,
        })
    }

    /// Reads queries, keys and values from three maps MODULE.NAME; `{}` in the module stands for the block.
    pub(crate) fn three(
        &mut self,
        a: &TransformerArchitecture,
        layer: usize,
        module: &str,
        names: [&str; 3],
    ) -> Result<Affine> {
        let module = module.replace("{}", &layer.to_string());
        let mut parts = vec![];
        for (name, heads) in names.into_iter().zip([a.heads, a.kv_heads, a.kv_heads]) {
            parts.push(self.affine(&format!("{module}.{name}"), heads * a.head_dim, a.width, a.qkv_bias)?);
        }
        self.stacked(&parts)
    }

    /// Reads a map (out, in) with its bias: NAME.weight and NAME.bias.
    pub(crate) fn affine(&mut self, name: &str, out: usize, inner: usize, bias: bool) -> Result<Affine> {
        let weight = format!("{name}{}", self.names.suffix);
        let weight = match self.names.transposed {
            true => self.matrix(&weight, inner, out)?.reversed_axes(),
            false => self.matrix(&weight, out, inner)?,
        };
        Ok(Affine { weight, bias: bias.then(|| self.vector(&format!("{name}.bias"), out)).transpose()? })
    }

    /// Stacks the rows of maps with the same input.
    fn stacked(&self, parts: &[Affine]) -> Result<Affine> {
        let bad = |e: ndarray::ShapeError| content(self.checkpoint.path(), e.to_string());
        let weights: Vec<_> = parts.iter().map(|p| p.weight.view()).collect();
        let biases: Option<Vec<_>> = parts.iter().map(|p| p.bias.as_deref()).collect();
        Ok(Affine { weight: concatenate(Axis(0), &weights).map_err(bad)?, bias: biases.map(|biases| biases.concat()) })
    }

    fn norm(&mut self, name: &str, a: &TransformerArchitecture) -> Result<NormWeights> {
        let gain = self.vector(&format!("{name}{}", self.names.suffix), a.width)?;
        Ok(NormWeights { gain, bias: a.norm_bias.then(|| self.vector(&format!("{name}.bias"), a.width)).transpose()? })
    }

    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Array2<f32>> {
        self.unprefixed(&format!("{}{name}", self.prefix), rows, columns)
    }

    fn unprefixed(&mut self, name: &str, rows: usize, columns: usize) -> Result<Array2<f32>> {
        let array = self.tensor(name, &[rows, columns])?;
        let bad = |e: ndarray::ShapeError| content(self.checkpoint.path(), e.to_string());
        array.into_dimensionality::<Ix2>().map_err(bad)
    }

    fn vector(&mut self, name: &str, length: usize) -> Result<Vec<f32>> {
        let shape = if self.names.suffix.is_empty() { vec![1, length] } else { vec![length] };
        Ok(self.tensor(&format!("{}{name}", self.prefix), &shape)?.into_iter().collect())
    }

    fn has(&self, name: &str) -> bool {
        self.stored.get(name).is_some()
    }

    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<ArrayD<f32>> {
        let path = self.checkpoint.path();
        let Some(stored) = self.stored.get(name) else {
            let advice = |(stored, wrapper): (&str, &str)| {
                format!("; {stored} is, in a wrapper that is not known. Take {wrapper} off the names of all tensors")
            };
            let wrapped = self.stored.wrapped(name).map(advice).unwrap_or_default();
            return Err(content(path, format!("tensor {name}: must be there, with shape {shape:?}{wrapped}")));
        };
        let stored_shape = self.checkpoint.shape(stored)?;
        let problem = format!("{stored}: must have the shape {shape:?}; it is {stored_shape:?}");
        require_content(stored_shape == shape, path, problem)?;
        self.used.insert(name.to_string());
        self.checkpoint.values(stored)
    }

    /// Refuses tensors that were not read and are not known to be without effect.
    fn finish(self) -> Result<()> {
        for (name, stored) in self.stored.iter() {
            let inner = name.strip_prefix(self.prefix).unwrap_or(name);
            let mut dropped = self.names.dropped.iter().filter(|p| fits(p, inner) || fits(p, name));
            if !self.used.contains(name) && dropped.next().is_none() {
                let why = "no part of this family reads it, so the computation would be another";
                return Err(content(self.checkpoint.path(), format!("{stored}: must be absent; {why}")));
            }
        }
        Ok(())
    }
}
