//! The figures of `denoise_landscape`, from its rows.

use super::{DenoiseLandscape, axes};
use crate::quantities::NOISE_VARIANCE;
use attnlab_core::error::{Error, Result};
use attnlab_lab::figure::{
    ASPECT, Arrows, Axis, Cell, Contour, Figure, GREY, Heat, INK, Marker, Panel, Point, Series, Stroke, Width,
};
use attnlab_lab::run::Row;

const TOKENS: &str = "context tokens *X*_{t}";
const QUERIES: &str = "queries";
const MINIMA: &str = "minima";
/// Numbers of steps that are marked, evenly on a logarithmic axis.
const TICKS: [usize; 12] = [1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000];
const INTERVAL: &str = "95 % interval of the mean";

/// Palette indices of the marks over the landscape.
const TOKEN: usize = 5;
const QUERY: usize = 1;
const PATH: usize = 4;
const MINIMUM: usize = 3;

pub fn figures(settings: &DenoiseLandscape, rows: &[Row]) -> Result<Vec<Figure>> {
    if rows.is_empty() {
        let problem = "no rows to draw; run the experiment first".into();
        return Err(Error::Content { path: "rows of denoise_landscape".into(), problem });
    }
    Ok(vec![landscapes(settings, rows)?, losses(settings, rows)?])
}

/// The points of a series pair NAME_x, NAME_y.
fn points(row: &Row, name: &str) -> Result<Vec<(f64, f64)>> {
    let (x, y) = (row.series(&format!("{name}_x"))?, row.series(&format!("{name}_y"))?);
    Ok(x.into_iter().zip(y).collect())
}

fn scatter(label: &str, colour: usize, marker: Marker, at: &[(f64, f64)]) -> Series {
    let points = at.iter().map(|(x, y)| Point::at(*x, *y)).collect();
    Series { stroke: Stroke::None, marker, ..Series::predicted(label, colour, points) }
}

fn landscapes(settings: &DenoiseLandscape, rows: &[Row]) -> Result<Figure> {
    let mut panels = vec![];
    let mut notes = vec![];
    for row in rows {
        let sigma_z2 = row.parameter(NOISE_VARIANCE.name)?;
        let beta = settings.beta / sigma_z2;
        let (mut one, mut many) = (ground(settings, row)?, ground(settings, row)?);
        let name = format!("*σ*_{{Z}}^{{2}} = {sigma_z2}, *β* = {}", rounded(beta));
        one.title = format!("{name}: one step");
        many.title = format!("{name}: {} steps", settings.steps);
        let paths: Result<Vec<_>> = (1..=settings.queries).map(|i| points(row, &format!("path_{i}"))).collect();
        let paths = paths?;
        let queries = points(row, "query")?;
        one.arrows.push(Arrows {
            label: "one step (8)".into(),
            colour: QUERY,
            shafts: paths.iter().map(|p| (p[0], p[1])).collect(),
        });
        let bayes = scatter("Bayes optimum", 2, Marker::Diamond, &points(row, "bayes")?);
        one.series.push(bayes);
        for path in &paths {
            let line = path.iter().map(|(x, y)| Point::at(*x, *y)).collect();
            many.series.push(Series { stroke: Stroke::Solid, ..Series::predicted("repeated steps", PATH, line) });
            let last = path[path.len() - 1];
            many.series.push(scatter("end of the path", PATH, Marker::Square, &[last]));
        }
        for panel in [&mut one, &mut many] {
            panel.series.push(scatter(QUERIES, QUERY, Marker::Triangle, &queries));
        }
        panels.extend([one, many]);
        notes.push(note(row, sigma_z2)?);
    }
    let law = match settings.task.as_str() {
        "circle" => format!("the circle of radius {} (dashed)", settings.radius),
        _ => format!(
            "{} clusters of variance {} around points of the circle of radius {}",
            settings.clusters, settings.cluster_variance, settings.radius
        ),
    };
    Ok(Figure {
        name: "denoise_landscape".into(),
        title: "Energy landscape of a context: one step and many".into(),
        caption: format!(
            "The energy (7) above its minimum for one context of *L* = {} tokens from {law}, *α* = {}, \
             *β* = {} / *σ*_{{Z}}^{{2}}, step size *γ* = {} *α*; one scale on both axes. Left: one step from \
             each query, beside the Bayes optimum. Right: repeated steps. {}",
            settings.context,
            settings.alpha,
            rounded(settings.beta),
            rounded(settings.gamma),
            notes.join(" "),
        ),
        width: Width::Page,
        columns: 2,
        panels,
    })
}

