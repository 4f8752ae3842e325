//! Drawing surface in points, over any plotters backend.

use super::style::{CASING, Colour, PAPER};
use super::text::{self, FAMILY, LINE_PER_EM};
use attnlab_core::error::{Error, Result};
use plotters::prelude::DrawingBackend;
use plotters::style::{
    Color, FontDesc, FontFamily, FontStyle, FontTransform, RGBColor, ShapeStyle, TextStyle,
    text_anchor::{HPos, Pos, VPos},
};

/// Alignment of a label at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The label starts there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// Treatment of text by a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The file names font and size, and the viewer draws the glyphs.
    Svg,
    /// The backend draws the glyphs.
    Bitmap,
}

/// A drawing surface; lengths are points, y grows downwards.
pub struct Canvas<B: DrawingBackend> {
    backend: B,
    kind: Kind,
    /// Backend units per point.
    unit: f64,
}

impl<B: DrawingBackend> Canvas<B> {
    /// Creates a canvas over `backend` with `unit` backend units per point.
    pub fn new(backend: B, kind: Kind, unit: f64) -> Self {
        text::register();
        Canvas { backend, kind, unit }
    }

    fn at(&self, (x, y): (f64, f64)) -> (i32, i32) {
        ((x * self.unit).round() as i32, (y * self.unit).round() as i32)
    }

    /// Draws a polyline of this `width` (pt).
    ///
    /// # Errors
    /// When the backend fails.
    pub fn line(&mut self, points: &[(f64, f64)], width: f64, colour: Colour) -> Result<()> {
        let path: Vec<_> = points.iter().map(|p| self.at(*p)).collect();
        if path.len() < 2 {
            return Ok(());
        }
        let style = self.style(colour, 1.0, width);
        self.backend.draw_path(path, &style).map_err(failed)
    }

    /// Draws a dashed polyline; `pattern` holds the lengths of dashes and gaps in turn (pt).
    ///
    /// # Errors
    /// When the backend fails.
    pub fn dashes(&mut self, points: &[(f64, f64)], pattern: &[f64], width: f64, colour: Colour) -> Result<()> {
        for dash in split_dashes(points, pattern) {
            self.line(&dash, width, colour)?;
        }
        Ok(())
    }

    /// Fills a polygon; `opacity` is in 0..=1.
    ///
    /// # Errors
    /// When the backend fails.
    pub fn fill(&mut self, points: &[(f64, f64)], colour: Colour, opacity: f64) -> Result<()> {
        let path: Vec<_> = points.iter().map(|p| self.at(*p)).collect();
        let style = ShapeStyle { filled: true, ..self.style(colour, opacity, 1.0) };
        self.backend.fill_polygon(path, &style).map_err(failed)
    }

    /// Fills the rectangle between two corners.
    ///
    /// # Errors
    /// When the backend fails.
    pub fn rectangle(&mut self, a: (f64, f64), b: (f64, f64), colour: Colour) -> Result<()> {
        let (a, b) = (self.at(a), self.at(b));
        let style = ShapeStyle { filled: true, ..self.style(colour, 1.0, 1.0) };
        self.backend.draw_rect(a, b, &style, true).map_err(failed)
    }

    /// Fills a disc of this `radius` (pt).
    ///
    /// # Errors
    /// When the backend fails.
    pub fn disc(&mut self, centre: (f64, f64), radius: f64, colour: Colour) -> Result<()> {
        let centre = self.at(centre);
        let style = ShapeStyle { filled: true, ..self.style(colour, 1.0, 1.0) };
        let radius = (radius * self.unit).round() as u32;
        self.backend.draw_circle(centre, radius, &style, true).map_err(failed)
    }

