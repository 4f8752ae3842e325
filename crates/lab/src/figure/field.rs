//! Contents of a panel over a plane: heat maps, contour lines, arrows.

use super::model::{Axis, Scale, Stroke};
use super::point::Measured;

/// A heat map: one number per cell of a grid. Cells reach half-way to their neighbours on the scale
/// of the panel's axes, and to the frame.
#[derive(Clone, Debug, Default)]
pub struct Heat {
    /// Middles of the cells along x, ascending.
    pub x: Vec<f64>,
    /// Middles of the cells along y, ascending.
    pub y: Vec<f64>,
    /// `cells[row][column]`, row 0 at the bottom.
    pub cells: Vec<Vec<Cell>>,
    /// Colour bar: label, scale and ends. Panels of one figure whose bars are equal and have given ends share
    /// one bar per row.
    pub bar: Axis,
    /// Map from numbers to colours.
    pub palette: Palette,
    /// Kind of the cells' intervals, for the table of numbers.
    pub interval: String,
    /// Meaning of hatched cells, for the legend, such as "95 % interval reaches both sides of 1/2".
    pub hatching: String,
}

/// One cell of a [`Heat`] map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The number; where it is not finite, the cell has the colour of paper.
    pub value: f64,
    /// Interval around it, for the table of numbers.
    pub interval: Option<(f64, f64)>,
    /// Flag: the cell is hatched.
    pub hatched: bool,
}

impl Cell {
    /// Returns a cell that is not hatched, of a number without interval or an estimate with its own.
    pub fn of(value: impl Into<Measured>) -> Self {
        let Measured { value, interval } = value.into();
        Cell { value, interval, hatched: false }
    }

    /// Hatches the cell or not.
    pub fn hatched_if(mut self, hatched: bool) -> Self {
        self.hatched = hatched;
        self
    }
}

/// Map from the numbers of a heat map to colours.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Palette {
    /// Dark to light in equal steps of lightness.
    #[default]
    Sequential,
    /// Blue below the given number, white at it, orange above it, in equal steps on both sides.
    Diverging(f64),
}

impl Heat {
    /// Builds the map over `x` and `y` whose cell in column i and row j is `cell(i, j)`.
    ///
    /// ```
    /// use attnlab_lab::figure::{Axis, Cell, Heat};
    /// let heat = Heat::over(&[1.0, 2.0], &[0.5], Axis::linear("P"), |i, _| Cell::of(i as f64));
    /// assert_eq!(heat.cells[0][1].value, 1.0);
    /// ```
    pub fn over(x: &[f64], y: &[f64], bar: Axis, mut cell: impl FnMut(usize, usize) -> Cell) -> Self {
        let mut row = |j| (0..x.len()).map(|i| cell(i, j)).collect();
        Heat { x: x.to_vec(), y: y.to_vec(), cells: (0..y.len()).map(&mut row).collect(), bar, ..Heat::default() }
    }

    /// Sets the kind of the intervals and the meaning of hatched cells.
    pub fn explained(mut self, interval: impl Into<String>, hatching: impl Into<String>) -> Self {
        (self.interval, self.hatching) = (interval.into(), hatching.into());
        self
    }

    /// Draws the map in two colours that part at `middle`.
    pub fn parted_at(mut self, middle: f64) -> Self {
        self.palette = Palette::Diverging(middle);
        self
    }

    /// Returns the contour lines of the cells' numbers, taken at their middles.
    pub fn contour(&self, label: impl Into<String>, levels: &[f64]) -> Contour {
        let values = |row: &Vec<Cell>| row.iter().map(|c| c.value).collect();
        let values = self.cells.iter().map(values).collect();
        Contour {
            logarithmic: self.bar.scale == Scale::Log,
            ..Contour::of_values(label, &self.x, &self.y, values, levels)
        }
    }
}

