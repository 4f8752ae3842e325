//! Does a trained network denoise? Activations by depth.
//!
//! Theorem 1 says that a layer raises the SNR of tokens in *given* subspaces by the factor 1 + ητ. A
//! trained MSSA layer has subspaces of its own, the column spaces of its U_k. So layer by layer: each
//! token gets the subspace that holds most of it before the layer, and the SNR of the tokens in those
//! subspaces is compared before and after, with the labels kept. The same network before training says
//! what chance alone gives.

use super::Icl;
use crate::error::Result;
use crate::linalg::qr_q;
use crate::measure::{coding_rate, labelled_snr, nearest_subspace, stable_rank, unit_tokens};
use crate::model::{Attention, Model, Recording};
use crate::rng::Streams;
use crate::run::store;
use crate::sample::{Functions, Shift};
use crate::train::in_context::predictions;
use ndarray::{Array2, Axis, concatenate, s};
use serde_json::{Map, Value};

/// "WHEN.stable_rank" and "WHEN.coding_rate" of the tokens, scaled to length 1, at depths 0 ..= L;
/// "WHEN.snr_before" and "WHEN.snr_after" of layers 1 ..= L where they have subspaces.
pub fn record(
    settings: &Icl,
    when: &str,
    model: &Model,
    functions: Functions,
    streams: &Streams,
    data: &mut Map<String, Value>,
) -> Result<()> {
    let tokens = by_depth(settings, model, functions, streams)?;
    let unit: Vec<Array2<f64>> = tokens.iter().map(|z| unit_tokens(z.view())).collect();
    let mut put = |what: &str, values: Vec<f64>| {
        data.insert(format!("{when}.{what}"), store::series(&values));
    };
    let ranks = unit.iter().map(|z| stable_rank(z.view()));
    put("stable_rank", ranks.collect::<Result<_>>()?);
    let rates = unit
        .iter()
        .map(|z| coding_rate(z.view(), settings.evaluation.precision));
    put("coding_rate", rates.collect::<Result<_>>()?);
    if matches!(model.config().attention, Attention::Mhsa) {
        return Ok(());
    }
    let (mut before, mut after) = (vec![], vec![]);
    for (l, pair) in tokens.windows(2).enumerate() {
        let bases = subspaces(model, l)?;
        let labels = nearest_subspace(pair[0].view(), &bases);
        before.push(labelled_snr(pair[0].view(), &bases, &labels));
        after.push(labelled_snr(pair[1].view(), &bases, &labels));
    }
    put("snr_before", before);
    put("snr_after", after);
    Ok(())
}

/// The tokens (width, prompts · 2 points) of all prompts side by side, at depths 0 ..= L.
fn by_depth(
    settings: &Icl,
    model: &Model,
    functions: Functions,
    streams: &Streams,
) -> Result<Vec<Array2<f64>>> {
    let law = settings.law(functions, settings.points, Shift::None);
    let count = settings.evaluation.activations;
    let streams = streams.child("activations", 0);
    let draw = |i: u64| law.draw(&streams.child("prompt", i));
    let prompts: Vec<_> = (0..count as u64).map(draw).collect();
    let mut recording = Recording::of(["embedding", ".output"]);
    predictions(&model.frozen(), &prompts, &mut recording)?;
    let all = recording.activations().iter().map(|activation| {
        let each = (0..count).map(|b| activation.tokens(b));
        let each = each.collect::<Result<Vec<_>>>()?;
        let views: Vec<_> = each.iter().map(|z| z.view()).collect();
        // Prompts of one law have tokens of one length.
        Ok(concatenate(Axis(1), &views).unwrap_or_else(|_| each[0].clone()))
    });
    all.collect()
}

/// Orthonormal bases (width, p) of the layer's subspaces.
fn subspaces(model: &Model, l: usize) -> Result<Vec<Array2<f64>>> {
    let config = model.config();
    let values = model.values(&format!("blocks.{l}.attention.u"))?;
    // Row by row: queries are zᵀU, so that head k's basis is columns kp .. (k + 1)p.
    let shape = (config.width, config.width);
    let u = Array2::from_shape_vec(shape, values);
    let u = u.unwrap_or_else(|_| Array2::zeros(shape));
    let p = config.head_dim();
    let head = |k: usize| qr_q(u.slice(s![.., k * p..(k + 1) * p]));
    (0..config.heads).map(head).collect()
}
