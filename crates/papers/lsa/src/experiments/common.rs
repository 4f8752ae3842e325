//! Parts that the experiments on linear self-attention share: covariance, start and distance, and the way
//! from a cell to points.

use crate::quantities::PART;
use crate::theory::{Covariance, LsaWeights, Pretraining};
use attnlab_core::format::{number, pairs};
use attnlab_core::linalg::normal_matrix;
use attnlab_core::stats::log_log_slope_of_means;
use attnlab_lab::experiment::draw::{LEVEL, log_spaced, numbers, student, tenths};
use attnlab_lab::experiment::ranges::{Numbers, positive};
use attnlab_lab::figure::{Measured, Point};
use attnlab_lab::prelude::*;
use ndarray::Array2;

pub(super) const INTERVAL: &str = "95 % interval";
pub(super) const TIME: &str = "time *t*";

pub(super) type Data = Result<Map<String, Value>>;

pub(super) fn data<const N: usize>(values: [(&str, Value); N]) -> Map<String, Value> {
    values.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// Λ with eigenvalues log-spaced from 1 to 1/condition. The axes do not matter: flow and risk are the same in all.
pub(super) fn covariance(d: usize, condition: f64) -> Result<Covariance> {
    let last = d.saturating_sub(1).max(1) as f64;
    Covariance::diagonal(&(0..d).map(|i: usize| condition.powf(-(i as f64) / last)).collect::<Vec<_>>())
}

/// The first time at which a flow is shown.
const FIRST: f64 = 0.1;

/// Times at which a flow is shown, log-spaced up to `until`.
pub(super) fn times(until: f64, points: usize) -> Vec<f64> {
    log_spaced(FIRST, until, points)
}

/// Range of the last of the [`times`].
pub(super) fn time(name: &str, until: &f64) -> Result<()> {
    require(*until > FIRST && until.is_finite(), name, until, format!("must be a finite number > {FIRST}"))
}

/// A cell of the part of this name with these parameters.
pub(super) fn cell(part: &str, values: impl IntoIterator<Item = (String, Value)>) -> Params {
    std::iter::once(PART.is(part)).chain(values).collect()
}

/// A numerical failure in a cell, with the cell and the settings that its trials have in common; any other
/// error as it is.
pub(super) fn named(error: Error, experiment: &str, cell: &Params, settings: &[(&str, f64)]) -> Error {
    let settings: Vec<String> = settings.iter().map(|(name, x)| format!("{name} = {}", number(*x))).collect();
    let cell = pairs(cell.as_json());
    error.during(format!("{experiment} ({cell}; {})", settings.join(", ")))
}

/// Range of condition numbers, finite and at least 1.
pub(super) fn condition(name: &str, value: &impl Numbers) -> Result<()> {
    positive(name, value)?;
    match value.numbers(name).into_iter().find(|(_, c)| *c < 1.0) {
        Some((_, below)) => Err(Error::invalid(name, below, "must be a finite number >= 1")),
        None => Ok(()),
    }
}

/// The theorem's initial weights with a normal Θ, in principal axes, whose directions it does not prefer.
pub(super) fn start(d: usize, scale: f64, streams: &Streams) -> Result<LsaWeights> {
    LsaWeights::theorem(scale, normal_matrix(d, d, &mut streams.part("theta", 0)).view())
}

/// ‖uB - Γ⁻¹‖ / ‖Γ⁻¹‖, Frobenius.
pub(super) fn distance(training: &Pretraining, weights: &LsaWeights) -> f64 {
    let target = training.limit(0.0).product();
    let norm = |a: &Array2<f64>| a.iter().map(|x| x * x).sum::<f64>().sqrt();
    norm(&(weights.product() - &target)) / norm(&target)
}

/// Mean of a number over the draws with its 95 % interval.
pub(super) fn mean(cell: &[Row], name: &str) -> Result<Measured> {
    student(&numbers(cell, name)?)
}

/// Median of a number over the draws with its 10-90 % interval.
pub(super) fn median(cell: &[Row], name: &str) -> Result<Measured> {
    Ok(tenths(&numbers(cell, name)?))
}

/// A law at the abscissas of points.
pub(super) fn law(points: &[Point], y: impl Fn(f64) -> Result<f64>) -> Result<Vec<Point>> {
    points.iter().map(|p| Ok(Point::at(p.x, y(p.x)?))).collect()
}

/// The slope over a parameter of the means over the draws with its 95 % interval, for a legend: "−1.00 [−1.02, −0.98]",
/// with up to four digits where the interval is that short; None where the cells determine none: fewer than three, or a
/// mean that is not positive.
///
/// # Errors
/// When a row lacks a number, and any other failure of the estimate.
pub(super) fn slope_label(
    cells: &[&[Row]],
    parameter: impl AsRef<str>,
    y: impl Fn(&Row) -> Result<f64>,
) -> Result<Option<String>> {
    let x = cells.iter().map(|cell| cell[0].parameter(parameter.as_ref())).collect::<Result<Vec<f64>>>()?;
    let draws = cells.iter().map(|cell| cell.len()).min().unwrap_or(0);
    let sample = |i: usize| cells.iter().map(|cell| y(&cell[i])).collect();
    let samples = (0..draws).map(sample).collect::<Result<Vec<Vec<f64>>>>()?;
    match log_log_slope_of_means(&x, &samples, LEVEL) {
        Ok(e) => {
            let digits = (2..4).find(|d| 0.5 * (e.high - e.low) >= 10_f64.powi(-d)).unwrap_or(4) as usize;
            let [value, low, high] = [e.value, e.low, e.high].map(|x: f64| format!("{x:.digits$}").replace('-', "−"));
            Ok(Some(format!("{value} [{low}, {high}]")))
        }
        Err(Error::Shape { .. } | Error::Invalid { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The linear layer and the softmax layer, by their names in rows, with their palette colours.
pub(super) const LAYERS: [(&str, usize); 2] = [("linear", 5), ("softmax", 3)];
