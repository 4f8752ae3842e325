//! GPT-NeoX and Pythia: partly rotated heads, attention and MLP side by side, queries, keys and values interleaved.

use super::super::architecture::*;
use super::super::settings::Settings;
use super::super::weights::{Affine, Names, Source};
use super::Family;
use attnlab_core::error::Result;
use ndarray::Axis;

pub(super) const JSON: Family = Family {
    name: "gpt_neox",
    architecture,
    names: Names {
        tokens: "embed_in.weight",
        attention_norm: "layers.{}.input_layernorm",
        out: "layers.{}.attention.dense",
        mlp_norm: "layers.{}.post_attention_layernorm",
        up: "layers.{}.mlp.dense_h_to_4h",
        down: "layers.{}.mlp.dense_4h_to_h",
        last_norm: "final_layer_norm",
        output: "embed_out.weight",
        prefixes: &["gpt_neox.", ""],
        // Causal masks and frequencies, which follow from the settings.
        dropped: &[
            "layers.*.attention.bias",
            "layers.*.attention.masked_bias",
            "layers.*.attention.rotary_emb.inv_freq",
            "rotary_emb.inv_freq",
        ],
        ..Names::NONE
    },
    qkv,
};

fn architecture(s: &mut Settings) -> Result<TransformerArchitecture> {
    let sizes = super::json_sizes(s, 2048)?;
    let head_dim = super::head_dim(s, "num_attention_heads", sizes.width, sizes.heads)?;
    // Causal with either value.
    s.take("is_decoder");
    let bias = s.flag_or("attention_bias", true)?;
    let share = Some(("rotary_pct", 0.25));
    // GPTNeoXConfig stores rotary_pct and rotary_emb_base a second time under these names, and overwrites them on reading.
    for (copy, name, default) in
        [("partial_rotary_factor", "rotary_pct", 0.25), ("rope_theta", "rotary_emb_base", 10_000.0)]
    {
        let value = s.number_or(name, default)?;
        let same = s.number_or(copy, value)? == value;
        s.require(same, copy, &format!("must equal {name} = {value}, or be absent; transformers reads {name}"))?;
    }
    Ok(TransformerArchitecture {
        head_dim,
        hidden: s.whole("intermediate_size")?,
        epsilon: s.number_or("layer_norm_eps", 1e-5)?,
        positions: super::rotary::from_json(s, "rotary_emb_base", share, head_dim)?,
        parallel: s.flag_or("use_parallel_residual", true)?,
        mlp: super::nonlinearity(s, "hidden_act", MlpKind::Gelu)?,
        qkv_bias: bias,
        out_bias: bias,
        output: super::output(s, false)?,
        ..sizes
    })
}

/// Rows are stored by head: its query, its key, its value, then the next head.
fn qkv(source: &mut Source<'_>, a: &TransformerArchitecture, layer: usize) -> Result<Affine> {
    let stored =
        source.affine(&format!("layers.{layer}.attention.query_key_value"), 3 * a.width, a.width, a.qkv_bias)?;
    let p = a.head_dim;
    let rows: Vec<usize> = (0..3)
        .flat_map(|part| (0..a.heads).flat_map(move |head| (0..p).map(move |i| (3 * head + part) * p + i)))
        .collect();
    let bias = |b: Vec<f32>| rows.iter().map(|row| b[*row]).collect();
    Ok(Affine { weight: stored.weight.select(Axis(0), &rows), bias: stored.bias.map(bias) })
}
