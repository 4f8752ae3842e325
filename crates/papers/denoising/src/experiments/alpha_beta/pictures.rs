//! The figure of `denoise_alpha_beta`, from its rows.

use super::{DenoiseAlphaBeta, FINER, WITHOUT_END};
use crate::quantities::cell::{CASE, CASES, CONTEXT_OR_LIMIT};
use crate::scales::Moments;
use attnlab_core::format::significant;
use attnlab_core::stats::{Estimate, mean};
use attnlab_lab::experiment::draw::{LEVEL, cells, numbers, points, with_number, with_word};
use attnlab_lab::figure::{Axis, Cell, Heat, INK, Marker, Panel, Point, Series};
use attnlab_lab::prelude::*;

/// Contours at these multiples of the least loss.
const MULTIPLES: [f64; 5] = [1.02, 1.1, 1.3, 1.7, 2.5];

/// The colours end at this multiple of the least loss; beyond, the landscape only rises.
const HIGHEST: f64 = 20.0;

/// The sets of prompts of one case and context length.
struct Sets<'a> {
    case: &'a str,
    context: usize,
    rows: &'a [Row],
}

pub fn figures(settings: &DenoiseAlphaBeta, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells("denoise_alpha_beta", rows)?;
    let of = |case: &'static str, context: usize| {
        let rows = with_number(&with_word(&cells, CASE, case), CONTEXT_OR_LIMIT, context as f64).first().copied();
        rows.map(|rows| Sets { case, context, rows }).ok_or_else(|| Error::Content {
            path: "rows of denoise_alpha_beta".into(),
            problem: format!("no rows of {case} at context {context}; run the experiment first"),
        })
    };
    let finite = (settings.contexts[0], settings.contexts.clone());
    let (mut panels, mut notes) = (vec![], vec![]);
    for (context, lengths) in [finite, (WITHOUT_END, vec![WITHOUT_END])] {
        for case in CASES {
            let others = lengths.iter().map(|l| of(case, *l)).collect::<Result<Vec<_>>>()?;
            notes.extend(others.iter().map(|other| note(settings, other)).collect::<Result<Vec<_>>>()?);
            panels.push(landscape(settings, &of(case, context)?, &others)?);
        }
    }
    let title = "Loss of softmax attention with *W*_{KQ} = *βI*, *W*_{PV} = *αI*";
    let DenoiseAlphaBeta { trials, prompts, ambient, sphere_dim, radius, clusters, cluster_variance, noise, .. } =
        settings;
    Ok(vec![Figure::page("denoise_alpha_beta", title, 2, panels).captioned(format!(
        "Mean squared error per component, averaged over {trials} sets of *N* = {prompts} prompts, *n* = {ambient}. \
         Spheres: *d* = {sphere_dim}, *R* = {radius}. Clusters: *K* = {clusters}, *σ*_{{0}}^{{2}} = \
         {cluster_variance}. *σ*_{{Z}}^{{2}} = {noise}. Lines: {} times the least. Circles: the numerical minimum \
         with *β* > 0 of each set. Upper row: finite contexts; lower row: infinitely many tokens. {}",
        MULTIPLES.map(|m| m.to_string()).join(", "),
        notes.join(" "),
    ))])
}

fn name(case: &str, context: usize) -> String {
    let case = if case == "sphere" { "spheres (case 2)" } else { "clusters (case 3)" };
    format!("{case}, {}", length(context))
}

fn length(context: usize) -> String {
    if context == WITHOUT_END { "*L* = ∞".into() } else { format!("*L* = {context}") }
}

