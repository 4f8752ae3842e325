//! The figures of `joma_table1`, from its rows.

use super::Table1;
use super::controls;
use super::printed::{Printed, TABLE};
use crate::experiments::paired::{count, gains, minus};
use crate::quantities::{CHILDREN, CLASSES, LATENTS_0, LATENTS_1, LEARNING_RATE};
use attnlab_core::stats::{self, Estimate};
use attnlab_lab::experiment::draw::{self, *};
use attnlab_lab::figure::{Axis, GREY, INK, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;

/// The figures of these settings, from their rows.
pub fn figures(settings: &Table1, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(Table1::NAME, rows)?;
    let at_rate = |rate: f64| with_number(&cells, LEARNING_RATE, rate);
    let mut figures = vec![];
    for rate in &settings.rates {
        figures.push(levels(settings, &at_rate(*rate), *rate)?);
    }
    figures.push(course(settings, &at_rate(settings.rates[0]))?);
    figures.push(controls::figure(settings, &at_rate(settings.rates[0]))?);
    Ok(figures)
}

/// C, N_ch, N_0 and N_1 of a cell.
pub fn sizes(cell: &[Row]) -> Result<[usize; 4]> {
    let mut sizes = [0; 4];
    for (size, name) in sizes.iter_mut().zip([CLASSES.name, CHILDREN.name, LATENTS_0.name, LATENTS_1.name]) {
        *size = cell[0].parameter(name)? as usize;
    }
    Ok(sizes)
}

fn printed(cell: &[Row]) -> Result<Option<&'static Printed>> {
    let [classes, children, n0, n1] = sizes(cell)?;
    Ok(TABLE.iter().find(|p: &&Printed| (p.classes, p.children, p.latents) == (classes, children, [n0, n1])))
}

/// An axis of cells.
pub fn places(cells: &[&[Row]]) -> Result<Axis> {
    let name = |cell: &&[Row]| sizes(cell).map(|[classes, children, n0, _]| format!("{classes},{children},{n0}"));
    Ok(named("*C*, *N*_{ch}, *N*_{0}", cells.iter().map(name).collect::<Result<Vec<_>>>()?))
}

/// Table 1 at one learning rate: every column with its controls; below, what training adds.
fn levels(settings: &Table1, cells: &[&[Row]], rate: f64) -> Result<Figure> {
    let level = |s: usize| level_panel(cells, rate, s);
    let gain = |s: usize| gain_panel(cells, rate, s);
    let panels = vec![level(0)?, level(1)?, gain(0)?, gain(1)?];
    let name = Table1::NAME;
    let name = if rate == settings.rates[0] { name.to_string() } else { format!("{name}_rate_{rate:e}") };
    let Table1 { hidden, width, seeds, .. } = settings;
    Ok(Figure::page(name, "Latents against hidden units: what training adds", 2, panels).captioned(format!(
        "Above: NCorr_{{s}}, per latent of layer *s* the largest of its correlations with the {hidden} units of block \
         *s*, averaged over the latents, after {} steps at learning rate *η*; the same for the network before \
         training; for the trained units with the latents permuted over the classes; for normal noise in place of \
         units; and as printed (bars: standard deviation over 5 seeds). Below: trained minus untrained, paired by \
         seed, for the latents and for the permuted ones. Width {width}, {seeds} seeds; bars: {PERCENT} % intervals \
         over seeds (Student). The training data are at most *C* different sequences, which are the test data too. If \
         training aligns units with these latents, it adds more to their score than to that of permuted ones. The \
         interval of the difference lies above 0 in {}, and below 0 in {}; a score near 1 before training cannot rise.",
        settings.records.last(),
        counted(cells, |e| e.low > 0.0)?,
        counted(cells, |e| e.high < 0.0)?,
    )))
}

fn level_panel(cells: &[&[Row]], rate: f64, s: usize) -> Result<Panel> {
    let printed = cells.iter().enumerate().map(|(i, cell)| {
        let score = printed(cell)?.map(|row| row.score[s]);
        Ok(score.map(|(mean, sd)| Point::between(i as f64 + 1.0, mean, mean - sd, mean + sd)))
    });
    let printed: Vec<Option<Point>> = printed.collect::<Result<_>>()?;
    let printed = Series::bars("as printed", INK, printed.into_iter().flatten().collect());
    let title = format!("layer *s* = {s}, *η* = {}", power(rate));
    let trained = |cell: &[Row]| student(&lasts(cell, &format!("corr_{s}_{s}"))?);
    let untrained = |cell: &[Row]| student(&firsts(cell, &format!("corr_{s}_{s}"))?);
    let permuted = |cell: &[Row]| student(&lasts(cell, &format!("permuted_{s}"))?);
    let noise = |cell: &[Row]| student(&numbers(cell, &format!("noise_{s}"))?);
    Ok(Panel::new(title, places(cells)?, Axis::linear(format!("NCorr_{{{s}}}")).from_to(0.0, 1.05))
        .with(bars_over_seeds("trained", 0, side_by_side(cells, -0.24, trained)?))
        .with(bars_over_seeds("untrained", 1, side_by_side(cells, -0.12, untrained)?))
        .with(bars_over_seeds("latents permuted", 3, side_by_side(cells, 0.12, permuted)?))
        .with(bars_over_seeds("noise units", GREY, side_by_side(cells, 0.24, noise)?))
        .with(printed.with_interval("standard deviation over 5 seeds")))
}

