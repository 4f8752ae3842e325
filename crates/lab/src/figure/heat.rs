//! Cells, hatching and the colour bar of a heat map.

use super::axis::Ruler;
use super::canvas::{Anchor, Canvas};
use super::clip::Place;
use super::field::{Heat, Palette, edges};
use super::layout::{BAR, Frame, GAP, Placed};
use super::style::{self, Colour, HAIRLINE, HATCH, INK_COLOUR, NUMBERS, PAPER, TEXT, TICK};

/// Overlap of neighbouring cells (pt), so that no seam shows between them.
const OVERLAP: f64 = 0.4;
/// Height (pt) of the pointed end of a colour bar, which stands for all values beyond that end.
const BEYOND: f64 = 0.75 * BAR;

/// Draws cells and their hatching, and the colour bar where the panel has one.
pub fn map(canvas: &mut Canvas, placed: &Placed, heat: &Heat) {
    let Some(bar) = &placed.bar else { return };
    let Frame { left, top, right, bottom } = placed.frame;
    let x = |v: &f64| left + placed.x.place(*v).clamp(0.0, 1.0) * (right - left);
    let y = |v: &f64| bottom - placed.y.place(*v).clamp(0.0, 1.0) * (bottom - top);
    let columns: Vec<f64> = edges(&heat.x, placed.panel.x.scale).iter().map(x).collect();
    let rows: Vec<f64> = edges(&heat.y, placed.panel.y.scale).iter().map(y).collect();
    let (mut cells, mut hatched) = (vec![], vec![]);
    for (row, ys) in heat.cells.iter().zip(rows.windows(2)) {
        for (cell, xs) in row.iter().zip(columns.windows(2)) {
            let colour = match colour(bar, heat.palette, cell.value) {
                Some(colour) => colour,
                None if cell.hatched => PAPER,
                None => continue,
            };
            // Either axis may be reversed.
            let (x0, x1) = (xs[0].min(xs[1]), xs[0].max(xs[1]));
            let (y0, y1) = (ys[0].min(ys[1]), ys[0].max(ys[1]));
            let corner = (x0, (y0 - OVERLAP).max(top));
            cells.push((corner, ((x1 + OVERLAP).min(right), y1), colour));
            if cell.hatched {
                hatched.push(((x0, y0), (x1, y1), colour));
            }
        }
    }
    canvas.fixed(|canvas| {
        canvas.cells(&cells);
        // Hatching is drawn after all cells, which overlap.
        for (corner, opposite, colour) in hatched {
            hatch(canvas, (corner, opposite), over(colour));
        }
    });
    if placed.bar_drawn {
        colour_bar(canvas, placed, heat, bar);
    }
}

/// Draws a sample of hatching for the legend, on the colour of [`under_hatching`].
pub fn swatch(canvas: &mut Canvas, (corner, opposite): (Place, Place), colour: Colour) {
    canvas.rectangle(corner, opposite, colour);
    hatch(canvas, (corner, opposite), over(colour))
}

/// Returns a colour of the hatched cells of a map, that of paper if none has a value; None without such cells.
pub fn under_hatching(heat: &Heat) -> Option<Colour> {
    let hatched: Vec<_> = heat.cells.iter().flatten().filter(|cell| cell.hatched).collect();
    let drawn = hatched.iter().any(|cell| !cell.value.is_nan());
    let colour = match heat.palette {
        _ if !drawn => PAPER,
        Palette::Sequential => style::heat(0.5),
        Palette::Diverging(_) => style::diverging(0.6),
    };
    (!hatched.is_empty()).then_some(colour)
}

/// Returns the colour of lines over `colour`.
fn over(colour: Colour) -> Colour {
    if style::light(colour) { INK_COLOUR } else { PAPER }
}

/// Returns the colour of a value; None for a value outside the domain of the bar's scale.
fn colour(bar: &Ruler, palette: Palette, value: f64) -> Option<Colour> {
    // Infinite values lie beyond an end. NaN, and values ≤ 0 on a log scale, have no colour.
    let t = Some(bar.place(value)).filter(|t| !t.is_nan())?;
    Some(colour_at(bar, palette, t.clamp(0.0, 1.0)))
}

