//! Layout of a figure on paper, in points.

mod legend;

pub use legend::Entry;

use super::axis::{self, Ruler};
use super::field::{Contour, Heat, Palette, edges};
use super::model::{Axis, Figure, Panel, Width};
use super::style::{ASPECT, CM, NUMBERS, TEXT, TICK};
use super::text;
use attnlab_core::error::{Error, Result, require_shape};
use itertools::Itertools;

/// Gap between text and its object (pt).
pub const GAP: f64 = 3.0;
/// Width of a colour bar (pt).
pub const BAR: f64 = 8.0;
/// Length of the sample of a line in the legend (pt).
pub const SAMPLE: f64 = 20.0;
/// Height of a row of the legend (pt).
pub const ROW: f64 = 1.45 * TEXT;
/// Height of a line of the note (pt).
const NOTE_ROW: f64 = 1.3 * NUMBERS;
/// Space above the note (pt).
const NOTE_GAP: f64 = 0.5 * NUMBERS;
/// Margin around the figure (pt).
const MARGIN: f64 = 3.0;
/// Gap between panels, and between entries of the legend (pt).
const BETWEEN: f64 = 12.0;

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

/// A panel in its place.
pub struct Placed<'a> {
    pub panel: &'a Panel,
    /// "a", "b", ...; empty for a single panel.
    pub letter: String,
    /// The plotting area.
    pub frame: Frame,
    pub x: Ruler,
    pub y: Ruler,
    /// Axis of the heat map's colours, if the panel has a heat map.
    pub bar: Option<Ruler>,
    /// Flag: the colour bar is drawn beside this panel.
    pub bar_drawn: bool,
    /// Flags: the maps of this bar hold values below its lower and above its upper end.
    pub beyond: (bool, bool),
    /// Distance from the frame to the baseline of the vertical axis' label.
    pub y_label: f64,
}

/// A figure with the positions of its panels and its legend.
pub struct Layout<'a> {
    /// Width and height.
    pub size: (f64, f64),
    pub panels: Vec<Placed<'a>>,
    /// The legend: entries of single panels under these, then the common ones.
    pub legend: Vec<Entry>,
    /// Lines of the note, each with the left end of its baseline.
    pub note: Vec<(String, (f64, f64))>,
}

/// Computes the layout of a figure.
pub fn layout(figure: &Figure) -> Result<Layout<'_>> {
    if figure.panels.is_empty() {
        return Err(Error::undefined(format!("figure {} has no panels", figure.name)));
    }
    let width = match figure.width {
        Width::Column => 8.5 * CM,
        Width::Page => 17.5 * CM,
    };
    let columns = figure.columns.clamp(1, figure.panels.len());
    let rulers = figure.panels.iter().map(rulers).collect::<Result<Vec<_>>>()?;
    // One pair of margins for all panels, so that frames line up.
    let numbers = rulers.iter().map(|(_, y, _)| y.numbers_width()).fold(0.0, f64::max);
    // A rotated label may carry a subscript, which reaches towards the numbers.
    let y_label = TICK + GAP + numbers + 1.6 * GAP;
    let left = y_label + TEXT;
    let widest_bar = rulers.iter().map(|(_, _, bar)| bar_width(bar)).fold(GAP, f64::max);
    // One bar per row where all panels of a row have the same; otherwise every panel has space for its own.
    let shared = figure.panels.chunks(columns).all(one_bar);
    let right = if shared { GAP } else { widest_bar };
    let cell = (width - 2.0 * MARGIN - (widest_bar - right) - BETWEEN * (columns - 1) as f64) / columns as f64;
    let wide = cell - left - right;
    let high = if figure.panels.iter().any(|panel| panel.square) { wide } else { ASPECT * wide };
    let above = 1.6 * TEXT;
    let below = TICK + GAP + NUMBERS + GAP + 1.2 * TEXT;

    let mut legends = legend::Legends::new(figure, cell);
    let row_of = |i: usize| i / columns * columns..(i / columns + 1) * columns;
    let past: Vec<(bool, bool)> = rulers.iter().zip(&figure.panels).map(past_ends).collect();
    let (mut panels, mut top) = (vec![], MARGIN + above);
    for (i, ((x, y, bar), panel)) in rulers.into_iter().zip(&figure.panels).enumerate() {
        let column = i % columns;
        if i > 0 && column == 0 {
            top += above + high + below + legends.height(row_of(i - 1)) + 0.6 * TEXT;
        }
        let frame_left = MARGIN + column as f64 * (cell + BETWEEN) + left;
        let frame = Frame { left: frame_left, top, right: frame_left + wide, bottom: top + high };
        let letter = match figure.panels.len() {
            1 => String::new(),
            _ => char::from(b'a' + (i % 26) as u8).to_string(),
        };
        let bar_drawn = !shared || column + 1 == columns || i + 1 == figure.panels.len();
        let of_bar = past.iter().enumerate().filter(|(j, _)| *j == i || shared && row_of(i).contains(j));
        let beyond = of_bar.fold((false, false), |a, (_, b)| (a.0 || b.0, a.1 || b.1));
        panels.push(Placed { panel, letter, frame, x, y, bar, bar_drawn, beyond, y_label });
    }
    for (i, placed) in panels.iter().enumerate() {
        let under = placed.frame.bottom + below;
        legends.place_own(i, (placed.frame, placed.frame.left - left), under);
    }
    let lowest = panels.iter().map(|p| p.frame.bottom).fold(0.0, f64::max) + below;
    let lowest = lowest + legends.height(row_of(figure.panels.len() - 1));
    let lowest = lowest + legends.place_common(width, lowest + 0.3 * TEXT);
    let note = note(figure, width, lowest);
    let note_high = if note.is_empty() { 0.0 } else { NOTE_GAP + note.len() as f64 * NOTE_ROW };
    Ok(Layout { size: (width, lowest + note_high + MARGIN), panels, legend: legends.entries(), note })
}

