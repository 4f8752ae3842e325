//! From the rows of cells to the points of a chart, shared by the experiments.
//!
//! A chart is a sentence: cells, chosen by [`cells`], [`with_word`], [`with_number`] or [`groups`]; a number of each,
//! summarised over its rows by [`tenths`], [`student`] or [`extremes`]; and its place, by [`over`] a parameter of the
//! cells or [`along`] a series.
//!
//! ```
//! use attnlab_lab::experiment::draw::{numbers, over, student};
//! use attnlab_lab::figure::{Axis, Panel, Series};
//! use attnlab_lab::run::Row;
//! # fn panel(cells: &[&[Row]]) -> attnlab_core::error::Result<Panel> {
//! let risks = over(cells, "examples", |cell| student(&numbers(cell, "risk")?))?;
//! Ok(Panel::new("risk", Axis::log("examples *M*"), Axis::log("risk")).with(Series::bars("measured", 0, risks)))
//! # }
//! ```

pub use crate::figure::ends;

use crate::figure::{Axis, Measured, Point, Series};
use crate::run::Row;
use crate::run::files::content;
use crate::run::store::by_cell;
use attnlab_core::error::Result;
use attnlab_core::stats::{self, quantile};

/// Kind of the intervals of [`tenths`] and [`band`].
pub const BAND: &str = "10-90 % of draws";

/// Confidence of the intervals of [`student`] and [`course`].
pub const LEVEL: f64 = 0.95;
/// Kind of the intervals of [`student`] and [`course`] where the rows of a cell are seeds.
pub const OVER_SEEDS: &str = "95 % interval over seeds";
/// Kind of the intervals of [`extremes`] where the rows of a cell are seeds.
pub const RANGE: &str = "range over seeds";

/// Splits an experiment's rows into cells.
///
/// # Errors
/// When there are none.
pub fn cells<'a>(id: &str, rows: &'a [Row]) -> Result<Vec<&'a [Row]>> {
    drawable(id, by_cell(rows))
}

/// Returns the cells of an experiment if there are any.
///
/// # Errors
/// When there are none.
pub fn drawable<'a>(id: &str, cells: Vec<&'a [Row]>) -> Result<Vec<&'a [Row]>> {
    if cells.is_empty() {
        return Err(content(format!("rows of {id}"), "must have rows. Run the experiment first"));
    }
    Ok(cells)
}

/// Returns the cells whose parameter `name` is the word `is`.
pub fn with_word<'a>(cells: &[&'a [Row]], name: impl AsRef<str>, is: &str) -> Vec<&'a [Row]> {
    cells.iter().filter(|cell| cell[0].word(name.as_ref()).is_ok_and(|w| w == is)).copied().collect()
}

/// Returns the cells whose parameter `name` is the number `is`.
pub fn with_number<'a>(cells: &[&'a [Row]], name: impl AsRef<str>, is: f64) -> Vec<&'a [Row]> {
    cells.iter().filter(|cell| cell[0].parameter(name.as_ref()).is_ok_and(|x| x == is)).copied().collect()
}

/// Returns every cell after the word that its parameter `name` is.
///
/// # Errors
/// When a row has no such word.
pub fn by_word<'a>(cells: &[&'a [Row]], name: impl AsRef<str>) -> Result<Vec<(&'a str, &'a [Row])>> {
    cells.iter().map(|cell| Ok((cell[0].word(name.as_ref())?, *cell))).collect()
}

/// Cells that have one value of a parameter, after that value.
pub type Group<'a> = (f64, Vec<&'a [Row]>);

/// Groups cells by a parameter, in the order of the cells.
///
/// # Errors
/// When a row has no such number.
pub fn groups<'a>(cells: &[&'a [Row]], name: impl AsRef<str>) -> Result<Vec<Group<'a>>> {
    grouped(cells.iter().copied(), |cell| cell[0].parameter(name.as_ref()))
}

/// Returns a point per cell: its parameter `x`, and a number or an estimate of its rows.
///
/// # Errors
/// When a row lacks the parameter; the first error of `y`.
pub fn over<Y: Into<Measured>>(
    cells: &[&[Row]],
    x: impl AsRef<str>,
    y: impl Fn(&[Row]) -> Result<Y>,
) -> Result<Vec<Point>> {
    cells.iter().map(|cell| Ok(Point::at(cell[0].parameter(x.as_ref())?, y(cell)?))).collect()
}

