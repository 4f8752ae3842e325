//! OPT: learned positions that begin at row 2, ReLU, the norm before (or after, in the smallest but one).

use super::super::architecture::*;
use super::super::settings::Settings;
use super::super::weights::Names;
use super::Family;
use attnlab_core::error::Result;
use serde_json::json;

/// Row of the first position; the two before it are left over from padding.
const OFFSET: usize = 2;

pub(super) const JSON: Family = Family {
    name: "opt",
    architecture,
    names: Names {
        tokens: "embed_tokens.weight",
        positions: "embed_positions.weight",
        attention_norm: "layers.{}.self_attn_layer_norm",
        out: "layers.{}.self_attn.out_proj",
        mlp_norm: "layers.{}.final_layer_norm",
        up: "layers.{}.fc1",
        down: "layers.{}.fc2",
        last_norm: "final_layer_norm",
        output: "lm_head.weight",
        prefixes: &["model.decoder.", "decoder.", ""],
        ..Names::NONE
    },
    qkv: |source, a, layer| source.three(a, layer, "layers.{}.self_attn", ["q_proj", "k_proj", "v_proj"]),
};

fn architecture(s: &mut Settings) -> Result<TransformerArchitecture> {
    let sizes = super::json_sizes(s, 2048)?;
    // Causal with either value.
    s.take("is_decoder");
    // OPT-350M has narrower embeddings with two more maps.
    s.only("word_embed_proj_dim", json!(sizes.width))?;
    s.only("_remove_final_layer_norm", json!(false))?;
    s.only("layer_norm_elementwise_affine", json!(true))?;
    let before = s.flag_or("do_layer_norm_before", true)?;
    let bias = s.flag_or("enable_bias", true)?;
    Ok(TransformerArchitecture {
        head_dim: super::head_dim(s, "num_attention_heads", sizes.width, sizes.heads)?,
        hidden: s.whole("ffn_dim")?,
        epsilon: 1e-5,
        place: if before { NormPlace::Before } else { NormPlace::After },
        last_norm: before,
        positions: PositionEncoding::Learned { offset: OFFSET },
        mlp: super::nonlinearity(s, "activation_function", MlpKind::Relu)?,
        qkv_bias: bias,
        out_bias: bias,
        mlp_bias: bias,
        output: super::output(s, true)?,
        ..sizes
    })
}
