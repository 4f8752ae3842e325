//! The figure of `joma_patterns`, from its rows.

use super::JomaPatterns;
use attnlab_lab::experiment::draw::{OVER_SEEDS, PERCENT, bars_over_seeds, cells, course, lists, mean_at};
use attnlab_lab::figure::{Axis, Cell, GREY, Heat, Panel, Point, Series};
use attnlab_lab::prelude::*;

/// Share of units by the number of patterns that they hold.
fn histogram(settings: &JomaPatterns, rows: &[Row], name: &str, shift: f64) -> Result<Vec<Point>> {
    let held = lists(rows, name)?;
    let most = held.iter().flatten().fold(2.0_f64, |m, x| m.max(*x)).min(settings.patterns as f64);
    (0..=most as usize)
        .map(|count| {
            let share =
                |held: &Vec<f64>| held.iter().filter(|n| **n == count as f64).count() as f64 / held.len() as f64;
            let shares: Vec<f64> = held.iter().map(share).collect();
            mean_at(count as f64 + shift, &shares)
        })
        .collect()
}

/// The figure of these settings, from their rows.
pub fn figures(settings: &JomaPatterns, rows: &[Row]) -> Result<Vec<Figure>> {
    let rows = cells(JomaPatterns::NAME, rows)?[0];
    let steps = settings.records.places(1.0);
    let y = Axis::linear("share").from_to(0.0, 1.0);
    let shares = Panel::new("while training", Axis::log("steps + 1"), y).curves(
        [
            ("superposed", "units with two patterns or more", 0),
            ("permuted", "the same, queries permuted", 3),
            ("accuracy", "accuracy of the network", GREY),
            ("mass", "attention on the pattern", 2),
        ],
        |_, (name, label, colour)| {
            Ok(Series::measured(label, colour, course(rows, name, &steps)?).with_interval(OVER_SEEDS))
        },
    )?;
    let y = Axis::linear("share of units").from_to(0.0, 1.0);
    let counts = Panel::new("patterns per unit", Axis::whole("patterns held"), y)
        .with(bars_over_seeds("trained", 0, histogram(settings, rows, "held", -0.12)?))
        .with(bars_over_seeds("trained, queries permuted", 3, histogram(settings, rows, "held_permuted", 0.0)?))
        .with(bars_over_seeds("before training", 1, histogram(settings, rows, "held_start", 0.12)?));
    let panels = vec![shares, counts, response(settings, &rows[0])?];
    let JomaPatterns { width, hidden, patterns, margin, seeds, draws, .. } = settings;
    Ok(vec![Figure::page(JomaPatterns::NAME, "Pattern superposition in a trained network", 3, panels).captioned(
        format!(
            "A block of width {width} with {hidden} hidden units learns which of {patterns} patterns fits its query. \
         (a): share of units whose response to two or more queries is largest, by {margin} standard errors on either \
         side, for the query's own pattern; the same with the queries permuted; accuracy; share of the query's \
         attention on its pattern, which has {} of the tokens. (b): number of patterns that a unit holds. (c): mean \
         response, by query and pattern, of the unit that holds most in the first training. {seeds} seeds; bands in \
         (a) and bars in (b): {PERCENT} % intervals over seeds (Student); {draws} sequences per response.",
            attnlab_core::format::significant(rows[0].number("tokens")?, 2),
        ),
    )])
}

/// R of one unit.
fn response(settings: &JomaPatterns, row: &Row) -> Result<Panel> {
    let n = settings.patterns;
    let response = row.series("response")?;
    let most = response.iter().fold(0.0_f64, |m, x| m.max(*x));
    let index: Vec<f64> = (1..=n).map(|i| i as f64).collect();
    let bar = Axis::linear("mean response").from_to(0.0, most.max(1e-9));
    // Rows of the map are queries.
    let heat = Heat::over(&index, &index, bar, |j, i| Cell::of(response[i * n + j]));
    let panel = Panel::new("one unit", Axis::whole("pattern"), Axis::whole("query").downwards()).coloured(heat);
    Ok(Panel { square: true, ..panel })
}