/// The landscape of `cell`, with the minima of `others`.
fn landscape(settings: &DenoiseAlphaBeta, cell: &Sets, others: &[Sets]) -> Result<Panel> {
    let (betas, alphas) = (settings.grid(settings.beta_range), settings.grid(settings.alpha_range));
    let per_component = 1.0 / settings.ambient as f64;
    let averaged = averaged(cell, &betas)?;
    let loss = |i: usize, j: usize| averaged[i].loss(alphas[j]) * per_component;
    let places = (0..betas.len()).flat_map(|i| (0..alphas.len()).map(move |j| (i, j)));
    let least = places.map(|(i, j)| loss(i, j)).fold(f64::INFINITY, f64::min);
    let bar = Axis::log("mean squared error").from_to(least, HIGHEST * least);
    let cells = |fine: &[f64]| fine.iter().step_by(FINER).copied().collect::<Vec<_>>();
    let heat = Heat::over(&cells(&betas), &cells(&alphas), bar.clone(), |i, j| Cell::of(loss(FINER * i, FINER * j)));
    let fine = Heat::over(&betas, &alphas, bar, |i, j| Cell::of(loss(i, j)));
    let contour = fine.contour("", &MULTIPLES.map(|m| m * least)).as_relief();
    let trained = if cell.case == "sphere" { &settings.trained_sphere } else { &settings.trained_clusters };
    let x = Axis::linear("*β*").from_to(settings.beta_range[0], settings.beta_range[1]);
    let y = Axis::linear("*α*").from_to(settings.alpha_range[0], settings.alpha_range[1]);
    let heuristic = vec![Point::at(1.0 / settings.noise, 1.0)];
    let panel = Panel::new(name(cell.case, cell.context), x, y)
        .coloured(heat)
        .contoured(contour)
        .curves(others, |i, other| minima(other, i))?
        .with(Series::marks("heuristic, (1 / *σ*_{Z}^{2}, 1)", 2, Marker::Diamond, heuristic));
    if trained.is_empty() || cell.context == WITHOUT_END {
        return Ok(panel);
    }
    let points = trained.iter().map(|[beta, alpha]| Point::at(*beta, *alpha)).collect();
    Ok(panel.with(Series::marks("trained weights", 1, Marker::Square, points)))
}

/// The means over all sets at every β.
fn averaged(cell: &Sets, betas: &[f64]) -> Result<Vec<Moments>> {
    let mut averages: Vec<Moments> =
        betas.iter().map(|beta| Moments { beta: *beta, square: 0.0, cross: 0.0, target: 0.0 }).collect();
    let share = 1.0 / cell.rows.len() as f64;
    for row in cell.rows {
        let (square, cross, target) = (row.series("square")?, row.series("cross")?, row.number("target")?);
        if square.len() != averages.len() || cross.len() != averages.len() {
            return Err(Error::Content {
                path: "rows of denoise_alpha_beta".into(),
                problem: "the rows have another grid than the settings; run it again with --force".into(),
            });
        }
        for (i, moments) in averages.iter_mut().enumerate() {
            moments.square += share * square[i];
            moments.cross += share * cross[i];
            moments.target += share * target;
        }
    }
    Ok(averages)
}

/// The minimum of every set.
fn minima(cell: &Sets, place: usize) -> Result<Series> {
    let points = points(&numbers(cell.rows, "beta_min")?, &numbers(cell.rows, "alpha_min")?);
    let label = format!("minimum of each set, {}", length(cell.context));
    let (colour, marker) = match (cell.context, place) {
        (WITHOUT_END, _) => (INK, Marker::Open),
        (_, 0) => (4, Marker::Circle),
        (_, i) => (2 + i, Marker::Ring),
    };
    Ok(Series::marks(label, colour, marker, points))
}

/// The places of the minima, and the cost of the heuristic, for the caption.
fn note(settings: &DenoiseAlphaBeta, cell: &Sets) -> Result<String> {
    let over_sets = |name: &str| mean(&numbers(cell.rows, name)?, LEVEL);
    let (beta, alpha) = (over_sets("beta_min")?, over_sets("alpha_min")?);
    let n = settings.ambient as f64;
    let (least, more) = (over_sets("loss_min")?.value / n, over_sets("more")?);
    let with = |e: Estimate| format!("{} ± {}", significant(e.value, 3), significant(0.5 * (e.high - e.low), 2));
    Ok(format!(
        "{}: minimum at *β* = {}, *α* = {} (95 % over sets), error {}; the heuristic has {} more.",
        name(cell.case, cell.context),
        with(beta),
        with(alpha),
        significant(least, 3),
        with(more.map(|loss| loss / n)),
    ))
}