/// Computes the boundaries half-way between the middles of cells, on the scale of the axis. The outer
/// cells extend as far outwards as inwards.
pub(super) fn edges(middles: &[f64], scale: Scale) -> Vec<f64> {
    let log = scale == Scale::Log;
    let m: Vec<f64> = middles.iter().map(|v| if log { v.ln() } else { *v }).collect();
    let Some((first, last)) = m.first().zip(m.last()) else { return vec![] };
    // A single cell is given some width: half a unit, or half a decade.
    let alone = if log { 0.5 * 10_f64.ln() } else { 0.5 };
    let step = |pair: Option<&[f64]>| pair.map_or(alone, |p| (p[1] - p[0]) / 2.0);
    let mut edges = vec![first - step(m.windows(2).next())];
    edges.extend(m.windows(2).map(|p| (p[0] + p[1]) / 2.0));
    edges.push(last + step(m.windows(2).last()));
    edges.into_iter().map(|v| if log { v.exp() } else { v }).collect()
}

/// Contour lines of a field on a grid, interpolated linearly on the scale of the panel's axes.
#[derive(Clone, Debug)]
pub struct Contour {
    /// Entry in the legend; empty: none.
    pub label: String,
    /// Index into the palette of `style`.
    pub colour: usize,
    /// The line.
    pub stroke: Stroke,
    /// Grid along x, ascending.
    pub x: Vec<f64>,
    /// Grid along y, ascending.
    pub y: Vec<f64>,
    /// `values[row][column]`; a NaN interrupts the lines.
    pub values: Vec<Vec<f64>>,
    /// Levels, with the labels of their lines (empty: none).
    pub levels: Vec<(f64, String)>,
    /// Flag: the field is interpolated by its logarithm.
    pub logarithmic: bool,
    /// Flag: the lines only show the shape of the map under them; they are thin, light and not in the legend.
    pub relief: bool,
}

impl Default for Contour {
    fn default() -> Self {
        Contour {
            label: String::new(),
            colour: super::style::INK,
            stroke: Stroke::Solid,
            x: vec![],
            y: vec![],
            values: vec![],
            levels: vec![],
            logarithmic: false,
            relief: false,
        }
    }
}

impl Contour {
    /// Builds the lines of a field that is given as a function, on a grid of its own. Closed forms can
    /// thus be drawn finer than the cells of a simulation.
    pub fn of_field(
        label: impl Into<String>,
        x: &[f64],
        y: &[f64],
        levels: &[f64],
        field: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let row = |y: &f64| x.iter().map(|x| field(*x, *y)).collect();
        Contour::of_values(label, x, y, y.iter().map(row).collect(), levels)
    }

    fn of_values(label: impl Into<String>, x: &[f64], y: &[f64], values: Vec<Vec<f64>>, levels: &[f64]) -> Self {
        let (label, levels) = (label.into(), levels.iter().map(|l| (*l, String::new())).collect());
        Contour { label, x: x.to_vec(), y: y.to_vec(), values, levels, ..Contour::default() }
    }

    /// Sets stroke and colour.
    pub fn drawn(mut self, stroke: Stroke, colour: usize) -> Self {
        (self.stroke, self.colour) = (stroke, colour);
        self
    }

    /// Sets the lines to only show the shape of the map under them.
    pub fn as_relief(mut self) -> Self {
        self.relief = true;
        self
    }

    /// Sets the label of every line, from its level.
    pub fn named(mut self, name: impl Fn(f64) -> String) -> Self {
        for (level, words) in &mut self.levels {
            *words = name(*level);
        }
        self
    }
}

/// Arrows of one kind: a vector field, or the steps of a path.
#[derive(Clone, Debug, Default)]
pub struct Arrows {
    /// Entry in the legend; empty: none.
    pub label: String,
    /// Index into the palette of `style`.
    pub colour: usize,
    /// Start and end of each arrow, in the coordinates of the axes.
    pub shafts: Vec<((f64, f64), (f64, f64))>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_meet_half_way_on_the_scale_of_the_axis() {
        assert_eq!(edges(&[1.0, 2.0, 4.0], Scale::Linear), [0.5, 1.5, 3.0, 5.0]);
        let log = edges(&[1.0, 100.0], Scale::Log);
        let expected = [0.1, 10.0, 1000.0];
        assert!(log.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-12));
        assert_eq!(edges(&[3.0], Scale::Linear), [2.5, 3.5]);
        assert!(edges(&[], Scale::Log).is_empty());
    }
}
