//! OPT: learned positions that begin at row 2, ReLU, the norm before (or after, in the smallest but one).

use super::super::architecture::*;
use super::super::settings::Settings;
use super::super::weights::{Affine, Names, Source};
use super::{Family, Format};
use attnlab_core::error::Result;
use serde_json::json;

/// Row of the first position; the two before it are left over from padding.
const OFFSET: usize = 2;

pub(super) const JSON: Family = Family {
    name: "opt",
    format: Format::Json,
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
    qkv,
};

fn architecture(s: &mut Settings) -> Result<TransformerArchitecture> {
    let width = s.whole("hidden_size")?;
    let heads = s.whole("num_attention_heads")?;
    // Causal with either value.
    s.take("is_decoder");
    // OPT-350M has narrower embeddings with two more maps.
    s.only("word_embed_proj_dim", json!(width))?;
    s.only("_remove_final_layer_norm", json!(false))?;
    s.only("layer_norm_elementwise_affine", json!(true))?;
    let before = s.flag_or("do_layer_norm_before", true)?;
    let bias = s.flag_or("enable_bias", true)?;
    Ok(TransformerArchitecture {
        family: "opt",
        vocabulary: s.whole("vocab_size")?,
        context: s.whole_or("max_position_embeddings", 2048)?,
        layers: s.whole("num_hidden_layers")?,
        width,
        heads,
        kv_heads: heads,
        head_dim: super::head_dim(s, "num_attention_heads", width, heads)?,
        hidden: s.whole("ffn_dim")?,
        norm: NormKind::Layer,
        epsilon: 1e-5,
        place: match before {
            true => NormPlace::Before,
            false => NormPlace::After,
        },
        embedding_norm: false,
        last_norm: before,
        positions: PositionEncoding::Learned { offset: OFFSET },
        segments: 0,
        parallel: false,
        mlp: super::nonlinearity(s, "activation_function", MlpKind::Relu)?,
        qkv_bias: bias,
        out_bias: bias,
        mlp_bias: bias,
        output: super::output(s, true)?,
        causal: true,
        attention_only_from: None,
        form: HeadForm::MHSA,
        norm_bias: true,
        sigma: super::SIGMA,
    })
}

fn qkv(source: &mut Source<'_>, a: &TransformerArchitecture, layer: usize) -> Result<Affine> {
    let names = ["q_proj", "k_proj", "v_proj"].map(|n| format!("layers.{{}}.self_attn.{n}"));
    source.three(a, layer, [&names[0], &names[1], &names[2]])
}
