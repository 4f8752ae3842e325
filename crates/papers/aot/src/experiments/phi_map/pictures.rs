//! The figures of `phi_map`, from its rows.

use super::{PHI, PhiMap};
use crate::experiments::law::half_curve;
use crate::quantities::*;
use crate::theory::{softmax, threshold};
use attnlab_core::error::{Error, Result};
use attnlab_core::stats::{Estimate, mean};
use attnlab_lab::experiment::plane::{Plane, finer};
use attnlab_lab::figure::{
    Axis, Cell, Contour, Figure, Heat, INK, Palette, Panel, Point, Scale, Series, Stroke, Width,
};
use attnlab_lab::run::Row;
use attnlab_lab::run::store::by_cell;

const LEVEL: f64 = 0.95;
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
    let cells = by_cell(rows);
    if cells.is_empty() {
        let problem = "no rows to draw; run the experiment first".into();
        let path = "rows of phi_map".into();
        return Err(Error::Content { path, problem });
    }
    let plane = Plane::arrange(&cells, DIM.name, DELTA.name)?;
    let draws = cells[0].len();
    Ok(vec![gains(settings, &plane, draws)?, predictions(settings, &plane, draws)?])
}

/// The geometric mean over draws of the gain of layer `l` (from 0), with its interval.
fn gain(rows: &[Row], phi: &str, l: usize) -> Result<Estimate> {
    let of = |row: &Row| -> Result<f64> {
        let gains = row.series(phi)?;
        Ok(gains.get(l).copied().unwrap_or(f64::NAN).ln())
    };
    let logs: Vec<f64> = rows.iter().map(of).collect::<Result<_>>()?;
    let e = mean(&logs, LEVEL)?;
    Ok(Estimate { value: e.value.exp(), low: e.low.exp(), high: e.high.exp(), ..e })
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

fn panel(title: String, heat: Heat, contours: Vec<Contour>) -> Panel {
    Panel {
        title,
        x: Axis::log("dimension *p*"),
        y: Axis::log("noise *δ*"),
        heat: Some(heat),
        contours,
        ..Panel::default()
    }
}

fn gains(settings: &PhiMap, plane: &Plane, draws: usize) -> Result<Figure> {
    let (x, y) = (finer(&plane.x, Scale::Log, FINE), finer(&plane.y, Scale::Log, FINE));
    let rate = 1.0 + settings.eta * settings.tau;
    let mut panels = vec![];
    let shown = if settings.layers > 1 { vec![1, settings.layers] } else { vec![1] };
    for layer in shown {
        for phi in PHI {
            let bar =
                Axis::log("SNR after / before").from_to(GAIN_ENDS.0, GAIN_ENDS.1).ticks_at(&[0.5, 0.7, 1.0, 1.4, 2.0]);
            // Each φ has its own range of gains.
            let levels: &[f64] = match phi {
                "hard-threshold" => &[0.2, 1.0, 10.0],
                _ => &[0.2, 0.5, 1.0, 1.2],
            };
            let mut heat = plane.heat(bar, |rows| {
                let e = gain(rows, phi, layer - 1)?;
                Ok(Cell { value: e.value, interval: Some((e.low, e.high)), hatched: e.covers(1.0) })
            })?;
            heat.palette = Palette::Diverging(1.0);
            heat.interval = INTERVAL.into();
            heat.hatching = "95 % interval holds 1: gain or loss undecided".into();
            let measured = heat.contour("measured", levels).named(|l| l.to_string());
            let (mut contours, mut series) = (vec![measured], vec![]);
            if phi == "thresholded-softmax" {
                let theta = rate.powi(layer as i32 - 1);
                let size = (settings.tokens, settings.clusters);
                let most = 1.3 * plane.x[plane.x.len() - 1];
                let curve = half_curve(size, settings.tau, theta, most).into_iter();
                let curve = curve.map(|(p, delta)| Point::at(p, delta)).collect();
                series.push(Series { stroke: Stroke::Dotted, ..Series::predicted(HALF, INK, curve) });
            } else if layer == 1 {
                let law = |p: f64, delta: f64| predicted(settings, phi, p, delta);
                let law = Contour::of_field("predicted (closed form)", &x, &y, levels, law);
                let law = law.drawn(Stroke::Dashed, CLOSED_FORM);
                contours.push(law.named(|l| l.to_string()));
            }
            panels.push(Panel { series, ..panel(format!("{}, layer {layer}", name(phi)), heat, contours) });
        }
    }
    Ok(Figure {
        name: "phi_map".into(),
        title: "What a layer does to the SNR under three *φ*".into(),
        caption: format!(
            "Factor by which layer 1 (above) and layer {} (below) multiplies the SNR (6), over *p* and *δ*; \
             *N* = {}, *K* = {}, *η* = {}, *τ* = {}: geometric mean over {draws} draws and the clusters. \
             Theorem 1 says {rate} for thresholded softmax; plain softmax and the hard threshold on raw \
             scores are what is nearest to it in experiments. Lines: equal gain, as labelled, solid as measured, dashed \
             by the closed forms of the first layer; shorter pieces than a fifth of the diagonal are left out. Dotted: half of the draws keep the pattern (30), by \
             the horizon law. Hatched: the 95 % Student interval of the mean holds 1.",
            settings.layers, settings.tokens, settings.clusters, settings.eta, settings.tau,
        ),
        width: Width::Page,
        columns: PHI.len(),
        panels,
    })
}

fn predictions(settings: &PhiMap, plane: &Plane, draws: usize) -> Result<Figure> {
    let mut panels = vec![];
    for phi in PHI {
        let bar = Axis::log("measured / predicted").ticks_at(&[0.8, 0.9, 1.0, 1.1, 1.25]);
        let mut heat = plane.heat(bar.from_to(RATIO_ENDS.0, RATIO_ENDS.1), |rows| {
            let e = gain(rows, phi, 0)?;
            let (p, delta) = (rows[0].parameter(DIM.name)?, rows[0].parameter(DELTA.name)?);
            let law = predicted(settings, phi, p, delta);
            Ok(Cell { value: e.value / law, interval: Some((e.low / law, e.high / law)), hatched: e.covers(law) })
        })?;
        heat.palette = Palette::Diverging(1.0);
        heat.interval = INTERVAL.into();
        heat.hatching = "95 % interval holds the prediction".into();
        panels.push(panel(name(phi), heat, vec![]));
    }
    Ok(Figure {
        name: "phi_map_prediction".into(),
        title: "Gain of the first layer, measured against predicted".into(),
        caption: format!(
            "Measured gain of the first layer over the predicted one: `aot.softmax_first_layer`, \
             1 + *ητ* of Theorem 1, `aot.threshold_first_layer`; *N* = {}, *K* = {}, *η* = {}, *τ* = {}, \
             {draws} draws. Hatched: the 95 % Student interval holds the prediction. The closed forms are \
             of leading order in *N* and *p*; that of softmax needs *δ*²*p* well below 2 log *N*, and Theorem 1 \
             the pattern (30).",
            settings.tokens, settings.clusters, settings.eta, settings.tau,
        ),
        width: Width::Page,
        columns: PHI.len(),
        panels,
    })
}
