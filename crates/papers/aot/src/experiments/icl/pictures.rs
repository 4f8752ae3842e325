//! The figures of `icl`, from its rows.

use super::bands::ENDS;
use super::{BASELINES, Icl};
use crate::experiments::networks::{depth_caption, depth_panels, label, look};
use crate::quantities::*;
use attnlab_core::error::Result;
use attnlab_lab::experiment::draw::cells;
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Marker, Panel, Point, Rule, Series, Stroke, Width};
use attnlab_lab::run::Row;
use attnlab_train::training::Ramp;

pub fn figures(settings: &Icl, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells("icl", rows)?;
    let mut figures = vec![by_examples(settings, &cells)?, losses(settings, &cells)?, shifted(settings, &cells)?];
    figures.extend(depth(settings, &cells)?);
    Ok(figures)
}

/// The name of a baseline in legends.
fn baseline(name: &str) -> String {
    if let Some(alpha) = name.strip_prefix("lasso-") {
        return format!("Lasso (*α* = {alpha})");
    }
    if let Some(count) = name.strip_suffix("-nn") {
        return format!("{count}-nearest neighbours");
    }
    match name {
        "bayes" => "Bayes (ridge)".into(),
        _ => name.replace('-', " "),
    }
}

/// "LAW.mean" over seeds, and the widest ends of the seeds' bands.
fn curve(cell: &[Row], name: &str) -> Result<Vec<Point>> {
    let all =
        |what: &str| -> Result<Vec<Vec<f64>>> { cell.iter().map(|r| r.series(&format!("{name}.{what}"))).collect() };
    let (means, lows, highs) = (all("mean")?, all("low")?, all("high")?);
    let points = means.first().map_or(0, Vec::len);
    let at = |list: &[Vec<f64>], k: usize| -> Vec<f64> { list.iter().filter_map(|s| s.get(k).copied()).collect() };
    let point = |k: usize| {
        let seeds = at(&means, k);
        let mean = seeds.iter().sum::<f64>() / seeds.len() as f64;
        let low = at(&lows, k).into_iter().fold(f64::INFINITY, f64::min);
        let high = at(&highs, k).into_iter().fold(f64::NEG_INFINITY, f64::max);
        Point::between(k as f64, mean, low, high)
    };
    Ok((0..points).map(point).collect())
}

const INTERVAL: &str = "widest of the seeds' 5-95 % bootstrap bands over prompts";

fn of_class<'a>(cells: &[&'a [Row]], class: &str) -> Vec<&'a [Row]> {
    let is = |cell: &&&[Row]| cell[0].word(FUNCTIONS.name).is_ok_and(|c| c == class);
    cells.iter().filter(is).copied().collect()
}

/// The networks of one class: name and rows.
fn networks<'a>(cells: &[&'a [Row]], class: &str) -> Result<Vec<(&'a str, &'a [Row])>> {
    let mut found = vec![];
    for cell in of_class(cells, class) {
        let model = cell[0].word(MODEL.name)?;
        if model != BASELINES {
            found.push((model, cell));
        }
    }
    Ok(found)
}

/// Curves of the networks and chosen baselines of one class under one law.
fn compared(cells: &[&[Row]], law: &str, shown: &[String]) -> Result<Vec<Series>> {
    let mut series = vec![];
    for cell in cells {
        let model = cell[0].word(MODEL.name)?;
        if model == BASELINES {
            for (i, name) in shown.iter().enumerate() {
                let points = curve(cell, &format!("{law}.{name}"))?;
                let (colour, stroke) = match i {
                    0 => (INK, Stroke::Dashed),
                    1 => (GREY, Stroke::Dashed),
                    2 => (INK, Stroke::Dotted),
                    _ => (GREY, Stroke::DashDotted),
                };
                // The bands of the networks alone are drawn: those of baselines would hide them.
                let means = points.iter().map(|p| Point::at(p.x, p.y)).collect();
                series.push(Series::predicted(baseline(name), colour, means).drawn(stroke));
            }
            continue;
        }
        let (points, (colour, stroke)) = (curve(cell, law)?, look(model));
        let line = Series::fitted(label(model), colour, points).with_interval(INTERVAL);
        series.push(Series { stroke, ..line });
    }
    Ok(series)
}