/// Breaks the notes of the panels, each once, into lines of the figure's width under `top`.
fn note(figure: &Figure, width: f64, top: f64) -> Vec<(String, (f64, f64))> {
    let notes = figure.panels.iter().map(|panel| panel.note.as_str()).filter(|note| !note.is_empty());
    let mut lines: Vec<String> = vec![];
    for word in notes.unique().join("; ").split_whitespace() {
        match lines.last_mut() {
            Some(line) if text::width(&format!("{line} {word}"), NUMBERS) <= width - 2.0 * MARGIN => {
                *line += &format!(" {word}");
            }
            _ => lines.push(word.to_string()),
        }
    }
    let placed = |(i, line): (usize, String)| (line, (MARGIN, top + NOTE_GAP + NOTE_ROW * (i as f64 + 0.9)));
    lines.into_iter().enumerate().map(placed).collect()
}

/// Returns `true` if every panel of a row has a heat map with the same bar, whose ends do not depend on
/// the panel.
fn one_bar(row: &[Panel]) -> bool {
    let key = |panel: &Panel| -> Option<(Axis, Palette)> {
        let heat = panel.heat.as_ref()?;
        heat.bar.range.map(|_| (heat.bar.clone(), heat.palette))
    };
    let first = row.first().and_then(key);
    first.is_some() && row.iter().all(|p| key(p) == first)
}

/// Returns whether a panel's map holds values below the lower and above the upper end of its bar.
fn past_ends(((_, _, bar), panel): (&(Ruler, Ruler, Option<Ruler>), &Panel)) -> (bool, bool) {
    let Some((bar, heat)) = bar.as_ref().zip(panel.heat.as_ref()) else { return (false, false) };
    let places = || heat.cells.iter().flatten().map(|c| bar.place(c.value));
    // A hundred-thousandth is rounding, not a value beyond the end.
    let slack = 1e-5;
    (places().any(|t| t < -slack), places().any(|t| t > 1.0 + slack))
}

fn bar_width(bar: &Option<Ruler>) -> f64 {
    let Some(bar) = bar else { return GAP };
    2.0 * GAP + BAR + TICK + GAP + bar.numbers_width() + GAP + TEXT
}

/// Computes the axes of a panel over all of its contents.
fn rulers(panel: &Panel) -> Result<(Ruler, Ruler, Option<Ruler>)> {
    let rules = |vertical: bool| panel.rules.iter().filter(move |r| r.vertical == vertical).map(|r| r.at);
    let (mut x_axis, mut y_axis) = (panel.x.clone(), panel.y.clone());
    if let Some(heat) = &panel.heat {
        grid_fits((&heat.x, &heat.y), &heat.cells, panel)?;
        // Cells reach to the frame.
        x_axis.range = x_axis.range.or(ends(&edges(&heat.x, panel.x.scale)));
        y_axis.range = y_axis.range.or(ends(&edges(&heat.y, panel.y.scale)));
    }
    for contour in &panel.contours {
        grid_fits((&contour.x, &contour.y), &contour.values, panel)?;
    }
    let tips = || panel.arrows.iter().flat_map(|a| &a.shafts).flat_map(|(from, to)| [*from, *to]);
    let grids = |of: fn(&Contour) -> &Vec<f64>| panel.contours.iter().flat_map(of).copied();
    let xs = panel.points().map(|p| p.x).chain(tips().map(|t| t.0));
    let x = Ruler::new(&x_axis, xs.chain(grids(|c| &c.x)).chain(rules(true)))?;
    let ys = panel.points().flat_map(|p| [p.y, p.low(), p.high()]).chain(tips().map(|t| t.1));
    let y = Ruler::new(&y_axis, ys.chain(grids(|c| &c.y)).chain(rules(false)))?;
    Ok((x, y, panel.heat.as_ref().map(heat_ruler).transpose()?))
}

/// Refuses a grid whose rows and columns are not those of its axes.
fn grid_fits<T>((x, y): (&[f64], &[f64]), values: &[Vec<T>], panel: &Panel) -> Result<()> {
    let fits = values.len() == y.len() && values.iter().all(|row| row.len() == x.len());
    let shape = (values.len(), values.first().map_or(0, Vec::len));
    let what = format!("values over the plane of panel '{}'", text::plain(&panel.title));
    require_shape(fits, what, shape, format!("({}, {})", y.len(), x.len()))
}

fn ends(edges: &[f64]) -> Option<(f64, f64)> {
    Some((*edges.first()?, *edges.last()?))
}

fn heat_ruler(heat: &Heat) -> Result<Ruler> {
    let values = || heat.cells.iter().flatten().map(|c| c.value);
    let ends = axis::shown(&heat.bar, values());
    let range = heat.bar.range.or((ends.0 < ends.1).then_some(ends));
    Ruler::new(&Axis { range, ..heat.bar.clone() }, values())
}
