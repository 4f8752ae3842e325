//! The figures of `joma_text`, from its rows.

use super::{JomaText, PLAIN, THEOREM_1, controls};
use crate::quantities::{BLOCKS, CONTROL, LEARNING_RATE};
use crate::theory::attention_entropy::{VISIBLE, drop_and_rebound};
use attnlab_core::error::Result;
use attnlab_core::format::significant;
use attnlab_core::stats::{self, binomial};
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{self, LEVEL, OVER_SEEDS, cells, panel, with_word};
use attnlab_lab::figure::{Axis, Figure, GREY, Panel, Point, Rule, Series, Stroke, Width};
use attnlab_lab::run::Row;

/// The figures of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figures(settings: &JomaText, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(JomaText::NAME, rows)?;
    let plain = with_word(&cells, CONTROL.name, PLAIN);
    let mut found = vec![entropies(settings, &plain)?];
    if settings.controls.iter().any(|c| c != THEOREM_1) {
        found.push(controls::figure(settings, &cells)?);
    }
    for cell in with_word(&cells, CONTROL.name, THEOREM_1) {
        found.push(invariant(settings, cell)?);
    }
    found.push(positions(settings, &plain)?);
    found.push(ranks(settings, &plain)?);
    Ok(found)
}

pub(super) fn blocks(cell: &[Row]) -> Result<usize> {
    Ok(cell[0].parameter(BLOCKS.name)? as usize)
}

/// Mean of a series over the seeds, at the recorded steps.
pub(super) fn band(settings: &JomaText, cell: &[Row], name: &str) -> Result<Vec<Point>> {
    draw::course(cell, name, &settings.records().places(0.0))
}

pub(super) fn curve(label: impl Into<String>, colour: usize, points: Vec<Point>) -> Series {
    Series::fitted(label, colour, points).with_interval(OVER_SEEDS)
}

/// Kind of the intervals of shares of trainings.
const OVER_TRAININGS: &str = "95 % interval, binomial";

/// Entropy of uniform causal attention, ln(n!)/n.
pub(super) fn ceiling(window: usize) -> f64 {
    (1..=window).map(|n| (n as f64).ln()).sum::<f64>() / window as f64
}

/// Least validation loss of the mean curve.
fn least_loss(settings: &JomaText, cell: &[Row]) -> Result<f64> {
    let points = band(settings, cell, "loss")?;
    Ok(points.iter().fold(f64::INFINITY, |m, p| m.min(p.y)))
}

/// Drop and rebound of the entropy of block b in every training.
pub(super) fn drops_and_rebounds(cell: &[Row], block: usize) -> Result<Vec<(f64, f64)>> {
    let of = |row: &Row| Ok(drop_and_rebound(&row.series(&format!("entropy_{block}"))?));
    cell.iter().map(of).collect()
}

/// Counts the trainings that show both, and all.
fn visible(pairs: &[(f64, f64)]) -> (u64, u64) {
    let both = |(drop, rebound): &&(f64, f64)| *drop >= VISIBLE && *rebound >= VISIBLE;
    (pairs.iter().filter(both).count() as u64, pairs.len() as u64)
}

/// A panel of shares of trainings with drop and rebound.
pub(super) fn share_panel(label: &str) -> Panel {
    panel("both at least .1 nats", Axis::linear(label), Axis::linear("share of the trainings").from_to(0.0, 1.05))
}

/// Adds the share of the trainings that show both to such a panel, under its tick, and returns it.
pub(super) fn add_share(
    panel: &mut Panel,
    series: (&str, usize),
    tick: String,
    pairs: &[(f64, f64)],
) -> Result<stats::Estimate> {
    let (both, of) = visible(pairs);
    let found = binomial(both, of, LEVEL)?;
    let x = panel.x.ticks.len() as f64 + 1.0;
    panel.x.ticks.push((x, tick));
    panel.x.range = Some((0.4, x + 0.6));
    let point = Point::between(x, found.value, found.low, found.high);
    let series = Series::bars(series.0, series.1, vec![point]);
    panel.series.push(series.with_interval(OVER_TRAININGS));
    Ok(found)
}

