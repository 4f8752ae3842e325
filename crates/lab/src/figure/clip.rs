//! Lines cut at a rectangle: kept within a frame, or left out under a label.

use super::layout::Frame;

/// Position on the paper.
pub type Place = (f64, f64);

/// Returns the distance between the two ends of a segment.
pub fn distance(pair: &[Place]) -> f64 {
    (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1)
}

/// Returns `true` if a point lies in the frame.
pub fn inside((x, y): Place, frame: Frame) -> bool {
    // Markers on the frame are drawn whole; those outside are left out.
    let slack = 0.01;
    x >= frame.left - slack && x <= frame.right + slack && y >= frame.top - slack && y <= frame.bottom + slack
}

/// Returns the parts of a polyline inside the frame; points that are not finite interrupt it.
pub fn clipped(places: &[Place], frame: Frame) -> Vec<Vec<Place>> {
    let mut lines: Vec<Vec<Place>> = vec![];
    let mut current: Vec<Place> = vec![];
    for pair in places.windows(2) {
        let Some((a, b)) = clip(pair[0], pair[1], frame) else {
            lines.extend((current.len() > 1).then(|| std::mem::take(&mut current)));
            current.clear();
            continue;
        };
        if current.last() != Some(&a) {
            lines.extend((current.len() > 1).then(|| std::mem::take(&mut current)));
            current = vec![a];
        }
        current.push(b);
    }
    lines.extend((current.len() > 1).then_some(current));
    lines
}

/// Returns the part of a segment inside the frame (Liang and Barsky 1984).
fn clip(a: Place, b: Place, frame: Frame) -> Option<(Place, Place)> {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    if !(a.0.is_finite() && a.1.is_finite() && dx.is_finite() && dy.is_finite()) {
        return None;
    }
    let (mut from, mut to) = (0.0_f64, 1.0_f64);
    let edges = [(-dx, a.0 - frame.left), (dx, frame.right - a.0), (-dy, a.1 - frame.top), (dy, frame.bottom - a.1)];
    for (p, q) in edges {
        match p {
            0.0 if q < -0.01 => return None,
            0.0 => {}
            p if p < 0.0 => from = from.max(q / p),
            p => to = to.min(q / p),
        }
    }
    let on = |t: f64| (a.0 + t * dx, a.1 + t * dy);
    // An end that is not cut keeps its exact value, so that pieces of a line still meet.
    let start = if from == 0.0 { a } else { on(from) };
    let end = if to == 1.0 { b } else { on(to) };
    (from < to).then_some((start, end))
}

/// Returns the parts of a line outside the rectangle `room`.
pub fn outside(line: &[Place], room: Frame) -> Vec<Vec<Place>> {
    let mut parts: Vec<Vec<Place>> = vec![];
    let mut current: Vec<Place> = vec![line[0]];
    for pair in line.windows(2) {
        match clip(pair[0], pair[1], room) {
            None => current.push(pair[1]),
            Some((enter, leave)) => {
                current.push(enter);
                parts.push(std::mem::replace(&mut current, vec![leave, pair[1]]));
            }
        }
    }
    parts.push(current);
    parts.retain(|part| part.windows(2).map(distance).sum::<f64>() > 0.01);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame { left: 0.0, top: 0.0, right: 10.0, bottom: 10.0 };

    #[test]
    fn lines_are_cut_at_the_frame() {
        let lines = clipped(&[(-5.0, 5.0), (5.0, 5.0), (5.0, 20.0), (8.0, 20.0), (8.0, 5.0)], FRAME);
        let expected = vec![vec![(0.0, 5.0), (5.0, 5.0), (5.0, 10.0)], vec![(8.0, 10.0), (8.0, 5.0)]];
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_has_no_place_interrupts_a_line() {
        let lines = clipped(&[(1.0, 1.0), (2.0, 2.0), (3.0, f64::NAN), (4.0, 4.0), (5.0, 5.0)], FRAME);
        assert_eq!(lines.len(), 2);
    }
}
