//! The figures of `phi_map`, from its rows.

use super::{PHI, PhiMap};
use crate::experiments::law::half_line;
use crate::quantities::*;
use crate::theory::{softmax, threshold};
use attnlab_core::stats::{Estimate, mean};
use attnlab_lab::experiment::draw::{LEVEL, cells};
use attnlab_lab::experiment::plane::{Plane, finer};
use attnlab_lab::figure::{Axis, Cell, Contour, Heat, INK, Panel, Scale, Series, Stroke};
use attnlab_lab::prelude::*;

const INTERVAL: &str = "95 % interval of the geometric mean (Student)";
/// The ends of the colours of a gain, equally far from 1.
const GAIN_ENDS: (f64, f64) = (0.5, 2.0);
/// The same of measured over predicted.
const RATIO_ENDS: (f64, f64) = (0.8, 1.25);
/// Points per axis of closed forms over a map.
const FINE: usize = 32;
/// Palette colour of closed forms over a diverging map: green, which is none of its colours.
const CLOSED_FORM: usize = 2;
const HALF: &str = "half of the draws keep the pattern (30), by the horizon law";

pub fn figures(settings: &PhiMap, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells("phi_map", rows)?;
    let plane = Plane::arrange(&cells, DIM, DELTA)?;
    let draws = cells[0].len();
    Ok(vec![gains(settings, &plane, draws)?, predictions(settings, &plane, draws)?])
}

/// The geometric mean over draws of the gain of layer `l` (from 0), with its interval.
fn gain(rows: &[Row], phi: &str, l: usize) -> Result<Estimate> {
    let log = |row: &Row| Ok(row.series(phi)?.get(l).copied().unwrap_or(f64::NAN).ln());
    let logs: Vec<f64> = rows.iter().map(log).collect::<Result<_>>()?;
    Ok(mean(&logs, LEVEL)?.map(f64::exp))
}

/// The first layer's gain by the closed forms; NaN where none applies.
fn predicted(settings: &PhiMap, phi: &str, p: f64, delta: f64) -> f64 {
    let (n, k, p) = (settings.tokens, settings.clusters, p.round() as usize);
    match phi {
        "softmax" => softmax::first_layer(n, k, p, delta, settings.eta),
        "hard-threshold" => threshold::first_layer([n, k, p], delta, settings.eta, settings.tau).unwrap_or(f64::NAN),
        _ => 1.0 + settings.eta * settings.tau,
    }
}

fn name(phi: &str) -> String {
    phi.replace('-', " ")
}

fn panel(title: String, heat: Heat) -> Panel {
    Panel::new(title, Axis::log("dimension *p*"), Axis::log("noise *δ*")).coloured(heat)
}

fn gains(settings: &PhiMap, plane: &Plane, draws: usize) -> Result<Figure> {
    let (x, y) = (finer(&plane.x, Scale::Log, FINE), finer(&plane.y, Scale::Log, FINE));
    let PhiMap { layers, tokens, clusters, eta, tau, .. } = settings;
    let rate = 1.0 + eta * tau;
    let mut panels = vec![];
    let shown = if *layers > 1 { vec![1, *layers] } else { vec![1] };
    for layer in shown {
        for phi in PHI {
            let bar =
                Axis::log("SNR after / before").from_to(GAIN_ENDS.0, GAIN_ENDS.1).ticks_at(&[0.5, 0.7, 1.0, 1.4, 2.0]);
            // Each φ has its own range of gains.
            let levels: &[f64] = match phi {
                "hard-threshold" => &[0.2, 1.0, 10.0],
                _ => &[0.2, 0.5, 1.0, 1.2],
            };
            let heat = plane.heat(bar, |rows| {
                let e = gain(rows, phi, layer - 1)?;
                Ok(Cell::of(e).hatched_if(e.covers(1.0)))
            })?;
            let heat = heat.parted_at(1.0).explained(INTERVAL, "95 % interval holds 1: gain or loss undecided");
            let measured = heat.contour("measured", levels).named(|l| l.to_string());
            let mut panel = panel(format!("{}, layer {layer}", name(phi)), heat).contoured(measured);
            if phi == "thresholded-softmax" {
                let points = half_line((*tokens, *clusters), *tau, rate.powi(layer as i32 - 1), plane);
                panel = panel.with(Series::predicted(HALF, INK, points).drawn(Stroke::Dotted));
            } else if layer == 1 {
                let law = |p: f64, delta: f64| predicted(settings, phi, p, delta);
                let law = Contour::of_field("predicted (closed form)", &x, &y, levels, law);
                panel = panel.contoured(law.drawn(Stroke::Dashed, CLOSED_FORM).named(|l| l.to_string()));
            }
            panels.push(panel);
        }
    }
    Ok(Figure::page("phi_map", "What a layer does to the SNR under three *φ*", PHI.len(), panels).captioned(format!(
        "Factor by which layer 1 (above) and layer {layers} (below) multiplies the SNR (6), over *p* and *δ*; *N* = \
         {tokens}, *K* = {clusters}, *η* = {eta}, *τ* = {tau}: geometric mean over {draws} draws and the clusters. \
         Theorem 1 says {rate} for thresholded softmax; plain softmax and the hard threshold on raw scores are what \
         is nearest to it in experiments. Lines: equal gain, as labelled, solid as measured, dashed by the closed \
         forms of the first layer; shorter pieces than a fifth of the diagonal are left out. Dotted: half of the \
         draws keep the pattern (30), by the horizon law. Hatched: the 95 % Student interval of the mean holds 1."
    )))
}

fn predictions(settings: &PhiMap, plane: &Plane, draws: usize) -> Result<Figure> {
    let panels = PHI.map(|phi| {
        let bar = Axis::log("measured / predicted").ticks_at(&[0.8, 0.9, 1.0, 1.1, 1.25]);
        let heat = plane.heat(bar.from_to(RATIO_ENDS.0, RATIO_ENDS.1), |rows| {
            let e = gain(rows, phi, 0)?;
            let law = predicted(settings, phi, rows[0].parameter(DIM.name)?, rows[0].parameter(DELTA.name)?);
            Ok(Cell::of(e.map(|gain| gain / law)).hatched_if(e.covers(law)))
        })?;
        Ok(panel(name(phi), heat.parted_at(1.0).explained(INTERVAL, "95 % interval holds the prediction")))
    });
    let panels = panels.into_iter().collect::<Result<_>>()?;
    let PhiMap { tokens, clusters, eta, tau, .. } = settings;
    let title = "Gain of the first layer, measured against predicted";
    Ok(Figure::page("phi_map_prediction", title, PHI.len(), panels).captioned(format!(
        "Measured gain of the first layer over the predicted one: `aot.softmax_first_layer`, 1 + *ητ* of Theorem 1, \
         `aot.threshold_first_layer`; *N* = {tokens}, *K* = {clusters}, *η* = {eta}, *τ* = {tau}, {draws} draws. \
         Hatched: the 95 % Student interval holds the prediction. The closed forms are of leading order in *N* and \
         *p*; that of softmax needs *δ*²*p* well below 2 log *N*, and Theorem 1 the pattern (30)."
    )))
}
