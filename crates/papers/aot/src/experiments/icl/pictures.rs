//! The figures of `icl`, from its rows.

use super::bands::ENDS;
use super::{BASELINES, Icl, plateau};
use crate::experiments::networks::{depth_caption, depth_panels, label, look, schedule};
use crate::quantities::*;
use attnlab_lab::experiment::draw::{along, by_word, cells, extremes, lists, points, with_word};
use attnlab_lab::figure::{Axis, GREY, INK, Marker, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;
use attnlab_train::training::Ramp;

pub fn figures(settings: &Icl, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells("icl", rows)?;
    let figures = [by_examples, losses, plateau::figure, shifted].map(|figure| figure(settings, &cells)).into_iter();
    figures.chain(depth(settings, &cells).transpose()).collect()
}

/// The name of a baseline in legends.
fn baseline(name: &str) -> String {
    match (name.strip_prefix("lasso-"), name.strip_suffix("-nn")) {
        (Some(alpha), _) => format!("Lasso (*α* = {alpha})"),
        (_, Some(count)) => format!("{count}-nearest neighbours"),
        _ if name == "bayes" => "Bayes (ridge)".into(),
        _ => name.replace('-', " "),
    }
}

/// "LAW.mean" over seeds, and the widest ends of the seeds' bands.
fn curve(cell: &[Row], name: &str) -> Result<Vec<Point>> {
    let [means, lows, highs] = ["mean", "low", "high"].map(|what| -> Result<Vec<Point>> {
        Ok(along((0..).map(f64::from), &lists(cell, &format!("{name}.{what}"))?, extremes))
    });
    let ends = lows?.into_iter().zip(highs?);
    Ok(means?.iter().zip(ends).map(|(mean, (l, h))| Point::between(mean.x, mean.y, l.low(), h.high())).collect())
}

const INTERVAL: &str = "widest of the seeds' 5-95 % bootstrap bands over prompts";

/// The networks of one class: name and rows.
pub(super) fn networks<'a>(cells: &[&'a [Row]], class: &str) -> Result<Vec<(&'a str, &'a [Row])>> {
    let mut networks = by_word(&with_word(cells, FUNCTIONS, class), MODEL)?;
    networks.retain(|(model, _)| *model != BASELINES);
    Ok(networks)
}

/// Adds curves of the networks and chosen baselines of one class under one law.
fn compared(mut panel: Panel, cells: &[&[Row]], law: &str, shown: &[String]) -> Result<Panel> {
    let strokes = [(INK, Stroke::Dashed), (GREY, Stroke::Dashed), (INK, Stroke::Dotted), (GREY, Stroke::DashDotted)];
    for (model, cell) in by_word(cells, MODEL)? {
        if model != BASELINES {
            let (points, (colour, stroke)) = (curve(cell, law)?, look(model));
            panel = panel.with(Series::fitted(label(model), colour, points).with_interval(INTERVAL).drawn(stroke));
            continue;
        }
        panel = panel.curves(shown, |i, name| {
            let (points, (colour, stroke)) = (curve(cell, &format!("{law}.{name}"))?, strokes[i.min(3)]);
            // The bands of the networks alone are drawn: those of baselines would hide them.
            let means = points.iter().map(|p| Point::at(p.x, p.y)).collect();
            Ok(Series::predicted(baseline(name), colour, means).drawn(stroke))
        })?;
    }
    Ok(panel)
}

