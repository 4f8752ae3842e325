//! Drawing surface: the elements of an SVG document.

use super::clip::Place;
use super::style::{CASING, Colour, PAPER};
use super::text::{self, Run};
use std::collections::HashMap;
use std::fmt::Write;

/// Font family of every label; the bundled font is found under its first name.
const FAMILY: &str = "Liberation Sans, Arial, Helvetica, sans-serif";

/// End of a line's element in a page.
const LINE_END: &str = "\"/>\n";

/// Alignment of a label at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing surface; lengths are points, y grows downwards.
#[derive(Default)]
pub struct Canvas {
    elements: String,
    /// Flag: the picture stands in a page, whose style may change its colours, and is written shortly.
    in_page: bool,
    /// Attributes of the last element, if it is a line that the next one of the same attributes may join.
    joinable: Option<String>,
}

/// A disc at a moment of a film.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    pub centre: Place,
    /// Its radius (pt).
    pub radius: f64,
    /// Its opacity, in 0..=1.
    pub opacity: f64,
}

/// Rectangle of one colour: its corners, the upper left one first.
pub type Cell = (Place, Place, Colour);

impl Canvas {
    /// Creates the surface of a picture inside a page. What lies outside [`fixed`](Canvas::fixed) is a child of the
    /// picture's root, so that a style finds its colours; lines and cells of one colour are joined.
    pub fn in_page() -> Self {
        Canvas { in_page: true, ..Canvas::default() }
    }

    fn add(&mut self, element: std::fmt::Arguments) {
        self.joinable = None;
        // Writing to a string does not fail.
        let _ = writeln!(self.elements, "{element}");
    }

    /// Draws marks whose colours no page changes, such as those over a heat map.
    pub fn fixed(&mut self, marks: impl FnOnce(&mut Canvas)) {
        if !self.in_page {
            return marks(self);
        }
        self.add(format_args!("<g>"));
        marks(self);
        self.add(format_args!("</g>"));
    }

    /// Draws a polyline of this `width` (pt).
    pub fn line(&mut self, points: &[Place], width: f64, colour: Colour) {
        self.dashes(points, &[], width, colour);
    }

    /// Draws a dashed polyline; `pattern` holds the lengths of dashes and gaps in turn (pt), nothing for a solid line.
    pub fn dashes(&mut self, points: &[Place], pattern: &[f64], width: f64, colour: Colour) {
        if points.len() < 2 {
            return;
        }
        let lengths: Vec<String> = pattern.iter().map(|length| number(*length)).collect();
        let dashed = match lengths.is_empty() {
            true => String::new(),
            false => format!(" stroke-dasharray=\"{}\"", lengths.join(" ")),
        };
        let (d, stroke, width) = (path(points), hex(colour), number(width));
        let attributes = format!("fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{width}\"{dashed}");
        if !self.in_page {
            return self.add(format_args!("<path d=\"{d}\" {attributes}/>"));
        }
        if self.joinable.as_ref() == Some(&attributes) {
            self.elements.truncate(self.elements.len() - LINE_END.len());
            self.elements += &(d + LINE_END);
        } else {
            self.add(format_args!("<path {attributes} d=\"{d}{}", LINE_END.trim_end()));
            self.joinable = Some(attributes);
        }
    }

