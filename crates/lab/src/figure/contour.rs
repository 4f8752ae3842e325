//! Contour lines on a grid by marching squares.

use super::clip::Place;
use itertools::iproduct;
use std::collections::BTreeMap;

/// An edge of the grid: `(across, row, column)` from node (row, column) to its right neighbour
/// (`across` = 0) or its upper one (1).
type Edge = (u8, usize, usize);

/// Computes the lines on which the field `values[row][column]`, given at the nodes `x[column]`, `y[row]` and
/// interpolated linearly between them, takes the value `level`. Closed lines end where they begin.
///
/// Squares with a NaN at a corner are left out. If one corner is infinite, the crossing lies at the finite
/// one. In a saddle the mean of the four corners decides which of them are joined.
pub fn lines(x: &[f64], y: &[f64], values: &[Vec<f64>], level: f64) -> Vec<Vec<Place>> {
    let squares = iproduct!(0..y.len().saturating_sub(1), 0..x.len().saturating_sub(1));
    let segments: Vec<_> = squares.flat_map(|(row, column)| square(values, row, column, level)).collect();
    let place = |(across, row, column): Edge| {
        let share = |next: f64| crossing(values[row][column], next, level);
        match across {
            0 => (x[column] + share(values[row][column + 1]) * (x[column + 1] - x[column]), y[row]),
            _ => (x[column], y[row] + share(values[row + 1][column]) * (y[row + 1] - y[row])),
        }
    };
    joined(&segments).into_iter().map(|chain| chain.into_iter().map(place).collect()).collect()
}

/// Returns the segments of a line in one square of the grid: none, one, or two in a saddle.
fn square(values: &[Vec<f64>], row: usize, column: usize, level: f64) -> Vec<(Edge, Edge)> {
    // Corners counter-clockwise from the lower left, and the edge from each to the next.
    let corners = [values[row][column], values[row][column + 1], values[row + 1][column + 1], values[row + 1][column]];
    if corners.iter().any(|v| v.is_nan()) {
        return vec![];
    }
    let edges: [Edge; 4] = [(0, row, column), (1, row, column + 1), (0, row + 1, column), (1, row, column)];
    let above = corners.map(|v| v >= level);
    let crossed: Vec<usize> = (0..4).filter(|i| above[*i] != above[(i + 1) % 4]).collect();
    match crossed[..] {
        [a, b] => vec![(edges[a], edges[b])],
        [_, _, _, _] => {
            // Each segment cuts off one corner: those that are not on the side of the middle.
            let middle = corners.iter().sum::<f64>() / 4.0 >= level;
            (0..4).filter(|i| above[*i] != middle).map(|i| (edges[(i + 3) % 4], edges[i])).collect()
        }
        _ => vec![],
    }
}

/// Computes the position of the crossing between two neighbouring nodes, from 0 to 1.
fn crossing(a: f64, b: f64, level: f64) -> f64 {
    match (a.is_finite(), b.is_finite()) {
        (true, true) => ((level - a) / (b - a)).clamp(0.0, 1.0),
        (true, false) => 0.0,
        (false, true) => 1.0,
        (false, false) => 0.5,
    }
}

/// Joins segments at the edges that they share. An edge belongs to two squares, each with at most one
/// segment that ends on it.
fn joined(segments: &[(Edge, Edge)]) -> Vec<Vec<Edge>> {
    let mut by_edge: BTreeMap<Edge, Vec<usize>> = BTreeMap::new();
    for (i, (a, b)) in segments.iter().enumerate() {
        by_edge.entry(*a).or_default().push(i);
        by_edge.entry(*b).or_default().push(i);
    }
    let mut used = vec![false; segments.len()];
    let mut walk = |start: Edge| {
        let mut chain = vec![start];
        let mut edge = start;
        while let Some(i) = by_edge[&edge].iter().copied().find(|i| !used[*i]) {
            used[i] = true;
            let (a, b) = segments[i];
            edge = if a == edge { b } else { a };
            chain.push(edge);
        }
        chain
    };
    // Open lines are followed from their ends, then closed ones from any point.
    let ends = by_edge.iter().filter(|(_, touching)| touching.len() == 1);
    let starts: Vec<Edge> = ends.map(|(e, _)| *e).chain(by_edge.keys().copied()).collect();
    starts.into_iter().map(&mut walk).filter(|chain| chain.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(n: usize, f: impl Fn(f64, f64) -> f64) -> (Vec<f64>, Vec<Vec<f64>>) {
        let axis: Vec<f64> = (0..=n).map(|i| -1.0 + 2.0 * i as f64 / n as f64).collect();
        let values = axis.iter().map(|y| axis.iter().map(|x| f(*x, *y)).collect()).collect();
        (axis, values)
    }

    /// The circle of radius 1/2: every point of the line lies on it up to the error of linear
    /// interpolation, h²/8 · |second derivative| / |gradient| = (2/40)²/8 · 2 / 1 < 7e-4.
    #[test]
    fn a_circle_is_one_closed_line() {
        let (axis, values) = grid(40, |x, y| x * x + y * y);
        let paths = lines(&axis, &axis, &values, 0.25);
        assert_eq!(paths.len(), 1);
        assert_eq!(paths[0].first(), paths[0].last());
        assert!(paths[0].iter().all(|(x, y)| (x.hypot(*y) - 0.5).abs() < 7e-4));
        let length: f64 = paths[0].windows(2).map(|p| (p[1].0 - p[0].0).hypot(p[1].1 - p[0].1)).sum();
        assert!((length - std::f64::consts::PI).abs() < 5e-3, "{length}");
    }

    #[test]
    fn a_linear_field_is_met_exactly_and_lines_end_at_the_border() {
        let (axis, values) = grid(7, |x, y| x + 2.0 * y);
        let paths = lines(&axis, &axis, &values, 0.3);
        assert_eq!(paths.len(), 1);
        assert!(paths[0].iter().all(|(x, y)| (x + 2.0 * y - 0.3).abs() < 1e-12));
        let on_border = |p: &Place| p.0.abs() == 1.0 || p.1.abs() == 1.0;
        assert!(on_border(&paths[0][0]) && on_border(paths[0].last().unwrap()));
    }

    #[test]
    fn saddles_levels_at_nodes_and_missing_values() {
        // A saddle at the middle of a single square: two lines that do not touch.
        let saddle = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
        let unit = [0.0, 1.0];
        assert_eq!(lines(&unit, &unit, &saddle, 0.6).len(), 2);
        assert_eq!(lines(&unit, &unit, &saddle, 0.4).len(), 2);
        // The level is met at nodes: no gaps, no doubles.
        let (axis, values) = grid(4, |x, _| x);
        assert_eq!(lines(&axis, &axis, &values, 0.5).len(), 1);
        let missing = vec![vec![f64::NAN, 0.0], vec![0.0, 1.0]];
        assert!(lines(&unit, &unit, &missing, 0.5).is_empty());
        let infinite = vec![vec![f64::NEG_INFINITY, 0.0], vec![f64::NEG_INFINITY, 0.0]];
        assert_eq!(lines(&unit, &unit, &infinite, -1.0), [[(1.0, 0.0), (1.0, 1.0)]]);
        assert!(lines(&[], &[], &[], 0.5).is_empty());
        assert!(lines(&unit, &unit, &saddle, 7.0).is_empty());
    }
}
