//! The figure of the controls of `joma_text`, from its rows.

use super::pictures::{add_share, band, blocks, ceiling, curve, drops_and_rebounds, share_panel, size};
use super::{JomaText, PLAIN, RATE, THEOREM_1};
use crate::quantities::{CONTROL, LEARNING_RATE};
use crate::theory::attention_entropy::VISIBLE;
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{LEVEL, OVER_SEEDS, mean_at, panel, with_word};
use attnlab_lab::figure::{Axis, Figure, Panel, Point, Rule, Series, Width};
use attnlab_lab::run::Row;

/// The cells of the network that controls are compared with, and those of the controls, with their names.
fn with_controls<'a>(settings: &'a JomaText, cells: &[&'a [Row]]) -> Result<Vec<(&'a str, &'a [Row])>> {
    let mut shown = vec![];
    let names = settings.controls.iter().map(String::as_str);
    let names = std::iter::once(PLAIN).chain(names.filter(|c| *c != PLAIN && *c != THEOREM_1));
    for name in names {
        for cell in with_word(cells, CONTROL.name, name) {
            let rate = cell[0].parameter(LEARNING_RATE.name)?;
            if blocks(cell)? == settings.compared() && rate == settings.rate_of(name) {
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
    let Some(after) = after.filter(|i| *i > 0) else {
        return Ok(f64::NAN);
    };
    let part = (losses[after - 1] - loss) / (losses[after - 1] - losses[after]);
    Ok(values[after - 1] + part * (values[after] - values[after - 1]))
}

/// The top layer at two rates: entropy against loss, and its difference at the least loss that both reach, by seed. No
/// panels without the control.
fn equal_loss(settings: &JomaText, shown: &[(&str, &[Row])], top: usize) -> Result<Vec<Panel>> {
    let place = |is: &str| shown.iter().position(|(name, _)| *name == is);
    let (Some(plain), Some(other)) = (place(PLAIN), place(RATE)) else {
        return Ok(vec![]);
    };
    let name = format!("entropy_{top}");
    let mut against = panel("at equal loss", Axis::linear("validation loss (nats)"), Axis::linear("entropy (nats)"));
    // Other units, words or blocks make another loss; another rate only another way to it.
    for i in [plain, other] {
        let (control, cell) = shown[i];
        let losses = band(settings, cell, "loss")?;
        let entropies = band(settings, cell, &name)?;
        // The loss falls by a nat or two until the second record, and little after it.
        let points = losses.iter().zip(entropies).skip(2);
        let points = points.map(|(l, e)| Point::at(l.y, e.y)).collect();
        let label = format!("{} (at equal loss)", control_label(control));
        against.series.push(Series::bars(label, i, points));
    }
    let least = |row: &Row| -> Result<f64> {
        let losses = row.series("loss")?;
        Ok(losses.into_iter().fold(f64::INFINITY, f64::min))
    };
    let mut differences = vec![];
    for row in shown[plain].1 {
        let pair = shown[other].1.iter().find(|r| r.trial == row.trial);
        if let Some(pair) = pair {
            let loss = least(row)?.max(least(pair)?);
            differences.push(at_loss(pair, &name, loss)? - at_loss(row, &name, loss)?);
        }
    }
    let mut difference =
        panel("at equal loss, paired", Axis::linear("").from_to(0.4, 1.6), Axis::linear("difference (nats)"));
    let tick = format!("*η* = {} − {}", settings.other_rate, settings.rates[0]);
    difference.x.ticks.push((1.0, tick));
    let point = mean_at(1.0, &differences)?;
    let series = Series::bars("difference", other, vec![point]).with_interval(OVER_SEEDS);
    difference.series.push(series);
    difference.rules.push(Rule::horizontal("", 0.0));
    Ok(vec![against, difference])
}

/// The top layer under every control, and its drop and rebound.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figure(settings: &JomaText, cells: &[&[Row]]) -> Result<Figure> {
    let count = settings.compared();
    let top = count - 1;
    let shown = with_controls(settings, cells)?;
    let mut curves = panel(
        format!("top layer of {count}"),
        Axis::linear("steps"),
        Axis::linear("entropy (nats)").from_to(0.0, 1.08 * ceiling(settings.window)),
    );
    let mut losses = panel("loss", Axis::linear("steps"), Axis::linear("validation loss (nats)"));
    let mut shares = share_panel("");
    let mut bars =
        panel("drop and rebound", Axis::linear("").from_to(0.4, shown.len() as f64 + 0.6), Axis::linear("nats"));
    for (i, (name, cell)) in shown.iter().enumerate() {
        let label = control_label(name);
        let points = band(settings, cell, &format!("entropy_{top}"))?;
        curves.series.push(curve(label, i, points));
        losses.series.push(curve(label, i, band(settings, cell, "loss")?));
        let x = i as f64 + 1.0;
        bars.x.ticks.push((x, name.to_string()));
        let pairs = drops_and_rebounds(cell, top)?;
        add_share(&mut shares, (label, i), name.to_string(), &pairs)?;
        let (drops, rebounds): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        for (which, (values, name)) in [(drops, "drop"), (rebounds, "rebound")].into_iter().enumerate() {
            let point = mean_at(x + 0.2 * (which as f64 - 0.5), &values)?;
            let series = Series::bars(name, 5 + which, vec![point]).with_interval(OVER_SEEDS);
            bars.series.push(series);
        }
    }
    curves.rules.push(Rule::horizontal("uniform attention", ceiling(settings.window)));
    bars.rules.push(Rule::horizontal("", VISIBLE));
    let mut panels = vec![curves, losses, bars, shares];
    panels.extend(equal_loss(settings, &shown, top)?);
    Ok(Figure {
        name: format!("{}_controls", JomaText::NAME),
        title: "Attention entropy against its controls".into(),
        caption: format!(
            "Top of {count} layers, rate {}: as trained; with queries and keys as at the start (frozen); with linear \
             hidden units, for which the paper expects no rebound; on the text with its words in random order, which \
             has nothing to attend to but frequencies; with blocks that do not start equal (own); at the rate {} (rate). (a): \
             entropy; (b): validation loss; (c): drop and rebound, the line at {VISIBLE} nats; (d): share of the \
             trainings with both, with exact {} % intervals; (e): entropy against validation loss, means over the \
             seeds at every record from the third on; (f): difference of the entropies at the least loss that both rates reach, paired by seed. {}.",
            settings.rates[0],
            settings.other_rate,
            100.0 * LEVEL,
            size(settings),
        ),
        width: Width::Page,
        columns: 3,
        panels,
    })
}
