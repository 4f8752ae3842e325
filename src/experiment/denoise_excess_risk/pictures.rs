//! The figures of `denoise_excess_risk`, from its rows.

use super::DenoiseExcessRisk;
use crate::error::{Error, Result};
use crate::figure::{Axis, Figure, Heat, Panel, Point, Series, Width};
use crate::run::Row;
use crate::run::store::by_cell;
use crate::stats::{Estimate, mean};
use crate::theory::denoising::{linear, sphere};

/// Level of all intervals.
const LEVEL: f64 = 0.95;
const INTERVAL: &str = "95 % interval of the mean over seeds";

/// One cell: where it is, and its excess risk relative to the Bayes risk.
struct Spot {
    group: String,
    task: String,
    ambient: f64,
    dim: f64,
    context: f64,
    noise: f64,
    trained: Estimate,
    theorem: Estimate,
    /// C / L of the theorem's weights, relative to the Bayes risk.
    law: f64,
}

pub fn figures(settings: &DenoiseExcessRisk, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = by_cell(rows);
    let spots: Vec<Spot> = cells
        .iter()
        .map(|cell| spot(settings, cell))
        .collect::<Result<_>>()?;
    if spots.is_empty() {
        return Err(Error::Content {
            path: "rows of denoise_excess_risk".into(),
            problem: "no rows to draw; run the experiment first".into(),
        });
    }
    Ok(vec![maps(settings, &spots), lines(settings, &spots)])
}

fn spot(settings: &DenoiseExcessRisk, cell: &[Row]) -> Result<Spot> {
    let row = &cell[0];
    let [ambient, dim, context, noise] =
        ["ambient", "dim", "context", "sigma_z2"].map(|name| row.parameter(name));
    let (dim, context, noise) = (dim?, context?, noise?);
    let task = row.word("task")?.to_string();
    let (bayes, rate) = match task.as_str() {
        "subspace" => {
            let own = settings.subspace.sigma0_2;
            let bayes = linear::mmse(&vec![own; dim as usize], noise);
            (bayes, linear::excess_rate(dim as usize, own, noise))
        }
        _ => {
            let (d, radius) = (dim as usize, settings.sphere.radius);
            (
                sphere::mmse(d, radius, noise),
                sphere::softmax_rate(d, radius, noise),
            )
        }
    };
    let relative = |name: &str| -> Result<Estimate> {
        let values: Vec<f64> = cell
            .iter()
            .map(|row| Ok(row.number(name)? / bayes))
            .collect::<Result<_>>()?;
        mean(&values, LEVEL)
    };
    Ok(Spot {
        group: row.word("group")?.to_string(),
        task,
        ambient: ambient?,
        dim,
        context,
        noise,
        trained: relative("trained")?,
        theorem: relative("theorem")?,
        law: rate / context / bayes,
    })
}

fn title(task: &str) -> &'static str {
    match task {
        "subspace" => "linear attention, subspaces",
        _ => "softmax attention, spheres",
    }
}

const EXCESS: &str = "excess risk / Bayes risk";

fn maps(settings: &DenoiseExcessRisk, spots: &[Spot]) -> Figure {
    let mut panels = vec![];
    for task in &settings.tasks {
        let own = || spots.iter().filter(|s| s.task == *task);
        let by_noise = own().filter(|s| s.group == "context-noise");
        let points = by_noise.map(|s| (s.context, s.noise, s.trained.value));
        panels.push(Panel {
            title: title(task).into(),
            x: Axis::log("context length *L*"),
            y: Axis::log("noise *σ*_{Z}²"),
            heat: Some(heat(&points.collect::<Vec<_>>(), true)),
            ..Panel::default()
        });
        let by_dim = own().filter(|s| s.group == "dimensions");
        let points = by_dim.map(|s| (s.ambient, s.dim / s.ambient, s.trained.value));
        panels.push(Panel {
            title: title(task).into(),
            x: Axis::log("dimension *n*"),
            y: Axis::linear("*d* / *n*"),
            heat: Some(heat(&points.collect::<Vec<_>>(), false)),
            ..Panel::default()
        });
    }
    Figure {
        name: "denoise_excess_risk".into(),
        title: "Excess risk over Bayes of one trained attention layer".into(),
        caption: format!(
            "E‖x̂ - f_opt‖² of the trained layer relative to the Bayes risk, mean over {} seeds and {} fresh \
             prompts each; all weights trained on {} prompts. Left: *n* = {}, *d* = {} (subspaces, *σ*_{{0}}² = {}) \
             and {} (spheres, *R* = {}). Right: *L* = {}, *σ*_{{Z}}² = {} and {}. The intervals are in \
             `denoise_excess_risk_lines` and in the table behind it.",
            settings.seeds,
            settings.fresh,
            settings.training.train,
            settings.ambient,
            settings.subspace.dim,
            settings.subspace.sigma0_2,
            settings.sphere.dim,
            settings.sphere.radius,
            settings.context,
            settings.subspace.sigma_z2,
            settings.sphere.sigma_z2,
        ),
        width: Width::Page,
        columns: 2,
        panels,
    }
}