/// Returns a point per place of several series, up to the end of the shortest: the abscissa from `xs`, and a summary of
/// the series' numbers there.
///
/// ```
/// use attnlab_lab::experiment::draw::{along, extremes};
/// let points = along((1..).map(f64::from), &[vec![1.0, 2.0], vec![3.0, 6.0]], extremes);
/// assert_eq!((points[1].x, points[1].y, points[1].interval), (2.0, 4.0, Some((2.0, 6.0))));
/// ```
pub fn along(
    xs: impl IntoIterator<Item = f64>,
    series: &[Vec<f64>],
    summary: impl Fn(&[f64]) -> Measured,
) -> Vec<Point> {
    let places = series.iter().map(Vec::len).min().unwrap_or(0);
    let numbers = |i: usize| series.iter().map(|s| s[i]).collect::<Vec<f64>>();
    xs.into_iter().zip(0..places).map(|(x, i)| Point::at(x, summary(&numbers(i)))).collect()
}

/// Computes the median of numbers with the interval from their 10 % to their 90 % quantile.
pub fn tenths(values: &[f64]) -> Measured {
    let q = |p| quantile(values, p);
    Measured { value: q(0.5), interval: Some((q(0.1), q(0.9))) }
}

/// Computes the mean of one number per seed with its Student interval; of a single number, the number alone.
///
/// # Errors
/// When there is no number.
pub fn student(values: &[f64]) -> Result<Measured> {
    match values {
        [only] => Ok((*only).into()),
        _ => stats::mean(values, LEVEL).map(Measured::from),
    }
}

/// Computes the mean of numbers with the interval from the least to the largest.
pub fn extremes(values: &[f64]) -> Measured {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Measured { value: mean, interval: Some(ends(values.iter().copied())) }
}

/// Computes the median and the 10-90 % interval of a series over the draws, at each of `xs`.
///
/// # Errors
/// When a row has no such series.
pub fn band(cell: &[Row], name: &str, xs: &[f64]) -> Result<Vec<Point>> {
    let series = lists(cell, name)?;
    let summary = |values: &[f64]| match cell.len() {
        // A single draw has no spread.
        1 => quantile(values, 0.5).into(),
        _ => tenths(values),
    };
    let numbers = |i: usize| series.iter().filter_map(|s| s.get(i).copied()).collect::<Vec<f64>>();
    Ok(xs.iter().enumerate().map(|(i, x)| Point::at(*x, summary(&numbers(i)))).collect())
}

/// Computes the median and the 10-90 % interval of a number over the draws, as a point at `x`.
///
/// # Errors
/// When a row has no such number.
pub fn spread(cell: &[Row], name: &str, x: f64) -> Result<Point> {
    Ok(Point::at(x, tenths(&numbers(cell, name)?)))
}

/// Computes the mean of one value per seed with its Student interval, as a point at `x`; of a single value, the value
/// alone.
///
/// # Errors
/// When there is no value.
pub fn mean_at(x: f64, values: &[f64]) -> Result<Point> {
    Ok(Point::at(x, student(values)?))
}

/// Computes the mean of a series over the seeds, with its Student interval, at each of `xs`. Places where a seed has no
/// finite value are left out.
///
/// # Errors
/// When a row has no such series.
pub fn course(cell: &[Row], name: &str, xs: &[f64]) -> Result<Vec<Point>> {
    let series = lists(cell, name)?;
    let mut points = vec![];
    for (i, x) in xs.iter().enumerate() {
        let values: Vec<f64> = series.iter().filter_map(|s| s.get(i).copied()).collect();
        if !values.is_empty() && values.iter().all(|v| v.is_finite()) {
            points.push(mean_at(*x, &values)?);
        }
    }
    Ok(points)
}

