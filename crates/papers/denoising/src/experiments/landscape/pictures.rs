//! The figures of `denoise_landscape`, from its rows.

use super::{DenoiseLandscape, axes};
use crate::quantities::NOISE_VARIANCE;
use attnlab_lab::experiment::draw::{cells, ends, points};
use attnlab_lab::figure::{
    ASPECT, Arrows, Axis, Cell, Contour, GREY, Heat, INK, Marker, Measured, Panel, Point, Series, Stroke,
};
use attnlab_lab::prelude::*;

/// Numbers of steps that are marked, evenly on a logarithmic axis.
const TICKS: [usize; 12] = [1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000];
const INTERVAL: &str = "95 % interval of the mean";

/// Palette indices of the marks over the landscape.
const TOKEN: usize = 5;
const QUERY: usize = 1;
const PATH: usize = 4;
const MINIMUM: usize = 3;

pub fn figures(settings: &DenoiseLandscape, rows: &[Row]) -> Result<Vec<Figure>> {
    cells("denoise_landscape", rows)?;
    Ok(vec![landscapes(settings, rows)?, losses(settings, rows)?])
}

/// The points of a series pair NAME_x, NAME_y.
fn plane(row: &Row, name: &str) -> Result<Vec<Point>> {
    Ok(points(&row.series(&format!("{name}_x"))?, &row.series(&format!("{name}_y"))?))
}

fn landscapes(settings: &DenoiseLandscape, rows: &[Row]) -> Result<Figure> {
    let DenoiseLandscape { radius, clusters, cluster_variance, context, alpha, steps, .. } = settings;
    let (mut panels, mut notes) = (vec![], vec![]);
    for row in rows {
        let sigma_z2 = row.parameter(NOISE_VARIANCE.name)?;
        let name = format!("*σ*_{{Z}}^{{2}} = {sigma_z2}, *β* = {}", rounded(settings.beta / sigma_z2));
        let paths = (1..=settings.queries).map(|i| plane(row, &format!("path_{i}"))).collect::<Result<Vec<_>>>()?;
        let queries = Series::marks("queries", QUERY, Marker::Triangle, plane(row, "query")?);
        let mut first = ground(settings, row, format!("{name}: one step"))?
            .with(Series::marks("Bayes optimum", 2, Marker::Diamond, plane(row, "bayes")?))
            .with(queries.clone());
        first.arrows.push(Arrows {
            label: "one step (8)".into(),
            colour: QUERY,
            shafts: paths.iter().map(|p| ((p[0].x, p[0].y), (p[1].x, p[1].y))).collect(),
        });
        let mut many = ground(settings, row, format!("{name}: {steps} steps"))?;
        for path in paths {
            let last = path[path.len() - 1];
            many = many.with(Series::predicted("repeated steps", PATH, path).drawn(Stroke::Solid)).with(Series::marks(
                "end of the path",
                PATH,
                Marker::Square,
                vec![last],
            ));
        }
        panels.extend([first, many.with(queries)]);
        notes.push(note(row, sigma_z2)?);
    }
    let law = match settings.task.as_str() {
        "circle" => format!("the circle of radius {radius} (dashed)"),
        _ => {
            format!("{clusters} clusters of variance {cluster_variance} around points of the circle of radius {radius}")
        }
    };
    let title = "Energy landscape of a context: one step and many";
    Ok(Figure::page("denoise_landscape", title, 2, panels).captioned(format!(
        "The energy (7) above its minimum for one context of *L* = {context} tokens from {law}, *α* = {alpha}, *β* = \
         {} / *σ*_{{Z}}^{{2}}, step size *γ* = {} *α*; one scale on both axes. Left: one step from each query, beside \
         the Bayes optimum. Right: repeated steps. {}",
        rounded(settings.beta),
        rounded(settings.gamma),
        notes.join(" "),
    )))
}

/// The landscape with its contours, the tokens and the minima.
fn ground(settings: &DenoiseLandscape, row: &Row, title: String) -> Result<Panel> {
    let half = row.number("half_height")?;
    let (x, y) = axes(half, settings.grid);
    let energy = row.series("energy")?;
    if energy.len() != x.len() * y.len() {
        return Err(Error::Content {
            path: "rows of denoise_landscape".into(),
            problem: "the landscape has another grid than the settings; run it again with --force".into(),
        });
    }
    let lowest = ends(row.series("minimum_energy")?.into_iter().chain(energy.iter().copied())).0;
    let span = ends(energy.iter().copied()).1 - lowest;
    let above = |i: usize, j: usize| energy[j * x.len() + i] - lowest;
    let bar = Axis::linear("energy (7) above its minimum").from_to(0.0, span);
    let heat = Heat::over(&x, &y, bar, |i, j| Cell::of(above(i, j)));
    // Denser towards the bottom, where the valleys are: equal steps of the square root.
    let levels: Vec<f64> = (1..14).map(|i| span * (f64::from(i) / 14.0).powi(2)).collect();
    let across = Axis::linear("*s*_{1}").from_to(-half / ASPECT, half / ASPECT);
    let mut panel = Panel::new(title, across, Axis::linear("*s*_{2}").from_to(-half, half))
        .with(Series::marks("context tokens *X*_{t}", TOKEN, Marker::Circle, plane(row, "token")?))
        .with(Series::marks("minima", MINIMUM, Marker::Ring, plane(row, "minimum")?))
        .contoured(heat.contour("", &levels).as_relief())
        .coloured(heat);
    if settings.task == "circle" {
        let circle = Contour::of_field("", &x, &y, &[settings.radius], f64::hypot);
        panel = panel.contoured(circle.drawn(Stroke::Dashed, INK).as_relief());
    }
    Ok(panel)
}

