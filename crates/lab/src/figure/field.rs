//! Contents of a panel over a plane: heat maps, contour lines, arrows.

use super::model::{Axis, Scale, Stroke};

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
    /// The colour bar: label, scale and ends. Panels of one figure whose bars are equal, with given
    /// ends, share one bar per row.
    pub bar: Axis,
    /// How numbers become colours.
    pub palette: Palette,
    /// Kind of the cells' intervals, for the table of numbers.
    pub interval: String,
    /// Meaning of hatched cells, for the legend: "95 % interval reaches both sides of 1/2", say.
    pub hatching: String,
}

/// One cell of a [`Heat`] map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The number; the cell stays blank where it is not finite.
    pub value: f64,
    /// Interval around it, for the table of numbers.
    pub interval: Option<(f64, f64)>,
    /// Whether the cell is hatched.
    pub hatched: bool,
}

impl Cell {
    /// A cell that is not hatched and has no interval.
    pub fn of(value: f64) -> Self {
        Cell {
            value,
            interval: None,
            hatched: false,
        }
    }
}

/// How the numbers of a heat map become colours.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Palette {
    /// Dark to light, even steps of lightness.
    #[default]
    Sequential,
    /// Blue below, white at, orange above the given number; steps of colour are equal on both sides.
    Diverging(f64),
}

impl Heat {
    /// The map over `x` and `y` whose cell in column i and row j is `cell(i, j)`.
    ///
    /// ```
    /// use attnlab_lab::figure::{Axis, Cell, Heat};
    /// let heat = Heat::over(&[1.0, 2.0], &[0.5], Axis::linear("P"), |i, _| Cell::of(i as f64));
    /// assert_eq!(heat.cells[0][1].value, 1.0);
    /// ```
    pub fn over(
        x: &[f64],
        y: &[f64],
        bar: Axis,
        mut cell: impl FnMut(usize, usize) -> Cell,
    ) -> Self {
        let mut row = |j| (0..x.len()).map(|i| cell(i, j)).collect();
        Heat {
            x: x.to_vec(),
            y: y.to_vec(),
            cells: (0..y.len()).map(&mut row).collect(),
            bar,
            ..Heat::default()
        }
    }

    /// The contour lines of the cells' numbers, taken at their middles.
    pub fn contour(&self, label: impl Into<String>, levels: &[f64]) -> Contour {
        let values = |row: &Vec<Cell>| row.iter().map(|c| c.value).collect();
        Contour {
            label: label.into(),
            x: self.x.clone(),
            y: self.y.clone(),
            values: self.cells.iter().map(values).collect(),
            levels: levels.iter().map(|l| (*l, String::new())).collect(),
            logarithmic: self.bar.scale == Scale::Log,
            ..Contour::default()
        }
    }
}

/// Boundaries half-way between the middles of cells, on the scale of the axis; the outer cells are
/// as wide outwards as inwards.
pub(super) fn edges(middles: &[f64], scale: Scale) -> Vec<f64> {
    let log = scale == Scale::Log;
    let place = |v: &f64| if log { v.ln() } else { *v };
    let m: Vec<f64> = middles.iter().map(place).collect();
    let Some((first, last)) = m.first().zip(m.last()) else {
        return vec![];
    };
    // A single cell is given some width: half a unit, or half a decade.
    let alone = if log { 0.5 * 10_f64.ln() } else { 0.5 };
    let step = |pair: Option<&[f64]>| pair.map_or(alone, |p| (p[1] - p[0]) / 2.0);
    let mut edges = vec![first - step(m.windows(2).next())];
    edges.extend(m.windows(2).map(|p| (p[0] + p[1]) / 2.0));
    edges.push(last + step(m.windows(2).last()));
    let back = |v: f64| if log { v.exp() } else { v };
    edges.into_iter().map(back).collect()
}

/// Lines of equal value of a field that is known on a grid, by linear interpolation on the scale of
/// the panel's axes.
#[derive(Clone, Debug)]
pub struct Contour {
    /// Entry in the legend; empty: none.
    pub label: String,
    /// Index into the house colours.
    pub colour: usize,
    /// The line.
    pub stroke: Stroke,
    /// Grid along x, ascending.
    pub x: Vec<f64>,
    /// Grid along y, ascending.
    pub y: Vec<f64>,
    /// `values[row][column]`; a NaN interrupts the lines.
    pub values: Vec<Vec<f64>>,
    /// The levels, with the words written on their lines (empty: none).
    pub levels: Vec<(f64, String)>,
    /// Whether the field is interpolated by its logarithm.
    pub logarithmic: bool,
    /// Whether the lines only give shape to the map under them: thin, light and without a legend.
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
    /// The lines of a field that is given as a function, on a grid of its own: for closed forms,
    /// which can be drawn finer than the cells of a simulation.
    pub fn of(
        label: impl Into<String>,
        x: &[f64],
        y: &[f64],
        levels: &[f64],
        field: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let row = |y: &f64| x.iter().map(|x| field(*x, *y)).collect();
        Contour {
            label: label.into(),
            x: x.to_vec(),
            y: y.to_vec(),
            values: y.iter().map(row).collect(),
            levels: levels.iter().map(|l| (*l, String::new())).collect(),
            ..Contour::default()
        }
    }

    /// The same in another stroke and house colour.
    pub fn drawn(mut self, stroke: Stroke, colour: usize) -> Self {
        self.stroke = stroke;
        self.colour = colour;
        self
    }

    /// The same as a relief of the map under it.
    pub fn as_relief(mut self) -> Self {
        self.relief = true;
        self
    }

    /// The same with every line carrying its level in words.
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
    /// Index into the house colours.
    pub colour: usize,
    /// From where to where, in the coordinates of the axes.
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
        assert!(
            log.iter()
                .zip(expected)
                .all(|(a, b)| (a / b - 1.0).abs() < 1e-12)
        );
        assert_eq!(edges(&[3.0], Scale::Linear), [2.5, 3.5]);
        assert!(edges(&[], Scale::Log).is_empty());
    }
}
