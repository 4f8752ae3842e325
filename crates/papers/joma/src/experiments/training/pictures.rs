//! The figures of `joma_training`, from its rows.

use super::{DATA, JomaTraining, SETTINGS};
use crate::dynamics::Cause;
use crate::quantities::{FREQUENCIES, SETTING};
use attnlab_core::error::Result;
use attnlab_core::stats::quantile;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{BAND, band, cells, curve, panel, spread, with_word};
use attnlab_lab::figure::{Axis, Cell, Figure, Heat, Palette, Rule, Series, Width};
use attnlab_lab::run::Row;

/// The figures of these settings, from their rows.
///
/// # Errors
/// When rows are missing or are not of this experiment.
pub fn figures(settings: &JomaTraining, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(JomaTraining::NAME, rows)?;
    Ok(vec![prediction(settings, &cells)?, growth(settings, &cells)?, drift(settings, &cells)?])
}

/// The cells in these settings and with these token frequencies.
fn of_setting<'a>(cells: &[&'a [Row]], setting: &str, data: &str) -> Vec<&'a [Row]> {
    with_word(&with_word(cells, SETTING.name, setting), FREQUENCIES.name, data)
}

fn words(setting: &str, data: &str) -> String {
    let whose = if setting == "code" { "code" } else { "paper" };
    format!("{whose}, {data} inputs")
}

/// Four round places on an axis of steps, in a panel too narrow for more.
fn thirds(steps: usize) -> Vec<f64> {
    (0..=3).map(|i| (i * steps / 3) as f64).collect()
}

/// The records up to `steps`.
fn until(settings: &JomaTraining, steps: usize) -> Vec<f64> {
    let all = settings.recorded().into_iter();
    all.filter(|step| *step <= steps as f64).collect()
}

/// Fig. 2.
fn prediction(settings: &JomaTraining, cells: &[&[Row]]) -> Result<Figure> {
    let steps = until(settings, settings.steps);
    let mut panels = vec![];
    for data in DATA {
        for cell in of_setting(cells, SETTINGS[0], data) {
            let title = format!("token frequencies *X*, {data}");
            let mut found = panel(title, Axis::whole("class"), token_axis(settings, false));
            found.heat = Some(heat(settings, &cell[0].series("x")?, Axis::linear("*x*_{l}")));
            panels.push(found);
        }
    }
    for setting in SETTINGS {
        for data in DATA {
            for cell in of_setting(cells, setting, data) {
                let mut found = panel(
                    words(setting, data),
                    Axis::linear("steps"),
                    Axis::linear("correlation with *z*").from_to(-0.55, 1.05),
                );
                for (colour, (name, label)) in
                    [("nc", "*ẑ*"), ("nc1", "*ẑ*_{1}, the squares"), ("nc2", "*ẑ*_{2}, the norm")]
                        .into_iter()
                        .enumerate()
                {
                    found.series.push(curve(label, colour, band(cell, name, &steps)?));
                }
                found.rules.push(Rule::horizontal("", 1.0));
                panels.push(found);
            }
        }
    }
    Ok(Figure {
        name: JomaTraining::NAME.into(),
        title: "How well Theorem 1 predicts the direction of the logits".into(),
        caption: format!(
            "Softmax attention, linear activation, cross-entropy over {} classes, {} distinct and {} common \
             tokens, gradient descent with *η* = {}. Centred correlation of the logits with the prediction \
             (18) and with its two parts; median and 10-90 % over {} draws. (a), (b): the frequencies of the first draw. \
             (c), (d): the authors' code, *T* = {}, the norm with the part along the query, mean attention at *z* = 0. \
             (e), (f): as the paper has it, *T* = 1, Σ‖*v*_{{k}}‖². Smooth inputs: a bump of distinct tokens that moves with the class; \
             random: all frequencies uniform.",
            settings.classes, settings.distinct, settings.common, settings.eta, settings.trials, settings.temperature,
        ),
        width: Width::Page,
        columns: 2,
        panels,
    })
}

