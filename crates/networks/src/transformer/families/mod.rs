//! Families of networks: how their settings and the names of their tensors are read. A further family is one file here
//! and one entry in [`JSON`] or [`GGUF`].

pub(crate) mod attention_only;
mod bert;
mod gpt2;
mod gpt_neox;
mod llama;
mod opt;
pub(crate) mod rotary;

use super::architecture::*;
use super::settings::{OWN_OUTPUT, Settings, TOKENS};
use super::weights::{Affine, Names, Source};
use attnlab_core::error::Result;

/// A family: its settings, the names of its tensors, and its way to queries, keys and values.
pub(crate) struct Family {
    /// Name in `model_type` of config.json, or in `general.architecture` of GGUF.
    pub(crate) name: &'static str,
    /// Reads the settings; the name of the family is put in by the caller.
    pub(crate) architecture: fn(&mut Settings) -> Result<TransformerArchitecture>,
    /// Names of its tensors.
    pub(crate) names: Names,
    /// Reads queries, keys and values of a block, in this order of rows.
    pub(crate) qkv: fn(&mut Source<'_>, &TransformerArchitecture, usize) -> Result<Affine>,
}

/// Families whose settings are in `config.json`.
pub(crate) const JSON: &[&Family] = &[&gpt2::JSON, &gpt_neox::JSON, &opt::JSON, &llama::JSON, &bert::JSON];

/// Families whose settings are the metadata of a GGUF file.
pub(crate) const GGUF: &[&Family] = &[&gpt2::GGUF, &llama::GGUF];

/// Standard deviation of the entries of matrices before training, as GPT-2, BERT, OPT, Llama and GPT-NeoX are initialised.
const SIGMA: f64 = 0.02;

/// Decoder whose sizes are to be given, and of which a family states what differs: LayerNorm before, learned positions,
/// biases in all maps, the table of tokens as output.
const DECODER: TransformerArchitecture = TransformerArchitecture {
    family: "",
    vocabulary: 0,
    context: 0,
    layers: 0,
    width: 0,
    heads: 0,
    kv_heads: 0,
    head_dim: 0,
    hidden: 0,
    norm: NormKind::Layer,
    epsilon: 1e-5,
    place: NormPlace::Before,
    embedding_norm: false,
    last_norm: true,
    positions: PositionEncoding::Learned { offset: 0 },
    segments: 0,
    parallel: false,
    mlp: MlpKind::GeluTanh,
    attention_only_from: None,
    form: HeadForm::MHSA,
    norm_bias: true,
    sigma: SIGMA,
    qkv_bias: true,
    out_bias: true,
    mlp_bias: true,
    output: OutputHead::Tied,
    causal: true,
};

/// Reads the sizes that config.json has under the same names in all families but GPT-2. The dimension of a head and the
/// width of the hidden layer remain to be read.
fn json_sizes(s: &mut Settings, default_context: usize) -> Result<TransformerArchitecture> {
    let width = s.whole("hidden_size")?;
    let heads = s.whole("num_attention_heads")?;
    Ok(TransformerArchitecture {
        vocabulary: s.whole("vocab_size")?,
        context: s.whole_or("max_position_embeddings", default_context)?,
        layers: s.whole("num_hidden_layers")?,
        width,
        heads,
        kv_heads: heads,
        ..DECODER
    })
}

/// Reads the sizes that GGUF files of every family have, `FAMILY.embedding_length` and so on, and the output. The
/// dimension of a head remains to be read.
fn gguf_sizes(s: &mut Settings, family: &str) -> Result<TransformerArchitecture> {
    let key = |name: &str| format!("{family}.{name}");
    let width = s.whole(&key("embedding_length"))?;
    let heads = s.whole(&key("attention.head_count"))?;
    let output = if s.flag_or(OWN_OUTPUT, false)? { OutputHead::Own } else { OutputHead::Tied };
    let vocabulary = key("vocab_size");
    let tokens = match s.optional_whole(TOKENS)? {
        Some(tokens) => tokens,
        None => s.whole(&vocabulary)?,
    };
    Ok(TransformerArchitecture {
        vocabulary: s.whole_or(&vocabulary, tokens)?,
        context: s.whole(&key("context_length"))?,
        layers: s.whole(&key("block_count"))?,
        width,
        heads,
        kv_heads: heads,
        hidden: s.whole(&key("feed_forward_length"))?,
        output,
        ..DECODER
    })
}

/// Computes the dimension of a head, width / heads; `name` is the setting of the latter.
fn head_dim(s: &Settings, name: &str, width: usize, heads: usize) -> Result<usize> {
    s.require(width.is_multiple_of(heads), name, &format!("must be a divisor of the width, {width}"))?;
    Ok(width / heads)
}

/// Reads `tie_word_embeddings`.
fn output(s: &mut Settings, default: bool) -> Result<OutputHead> {
    Ok(if s.flag_or("tie_word_embeddings", default)? { OutputHead::Tied } else { OutputHead::Own })
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
