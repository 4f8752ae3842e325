//! The figures of `joma_text`, from its rows.

use super::{JomaText, PLAIN, THEOREM_1};
use crate::quantities::{BLOCKS, CONTROL, LEARNING_RATE};
use crate::theory::attention_entropy::{VISIBLE, drop_and_rebound};
use attnlab_core::error::Result;
use attnlab_core::format::significant;
use attnlab_core::stats::binomial;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{self, LEVEL, OVER_SEEDS, cells, mean_at, panel, with_word};
use attnlab_lab::figure::{Axis, Figure, Panel, Point, Rule, Series, Stroke, Width};
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
        found.push(controls(settings, &cells)?);
    }
    for cell in with_word(&cells, CONTROL.name, THEOREM_1) {
        found.push(invariant(settings, cell)?);
    }
    found.push(ranks(settings, &plain)?);
    Ok(found)
}

fn blocks(cell: &[Row]) -> Result<usize> {
    Ok(cell[0].parameter(BLOCKS.name)? as usize)
}

/// Mean of a series over the seeds, at the recorded steps.
fn band(settings: &JomaText, cell: &[Row], name: &str) -> Result<Vec<Point>> {
    draw::course(cell, name, &settings.records().places(0.0))
}

fn curve(label: impl Into<String>, colour: usize, points: Vec<Point>) -> Series {
    Series::fitted(label, colour, points).with_interval(OVER_SEEDS)
}

/// Entropy of uniform causal attention, ln(n!)/n.
fn ceiling(window: usize) -> f64 {
    (1..=window).map(|n| (n as f64).ln()).sum::<f64>() / window as f64
}

/// Least validation loss of the mean curve.
fn least_loss(settings: &JomaText, cell: &[Row]) -> Result<f64> {
    let points = band(settings, cell, "loss")?;
    Ok(points.iter().fold(f64::INFINITY, |m, p| m.min(p.y)))
}

/// Drop and rebound of the entropy of block b in every training.
fn drops_and_rebounds(cell: &[Row], block: usize) -> Result<Vec<(f64, f64)>> {
    let of = |row: &Row| Ok(drop_and_rebound(&row.series(&format!("entropy_{block}"))?));
    cell.iter().map(of).collect()
}

/// Counts the trainings that show both, and all.
fn visible(pairs: &[(f64, f64)]) -> (u64, u64) {
    let both = |(drop, rebound): &&(f64, f64)| *drop >= VISIBLE && *rebound >= VISIBLE;
    (pairs.iter().filter(both).count() as u64, pairs.len() as u64)
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

fn size(settings: &JomaText) -> String {
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
    let mut panels = vec![];
    let mut words = vec![];
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
            found
                .series
                .push(curve(format!("layer {}", block + 1), block, points));
        }
        found.rules.push(Rule::horizontal(
            "uniform attention",
            ceiling(settings.window),
        ));
        panels.push(found);
        let percent = |x: f64| significant(100.0 * x, 2);
        let mut shown = vec![];
        for block in 0..count {
            let (both, of) = visible(&drops_and_rebounds(cell, block)?);
            let e = binomial(both, of, LEVEL)?;
            let (layer, low, high) = (block + 1, percent(e.low), percent(e.high));
            shown.push(format!(
                "layer {layer} in {both} of {of} ({low} to {high} %)"
            ));
        }
        words.push(format!("of {count} at {rate}, {}", shown.join(", ")));
    }
    Ok(Figure {
        name: JomaText::NAME.into(),
        title: "Entropy of attention while a text is learnt".into(),
        caption: format!(
            "Mean entropy of attention over the validation windows and positions, by layer (1: next to the input); \
             in the title the least mean validation loss. {}. Drop and rebound, each at least {VISIBLE} nats, by \
             number of layers and rate: {}.",
            size(settings),
            words.join("; "),
        ),
        width: Width::Page,
        columns: panels.len().min(2),
        panels,
    })
}

/// The cells of the network that controls are compared with, and those of the controls, with their names.
fn with_controls<'a>(
    settings: &'a JomaText,
    cells: &[&'a [Row]],
) -> Result<Vec<(&'a str, &'a [Row])>> {
    let mut shown = vec![];
    let names = settings.controls.iter().map(String::as_str);
    let names = std::iter::once(PLAIN).chain(names.filter(|c| *c != PLAIN && *c != THEOREM_1));
    for name in names {
        for cell in with_word(cells, CONTROL.name, name) {
            let rate = cell[0].parameter(LEARNING_RATE.name)?;
            if blocks(cell)? == settings.control_layers && rate == settings.rates[0] {
                shown.push((name, cell));
            }
        }
    }
    Ok(shown)
}

