//! The figure of `inspect`, from its rows: arrays along the horizontal axis.

use super::{Inspect, PLACE};
use crate::experiments::parts::{bounded, limit_11, number, within};
use attnlab_lab::experiment::draw::cells;
use attnlab_lab::figure::{Axis, Measured, Panel, Point, Series};
use attnlab_lab::prelude::*;
use attnlab_lab::run::store::as_number;

/// Clusters that get a colour of their own; the palette has eight.
const MOST_CLUSTERS: usize = 6;

pub fn figures(settings: &Inspect, rows: &[Row]) -> Result<Vec<Figure>> {
    let mut rows: Vec<&Row> = cells(Inspect::NAME, rows)?.iter().map(|cell| &cell[0]).collect();
    let place = |row: &Row| row.parameter(PLACE).unwrap_or(0.0);
    rows.sort_by(|a, b| place(a).total_cmp(&place(b)));
    let compared = |name: &str, title, y| {
        with_controls(panel(&rows, title, Axis::linear(y)), &rows, &CONTROLS, |data| number(data, name))
    };
    let panels = vec![
        noise(&rows),
        snr(&rows),
        horizon(&rows),
        compared("stable_rank", "stable rank", "stable rank of *Z*"),
        compared("coding_rate", "coding rate", "*R* of unit tokens (nats)"),
        compared("mean_cosine", "mean cosine", "mean cosine of tokens"),
    ];
    let names: Vec<&str> = rows.iter().map(|r| r.word(super::ARRAY)).collect::<Result<_>>()?;
    let shown = match &names[..] {
        [name] => (*name).to_string(),
        [first, .., last] => format!("{first} (0) to {last} ({})", names.len() - 1),
        [] => String::new(),
    };
    let fitted = "fitted to half of the tokens and, for what is drawn, to all";
    let known = if settings.labels.is_empty() { fitted } else { "at the given bases and labels" };
    Ok(vec![Figure::page(Inspect::NAME, "Tokens against the theory of AoT Theorem 1", 3, panels).captioned(format!(
        "Arrays: {}. Mixture of Definition 1 {known}. *δ* with {} % intervals; limit (11): √(log *N* / *p*)/8 at the \
         largest *p*_{{k}}. SNR (6) per cluster, lines: √(*p*_{{k}}/Σ_{{l≠k}}*p*_{{l}})/*δ*. Horizon: first factor \
         *θ* at which the pattern (30) breaks, at *τ* = {}; law: 5, 50 and 95 % of draws. Permuted: every coordinate \
         in random order over the tokens; Gaussian: the same second moments; both often have one cluster and no *δ*. \
         Labels permuted: the same bases.",
        shown.replace('*', "i").replace('_', " "),
        100.0 * settings.fitting.level,
        settings.fitting.tau,
    ))])
}

fn panel(rows: &[&Row], title: &str, y: Axis) -> Panel {
    let last = rows.len().saturating_sub(1) as f64;
    Panel::new(title, Axis::whole("array").from_to(-0.5, last + 0.5), y)
}

/// A point per array that has the value, beside the array's place.
fn points<Y: Into<Measured>>(rows: &[&Row], aside: f64, value: impl Fn(&Row) -> Option<Y>) -> Vec<Point> {
    let point = |(i, row): (usize, &&Row)| Some(Point::at(i as f64 + aside, value(row)?));
    rows.iter().enumerate().filter_map(point).collect()
}

/// Parts of a row: the array as it is, and both controls.
const CONTROLS: [(&str, &str); 3] = [("", "as given"), ("permuted", "permuted"), ("gaussian", "Gaussian")];

/// Adds one value of each part of the rows, side by side, so that intervals do not cover each other.
fn with_controls<Y: Into<Measured>>(
    panel: Panel,
    rows: &[&Row],
    parts: &[(&str, &str)],
    value: impl Fn(&Map<String, Value>) -> Option<Y>,
) -> Panel {
    parts.iter().enumerate().fold(panel, |panel, (colour, (inside, label))| {
        let points = points(rows, 0.12 * (colour as f64 - 1.0), |row| value(within(row, inside)?));
        panel.with_any(Series::measured(*label, colour, points))
    })
}

fn noise(rows: &[&Row]) -> Panel {
    with_controls(panel(rows, "noise", Axis::linear("*δ*")), rows, &CONTROLS, |data| bounded(data, "delta"))
        .with_any(Series::predicted("limit (11)", 3, points(rows, 0.0, limit_11)))
}

fn series_of(row: &Row, name: &str, k: usize) -> Option<f64> {
    row.data.get(name).and_then(Value::as_array)?.get(k).and_then(as_number).filter(|x| x.is_finite() && *x > 0.0)
}

fn snr(rows: &[&Row]) -> Panel {
    let most = rows.iter().map(|r| r.series("snr").map_or(0, |s| s.len())).max().unwrap_or(0);
    let mut panel = panel(rows, "SNR", Axis::log("SNR"));
    for k in 0..most.min(MOST_CLUSTERS) {
        let of = |name: &str| points(rows, 0.0, |row| series_of(row, name, k));
        panel = panel
            .with_any(Series::measured(format!("cluster {k}"), k, of("snr")))
            .with_any(Series::predicted("law", k, of("snr_law")).unlisted());
    }
    if panel.series.is_empty() {
        // Tokens without noise have no SNR to draw.
        panel.y = Axis::linear("SNR (none finite)").from_to(0.0, 1.0);
    }
    panel
}

fn horizon(rows: &[&Row]) -> Panel {
    let law = points(rows, 0.12, |row| {
        let [low, middle, high] = [0, 1, 2].map(|i| series_of(row, "law_theta", i));
        Some(Measured { value: middle?, interval: Some((low?, high?)) })
    });
    let parts = [("", "as given"), ("labels", "labels permuted")];
    let panel = panel(rows, "horizon", Axis::log("*θ* at the first break"));
    let panel = with_controls(panel, rows, &parts, |data| number(data, "theta_crit"));
    let mut panel = panel.with_any(Series::measured("law", 3, law));
    if panel.series.is_empty() {
        panel.y = Axis::linear("*θ* (no break)").from_to(0.0, 1.0);
    }
    panel
}
