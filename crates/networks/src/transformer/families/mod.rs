//! Families of networks: how their settings and the names of their tensors are read. A further family is one file here
//! and one line in [`FAMILIES`].

pub(crate) mod attention_only;
mod bert;
mod gpt2;
mod gpt_neox;
mod llama;
mod opt;
pub(crate) mod rotary;

use super::architecture::{MlpKind, OutputHead, TransformerArchitecture};
use super::settings::{OWN_OUTPUT, Settings, TOKENS};
use super::weights::{Affine, Names, Source};
use attnlab_core::error::Result;

/// A family: its settings, the names of its tensors, and its way to queries, keys and values.
pub(crate) struct Family {
    /// Name in `model_type` of config.json, or in `general.architecture` of GGUF.
    pub(crate) name: &'static str,
    /// Format of the settings.
    pub(crate) format: Format,
    /// Reads the settings.
    pub(crate) architecture: fn(&mut Settings) -> Result<TransformerArchitecture>,
    /// Names of its tensors.
    pub(crate) names: Names,
    /// Reads queries, keys and values of a block, in this order of rows.
    pub(crate) qkv: fn(&mut Source<'_>, &TransformerArchitecture, usize) -> Result<Affine>,
}

/// Format of the settings of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// `config.json`.
    Json,
    /// Metadata of a GGUF file.
    Gguf,
    /// Settings in a checkpoint of a training in this laboratory.
    Training,
}

impl Family {
    /// Returns the beginning of the names of its settings: GGUF keeps those of the vocabulary and words of the writer
    /// in the same place.
    pub(crate) fn prefix(&self) -> String {
        match self.format {
            Format::Json | Format::Training => String::new(),
            Format::Gguf => format!("{}.", self.name),
        }
    }
}

/// All families.
pub(crate) const FAMILIES: &[&Family] =
    &[&gpt2::JSON, &gpt2::GGUF, &gpt_neox::JSON, &opt::JSON, &llama::JSON, &llama::GGUF, &bert::JSON];

/// Standard deviation of the entries of matrices before training, as GPT-2, BERT, OPT, Llama and GPT-NeoX are initialised.
const SIGMA: f64 = 0.02;

/// Computes the dimension of a head, width / heads.
fn head_dim(s: &Settings, name: &str, width: usize, heads: usize) -> Result<usize> {
    match width.is_multiple_of(heads) {
        true => Ok(width / heads),
        false => Err(s.refuse(name, &format!("must be a divisor of the width, {width}"))),
    }
}

/// Reads `tie_word_embeddings`.
fn output(s: &mut Settings, default: bool) -> Result<OutputHead> {
    Ok(match s.flag_or("tie_word_embeddings", default)? {
        true => OutputHead::Tied,
        false => OutputHead::Own,
    })
}

/// Reads the nonlinearity of an MLP without gate.
fn nonlinearity(s: &mut Settings, name: &str, default: MlpKind) -> Result<MlpKind> {
    let choices = [
        ("gelu", MlpKind::Gelu),
        ("gelu_new", MlpKind::GeluTanh),
        ("gelu_pytorch_tanh", MlpKind::GeluTanh),
        ("gelu_fast", MlpKind::GeluTanh),
        ("relu", MlpKind::Relu),
    ];
    s.choice(name, default, &choices)
}

/// Reads the output and the number of tokens of a GGUF file.
fn gguf_tokens(s: &mut Settings, name: &str) -> Result<(OutputHead, usize)> {
    let output = match s.flag_or(OWN_OUTPUT, false)? {
        true => OutputHead::Own,
        false => OutputHead::Tied,
    };
    let tokens = match s.take(TOKENS) {
        Some(_) => s.whole(TOKENS)?,
        None => s.whole(name)?,
    };
    Ok((output, s.whole_or(name, tokens)?))
}
