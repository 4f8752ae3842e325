//! BERT and MiniLM: an encoder whose tokens see each other, the norm after, segments. Its result is hidden states;
//! the pooler and heads for other tasks are not read.

use super::super::architecture::*;
use super::super::settings::Settings;
use super::super::weights::Names;
use super::Family;
use attnlab_core::error::Result;
use serde_json::json;

pub(super) const JSON: Family = Family {
    name: "bert",
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
    qkv: |source, a, layer| source.three(a, layer, "encoder.layer.{}.attention.self", ["query", "key", "value"]),
};

fn architecture(s: &mut Settings) -> Result<TransformerArchitecture> {
    let sizes = super::json_sizes(s, 512)?;
    s.only("position_embedding_type", json!("absolute"))?;
    s.only("is_decoder", json!(false))?;
    // Heads for tokens are not read.
    s.take("tie_word_embeddings");
    Ok(TransformerArchitecture {
        head_dim: super::head_dim(s, "num_attention_heads", sizes.width, sizes.heads)?,
        hidden: s.whole("intermediate_size")?,
        epsilon: s.number_or("layer_norm_eps", 1e-12)?,
        place: NormPlace::After,
        embedding_norm: true,
        last_norm: false,
        segments: s.whole_or("type_vocab_size", 2)?,
        mlp: super::nonlinearity(s, "hidden_act", MlpKind::Gelu)?,
        output: OutputHead::Absent,
        causal: false,
        ..sizes
    })
}
