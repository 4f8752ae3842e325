//! The figures of `lsa_training`, from its rows.

use super::super::common::{INTERVAL, LAYERS, TIME, law, mean, median, slope_label, times};
use super::LsaTraining;
use crate::quantities::{CELL_BATCH, CONTEXT, DENSE_SCALE, PART, RELATIVE_SCALE, START};
use attnlab_core::stats::binomial;
use attnlab_lab::experiment::draw::{BAND, band, cells, curve, groups, numbers, over, with_word};
use attnlab_lab::figure::{Axis, GREY, INK, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;

pub fn figures(settings: &LsaTraining, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(LsaTraining::NAME, rows)?;
    let part = |name| with_word(&cells, PART, name);
    let (population, prompts) = (part("population"), part("prompts"));
    Ok(vec![
        training(settings, &population, &prompts)?,
        starts(settings, &part("start"), &part("dense"))?,
        softmax(settings, &part("softmax"))?,
    ])
}

fn training(settings: &LsaTraining, population: &[&[Row]], prompts: &[&[Row]]) -> Result<Figure> {
    let panels = vec![losses(settings, population, prompts)?, distances(prompts)?, overfit(settings, prompts)?];
    let LsaTraining { dim, condition, context, scale, noise_var, trials, .. } = settings;
    Ok(Figure::page("lsa_training", "Linear self-attention trained on B prompts", 3, panels).captioned(format!(
        "Gradient flow on the loss of *B* prompts from the theorem's initial weights, *d* = {dim}, eigenvalues of \
         *Λ* from 1 to 1/{condition}, *N* = {context}, *σ* = {scale}, label noise of variance {noise_var}. (a): the \
         population loss on the way, median and 10-90 % over {trials} draws. (b): distance to *Γ*^{{−1}} at the end, \
         mean with 95 % interval; slope of the means over the *B* shown, and a line of slope −1/2 through the last. \
         (c): loss at the end on the prompts and in the population."
    )))
}

fn losses(settings: &LsaTraining, population: &[&[Row]], prompts: &[&[Row]]) -> Result<Panel> {
    let times = times(settings.until, settings.points);
    // Below, the population's own flow alone.
    let y = Axis::log("(*L* − min *L*) / gap of weights 0").from_to(1e-6, 10.0);
    Panel::new("population loss on the way", Axis::log(TIME), y)
        .curves(prompts, |colour, cell| {
            Ok(curve(format!("*B* = {}", cell[0].parameter(CELL_BATCH.name)?), colour, band(cell, "gap", &times)?))
        })?
        .curves(population, |_, cell| Ok(curve("*B* = ∞", INK, band(cell, "gap", &times)?)))
}

fn distances(prompts: &[&[Row]]) -> Result<Panel> {
    let points = over(prompts, CELL_BATCH, |cell| mean(cell, "distance"))?;
    let line = law(&points, |batch| {
        let last = points[points.len() - 1];
        Ok(last.y * (last.x / batch).sqrt())
    })?;
    let slope = slope_label(prompts, CELL_BATCH, |row| row.number("distance"))?;
    let label = slope.map_or("after training".to_string(), |slope| format!("slope {slope}"));
    let y = Axis::log("‖*uB* + *vc*^{T} − *Γ*^{−1}‖ / ‖*Γ*^{−1}‖");
    Ok(Panel::new("distance to the limit", Axis::log("prompts *B*"), y)
        .with_any(Series::predicted("slope −1/2", GREY, line))
        .with(Series::bars(label, INK, points).with_interval(INTERVAL)))
}

/// Median of a number over the draws against B, with error bars.
fn over_batches(cells: &[&[Row]], name: &str, label: impl Into<String>, colour: usize) -> Result<Series> {
    let points = over(cells, CELL_BATCH, |cell| median(cell, name))?;
    Ok(Series::measured(label, colour, points).with_bars().with_interval(BAND))
}

fn overfit(settings: &LsaTraining, prompts: &[&[Row]]) -> Result<Panel> {
    Ok(Panel::new("loss after training", Axis::log("prompts *B*"), Axis::log("loss"))
        .ruled(Rule::horizontal("min *L*", settings.training()?.minimum()))
        .with(over_batches(prompts, "loss", "on the *B* prompts", 4)?)
        .with(over_batches(prompts, "population", "in the population", 5)?))
}

fn softmax(settings: &LsaTraining, cells: &[&[Row]]) -> Result<Figure> {
    let title = "Softmax attention trained on the prompts of the linear one";
    let panels = vec![softmax_on_the_way(settings, cells)?, softmax_at_the_end(settings, cells)?];
    let LsaTraining { scale, dim, condition, context, noise_var, softmax_test, trials, .. } = settings;
    Ok(Figure::page("lsa_softmax", title, 2, panels).captioned(format!(
        "Gradient flow of both layers on the same *B* prompts, from the same weights (the theorem's, *σ* = {scale}), \
         over the entries of *W*^{{PV}} and *W*^{{KQ}} that the prediction sees; *d* = {dim}, eigenvalues of *Λ* \
         from 1 to 1/{condition}, *N* = {context}, label noise of variance {noise_var}. Loss ½(*ŷ* − *y*)^{{2}} on \
         {softmax_test} new prompts: (a) on the way, at the largest *B*; (b) at the end. Dashed in (b): on the *B* \
         prompts themselves. Median and 10-90 % over {trials} draws. The rules are the least loss of the linear \
         layer, and the loss of predicting 0."
    )))
}

/// Rules at the least loss of the linear layer and at that of predicting 0, and a linear axis from 0 with space above
/// all that the panel holds.
fn with_marks(settings: &LsaTraining, panel: Panel) -> Result<Panel> {
    let training = settings.training()?;
    let mut panel = panel
        .ruled(Rule::horizontal("min *L*, linear", training.minimum()).written())
        .ruled(Rule::horizontal("predicting 0", training.loss_of_zero()).written());
    let high = panel.points().map(Point::high).chain(panel.rules.iter().map(|r| r.at)).fold(0.0, f64::max);
    panel.y = panel.y.from_to(0.0, 1.12 * high);
    Ok(panel)
}

fn softmax_on_the_way(settings: &LsaTraining, cells: &[&[Row]]) -> Result<Panel> {
    let mut panel = Panel::new("loss on new prompts on the way", Axis::log(TIME), Axis::linear("loss"));
    let times = times(settings.until, settings.points);
    let Some(cell) = cells.last() else { return Ok(panel) };
    panel.title += &format!(", *B* = {}", cell[0].parameter(CELL_BATCH.name)?);
    let panel = panel.curves(LAYERS, |_, (name, colour)| {
        Ok(curve(name, colour, band(cell, name, &times)?).unlisted().tagged(name))
    })?;
    with_marks(settings, panel)
}

fn softmax_at_the_end(settings: &LsaTraining, cells: &[&[Row]]) -> Result<Panel> {
    let mut panel = Panel::new("loss after training", Axis::log("prompts *B*"), Axis::linear("loss"));
    for (layer, colour) in LAYERS {
        let (test, train) = (format!("{layer}_test"), format!("{layer}_train"));
        let train = over_batches(cells, &train, format!("{layer}, the *B* prompts"), colour)?;
        panel = panel
            .with(over_batches(cells, &test, format!("{layer}, new prompts"), colour)?)
            .with(train.unlisted().drawn(Stroke::Dashed));
    }
    let mut panel = panel.with(Series::key("on the *B* prompts themselves", GREY, Stroke::Dashed));
    // Space for the labels of the rules at the right of the last points.
    let batches = || panel.points().map(|p| p.x);
    let (low, high) = (batches().fold(f64::INFINITY, f64::min), batches().fold(0.0, f64::max));
    panel.x.range = (low < high).then(|| (low / 1.2, 1.1 * high * (high / low).powf(0.3)));
    with_marks(settings, panel)
}

fn starts(settings: &LsaTraining, with: &[&[Row]], dense: &[&[Row]]) -> Result<Figure> {
    let title = "From which initial weights linear self-attention reaches the global minimum";
    let panels = vec![times_to_arrive(settings, with)?, shares(settings, dense)?];
    let LsaTraining { arrived, dim, condition, context, trials, dense_dim, .. } = settings;
    Ok(Figure::page("lsa_starts", title, 2, panels).captioned(format!(
        "(a): time until *L* − min *L* is {arrived} of its value at weights 0, from *u* = *σ*, *v* = *c* = 0 and *B* \
         of norm *σ* (*ΘΘ*^{{T}} as in the theorem, normal *Θ*, or −*ΘΘ*^{{T}}), *d* = {dim}, eigenvalues of *Λ* \
         from 1 to 1/{condition}, *N* = {context}; median and 10-90 % over {trials} draws, all of which arrive \
         unless said; dashed: slope 1/‖*Λ*^{{2}}‖ in ln(1/*σ*). The rule is where the theorem's condition on *σ* \
         ends. (b): share of {} flows from independent normal weights in all places, v and c too, that end within \
         1e-4 of the least loss, *d* = {dense_dim}, eigenvalues from 1 to 1/3; 95 % (Clopper-Pearson).",
        settings.dense_starts * settings.trials as usize,
    )))
}

fn times_to_arrive(settings: &LsaTraining, cells: &[&[Row]]) -> Result<Panel> {
    let training = settings.training()?;
    let x = Axis::log("*σ* / largest that the theorem allows");
    let mut panel = Panel::new("with *v* = *c* = 0", x, Axis::linear("time to arrive")).ruled(Rule::vertical("", 1.0));
    for (colour, (kind, label)) in
        [("theorem", "*B* = *ΘΘ*^{T}"), ("normal", "*B* = *Θ*"), ("mirrored", "*B* = −*ΘΘ*^{T}")]
            .into_iter()
            .enumerate()
    {
        let cells = with_word(cells, START, kind);
        let points = over(&cells, RELATIVE_SCALE, |cell| median(cell, "time"))?;
        if let (0, Some(first)) = (colour, points.first()) {
            let squares = training.covariance().values().mapv(|l| l * l);
            let rate = squares.dot(&squares).sqrt();
            let small: Vec<Point> = points.iter().filter(|p| p.x <= 0.3).copied().collect();
            let line = law(&small, |scale| Ok(first.y + (first.x / scale).ln() / rate))?;
            panel = panel.with(Series::predicted("ln(1/*σ*) / ‖*Λ*^{2}‖", GREY, line));
        }
        let times = cells.iter().map(|cell| numbers(cell, "time")).collect::<Result<Vec<_>>>()?.concat();
        let label = match times.iter().filter(|time| time.is_infinite()).count() {
            0 => label.to_string(),
            n => format!("{label} ({n} do not arrive)"),
        };
        panel = panel.with_any(Series::measured(label, colour, points).with_interval(BAND));
    }
    Ok(panel)
}

fn shares(settings: &LsaTraining, cells: &[&[Row]]) -> Result<Panel> {
    let y = Axis::linear("share at the global minimum").from_to(-0.04, 1.04);
    let share = |cell: &[Row]| {
        let reached = numbers(cell, "reached")?.iter().sum::<f64>();
        binomial(reached as u64, (settings.dense_starts * cell.len()) as u64, 0.95)
    };
    Panel::new("dense weights", Axis::log("training examples *N*"), y).curves(
        groups(cells, DENSE_SCALE)?,
        |colour, (scale, group)| {
            let series =
                Series::measured(format!("standard deviation {scale}"), colour + 3, over(&group, CONTEXT, share)?);
            Ok(series.with_bars().with_interval(INTERVAL))
        },
    )
}
