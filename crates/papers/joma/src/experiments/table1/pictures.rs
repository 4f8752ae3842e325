//! The figures of `joma_table1`, from its rows.

use super::Table1;
use super::controls;
use super::printed::{Printed, TABLE};
use crate::experiments::paired::{gains, minus};
use crate::quantities::{CHILDREN, CLASSES, LATENTS_0, LATENTS_1, LEARNING_RATE};
use attnlab_core::error::Result;
use attnlab_core::stats;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{self, LEVEL, OVER_SEEDS, cells, firsts, lasts, mean_at, numbers, panel};
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Panel, Point, Rule, Series, Stroke, Width};
use attnlab_lab::run::Row;

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
    found.push(controls::figure(settings, &at_rate(&cells, settings.rates[0])?)?);
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
pub fn sizes(cell: &[Row]) -> Result<[usize; 4]> {
    let mut found = [0; 4];
    for (slot, name) in found.iter_mut().zip([CLASSES.name, CHILDREN.name, LATENTS_0.name, LATENTS_1.name]) {
        *slot = cell[0].parameter(name)? as usize;
    }
    Ok(found)
}

fn printed(cell: &[Row]) -> Result<Option<&'static Printed>> {
    let [classes, children, n0, n1] = sizes(cell)?;
    let fits = |p: &&Printed| (p.classes, p.children, p.latents) == (classes, children, [n0, n1]);
    Ok(TABLE.iter().find(fits))
}

/// An axis of cells.
pub fn places(cells: &[&[Row]]) -> Result<Axis> {
    let mut axis = Axis::linear("*C*, *N*_{ch}, *N*_{0}").from_to(0.4, cells.len() as f64 + 0.6);
    for (i, cell) in cells.iter().enumerate() {
        let [classes, children, n0, _] = sizes(cell)?;
        axis.ticks.push((i as f64 + 1.0, format!("{classes},{children},{n0}")));
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
             paired by seed, for the latents and for the permuted ones. Width {}, {} seeds; bars: {} % intervals over seeds (Student). The training data are \
             at most *C* different sequences, which are the test data too. If training aligns units with these \
             latents, it adds more to their score than to that of permuted ones. The interval of the difference lies above 0 \
             in {}, and below 0 in {}; a score near 1 before training cannot rise.",
            settings.hidden,
            settings.records.last(),
            settings.width,
            settings.seeds,
            100.0 * LEVEL,
            counted(cells, |e| e.low > 0.0)?,
            counted(cells, |e| e.high < 0.0)?,
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
        lists[0].push(mean_at(x - 0.24, &lasts(cell, &own)?)?);
        lists[1].push(mean_at(x - 0.12, &firsts(cell, &own)?)?);
        lists[2].push(mean_at(x + 0.12, &lasts(cell, &format!("permuted_{s}"))?)?);
        lists[3].push(mean_at(x + 0.24, &numbers(cell, &format!("noise_{s}"))?)?);
        if let Some(row) = printed(cell)? {
            let (mean, sd) = row.score[s];
            lists[4].push(Point::between(x, mean, mean - sd, mean + sd));
        }
    }
    let labels = ["trained", "untrained", "latents permuted", "noise units", "as printed"];
    let colours = [0, 1, 3, GREY, INK];
    for ((points, label), colour) in lists.into_iter().zip(labels).zip(colours) {
        let kind = match label {
            "as printed" => "standard deviation over 5 seeds",
            _ => OVER_SEEDS,
        };
        let series = Series::bars(label, colour, points).with_interval(kind);
        found.series.push(series);
    }
    Ok(found)
}

/// A rate as a picture shows it: 10^{−4}, 3·10^{−5}.
pub fn power(rate: f64) -> String {
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

/// Changes of the score of layer s, less those of the score of the permuted latents, by seed.
fn excess(cell: &[Row], s: usize) -> Result<Vec<f64>> {
    let own = gains(cell, &format!("corr_{s}_{s}"))?;
    Ok(minus(&own, &gains(cell, &format!("permuted_{s}"))?))
}

/// Counts the cells whose interval of the excess has a property: "1 of 8 cells for s = 0 and 5 of 8 for s = 1".
fn counted(cells: &[&[Row]], has: impl Fn(&stats::Estimate) -> bool) -> Result<String> {
    let mut found = [0; 2];
    for cell in cells {
        for (s, count) in found.iter_mut().enumerate() {
            *count += usize::from(has(&stats::mean(&excess(cell, s)?, LEVEL)?));
        }
    }
    let all = cells.len();
    let [bottom, top] = found;
    Ok(format!("{bottom} of {all} cells for *s* = 0 and {top} of {all} for *s* = 1"))
}

fn gain_panel(cells: &[&[Row]], rate: f64, s: usize) -> Result<Panel> {
    let mut found =
        panel(format!("gain, *s* = {s}, *η* = {}", power(rate)), places(cells)?, Axis::linear("trained − untrained"));
    let mut lists: [Vec<Point>; 3] = Default::default();
    for (i, cell) in cells.iter().enumerate() {
        let x = i as f64 + 1.0;
        let own = gains(cell, &format!("corr_{s}_{s}"))?;
        let permuted = gains(cell, &format!("permuted_{s}"))?;
        lists[0].push(mean_at(x - 0.16, &own)?);
        lists[1].push(mean_at(x, &permuted)?);
        lists[2].push(mean_at(x + 0.16, &excess(cell, s)?)?);
    }
    let labels = ["gain", "gain of permuted latents", "difference"];
    for ((points, label), colour) in lists.into_iter().zip(labels).zip([0, 3, INK]) {
        let series = Series::bars(label, colour, points).with_interval(OVER_SEEDS);
        found.series.push(series);
    }
    found.rules.push(Rule::horizontal("", 0.0));
    Ok(found)
}

/// Loss and scores against steps.
fn course(settings: &Table1, cells: &[&[Row]]) -> Result<Figure> {
    let steps = settings.records.places(1.0);
    let rate = settings.rates[0];
    let cells = at_rate(cells, rate)?;
    let mut panels = vec![
        panel("loss", Axis::log("steps + 1"), Axis::log("cross-entropy (nats)")),
        panel("latents of layer 0", Axis::log("steps + 1"), Axis::linear("NCorr_{0}")),
        panel("latents of layer 1", Axis::log("steps + 1"), Axis::linear("NCorr_{1}")),
    ];
    for (i, cell) in cells.iter().enumerate() {
        let [classes, children, n0, _] = sizes(cell)?;
        let label = format!("*C* = {classes}, *N*_{{ch}} = {children}, *N*_{{0}} = {n0}");
        for (panel, name) in panels.iter_mut().zip(["loss", "corr_0_0", "corr_1_1"]) {
            let points = draw::course(cell, name, &steps)?;
            panel.series.push(Series::measured(&label, i, points).with_interval(OVER_SEEDS));
        }
        let floor = stats::mean(&numbers(cell, "floor")?, LEVEL)?.value;
        if floor > 0.0 {
            let points = steps.iter().map(|x| Point::at(*x, floor));
            panels[0].series.push(Series {
                stroke: Stroke::Dotted,
                ..Series::predicted("least possible loss", i, points.collect())
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
