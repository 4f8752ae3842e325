//! The figures of `joma_training`, from its rows.

use super::{DATA, JomaTraining, SETTINGS};
use crate::dynamics::Cause;
use crate::quantities::{FREQUENCIES, SETTING};
use attnlab_core::stats::quantile;
use attnlab_lab::experiment::draw::{BAND, band, cells, curve, named, spread, with_word};
use attnlab_lab::figure::{Axis, Cell, Heat, Panel, Rule, Series};
use attnlab_lab::prelude::*;

/// The figures of these settings, from their rows.
pub fn figures(settings: &JomaTraining, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(JomaTraining::NAME, rows)?;
    Ok(vec![prediction(settings, &cells)?, growth(settings, &cells)?, drift(settings, &cells)?])
}

/// The cells in these settings and with these token frequencies.
fn of_setting<'a>(cells: &[&'a [Row]], setting: &str, data: &str) -> Vec<&'a [Row]> {
    with_word(&with_word(cells, SETTING, setting), FREQUENCIES, data)
}

/// The cells of every setting, with the words for it and the token frequencies.
fn named_cells<'a>(cells: &[&'a [Row]]) -> Vec<(&'static str, &'static str, &'a [Row])> {
    let of_pair =
        |(setting, data)| of_setting(cells, setting, data).into_iter().map(move |c| (whose(setting), data, c));
    SETTINGS.into_iter().flat_map(|setting| DATA.map(|data| (setting, data))).flat_map(of_pair).collect()
}

fn whose(setting: &str) -> &'static str {
    if setting == "code" { "code" } else { "paper" }
}

/// Fig. 2.
fn prediction(settings: &JomaTraining, cells: &[&[Row]]) -> Result<Figure> {
    let mut steps = settings.recorded();
    steps.retain(|step| *step <= settings.steps as f64);
    let mut panels = vec![];
    for data in DATA {
        for cell in of_setting(cells, SETTINGS[0], data) {
            let title = format!("token frequencies *X*, {data}");
            let map = heat(settings, &cell[0].series("x")?, Axis::linear("*x*_{l}"));
            panels.push(Panel::new(title, Axis::whole("class"), token_axis(settings, false)).coloured(map));
        }
    }
    for (whose, data, cell) in named_cells(cells) {
        let y = Axis::linear("correlation with *z*").from_to(-0.55, 1.05);
        panels.push(
            Panel::new(format!("{whose}, {data} inputs"), Axis::linear("steps"), y)
                .curves(
                    [("nc", "*ẑ*"), ("nc1", "*ẑ*_{1}, the squares"), ("nc2", "*ẑ*_{2}, the norm")],
                    |colour, (name, label)| Ok(curve(label, colour, band(cell, name, &steps)?)),
                )?
                .ruled(Rule::horizontal("", 1.0)),
        );
    }
    let title = "How well Theorem 1 predicts the direction of the logits";
    let JomaTraining { classes, distinct, common, eta, trials, temperature, .. } = settings;
    Ok(Figure::page(JomaTraining::NAME, title, 2, panels).captioned(format!(
        "Softmax attention, linear activation, cross-entropy over {classes} classes, {distinct} distinct and \
         {common} common tokens, gradient descent with *η* = {eta}. Centred correlation of the logits with the \
         prediction (18) and with its two parts; median and 10-90 % over {trials} draws. (a), (b): the frequencies \
         of the first draw. (c), (d): the authors' code, *T* = {temperature}, the norm with the part along the \
         query, mean attention at *z* = 0. (e), (f): as the paper has it, *T* = 1, Σ‖*v*_{{k}}‖². Smooth inputs: a \
         bump of distinct tokens that moves with the class; random: all frequencies uniform."
    )))
}

