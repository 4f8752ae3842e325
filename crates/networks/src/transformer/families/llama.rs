//! Llama and what is built like it (SmolLM2): rotary positions, RMSNorm before, SwiGLU, grouped queries.

use super::super::architecture::*;
use super::super::settings::Settings;
use super::super::weights::{Affine, Names, Source};
use super::{Family, Format};
use attnlab_core::error::Result;
use serde_json::json;

pub(super) const JSON: Family = Family {
    name: "llama",
    format: Format::Json,
    architecture,
    names: Names {
        tokens: "embed_tokens.weight",
        positions: "",
        segments: "",
        embedding_norm: "",
        attention_norm: "layers.{}.input_layernorm",
        out: "layers.{}.self_attn.o_proj",
        mlp_norm: "layers.{}.post_attention_layernorm",
        up: "layers.{}.mlp.up_proj",
        gate: "layers.{}.mlp.gate_proj",
        down: "layers.{}.mlp.down_proj",
        last_norm: "norm",
        output: "lm_head.weight",
        prefixes: &["model.", ""],
        transposed: false,
        // Frequencies, which follow from the settings.
        dropped: &[
            "layers.*.self_attn.rotary_emb.inv_freq",
            "rotary_emb.inv_freq",
        ],
    },
    qkv,
};

fn architecture(s: &mut Settings) -> Result<TransformerArchitecture> {
    let width = s.whole("hidden_size")?;
    let heads = s.whole("num_attention_heads")?;
    s.only("hidden_act", json!("silu"))?;
    s.only("is_encoder_decoder", json!(false))?;
    s.only("rope_interleaved", json!(false))?;
    let head_dim = match s.take("head_dim") {
        Some(_) => s.whole("head_dim")?,
        None => super::head_dim(s, "num_attention_heads", width, heads)?,
    };
    let attention_bias = s.flag_or("attention_bias", false)?;
    Ok(TransformerArchitecture {
        family: "llama",
        vocabulary: s.whole("vocab_size")?,
        context: s.whole_or("max_position_embeddings", 2048)?,
        layers: s.whole("num_hidden_layers")?,
        width,
        heads,
        kv_heads: s.whole_or("num_key_value_heads", heads)?,
        head_dim,
        hidden: s.whole("intermediate_size")?,
        norm: NormKind::Rms,
        epsilon: s.number_or("rms_norm_eps", 1e-6)?,
        place: NormPlace::Before,
        embedding_norm: false,
        last_norm: true,
        positions: super::rotary::from_json(s, "rope_theta", None, head_dim)?,
        segments: 0,
        parallel: false,
        mlp: MlpKind::SwiGlu,
        qkv_bias: attention_bias,
        out_bias: attention_bias,
        mlp_bias: s.flag_or("mlp_bias", false)?,
        output: super::output(s, false)?,
        causal: true,
    })
}

fn qkv(source: &mut Source<'_>, a: &TransformerArchitecture, layer: usize) -> Result<Affine> {
    let names = ["q_proj", "k_proj", "v_proj"].map(|n| format!("layers.{{}}.self_attn.{n}"));
    source.three(a, layer, [&names[0], &names[1], &names[2]])
}
