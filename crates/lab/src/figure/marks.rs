//! Curves, bands, error bars, markers and reference lines, clipped to their frame.

use super::axis::ends;
use super::canvas::{Anchor, Canvas};
use super::clip::{Place, clipped, distance, inside, outside};
use super::contour::lines;
use super::field::{Arrows, Contour};
use super::layout::{Frame, GAP, Placed};
use super::model::{Marker, Rule, Series, Stroke};
use super::style::{self, CASING, Colour, HAIRLINE, INK_COLOUR, LINE, MARKER, NUMBERS, PAPER, RULE};
use super::text;

/// Computes the position of a point on the paper; not finite if an axis cannot show it.
fn position(placed: &Placed, x: f64, y: f64) -> Place {
    let Frame { left, top, right, bottom } = placed.frame;
    (placed.x.between(x, left, right), placed.y.between(y, bottom, top))
}

/// Draws a line in one of the strokes.
pub fn stroke(canvas: &mut Canvas, line: &[Place], stroke: Stroke, width: f64, colour: Colour) {
    match stroke {
        Stroke::None => {}
        Stroke::Solid => canvas.line(line, width, colour),
        Stroke::Dashed => canvas.dashes(line, &[4.0, 2.2], width, colour),
        Stroke::Dotted => canvas.dashes(line, &[1.2, 1.8], width, colour),
        Stroke::DashDotted => canvas.dashes(line, &[5.0, 1.8, 1.2, 1.8], width, colour),
    }
}

/// Returns the position of a reference line, of which one coordinate counts; None outside the frame.
fn crossing(placed: &Placed, rule: &Rule) -> Option<Place> {
    let Frame { left, top, right, bottom } = placed.frame;
    let (x, y) = position(placed, rule.at, rule.at);
    let shown = if rule.vertical { left <= x && x <= right } else { top <= y && y <= bottom };
    shown.then_some((x, y))
}

pub fn rule(canvas: &mut Canvas, placed: &Placed, rule: &Rule) {
    let Frame { left, top, right, bottom } = placed.frame;
    let Some((x, y)) = crossing(placed, rule) else { return };
    let line = if rule.vertical { [(x, bottom), (x, top)] } else { [(left, y), (right, y)] };
    stroke(canvas, &line, Stroke::Dotted, 0.8 * LINE, RULE)
}

/// Draws the intervals of a series, as a band or as error bars.
pub fn band(canvas: &mut Canvas, placed: &Placed, series: &Series) {
    let Frame { left, top, right, bottom } = placed.frame;
    let colour = style::colour(series.colour);
    let (mut upper, mut lower): (Vec<Place>, Vec<Place>) = (vec![], vec![]);
    // The point past the last closes the last stretch.
    for point in series.points.iter().map(Some).chain([None]) {
        let ends = point.and_then(|p| {
            let (low, high) = p.interval?;
            let (x, up) = position(placed, p.x, high);
            let (_, down) = position(placed, p.x, low);
            // An end that a log axis cannot show lies below the frame.
            let down = if down.is_finite() { down } else { bottom };
            let shown = x >= left - 0.01 && x <= right + 0.01 && up.is_finite();
            shown.then_some((x, up.clamp(top, bottom), down.clamp(top, bottom)))
        });
        match ends {
            Some((x, up, down)) if series.band => {
                upper.push((x, up));
                lower.push((x, down));
            }
            Some((x, up, down)) => {
                canvas.line(&[(x, up), (x, down)], 1.6 * HAIRLINE, colour);
                for end in [up, down] {
                    canvas.line(&[(x - 1.5, end), (x + 1.5, end)], 1.6 * HAIRLINE, colour);
                }
            }
            None => {
                if upper.len() > 1 {
                    let outline: Vec<_> = upper.iter().chain(lower.iter().rev()).copied().collect();
                    canvas.fill(&outline, colour, style::BAND);
                }
                upper.clear();
                lower.clear();
            }
        }
    }
}

/// Draws the line and the markers of a series.
pub fn curve(canvas: &mut Canvas, placed: &Placed, series: &Series) {
    let colour = style::colour(series.colour);
    let places: Vec<Place> = series.points.iter().map(|p| position(placed, p.x, p.y)).collect();
    for line in clipped(&places, placed.frame) {
        cased(canvas, placed, &line, series.stroke, colour);
    }
    let shown = || places.iter().filter(|p| inside(**p, placed.frame));
    for place in shown() {
        if placed.panel.heat.is_some() {
            grown_marker(canvas, *place, series.marker, PAPER, CASING);
        }
        marker(canvas, *place, series.marker, colour);
    }
    match shown().next_back() {
        Some(last) if !series.tag.is_empty() => tag(canvas, placed, &series.tag, *last),
        _ => {}
    }
}