/// Returns a series of every row.
///
/// # Errors
/// When a row has no such series.
pub fn lists(cell: &[Row], name: &str) -> Result<Vec<Vec<f64>>> {
    cell.iter().map(|row| row.series(name)).collect()
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
    cell.iter().map(|row| Ok(row.series(name)?.first().copied().unwrap_or(f64::NAN))).collect()
}

/// Returns the last entry of a series in every row; NaN for an empty one.
///
/// # Errors
/// When a row has no such series.
pub fn lasts(cell: &[Row], name: &str) -> Result<Vec<f64>> {
    cell.iter().map(|row| Ok(row.series(name)?.last().copied().unwrap_or(f64::NAN))).collect()
}

/// Returns a curve over many points, with its band and without markers.
pub fn curve(label: impl Into<String>, colour: usize, points: Vec<Point>) -> Series {
    Series::fitted(label, colour, points).with_interval(BAND)
}

/// Writes a list of sizes as "120 to 1920", or one size alone.
///
/// ```
/// use attnlab_lab::experiment::draw::span;
/// assert_eq!(span(&[480, 120, 1920]), "120 to 1920");
/// assert_eq!(span(&[7, 7]), "7");
/// ```
pub fn span<T: Copy + PartialOrd + std::fmt::Display>(values: &[T]) -> String {
    let Some(first) = values.first().copied() else { return "none".into() };
    let (low, high) = values
        .iter()
        .fold((first, first), |(low, high), v| (if *v < low { *v } else { low }, if *v > high { *v } else { high }));
    if low == high { low.to_string() } else { format!("{low} to {high}") }
}

/// Returns numbers from `first` to `last`, log-spaced.
///
/// ```
/// use attnlab_lab::experiment::draw::log_spaced;
/// assert_eq!(log_spaced(1.0, 100.0, 3), [1.0, 10.0, 100.0]);
/// ```
pub fn log_spaced(first: f64, last: f64, points: usize) -> Vec<f64> {
    let end = points.saturating_sub(1);
    let number = |i: usize| if i == end { last } else { first * (last / first).powf(i as f64 / end as f64) };
    (0..points).map(number).collect()
}

/// Returns points (x, y) without intervals.
pub fn points(xs: &[f64], ys: &[f64]) -> Vec<Point> {
    xs.iter().zip(ys).map(|(x, y)| Point::at(*x, *y)).collect()
}

/// Returns a curve over many points, with its band over the seeds and without markers.
pub fn curve_over_seeds(label: impl Into<String>, colour: usize, points: Vec<Point>) -> Series {
    Series::fitted(label, colour, points).with_interval(OVER_SEEDS)
}

/// Returns points with error bars over the seeds.
pub fn bars_over_seeds(label: impl Into<String>, colour: usize, points: Vec<Point>) -> Series {
    Series::bars(label, colour, points).with_interval(OVER_SEEDS)
}

/// Returns an axis of things that have names, at 1, 2, ..; [`side_by_side`] has their points.
pub fn named(label: impl Into<String>, names: impl IntoIterator<Item = String>) -> Axis {
    let ticks: Vec<(f64, String)> = (1..).map(f64::from).zip(names).collect();
    Axis::linear(label).from_to(0.4, ticks.len() as f64 + 0.6).ticks_named(ticks)
}

/// Returns a point per cell at 1, 2, .. moved by `shift`, so that several series of the same cells lie beside each other.
///
/// # Errors
/// The first error of `y`.
pub fn side_by_side<Y: Into<Measured>>(
    cells: &[&[Row]],
    shift: f64,
    y: impl Fn(&[Row]) -> Result<Y>,
) -> Result<Vec<Point>> {
    cells.iter().enumerate().map(|(i, cell)| Ok(Point::at(i as f64 + 1.0 + shift, y(cell)?))).collect()
}

/// Groups items by a key, in the order of the items.
///
/// # Errors
/// The first error of `key`.
pub fn grouped<T, K: PartialEq>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> Result<K>,
) -> Result<Vec<(K, Vec<T>)>> {
    let mut groups: Vec<(K, Vec<T>)> = vec![];
    for item in items {
        let key = key(&item)?;
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    Ok(groups)
}

/// [`LEVEL`] in per cent, for captions.
pub const PERCENT: f64 = 100.0 * LEVEL;
