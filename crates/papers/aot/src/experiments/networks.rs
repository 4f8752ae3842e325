//! Rows of a training, measures by depth and their pictures, shared by the experiments that train networks.
//!
//! Does a trained network denoise? Theorem 1 says that a layer raises the SNR of tokens in *given* subspaces by the
//! factor 1 + ητ. A trained MSSA layer has subspaces of its own, the column spaces of its U_k. So layer by layer: each
//! token gets the subspace that holds most of it before the layer, and the SNR of the tokens in those subspaces is
//! compared before and after, with the labels kept. The same network before training says what chance alone gives.

use attnlab_core::linalg::qr_q;
use attnlab_core::stats::Estimate;
use attnlab_lab::experiment::draw::{RANGE, along, ends, extremes, lists};
use attnlab_lab::figure::{Axis, GREY, INK, Marker, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;
use attnlab_theory::measure::{coding_rate, labelled_snr, nearest_subspace, stable_rank, unit_tokens};
use attnlab_train::model::{AttentionForm, Input, Mlp, Model, ModelConfig, PRESETS, Recording, preset};
use attnlab_train::training::{TrainingHistory, TrainingPlan};
use ndarray::{Array2, Axis as Side, concatenate, s};

/// Networks by the beginning of their names, the longer of two first: legend, colour and stroke, which are the
/// same in every figure.
const LOOKS: [(&str, &str, usize, Stroke); 9] = [
    ("aot-mssa", "AoT-MSSA", 0, Stroke::Solid),
    ("aot-mhsa", "AoT-MHSA", 1, Stroke::Solid),
    ("aot-tied", "AoT, Eq. (4)", 2, Stroke::Solid),
    ("transformer", "Transformer (GPT-2)", 3, Stroke::Solid),
    ("gpt2", "GPT-2", 3, Stroke::Solid),
    ("hybrid", "Hybrid", 4, Stroke::Solid),
    ("full-mlp", "Full MLP", 5, Stroke::Solid),
    ("llama-aot", "Llama-AoT", 1, Stroke::Dashed),
    ("llama", "Llama", 0, Stroke::Dashed),
];

/// The name of a network in legends; presets such as `aot-mssa-l-base` keep theirs.
pub(super) fn label(model: &str) -> &str {
    LOOKS.iter().find(|(name, ..)| *name == model).map_or(model, |(_, label, ..)| label)
}

/// Colour and stroke of a network's curves; grey for one that no figure of ours shows.
pub(super) fn look(model: &str) -> (usize, Stroke) {
    let named = LOOKS.iter().find(|(name, ..)| model.starts_with(name));
    named.map_or((GREY, Stroke::Solid), |(_, _, colour, stroke)| (*colour, *stroke))
}

/// The rows of the papers whose networks take such inputs.
pub(super) fn rows_of_papers(takes: fn(&Input) -> bool) -> impl Iterator<Item = &'static str> {
    let fitting = move |name: &&str| preset(name).is_ok_and(|config| takes(&config.input));
    PRESETS.iter().map(|p| p.name).filter(fitting)
}

/// The schedule of a training in words, of sequences that are called `sequences`.
pub(super) fn schedule(plan: &TrainingPlan, sequences: &str) -> String {
    let TrainingPlan { steps, batch, rate, clip, .. } = plan;
    format!(
        "{:?} for {steps} steps of {batch} {sequences} (rate {} after {} steps of warm-up, cosine to {}, clip {clip})",
        plan.optimiser.kind, rate.peak, rate.warmup, rate.last,
    )
}

/// The series "steps", "loss" and "norm".
pub(super) fn history(history: &TrainingHistory, data: &mut Map<String, Value>) {
    let steps: Vec<f64> = history.steps.iter().map(|s| *s as f64).collect();
    for (name, values) in [("steps", &steps), ("loss", &history.losses), ("norm", &history.norms)] {
        data.insert(name.into(), store::series(values));
    }
}