    /// Writes a label with its baseline at `point`; `upwards` rotates it by 90° to read from below.
    ///
    /// # Errors
    /// When the backend fails.
    pub fn label(
        &mut self,
        label: &str,
        point: (f64, f64),
        size: f64,
        anchor: Anchor,
        upwards: bool,
        colour: Colour,
    ) -> Result<()> {
        let width = text::width(label, size);
        let start = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -width / 2.0,
            Anchor::End => -width,
        };
        for (left, run) in text::placed(label, size) {
            let (along, above) = (start + left, run.raise * size);
            let at = if upwards { (point.0 - above, point.1 - along) } else { (point.0 + along, point.1 - above) };
            self.run(&run, at, size * run.scale, upwards, colour)?;
        }
        Ok(())
    }

    /// Writes a label as [`label`](Canvas::label) does, with an edge of paper, so that it is legible over lines.
    ///
    /// # Errors
    /// When the backend fails.
    pub fn label_over(
        &mut self,
        label: &str,
        point: (f64, f64),
        size: f64,
        anchor: Anchor,
        upwards: bool,
        colour: Colour,
    ) -> Result<()> {
        for i in 0..8 {
            let (sin, cos) = (std::f64::consts::FRAC_PI_4 * f64::from(i)).sin_cos();
            let at = (point.0 + CASING * cos, point.1 + CASING * sin);
            self.label(label, at, size, anchor, upwards, PAPER)?;
        }
        self.label(label, point, size, anchor, upwards, colour)
    }

    /// Writes one run with the left end of its baseline at `point`. plotters places text by its top:
    /// 0.76 em above the baseline in SVG, half the line height in bitmaps (see its ab_glyph backend). Both
    /// are corrected here so that the two agree.
    fn run(&mut self, run: &text::Run, point: (f64, f64), em: f64, upwards: bool, colour: Colour) -> Result<()> {
        let (size, top) = match self.kind {
            // plotters' SVG backend divides the size by 1.24.
            Kind::Svg => (em * 1.24, 0.76 * em),
            Kind::Bitmap => (em * LINE_PER_EM, em * LINE_PER_EM / 2.0),
        };
        let at = match upwards {
            true => (point.0 - top, point.1),
            false => (point.0, point.1 - top),
        };
        let style = if run.italic { FontStyle::Italic } else { FontStyle::Normal };
        let transform = if upwards { FontTransform::Rotate270 } else { FontTransform::None };
        let colour = RGBColor(colour.0, colour.1, colour.2);
        let font = FontDesc::new(FontFamily::Name(FAMILY), size * self.unit, style);
        let style = TextStyle::from(font.transform(transform)).color(&colour).pos(Pos::new(HPos::Left, VPos::Top));
        if self.kind == Kind::Bitmap {
            return self.glyphs(run, at, em, upwards, &style);
        }
        let at = self.at(at);
        // SVG drops spaces at the ends of a text, but not non-breaking ones.
        let kept = |part: &str| "\u{a0}".repeat(part.len());
        let (bare, all) = (run.text.trim_matches(' '), &run.text);
        let before = all.len() - all.trim_start_matches(' ').len();
        let after = all.len() - before - bare.len();
        let text = format!("{}{bare}{}", kept(&all[..before]), kept(&all[all.len() - after..]));
        self.backend.draw_text(&text, &style, at).map_err(failed)
    }

    /// Writes a run glyph by glyph. plotters drops the left bearing of a glyph and rounds its place to a
    /// pixel within the text; both show as uneven spacing.
    fn glyphs(&mut self, run: &text::Run, point: (f64, f64), em: f64, upwards: bool, style: &TextStyle) -> Result<()> {
        for (origin, c) in text::glyphs(run) {
            let along = (origin + text::bearing(run.italic, c)) * em;
            let at = match upwards {
                true => self.at((point.0, point.1 - along)),
                false => self.at((point.0 + along, point.1)),
            };
            let glyph = c.encode_utf8(&mut [0; 4]).to_string();
            self.backend.draw_text(&glyph, style, at).map_err(failed)?;
        }
        Ok(())
    }

    /// Completes the drawing.
    ///
    /// # Errors
    /// When the backend fails.
    pub fn finish(mut self) -> Result<()> {
        self.backend.present().map_err(failed)
    }

    fn style(&self, (r, g, b): Colour, opacity: f64, width: f64) -> ShapeStyle {
        let width = (width * self.unit).round().max(1.0) as u32;
        ShapeStyle { color: RGBColor(r, g, b).mix(opacity), filled: false, stroke_width: width }
    }
}

fn failed(e: impl std::fmt::Display) -> Error {
    Error::unwritable("the picture", e)
}

/// Cuts a polyline into dashes, by the lengths of dashes and gaps in turn.
fn split_dashes(points: &[(f64, f64)], pattern: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let mut dashes = vec![];
    let mut lengths = pattern.iter().copied().cycle();
    let mut next = || lengths.next().unwrap_or(f64::INFINITY);
    let (mut on, mut left, mut current) = (true, next(), vec![]);
    for pair in points.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let length = (x1 - x0).hypot(y1 - y0);
        let mut done = 0.0;
        if on && current.is_empty() {
            current.push(pair[0]);
        }
        while length - done > left {
            done += left;
            let t = done / length;
            let cut = (x0 + t * (x1 - x0), y0 + t * (y1 - y0));
            if on {
                current.push(cut);
                dashes.push(std::mem::take(&mut current));
            } else {
                current = vec![cut];
            }
            on = !on;
            left = next();
        }
        left -= length - done;
        if on {
            current.push(pair[1]);
        }
    }
    if on && current.len() > 1 {
        dashes.push(current);
    }
    dashes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_cover_their_share_and_turn_corners() {
        let dashes = split_dashes(&[(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)], &[3.0, 1.0]);
        let length =
            |d: &Vec<(f64, f64)>| -> f64 { d.windows(2).map(|p| (p[1].0 - p[0].0).hypot(p[1].1 - p[0].1)).sum() };
        assert_eq!(dashes.len(), 5);
        assert!(dashes.iter().all(|d| (length(d) - 3.0).abs() < 1e-12));
        assert_eq!(dashes[2], vec![(8.0, 0.0), (10.0, 0.0), (10.0, 1.0)]);
    }
}