/// Fig. 3: V at the start and at the end, and components of v_0.
fn growth(settings: &JomaTraining, cells: &[&[Row]]) -> Result<Figure> {
    let steps = settings.recorded();
    let mut panels = vec![];
    for (whose, _, cell) in named_cells(&with_word(cells, FREQUENCIES, "smooth")) {
        for (name, when) in [("v_start", 0), ("v_end", settings.long_steps)] {
            let title = format!("{whose}: *V* at step {when}");
            let map = diverging(settings, &cell[0].series(name)?, Axis::linear("*v*_{kl}"));
            panels.push(Panel::new(title, Axis::whole("node *k*"), token_axis(settings, true)).coloured(map));
        }
        // The panel is too narrow for more ticks.
        let x = Axis::linear("steps").ticks_at(&[0, 1, 2, 3].map(|i| (i * settings.long_steps / 3) as f64));
        panels.push(
            Panel::new(format!("{whose}: components of *v*_{{0}}"), x, Axis::linear("*v*_{0}"))
                .curves(0..settings.components, |_, l| {
                    Ok(curve(format!("component {l}"), l, band(cell, &format!("v0_{l}"), &steps)?))
                })?
                .ruled(Rule::horizontal("", 0.0)),
        );
    }
    let JomaTraining { long_steps, steps, trials, .. } = settings;
    Ok(Figure::page("joma_training_growth", "Which weights grow", 3, panels).captioned(format!(
        "Smooth inputs, {long_steps} steps (the paper's Fig. 3 ends at {steps}). (a), (b), (d), (e): *V* = \
         (*v*_{{0}}, *v*_{{1}}, ..) of the first draw at the start and at the end, each on a scale of its own, with \
         the row of the query *m* last. (c), (f): the first components of *v*_{{0}}, median and {BAND}, {trials} \
         draws. Component 0 goes on growing while the others saturate, as after Theorem 2; the growth slows down and \
         does not blow up, as the gradient of the cross-entropy is not stationary."
    )))
}

/// The axis of the tokens, the first at the top as in the paper, with or without the query's row.
fn token_axis(settings: &JomaTraining, query: bool) -> Axis {
    let tokens = settings.tokens();
    let numbered = (0..tokens).step_by(tokens.div_ceil(4).max(1)).map(|l| (l as f64, l.to_string()));
    let query = query.then(|| (tokens as f64, "*m*".to_string()));
    Axis::whole("token *l*").downwards().ticks_named(numbered.chain(query))
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
    heat(settings, values, bar.from_to(-most, most)).parted_at(0.0)
}

/// The amplitude of the error, and the shares of the assumptions in it.
fn drift(settings: &JomaTraining, cells: &[&[Row]]) -> Result<Figure> {
    let steps = settings.recorded();
    let cells = named_cells(cells);
    let curves = |title: &str, y: Axis, name: &str| {
        Panel::new(title, Axis::linear("steps"), y).curves(&cells, |colour, (whose, data, cell)| {
            Ok(curve(format!("{whose}, {data} inputs"), colour, band(cell, name, &steps)?))
        })
    };
    let off = curves("amplitude", Axis::log("|*z* − *ẑ*| / |*z*|").from_to(0.01, 100.0), "amplitude")?;
    let moved = curves("mean attention", Axis::linear("shift of the mean attention").from_to(0.0, 1.0), "moved")?;
    let places = cells.iter().map(|(whose, data, _)| format!("{whose} {}", &data[..1]));
    let x = named("inputs smooth (s), random (r)", places).from_to(0.4, 4.6);
    let mut shares = Panel::new("shares of the drift", x, Axis::linear("share").from_to(0.0, 1.0));
    for (place, (_, _, cell)) in cells.iter().enumerate() {
        shares = shares.curves([Cause::Correlation, Cause::MeanMoves, Cause::Steps], |i, cause| {
            let point = spread(cell, &format!("share_{cause:?}"), place as f64 + 1.0 + 0.15 * (i as f64 - 1.0))?;
            Ok(Series::bars(cause.name(), 4 + i, vec![point]).with_interval(BAND))
        })?;
    }
    let last: Vec<f64> = off.series.iter().filter_map(|s| s.points.last().map(|p| p.y)).collect();
    let title = "What the correlation hides: amplitude, and the assumption that fails";
    let JomaTraining { steps, trials, .. } = settings;
    Ok(Figure::page("joma_training_drift", title, 3, vec![off, moved, shares]).captioned(format!(
        "(a): distance of the logits from the prediction (18), relative to the logits; at the end a factor \
         of {} in the median setting. (b): total variation between the mean attention and its start, which \
         Theorem 1 takes to be constant. (c): shares of the drift of (18) after {steps} steps that the broken \
         assumptions add, by integrating their terms. Median and 10-90 % over {trials} draws.",
        attnlab_core::format::significant(quantile(&last, 0.5), 2),
    )))
}
