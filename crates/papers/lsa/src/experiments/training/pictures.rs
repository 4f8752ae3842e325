//! The figures of `lsa_training`, from its rows.

use super::super::common::{INTERVAL, LAYERS, TIME, average, groups, slope_label, times};
use super::LsaTraining;
use crate::quantities::{CELL_BATCH, CONTEXT, DENSE_SCALE, PART, RELATIVE_SCALE, START};
use attnlab_core::error::Result;
use attnlab_core::stats::binomial;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{BAND, band, cells, curve, panel, spread, with_word};
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Panel, Point, Rule, Series, Stroke, Width};
use attnlab_lab::run::Row;

pub fn figures(settings: &LsaTraining, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(LsaTraining::NAME, rows)?;
    let part = |name| with_word(&cells, PART.name, name);
    let (population, prompts) = (part("population"), part("prompts"));
    Ok(vec![
        training(settings, &population, &prompts)?,
        starts(settings, &part("start"), &part("dense"))?,
        softmax(settings, &part("softmax"))?,
    ])
}

fn training(settings: &LsaTraining, population: &[&[Row]], prompts: &[&[Row]]) -> Result<Figure> {
    Ok(Figure {
        name: "lsa_training".into(),
        title: "Linear self-attention trained on B prompts".into(),
        caption: format!(
            "Gradient flow on the loss of *B* prompts from the theorem's initial weights, *d* = {}, \
             eigenvalues of *Λ* from 1 to 1/{}, *N* = {}, *σ* = {}, label noise of variance {}. (a): the \
             population loss on the way, median and 10-90 % over {} draws. (b): distance to *Γ*^{{−1}} at \
             the end, mean with 95 % interval; slope of the means over the *B* shown, and a line of \
             slope −1/2 through the last. (c): loss at the end on the prompts and in the population.",
            settings.dim, settings.condition, settings.context, settings.scale, settings.noise_var, settings.trials,
        ),
        width: Width::Page,
        columns: 3,
        panels: vec![losses(settings, population, prompts)?, distances(prompts)?, overfit(settings, prompts)?],
    })
}

fn losses(settings: &LsaTraining, population: &[&[Row]], prompts: &[&[Row]]) -> Result<Panel> {
    let mut found =
        panel("population loss on the way", Axis::log(TIME), Axis::log("(*L* − min *L*) / gap of weights 0"));
    // Below, the population's own flow alone.
    found.y.range = Some((1e-6, 10.0));
    let times = times(settings.until, settings.points);
    let gap = |label: &str, colour, cell: &[Row]| Ok(curve(label, colour, band(cell, "gap", &times)?));
    for (colour, cell) in prompts.iter().enumerate() {
        let label = format!("*B* = {}", cell[0].parameter(CELL_BATCH.name)?);
        found.series.push(gap(&label, colour, cell)?);
    }
    for cell in population {
        found.series.push(gap("*B* = ∞", INK, cell)?);
    }
    Ok(found)
}

fn distances(prompts: &[&[Row]]) -> Result<Panel> {
    let mut found = panel(
        "distance to the limit",
        Axis::log("prompts *B*"),
        Axis::log("‖*uB* + *vc*^{T} − *Γ*^{−1}‖ / ‖*Γ*^{−1}‖"),
    );
    let at = |cell: &&[Row]| average(cell, "distance", cell[0].parameter(CELL_BATCH.name)?);
    let points = prompts.iter().map(at).collect::<Result<Vec<_>>>()?;
    if let Some(last) = points.last().copied() {
        let line = |p: &Point| Point::at(p.x, last.y * (last.x / p.x).sqrt());
        let line = points.iter().map(line).collect();
        found.series.push(Series::predicted("slope −1/2", GREY, line));
    }
    let x: Vec<f64> = points.iter().map(|p| p.x).collect();
    let draws = prompts.iter().map(|c| c.len()).min().unwrap_or(0);
    let sample = |i: usize| {
        let one = |c: &&[Row]| c[i].number("distance");
        prompts.iter().map(one).collect::<Result<Vec<f64>>>()
    };
    let samples = (0..draws).map(sample).collect::<Result<Vec<_>>>()?;
    let label = match slope_label(&x, &samples)? {
        Some(slope) => format!("slope {slope}"),
        None => "after training".to_string(),
    };
    let series = Series::bars(label, INK, points).with_interval(INTERVAL);
    found.series.push(series);
    Ok(found)
}

