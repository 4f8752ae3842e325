//! The figures of `denoise_excess_risk`, from its rows.

use super::DenoiseExcessRisk;
use crate::quantities::NOISE_VARIANCE;
use crate::quantities::cell::{AMBIENT, CONTEXT, DIM, MAP, TASK};
use crate::theory::{linear, sphere};
use attnlab_core::stats::{Estimate, median};
use attnlab_lab::experiment::draw::{LEVEL, cells, numbers, over, with_number, with_word};
use attnlab_lab::experiment::plane::Plane;
use attnlab_lab::figure::{Axis, Cell, Contour, GREY, Marker, Panel, Series};
use attnlab_lab::prelude::*;

/// Intervals at [`LEVEL`] where there are six seeds or more: with n seeds the whole range is 1 - 2^(1-n).
const INTERVAL: &str = "interval of the median over seeds";

pub fn figures(settings: &DenoiseExcessRisk, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells("denoise_excess_risk", rows)?;
    Ok(vec![maps(settings, &cells)?, lines(settings, &cells)?])
}

/// The Bayes risk of a cell, and the constant C in the excess risk C / L of the theorem's weights.
fn bayes_and_rate(settings: &DenoiseExcessRisk, row: &Row) -> Result<(f64, f64)> {
    let (dim, noise) = (row.parameter(DIM.name)? as usize, row.parameter(NOISE_VARIANCE.name)?);
    Ok(match row.word(TASK.name)? {
        "subspace" => {
            let variance = settings.subspace.sigma0_2;
            (linear::mmse(&vec![variance; dim], noise), linear::excess_rate(dim, variance, noise))
        }
        _ => {
            let radius = settings.sphere.radius;
            (sphere::mmse(dim, radius, noise), sphere::softmax_rate(dim, radius, noise))
        }
    })
}

/// The median over seeds of an excess risk of a cell, relative to the Bayes risk.
fn relative(settings: &DenoiseExcessRisk, cell: &[Row], name: &str) -> Result<Estimate> {
    let (bayes, _) = bayes_and_rate(settings, &cell[0])?;
    let values: Vec<f64> = numbers(cell, name)?.iter().map(|excess| excess / bayes).collect();
    median(&values, LEVEL)
}

fn title(task: &str) -> &'static str {
    if task == "subspace" { "linear attention, subspaces" } else { "softmax attention, spheres" }
}

const EXCESS: &str = "excess risk / Bayes risk";

fn maps(settings: &DenoiseExcessRisk, cells: &[&[Row]]) -> Result<Figure> {
    let mut panels = vec![];
    for task in &settings.tasks {
        let cells = with_word(cells, TASK, task);
        let by_noise = Plane::arrange(&with_word(&cells, MAP, "context-noise"), CONTEXT, NOISE_VARIANCE)?;
        let axes = [Axis::log("context length *L*"), Axis::log("noise *σ*_{Z}²")];
        panels.push(map(settings, title(task), axes, &by_noise)?);
        let by_dim = Plane::placed(&with_word(&cells, MAP, "dimensions"), |row| {
            let (n, d) = (row.parameter(AMBIENT.name)?, row.parameter(DIM.name)?);
            Ok((n, d / n))
        })?;
        let axes = [Axis::log("dimension *n*"), Axis::linear("*d* / *n*")];
        panels.push(map(settings, title(task), axes, &by_dim)?);
    }
    let DenoiseExcessRisk { seeds, fresh, training, ambient, subspace, sphere, context, .. } = settings;
    let title = "Excess risk over Bayes of one trained attention layer";
    Ok(Figure::page("denoise_excess_risk", title, 2, panels).captioned(format!(
        "E‖x̂ - f_opt‖² of the trained layer relative to the Bayes risk, median over {seeds} seeds with {fresh} fresh \
         prompts each; all weights trained on {} prompts. Left: *n* = {ambient}, *d* = {} (subspaces, *σ*_{{0}}² = \
         {}) and {} (spheres, *R* = {}). Right: *L* = {context}, *σ*_{{Z}}² = {} and {}. Contours at 3, 10, 30 and \
         100 %, without pieces shorter than a fifth of the diagonal. The table behind the picture holds the intervals \
         of the medians, between order statistics: the range of six seeds covers the median of the law with 97 %.",
        training.train, subspace.dim, subspace.sigma0_2, sphere.dim, sphere.radius, subspace.sigma_z2, sphere.sigma_z2,
    )))
}

