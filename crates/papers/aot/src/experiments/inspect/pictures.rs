//! The figure of `inspect`, from its rows: arrays along the horizontal axis.

use super::{Inspect, PLACE};
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{cells, panel};
use attnlab_lab::figure::{Axis, Figure, Panel, Point, Series, Width};
use attnlab_lab::run::Row;
use attnlab_lab::run::store::as_number;
use serde_json::Value;

/// Clusters that get a colour of their own; the palette has eight.
const MOST_CLUSTERS: usize = 6;

/// The figures of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figures(settings: &Inspect, rows: &[Row]) -> Result<Vec<Figure>> {
    let mut rows: Vec<&Row> = cells(Inspect::NAME, rows)?.iter().map(|cell| &cell[0]).collect();
    let place = |row: &Row| row.parameter(PLACE).unwrap_or(0.0);
    rows.sort_by(|a, b| place(a).total_cmp(&place(b)));
    let panels = vec![
        noise(&rows),
        snr(&rows)?,
        horizon(&rows),
        compared(&rows, "stable_rank", "stable rank", "stable rank of *Z*"),
        compared(&rows, "coding_rate", "coding rate", "*R* of unit tokens (nats)"),
        compared(&rows, "mean_cosine", "mean cosine", "mean cosine of tokens"),
    ];
    let names: Vec<&str> = rows.iter().map(|r| r.word(super::ARRAY)).collect::<Result<_>>()?;
    let shown = match &names[..] {
        [one] => (*one).to_string(),
        [first, .., last] => format!("{first} (0) to {last} ({})", names.len() - 1),
        [] => String::new(),
    };
    let known = match settings.labels.is_empty() {
        true => "fitted to half of the tokens and, for what is drawn, to all",
        false => "at the given bases and labels",
    };
    Ok(vec![Figure {
        name: Inspect::NAME.into(),
        title: "Tokens against the theory of AoT Theorem 1".into(),
        caption: format!(
            "Arrays: {}. Mixture of Definition 1 {known}. *δ* with {} % intervals; limit (11): √(log *N* / *p*)/8 at the \
             largest *p*_{{k}}. SNR (6) per cluster, lines: √(*p*_{{k}}/Σ_{{l≠k}}*p*_{{l}})/*δ*. Horizon: first factor \
             *θ* at which the pattern (30) breaks, at *τ* = {}; law: 5, 50 and 95 % of draws. Permuted: every coordinate \
             in random order over the tokens; Gaussian: the same second moments; both often have one cluster and no *δ*. Labels \
             permuted: the same bases.",
            shown.replace('*', "i").replace('_', " "),
            100.0 * settings.fitting.level,
            settings.fitting.tau,
        ),
        width: Width::Page,
        columns: 3,
        panels,
    }])
}

fn axis(rows: &[&Row]) -> Axis {
    let last = rows.len().saturating_sub(1) as f64;
    Axis::whole("array").from_to(-0.5, last + 0.5)
}

/// A number of a row, within a control where `inside` names one.
fn number(row: &Row, inside: &str, name: &str) -> Option<f64> {
    let data = match inside {
        "" => row.data.get(name),
        inside => row.data.get(inside)?.get(name),
    };
    data.and_then(as_number).filter(|x| x.is_finite())
}

fn points(rows: &[&Row], value: impl Fn(&Row) -> Option<Point>) -> Vec<Point> {
    let point = |(i, row): (usize, &&Row)| value(row).map(|p| Point { x: i as f64 + p.x, ..p });
    rows.iter().enumerate().filter_map(point).collect()
}

/// A series where there is something to draw.
fn add(panel: &mut Panel, series: Series) {
    if !series.points.is_empty() {
        panel.series.push(series);
    }
}

fn noise(rows: &[&Row]) -> Panel {
    let mut found = panel("noise", axis(rows), Axis::linear("*δ*"));
    for (colour, (inside, label)) in CONTROLS.into_iter().enumerate() {
        let points = points(rows, |row| {
            let end = |name| number(row, inside, name);
            let (low, high) = (end("delta_low")?, end("delta_high")?);
            Some(Point::between(shift(colour), end("delta")?, low, high))
        });
        add(&mut found, Series::measured(label, colour, points));
    }
    let limit = points(rows, |row| {
        let margin = row.data.get("hypotheses")?.get("delta (11)")?.get("margin")?;
        let delta = number(row, "", "delta").unwrap_or(0.0);
        Some(Point::at(0.0, delta + as_number(margin)?))
    });
    add(&mut found, Series::predicted("limit (11)", 3, limit));
    found
}

/// Parts of a row: the array as it is, and both controls.
const CONTROLS: [(&str, &str); 3] = [("", "as given"), ("permuted", "permuted"), ("gaussian", "Gaussian")];

/// Shift of a control along the axis, so that intervals do not cover each other.
fn shift(colour: usize) -> f64 {
    0.12 * (colour as f64 - 1.0)
}

fn series_of(row: &Row, name: &str, k: usize) -> Option<f64> {
    let list = row.data.get(name).and_then(Value::as_array)?;
    list.get(k).and_then(as_number).filter(|x| x.is_finite() && *x > 0.0)
}

fn snr(rows: &[&Row]) -> Result<Panel> {
    let mut found = panel("SNR", axis(rows), Axis::log("SNR"));
    let most = rows.iter().map(|r| r.series("snr").map_or(0, |s| s.len())).max().unwrap_or(0);
    for k in 0..most.min(MOST_CLUSTERS) {
        let at = |name: &'static str| points(rows, move |row| Some(Point::at(0.0, series_of(row, name, k)?)));
        add(&mut found, Series::measured(format!("cluster {k}"), k, at("snr")));
        add(&mut found, Series::predicted("law", k, at("snr_law")).unlisted());
    }
    if found.series.is_empty() {
        // Tokens without noise have no SNR to draw.
        found.y = Axis::linear("SNR (none finite)").from_to(0.0, 1.0);
    }
    Ok(found)
}

fn horizon(rows: &[&Row]) -> Panel {
    let mut found = panel("horizon", axis(rows), Axis::log("*θ* at the first break"));
    for (colour, (inside, label)) in [("", "as given"), ("labels", "labels permuted")].into_iter().enumerate() {
        let points = points(rows, |row| Some(Point::at(shift(colour), number(row, inside, "theta_crit")?)));
        add(&mut found, Series::measured(label, colour, points));
    }
    let law = points(rows, |row| {
        let [low, middle, high] = [0, 1, 2].map(|i| series_of(row, "law_theta", i));
        Some(Point::between(0.12, middle?, low?, high?))
    });
    add(&mut found, Series::measured("law", 3, law));
    if found.series.is_empty() {
        found.y = Axis::linear("*θ* (no break)").from_to(0.0, 1.0);
    }
    found
}

fn compared(rows: &[&Row], name: &str, title: &str, label: &str) -> Panel {
    let mut found = panel(title, axis(rows), Axis::linear(label));
    for (colour, (inside, label)) in CONTROLS.into_iter().enumerate() {
        let points = points(rows, |row| Some(Point::at(shift(colour), number(row, inside, name)?)));
        add(&mut found, Series::measured(label, colour, points));
    }
    found
}