fn overfit(settings: &LsaTraining, prompts: &[&[Row]]) -> Result<Panel> {
    let mut found = panel("loss after training", Axis::log("prompts *B*"), Axis::log("loss"));
    let of = |name: &'static str| {
        let at = |cell: &&[Row]| spread(cell, name, cell[0].parameter(CELL_BATCH.name)?);
        prompts.iter().map(at).collect::<Result<Vec<_>>>()
    };
    found.rules.push(Rule::horizontal("min *L*", settings.training()?.minimum()));
    for (label, colour, name) in [("on the *B* prompts", 4, "loss"), ("in the population", 5, "population")] {
        let series = Series { band: false, ..Series::measured(label, colour, of(name)?).with_interval(BAND) };
        found.series.push(series);
    }
    Ok(found)
}

fn softmax(settings: &LsaTraining, cells: &[&[Row]]) -> Result<Figure> {
    Ok(Figure {
        name: "lsa_softmax".into(),
        title: "Softmax attention trained on the prompts of the linear one".into(),
        caption: format!(
            "Gradient flow of both layers on the same *B* prompts, from the same weights (the theorem's, *σ* = \
             {}), over the entries of *W*^{{PV}} and *W*^{{KQ}} that the prediction sees; *d* = {}, eigenvalues of \
             *Λ* from 1 to 1/{}, *N* = {}, label noise of variance {}. Loss ½(*ŷ* − *y*)^{{2}} on {} new prompts: (a) \
             on the way, at the largest *B*; (b) at the end. Dashed in (b): on the *B* prompts themselves. \
             Median and 10-90 % over {} draws. The rules are the least loss of the linear layer, and the \
             loss of predicting 0.",
            settings.scale,
            settings.dim,
            settings.condition,
            settings.context,
            settings.noise_var,
            settings.softmax_test,
            settings.trials,
        ),
        width: Width::Page,
        columns: 2,
        panels: vec![softmax_on_the_way(settings, cells)?, softmax_at_the_end(settings, cells)?],
    })
}

/// The least loss of the linear layer, and that of predicting 0.
fn marks(settings: &LsaTraining) -> Result<Vec<Rule>> {
    let training = settings.training()?;
    let rule = |label: &str, at| Rule::horizontal(label, at).written();
    Ok(vec![rule("min *L*, linear", training.minimum()), rule("predicting 0", training.loss_of_zero())])
}

/// A linear axis from 0, with space above all that the panel holds.
fn from_zero(panel: &Panel) -> Axis {
    let points = panel.series.iter().flat_map(|s| &s.points);
    let ends = points.map(|p| p.interval.map_or(p.y, |(_, high)| high));
    let high = ends.chain(panel.rules.iter().map(|r| r.at)).fold(0.0, f64::max);
    panel.y.clone().from_to(0.0, 1.12 * high)
}

fn softmax_on_the_way(settings: &LsaTraining, cells: &[&[Row]]) -> Result<Panel> {
    let mut found = panel("loss on new prompts on the way", Axis::log(TIME), Axis::linear("loss"));
    let times = times(settings.until, settings.points);
    let Some(cell) = cells.last() else {
        return Ok(found);
    };
    found.title += &format!(", *B* = {}", cell[0].parameter(CELL_BATCH.name)?);
    for (name, colour) in LAYERS {
        let series = curve(name, colour, band(cell, name, &times)?);
        found.series.push(series.unlisted().tagged(name));
    }
    found.rules = marks(settings)?;
    found.y = from_zero(&found);
    Ok(found)
}

fn softmax_at_the_end(settings: &LsaTraining, cells: &[&[Row]]) -> Result<Panel> {
    let mut found = panel("loss after training", Axis::log("prompts *B*"), Axis::linear("loss"));
    for (layer, colour) in LAYERS {
        for set in ["test", "train"] {
            let name = format!("{layer}_{set}");
            let at = |cell: &&[Row]| spread(cell, &name, cell[0].parameter(CELL_BATCH.name)?);
            let points = cells.iter().map(at).collect::<Result<Vec<_>>>()?;
            let (label, stroke) = match set {
                "train" => ("the *B* prompts", Stroke::Dashed),
                _ => ("new prompts", Stroke::Solid),
            };
            let label = format!("{layer}, {label}");
            let series = Series {
                band: false,
                unlisted: set == "train",
                ..Series::measured(label, colour, points).with_interval(BAND)
            };
            found.series.push(series.drawn(stroke));
        }
    }
    let key = Series::key("on the *B* prompts themselves", GREY, Stroke::Dashed);
    found.series.push(key);
    // Space for the labels of the rules at the right of the last points.
    let batches = || found.series.iter().flat_map(|s| &s.points).map(|p| p.x);
    let (low, high) = (batches().fold(f64::INFINITY, f64::min), batches().fold(0.0, f64::max));
    found.x.range = (low < high).then(|| (low / 1.2, 1.1 * high * (high / low).powf(0.3)));
    found.rules = marks(settings)?;
    found.y = from_zero(&found);
    Ok(found)
}