/// Returns the colour at the share `t` of the bar's length.
fn colour_at(bar: &Ruler, palette: Palette, t: f64) -> Colour {
    match palette {
        Palette::Sequential => style::heat(t),
        Palette::Diverging(middle) => {
            let middle = bar.place(middle);
            style::diverging(0.5 + 0.5 * (t - middle) / middle.max(1.0 - middle))
        }
    }
}

/// Draws diagonal lines over a rectangle; the lines of neighbouring rectangles meet.
fn hatch(canvas: &mut Canvas, ((x0, y0), (x1, y1)): (Place, Place), colour: Colour) {
    // The lines x + y = i HATCH√2.
    let step = HATCH * std::f64::consts::SQRT_2;
    let (from, to) = ((x0 + y0) / step, (x1 + y1) / step);
    for i in from.ceil() as i64..=to.floor() as i64 {
        let sum = i as f64 * step;
        let (a, b) = ((sum - y1).max(x0), (sum - y0).min(x1));
        if a < b {
            canvas.line(&[(a, sum - a), (b, sum - b)], HAIRLINE, colour);
        }
    }
}

/// Draws the colour bar beside the frame. An end is pointed if the map holds values beyond it.
fn colour_bar(canvas: &mut Canvas, placed: &Placed, heat: &Heat, bar: &Ruler) {
    let Frame { top, right, bottom, .. } = placed.frame;
    let (left, right) = (right + 2.0 * GAP, right + 2.0 * GAP + BAR);
    let (below, above) = placed.beyond;
    let high = if above { top + BEYOND } else { top };
    let low = if below { bottom - BEYOND } else { bottom };
    let height = |t: f64| low - t * (low - high);
    // Steps of 0.3 mm over 4 cm look continuous.
    let steps = 128;
    let step = |i: usize| {
        let t = |i: usize| i as f64 / steps as f64;
        let colour = colour_at(bar, heat.palette, t(i) + 0.5 / steps as f64);
        let up = (height(t(i + 1)) - OVERLAP).max(high);
        ((left, up), (right, height(t(i))), colour)
    };
    canvas.fixed(|canvas| canvas.cells(&(0..steps).map(step).collect::<Vec<_>>()));
    let middle = (left + right) / 2.0;
    let tips = [above.then_some((high, top, 1.0)), below.then_some((low, bottom, 0.0))];
    for (base, tip, t) in tips.into_iter().flatten() {
        let (end, colour) = ([(left, base), (middle, tip), (right, base)], colour_at(bar, heat.palette, t));
        canvas.fixed(|canvas| canvas.fill(&end, colour, 1.0));
    }
    let mut outline = vec![(left, low), (left, high)];
    outline.extend(above.then_some((middle, top)));
    outline.extend([(right, high), (right, low)]);
    outline.extend(below.then_some((middle, bottom)));
    outline.push((left, low));
    canvas.line(&outline, HAIRLINE, INK_COLOUR);
    for (value, length, number) in bar.ticks() {
        let y = height(bar.place(value));
        canvas.line(&[(right, y), (right + length, y)], HAIRLINE, INK_COLOUR);
        if let Some(number) = number {
            canvas.label(number, (right + TICK + GAP, y + 0.36 * NUMBERS), NUMBERS, Anchor::Start, false, INK_COLOUR);
        }
    }
    let widest = bar.numbers_width();
    let place = (right + TICK + GAP + widest + GAP + 0.8 * TEXT, (top + bottom) / 2.0);
    canvas.label(&heat.bar.label, place, TEXT, Anchor::Middle, true, INK_COLOUR)
}

#[cfg(test)]
mod tests {
    use super::super::field::Cell;
    use super::super::model::Axis;
    use super::*;

    #[test]
    fn hatching_without_values_is_on_paper() {
        let under = |value: f64, hatched: bool| {
            let cell = |i, _| Cell::of([1.0, value][i]).hatched_if(i == 1 && hatched);
            under_hatching(&Heat::over(&[1.0, 2.0], &[1.0], Axis::default(), cell))
        };
        assert_eq!(under(f64::NAN, true), Some(PAPER));
        assert_eq!(under(2.0, true), Some(style::heat(0.5)));
        assert_eq!(under(f64::NAN, false), None);
    }
}