/// The level that hatched cells cannot be told from.
const DECIDED: f64 = 0.1;

/// A heat map of the trained layers' excess.
fn map(settings: &DenoiseExcessRisk, title: &str, [x, y]: [Axis; 2], plane: &Plane) -> Result<Panel> {
    let heat = plane.heat(Axis::log(EXCESS), |rows| {
        let excess = relative(settings, rows, "trained")?;
        Ok(Cell::of(excess).hatched_if(excess.covers(DECIDED)))
    })?;
    let heat = heat.explained(INTERVAL, "the interval reaches both sides of 10 %");
    let contour = Contour { colour: GREY, logarithmic: true, ..heat.contour("", &[0.03, 0.1, 0.3, 1.0]) };
    let panel = Panel::new(title, x.ticks_at(&plane.x), y.ticks_at(&plane.y)).coloured(heat);
    // On fewer cells a line says less than the colours.
    Ok(match plane.x.len() > 3 && plane.y.len() > 3 {
        true => panel.contoured(contour.named(|level| format!("{:.0} %", 100.0 * level))),
        false => panel,
    })
}

/// The least, the middle and the largest of the noises.
fn some(noises: &[f64]) -> Vec<f64> {
    let mut sorted = noises.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let mut some = vec![sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1]];
    some.dedup();
    some
}

fn lines(settings: &DenoiseExcessRisk, cells: &[&[Row]]) -> Result<Figure> {
    let cells = with_word(cells, MAP, "context-noise");
    let mut panels = vec![];
    for task in &settings.tasks {
        let mut panel = Panel::new(title(task), Axis::log("context length *L*"), Axis::log(EXCESS));
        for (colour, noise) in some(&settings.noises).into_iter().enumerate() {
            let of_noise = with_number(&with_word(&cells, TASK, task), NOISE_VARIANCE, noise);
            let trained = over(&of_noise, CONTEXT, |cell| relative(settings, cell, "trained"))?;
            let theorem = over(&of_noise, CONTEXT, |cell| relative(settings, cell, "theorem"))?;
            let law = over(&of_noise, CONTEXT, |cell| {
                let (bayes, rate) = bayes_and_rate(settings, &cell[0])?;
                Ok(rate / cell[0].parameter(CONTEXT.name)? / bayes)
            })?;
            let label = format!("trained, *σ*_{{Z}}² = {noise}");
            let theorem = Series::marks("the theorems' weights", colour, Marker::Open, theorem);
            panel = panel
                .with(Series::measured(label, colour, trained).with_interval(INTERVAL))
                .with(theorem.with_interval(INTERVAL))
                .with(Series::predicted("*C* / *L* for the theorems' weights", colour, law));
        }
        panels.push(panel);
    }
    let DenoiseExcessRisk { ambient, seeds, .. } = settings;
    let title = "Excess risk over Bayes against the context length";
    Ok(Figure::page("denoise_excess_risk_lines", title, 2, panels).captioned(format!(
        "E‖x̂ - f_opt‖² relative to the Bayes risk at *n* = {ambient}: trained layers and the weights that Theorems \
         3.1 and 3.2 name, median over {seeds} seeds, with the distribution-free interval between order statistics \
         (97 % for six seeds); a run that ends in another minimum moves its upper end. Dashed: the rate *C* / *L* of \
         the latter, exact for linear attention, asymptotic for softmax."
    )))
}