fn starts(settings: &LsaTraining, with: &[&[Row]], dense: &[&[Row]]) -> Result<Figure> {
    Ok(Figure {
        name: "lsa_starts".into(),
        title: "From which initial weights linear self-attention reaches the global minimum".into(),
        caption: format!(
            "(a): time until *L* − min *L* is {} of its value at weights 0, from *u* = *σ*, *v* = *c* = 0 and \
             *B* of norm *σ* (*ΘΘ*^{{T}} as in the theorem, normal *Θ*, or −*ΘΘ*^{{T}}), *d* = {}, \
             eigenvalues of *Λ* from 1 to 1/{}, *N* = {}; median and 10-90 % over {} draws, all of which \
             arrive unless said; dashed: slope 1/‖*Λ*^{{2}}‖ in ln(1/*σ*). The rule is where the theorem's \
             condition on *σ* ends. (b): share of {} flows from independent normal weights in all places, v \
             and c too, that end within 1e-4 of the least loss, *d* = {}, eigenvalues from 1 to 1/3; 95 % \
             (Clopper-Pearson).",
            settings.arrived,
            settings.dim,
            settings.condition,
            settings.context,
            settings.trials,
            settings.dense_starts * settings.trials as usize,
            settings.dense_dim,
        ),
        width: Width::Page,
        columns: 2,
        panels: vec![times_to_arrive(settings, with)?, shares(settings, dense)?],
    })
}

fn times_to_arrive(settings: &LsaTraining, cells: &[&[Row]]) -> Result<Panel> {
    let mut found =
        panel("with *v* = *c* = 0", Axis::log("*σ* / largest that the theorem allows"), Axis::linear("time to arrive"));
    let training = settings.training()?;
    for (colour, (kind, label)) in
        [("theorem", "*B* = *ΘΘ*^{T}"), ("normal", "*B* = *Θ*"), ("mirrored", "*B* = −*ΘΘ*^{T}")]
            .into_iter()
            .enumerate()
    {
        let is = |cell: &&&[Row]| cell[0].word(START.name).is_ok_and(|k| k == kind);
        let at = |cell: &&[Row]| spread(cell, "time", cell[0].parameter(RELATIVE_SCALE.name)?);
        let points = cells.iter().filter(is).map(at).collect::<Result<Vec<_>>>()?;
        if let (0, Some(first)) = (colour, points.first().copied()) {
            let squares = training.covariance().values().mapv(|l| l * l);
            let rate = squares.dot(&squares).sqrt();
            let small = points.iter().filter(|p| p.x <= 0.3);
            let line = small.map(|p| Point::at(p.x, first.y + (first.x / p.x).ln() / rate));
            let line = Series::predicted("ln(1/*σ*) / ‖*Λ*^{2}‖", GREY, line.collect());
            found.series.push(line);
        }
        let missing = missing(cells, kind)?;
        let label = match missing {
            0 => label.to_string(),
            n => format!("{label} ({n} do not arrive)"),
        };
        if !points.is_empty() {
            let series = Series::measured(label, colour, points).with_interval(BAND);
            found.series.push(series);
        }
    }
    found.rules.push(Rule::vertical("", 1.0));
    Ok(found)
}

/// Flows of this kind that have not arrived.
fn missing(cells: &[&[Row]], kind: &str) -> Result<usize> {
    let rows = cells.iter().flat_map(|cell| cell.iter());
    let mut count = 0;
    for row in rows.filter(|r| r.word(START.name).is_ok_and(|k| k == kind)) {
        count += usize::from(row.number("time")?.is_infinite());
    }
    Ok(count)
}

fn shares(settings: &LsaTraining, cells: &[&[Row]]) -> Result<Panel> {
    let mut found = panel(
        "dense weights",
        Axis::log("training examples *N*"),
        Axis::linear("share at the global minimum").from_to(-0.04, 1.04),
    );
    for (colour, (scale, group)) in groups(cells, DENSE_SCALE.name)?.into_iter().enumerate() {
        let mut points = vec![];
        for cell in group {
            let reached = cell.iter().map(|r| r.number("reached")).sum::<Result<f64>>()?;
            let all = (settings.dense_starts * cell.len()) as u64;
            let e = binomial(reached as u64, all, 0.95)?;
            points.push(Point::between(cell[0].parameter(CONTEXT.name)?, e.value, e.low, e.high));
        }
        let label = format!("standard deviation {scale}");
        found
            .series
            .push(Series { band: false, ..Series::measured(label, colour + 3, points).with_interval(INTERVAL) });
    }
    Ok(found)
}