/// Sizes and plan of the trainings, for captions.
pub(super) fn training(settings: &Icl) -> String {
    let Icl { dim, width, heads, plan, seeds, .. } = settings;
    let plan = schedule(plan, "prompts");
    let depth = |model: &String| format!("{} {}", label(model), settings.layers.depth(model).unwrap_or(0));
    let depths = settings.models.iter().map(depth).collect::<Vec<_>>().join(", ");
    format!("*d* = {dim}, width {width}, {heads} heads, {plan}, {seeds} seeds; layers: {depths}.")
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

fn by_examples(settings: &Icl, cells: &[&[Row]]) -> Result<Figure> {
    let Icl { evaluation, seeds, .. } = settings;
    let panel = |class: &String| {
        let mut shown = vec!["least-squares".to_string(), "averaging".into(), format!("{}-nn", evaluation.neighbours)];
        if class != "linear" {
            let middle = evaluation.lasso.len() / 2;
            shown.extend(evaluation.lasso.get(middle).map(|a| format!("lasso-{a}")));
        }
        let y = Axis::linear("squared error / E *f*(*x*)²").from_to(0.0, 1.3);
        let empty = Panel::new(class.replace('-', " "), Axis::whole("in-context examples *k*"), y);
        compared(empty, &with_word(cells, FUNCTIONS, class), "standard", &shown)
    };
    let panels = settings.functions.iter().map(panel).collect::<Result<_>>()?;
    let title = "Regression in context: error against the number of examples";
    Ok(Figure::fitting("icl_examples", title, 2, panels).captioned(format!(
        "Squared error of the prediction for *x*_{{k+1}} after *k* examples, over its variance, on {} prompts per \
         seed. Lines: mean over {seeds} training seeds. Bands of the networks: over prompts ({}-{} % of the \
         bootstrapped mean) and seeds (the widest ends). {}",
        evaluation.prompts,
        100.0 * ENDS.0,
        100.0 * ENDS.1,
        training(settings),
    )))
}

/// Largest number of stages of the curriculum that are marked one by one.
const MOST_STAGES: usize = 4;

/// Vertical lines where the curriculum adds dimensions, or where its last ones come in if these are many,
/// and where prompts have reached their length.
fn stages(settings: &Icl) -> Vec<Rule> {
    let steps = 0..settings.plan.steps;
    let rises = |ramp: &Ramp| -> Vec<(u64, usize)> {
        let every = ramp.every.max(1);
        let sampled = steps.clone().step_by(usize::try_from(every).unwrap_or(usize::MAX));
        sampled.filter(|s| *s > 0 && ramp.at_step(*s) > ramp.at_step(*s - 1)).map(|s| (s, ramp.at_step(s))).collect()
    };
    let (dims, points) = (rises(&settings.curriculum.dims), rises(&settings.curriculum.points));
    let first = if dims.len() > MOST_STAGES { dims.len() - 1 } else { 0 };
    let named =
        |(step, size): &(u64, usize), what: &str| Rule::vertical(format!("{size} {what}"), *step as f64).written();
    let dims = dims[first..].iter().map(|stage| named(stage, "dimensions"));
    dims.chain(points.last().map(|stage| named(stage, "points"))).collect()
}

fn losses(settings: &Icl, cells: &[&[Row]]) -> Result<Figure> {
    let mut panels = vec![];
    for class in &settings.functions {
        let mut panel =
            Panel::new(class.replace('-', " "), Axis::linear("steps"), Axis::log("squared error in training"));
        panel.rules = stages(settings);
        for (model, cell) in networks(cells, class)? {
            panel = panel.curves(cell, |_, row| {
                let losses = points(&row.series("steps")?, &row.series("loss")?);
                Ok(Series::measured(label(model), look(model).0, losses).marked(Marker::None))
            })?;
        }
        panels.push(panel);
    }
    let (dims, points) = (&settings.curriculum.dims, &settings.curriculum.points);
    Ok(Figure::fitting("icl_training", "Regression in context: losses in training", 2, panels).captioned(format!(
        "Squared error averaged over all prefixes and over {} steps, one line per seed; the curriculum goes from {} \
         to {} dimensions and from {} to {} points, which raises the loss at first: vertical lines mark its stages. \
         {}",
        settings.plan.report_every,
        dims.from,
        dims.to,
        points.from,
        points.to,
        training(settings),
    )))
}

fn shifted(settings: &Icl, cells: &[&[Row]]) -> Result<Figure> {
    // One class, the first: a page holds its five laws.
    let class = &settings.functions[0];
    let cells = with_word(cells, FUNCTIONS, class);
    let mut panels = vec![];
    for (law, _) in settings.laws(settings.functions(class)?).iter().skip(1) {
        let mut shown = vec!["least-squares".to_string()];
        if law == "noise" {
            shown.push("bayes".into());
        }
        let (x, y) = (Axis::whole("in-context examples *k*"), Axis::log("squared error / E *f*(*x*)²"));
        let mut panel = compared(Panel::new(named(law), x, y), &cells, law, &shown)?;
        panel.series.iter_mut().for_each(only_positive);
        if law == "longer" {
            panel = panel.ruled(Rule::vertical("longest prompt of training", settings.points as f64));
        }
        panels.push(panel);
    }
    Ok(Figure::page("icl_shifted", "Regression in context off the law of training", 3, panels).captioned(format!(
        "{} functions. Networks trained on *x* ~ N(0, *I*) without noise, tried on other laws: inputs times a factor, \
         a covariance with eigenvalues falling as 1/*j*² in a random basis, labels with noise of standard deviation \
         {}, and {} examples where training had {}. Errors over E *f*(*x*)² of the law of training. Bands as in the \
         figure of errors. Exact least squares leaves the axis once it has *d* examples without noise. {}",
        class.replace('-', " "),
        settings.evaluation.noise,
        settings.evaluation.longer,
        settings.points,
        training(settings),
    )))
}

/// Leaves out errors of rounding size, which would stretch a logarithmic axis over thirty decades.
fn only_positive(series: &mut Series) {
    for point in series.points.iter_mut().filter(|p| p.y < 1e-6) {
        *point = Point::at(point.x, f64::NAN);
    }
}

/// Per-layer measures of the networks, trained and untrained.
fn depth(settings: &Icl, cells: &[&[Row]]) -> Result<Option<Figure>> {
    let class = &settings.functions[0];
    let panels = depth_panels(&networks(cells, class)?)?;
    let title = "Does a trained attention-only transformer denoise?";
    Ok((!panels.is_empty()).then(|| {
        Figure::page("icl_depth", title, 2, panels).captioned(format!(
            "Activations of {} prompts by depth ({} functions): mean and range over {} seeds. {} {}",
            settings.evaluation.activations,
            class.replace('-', " "),
            settings.seeds,
            depth_caption(settings.evaluation.precision),
            training(settings),
        ))
    }))
}
