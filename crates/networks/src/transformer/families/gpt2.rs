//! GPT-2: learned positions, LayerNorm before, GELU by tanh, maps stored (in, out).

use super::super::architecture::*;
use super::super::settings::Settings;
use super::super::weights::Names;
use super::{DECODER, Family};
use attnlab_core::error::Result;
use serde_json::json;

pub(super) const JSON: Family = Family {
    name: "gpt2",
    architecture,
    names: Names {
        tokens: "wte.weight",
        positions: "wpe.weight",
        attention_norm: "h.{}.ln_1",
        out: "h.{}.attn.c_proj",
        mlp_norm: "h.{}.ln_2",
        up: "h.{}.mlp.c_fc",
        down: "h.{}.mlp.c_proj",
        last_norm: "ln_f",
        output: "lm_head.weight",
        prefixes: &["transformer.", ""],
        transposed: true,
        // Causal masks.
        dropped: &["h.*.attn.bias", "h.*.attn.masked_bias"],
        ..Names::NONE
    },
    // Queries, keys and values are already one map in this order.
    qkv: |source, a, layer| source.affine(&format!("h.{layer}.attn.c_attn"), 3 * a.width, a.width, true),
};

fn architecture(s: &mut Settings) -> Result<TransformerArchitecture> {
    let width = s.whole("n_embd")?;
    let heads = s.whole("n_head")?;
    let mlp = super::nonlinearity(s, "activation_function", MlpKind::GeluTanh)?;
    s.only("scale_attn_weights", json!(true))?;
    s.only("scale_attn_by_inverse_layer_idx", json!(false))?;
    // The same numbers up to rounding.
    s.take("reorder_and_upcast_attn");
    // Left over from the first versions of transformers; GPT2Config has no use for them, and a decoder is always one.
    s.take("n_ctx");
    s.take("is_decoder");
    Ok(TransformerArchitecture {
        vocabulary: s.whole("vocab_size")?,
        context: s.whole_or("n_positions", 1024)?,
        layers: s.whole("n_layer")?,
        width,
        heads,
        kv_heads: heads,
        head_dim: super::head_dim(s, "n_head", width, heads)?,
        hidden: s.whole_or("n_inner", 4 * width)?,
        epsilon: s.number_or("layer_norm_epsilon", 1e-5)?,
        mlp,
        output: super::output(s, true)?,
        ..DECODER
    })
}

pub(super) const GGUF: Family = Family {
    name: "gpt2",
    architecture: from_gguf,
    names: Names { positions: "position_embd.weight", ..Names::GGUF },
    qkv: |source, a, layer| source.affine(&format!("blk.{layer}.attn_qkv"), 3 * a.width, a.width, true),
};

fn from_gguf(s: &mut Settings) -> Result<TransformerArchitecture> {
    let sizes = super::gguf_sizes(s, "gpt2")?;
    s.only("gpt2.attention.head_count_kv", json!(sizes.heads))?;
    Ok(TransformerArchitecture {
        head_dim: super::head_dim(s, "gpt2.attention.head_count", sizes.width, sizes.heads)?,
        epsilon: s.number_or("gpt2.attention.layer_norm_epsilon", 1e-5)?,
        mlp: MlpKind::GeluTanh,
        ..sizes
    })
}
