//! The figures of `snr_per_layer`, from its rows.

use super::{SnrPerLayer, THEOREM};
use crate::quantities::*;
use crate::theory::Horizon;
use attnlab_core::error::{Error, Result};
use attnlab_core::stats::quantile;
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Marker, Panel, Point, Series, Stroke, Width};
use attnlab_lab::run::Row;
use attnlab_lab::run::store::by_cell;

const BAND: &str = "10-90 % of draws and clusters";
const LAYER: &str = "layer *l*";

pub fn figures(settings: &SnrPerLayer, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = by_cell(rows);
    let of_group = |group: &str| -> Vec<&[Row]> {
        let is = |cell: &&[Row]| cell[0].word(GROUP.name).is_ok_and(|g| g == group);
        cells.iter().copied().filter(is).collect()
    };
    let (noise, printed) = (of_group("noise"), of_group("figure4"));
    let mut figures = vec![];
    if !noise.is_empty() {
        figures.push(by_noise(settings, &noise)?);
    }
    if let Some(cell) = noise.iter().find(|cell| phis(&cell[0]).len() > 1) {
        figures.push(by_phi(settings, cell)?);
    }
    if !printed.is_empty() {
        figures.push(figure4(settings, &printed)?);
    }
    if figures.is_empty() {
        let problem = "no rows to draw; run the experiment first".into();
        return Err(Error::Content { path: "rows of snr_per_layer".into(), problem });
    }
    Ok(figures)
}

/// The φ of a cell, the theorem's first.
fn phis(row: &Row) -> Vec<String> {
    let list = row.parameters.get(PHI.name).and_then(|v| v.as_array());
    list.into_iter().flatten().filter_map(|v| v.as_str().map(str::to_string)).collect()
}

/// SNR of every draw and cluster: `curves[i][l]`, divided by its own first value if `relative`.
fn curves(cell: &[Row], phi: &str, relative: bool) -> Result<Vec<Vec<f64>>> {
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
    Ok(curves)
}

/// Median and 10-90 % band at each layer.
fn spread(curves: &[Vec<f64>]) -> Vec<Point> {
    let layers = curves.iter().map(Vec::len).min().unwrap_or(0);
    let at = |l: usize| {
        let values: Vec<f64> = curves.iter().map(|c| c[l]).collect();
        let q = |p| quantile(&values, p);
        Point::between(l as f64, q(0.5), q(0.1), q(0.9))
    };
    (0..layers).map(at).collect()
}

/// The theorem's line from the measured median at layer 0.
fn line(settings: &SnrPerLayer, from: f64) -> Vec<Point> {
    let rate = 1.0 + settings.eta * settings.tau;
    let at = |l: usize| Point::at(l as f64, from * rate.powi(l as i32));
    (0..=settings.layers).map(at).collect()
}

/// The last layer that the horizon law leaves a cluster on the line in half of the draws, as a point
/// on it. The law is of the first column that breaks in any of K clusters, each with the same share
/// of Λ: one of them is whole with probability exp(-Λ/K), which is 1/2 where exp(-Λ) = 2^-K.
fn predicted_end(settings: &SnrPerLayer, row: &Row, line: &[Point]) -> Result<Option<Point>> {
    let whole = |name| row.parameter(name).map(|x| x as usize);
    let (n, k, p) = (whole(TOKENS.name)?, whole(CLUSTERS.name)?, whole(DIM.name)?);
    let law = Horizon::new(n, k, p, row.parameter(DELTA.name)?, settings.tau)?;
    let last = law.exact_updates(settings.eta, 1.0 - 0.5_f64.powi(k as i32))?;
    Ok(line.get(last as usize).copied())
}

fn by_noise(settings: &SnrPerLayer, cells: &[&[Row]]) -> Result<Figure> {
    let unit = super::noise_unit(settings.tokens, settings.dim);
    let mut panels = [
        Panel { x: Axis::whole(LAYER), y: Axis::log("SNR"), ..Panel::default() },
        Panel { x: Axis::whole(LAYER), y: Axis::linear("SNR / SNR at layer 0"), ..Panel::default() },
    ];
    panels[0].title = "logarithmic".into();
    panels[1].title = "linear, from a common start".into();
    let mut ends = [vec![], vec![]];
    for (colour, cell) in cells.iter().enumerate() {
        let delta = cell[0].parameter(DELTA.name)?;
        let label = format!("*δ* = {} √(log *N* / *p*)", fraction(delta / unit));
        for (i, relative) in [false, true].into_iter().enumerate() {
            let points = spread(&curves(cell, THEOREM, relative)?);
            let predicted = line(settings, points[0].y);
            ends[i].extend(predicted_end(settings, &cell[0], &predicted)?);
            if !relative || colour == 0 {
                let label = "line of Theorem 1, (1 + *ητ*)^{*l*} SNR_{0}";
                panels[i].series.push(Series::predicted(label, GREY, predicted));
            }
            panels[i].series.push(Series::measured(&label, colour, points).with_interval(BAND));
        }
    }
    for (panel, ends) in panels.iter_mut().zip(ends) {
        panel.series.push(Series {
            stroke: Stroke::None,
            marker: Marker::Ring,
            ..Series::predicted("predicted last layer on the line (horizon law)", INK, ends)
        });
    }
    let (n, k, p) = (settings.tokens, settings.clusters, settings.dim);
    Ok(Figure {
        name: "snr_per_layer".into(),
        title: "SNR per layer under the *φ* of Theorem 1".into(),
        caption: format!(
            "SNR (6) of the clusters at each layer of (3) with thresholded softmax, *N* = {n}, *K* = {k}, \
             *p* = {p}, *η* = {}, *τ* = {}: median and 10-90 % over {} draws and the {k} clusters. \
             Dashed: the line of Theorem 1 from the measured median at layer 0. Rings: the last layer \
             that the horizon law leaves a cluster on the line in half of the draws. (11) allows *δ* up to \
             1/8 √(log *N* / *p*).",
            settings.eta,
            settings.tau,
            cells[0].len(),
        ),
        width: Width::Page,
        columns: 2,
        panels: panels.into(),
    })
}

