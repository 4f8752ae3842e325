//! The figures of `joma_text`, from its rows.

use super::invariant::Invariant;
use super::{JomaText, PLAIN, THEOREM_1, controls};
use crate::quantities::{BLOCKS, CONTROL, LEARNING_RATE};
use crate::theory::attention_entropy::{VISIBLE, drop_and_rebound};
use attnlab_core::format::significant;
use attnlab_core::stats::{Estimate, binomial};
use attnlab_lab::experiment::draw::*;
use attnlab_lab::figure::{Axis, GREY, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;

/// The figures of these settings, from their rows.
pub fn figures(settings: &JomaText, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(JomaText::NAME, rows)?;
    let plain = with_word(&cells, CONTROL, PLAIN);
    let mut figures = vec![entropies(settings, &plain)?];
    if settings.controls.iter().any(|c| c != THEOREM_1) {
        figures.push(controls::figure(settings, &cells)?);
    }
    for cell in with_word(&cells, CONTROL, THEOREM_1) {
        figures.push(invariant(settings, cell)?);
    }
    figures.push(positions(settings, &plain)?);
    figures.push(ranks(settings, &plain)?);
    Ok(figures)
}

/// Number of layers and learning rate of a cell.
pub(super) fn network(cell: &[Row]) -> Result<(usize, f64)> {
    Ok((cell[0].parameter(BLOCKS.name)? as usize, cell[0].parameter(LEARNING_RATE.name)?))
}

/// Name of the network of a cell, for a title.
fn network_name(cell: &[Row]) -> Result<String> {
    let (count, rate) = network(cell)?;
    Ok(format!("{count} {}, *η* = {rate}", if count == 1 { "layer" } else { "layers" }))
}

/// Entropy of uniform causal attention, ln(n!)/n.
pub(super) fn ceiling(window: usize) -> f64 {
    (1..=window).map(|n| (n as f64).ln()).sum::<f64>() / window as f64
}

/// A panel for entropies against `x`, with room for uniform attention.
pub(super) fn entropy_panel(title: impl Into<String>, x: &str, uniform: f64) -> Panel {
    Panel::new(title, Axis::linear(x), Axis::linear("entropy (nats)").from_to(0.0, 1.08 * uniform))
}

/// Drop and rebound of the entropy of block b in every training.
pub(super) fn drops_and_rebounds(cell: &[Row], block: usize) -> Result<Vec<(f64, f64)>> {
    Ok(lists(cell, &format!("entropy_{block}"))?.iter().map(|entropy| drop_and_rebound(entropy)).collect())
}

/// Counts the trainings that show both, and all.
pub(super) fn visible(pairs: &[(f64, f64)]) -> (u64, u64) {
    let both = |(drop, rebound): &&(f64, f64)| *drop >= VISIBLE && *rebound >= VISIBLE;
    (pairs.iter().filter(both).count() as u64, pairs.len() as u64)
}

/// A share of trainings: its tick, its entry in the legend, its colour, and the estimate.
pub(super) type Share = (String, String, usize, Estimate);

/// A panel of shares of trainings with drop and rebound.
pub(super) fn share_panel(label: &str, shares: Vec<Share>) -> Panel {
    let x = named(label, shares.iter().map(|(tick, ..)| tick.clone()));
    let bar = |(i, (_, entry, colour, share)): (usize, Share)| {
        Series::bars(entry, colour, vec![Point::at(i as f64 + 1.0, share)]).with_interval("95 % interval, binomial")
    };
    Panel::new("both at least .1 nats", x, Axis::linear("share of the trainings").from_to(0.0, 1.05))
        .with_each(shares.into_iter().enumerate().map(bar))
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
            std::path::Path::new(path).file_name().map_or(path.to_string(), |n| n.to_string_lossy().to_string())
        }
    }
}

