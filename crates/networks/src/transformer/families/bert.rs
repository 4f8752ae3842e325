//! BERT and MiniLM: an encoder whose tokens see each other, the norm after, segments. Its result is hidden states;
//! the pooler and heads for other tasks are not read.

use super::super::architecture::*;
use super::super::settings::Settings;
use super::super::weights::{Affine, Names, Source};
use super::{Family, Format};
use attnlab_core::error::Result;
use serde_json::json;

pub(super) const JSON: Family = Family {
    name: "bert",
    format: Format::Json,
    architecture,
    names: Names {
        tokens: "embeddings.word_embeddings.weight",
        positions: "embeddings.position_embeddings.weight",
        segments: "embeddings.token_type_embeddings.weight",
        embedding_norm: "embeddings.LayerNorm",
        attention_norm: "encoder.layer.{}.attention.output.LayerNorm",
        out: "encoder.layer.{}.attention.output.dense",
        mlp_norm: "encoder.layer.{}.output.LayerNorm",
        up: "encoder.layer.{}.intermediate.dense",
        down: "encoder.layer.{}.output.dense",
        prefixes: &["bert.", ""],
        dropped: &["pooler.*", "cls.*", "classifier.*", "qa_outputs.*", "embeddings.position_ids"],
        ..Names::NONE
    },
    qkv,
};

fn architecture(s: &mut Settings) -> Result<TransformerArchitecture> {
    let width = s.whole("hidden_size")?;
    let heads = s.whole("num_attention_heads")?;
    s.only("position_embedding_type", json!("absolute"))?;
    s.only("is_decoder", json!(false))?;
    // Heads for tokens are not read.
    s.take("tie_word_embeddings");
    Ok(TransformerArchitecture {
        family: "bert",
        vocabulary: s.whole("vocab_size")?,
        context: s.whole_or("max_position_embeddings", 512)?,
        layers: s.whole("num_hidden_layers")?,
        width,
        heads,
        kv_heads: heads,
        head_dim: super::head_dim(s, "num_attention_heads", width, heads)?,
        hidden: s.whole("intermediate_size")?,
        norm: NormKind::Layer,
        epsilon: s.number_or("layer_norm_eps", 1e-12)?,
        place: NormPlace::After,
        embedding_norm: true,
        last_norm: false,
        positions: PositionEncoding::Learned { offset: 0 },
        segments: s.whole_or("type_vocab_size", 2)?,
        parallel: false,
        mlp: super::nonlinearity(s, "hidden_act", MlpKind::Gelu)?,
        qkv_bias: true,
        out_bias: true,
        mlp_bias: true,
        output: OutputHead::Absent,
        causal: false,
        attention_only_from: None,
        form: HeadForm::MHSA,
        norm_bias: true,
        sigma: super::SIGMA,
    })
}

fn qkv(source: &mut Source<'_>, a: &TransformerArchitecture, layer: usize) -> Result<Affine> {
    let names = ["query", "key", "value"].map(|n| format!("encoder.layer.{{}}.attention.self.{n}"));
    source.three(a, layer, [&names[0], &names[1], &names[2]])
}
