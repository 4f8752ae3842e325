//! The figures of `joma_table1`, from its rows.

use super::Table1;
use super::printed::{Printed, TABLE};
use crate::quantities::{CHILDREN, CLASSES, LATENTS_0, LATENTS_1, LEARNING_RATE};
use attnlab_core::error::Result;
use attnlab_core::stats;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{cells, panel};
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Panel, Point, Rule, Series, Stroke, Width};
use attnlab_lab::run::Row;

/// Confidence of the intervals over seeds.
const LEVEL: f64 = 0.95;
const INTERVAL: &str = "95 % interval over seeds";

/// The figures of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figures(settings: &Table1, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(Table1::NAME, rows)?;
    let mut found = vec![];
    for rate in &settings.rates {
        found.push(levels(settings, &cells, *rate)?);
    }
    found.push(course(settings, &cells)?);
    Ok(found)
}

/// The cells of one learning rate.
fn at_rate<'a>(cells: &[&'a [Row]], rate: f64) -> Result<Vec<&'a [Row]>> {
    let mut found = vec![];
    for cell in cells {
        if cell[0].parameter(LEARNING_RATE.name)? == rate {
            found.push(*cell);
        }
    }
    Ok(found)
}

/// C, N_ch, N_0 and N_1 of a cell.
fn sizes(cell: &[Row]) -> Result<[usize; 4]> {
    let mut found = [0; 4];
    for (slot, name) in
        found
            .iter_mut()
            .zip([CLASSES.name, CHILDREN.name, LATENTS_0.name, LATENTS_1.name])
    {
        *slot = cell[0].parameter(name)? as usize;
    }
    Ok(found)
}

fn printed(cell: &[Row]) -> Result<Option<&'static Printed>> {
    let [classes, children, n0, n1] = sizes(cell)?;
    let fits = |p: &&Printed| (p.classes, p.children, p.latents) == (classes, children, [n0, n1]);
    Ok(TABLE.iter().find(fits))
}

/// The last entry of a series in every row.
fn last(cell: &[Row], name: &str) -> Result<Vec<f64>> {
    let end = |row: &Row| Ok(row.series(name)?.last().copied().unwrap_or(f64::NAN));
    cell.iter().map(end).collect()
}

fn first(cell: &[Row], name: &str) -> Result<Vec<f64>> {
    let start = |row: &Row| Ok(row.series(name)?.first().copied().unwrap_or(f64::NAN));
    cell.iter().map(start).collect()
}

fn numbers(cell: &[Row], name: &str) -> Result<Vec<f64>> {
    cell.iter().map(|row| row.number(name)).collect()
}

/// Mean with its interval over seeds, at `x`.
fn interval(x: f64, values: &[f64]) -> Result<Point> {
    let found = stats::mean(values, LEVEL)?;
    Ok(Point::between(x, found.value, found.low, found.high))
}

/// An axis of cells.
fn places(cells: &[&[Row]]) -> Result<Axis> {
    let mut axis = Axis::linear("*C*, *N*_{ch}, *N*_{0}").from_to(0.4, cells.len() as f64 + 0.6);
    for (i, cell) in cells.iter().enumerate() {
        let [classes, children, n0, _] = sizes(cell)?;
        axis.ticks
            .push((i as f64 + 1.0, format!("{classes},{children},{n0}")));
    }
    Ok(axis)
}

/// Table 1 at one learning rate: every column with its controls; below, what training adds.
fn levels(settings: &Table1, cells: &[&[Row]], rate: f64) -> Result<Figure> {
    let cells = &at_rate(cells, rate)?;
    let mut panels = vec![];
    for s in [0, 1] {
        panels.push(level_panel(cells, rate, s)?);
    }
    for s in [0, 1] {
        panels.push(gain_panel(cells, rate, s)?);
    }
    let name = match rate == settings.rates[0] {
        true => Table1::NAME.to_string(),
        false => format!("{}_rate_{rate:e}", Table1::NAME),
    };
    Ok(Figure {
        name,
        title: "Latents against hidden units: what training adds".into(),
        caption: format!(
            "Above: NCorr_{{s}}, per latent of layer *s* the largest of its correlations with the {} units of block \
             *s*, averaged over the latents, after {} steps at learning rate *η*; the same for the network before \
             training; for the trained units with the latents permuted over the classes; for normal noise in place \
             of units; and as printed (bars: standard deviation over 5 seeds). Below: trained minus untrained, \
             paired by seed. Width {}, {} seeds; bars: {} % intervals over seeds (Student). The training data are \
             at most *C* different sequences, which are the test data too. What the data must show if training aligns \
             units with latents: a gain above 0. Its interval lies above 0 in {}, and below 0 in {}.",
            settings.hidden,
            settings.last(),
            settings.width,
            settings.seeds,
            100.0 * LEVEL,
            counted(cells, |gain| gain.low > 0.0)?,
            counted(cells, |gain| gain.high < 0.0)?,
        ),
        width: Width::Page,
        columns: 2,
        panels,
    })
}