/// The landscape with its contours, the tokens and the minima.
fn ground(settings: &DenoiseLandscape, row: &Row) -> Result<Panel> {
    let half = row.number("half_height")?;
    let (x, y) = axes(half, settings.grid);
    let energy = row.series("energy")?;
    if energy.len() != x.len() * y.len() {
        return Err(Error::Content {
            path: "rows of denoise_landscape".into(),
            problem: "the landscape has another grid than the settings; run it again with --force".into(),
        });
    }
    let minima = row.series("minimum_energy")?;
    let lowest = minima.iter().chain(&energy).copied().fold(f64::INFINITY, f64::min);
    let highest = energy.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let above = |i: usize, j: usize| energy[j * x.len() + i] - lowest;
    let bar = Axis::linear("energy (7) above its minimum").from_to(0.0, highest - lowest);
    let heat = Heat::over(&x, &y, bar, |i, j| Cell::of(above(i, j)));
    // Denser towards the bottom, where the valleys are: equal steps of the square root.
    let levels: Vec<f64> = (1..14).map(|i| (highest - lowest) * (f64::from(i) / 14.0).powi(2)).collect();
    let mut contours = vec![heat.contour("", &levels).as_relief()];
    if settings.task == "circle" {
        let circle = Contour::of_field("", &x, &y, &[settings.radius], f64::hypot);
        contours.push(circle.drawn(Stroke::Dashed, INK).as_relief());
    }
    let tokens = points(row, "token")?;
    let minima = points(row, "minimum")?;
    let series = vec![scatter(TOKENS, TOKEN, Marker::Circle, &tokens), scatter(MINIMA, MINIMUM, Marker::Ring, &minima)];
    Ok(Panel {
        x: Axis::linear("*s*_{1}").from_to(-half / ASPECT, half / ASPECT),
        y: Axis::linear("*s*_{2}").from_to(-half, half),
        series,
        heat: Some(heat),
        contours,
        ..Panel::default()
    })
}

/// The number of minima and their kind, for the caption.
fn note(row: &Row, sigma_z2: f64) -> Result<String> {
    let tokens = row.series("minimum_is_token")?;
    let shared = row.series("minimum_shared_by")?;
    let retrieved = tokens.iter().filter(|t| **t == 1.0).count();
    let few = shared.iter().copied().fold(f64::INFINITY, f64::min);
    let many = shared.iter().copied().fold(0.0, f64::max);
    let (found, weight) = match tokens.len() {
        1 => ("a single minimum".to_string(), format!("{few:.1}")),
        n => (format!("{n} minima"), format!("{few:.1} to {many:.1}")),
    };
    Ok(format!(
        "At *σ*_{{Z}}^{{2}} = {sigma_z2}: {found}, {retrieved} of them a context token, the weight shared by \
         {weight} tokens."
    ))
}

fn losses(settings: &DenoiseLandscape, rows: &[Row]) -> Result<Figure> {
    let mut panels = vec![];
    let mut notes = vec![];
    for row in rows {
        let sigma_z2 = row.parameter(NOISE_VARIANCE.name)?;
        let estimate = |name: &str| -> Result<Vec<(f64, f64, f64)>> {
            let [value, low, high] = ["", "_low", "_high"].map(|end| row.series(&format!("{name}{end}")));
            let ends = low?.into_iter().zip(high?);
            Ok(value?.into_iter().zip(ends).map(|(v, (l, h))| (v, l, h)).collect())
        };
        let curve = estimate("loss")?;
        let at = |(step, (v, l, h)): (usize, &(f64, f64, f64))| Point::between(step as f64, *v, *l, *h);
        // The loss of the query itself, n sigma_Z^2, would leave no room for the rest.
        let shown = |(step, _): &(usize, _)| TICKS.contains(step) || *step == settings.steps;
        let after: Vec<Point> = curve.iter().enumerate().filter(shown).map(at).collect();
        let mut panel = Panel {
            title: format!("*σ*_{{Z}}^{{2}} = {sigma_z2}"),
            x: Axis::log("steps").ticks_at(&TICKS.map(|t| t as f64)),
            y: Axis::linear("mean loss"),
            ..Panel::default()
        };
        let ends = [1.0, settings.steps as f64];
        for (name, label, colour, stroke) in [
            ("zero", "predicting zero", GREY, Stroke::Dashed),
            ("bayes", "Bayes optimum", 2, Stroke::Solid),
            ("nearest", "nearest context token", TOKEN, Stroke::Dashed),
        ] {
            let (v, l, h) = estimate(name)?[0];
            let line = ends.iter().map(|x| Point::between(*x, v, l, h)).collect();
            panel.series.push(Series { stroke, ..Series::fitted(label, colour, line).with_interval(INTERVAL) });
        }
        panel.series.push(Series::measured("steps of (8) from the query", QUERY, after).with_interval(INTERVAL));
        panels.push(panel);
        let (v, l, h) = estimate("last_minus_first")?[0];
        notes.push(format!(
            "At *σ*_{{Z}}^{{2}} = {sigma_z2} the loss after {} steps exceeds that after one by {} [{}, {}], paired.",
            settings.steps,
            rounded(v),
            rounded(l),
            rounded(h),
        ));
    }
    Ok(Figure {
        name: "denoise_landscape_loss".into(),
        title: "Mean loss by the number of steps on the energy".into(),
        caption: format!(
            "Mean of ‖*s* − *x*‖^{{2}} after each step (8) from the query, over {} fresh contexts and queries \
             (*L* = {}, *α* = {}, *β* = {} / *σ*_{{Z}}^{{2}}, *γ* = {} *α*); bands are 95 % intervals. {}",
            settings.prompts,
            settings.context,
            settings.alpha,
            rounded(settings.beta),
            rounded(settings.gamma),
            notes.join(" "),
        ),
        width: Width::Page,
        columns: 2,
        panels,
    })
}

/// Three significant digits.
fn rounded(x: f64) -> String {
    attnlab_core::format::significant(x, 3)
}