fn training(settings: &Icl) -> String {
    let o = format!("{:?}", settings.plan.optimiser.kind);
    format!(
        "*d* = {}, width {}, {} heads, {o} for {} steps of {} prompts (rate {} after {} steps of \
         warm-up, cosine to {}, clip {}), {} seeds",
        settings.dim,
        settings.width,
        settings.heads,
        settings.plan.steps,
        settings.plan.batch,
        settings.plan.rate.peak,
        settings.plan.rate.warmup,
        settings.plan.rate.last,
        settings.plan.clip,
        settings.seeds,
    )
}

fn depths(settings: &Icl) -> String {
    let of = |m: &String| {
        let layers = settings.layers.depth(m).unwrap_or(0);
        format!("{} {layers}", label(m))
    };
    settings.models.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// The name of a law in words.
fn named(law: &str) -> String {
    match law {
        "standard" => "law of training".into(),
        "skewed" => "skewed covariance".into(),
        "noise" => "noisy labels".into(),
        "longer" => "longer prompts".into(),
        other => match other.strip_prefix("scale-") {
            Some(factor) => format!("inputs × {factor}"),
            None => other.into(),
        },
    }
}

/// A figure with one panel per class of functions.
fn by_class(name: &str, title: &str, caption: String, panels: Vec<Panel>) -> Figure {
    Figure {
        name: name.into(),
        title: title.into(),
        caption,
        width: if panels.len() > 1 { Width::Page } else { Width::Column },
        columns: 2.min(panels.len()),
        panels,
    }
}

fn by_examples(settings: &Icl, cells: &[&[Row]]) -> Result<Figure> {
    let mut panels = vec![];
    for class in &settings.functions {
        let mut shown = vec!["least-squares".to_string(), "averaging".into()];
        shown.push(format!("{}-nn", settings.evaluation.neighbours));
        if class != "linear" {
            let middle = settings.evaluation.lasso.len() / 2;
            shown.extend(settings.evaluation.lasso.get(middle).map(|a| format!("lasso-{a}")));
        }
        let series = compared(&of_class(cells, class), "standard", &shown)?;
        panels.push(Panel {
            title: class.replace('-', " "),
            x: Axis::whole("in-context examples *k*"),
            y: Axis::linear("squared error / E *f*(*x*)²").from_to(0.0, 1.3),
            series,
            ..Panel::default()
        });
    }
    let caption = format!(
        "Squared error of the prediction for *x*_{{k+1}} after *k* examples, over its variance, on {} \
         prompts per seed. Lines: mean over {} training seeds. Bands of the networks: over prompts ({}-{} % of the \
         bootstrapped mean) and seeds (the widest ends). {}; layers: {}.",
        settings.evaluation.prompts,
        settings.seeds,
        100.0 * ENDS.0,
        100.0 * ENDS.1,
        training(settings),
        depths(settings),
    );
    Ok(by_class("icl_examples", "Regression in context: error against the number of examples", caption, panels))
}

/// Largest number of stages of the curriculum that are marked one by one.
const MOST_STAGES: usize = 4;

/// Vertical lines where the curriculum adds dimensions, or where its last ones come in if these are many,
/// and where prompts have reached their length.
fn stages(settings: &Icl) -> Vec<Rule> {
    let steps = 0..settings.plan.steps;
    let rises = |ramp: &Ramp| -> Vec<(u64, usize)> {
        let every = ramp.every.max(1);
        let all = steps.clone().step_by(usize::try_from(every).unwrap_or(usize::MAX));
        let risen = all.filter(|s| *s > 0 && ramp.at_step(*s) > ramp.at_step(*s - 1));
        risen.map(|s| (s, ramp.at_step(s))).collect()
    };
    let (dims, points) = (rises(&settings.curriculum.dims), rises(&settings.curriculum.points));
    let first = if dims.len() > MOST_STAGES { dims.len() - 1 } else { 0 };
    let named =
        |(step, size): &(u64, usize), what: &str| Rule::vertical(format!("{size} {what}"), *step as f64).written();
    let dims = dims[first..].iter().map(|stage| named(stage, "dimensions"));
    let points = points.last().map(|stage| named(stage, "points"));
    dims.chain(points).collect()
}

fn losses(settings: &Icl, cells: &[&[Row]]) -> Result<Figure> {
    let mut panels = vec![];
    for class in &settings.functions {
        let mut panel = Panel {
            title: class.replace('-', " "),
            x: Axis::linear("steps"),
            y: Axis::log("squared error in training"),
            rules: stages(settings),
            ..Panel::default()
        };
        for (model, cell) in networks(cells, class)? {
            for row in cell {
                let (steps, loss) = (row.series("steps")?, row.series("loss")?);
                let points = steps.iter().zip(&loss).map(|(s, l)| Point::at(*s, *l));
                panel.series.push(Series {
                    marker: Marker::None,
                    ..Series::measured(label(model), look(model).0, points.collect())
                });
            }
        }
        panels.push(panel);
    }
    let caption = format!(
        "Squared error averaged over all prefixes and over {} steps, one line per seed; the \
         curriculum goes from {} to {} dimensions and from {} to {} points, which raises the loss at \
         first: vertical lines mark its stages. {}; layers: {}.",
        settings.plan.report_every,
        settings.curriculum.dims.from,
        settings.curriculum.dims.to,
        settings.curriculum.points.from,
        settings.curriculum.points.to,
        training(settings),
        depths(settings),
    );
    Ok(by_class("icl_training", "Regression in context: losses in training", caption, panels))
}

fn shifted(settings: &Icl, cells: &[&[Row]]) -> Result<Figure> {
    // One class, the first: a page holds its five laws.
    let class = &settings.functions[0];
    let cells = of_class(cells, class);
    let mut panels = vec![];
    for (law, _) in settings.laws(settings.functions(class)?).iter().skip(1) {
        let mut shown = vec!["least-squares".to_string()];
        if law == "noise" {
            shown.push("bayes".into());
        }
        panels.push(Panel {
            title: named(law),
            x: Axis::whole("in-context examples *k*"),
            y: Axis::log("squared error / E *f*(*x*)²"),
            series: compared(&cells, law, &shown)?.into_iter().map(positive).collect(),
            rules: match law.as_str() {
                "longer" => vec![Rule::vertical("longest prompt of training", settings.points as f64)],
                _ => vec![],
            },
            ..Panel::default()
        });
    }
    Ok(Figure {
        name: "icl_shifted".into(),
        title: "Regression in context off the law of training".into(),
        caption: format!(
            "{} functions. Networks trained on *x* ~ N(0, *I*) without noise, tried on other laws: inputs \
             times a factor, a covariance with eigenvalues falling as 1/*j*² in a random basis, labels \
             with noise of standard deviation {}, and {} examples where training had {}. Errors over \
             E *f*(*x*)² of the law of training. Bands as in the figure of errors. Exact least squares \
             leaves the axis once it has *d* examples without noise. {}; layers: {}.",
            class.replace('-', " "),
            settings.evaluation.noise,
            settings.evaluation.longer,
            settings.points,
            training(settings),
            depths(settings),
        ),
        width: Width::Page,
        columns: 3,
        panels,
    })
}

/// Errors of rounding size would stretch a logarithmic axis over thirty decades.
fn positive(mut series: Series) -> Series {
    for point in &mut series.points {
        if point.y < 1e-6 {
            point.y = f64::NAN;
            point.interval = None;
        }
    }
    series
}

/// Per-layer measures of the networks, trained and untrained.
fn depth(settings: &Icl, cells: &[&[Row]]) -> Result<Option<Figure>> {
    let class = &settings.functions[0];
    let panels = depth_panels(&networks(cells, class)?)?;
    if panels.is_empty() {
        return Ok(None);
    }
    Ok(Some(Figure {
        name: "icl_depth".into(),
        title: "Does a trained attention-only transformer denoise?".into(),
        caption: format!(
            "Activations of {} prompts by depth ({} functions): mean and range over {} seeds. {} {}; \
             layers: {}.",
            settings.evaluation.activations,
            class.replace('-', " "),
            settings.seeds,
            depth_caption(settings.evaluation.precision),
            training(settings),
            depths(settings),
        ),
        width: Width::Page,
        columns: 2,
        panels,
    }))
}