pub(super) fn size(settings: &JomaText) -> String {
    let JomaText { width, window, dropout, seeds, .. } = settings;
    format!(
        "Text: {}; width {width}, windows of {window} words, dropout {dropout}, {seeds} seeds; bands: {PERCENT} % \
         intervals over seeds (Student)",
        described(settings),
    )
}

/// Figs. 6 and 8.
fn entropies(settings: &JomaText, plain: &[&[Row]]) -> Result<Figure> {
    let steps = settings.records().places(0.0);
    let uniform = ceiling(settings.window);
    let percent = |x: f64| significant(100.0 * x, 2);
    let (mut panels, mut shares, mut words) = (vec![], vec![], vec![]);
    for (i, cell) in plain.iter().enumerate() {
        let (count, rate) = network(cell)?;
        let least_loss = course(cell, "loss", &steps)?.iter().fold(f64::INFINITY, |least, p| least.min(p.y));
        let title = format!("{}: loss {}", network_name(cell)?, significant(least_loss, 4));
        let panel = entropy_panel(title, "steps", uniform).curves(0..count, |_, block| {
            let points = course(cell, &format!("entropy_{block}"), &steps)?;
            Ok(curve_over_seeds(format!("layer {}", block + 1), block, points))
        })?;
        panels.push(panel.ruled(Rule::horizontal("uniform attention", uniform)));
        let mut counts = vec![];
        for block in 0..count {
            let layer = block + 1;
            let (both, of) = visible(&drops_and_rebounds(cell, block)?);
            let share = binomial(both, of, LEVEL)?;
            let (low, high) = (percent(share.low), percent(share.high));
            counts.push(format!("layer {layer} in {both} of {of} ({low} to {high} %)"));
            shares.push((format!("{layer} of {count}"), format!("{count} at {rate}"), i, share));
        }
        words.push(format!("of {count} at {rate}, {}", counts.join(", ")));
    }
    panels.push(share_panel("layer", shares));
    let title = "Entropy of attention while a text is learnt";
    Ok(Figure::page(JomaText::NAME, title, panels.len().min(3), panels).captioned(format!(
        "Mean entropy of attention over the validation windows and positions, by layer (1: next to the input); \
         in the title the least mean validation loss. {}. Last panel: share of the trainings with drop and rebound, \
         each at least {VISIBLE} nats, with exact 95 % intervals, by number of layers and rate: {}.",
        size(settings),
        words.join("; "),
    )))
}

/// Theorem 1's invariant on the same text, and the entropy of that attention.
fn invariant(settings: &JomaText, cell: &[Row]) -> Result<Figure> {
    let JomaText { theorem1: sizes @ Invariant { eta, classes, .. }, seeds, .. } = settings;
    let steps = sizes.records();
    let y = Axis::log("relative to the change of *z*");
    let drifts = Panel::new("drift of *z* − ½Σ*v*²", Axis::linear("steps"), y).curves(
        [
            ("drift", "step size *η*", 0),
            ("drift_half", "*η*/2", 2),
            ("drift_factor", "control: .55 Σ*v*²", 3),
            ("drift_softmax", "control: softmax", 1),
        ],
        // Nothing has moved at the start.
        |_, (name, label, colour)| Ok(curve(label, colour, band(cell, name, &steps)?.split_off(1))),
    )?;
    let entropy = curve("", 0, band(cell, "entropy", &steps)?);
    let entropy = Panel::new("its attention", Axis::linear("steps"), Axis::linear("entropy (nats)")).with(entropy);
    let name = format!("{}_theorem1", JomaText::NAME);
    Ok(Figure::page(name, "Theorem 1 on the text", 2, vec![drifts, entropy]).captioned(format!(
        "One layer of Eq. (1), exp attention with free logits, ReLU nodes, gradient descent with *η* = {eta} on the \
         cross-entropy of the word after the most frequent one ({classes} classes), from the words before {} of its \
         occurrences. (a): largest change since the start of *z* − ½Σ*v*², relative to the largest change of *z*: \
         Theorem 1 has 0 for the flow, so what is left must halve with the step size, and does not for another factor \
         or for softmax attention. (b): entropy of the attention. Text: {}; {seeds} seeds; median and {BAND}.",
        cell[0].number("samples")?,
        described(settings),
    )))
}

