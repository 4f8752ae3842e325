//! The figures of `snr_per_layer`, from its rows.

use super::{SnrPerLayer, THEOREM};
use crate::experiments::law::law_of;
use crate::quantities::*;
use attnlab_lab::experiment::draw::{along, cells, tenths, with_word};
use attnlab_lab::figure::{Axis, GREY, INK, Marker, Panel, Point, Series};
use attnlab_lab::prelude::*;

const BAND: &str = "10-90 % of draws and clusters";
const LAYER: &str = "layer *l*";
const RELATIVE: &str = "SNR / SNR at layer 0";

pub fn figures(settings: &SnrPerLayer, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells("snr_per_layer", rows)?;
    let (noise, printed) = (with_word(&cells, GROUP, "noise"), with_word(&cells, GROUP, "figure4"));
    let noisy = (!noise.is_empty()).then(|| by_noise(settings, &noise));
    let several = noise.iter().find(|cell| phis(&cell[0]).len() > 1).map(|cell| by_phi(settings, cell));
    let printed = (!printed.is_empty()).then(|| figure4(settings, &printed));
    noisy.into_iter().chain(several).chain(printed).collect()
}

/// The φ of a cell, the theorem's first.
fn phis(row: &Row) -> Vec<String> {
    let list = row.parameters.get(PHI.name).and_then(|v| v.as_array());
    list.into_iter().flatten().filter_map(|v| v.as_str().map(str::to_string)).collect()
}

/// Median and 10-90 % band of the SNR of every draw and cluster at each layer, each divided by its own first value if
/// `relative`.
fn spread(cell: &[Row], phi: &str, relative: bool) -> Result<Vec<Point>> {
    let mut curves = vec![];
    for row in cell {
        for k in 1..=row.parameter(CLUSTERS.name)? as usize {
            let mut curve = row.series(&format!("{phi}.{k}"))?;
            let first = curve.first().copied().unwrap_or(f64::NAN);
            if relative {
                curve.iter_mut().for_each(|snr| *snr /= first);
            }
            curves.push(curve);
        }
    }
    Ok(along((0..).map(f64::from), &curves, tenths))
}

/// A curve for every φ of a cell.
fn by_each_phi(panel: Panel, cell: &[Row], relative: bool) -> Result<Panel> {
    panel.curves(phis(&cell[0]), |colour, phi| {
        Ok(Series::measured(phi_name(&phi), colour, spread(cell, &phi, relative)?).with_interval(BAND))
    })
}

/// The theorem's line from the measured median at layer 0.
fn line(settings: &SnrPerLayer, from: f64) -> Vec<Point> {
    let rate = 1.0 + settings.eta * settings.tau;
    (0..=settings.layers).map(|l| Point::at(l as f64, from * rate.powi(l as i32))).collect()
}

const LINE: &str = "line of Theorem 1, (1 + *ητ*)^{*l*} SNR_{0}";

/// The last layer that the horizon law leaves a cluster on the line in half of the draws, as a point
/// on it. The law is of the first column that breaks in any of K clusters, each with the same share
/// of Λ: one of them is whole with probability exp(-Λ/K), which is 1/2 where exp(-Λ) = 2^-K.
fn predicted_end(settings: &SnrPerLayer, row: &Row, line: &[Point]) -> Result<Option<Point>> {
    let clusters = row.parameter(CLUSTERS.name)?;
    let last = law_of(row, settings.tau)?.exact_updates(settings.eta, 1.0 - 0.5_f64.powi(clusters as i32))?;
    Ok(line.get(last as usize).copied())
}

fn by_noise(settings: &SnrPerLayer, cells: &[&[Row]]) -> Result<Figure> {
    let unit = super::noise_unit(settings.tokens, settings.dim);
    let panel = |title, y, relative| {
        let mut panel = Panel::new(title, Axis::whole(LAYER), y);
        let mut ends = vec![];
        for (colour, cell) in cells.iter().enumerate() {
            let points = spread(cell, THEOREM, relative)?;
            let predicted = line(settings, points[0].y);
            ends.extend(predicted_end(settings, &cell[0], &predicted)?);
            if !relative || colour == 0 {
                panel = panel.with(Series::predicted(LINE, GREY, predicted));
            }
            let label = format!("*δ* = {} √(log *N* / *p*)", fraction(cell[0].parameter(DELTA.name)? / unit));
            panel = panel.with(Series::measured(label, colour, points).with_interval(BAND));
        }
        Ok(panel.with(Series::marks("predicted last layer on the line (horizon law)", INK, Marker::Ring, ends)))
    };
    let panels = [
        panel("logarithmic", Axis::log("SNR"), false),
        panel("linear, from a common start", Axis::linear(RELATIVE), true),
    ];
    let panels = panels.into_iter().collect::<Result<_>>()?;
    let SnrPerLayer { tokens, clusters, dim, eta, tau, .. } = settings;
    Ok(Figure::page("snr_per_layer", "SNR per layer under the *φ* of Theorem 1", 2, panels).captioned(format!(
        "SNR (6) of the clusters at each layer of (3) with thresholded softmax, *N* = {tokens}, *K* = {clusters}, *p* \
         = {dim}, *η* = {eta}, *τ* = {tau}: median and 10-90 % over {} draws and the {clusters} clusters. Dashed: the \
         line of Theorem 1 from the measured median at layer 0. Rings: the last layer that the horizon law leaves a \
         cluster on the line in half of the draws. (11) allows *δ* up to 1/8 √(log *N* / *p*).",
        cells[0].len(),
    )))
}