/// A rate as a picture shows it: 10^{−4}, 3·10^{−5}.
pub fn power(rate: f64) -> String {
    let text = format!("{rate:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let power = format!("10^{{{}}}", exponent.replace('-', "−"));
    if digits == "1" { power } else { format!("{digits}·{power}") }
}

/// Changes of the score of layer s, less those of the score of the permuted latents, by seed.
fn excess(cell: &[Row], s: usize) -> Result<Vec<f64>> {
    Ok(minus(&gains(cell, &format!("corr_{s}_{s}"))?, &gains(cell, &format!("permuted_{s}"))?))
}

/// Counts the cells whose interval of the excess has a property: "1 of 8 cells for s = 0 and 5 of 8 for s = 1".
fn counted(cells: &[&[Row]], has: impl Fn(&Estimate) -> bool) -> Result<String> {
    let [bottom, top] = [0, 1].map(|s| count(cells, |cell| excess(cell, s), &has));
    let total = cells.len();
    Ok(format!("{} of {total} cells for *s* = 0 and {} of {total} for *s* = 1", bottom?, top?))
}

fn gain_panel(cells: &[&[Row]], rate: f64, s: usize) -> Result<Panel> {
    let title = format!("gain, *s* = {s}, *η* = {}", power(rate));
    let gain = |cell: &[Row]| student(&gains(cell, &format!("corr_{s}_{s}"))?);
    let permuted = |cell: &[Row]| student(&gains(cell, &format!("permuted_{s}"))?);
    let difference = |cell: &[Row]| student(&excess(cell, s)?);
    Ok(Panel::new(title, places(cells)?, Axis::linear("trained − untrained"))
        .with(bars_over_seeds("gain", 0, side_by_side(cells, -0.16, gain)?))
        .with(bars_over_seeds("gain of permuted latents", 3, side_by_side(cells, 0.0, permuted)?))
        .with(bars_over_seeds("difference", INK, side_by_side(cells, 0.16, difference)?))
        .ruled(Rule::horizontal("", 0.0)))
}

/// Loss and scores against steps.
fn course(settings: &Table1, cells: &[&[Row]]) -> Result<Figure> {
    let steps = settings.records.places(1.0);
    let rate = settings.rates[0];
    let curve = |i: usize, cell: &[Row], name: &str| -> Result<Series> {
        let [classes, children, n0, _] = sizes(cell)?;
        let label = format!("*C* = {classes}, *N*_{{ch}} = {children}, *N*_{{0}} = {n0}");
        Ok(Series::measured(label, i, draw::course(cell, name, &steps)?).with_interval(OVER_SEEDS))
    };
    let mut loss = Panel::new("loss", Axis::log("steps + 1"), Axis::log("cross-entropy (nats)"));
    for (i, cell) in cells.iter().enumerate() {
        loss = loss.with(curve(i, cell, "loss")?);
        let floor = stats::mean(&numbers(cell, "floor")?, LEVEL)?.value;
        if floor > 0.0 {
            let points = steps.iter().map(|x| Point::at(*x, floor)).collect();
            loss = loss.with(Series::predicted("least possible loss", i, points).drawn(Stroke::Dotted));
        }
    }
    let scores = |s: usize| {
        let (x, y) = (Axis::log("steps + 1"), Axis::linear(format!("NCorr_{{{s}}}")));
        Panel::new(format!("latents of layer {s}"), x, y)
            .curves(cells, |i, cell| curve(i, cell, &format!("corr_{s}_{s}")))
    };
    let name = format!("{}_training", Table1::NAME);
    let Table1 { width, seeds, .. } = settings;
    Ok(Figure::page(name, "Table 1 while training", 3, vec![loss, scores(0)?, scores(1)?]).captioned(format!(
        "Loss over all classes and NCorr of the two layers against steps, learning rate {}, width {width}, {seeds} \
         seeds; bands: {PERCENT} % intervals over seeds (Student). Dotted: the least loss possible, where classes \
         with equal tokens cannot be told apart.",
        power(rate),
    )))
}