/// Entropies by position, of the bottom and the top layer of every network.
fn positions(settings: &JomaText, plain: &[&[Row]]) -> Result<Figure> {
    let places: Vec<f64> = (1..=settings.window).map(|n| n as f64).collect();
    let uniform: Vec<Point> = places.iter().map(|n| Point::at(*n, n.ln())).collect();
    let mut panels = vec![];
    for cell in plain {
        let (count, rate) = network(cell)?;
        for block in if count == 1 { vec![0] } else { vec![0, count - 1] } {
            let title = format!("layer {} of {count}, *η* = {rate}", block + 1);
            let panel = entropy_panel(title, "position", (settings.window as f64).ln()).curves(
                [("start", "before training", 1), ("least", "at the least mean", 3), ("end", "at the end", 0)],
                |_, (name, label, colour)| {
                    Ok(curve_over_seeds(label, colour, course(cell, &format!("{name}_{block}"), &places)?))
                },
            )?;
            panels.push(panel.with(Series::predicted("uniform attention", GREY, uniform.clone())));
        }
    }
    let (name, title) = (format!("{}_positions", JomaText::NAME), "Entropy of attention by position");
    Ok(Figure::page(name, title, panels.len().min(3), panels).captioned(format!(
        "Mean entropy of attention over the validation windows against the position of the query, for the bottom and \
         the top layer: before training, at the record where the mean over the positions is least in that training, \
         and at the end. Dashed: ln *n*, uniform attention on *n* words. {}.",
        size(settings),
    )))
}

/// Fig. 7: stable ranks of W_1.
fn ranks(settings: &JomaText, plain: &[&[Row]]) -> Result<Figure> {
    let steps = settings.records().places(0.0);
    // mn/(√m + √n)² with m = n.
    let chance = settings.width as f64 / 4.0;
    let mut panels = vec![];
    for cell in plain {
        let y = Axis::linear("stable rank of *W*_{1}").from_to(0.0, 1.5 * chance);
        let mut panel = Panel::new(network_name(cell)?, Axis::linear("steps"), y);
        for block in 0..network(cell)?.0 {
            let layer = format!("layer {}", block + 1);
            let points = |name: &str| course(cell, &format!("{name}_{block}"), &steps);
            panel = panel.with(curve_over_seeds(&layer, block, points("rank")?)).curves(
                [
                    ("permuted", "entries permuted", Stroke::Dashed),
                    ("moved", "*W*_{1}(*t*) − *W*_{1}(0)", Stroke::Dotted),
                ],
                |_, (name, label, stroke)| {
                    let curve = |label: String| Ok(curve_over_seeds(label, block, points(name)?).drawn(stroke));
                    // One entry in the legend; the colour is the layer's.
                    match block {
                        0 => curve(label.into()),
                        _ => curve(format!("{label}, {layer}")).map(Series::unlisted),
                    }
                },
            )?;
        }
        panels.push(panel.ruled(Rule::horizontal("independent entries", chance)));
    }
    let (name, title) =
        (format!("{}_ranks", JomaText::NAME), "Stable rank of the lower MLP matrix while a text is learnt");
    Ok(Figure::page(name, title, panels.len().min(2), panels).captioned(format!(
        "‖*W*_{{1}}‖_{{F}}²/*σ*_{{max}}² of the map into the hidden units, by layer; dashed: the same entries in \
         random order; dotted: the change since the start; line: independent entries of one variance, \
         *mn*/(√*m* + √*n*)² = {}. {}.",
        significant(chance, 3),
        size(settings),
    )))
}