/// A heat map of (x, y, value).
fn heat(points: &[(f64, f64, f64)], log_y: bool) -> Heat {
    let sorted = |of: fn(&(f64, f64, f64)) -> f64| {
        let mut all: Vec<f64> = points.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    };
    let (xs, ys) = (sorted(|p| p.0), sorted(|p| p.1));
    let value = |x: f64, y: f64| {
        let found = points.iter().find(|p| p.0 == x && p.1 == y);
        found.map_or(f64::NAN, |p| p.2)
    };
    let row = |y: &f64| xs.iter().map(|x| value(*x, *y)).collect();
    Heat {
        x_edges: edges(&xs, true),
        y_edges: edges(&ys, log_y),
        values: ys.iter().map(row).collect(),
        bar: Axis::log(EXCESS),
    }
}

/// Cell boundaries halfway between the values, on the axis that they are drawn on.
fn edges(values: &[f64], log: bool) -> Vec<f64> {
    let (to, back): (fn(f64) -> f64, fn(f64) -> f64) = match log {
        true => (f64::ln, f64::exp),
        false => (|x| x, |x| x),
    };
    let at: Vec<f64> = values.iter().map(|v| to(*v)).collect();
    let last = at.len() - 1;
    // A single value has no neighbour to be halfway to.
    let step = |i: usize| at.get(i + 1).map_or(1.0, |next| next - at[i]);
    let mut edges = vec![at[0] - 0.5 * step(0)];
    edges.extend((0..last).map(|i| at[i] + 0.5 * step(i)));
    edges.push(at[last] + 0.5 * step(last.saturating_sub(1)));
    edges.into_iter().map(back).collect()
}

/// The least, the middle and the largest of the noises.
fn some(noises: &[f64]) -> Vec<f64> {
    let mut all = noises.to_vec();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let mut some = vec![all[0], all[all.len() / 2], all[all.len() - 1]];
    some.dedup();
    some
}

fn lines(settings: &DenoiseExcessRisk, spots: &[Spot]) -> Figure {
    let mut panels = vec![];
    for task in &settings.tasks {
        let mut panel = Panel {
            title: title(task).into(),
            x: Axis::log("context length *L*"),
            y: Axis::log(EXCESS),
            ..Panel::default()
        };
        for (colour, noise) in some(&settings.noises).into_iter().enumerate() {
            let here =
                |s: &&Spot| s.task == *task && s.group == "context-noise" && s.noise == noise;
            let own: Vec<&Spot> = spots.iter().filter(here).collect();
            let at = |s: &&Spot, e: Estimate| Point::between(s.context, e.value, e.low, e.high);
            let trained = own.iter().map(|s| at(s, s.trained)).collect();
            let theorem: Vec<Point> = own.iter().map(|s| at(s, s.theorem)).collect();
            let law = own.iter().map(|s| Point::at(s.context, s.law)).collect();
            let label = format!("trained, *σ*_{{Z}}² = {noise}");
            panel
                .series
                .push(Series::measured(label, colour, trained).with_interval(INTERVAL));
            panel.series.push(Series {
                stroke: crate::figure::Stroke::None,
                marker: crate::figure::Marker::Open,
                band: false,
                ..Series::measured("the theorems' weights", colour, theorem).with_interval(INTERVAL)
            });
            let label = "*C* / *L* for the theorems' weights";
            panel.series.push(Series::predicted(label, colour, law));
        }
        panels.push(panel);
    }
    Figure {
        name: "denoise_excess_risk_lines".into(),
        title: "Excess risk over Bayes against the context length".into(),
        caption: format!(
            "E‖x̂ - f_opt‖² relative to the Bayes risk at *n* = {}: trained layers and the weights that \
             Theorems 3.1 and 3.2 name, mean over {} seeds with 95 % intervals. Dashed: the rate *C* / *L* \
             of the latter, exact for linear attention, asymptotic for softmax.",
            settings.ambient, settings.seeds,
        ),
        width: Width::Page,
        columns: 2,
        panels,
    }
}
