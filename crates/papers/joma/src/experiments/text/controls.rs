//! The figure of the controls of `joma_text`, from its rows.

use super::pictures::{ceiling, drops_and_rebounds, entropy_panel, network, share_panel, size, visible};
use super::{JomaText, PLAIN, RATE, THEOREM_1};
use crate::quantities::CONTROL;
use crate::theory::attention_entropy::VISIBLE;
use attnlab_core::stats::binomial;
use attnlab_lab::experiment::draw::*;
use attnlab_lab::figure::{Axis, Panel, Point, Rule, Series};
use attnlab_lab::prelude::*;

/// The cells of the network that controls are compared with, and those of the controls, with their names.
fn with_controls<'a>(settings: &'a JomaText, cells: &[&'a [Row]]) -> Result<Vec<(&'a str, &'a [Row])>> {
    let mut shown = vec![];
    let names = settings.controls.iter().map(String::as_str);
    for name in std::iter::once(PLAIN).chain(names.filter(|c| *c != PLAIN && *c != THEOREM_1)) {
        for cell in with_word(cells, CONTROL, name) {
            if network(cell)? == (settings.compared(), settings.rate_of(name)) {
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
        RATE => "another rate",
        _ => "blocks start apart",
    }
}

/// Series of a row at the first record where the loss is `loss`, interpolated between records.
fn at_loss(row: &Row, name: &str, loss: f64) -> Result<f64> {
    let (losses, values) = (row.series("loss")?, row.series(name)?);
    let after = losses.iter().position(|l| *l <= loss);
    let Some(after) = after.filter(|i| *i > 0) else { return Ok(f64::NAN) };
    let part = (losses[after - 1] - loss) / (losses[after - 1] - losses[after]);
    Ok(values[after - 1] + part * (values[after] - values[after - 1]))
}

/// The top layer at two rates: entropy against loss, and its difference at the least common loss, by seed; none without
/// the control.
fn equal_loss(settings: &JomaText, shown: &[(&str, &[Row])], top: usize) -> Result<Vec<Panel>> {
    let place = |is: &str| shown.iter().position(|(name, _)| *name == is);
    let (Some(plain), Some(other)) = (place(PLAIN), place(RATE)) else { return Ok(vec![]) };
    let name = format!("entropy_{top}");
    let steps = settings.records().places(0.0);
    let against = Panel::new("at equal loss", Axis::linear("validation loss (nats)"), Axis::linear("entropy (nats)"))
        // Other units, words or blocks make another loss; another rate only another way to it.
        .curves([plain, other], |_, i| {
            let (control, cell) = shown[i];
            let (losses, entropies) = (course(cell, "loss", &steps)?, course(cell, &name, &steps)?);
            // The loss falls by a nat or two until the second record, and little after it.
            let points = losses.iter().zip(entropies).skip(2).map(|(l, e)| Point::at(l.y, e.y)).collect();
            Ok(Series::bars(format!("{} (at equal loss)", control_label(control)), i, points))
        })?;
    let least = |row: &Row| -> Result<f64> { Ok(row.series("loss")?.into_iter().fold(f64::INFINITY, f64::min)) };
    let mut differences = vec![];
    for row in shown[plain].1 {
        let pair = shown[other].1.iter().find(|r| r.trial == row.trial);
        if let Some(pair) = pair {
            let loss = least(row)?.max(least(pair)?);
            differences.push(at_loss(pair, &name, loss)? - at_loss(row, &name, loss)?);
        }
    }
    let tick = format!("*η* = {} − {}", settings.other_rate, settings.rates[0]);
    let difference = Panel::new("at equal loss, paired", named("", [tick]), Axis::linear("difference (nats)"))
        .with(bars_over_seeds("difference", other, vec![mean_at(1.0, &differences)?]))
        .ruled(Rule::horizontal("", 0.0));
    Ok(vec![against, difference])
}

/// The top layer under every control, and its drop and rebound.
pub fn figure(settings: &JomaText, cells: &[&[Row]]) -> Result<Figure> {
    let count = settings.compared();
    let top = count - 1;
    let shown = with_controls(settings, cells)?;
    let steps = settings.records().places(0.0);
    let uniform = ceiling(settings.window);
    let curves = |panel: Panel, series: &str| {
        panel.curves(&shown, |i, (name, cell)| {
            Ok(curve_over_seeds(control_label(name), i, course(cell, series, &steps)?))
        })
    };
    let entropies = entropy_panel(format!("top layer of {count}"), "steps", uniform);
    let entropies = curves(entropies, &format!("entropy_{top}"))?.ruled(Rule::horizontal("uniform attention", uniform));
    let losses = curves(Panel::new("loss", Axis::linear("steps"), Axis::linear("validation loss (nats)")), "loss")?;
    let mut bars =
        Panel::new("drop and rebound", named("", shown.iter().map(|(name, _)| name.to_string())), Axis::linear("nats"));
    let mut shares = vec![];
    for (i, (name, cell)) in shown.iter().enumerate() {
        let pairs = drops_and_rebounds(cell, top)?;
        let (both, of) = visible(&pairs);
        shares.push((name.to_string(), control_label(name).to_string(), i, binomial(both, of, LEVEL)?));
        let (drops, rebounds): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        bars = bars.curves([(drops, "drop"), (rebounds, "rebound")], |which, (values, name)| {
            let x = i as f64 + 1.0 + 0.2 * (which as f64 - 0.5);
            Ok(bars_over_seeds(name, 5 + which, vec![mean_at(x, &values)?]))
        })?;
    }
    let mut panels = vec![entropies, losses, bars.ruled(Rule::horizontal("", VISIBLE)), share_panel("", shares)];
    panels.extend(equal_loss(settings, &shown, top)?);
    let (name, title) = (format!("{}_controls", JomaText::NAME), "Attention entropy against its controls");
    Ok(Figure::page(name, title, 3, panels).captioned(format!(
        "Top of {count} layers, rate {}: as trained; with queries and keys as at the start (frozen); with linear \
             hidden units, for which the paper expects no rebound; on the text with its words in random order, which \
             has nothing to attend to but frequencies; with blocks that do not start equal (own); at the rate {} \
             (rate). (a): entropy; (b): validation loss; (c): drop and rebound, the line at {VISIBLE} nats; (d): \
             share of the trainings with both, with exact {PERCENT} % intervals; (e): entropy against validation \
             loss, means over the seeds at every record from the third on; (f): difference of the entropies at the \
             least loss that both rates reach, paired by seed. {}.",
        settings.rates[0],
        settings.other_rate,
        size(settings),
    )))
}
