//! Draws a laid-out figure.

use super::canvas::{Anchor, Canvas, Kind};
use super::layout::{Entry, Frame, GAP, Layout, Placed, SAMPLE, layout};
use super::model::{Figure, Stroke};
use super::style::{self, HAIRLINE, INK_COLOUR, LINE, NUMBERS, RULE, TEXT, TICK};
use super::text;
use super::{heat, marks};
use attnlab_core::error::{Error, Result};
use plotters::prelude::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::Color;
use std::path::Path;

/// SVG units per point: plotters rounds coordinates to whole units.
const SVG_UNIT: f64 = 10.0;
/// Pixels per point of a PNG: 300 dots per inch.
const PNG_UNIT: f64 = 300.0 / 72.0;
/// Bitmaps are drawn this many times larger and averaged, because plotters does not smooth the
/// edges of polygons.
const OVERSAMPLING: usize = 3;

/// Draws the figure as SVG text at its size on paper.
///
/// # Errors
/// When the figure has nothing to draw.
pub fn svg(figure: &Figure) -> Result<String> {
    let laid = layout(figure)?;
    let size = units(laid.size, SVG_UNIT);
    let mut text = String::new();
    let mut canvas = Canvas::new(SVGBackend::with_string(&mut text, size), Kind::Svg, SVG_UNIT);
    draw(&mut canvas, &laid)?;
    canvas.finish()?;
    Ok(with_header(&text, figure, laid.size, size))
}

/// Writes the figure as a PNG of 300 dots per inch.
///
/// # Errors
/// When the figure has nothing to draw, or the file cannot be written.
pub fn png(figure: &Figure, path: &Path) -> Result<()> {
    let laid = layout(figure)?;
    let (width, height) = units(laid.size, PNG_UNIT);
    let fine = OVERSAMPLING as u32;
    let mut buffer = vec![255_u8; (width * height * fine * fine * 3) as usize];
    let large = BitMapBackend::with_buffer(&mut buffer, (width * fine, height * fine));
    let mut canvas = Canvas::new(large, Kind::Bitmap, PNG_UNIT * OVERSAMPLING as f64);
    draw(&mut canvas, &laid)?;
    canvas.finish()?;
    let beside = path.with_extension(format!("{}.png", std::process::id()));
    let advice = "Choose a folder that you may write with --out";
    let written = write_averaged(&buffer, (width, height), &beside);
    let renamed = written.and_then(|()| std::fs::rename(&beside, path).map_err(|e| Error::io(path, e, advice)));
    if renamed.is_err() {
        // Best effort: the first error is the one that is returned.
        let _ = std::fs::remove_file(&beside);
    }
    renamed
}

fn units((width, height): (f64, f64), unit: f64) -> (u32, u32) {
    ((width * unit).round() as u32, (height * unit).round() as u32)
}

/// Averages squares of the large bitmap into pixels of the file.
fn write_averaged(buffer: &[u8], (width, height): (u32, u32), path: &Path) -> Result<()> {
    let failed = |e: &dyn std::fmt::Display| Error::Io {
        path: path.to_path_buf(),
        source: std::io::Error::other(e.to_string()),
        advice: "Choose a folder that you may write with --out".into(),
    };
    let side = OVERSAMPLING;
    let row = width as usize * side * 3;
    let mut small = vec![0_u8; (width * height * 3) as usize];
    for (i, byte) in small.iter_mut().enumerate() {
        let (x, y, channel) = (i / 3 % width as usize, i / 3 / width as usize, i % 3);
        let corner = y * side * row + x * side * 3 + channel;
        let square = (0..side * side).map(|s| buffer[corner + s / side * row + s % side * 3]);
        let sum: u32 = square.map(u32::from).sum();
        *byte = ((sum + (side * side) as u32 / 2) / (side * side) as u32) as u8;
    }
    let mut file = BitMapBackend::new(path, (width, height));
    for (i, pixel) in small.chunks_exact(3).enumerate() {
        let (x, y) = (i as u32 % width, i as u32 / width);
        let colour = plotters::style::RGBColor(pixel[0], pixel[1], pixel[2]);
        let drawn = file.draw_pixel((x as i32, y as i32), colour.to_backend_color());
        drawn.map_err(|e| failed(&e))?;
    }
    file.present().map_err(|e| failed(&e))
}

/// Adds the size on paper, a white background and a description for screen readers to an SVG.
fn with_header(text: &str, figure: &Figure, size: (f64, f64), units: (u32, u32)) -> String {
    let body = text.find('>').map_or("", |end| &text[end + 1..]);
    let escape = |s: &str| s.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let (title, caption) = (escape(&text::plain(&figure.title)), escape(&text::plain(&figure.caption)));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{:.2}pt\" height=\"{:.2}pt\" \
         viewBox=\"0 0 {} {}\">\n<title>{title}</title>\n<desc>{caption}</desc>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{body}",
        size.0, size.1, units.0, units.1
    )
}

