//! Cells of a map, found by two of their parameters.

use crate::figure::{Axis, Cell, Heat, Scale};
use crate::run::Row;
use attnlab_core::error::Result;

/// The cells of one map.
pub struct Plane<'a> {
    /// Values of the first parameter, ascending.
    pub x: Vec<f64>,
    /// Values of the second, ascending.
    pub y: Vec<f64>,
    cells: Vec<(f64, f64, &'a [Row])>,
}

impl<'a> Plane<'a> {
    /// Arranges `cells` over their parameters `x` and `y`.
    ///
    /// # Errors
    /// When a row lacks one of them.
    pub fn arrange(cells: &[&'a [Row]], x: impl AsRef<str>, y: impl AsRef<str>) -> Result<Self> {
        Plane::placed(cells, |row| Ok((row.parameter(x.as_ref())?, row.parameter(y.as_ref())?)))
    }

    /// Arranges `cells` over two numbers of their parameters.
    ///
    /// # Errors
    /// The first error of `place`.
    pub fn placed(cells: &[&'a [Row]], place: impl Fn(&Row) -> Result<(f64, f64)>) -> Result<Self> {
        let cells = cells.iter().map(|rows| place(&rows[0]).map(|(x, y)| (x, y, *rows)));
        let cells: Vec<_> = cells.collect::<Result<_>>()?;
        Ok(Plane { x: ascending(cells.iter().map(|c| c.0)), y: ascending(cells.iter().map(|c| c.1)), cells })
    }

    /// Builds the heat map of `cell`; a combination without rows stays blank.
    ///
    /// # Errors
    /// The first error of `cell`.
    pub fn heat(&self, bar: Axis, cell: impl Fn(&'a [Row]) -> Result<Cell>) -> Result<Heat> {
        let mut failed = None;
        let heat = Heat::over(&self.x, &self.y, bar, |i, j| {
            let in_place = |c: &&(f64, f64, &'a [Row])| c.0 == self.x[i] && c.1 == self.y[j];
            let rows = self.cells.iter().find(in_place).map(|c| c.2);
            rows.map_or(Ok(Cell::of(f64::NAN)), &cell).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                Cell::of(f64::NAN)
            })
        });
        failed.map_or(Ok(heat), Err)
    }
}

fn ascending(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// Returns `count` points from the first of `values` to the last, evenly spaced on `scale`: a grid for
/// closed forms over a map.
pub fn finer(values: &[f64], scale: Scale, count: usize) -> Vec<f64> {
    let place = |v: f64| if scale == Scale::Log { v.ln() } else { v };
    let back = |v: f64| if scale == Scale::Log { v.exp() } else { v };
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return vec![] };
    let (a, b) = (place(*first), place(*last));
    let value = |i: usize| back(a + (b - a) * i as f64 / (count.max(2) - 1) as f64);
    (0..count.max(2)).map(value).collect()
}