    /// Fills a polygon; `opacity` is in 0..=1.
    pub fn fill(&mut self, points: &[Place], colour: Colour, opacity: f64) {
        let opaque = if opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() };
        self.add(format_args!("<path d=\"{}Z\" fill=\"{}\"{opaque}/>", path(points), hex(colour)));
    }

    /// Fills the rectangle between two corners, `a` the upper left one.
    pub fn rectangle(&mut self, a: Place, b: Place, colour: Colour) {
        let ([x, y, width, height], fill) = ([a.0, a.1, b.0 - a.0, b.1 - a.1].map(number), hex(colour));
        self.add(format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>"));
    }

    /// Fills the cells of a map, which may overlap a little.
    pub fn cells(&mut self, cells: &[Cell]) {
        if !self.in_page {
            cells.iter().for_each(|(a, b, colour)| self.rectangle(*a, *b, *colour));
            return;
        }
        let mut places: HashMap<Colour, usize> = HashMap::new();
        let mut paths: Vec<(Colour, String)> = vec![];
        for (a, b, colour) in cells {
            let place = *places.entry(*colour).or_insert(paths.len());
            if place == paths.len() {
                paths.push((*colour, String::new()));
            }
            let [x, y, width, height] = [a.0, a.1, b.0 - a.0, b.1 - a.1].map(number);
            paths[place].1 += &format!("M{x} {y}h{width}v{height}h-{width}z");
        }
        for (colour, d) in paths {
            self.add(format_args!("<path fill=\"{}\" d=\"{d}\"/>", hex(colour)));
        }
    }

    /// Fills a disc of this `radius` (pt).
    pub fn disc(&mut self, centre: Place, radius: f64, colour: Colour) {
        let [x, y, r] = [centre.0, centre.1, radius].map(number);
        self.add(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"{}\"/>", hex(colour)));
    }

    /// Fills a disc that moves from moment to moment, evenly over this number of seconds, and begins again.
    pub fn moving_disc(&mut self, moments: &[Moment], seconds: f64, colour: Colour) {
        let each = |value: fn(&Moment) -> f64| moments.iter().map(|m| number(value(m))).collect::<Vec<_>>();
        let (mut attributes, mut changes) = (String::new(), String::new());
        for (name, values) in [
            ("cx", each(|moment| moment.centre.0)),
            ("cy", each(|moment| moment.centre.1)),
            ("r", each(|moment| moment.radius)),
            ("fill-opacity", each(|moment| moment.opacity)),
        ] {
            let Some(start) = values.first() else { return };
            attributes += &format!(" {name}=\"{start}\"");
            if values.iter().any(|value| value != start) {
                let values = values.join(";");
                changes += &format!(
                    "<animate attributeName=\"{name}\" dur=\"{seconds}s\" repeatCount=\"indefinite\" values=\"{values}\"/>"
                );
            }
        }
        self.add(format_args!("<circle{attributes} fill=\"{}\">{changes}</circle>", hex(colour)));
    }

    /// Writes a label with its baseline at `point`; `upwards` rotates it by 90° to read from below.
    pub fn label(&mut self, label: &str, point: Place, size: f64, anchor: Anchor, upwards: bool, colour: Colour) {
        self.runs(label, point, size, anchor, upwards, &format!("fill=\"{}\"", hex(colour)));
    }

    /// Writes a label as [`label`](Canvas::label) does, with an edge of paper, so that it is legible over lines.
    pub fn label_over(&mut self, label: &str, point: Place, size: f64, anchor: Anchor, upwards: bool, colour: Colour) {
        let (paper, width) = (hex(PAPER), number(2.0 * CASING));
        let edge = format!("fill=\"{paper}\" stroke=\"{paper}\" stroke-width=\"{width}\"");
        self.runs(label, point, size, anchor, upwards, &edge);
        self.label(label, point, size, anchor, upwards, colour);
    }

    fn runs(&mut self, label: &str, point: Place, size: f64, anchor: Anchor, upwards: bool, paint: &str) {
        if self.in_page {
            return self.flowing(label, point, size, anchor, upwards, paint);
        }
        let start = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -text::width(label, size) / 2.0,
            Anchor::End => -text::width(label, size),
        };
        for (left, run) in text::placed(label, size) {
            let (along, above) = (start + left, run.raise * size);
            let place = if upwards { (point.0 - above, point.1 - along) } else { (point.0 + along, point.1 - above) };
            self.run(&run, place, size * run.scale, upwards, paint);
        }
    }

    /// Writes a label as one text, whose runs follow each other at the widths of whichever font the reader has.
    fn flowing(&mut self, label: &str, point: Place, size: f64, anchor: Anchor, upwards: bool, paint: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (mut words, mut raised) = (String::new(), 0.0);
        for run in text::runs(label) {
            let mut attributes = String::from(if run.italic { " font-style=\"italic\"" } else { "" });
            if run.scale != 1.0 {
                attributes += &format!(" font-size=\"{}\"", number(size * run.scale));
            }
            if run.raise != raised {
                attributes += &format!(" dy=\"{}\"", number((raised - run.raise) * size));
                raised = run.raise;
            }
            let run = escaped(&run.text);
            words += &if attributes.is_empty() { run } else { format!("<tspan{attributes}>{run}</tspan>") };
        }
        self.text(point, size, anchor, upwards, paint, &words);
    }

    /// Writes the element of a text, with its own attributes before its paint.
    fn text(&mut self, point: Place, size: f64, attributes: &str, upwards: bool, paint: &str, words: &str) {
        let [x, y, size] = [point.0, point.1, size].map(number);
        let turned = if upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
        self.add(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{attributes} {paint}{turned}>{words}</text>"
        ));
    }

    /// Writes one run with the left end of its baseline at `point`.
    fn run(&mut self, run: &Run, point: Place, size: f64, upwards: bool, paint: &str) {
        let italic = if run.italic { " font-style=\"italic\"" } else { "" };
        // SVG drops spaces at the ends of a text, but not non-breaking ones.
        let bare = run.text.trim_matches(' ');
        let before = run.text.len() - run.text.trim_start_matches(' ').len();
        let after = run.text.len() - before - bare.len();
        let [before, after] = [before, after].map(|spaces| "\u{a0}".repeat(spaces));
        self.text(point, size, italic, upwards, paint, &format!("{before}{}{after}", escaped(bare)));
    }

    /// Returns the document at its size on paper (pt), with a white background and a description for screen readers.
    pub fn document(&self, (width, height): (f64, f64), title: &str, description: &str) -> String {
        let ([width, height], [title, description]) = ([width, height].map(number), [title, description].map(escaped));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}pt\" height=\"{height}pt\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FAMILY}\" stroke-linejoin=\"round\">\n\
             <title>{title}</title>\n<desc>{description}</desc>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{}</svg>\n",
            self.elements
        )
    }
}