/// Writes the tag of a series at its last point: at the right of it where there is space, otherwise above, or
/// below where that is outside the frame.
fn tag(canvas: &mut Canvas, placed: &Placed, words: &str, (x, y): Place) {
    let gap = MARKER + GAP;
    let (place, anchor) = match x + gap + text::width(words, NUMBERS) <= placed.frame.right {
        true => ((x + gap, y + 0.36 * NUMBERS), Anchor::Start),
        false if y - gap - NUMBERS < placed.frame.top => {
            ((placed.frame.right - GAP, y + gap + 0.75 * NUMBERS), Anchor::End)
        }
        false => ((placed.frame.right - GAP, y - gap), Anchor::End),
    };
    canvas.label_over(words, place, NUMBERS, anchor, false, INK_COLOUR)
}

/// Writes the label of a reference line along it.
pub fn rule_label(canvas: &mut Canvas, placed: &Placed, rule: &Rule) {
    let frame = placed.frame;
    let Some((x, y)) = crossing(placed, rule).filter(|_| rule.written) else { return };
    let place = match rule.vertical {
        true => (x + 0.9 * NUMBERS, frame.top + GAP),
        false if y < (frame.top + frame.bottom) / 2.0 => (frame.right - GAP, y - GAP),
        false => (frame.right - GAP, y + 0.95 * NUMBERS),
    };
    canvas.label_over(&rule.label, place, NUMBERS, Anchor::End, rule.vertical, INK_COLOUR)
}

/// Draws a curve. Over a heat map a solid curve has a light edge on both sides, so that it is visible on
/// every colour.
fn cased(canvas: &mut Canvas, placed: &Placed, line: &[Place], kind: Stroke, colour: Colour) {
    if placed.panel.heat.is_some() && kind == Stroke::Solid {
        stroke(canvas, line, kind, LINE + 2.0 * CASING, PAPER);
    }
    stroke(canvas, line, kind, LINE, colour)
}

/// Share of the frame's diagonal that a contour line must extend over to be drawn. Shorter ones are closed
/// lines around single cells and ends at the border, which on few measured cells are noise.
const FRAGMENT: f64 = 0.2;

/// Returns `true` if a line extends over less than [`FRAGMENT`] of the diagonal of its frame.
fn is_fragment(line: &[Place], frame: Frame) -> bool {
    let span = |of: fn(&Place) -> f64| {
        let (low, high) = ends(line.iter().map(of));
        high - low
    };
    span(|p| p.0).hypot(span(|p| p.1)) < FRAGMENT * (frame.right - frame.left).hypot(frame.bottom - frame.top)
}

/// Draws the contour lines of a panel, each with the label of its level where there is space. Labels
/// interrupt every line, also lines of other contours. Fragments are left out.
pub fn contours(canvas: &mut Canvas, placed: &Placed) {
    let (mut curves, mut labels, mut rooms) = (vec![], vec![], vec![]);
    for contour in &placed.panel.contours {
        for (level, words) in &contour.levels {
            let mut drawn = on_paper(placed, contour, *level);
            drawn.retain(|line| contour.relief || !is_fragment(line, placed.frame));
            for line in &drawn {
                if let Some((middle, room)) = room_for(words, line, placed.frame, &rooms) {
                    labels.push((words, middle, contour.colour));
                    rooms.push(room);
                }
            }
            curves.extend(drawn.into_iter().map(|line| (contour, line)));
        }
    }
    for (contour, line) in curves {
        let mut parts = vec![line];
        for room in &rooms {
            parts = parts.iter().flat_map(|part| outside(part, *room)).collect();
        }
        for part in parts {
            match contour.relief {
                true => stroke(canvas, &part, contour.stroke, HAIRLINE, PAPER),
                false => cased(canvas, placed, &part, contour.stroke, style::colour(contour.colour)),
            }
        }
    }
    for (words, (x, y), colour) in labels {
        let (place, colour) = ((x, y + 0.36 * NUMBERS), style::colour(colour));
        canvas.label_over(words, place, NUMBERS, Anchor::Middle, false, colour);
    }
}

/// Computes the lines of one level on the paper, within the frame.
fn on_paper(placed: &Placed, contour: &Contour, level: f64) -> Vec<Vec<Place>> {
    // Marching squares on the paper itself, so that lines are straight between nodes there.
    let x: Vec<f64> = contour.x.iter().map(|x| position(placed, *x, 1.0).0).collect();
    let y: Vec<f64> = contour.y.iter().map(|y| position(placed, 1.0, *y).1).collect();
    let scaled = |v: f64| if contour.logarithmic { v.ln() } else { v };
    let field: Vec<Vec<f64>> = contour.values.iter().map(|row| row.iter().copied().map(scaled).collect()).collect();
    lines(&x, &y, &field, scaled(level)).iter().flat_map(|line| clipped(line, placed.frame)).collect()
}