/// The name of a control in a legend.
fn control_label(name: &str) -> &'static str {
    match name {
        PLAIN => "as trained",
        "frozen" => "attention frozen",
        "linear" => "linear units",
        "shuffled" => "shuffled text",
        _ => "blocks start apart",
    }
}

/// The top layer under every control, and its drop and rebound.
fn controls(settings: &JomaText, cells: &[&[Row]]) -> Result<Figure> {
    let count = settings.control_layers;
    let top = count - 1;
    let shown = with_controls(settings, cells)?;
    let mut curves = panel(
        format!("top layer of {count}"),
        Axis::linear("steps"),
        Axis::linear("entropy (nats)").from_to(0.0, 1.08 * ceiling(settings.window)),
    );
    let mut losses = panel(
        "loss",
        Axis::linear("steps"),
        Axis::linear("validation loss (nats)"),
    );
    let mut bars = panel(
        "drop and rebound",
        Axis::linear("").from_to(0.4, shown.len() as f64 + 0.6),
        Axis::linear("nats"),
    );
    for (i, (name, cell)) in shown.iter().enumerate() {
        let label = control_label(name);
        let points = band(settings, cell, &format!("entropy_{top}"))?;
        curves.series.push(curve(label, i, points));
        losses
            .series
            .push(curve(label, i, band(settings, cell, "loss")?));
        let x = i as f64 + 1.0;
        bars.x.ticks.push((x, name.to_string()));
        let pairs = drops_and_rebounds(cell, top)?;
        let (drops, rebounds): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        for (which, (values, name)) in [(drops, "drop"), (rebounds, "rebound")]
            .into_iter()
            .enumerate()
        {
            let point = mean_at(x + 0.2 * (which as f64 - 0.5), &values)?;
            let series = Series::bars(name, 5 + which, vec![point]).with_interval(OVER_SEEDS);
            bars.series.push(series);
        }
    }
    curves.rules.push(Rule::horizontal(
        "uniform attention",
        ceiling(settings.window),
    ));
    bars.rules.push(Rule::horizontal("", VISIBLE));
    Ok(Figure {
        name: format!("{}_controls", JomaText::NAME),
        title: "Attention entropy against its controls".into(),
        caption: format!(
            "Top of {count} layers, rate {}: as trained; with queries and keys as at the start (frozen); with linear \
             hidden units, for which the paper expects no rebound; on the text with its words in random order, which \
             has nothing to attend to but frequencies; with blocks that do not start equal (own). Left: entropy; middle: validation \
             loss; right: drop and rebound, the line at {VISIBLE} nats. {}.",
            settings.rates[0],
            size(settings),
        ),
        width: Width::Page,
        columns: 3,
        panels: vec![curves, losses, bars],
    })
}

/// Theorem 1's invariant on the same text, and the entropy of that attention.
fn invariant(settings: &JomaText, cell: &[Row]) -> Result<Figure> {
    let sizes = &settings.theorem1;
    let steps = sizes.records();
    let mut drifts = panel(
        "drift of *z* − ½Σ*v*²",
        Axis::linear("steps"),
        Axis::log("relative to the change of *z*"),
    );
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
    let mut entropy = panel(
        "its attention",
        Axis::linear("steps"),
        Axis::linear("entropy (nats)"),
    );
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
            format!(
                "{count} {}, *η* = {rate}",
                if count == 1 { "layer" } else { "layers" }
            ),
            Axis::linear("steps"),
            Axis::linear("stable rank of *W*_{1}").from_to(0.0, 1.5 * chance),
        );
        for block in 0..count {
            let label = format!("layer {}", block + 1);
            found.series.push(curve(
                label,
                block,
                band(settings, cell, &format!("rank_{block}"))?,
            ));
            for (name, label, stroke) in [
                ("permuted", "entries permuted", Stroke::Dashed),
                ("moved", "*W*_{1}(*t*) − *W*_{1}(0)", Stroke::Dotted),
            ] {
                let points = band(settings, cell, &format!("{name}_{block}"))?;
                let points = points.into_iter().map(|p| Point::at(p.x, p.y)).collect();
                // One entry in the legend; the colour is the layer's.
                let label = if block == 0 { label } else { "" };
                found.series.push(Series {
                    stroke,
                    ..Series::predicted(label, block, points)
                });
            }
        }
        found
            .rules
            .push(Rule::horizontal("independent entries", chance));
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