/// A length to 1/100 pt, 4 µm on paper, without zeros at its end.
fn number(x: f64) -> String {
    // The sum turns -0 into 0.
    ((x * 100.0).round() / 100.0 + 0.0).to_string()
}

fn path(points: &[Place]) -> String {
    let pairs: Vec<String> = points.iter().map(|(x, y)| format!("{} {}", number(*x), number(*y))).collect();
    // The pairs after the first are lines.
    format!("M{}", pairs.join(" "))
}

fn hex((r, g, b): Colour) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_short_and_labels_keep_their_spaces() {
        assert_eq!([1.0, -0.001, 12.345_678, 0.3].map(number), ["1", "0", "12.35", "0.3"]);
        let mut canvas = Canvas::default();
        canvas.line(&[(0.0, 0.0), (10.0, 0.125)], 0.5, (255, 0, 16));
        canvas.label(" a < b", (1.0, 2.0), 8.0, Anchor::Start, true, PAPER);
        let path = "<path d=\"M0 0 10 0.13\" fill=\"none\" stroke=\"#ff0010\" stroke-width=\"0.5\"/>";
        let text = "<text x=\"1\" y=\"2\" font-size=\"8\" fill=\"#ffffff\" transform=\"rotate(-90 1 2)\">\u{a0}a &lt; b</text>";
        assert_eq!(canvas.elements, format!("{path}\n{text}\n"));
    }
    #[test]
    fn a_page_has_the_same_marks_in_fewer_elements() {
        let (ink, red) = ((30, 30, 30), (255, 0, 16));
        let draw = |canvas: &mut Canvas| {
            canvas.fixed(|canvas| {
                let cell = |i: usize| ((i as f64, 0.0), (i as f64 + 1.5, 2.0), [ink, red][i % 2]);
                canvas.cells(&[0, 1, 2].map(cell));
            });
            canvas.line(&[(0.0, 0.0), (1.0, 0.0)], 0.5, ink);
            canvas.line(&[(2.0, 0.0), (3.0, 0.0)], 0.5, ink);
            canvas.line(&[(4.0, 0.0), (5.0, 0.0)], 0.5, red);
            canvas.label("10^{2} *x*", (6.0, 7.0), 10.0, Anchor::End, false, ink);
        };
        let (mut paper, mut page) = (Canvas::default(), Canvas::in_page());
        draw(&mut paper);
        draw(&mut page);
        assert_eq!(paper.elements.matches("<rect x=").count(), 3);
        assert_eq!(paper.elements.matches("<path d=").count(), 3);
        let cells = "<g>\n<path fill=\"#1e1e1e\" d=\"M0 0h1.5v2h-1.5zM2 0h1.5v2h-1.5z\"/>\n\
                     <path fill=\"#ff0010\" d=\"M1 0h1.5v2h-1.5z\"/>\n</g>\n";
        let lines = "<path fill=\"none\" stroke=\"#1e1e1e\" stroke-width=\"0.5\" d=\"M0 0 1 0M2 0 3 0\"/>\n\
                     <path fill=\"none\" stroke=\"#ff0010\" stroke-width=\"0.5\" d=\"M4 0 5 0\"/>\n";
        let label = "<text x=\"6\" y=\"7\" font-size=\"10\" text-anchor=\"end\" fill=\"#1e1e1e\">\
                     10<tspan font-size=\"7\" dy=\"-3.8\">2</tspan><tspan dy=\"3.8\"> </tspan>\
                     <tspan font-style=\"italic\">x</tspan></text>\n";
        assert_eq!(page.elements, format!("{cells}{lines}{label}"));
    }
}