fn by_phi(settings: &SnrPerLayer, cell: &[Row]) -> Result<Figure> {
    let panel = |title, y| {
        let theorem = Series::predicted("line of Theorem 1, (1 + *ητ*)^{*l*}", GREY, line(settings, 1.0));
        by_each_phi(Panel::new(title, Axis::whole(LAYER), y).with(theorem), cell, true)
    };
    let (logarithmic, mut linear) =
        (panel("logarithmic", Axis::log(RELATIVE))?, panel("linear", Axis::linear(RELATIVE))?);
    // On the linear axis the line would leave no room for what it is compared with.
    let top = highest(&linear.series[1..]);
    linear.y.range = Some((-0.05 * top, 1.25 * top));
    let SnrPerLayer { tokens, clusters, dim, eta, tau, .. } = settings;
    let title = "SNR per layer under other *φ*";
    Ok(Figure::page("snr_per_layer_phi", title, 2, vec![logarithmic, linear]).captioned(format!(
        "SNR (6) relative to layer 0 for several *φ* on the same draws, *N* = {tokens}, *K* = {clusters}, *p* = {dim}, \
         *δ* = {} √(log *N* / *p*), *η* = {eta}, *τ* = {tau}: median and 10-90 % over {} draws and the {clusters} \
         clusters. Dashed: the line that Theorem 1 states for thresholded softmax.",
        fraction(settings.phi_noise),
        cell.len(),
    )))
}

fn figure4(settings: &SnrPerLayer, cells: &[&[Row]]) -> Result<Figure> {
    let panel = |cell: &&[Row]| {
        let title = format!("*δ* = {}", cell[0].parameter(DELTA.name)?);
        let mut panel = by_each_phi(Panel::new(title, Axis::whole(LAYER), Axis::linear("SNR")), cell, false)?;
        // Only as far as the data reach: the line soon leaves every other scale.
        let top = highest(&panel.series);
        let mut theorem = line(settings, panel.series[0].points[0].y);
        theorem.retain(|p| p.y <= 1.3 * top);
        panel.series.insert(0, Series::predicted(LINE, GREY, theorem));
        Ok(panel)
    };
    let panels = cells.iter().map(panel).collect::<Result<_>>()?;
    let SnrPerLayer { figure4_tokens: n, figure4_clusters: k, figure4_dim: p, eta, tau, .. } = settings;
    let title = "SNR per layer at the noise levels of the printed Figure 4";
    Ok(Figure::page("snr_per_layer_figure4", title, 2, panels).captioned(format!(
        "SNR (6) of the clusters at each layer, *N* = {n}, *K* = {k}, *p* = {p}, *η* = {eta}, *τ* = {tau}: median and \
         10-90 % over {} draws and the {k} clusters. The paper states none of these parameters; at these *δ* the \
         hypotheses (11) and (29) cannot hold for any *p*.",
        cells[0].len(),
    )))
}

/// The highest end of the intervals.
fn highest(series: &[Series]) -> f64 {
    series.iter().flat_map(|s| &s.points).map(Point::high).filter(|high| high.is_finite()).fold(0.0, f64::max)
}

/// A φ as a paper writes it.
fn phi_name(phi: &str) -> String {
    if phi == "relu-normalised" { "ReLU, normalised".into() } else { phi.replace('-', " ") }
}

/// 0.125 as "1/8" where it is such a fraction.
fn fraction(x: f64) -> String {
    let inverse = 1.0 / x;
    if inverse > 1.5 && (inverse - inverse.round()).abs() < 1e-6 * inverse {
        return format!("1/{}", inverse.round());
    }
    // As many digits as tell settings apart.
    format!("{}", (x * 1e4).round() / 1e4)
}