fn draw<B: DrawingBackend>(canvas: &mut Canvas<B>, laid: &Layout) -> Result<()> {
    for placed in &laid.panels {
        if let Some(map) = &placed.panel.heat {
            heat::map(canvas, placed, map)?;
        }
        for rule in &placed.panel.rules {
            marks::rule(canvas, placed, rule)?;
        }
        for series in &placed.panel.series {
            marks::band(canvas, placed, series)?;
        }
        marks::contours(canvas, placed)?;
        for series in &placed.panel.series {
            marks::curve(canvas, placed, series)?;
        }
        for arrows in &placed.panel.arrows {
            marks::arrows(canvas, placed, arrows)?;
        }
        for rule in &placed.panel.rules {
            marks::rule_label(canvas, placed, rule)?;
        }
        axes(canvas, placed)?;
        watermark(canvas, placed)?;
    }
    for entry in &laid.legend {
        legend_entry(canvas, entry)?;
    }
    for (line, at) in &laid.note {
        canvas.label(line, *at, NUMBERS, Anchor::Start, false, RULE)?;
    }
    Ok(())
}

/// Draws frame, ticks, numbers, labels and title.
fn axes<B: DrawingBackend>(canvas: &mut Canvas<B>, placed: &Placed) -> Result<()> {
    let Frame { left, top, right, bottom } = placed.frame;
    let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    canvas.line(&corners, HAIRLINE, INK_COLOUR)?;
    for (value, number) in &placed.x.major {
        let x = left + placed.x.place(*value) * (right - left);
        canvas.line(&[(x, bottom), (x, bottom + TICK)], HAIRLINE, INK_COLOUR)?;
        let baseline = bottom + TICK + GAP + 0.75 * NUMBERS;
        canvas.label(number, (x, baseline), NUMBERS, Anchor::Middle, false, INK_COLOUR)?;
    }
    for value in &placed.x.minor {
        let x = left + placed.x.place(*value) * (right - left);
        canvas.line(&[(x, bottom), (x, bottom + 0.6 * TICK)], HAIRLINE, INK_COLOUR)?;
    }
    for (value, number) in &placed.y.major {
        let y = bottom - placed.y.place(*value) * (bottom - top);
        canvas.line(&[(left - TICK, y), (left, y)], HAIRLINE, INK_COLOUR)?;
        let at = (left - TICK - GAP, y + 0.36 * NUMBERS);
        canvas.label(number, at, NUMBERS, Anchor::End, false, INK_COLOUR)?;
    }
    for value in &placed.y.minor {
        let y = bottom - placed.y.place(*value) * (bottom - top);
        canvas.line(&[(left - 0.6 * TICK, y), (left, y)], HAIRLINE, INK_COLOUR)?;
    }
    let below = bottom + TICK + GAP + NUMBERS + GAP + 0.8 * TEXT;
    let (middle_x, middle_y) = ((left + right) / 2.0, (top + bottom) / 2.0);
    canvas.label(&placed.panel.x.label, (middle_x, below), TEXT, Anchor::Middle, false, INK_COLOUR)?;
    let beside = (left - placed.y_label - 0.1 * TEXT, middle_y);
    canvas.label(&placed.panel.y.label, beside, TEXT, Anchor::Middle, true, INK_COLOUR)?;
    let title = match placed.letter.as_str() {
        "" => placed.panel.title.clone(),
        letter => format!("({letter})  {}", placed.panel.title),
    };
    canvas.label(&title, (left, top - 0.55 * TEXT), TEXT, Anchor::Start, false, INK_COLOUR)
}

/// Draws the watermark across the middle of the panel, as large as fits.
fn watermark<B: DrawingBackend>(canvas: &mut Canvas<B>, placed: &Placed) -> Result<()> {
    let words = &placed.panel.watermark;
    if words.is_empty() {
        return Ok(());
    }
    let frame = &placed.frame;
    let at = ((frame.left + frame.right) / 2.0, (frame.top + frame.bottom) / 2.0);
    // The letters of the font are a little more than half as wide as high.
    let room = 0.9 * (frame.right - frame.left) / (0.55 * words.chars().count() as f64);
    canvas.label(words, at, room.min(2.0 * TEXT), Anchor::Middle, false, RULE)
}

fn legend_entry<B: DrawingBackend>(canvas: &mut Canvas<B>, entry: &Entry) -> Result<()> {
    let (x, y) = entry.at;
    let colour = entry.colour.map_or(RULE, style::colour);
    if entry.band {
        let (up, down) = (y - 3.0, y + 3.0);
        let swatch = [(x, up), (x + SAMPLE, up), (x + SAMPLE, down), (x, down)];
        canvas.fill(&swatch, colour, style::BAND)?;
    }
    if let Some(hatching) = entry.hatching {
        let swatch = ((x, y - 3.2), (x + SAMPLE, y + 3.2));
        heat::swatch(canvas, swatch, hatching)?;
    }
    if entry.arrow {
        marks::arrow(canvas, (x, y), (x + SAMPLE, y), colour)?;
    }
    let width = if entry.colour.is_some() { LINE } else { 0.8 * LINE };
    let line = [(x, y), (x + SAMPLE, y)];
    match entry.stroke {
        Stroke::None => {}
        stroke => marks::stroke(canvas, &line, stroke, width, colour)?,
    }
    marks::marker(canvas, (x + SAMPLE / 2.0, y), entry.marker, colour)?;
    let at = (x + SAMPLE + GAP, y + 0.36 * TEXT);
    canvas.label(&entry.label, at, TEXT, Anchor::Start, false, INK_COLOUR)
}