/// The series "held_out_steps" and "held_out": losses before the first step and at those of the history.
pub(super) fn held_out(history: &TrainingHistory, mut losses: Vec<f64>, data: &mut Map<String, Value>) {
    let steps: Vec<f64> = std::iter::once(0.0).chain(history.steps.iter().map(|s| *s as f64)).collect();
    losses.extend(&history.held_out);
    data.insert("held_out_steps".into(), store::series(&steps));
    data.insert("held_out".into(), store::series(&losses));
}

/// "NAME", "NAME.low" and "NAME.high": an estimate with its interval.
pub(super) fn record_estimate(name: &str, estimate: &Estimate, data: &mut Map<String, Value>) {
    for (end, value) in [("", estimate.value), (".low", estimate.low), (".high", estimate.high)] {
        data.insert(format!("{name}{end}"), store::number(value));
    }
}

/// Bytes that a step of training holds at its peak, but for scores over a vocabulary.
pub(super) fn training_memory(config: &ModelConfig, sequences: usize, tokens: usize) -> u64 {
    // Kept for the derivatives: about 12 values per token and width (24 with an MLP), 5 per score.
    let per_token = if config.mlp == Mlp::None { 12 } else { 36 } * config.width;
    let activations = sequences * tokens * (per_token + 5 * config.heads * tokens) * config.layers;
    // Parameters, gradients, two averages, and a copy in work.
    4 * (activations + 5 * config.parameters()) as u64
}

/// "WHEN.stable_rank" and "WHEN.coding_rate" of the tokens, scaled to length 1, at depths 0 ..= L; "WHEN.snr_before"
/// and "WHEN.snr_after" of layers 1 ..= L where they have subspaces. `forward` runs the network over `count` sequences.
pub(super) fn record_depth(
    when: &str,
    model: &Model,
    count: usize,
    precision: f64,
    forward: &dyn Fn(&mut Recording) -> Result<()>,
    data: &mut Map<String, Value>,
) -> Result<()> {
    let mut recording = Recording::keeping(["embedding", ".output"]);
    forward(&mut recording)?;
    let tokens = by_depth(&recording, count)?;
    let unit: Vec<Array2<f64>> = tokens.iter().map(|z| unit_tokens(z.view())).collect();
    let mut put = |what: &str, values: Vec<f64>| {
        data.insert(format!("{when}.{what}"), store::series(&values));
    };
    put("stable_rank", unit.iter().map(|z| stable_rank(z.view())).collect::<Result<_>>()?);
    put("coding_rate", unit.iter().map(|z| coding_rate(z.view(), precision)).collect::<Result<_>>()?);
    if matches!(model.config().attention, AttentionForm::Mhsa) {
        return Ok(());
    }
    let snr = tokens.windows(2).enumerate().map(|(l, pair)| {
        let bases = subspaces(model, l)?;
        let labels = nearest_subspace(pair[0].view(), &bases);
        Ok((labelled_snr(pair[0].view(), &bases, &labels), labelled_snr(pair[1].view(), &bases, &labels)))
    });
    let (before, after) = snr.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    put("snr_before", before);
    put("snr_after", after);
    Ok(())
}

/// The tokens (width, all tokens) of all sequences side by side, at depths 0 ..= L.
fn by_depth(recording: &Recording, count: usize) -> Result<Vec<Array2<f64>>> {
    let joined = recording.activations().iter().map(|activation| {
        let each = (0..count).map(|b| activation.tokens(b)).collect::<Result<Vec<_>>>()?;
        let views: Vec<_> = each.iter().map(|z| z.view()).collect();
        // Sequences of one batch have tokens of one length.
        Ok(concatenate(Side(1), &views).unwrap_or_else(|_| each[0].clone()))
    });
    joined.collect()
}

/// Orthonormal bases (width, p) of the layer's subspaces.
fn subspaces(model: &Model, l: usize) -> Result<Vec<Array2<f64>>> {
    let config = model.config();
    let name = format!("blocks.{l}.attention.u");
    let values = model.values(&name)?;
    // Row by row: queries are zᵀU, so that head k's basis is columns kp .. (k + 1)p.
    let (shape, length) = ((config.width, config.width), (values.len(),));
    let u = Array2::from_shape_vec(shape, values)
        .map_err(|_| Error::shape(name, length, format!("{shape:?}, one column per coordinate")))?;
    let p = config.head_dim();
    (0..config.heads).map(|k| qr_q(u.slice(s![.., k * p..(k + 1) * p]))).collect()
}

