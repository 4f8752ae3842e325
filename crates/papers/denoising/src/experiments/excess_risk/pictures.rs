//! The figures of `denoise_excess_risk`, from its rows.

use super::DenoiseExcessRisk;
use crate::quantities::NOISE_VARIANCE;
use crate::quantities::cell::{AMBIENT, CONTEXT, DIM, MAP, TASK};
use crate::theory::{linear, sphere};
use attnlab_core::error::{Error, Result};
use attnlab_core::stats::{Estimate, median};
use attnlab_lab::figure::{Axis, Cell, Contour, Figure, GREY, Heat, Marker, Panel, Point, Series, Stroke, Width};
use attnlab_lab::run::Row;
use attnlab_lab::run::store::by_cell;

/// Level of all intervals, where there are six seeds or more: with n seeds the whole range is
/// 1 - 2^(1-n).
const LEVEL: f64 = 0.95;
const INTERVAL: &str = "interval of the median over seeds";

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
    let spots: Vec<Spot> = cells.iter().map(|cell| spot(settings, cell)).collect::<Result<_>>()?;
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
    let (dim, context) = (row.parameter(DIM.name)?, row.parameter(CONTEXT.name)?);
    let noise = row.parameter(NOISE_VARIANCE.name)?;
    let task = row.word(TASK.name)?.to_string();
    let (bayes, rate) = match task.as_str() {
        "subspace" => {
            let own = settings.subspace.sigma0_2;
            let bayes = linear::mmse(&vec![own; dim as usize], noise);
            (bayes, linear::excess_rate(dim as usize, own, noise))
        }
        _ => {
            let (d, radius) = (dim as usize, settings.sphere.radius);
            (sphere::mmse(d, radius, noise), sphere::softmax_rate(d, radius, noise))
        }
    };
    let relative = |name: &str| -> Result<Estimate> {
        let values: Vec<f64> = cell.iter().map(|row| Ok(row.number(name)? / bayes)).collect::<Result<_>>()?;
        median(&values, LEVEL)
    };
    Ok(Spot {
        group: row.word(MAP.name)?.to_string(),
        task,
        ambient: row.parameter(AMBIENT.name)?,
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
        let by_noise: Vec<&Spot> = own().filter(|s| s.group == "context-noise").collect();
        let (x, y) = (Axis::log("context length *L*"), Axis::log("noise *σ*_{Z}²"));
        panels.push(map(title(task), [x, y], &by_noise, |s| (s.context, s.noise)));
        let by_dim: Vec<&Spot> = own().filter(|s| s.group == "dimensions").collect();
        let (x, y) = (Axis::log("dimension *n*"), Axis::linear("*d* / *n*"));
        let at = |s: &Spot| (s.ambient, s.dim / s.ambient);
        panels.push(map(title(task), [x, y], &by_dim, at));
    }
    Figure {
        name: "denoise_excess_risk".into(),
        title: "Excess risk over Bayes of one trained attention layer".into(),
        caption: format!(
            "E‖x̂ - f_opt‖² of the trained layer relative to the Bayes risk, median over {} seeds with {} fresh \
             prompts each; all weights trained on {} prompts. Left: *n* = {}, *d* = {} (subspaces, \
             *σ*_{{0}}² = {}) and {} (spheres, *R* = {}). Right: *L* = {}, *σ*_{{Z}}² = {} and {}. Contours at 3, \
             10, 30 and 100 %, without pieces shorter than a fifth of the diagonal. The table behind the picture holds the intervals of the medians, between order \
             statistics: the range of six seeds covers the median of the law with 97 %.",
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

/// The level that hatched cells cannot be told from.
const DECIDED: f64 = 0.1;

/// A heat map of the trained layers' excess at the places that `at` gives.
fn map(title: &str, [x, y]: [Axis; 2], spots: &[&Spot], at: impl Fn(&Spot) -> (f64, f64)) -> Panel {
    let sorted = |of: &dyn Fn(&Spot) -> f64| {
        let mut all: Vec<f64> = spots.iter().map(|s| of(s)).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    };
    let (xs, ys) = (sorted(&|s| at(s).0), sorted(&|s| at(s).1));
    let cell = |i: usize, j: usize| {
        let found = spots.iter().find(|s| at(s) == (xs[i], ys[j]));
        found.map_or(Cell::of(f64::NAN), |s| Cell {
            value: s.trained.value,
            interval: Some((s.trained.low, s.trained.high)),
            hatched: s.trained.covers(DECIDED),
        })
    };
    let heat = Heat {
        interval: INTERVAL.into(),
        hatching: "the interval reaches both sides of 10 %".into(),
        ..Heat::over(&xs, &ys, Axis::log(EXCESS), cell)
    };
    let contour = Contour { colour: GREY, logarithmic: true, ..heat.contour("", &[0.03, 0.1, 0.3, 1.0]) };
    let contour = contour.named(|level| format!("{:.0} %", 100.0 * level));
    // On fewer cells a line says less than the colours.
    let enough = xs.len() > 3 && ys.len() > 3;
    let contours = if enough { vec![contour] } else { vec![] };
    Panel {
        title: title.into(),
        x: x.ticks_at(&xs),
        y: y.ticks_at(&ys),
        contours,
        heat: Some(heat),
        ..Panel::default()
    }
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
            let here = |s: &&Spot| s.task == *task && s.group == "context-noise" && s.noise == noise;
            let own: Vec<&Spot> = spots.iter().filter(here).collect();
            let at = |s: &&Spot, e: Estimate| Point::between(s.context, e.value, e.low, e.high);
            let trained = own.iter().map(|s| at(s, s.trained)).collect();
            let theorem: Vec<Point> = own.iter().map(|s| at(s, s.theorem)).collect();
            let law = own.iter().map(|s| Point::at(s.context, s.law)).collect();
            let label = format!("trained, *σ*_{{Z}}² = {noise}");
            panel.series.push(Series::measured(label, colour, trained).with_interval(INTERVAL));
            panel.series.push(Series {
                stroke: Stroke::None,
                marker: Marker::Open,
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
             Theorems 3.1 and 3.2 name, median over {} seeds, with the distribution-free interval between \
             order statistics (97 % for six seeds); a run that ends in another minimum moves its upper end. Dashed: the rate *C* / *L* \
             of the latter, exact for linear attention, asymptotic for softmax.",
            settings.ambient, settings.seeds,
        ),
        width: Width::Page,
        columns: 2,
        panels,
    }
}