fn level_panel(cells: &[&[Row]], rate: f64, s: usize) -> Result<Panel> {
    let mut found = panel(
        format!("layer *s* = {s}, *η* = {}", power(rate)),
        places(cells)?,
        Axis::linear(format!("NCorr_{{{s}}}")).from_to(0.0, 1.05),
    );
    let own = format!("corr_{s}_{s}");
    let mut lists: [Vec<Point>; 5] = Default::default();
    for (i, cell) in cells.iter().enumerate() {
        let x = i as f64 + 1.0;
        lists[0].push(interval(x - 0.24, &last(cell, &own)?)?);
        lists[1].push(interval(x - 0.12, &first(cell, &own)?)?);
        lists[2].push(interval(x + 0.12, &last(cell, &format!("permuted_{s}"))?)?);
        lists[3].push(interval(x + 0.24, &numbers(cell, &format!("noise_{s}"))?)?);
        if let Some(row) = printed(cell)? {
            let (mean, sd) = row.score[s];
            lists[4].push(Point::between(x, mean, mean - sd, mean + sd));
        }
    }
    let labels = [
        "trained",
        "untrained",
        "latents permuted",
        "noise units",
        "as printed",
    ];
    let colours = [0, 1, 3, GREY, INK];
    for ((points, label), colour) in lists.into_iter().zip(labels).zip(colours) {
        let kind = match label {
            "as printed" => "standard deviation over 5 seeds",
            _ => INTERVAL,
        };
        let series = Series::bars(label, colour, points).with_interval(kind);
        found.series.push(series);
    }
    Ok(found)
}

/// A rate as a picture shows it: 10^{−4}, 3·10^{−5}.
fn power(rate: f64) -> String {
    let text = format!("{rate:e}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let power = format!("10^{{{}}}", exponent.replace('-', "−"));
    match digits {
        "1" => power,
        _ => format!("{digits}·{power}"),
    }
}

/// Gains of a cell over the untrained network, by seed.
fn gains(cell: &[Row], s: usize) -> Result<Vec<f64>> {
    let own = format!("corr_{s}_{s}");
    let (trained, untrained) = (last(cell, &own)?, first(cell, &own)?);
    Ok(trained.iter().zip(&untrained).map(|(a, b)| a - b).collect())
}

/// Counts the cells whose interval of the gain has a property: "1 of 8 cells for s = 0 and 5 of 8 for s = 1".
fn counted(cells: &[&[Row]], has: impl Fn(&stats::Estimate) -> bool) -> Result<String> {
    let mut found = [0; 2];
    for cell in cells {
        for (s, count) in found.iter_mut().enumerate() {
            *count += usize::from(has(&stats::mean(&gains(cell, s)?, LEVEL)?));
        }
    }
    let all = cells.len();
    let [bottom, top] = found;
    Ok(format!(
        "{bottom} of {all} cells for *s* = 0 and {top} of {all} for *s* = 1"
    ))
}

fn gain_panel(cells: &[&[Row]], rate: f64, s: usize) -> Result<Panel> {
    let mut found = panel(
        format!("gain, *s* = {s}, *η* = {}", power(rate)),
        places(cells)?,
        Axis::linear("trained − untrained"),
    );
    let mut points = vec![];
    for (i, cell) in cells.iter().enumerate() {
        points.push(interval(i as f64 + 1.0, &gains(cell, s)?)?);
    }
    let series = Series::bars("gain", 0, points).with_interval(INTERVAL);
    found.series.push(Series {
        label: String::new(),
        ..series
    });
    found.rules.push(Rule {
        label: String::new(),
        vertical: false,
        at: 0.0,
    });
    Ok(found)
}

/// Loss and scores against steps.
fn course(settings: &Table1, cells: &[&[Row]]) -> Result<Figure> {
    // Step 0 has no logarithm: it stands one place before the first.
    let shown = |step: u64| step as f64 + 1.0;
    let steps: Vec<f64> = settings.records.iter().map(|r| shown(*r)).collect();
    let rate = settings.rates[0];
    let cells = at_rate(cells, rate)?;
    let mut panels = vec![
        panel(
            "loss",
            Axis::log("steps + 1"),
            Axis::log("cross-entropy (nats)"),
        ),
        panel(
            "latents of layer 0",
            Axis::log("steps + 1"),
            Axis::linear("NCorr_{0}"),
        ),
        panel(
            "latents of layer 1",
            Axis::log("steps + 1"),
            Axis::linear("NCorr_{1}"),
        ),
    ];
    for (i, cell) in cells.iter().enumerate() {
        let [classes, children, n0, _] = sizes(cell)?;
        let label = format!("*C* = {classes}, *N*_{{ch}} = {children}, *N*_{{0}} = {n0}");
        for (panel, name) in panels.iter_mut().zip(["loss", "corr_0_0", "corr_1_1"]) {
            let series: Vec<Vec<f64>> = cell
                .iter()
                .map(|row| row.series(name))
                .collect::<Result<_>>()?;
            let mut points = vec![];
            for (k, step) in steps.iter().enumerate() {
                let values: Vec<f64> = series.iter().filter_map(|s| s.get(k).copied()).collect();
                points.push(interval(*step, &values)?);
            }
            panel
                .series
                .push(Series::measured(&label, i, points).with_interval(INTERVAL));
        }
        let floor = stats::mean(&numbers(cell, "floor")?, LEVEL)?.value;
        if floor > 0.0 {
            let points = [steps[0], shown(settings.last())].map(|x| Point::at(x, floor));
            panels[0].series.push(Series {
                stroke: Stroke::Dotted,
                ..Series::predicted("least possible loss", i, points.to_vec())
            });
        }
    }
    Ok(Figure {
        name: format!("{}_training", Table1::NAME),
        title: "Table 1 while training".into(),
        caption: format!(
            "Loss over all classes and NCorr of the two layers against steps, learning rate {}, width {}, {} \
             seeds; bands: {} % intervals over seeds (Student). Dotted: the least loss possible, where classes with \
             equal tokens cannot be told apart.",
            power(rate),
            settings.width,
            settings.seeds,
            100.0 * LEVEL,
        ),
        width: Width::Page,
        columns: 3,
        panels,
    })
}
