//! Language networks that this laboratory trains: attention only with one map for queries, keys and values (MSSA) or with
//! one each, hybrids with an MLP in the first blocks, and GPT-2 and Llama at its sizes.

use super::super::architecture::*;
use super::super::settings::Settings;
use super::super::weights::{Affine, Names, Source};
use super::Family;
use attnlab_core::error::Result;
use serde_json::json;

pub(crate) const TRAINING: Family = Family {
    name: "attnlab",
    architecture,
    names: Names {
        tokens: "tokens",
        positions: "positions",
        attention_norm: "blocks.{}.attention_norm",
        out: "blocks.{}.attention.out",
        mlp_norm: "blocks.{}.mlp_norm",
        up: "blocks.{}.mlp.in",
        gate: "blocks.{}.mlp.gate",
        down: "blocks.{}.mlp.out",
        last_norm: "final_norm",
        prefixes: &["parameters."],
        transposed: true,
        suffix: "",
        ..Names::NONE
    },
    qkv,
};

fn architecture(s: &mut Settings) -> Result<TransformerArchitecture> {
    let width = s.whole("width")?;
    let heads = s.whole("heads")?;
    let layers = s.whole("layers")?;
    let head_dim = super::head_dim(s, "heads", width, heads)?;
    let bias = flag(s, "bias")?;
    // Laws of initial values.
    s.take("first_positions");
    let mut input = part(s, "input")?;
    input.only("input.of", json!("tokens"))?;
    let vocabulary = input.whole("input.vocabulary")?;
    input.finish("")?;
    let mut output = part(s, "output")?;
    output.only("output.of", json!("tied-tokens"))?;
    output.finish("")?;
    let (norm, norm_bias) = match s.text("norm")?.as_deref() {
        Some("layer") => (NormKind::Layer, bias),
        Some("rms") => (NormKind::Rms, false),
        _ => return Err(s.refuse("norm", "must be one of layer, rms")),
    };
    let form = form(&mut part(s, "attention")?)?;
    let (mlp, hidden) = mlp(&mut part(s, "mlp")?)?;
    let positions = match s.text("positions")?.as_deref() {
        Some("none") => PositionEncoding::Absent,
        Some("learned") => PositionEncoding::Learned { offset: 0 },
        Some("rotary") => PositionEncoding::Rotary {
            turned: head_dim,
            base: 10_000.0,
            pairs: RotaryPairs::Halves,
            scaling: RotaryScaling::None,
        },
        _ => return Err(s.refuse("positions", "must be one of none, learned, rotary")),
    };
    // 0 in a network of attention only.
    let blocks = s.take("mlp_blocks").and_then(|blocks| blocks.as_u64()).filter(|blocks| *blocks <= layers as u64);
    let blocks = blocks.ok_or_else(|| s.refuse("mlp_blocks", "must be a whole number, at most layers"))?;
    let with_mlp = if mlp.is_some() { blocks as usize } else { 0 };
    Ok(TransformerArchitecture {
        vocabulary,
        context: s.whole("context")?,
        layers,
        width,
        heads,
        kv_heads: heads,
        head_dim,
        hidden,
        norm,
        epsilon: 1e-5,
        positions,
        mlp: mlp.unwrap_or(MlpKind::GeluTanh),
        qkv_bias: bias && form.maps == HeadMaps::Separate,
        out_bias: bias && !matches!(form.maps, HeadMaps::Tied { .. }),
        mlp_bias: bias && mlp == Some(MlpKind::GeluTanh),
        output: OutputHead::Tied,
        causal: flag(s, "causal")?,
        attention_only_from: (with_mlp < layers).then_some(with_mlp),
        form,
        norm_bias,
        sigma: s.number_or("sigma", super::SIGMA)?,
        ..super::DECODER
    })
}

/// Settings of a part, which must be there.
fn part(s: &mut Settings, name: &str) -> Result<Settings> {
    s.nested(name)?.ok_or_else(|| s.refuse(name, "must be there, an object"))
}

/// The settings, refused where they lack one: its default would be a guess at the computation.
fn there<'a>(s: &'a mut Settings, name: &str) -> Result<&'a mut Settings> {
    match s.take(name) {
        Some(_) => Ok(s),
        None => Err(s.refuse(name, "must be there")),
    }
}

fn flag(s: &mut Settings, name: &str) -> Result<bool> {
    there(s, name)?.flag_or(name, false)
}

fn form(s: &mut Settings) -> Result<HeadForm> {
    let maps = match s.text("attention.form")?.as_deref() {
        Some("mhsa") => return Ok(HeadForm::MHSA),
        Some("mssa") => HeadMaps::Shared,
        Some("mssa-tied") => HeadMaps::Tied { eta: there(s, "attention.eta")?.number_or("attention.eta", 1.0)? },
        _ => return Err(s.refuse("attention.form", "must be one of mssa, mssa-tied, mhsa")),
    };
    Ok(HeadForm { maps, unit_queries: flag(s, "attention.normalise_queries")?, scaled: flag(s, "attention.scaled")? })
}

/// Kind and width of the MLP; None without one.
fn mlp(s: &mut Settings) -> Result<(Option<MlpKind>, usize)> {
    let kind = match s.text("mlp.form")?.as_deref() {
        Some("none") => return Ok((None, 0)),
        Some("gelu") => MlpKind::GeluTanh,
        Some("swi-glu") => MlpKind::SwiGlu,
        _ => return Err(s.refuse("mlp.form", "must be one of none, gelu, swi-glu")),
    };
    Ok((Some(kind), s.whole("mlp.hidden")?))
}

fn qkv(source: &mut Source<'_>, a: &TransformerArchitecture, layer: usize) -> Result<Affine> {
    let (name, rows) = match a.form.maps {
        HeadMaps::Separate => ("qkv", 3 * a.width),
        // One map stands for queries, keys and values.
        HeadMaps::Shared | HeadMaps::Tied { .. } => ("u", a.heads * a.head_dim),
    };
    source.affine(&format!("blocks.{layer}.attention.{name}"), rows, a.width, a.qkv_bias)
}
