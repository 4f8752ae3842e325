//! Draws a laid-out figure.

use super::canvas::{Anchor, Canvas};
use super::layout::{Entry, Frame, GAP, Layout, Placed, SAMPLE, layout};
use super::model::{Figure, Panel};
use super::style::{self, HAIRLINE, INK_COLOUR, LINE, NUMBERS, RULE, TEXT, TICK};
use super::text;
use super::{heat, marks};
use attnlab_core::error::{Error, Result};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::Tree;

/// Pixels of a PNG, of which there are 300 to the inch, per pixel of usvg, 96.
const SCALE: f32 = 300.0 / 96.0;

/// Draws the figure as SVG text at its size on paper.
///
/// # Errors
/// When the figure has nothing to draw.
pub fn svg(figure: &Figure) -> Result<String> {
    drawn(figure, Canvas::default())
}

/// Draws the figure as an SVG element of a page: the same picture in fewer bytes, whose colours outside heat maps the
/// style of the page may change (children of the root).
///
/// # Errors
/// When the figure has nothing to draw.
pub fn svg_in_page(figure: &Figure) -> Result<String> {
    drawn(figure, Canvas::in_page())
}

fn drawn(figure: &Figure, mut canvas: Canvas) -> Result<String> {
    let laid = layout(figure)?;
    draw(&mut canvas, &laid);
    Ok(canvas.document(laid.size, &text::plain(&figure.title), &text::plain(&figure.caption)))
}

/// Converts a figure to a PNG of 300 dots per inch.
///
/// # Errors
/// When its picture is empty or beyond all memory.
pub(super) fn png_of(tree: &Tree) -> Result<Vec<u8>> {
    let failed = |e: &dyn std::fmt::Display| Error::unwritable("a figure (PNG)", e);
    let [width, height] = [tree.size().width(), tree.size().height()].map(|side| (side * SCALE).round() as u32);
    let mut pixels = Pixmap::new(width, height).ok_or_else(|| failed(&"it has no size"))?;
    pixels.fill(Color::WHITE);
    resvg::render(tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| failed(&e))
}

/// Draws the panels with their marks, and the legend.
pub(super) fn draw(canvas: &mut Canvas, laid: &Layout) {
    for placed in &laid.panels {
        match &placed.panel.heat {
            Some(map) => {
                heat::map(canvas, placed, map);
                canvas.fixed(|canvas| inside(canvas, placed));
            }
            None => inside(canvas, placed),
        }
        axes(canvas, placed);
        watermark(canvas, placed);
    }
    laid.legend.iter().for_each(|entry| legend_entry(canvas, entry));
    for (line, place) in &laid.note {
        canvas.label(line, *place, NUMBERS, Anchor::Start, false, RULE);
    }
}

/// Draws the marks inside the frame of a panel.
fn inside(canvas: &mut Canvas, placed: &Placed) {
    let Panel { rules, series, arrows, .. } = placed.panel;
    rules.iter().for_each(|rule| marks::rule(canvas, placed, rule));
    series.iter().for_each(|series| marks::band(canvas, placed, series));
    marks::contours(canvas, placed);
    series.iter().for_each(|series| marks::curve(canvas, placed, series));
    arrows.iter().for_each(|arrows| marks::arrows(canvas, placed, arrows));
    rules.iter().for_each(|rule| marks::rule_label(canvas, placed, rule));
}

/// Draws frame, ticks, numbers, labels and title.
fn axes(canvas: &mut Canvas, placed: &Placed) {
    let Frame { left, top, right, bottom } = placed.frame;
    canvas.line(&[(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], HAIRLINE, INK_COLOUR);
    for (value, length, number) in placed.x.ticks() {
        let x = placed.x.between(value, left, right);
        canvas.line(&[(x, bottom), (x, bottom + length)], HAIRLINE, INK_COLOUR);
        if let Some(number) = number {
            canvas.label(number, (x, bottom + TICK + GAP + 0.75 * NUMBERS), NUMBERS, Anchor::Middle, false, INK_COLOUR);
        }
    }
    for (value, length, number) in placed.y.ticks() {
        let y = placed.y.between(value, bottom, top);
        canvas.line(&[(left - length, y), (left, y)], HAIRLINE, INK_COLOUR);
        if let Some(number) = number {
            canvas.label(number, (left - TICK - GAP, y + 0.36 * NUMBERS), NUMBERS, Anchor::End, false, INK_COLOUR);
        }
    }
    let below = bottom + TICK + GAP + NUMBERS + GAP + 0.8 * TEXT;
    let (middle_x, middle_y) = ((left + right) / 2.0, (top + bottom) / 2.0);
    canvas.label(&placed.panel.x.label, (middle_x, below), TEXT, Anchor::Middle, false, INK_COLOUR);
    let beside = (left - placed.y_label - 0.1 * TEXT, middle_y);
    canvas.label(&placed.panel.y.label, beside, TEXT, Anchor::Middle, true, INK_COLOUR);
    let title = match placed.letter.as_str() {
        "" => placed.panel.title.clone(),
        letter => format!("({letter})  {}", placed.panel.title),
    };
    canvas.label(&title, (left, top - 0.55 * TEXT), TEXT, Anchor::Start, false, INK_COLOUR)
}

/// Draws the watermark across the middle of the panel, as large as fits.
fn watermark(canvas: &mut Canvas, placed: &Placed) {
    let words = &placed.panel.watermark;
    if words.is_empty() {
        return;
    }
    let frame = &placed.frame;
    let place = ((frame.left + frame.right) / 2.0, (frame.top + frame.bottom) / 2.0);
    // The letters of the font are a little more than half as wide as high.
    let room = 0.9 * (frame.right - frame.left) / (0.55 * words.chars().count() as f64);
    canvas.label(words, place, room.min(2.0 * TEXT), Anchor::Middle, false, RULE)
}

fn legend_entry(canvas: &mut Canvas, entry: &Entry) {
    let (x, y) = entry.at;
    let colour = entry.colour.map_or(RULE, style::colour);
    if entry.band {
        let (right, up, down) = (x + SAMPLE, y - 3.0, y + 3.0);
        canvas.fill(&[(x, up), (right, up), (right, down), (x, down)], colour, style::BAND);
    }
    if let Some(hatching) = entry.hatching {
        canvas.fixed(|canvas| heat::swatch(canvas, ((x, y - 3.2), (x + SAMPLE, y + 3.2)), hatching));
    }
    if entry.arrow {
        marks::arrow(canvas, (x, y), (x + SAMPLE, y), colour);
    }
    let width = if entry.colour.is_some() { LINE } else { 0.8 * LINE };
    marks::stroke(canvas, &[(x, y), (x + SAMPLE, y)], entry.stroke, width, colour);
    marks::marker(canvas, (x + SAMPLE / 2.0, y), entry.marker, colour);
    canvas.label(&entry.label, (x + SAMPLE + GAP, y + 0.36 * TEXT), TEXT, Anchor::Start, false, INK_COLOUR)
}