/// Finds a position on a line for the label of its level, inside the frame and clear of other labels.
fn room_for(words: &str, line: &[Place], frame: Frame, taken: &[Frame]) -> Option<(Place, Frame)> {
    let length: f64 = line.windows(2).map(distance).sum();
    let (wide, high) = (text::width(words, NUMBERS) / 2.0 + 1.5, 0.5 * NUMBERS + 0.5);
    if words.is_empty() || length < 3.0 * wide {
        return None;
    }
    [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].into_iter().find_map(|share| {
        let (x, y) = along(line, share * length);
        let room = Frame { left: x - wide, top: y - high, right: x + wide, bottom: y + high };
        let within =
            room.left > frame.left && room.right < frame.right && room.top > frame.top && room.bottom < frame.bottom;
        let apart = |other: &Frame| {
            room.right < other.left || other.right < room.left || room.bottom < other.top || other.bottom < room.top
        };
        (within && taken.iter().all(apart)).then_some(((x, y), room))
    })
}

/// Returns the point of a line at this distance from its start.
fn along(line: &[Place], mut far: f64) -> Place {
    for pair in line.windows(2) {
        let step = distance(pair);
        if far <= step && step > 0.0 {
            let t = far / step;
            let between = |a: f64, b: f64| a + t * (b - a);
            return (between(pair[0].0, pair[1].0), between(pair[0].1, pair[1].1));
        }
        far -= step;
    }
    line[line.len() - 1]
}

pub fn arrows(canvas: &mut Canvas, placed: &Placed, arrows: &Arrows) {
    for (from, to) in &arrows.shafts {
        let (from, to) = (position(placed, from.0, from.1), position(placed, to.0, to.1));
        if inside(from, placed.frame) && inside(to, placed.frame) {
            arrow(canvas, from, to, style::colour(arrows.colour));
        }
    }
}

/// Draws one arrow between two points on the paper.
pub fn arrow(canvas: &mut Canvas, from: Place, to: Place, colour: Colour) {
    let length = distance(&[from, to]);
    if length == 0.0 || !length.is_finite() {
        return;
    }
    // Half of a short arrow is its head.
    let head = f64::min(4.2, 0.5 * length);
    let (x, y) = ((to.0 - from.0) / length, (to.1 - from.1) / length);
    let back = |far: f64, aside: f64| (to.0 - far * x - aside * y, to.1 - far * y + aside * x);
    canvas.line(&[from, back(0.8 * head, 0.0)], 0.75 * LINE, colour);
    let wing = 0.36 * head;
    canvas.fill(&[to, back(head, wing), back(0.8 * head, 0.0), back(head, -wing)], colour, 1.0)
}

pub fn marker(canvas: &mut Canvas, place: Place, marker: Marker, colour: Colour) {
    grown_marker(canvas, place, marker, colour, 0.0)
}

/// Draws one marker that is larger by `edge` (pt) on every side.
fn grown_marker(canvas: &mut Canvas, (x, y): Place, marker: Marker, colour: Colour, edge: f64) {
    let r = MARKER + edge;
    match marker {
        Marker::None => {}
        Marker::Circle => canvas.disc((x, y), r, colour),
        Marker::Open => {
            canvas.disc((x, y), 1.1 * r, colour);
            canvas.disc((x, y), 0.6 * r, (255, 255, 255))
        }
        Marker::Ring => {
            let corner = |i: u32| {
                let (sin, cos) = (std::f64::consts::TAU * f64::from(i) / 48.0).sin_cos();
                (x + 1.9 * MARKER * cos, y + 1.9 * MARKER * sin)
            };
            canvas.line(&(0..=48).map(corner).collect::<Vec<_>>(), 0.8 + 2.0 * edge, colour)
        }
        Marker::Square => {
            let s = 0.88 * r;
            canvas.fill(&[(x - s, y - s), (x + s, y - s), (x + s, y + s), (x - s, y + s)], colour, 1.0)
        }
        Marker::Diamond => {
            let s = 1.3 * r;
            canvas.fill(&[(x, y - s), (x + s, y), (x, y + s), (x - s, y)], colour, 1.0)
        }
        Marker::Triangle | Marker::Down => {
            let (s, up) = (1.2 * r, if marker == Marker::Triangle { -1.0 } else { 1.0 });
            let base = y - 0.6 * up * s;
            canvas.fill(&[(x, y + up * s), (x + s, base), (x - s, base)], colour, 1.0)
        }
        Marker::Cross => {
            let (s, width) = (0.9 * r, 0.9 + 2.0 * edge);
            canvas.line(&[(x - s, y - s), (x + s, y + s)], width, colour);
            canvas.line(&[(x - s, y + s), (x + s, y - s)], width, colour)
        }
    }
}