/// 1 + ητ for a whole step, η = 1, as these networks take, and the least τ of AoT Eq. (29), 1/2; its
/// largest is below 1.
const LEAST_OF_THEOREM_1: f64 = 1.5;

/// Four panels of what [`record_depth`] wrote, of (network, rows of a cell); those that no network has are left out.
pub(super) fn depth_panels(cells: &[(&str, &[Row])]) -> Result<Vec<Panel>> {
    let panel = |title, y| Panel::new(title, Axis::whole("layer"), Axis::linear(y));
    let mut panels = [
        panel("SNR in the layer's own subspaces", "SNR before the layer"),
        panel("what a layer does to it", "SNR after / before").ruled(Rule::horizontal("no change", 1.0)),
        panel("stable rank", "stable rank of the tokens"),
        panel("coding rate", "coding rate (nats)"),
    ];
    for (model, cell) in cells {
        for (when, stroke) in [("trained", Stroke::Solid), ("untrained", Stroke::Dotted)] {
            let untrained = if when == "untrained" { ", untrained" } else { "" };
            let name = format!("{}{untrained}", label(model));
            let mut add = |panel: usize, first: i32, measures: &[Vec<f64>]| {
                let points = along((first..).map(f64::from), measures, extremes);
                panels[panel].series.push(by_layer(&name, (look(model).0, stroke), points));
            };
            let measured = |what: &str| lists(cell, &format!("{when}.{what}"));
            if cell[0].data.contains_key(&format!("{when}.snr_before")) {
                let (before, after) = (measured("snr_before")?, measured("snr_after")?);
                let gain = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a / b).collect();
                add(0, 1, &before);
                add(1, 1, &after.iter().zip(&before).map(gain).collect::<Vec<_>>());
            }
            add(2, 0, &measured("stable_rank")?);
            add(3, 0, &measured("coding_rate")?);
        }
    }
    let last = panels[1].points().map(|p| p.x).fold(0.0, f64::max);
    if last > 0.0 {
        panels[1].series.push(Series::across("Theorem 1, least factor", INK, [1.0, last], LEAST_OF_THEOREM_1));
    }
    // Space beside the first and the last layer, which would stand on the frame's edge.
    for panel in &mut panels {
        let (low, high) = ends(panel.points().map(|p| p.x));
        if high - low < FEW_LAYERS as f64 {
            panel.x.range = Some((low - 0.3, high + 0.3)).filter(|(l, _)| l.is_finite());
        }
    }
    Ok(panels.into_iter().filter(|p| !p.series.is_empty()).collect())
}

/// Largest number of points of a curve whose points are marked one by one.
const FEW_LAYERS: usize = 8;

/// A curve over layers: with a marker and a bar on each point if these are few, since the line between two of
/// them is no measurement, otherwise with a band.
fn by_layer(name: &str, (colour, stroke): (usize, Stroke), points: Vec<Point>) -> Series {
    let series = match (points.len() <= FEW_LAYERS, stroke) {
        (true, Stroke::Dotted) => Series::measured(name, colour, points).with_bars().marked(Marker::Open),
        (true, _) => Series::measured(name, colour, points).with_bars(),
        (false, _) => Series::fitted(name, colour, points),
    };
    series.drawn(stroke).with_interval(RANGE)
}

/// The caption of those panels.
pub(super) fn depth_caption(precision: f64) -> String {
    format!(
        "SNR as in Eq. (6), each token in the one of the layer's *K* learnt subspaces that holds most of it \
         before the layer; Theorem 1 would have every layer multiply it by 1 + *ητ*, between 1.5 and 2 for \
         *η* = 1 and its *τ* in (1/2, 1). Stable rank and coding rate (*ε* = {precision}) of tokens scaled to \
         length 1, before the first layer (0) and after each. Dotted: the same networks before training."
    )
}
