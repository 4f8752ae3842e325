//! The figure of the further controls of `joma_table1`: units of other blocks, fewer units, one unit per latent, latents
//! that never vary, and the effective number of dimensions of the units.

use super::Table1;
use super::pictures::{places, power, sizes};
use crate::experiments::paired::{count, gains};
use attnlab_core::format::significant;
use attnlab_lab::experiment::draw::*;
use attnlab_lab::figure::{Axis, Panel, Point, Rule};
use attnlab_lab::prelude::*;

/// The scores of a layer, by name in the rows, with their labels and colours.
fn scores(settings: &Table1, s: usize) -> Vec<(String, String, usize)> {
    let mut scores = vec![(format!("corr_{s}_{s}"), "own block".to_string(), 0)];
    for b in (0..settings.blocks).filter(|b| *b != s) {
        let place = if b > s { "a block above" } else { "a block below" };
        // One entry in the legend for all blocks above.
        scores.push((format!("corr_{s}_{b}"), place.into(), if b > s { 1 } else { 2 }));
    }
    scores.push((format!("few_{s}"), format!("own block, {} units", settings.few), 4));
    scores.push((format!("matched_{s}"), "one unit per latent".into(), 5));
    scores
}

/// Numbers of every cell, side by side in groups: by name, label and colour.
fn grouped(
    panel: Panel,
    cells: &[&[Row]],
    names: &[(String, String, usize)],
    numbers: impl Fn(&[Row], &str) -> Result<Vec<f64>>,
) -> Result<Panel> {
    let middle = 0.5 * (names.len() as f64 - 1.0);
    panel.curves(names, |k, (name, label, colour)| {
        let points = side_by_side(cells, 0.13 * (k as f64 - middle), |cell| student(&numbers(cell, name)?))?;
        Ok(bars_over_seeds(label, *colour, points))
    })
}

/// The figure, from the cells of one learning rate.
pub fn figure(settings: &Table1, cells: &[&[Row]]) -> Result<Figure> {
    let trained = |s: usize| {
        let y = Axis::linear(format!("score, *s* = {s}")).from_to(0.0, 1.05);
        grouped(Panel::new(format!("layer *s* = {s}, trained"), places(cells)?, y), cells, &scores(settings, s), lasts)
    };
    let gain = |s: usize| changes(&format!("gain, *s* = {s}"), cells, &scores(settings, s));
    let dimensions =
        [(0, 3), (1, 6)].map(|(b, colour)| (format!("dimension_{b}"), format!("units of block {b}"), colour));
    let dimensions = changes("dimensions of the units", cells, &dimensions)?;
    let panels = vec![trained(0)?, trained(1)?, unused(cells)?, gain(0)?, gain(1)?, dimensions];
    let title = "Table 1: other blocks, fewer units, one unit per latent";
    Ok(Figure::page(format!("{}_controls", Table1::NAME), title, 3, panels).captioned(caption(settings, cells)?))
}

/// Changes by training.
fn changes(title: &str, cells: &[&[Row]], names: &[(String, String, usize)]) -> Result<Panel> {
    let panel = Panel::new(title, places(cells)?, Axis::linear("trained − untrained")).ruled(Rule::horizontal("", 0.0));
    grouped(panel, cells, names, gains)
}

/// Shares of the latents that no class uses.
fn unused(cells: &[&[Row]]) -> Result<Panel> {
    let y = Axis::linear("share of the latents").from_to(0.0, 0.5);
    Panel::new("latents left out", places(cells)?, y).curves([0, 1], |_, s| {
        let point = |(i, cell): (usize, &&[Row])| {
            let latents = sizes(cell)?[2 + s] as f64;
            let shares: Vec<f64> = numbers(cell, &format!("constant_{s}"))?.into_iter().map(|n| n / latents).collect();
            mean_at(i as f64 + 0.9 + 0.2 * s as f64, &shares)
        };
        let points = cells.iter().enumerate().map(point).collect::<Result<Vec<Point>>>()?;
        Ok(bars_over_seeds(format!("unused, *s* = {s}"), 3 + 3 * s, points))
    })
}

fn caption(settings: &Table1, cells: &[&[Row]]) -> Result<String> {
    let larger = count(cells, |cell| gains(cell, "dimension_1"), |gain| gain.low > 0.0)?;
    let before = cells.iter().map(|cell| firsts(cell, "dimension_1")).collect::<Result<Vec<_>>>()?.concat();
    let Table1 { hidden, few, width, seeds, .. } = settings;
    Ok(format!(
        "(a), (b): mean over the latents of layer *s* of the largest correlation with the {hidden} units of block \
         *s*; with the units of the other blocks; with the first {few} units of block *s*; and with one unit per \
         latent, no unit for two (Hungarian method), after {} steps at *η* = {}. (d), (e): the same, trained minus \
         untrained, paired by seed. (c): share of the latents that are left out because no class, or every class, \
         uses them. (f): change by training of the effective number of dimensions of the units of a block over the \
         *C* sequences, (Σ*λ*)²/Σ*λ*² of the eigenvalues of their correlations; the more there are, the larger the \
         largest correlation with any pattern. Before training block 1 has {}; the interval of its change lies above \
         0 in {larger} of {} cells. Width {width}, {seeds} seeds; bars: {PERCENT} % intervals over seeds (Student).",
        settings.records.last(),
        power(settings.rates[0]),
        significant(attnlab_core::stats::mean(&before, LEVEL)?.value, 2),
        cells.len(),
    ))
}