/// The text in a few words.
fn described(settings: &JomaText) -> String {
    match (settings.text.as_str(), settings.source.as_str()) {
        ("", source) => {
            let law = match source {
                "chain" => "a Markov chain",
                "latents" => "documents of a latent tree",
                _ => "documents with a topic each",
            };
            format!("{law}, {} words", settings.vocabulary)
        }
        (path, _) => {
            let name = std::path::Path::new(path).file_name();
            name.map_or(path.to_string(), |n| n.to_string_lossy().to_string())
        }
    }
}

pub(super) fn size(settings: &JomaText) -> String {
    format!(
        "Text: {}; width {}, windows of {} words, dropout {}, {} seeds; bands: {} % intervals over seeds \
         (Student)",
        described(settings),
        settings.width,
        settings.window,
        settings.dropout,
        settings.seeds,
        100.0 * LEVEL,
    )
}

/// Figs. 6 and 8.
fn entropies(settings: &JomaText, plain: &[&[Row]]) -> Result<Figure> {
    let mut panels: Vec<Panel> = vec![];
    let mut words = vec![];
    let mut shares = share_panel("layer");
    for cell in plain {
        let count = blocks(cell)?;
        let rate = cell[0].parameter(LEARNING_RATE.name)?;
        let mut found = panel(
            format!(
                "{count} {}, *η* = {rate}: loss {}",
                if count == 1 { "layer" } else { "layers" },
                significant(least_loss(settings, cell)?, 4)
            ),
            Axis::linear("steps"),
            Axis::linear("entropy (nats)").from_to(0.0, 1.08 * ceiling(settings.window)),
        );
        for block in 0..count {
            let points = band(settings, cell, &format!("entropy_{block}"))?;
            found.series.push(curve(format!("layer {}", block + 1), block, points));
        }
        found.rules.push(Rule::horizontal("uniform attention", ceiling(settings.window)));
        panels.push(found);
        let percent = |x: f64| significant(100.0 * x, 2);
        let label = format!("{count} at {rate}");
        let mut shown = vec![];
        for block in 0..count {
            let pairs = drops_and_rebounds(cell, block)?;
            let layer = block + 1;
            let series = (label.as_str(), panels.len() - 1);
            let e = add_share(&mut shares, series, format!("{layer} of {count}"), &pairs)?;
            let (both, of) = visible(&pairs);
            let (low, high) = (percent(e.low), percent(e.high));
            shown.push(format!("layer {layer} in {both} of {of} ({low} to {high} %)"));
        }
        words.push(format!("of {count} at {rate}, {}", shown.join(", ")));
    }
    panels.push(shares);
    Ok(Figure {
        name: JomaText::NAME.into(),
        title: "Entropy of attention while a text is learnt".into(),
        caption: format!(
            "Mean entropy of attention over the validation windows and positions, by layer (1: next to the input); \
             in the title the least mean validation loss. {}. Last panel: share of the trainings with drop and rebound, \
             each at least {VISIBLE} nats, with exact 95 % intervals, by number of layers and rate: {}.",
            size(settings),
            words.join("; "),
        ),
        width: Width::Page,
        columns: panels.len().min(3),
        panels,
    })
}

/// Theorem 1's invariant on the same text, and the entropy of that attention.
fn invariant(settings: &JomaText, cell: &[Row]) -> Result<Figure> {
    let sizes = &settings.theorem1;
    let steps = sizes.records();
    let mut drifts = panel("drift of *z* − ½Σ*v*²", Axis::linear("steps"), Axis::log("relative to the change of *z*"));
    for (name, label, colour) in [
        ("drift", "step size *η*", 0),
        ("drift_half", "*η*/2", 2),
        ("drift_factor", "control: .55 Σ*v*²", 3),
        ("drift_softmax", "control: softmax", 1),
    ] {
        // Nothing has moved at the start.
        let points = draw::band(cell, name, &steps)?.split_off(1);
        drifts.series.push(draw::curve(label, colour, points));
    }
    let mut entropy = panel("its attention", Axis::linear("steps"), Axis::linear("entropy (nats)"));
    let points = draw::band(cell, "entropy", &steps)?;
    entropy.series.push(draw::curve("", 0, points));
    Ok(Figure {
        name: format!("{}_theorem1", JomaText::NAME),
        title: "Theorem 1 on the text".into(),
        caption: format!(
            "One layer of Eq. (1), exp attention with free logits, ReLU nodes, gradient descent with *η* = {} on the \
             cross-entropy of the word after the most frequent one ({} classes), from the words before {} of its \
             occurrences. (a): largest change since the start of *z* − ½Σ*v*², relative to the largest change of *z*: \
             Theorem 1 has 0 for the flow, so what is left must halve with the step size, and does not for another factor \
             or for softmax attention. (b): entropy of the attention. Text: {}; {} seeds; median and {}.",
            sizes.eta,
            sizes.classes,
            cell[0].number("samples")?,
            described(settings),
            settings.seeds,
            draw::BAND,
        ),
        width: Width::Page,
        columns: 2,
        panels: vec![drifts, entropy],
    })
}