/// The number of minima and their kind, for the caption.
fn note(row: &Row, sigma_z2: f64) -> Result<String> {
    let tokens = row.series("minimum_is_token")?;
    let shared = row.series("minimum_shared_by")?;
    let retrieved = tokens.iter().filter(|t| **t == 1.0).count();
    let (few, many) = ends(shared);
    let (minima, weight) = match tokens.len() {
        1 => ("a single minimum".to_string(), format!("{few:.1}")),
        n => (format!("{n} minima"), format!("{few:.1} to {many:.1}")),
    };
    Ok(format!(
        "At *σ*_{{Z}}^{{2}} = {sigma_z2}: {minima}, {retrieved} of them a context token, the weight shared by \
         {weight} tokens."
    ))
}

/// The estimates of a series NAME, from NAME_low to NAME_high.
fn estimates(row: &Row, name: &str) -> Result<Vec<Measured>> {
    let [values, low, high] = ["", "_low", "_high"].map(|end| row.series(&format!("{name}{end}")));
    let intervals = low?.into_iter().zip(high?);
    Ok(values?.into_iter().zip(intervals).map(|(value, ends)| Measured { value, interval: Some(ends) }).collect())
}

fn losses(settings: &DenoiseLandscape, rows: &[Row]) -> Result<Figure> {
    let DenoiseLandscape { steps, prompts, context, alpha, .. } = settings;
    let (mut panels, mut notes) = (vec![], vec![]);
    for row in rows {
        let sigma_z2 = row.parameter(NOISE_VARIANCE.name)?;
        let curve = estimates(row, "loss")?.into_iter().enumerate();
        // The loss of the query itself, n sigma_Z^2, would leave no room for the rest.
        let shown = curve.filter(|(step, _)| TICKS.contains(step) || step == steps);
        let after = shown.map(|(step, loss)| Point::at(step as f64, loss)).collect();
        let levels = [
            ("zero", "predicting zero", GREY, Stroke::Dashed),
            ("bayes", "Bayes optimum", 2, Stroke::Solid),
            ("nearest", "nearest context token", TOKEN, Stroke::Dashed),
        ];
        let x = Axis::log("steps").ticks_at(&TICKS.map(|t| t as f64));
        let panel = Panel::new(format!("*σ*_{{Z}}^{{2}} = {sigma_z2}"), x, Axis::linear("mean loss"))
            .curves(levels, |_, (name, label, colour, stroke)| {
                let level = estimates(row, name)?[0];
                let line = [1.0, *steps as f64].map(|x| Point::at(x, level)).to_vec();
                Ok(Series::fitted(label, colour, line).drawn(stroke).with_interval(INTERVAL))
            })?
            .with(Series::measured("steps of (8) from the query", QUERY, after).with_interval(INTERVAL));
        panels.push(panel);
        let more = Point::at(0.0, estimates(row, "last_minus_first")?[0]);
        let [more, low, high] = [more.y, more.low(), more.high()].map(rounded);
        notes.push(format!(
            "At *σ*_{{Z}}^{{2}} = {sigma_z2} the loss after {steps} steps exceeds that after one by {more} [{low}, \
             {high}], paired."
        ));
    }
    let title = "Mean loss by the number of steps on the energy";
    Ok(Figure::page("denoise_landscape_loss", title, 2, panels).captioned(format!(
        "Mean of ‖*s* − *x*‖^{{2}} after each step (8) from the query, over {prompts} fresh contexts and queries \
         (*L* = {context}, *α* = {alpha}, *β* = {} / *σ*_{{Z}}^{{2}}, *γ* = {} *α*); bands are 95 % intervals. {}",
        rounded(settings.beta),
        rounded(settings.gamma),
        notes.join(" "),
    )))
}

/// Three significant digits.
fn rounded(x: f64) -> String {
    attnlab_core::format::significant(x, 3)
}
