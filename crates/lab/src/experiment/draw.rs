//! Points and panels from the rows of cells, shared by several experiments.

use crate::figure::{Axis, Marker, Panel, Point, Series};
use crate::run::Row;
use crate::run::store::by_cell;
use attnlab_core::error::{Error, Result};
use attnlab_core::stats::{self, quantile};

/// Kind of the intervals of [`band`] and [`spread`].
pub const BAND: &str = "10-90 % of draws";

/// Confidence of the intervals of [`mean_at`] and [`course`].
pub const LEVEL: f64 = 0.95;
/// Kind of the intervals of [`mean_at`] and [`course`].
pub const OVER_SEEDS: &str = "95 % interval over seeds";

/// Splits an experiment's rows into cells.
///
/// # Errors
/// When there are none.
pub fn cells<'a>(id: &str, rows: &'a [Row]) -> Result<Vec<&'a [Row]>> {
    let cells = by_cell(rows);
    if cells.is_empty() {
        let problem = "must have rows. Run the experiment first".into();
        let path = format!("rows of {id}").into();
        return Err(Error::Content { path, problem });
    }
    Ok(cells)
}

/// Returns the cells whose parameter `name` is the word `is`.
pub fn with_word<'a>(cells: &[&'a [Row]], name: &str, is: &str) -> Vec<&'a [Row]> {
    let has = |cell: &&&[Row]| cell[0].word(name).is_ok_and(|w| w == is);
    cells.iter().filter(has).copied().collect()
}

/// Computes the median and the 10-90 % interval of a series over the draws, at each of `xs`.
///
/// # Errors
/// When a row has no such series.
pub fn band(cell: &[Row], name: &str, xs: &[f64]) -> Result<Vec<Point>> {
    let all = cell.iter().map(|r| r.series(name)).collect::<Result<Vec<_>>>()?;
    let at = |(i, x): (usize, &f64)| {
        let values: Vec<f64> = all.iter().filter_map(|s| s.get(i).copied()).collect();
        let q = |p| quantile(&values, p);
        match all.len() {
            // A single draw has no spread.
            1 => Point::at(*x, q(0.5)),
            _ => Point::between(*x, q(0.5), q(0.1), q(0.9)),
        }
    };
    Ok(xs.iter().enumerate().map(at).collect())
}

/// Computes the median and the 10-90 % interval of a number over the draws, as a point at `x`.
///
/// # Errors
/// When a row has no such number.
pub fn spread(cell: &[Row], name: &str, x: f64) -> Result<Point> {
    let values = cell.iter().map(|r| r.number(name)).collect::<Result<Vec<_>>>()?;
    let q = |p| quantile(&values, p);
    Ok(Point::between(x, q(0.5), q(0.1), q(0.9)))
}

/// Computes the mean of one value per seed with its Student interval, as a point at `x`; of a single value, the value
/// alone.
///
/// # Errors
/// When there is no value.
pub fn mean_at(x: f64, values: &[f64]) -> Result<Point> {
    if let [only] = values {
        return Ok(Point::at(x, *only));
    }
    let found = stats::mean(values, LEVEL)?;
    Ok(Point::between(x, found.value, found.low, found.high))
}

/// Computes the mean of a series over the seeds, with its Student interval, at each of `xs`. Places where a seed has no
/// finite value are left out.
///
/// # Errors
/// When a row has no such series.
pub fn course(cell: &[Row], name: &str, xs: &[f64]) -> Result<Vec<Point>> {
    let all = cell.iter().map(|r| r.series(name)).collect::<Result<Vec<_>>>()?;
    let mut points = vec![];
    for (i, x) in xs.iter().enumerate() {
        let values: Vec<f64> = all.iter().filter_map(|s| s.get(i).copied()).collect();
        if !values.is_empty() && values.iter().all(|v| v.is_finite()) {
            points.push(mean_at(*x, &values)?);
        }
    }
    Ok(points)
}

/// Returns a number of every row.
///
/// # Errors
/// When a row has no such number.
pub fn numbers(cell: &[Row], name: &str) -> Result<Vec<f64>> {
    cell.iter().map(|row| row.number(name)).collect()
}

/// Returns the first entry of a series in every row; NaN for an empty one.
///
/// # Errors
/// When a row has no such series.
pub fn firsts(cell: &[Row], name: &str) -> Result<Vec<f64>> {
    let first = |row: &Row| Ok(row.series(name)?.first().copied().unwrap_or(f64::NAN));
    cell.iter().map(first).collect()
}

/// Returns the last entry of a series in every row; NaN for an empty one.
///
/// # Errors
/// When a row has no such series.
pub fn lasts(cell: &[Row], name: &str) -> Result<Vec<f64>> {
    let last = |row: &Row| Ok(row.series(name)?.last().copied().unwrap_or(f64::NAN));
    cell.iter().map(last).collect()
}

/// Returns a curve over many points, with its band and without markers.
pub fn curve(label: impl Into<String>, colour: usize, points: Vec<Point>) -> Series {
    Series { marker: Marker::None, ..Series::measured(label, colour, points).with_interval(BAND) }
}

/// Writes a list of sizes as "120 to 1920", or one size alone.
///
/// ```
/// use attnlab_lab::experiment::draw::span;
/// assert_eq!(span(&[480, 120, 1920]), "120 to 1920");
/// assert_eq!(span(&[7, 7]), "7");
/// ```
pub fn span<T: Copy + PartialOrd + std::fmt::Display>(values: &[T]) -> String {
    let Some(first) = values.first().copied() else {
        return "none".into();
    };
    let (low, high) = values
        .iter()
        .fold((first, first), |(low, high), v| (if *v < low { *v } else { low }, if *v > high { *v } else { high }));
    match low == high {
        true => low.to_string(),
        false => format!("{low} to {high}"),
    }
}

/// Returns points (x, y) without intervals.
pub fn points(xs: &[f64], ys: &[f64]) -> Vec<Point> {
    xs.iter().zip(ys).map(|(x, y)| Point::at(*x, *y)).collect()
}

/// Returns an empty panel.
pub fn panel(title: impl Into<String>, x: Axis, y: Axis) -> Panel {
    Panel { title: title.into(), x, y, ..Panel::default() }
}