/// Entropies by position, of the bottom and the top layer of every network.
fn positions(settings: &JomaText, plain: &[&[Row]]) -> Result<Figure> {
    let places: Vec<f64> = (1..=settings.window).map(|n| n as f64).collect();
    let uniform: Vec<Point> = places.iter().map(|n| Point::at(*n, n.ln())).collect();
    let mut panels = vec![];
    for cell in plain {
        let count = blocks(cell)?;
        let rate = cell[0].parameter(LEARNING_RATE.name)?;
        let shown = if count == 1 { vec![0] } else { vec![0, count - 1] };
        for block in shown {
            let mut found = panel(
                format!("layer {} of {count}, *η* = {rate}", block + 1),
                Axis::linear("position"),
                Axis::linear("entropy (nats)").from_to(0.0, 1.08 * (settings.window as f64).ln()),
            );
            for (name, label, colour) in
                [("start", "before training", 1), ("least", "at the least mean", 3), ("end", "at the end", 0)]
            {
                let points = draw::course(cell, &format!("{name}_{block}"), &places)?;
                found.series.push(curve(label, colour, points));
            }
            found.series.push(Series::predicted("uniform attention", GREY, uniform.clone()));
            panels.push(found);
        }
    }
    Ok(Figure {
        name: format!("{}_positions", JomaText::NAME),
        title: "Entropy of attention by position".into(),
        caption: format!(
            "Mean entropy of attention over the validation windows against the position of the query, for the bottom and \
             the top layer: before training, at the record where the mean over the positions is least in that training, \
             and at the end. Dashed: ln *n*, uniform attention on *n* words. {}.",
            size(settings),
        ),
        width: Width::Page,
        columns: panels.len().min(3),
        panels,
    })
}

/// Fig. 7: stable ranks of W_1.
fn ranks(settings: &JomaText, plain: &[&[Row]]) -> Result<Figure> {
    let mut panels: Vec<Panel> = vec![];
    let n = settings.width as f64;
    // mn/(√m + √n)² with m = n.
    let chance = n / 4.0;
    for cell in plain {
        let count = blocks(cell)?;
        let rate = cell[0].parameter(LEARNING_RATE.name)?;
        let mut found = panel(
            format!("{count} {}, *η* = {rate}", if count == 1 { "layer" } else { "layers" }),
            Axis::linear("steps"),
            Axis::linear("stable rank of *W*_{1}").from_to(0.0, 1.5 * chance),
        );
        for block in 0..count {
            let label = format!("layer {}", block + 1);
            found.series.push(curve(label, block, band(settings, cell, &format!("rank_{block}"))?));
            for (name, label, stroke) in [
                ("permuted", "entries permuted", Stroke::Dashed),
                ("moved", "*W*_{1}(*t*) − *W*_{1}(0)", Stroke::Dotted),
            ] {
                let points = band(settings, cell, &format!("{name}_{block}"))?;
                // One entry in the legend; the colour is the layer's.
                found.series.push(match block {
                    0 => curve(label, block, points).drawn(stroke),
                    _ => curve(format!("{label}, layer {}", block + 1), block, points).drawn(stroke).unlisted(),
                });
            }
        }
        found.rules.push(Rule::horizontal("independent entries", chance));
        panels.push(found);
    }
    Ok(Figure {
        name: format!("{}_ranks", JomaText::NAME),
        title: "Stable rank of the lower MLP matrix while a text is learnt".into(),
        caption: format!(
            "‖*W*_{{1}}‖_{{F}}²/*σ*_{{max}}² of the map into the hidden units, by layer; dashed: the same entries in \
             random order; dotted: the change since the start; line: independent entries of one variance, \
             *mn*/(√*m* + √*n*)² = {}. {}.",
            significant(chance, 3),
            size(settings),
        ),
        width: Width::Page,
        columns: panels.len().min(2),
        panels,
    })
}