fn by_phi(settings: &SnrPerLayer, cell: &[Row]) -> Result<Figure> {
    let mut panels = [
        Panel {
            title: "logarithmic".into(),
            x: Axis::whole(LAYER),
            y: Axis::log("SNR / SNR at layer 0"),
            ..Panel::default()
        },
        Panel {
            title: "linear".into(),
            x: Axis::whole(LAYER),
            y: Axis::linear("SNR / SNR at layer 0"),
            ..Panel::default()
        },
    ];
    for panel in &mut panels {
        let label = "line of Theorem 1, (1 + *ητ*)^{*l*}";
        panel.series.push(Series::predicted(label, GREY, line(settings, 1.0)));
        for (colour, phi) in phis(&cell[0]).iter().enumerate() {
            let points = spread(&curves(cell, phi, true)?);
            let label = phi_name(phi);
            panel.series.push(Series::measured(label, colour, points).with_interval(BAND));
        }
    }
    // On the linear axis the line would leave no room for what it is compared with.
    let top = highest(&panels[1].series[1..]);
    panels[1].y.range = Some((-0.05 * top, 1.25 * top));
    let (n, k, p) = (settings.tokens, settings.clusters, settings.dim);
    Ok(Figure {
        name: "snr_per_layer_phi".into(),
        title: "SNR per layer under other *φ*".into(),
        caption: format!(
            "SNR (6) relative to layer 0 for several *φ* on the same draws, *N* = {n}, *K* = {k}, \
             *p* = {p}, *δ* = {} √(log *N* / *p*), *η* = {}, *τ* = {}: median and 10-90 % over {} draws \
             and the {k} clusters. Dashed: the line that Theorem 1 states for thresholded softmax.",
            fraction(settings.phi_noise),
            settings.eta,
            settings.tau,
            cell.len(),
        ),
        width: Width::Page,
        columns: 2,
        panels: panels.into(),
    })
}

fn figure4(settings: &SnrPerLayer, cells: &[&[Row]]) -> Result<Figure> {
    let mut panels = vec![];
    for cell in cells {
        let mut panel = Panel {
            title: format!("*δ* = {}", cell[0].parameter(DELTA.name)?),
            x: Axis::whole(LAYER),
            y: Axis::linear("SNR"),
            ..Panel::default()
        };
        for (colour, phi) in phis(&cell[0]).iter().enumerate() {
            let points = spread(&curves(cell, phi, false)?);
            let label = phi_name(phi);
            panel.series.push(Series::measured(label, colour, points).with_interval(BAND));
        }
        // Only as far as the data reach: the line soon leaves every other scale.
        let top = highest(&panel.series);
        let mut theorem = line(settings, panel.series[0].points[0].y);
        theorem.retain(|p| p.y <= 1.3 * top);
        let label = "line of Theorem 1, (1 + *ητ*)^{*l*} SNR_{0}";
        panel.series.insert(0, Series::predicted(label, GREY, theorem));
        panels.push(panel);
    }
    let (n, k, p) = (settings.figure4_tokens, settings.figure4_clusters, settings.figure4_dim);
    Ok(Figure {
        name: "snr_per_layer_figure4".into(),
        title: "SNR per layer at the noise levels of the printed Figure 4".into(),
        caption: format!(
            "SNR (6) of the clusters at each layer, *N* = {n}, *K* = {k}, *p* = {p}, *η* = {}, *τ* = {}: \
             median and 10-90 % over {} draws and the {k} clusters. The paper states none of these \
             parameters; at these *δ* the hypotheses (11) and (29) cannot hold for any *p*.",
            settings.eta,
            settings.tau,
            cells[0].len(),
        ),
        width: Width::Page,
        columns: 2,
        panels,
    })
}

/// The highest end of the intervals.
fn highest(series: &[Series]) -> f64 {
    let ends = series.iter().flat_map(|s| &s.points).filter_map(|p| p.interval);
    ends.map(|(_, high)| high).filter(|high| high.is_finite()).fold(0.0, f64::max)
}

/// A φ as a paper writes it.
fn phi_name(phi: &str) -> String {
    match phi {
        "relu-normalised" => "ReLU, normalised".into(),
        phi => phi.replace('-', " "),
    }
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