/// Fig. 3: V at the start and at the end, and components of v_0.
fn growth(settings: &JomaTraining, cells: &[&[Row]]) -> Result<Figure> {
    let mut panels = vec![];
    for setting in SETTINGS {
        for cell in of_setting(cells, setting, "smooth") {
            let whose = if setting == "code" { "code" } else { "paper" };
            for (name, when) in [("v_start", 0), ("v_end", settings.long_steps)] {
                let title = format!("{whose}: *V* at step {when}");
                let mut found = panel(title, Axis::whole("node *k*"), token_axis(settings, true));
                let bar = Axis::linear("*v*_{kl}");
                found.heat = Some(diverging(settings, &cell[0].series(name)?, bar));
                panels.push(found);
            }
            let steps = settings.recorded();
            let mut found = panel(
                format!("{whose}: components of *v*_{{0}}"),
                Axis::linear("steps").ticks_at(&thirds(settings.long_steps)),
                Axis::linear("*v*_{0}"),
            );
            for l in 0..settings.components {
                let points = band(cell, &format!("v0_{l}"), &steps)?;
                found.series.push(curve(format!("component {l}"), l, points));
            }
            found.rules.push(Rule::horizontal("", 0.0));
            panels.push(found);
        }
    }
    Ok(Figure {
        name: "joma_training_growth".into(),
        title: "Which weights grow".into(),
        caption: format!(
            "Smooth inputs, {} steps (the paper's Fig. 3 ends at {}). (a), (b), (d), (e): *V* = (*v*_{{0}}, *v*_{{1}}, ..) of \
             the first draw at the start and at the end, each on a scale of its own, with the row of the query *m* last. \
             (c), (f): the first components of *v*_{{0}}, median and {BAND}, {} draws. Component 0 goes on growing while the others saturate, \
             as after Theorem 2; the growth slows down and does not blow up, as the gradient of the cross-entropy is not \
             stationary.",
            settings.long_steps, settings.steps, settings.trials,
        ),
        width: Width::Page,
        columns: 3,
        panels,
    })
}

/// The axis of the tokens, the first at the top as in the paper, with or without the query's row.
fn token_axis(settings: &JomaTraining, query: bool) -> Axis {
    let tokens = settings.tokens();
    let mut axis = Axis::whole("token *l*").downwards();
    let every = tokens.div_ceil(4).max(1);
    let numbered = (0..tokens).step_by(every).map(|l| (l as f64, l.to_string()));
    axis.ticks = numbered.collect();
    if query {
        axis.ticks.push((tokens as f64, "*m*".into()));
    }
    axis
}

/// The heat map of a matrix with one column per class or node.
fn heat(settings: &JomaTraining, values: &[f64], bar: Axis) -> Heat {
    let columns = settings.classes;
    let index = |count: usize| (0..count).map(|i| i as f64).collect::<Vec<_>>();
    let (x, y) = (index(columns), index(values.len() / columns));
    Heat::over(&x, &y, bar, |k, l| Cell::of(values[l * columns + k]))
}

/// The heat map of numbers of both signs, on a scale that is symmetric about 0.
fn diverging(settings: &JomaTraining, values: &[f64], bar: Axis) -> Heat {
    let most = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    Heat { palette: Palette::Diverging(0.0), ..heat(settings, values, bar.from_to(-most, most)) }
}

/// The amplitude of the error, and the shares of the assumptions in it.
fn drift(settings: &JomaTraining, cells: &[&[Row]]) -> Result<Figure> {
    let steps = settings.recorded();
    let mut off = panel("amplitude", Axis::linear("steps"), Axis::log("|*z* − *ẑ*| / |*z*|").from_to(0.01, 100.0));
    let mut moved =
        panel("mean attention", Axis::linear("steps"), Axis::linear("shift of the mean attention").from_to(0.0, 1.0));
    let causes = [Cause::Correlation, Cause::MeanMoves, Cause::Steps];
    let mut shares =
        panel("shares of the drift", Axis::linear("").from_to(0.4, 4.6), Axis::linear("share").from_to(0.0, 1.0));
    let mut place = 0.0;
    for setting in SETTINGS {
        for data in DATA {
            for cell in of_setting(cells, setting, data) {
                let colour = place as usize;
                place += 1.0;
                let label = words(setting, data);
                off.series.push(curve(&label, colour, band(cell, "amplitude", &steps)?));
                moved.series.push(curve(&label, colour, band(cell, "moved", &steps)?));
                let word = if setting == "code" { "code" } else { "paper" };
                shares.x.ticks.push((place, format!("{word} {}", &data[..1])));
                for (i, cause) in causes.iter().enumerate() {
                    let x = place + 0.15 * (i as f64 - 1.0);
                    let point = spread(cell, &format!("share_{cause:?}"), x)?;
                    let bars = Series::bars(cause.name(), 4 + i, vec![point]);
                    shares.series.push(bars.with_interval(BAND));
                }
            }
        }
    }
    shares.x.label = "inputs smooth (s), random (r)".into();
    let last: Vec<f64> = off.series.iter().filter_map(|s| s.points.last().map(|p| p.y)).collect();
    Ok(Figure {
        name: "joma_training_drift".into(),
        title: "What the correlation hides: amplitude, and the assumption that fails".into(),
        caption: format!(
            "(a): distance of the logits from the prediction (18), relative to the logits; at the end a factor \
             of {} in the median setting. (b): total variation between the mean attention and its start, which \
             Theorem 1 takes to be constant. (c): shares of the drift of (18) after {} steps that the broken \
             assumptions add, by integrating their terms. Median and 10-90 % over {} draws.",
            attnlab_core::format::significant(quantile(&last, 0.5), 2),
            settings.steps,
            settings.trials,
        ),
        width: Width::Page,
        columns: 3,
        panels: vec![off, moved, shares],
    })
}
