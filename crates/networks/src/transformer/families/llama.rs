//! Llama and what is built like it (SmolLM2): rotary positions, RMSNorm before, SwiGLU, grouped queries.

use super::super::architecture::*;
use super::super::settings::Settings;
use super::super::weights::Names;
use super::Family;
use attnlab_core::error::Result;
use serde_json::json;

pub(super) const JSON: Family = Family {
    name: "llama",
    architecture,
    names: Names {
        tokens: "embed_tokens.weight",
        attention_norm: "layers.{}.input_layernorm",
        out: "layers.{}.self_attn.o_proj",
        mlp_norm: "layers.{}.post_attention_layernorm",
        up: "layers.{}.mlp.up_proj",
        gate: "layers.{}.mlp.gate_proj",
        down: "layers.{}.mlp.down_proj",
        last_norm: "norm",
        output: "lm_head.weight",
        prefixes: &["model.", ""],
        // Frequencies, which follow from the settings.
        dropped: &["layers.*.self_attn.rotary_emb.inv_freq", "rotary_emb.inv_freq"],
        ..Names::NONE
    },
    qkv: |source, a, layer| source.three(a, layer, "layers.{}.self_attn", ["q_proj", "k_proj", "v_proj"]),
};

fn architecture(s: &mut Settings) -> Result<TransformerArchitecture> {
    let sizes = super::json_sizes(s, 2048)?;
    // Causal with either value.
    s.take("is_decoder");
    s.only("hidden_act", json!("silu"))?;
    s.only("rope_interleaved", json!(false))?;
    let head_dim = match s.optional_whole("head_dim")? {
        Some(head_dim) => head_dim,
        None => super::head_dim(s, "num_attention_heads", sizes.width, sizes.heads)?,
    };
    let attention_bias = s.flag_or("attention_bias", false)?;
    Ok(TransformerArchitecture {
        kv_heads: s.whole_or("num_key_value_heads", sizes.heads)?,
        head_dim,
        hidden: s.whole("intermediate_size")?,
        norm: NormKind::Rms,
        epsilon: s.number_or("rms_norm_eps", 1e-6)?,
        positions: super::rotary::from_json(s, "rope_theta", None, head_dim)?,
        mlp: MlpKind::SwiGlu,
        qkv_bias: attention_bias,
        out_bias: attention_bias,
        mlp_bias: s.flag_or("mlp_bias", false)?,
        output: super::output(s, false)?,
        norm_bias: false,
        ..sizes
    })
}

pub(super) const GGUF: Family = Family {
    name: "llama",
    architecture: from_gguf,
    names: Names { rotary_factors: "rope_freqs.weight", gate: "blk.{}.ffn_gate", ..Names::GGUF },
    qkv: |source, a, layer| source.three(a, layer, "blk.{}", ["attn_q", "attn_k", "attn_v"]),
};

/// The converter reorders the rows of queries and keys, so that neighbours are turned and not halves.
fn from_gguf(s: &mut Settings) -> Result<TransformerArchitecture> {
    let sizes = super::gguf_sizes(s, "llama")?;
    let head_dim = match s.optional_whole("llama.attention.key_length")? {
        Some(head_dim) => head_dim,
        None => super::head_dim(s, "llama.attention.head_count", sizes.width, sizes.heads)?,
    };
    s.only("llama.attention.value_length", json!(head_dim))?;
    // llama.cpp refuses another number for this family.
    s.only("llama.rope.dimension_count", json!(head_dim))?;
    // No mixture of experts, as where the settings are absent.
    s.only("llama.expert_count", json!(0))?;
    s.only("llama.expert_used_count", json!(0))?;
    Ok(TransformerArchitecture {
        kv_heads: s.whole_or("llama.attention.head_count_kv", sizes.heads)?,
        head_dim,
        norm: NormKind::Rms,
        epsilon: s.number_or("llama.attention.layer_norm_rms_epsilon", 1e-5)?,
        positions: PositionEncoding::Rotary {
            turned: head_dim,
            base: s.number_or("llama.rope.freq_base", 10_000.0)?,
            pairs: RotaryPairs::Neighbours,
            scaling: gguf_scaling(s)?,
        },
        mlp: MlpKind::SwiGlu,
        qkv_bias: false,
        out_bias: false,
        mlp_bias: false,
        norm_bias: false,
        ..sizes
    })
}

/// Reads the scaling of the rotations as llama.cpp does: linear where a file names a factor and no type. That of Llama 3
/// is in the tensor `rope_freqs.weight`.
fn gguf_scaling(s: &mut Settings) -> Result<RotaryScaling> {
    let kind = s.text("llama.rope.scaling.type")?;
    // Older files have the factor under this name.
    let older = s.number_or("llama.rope.scale_linear", 1.0)?;
    let factor = s.number_or("llama.rope.scaling.factor", older)?;
    s.only("llama.rope.scaling.attn_factor", json!(1.0))?;
    // The first is read with other types of scaling only, the second by nobody.
    s.take("llama.rope.scaling.original_context_length");
    s.take("llama.rope.scaling.finetuned");
    match kind.as_deref() {
        Some("none") => Ok(RotaryScaling::None),
        None | Some("linear") if factor == 1.0 => Ok(RotaryScaling::None),
        None | Some("linear") => Ok(RotaryScaling::Linear { factor }),
        Some(_) => Err(s.refuse("llama.rope.scaling.type", "must be one of none, linear; others are not supported")),
    }
}
