//! Layout of a figure on paper, in points.

use super::axis::Ruler;
use super::field::{Arrows, Contour, Heat, Palette, edges};
use super::model::{Axis, Figure, Marker, Panel, Scale, Series, Stroke, Width};
use super::style::{ASPECT, CM, NUMBERS, TEXT, TICK};
use super::text;
use attnlab_core::error::{Error, Result};

/// Gap between text and its object (pt).
pub const GAP: f64 = 3.0;
/// Width of a colour bar (pt).
pub const BAR: f64 = 8.0;
/// Length of the sample of a line in the legend (pt).
pub const SAMPLE: f64 = 20.0;
/// Height of a row of the legend (pt).
pub const ROW: f64 = 1.45 * TEXT;
/// Margin around the figure (pt).
const MARGIN: f64 = 3.0;
/// Gap between panels, and between entries of the legend (pt).
const BETWEEN: f64 = 12.0;

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Left edge.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Lower edge.
    pub bottom: f64,
}

/// A panel in its place.
pub struct Placed<'a> {
    /// The panel.
    pub panel: &'a Panel,
    /// "a", "b", ...; empty for a single panel.
    pub letter: String,
    /// The plotting area.
    pub frame: Frame,
    /// Horizontal axis.
    pub x: Ruler,
    /// Vertical axis.
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

/// An entry of the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Text of the entry.
    pub label: String,
    /// Index into the palette of `style`; None for a reference line.
    pub colour: Option<usize>,
    /// The line.
    pub stroke: Stroke,
    /// The marker.
    pub marker: Marker,
    /// Flag: the series has a band.
    pub band: bool,
    /// Palette of a hatched sample; None for other entries.
    pub hatching: Option<Palette>,
    /// Flag: the sample is an arrow.
    pub arrow: bool,
    /// Left end and middle height on the paper.
    pub at: (f64, f64),
}

/// A figure with the positions of its panels and its legend.
pub struct Layout<'a> {
    /// Width and height.
    pub size: (f64, f64),
    /// The panels.
    pub panels: Vec<Placed<'a>>,
    /// The legend.
    pub legend: Vec<Entry>,
}

/// Computes the layout of a figure.
///
/// # Errors
/// When a panel has nothing to draw.
pub fn layout(figure: &Figure) -> Result<Layout<'_>> {
    if figure.panels.is_empty() {
        return Err(Error::undefined(format!(
            "figure {} has no panels",
            figure.name
        )));
    }
    let width = match figure.width {
        Width::Column => 8.5 * CM,
        Width::Page => 17.5 * CM,
    };
    let columns = figure.columns.clamp(1, figure.panels.len());
    let rulers = figure
        .panels
        .iter()
        .map(rulers)
        .collect::<Result<Vec<_>>>()?;
    // One pair of margins for all panels, so that frames line up.
    let numbers = rulers.iter().flat_map(|(_, y, _)| &y.major);
    let numbers = numbers
        .map(|(_, n)| text::width(n, NUMBERS))
        .fold(0.0, f64::max);
    // A rotated label may carry a subscript, which reaches towards the numbers.
    let y_label = TICK + GAP + numbers + 1.6 * GAP;
    let left = y_label + TEXT;
    let widest_bar = rulers.iter().map(|(_, _, bar)| bar_width(bar));
    let widest_bar = widest_bar.fold(GAP, f64::max);
    // One bar per row where all panels of a row have the same; otherwise every panel has space for its own.
    let shared = figure.panels.chunks(columns).all(one_bar);
    let right = if shared { GAP } else { widest_bar };
    let last = widest_bar - right;
    let cell = (width - 2.0 * MARGIN - last - BETWEEN * (columns - 1) as f64) / columns as f64;
    let wide = cell - left - right;
    let high = ASPECT * wide;
    let above = 1.6 * TEXT;
    let below = TICK + GAP + NUMBERS + GAP + 1.2 * TEXT;

    let row_of = |i: usize| i / columns * columns..(i / columns + 1) * columns;
    let past: Vec<(bool, bool)> = rulers.iter().zip(&figure.panels).map(past_ends).collect();
    let mut panels = vec![];
    for (i, ((x, y, bar), panel)) in rulers.into_iter().zip(&figure.panels).enumerate() {
        let (row, column) = (i / columns, i % columns);
        let frame_left = MARGIN + column as f64 * (cell + BETWEEN) + left;
        let top = MARGIN + above + row as f64 * (above + high + below + 0.6 * TEXT);
        let frame = Frame {
            left: frame_left,
            top,
            right: frame_left + wide,
            bottom: top + high,
        };
        let letter = match figure.panels.len() {
            1 => String::new(),
            _ => char::from(b'a' + (i % 26) as u8).to_string(),
        };
        panels.push(Placed {
            panel,
            letter,
            frame,
            x,
            y,
            bar,
            bar_drawn: !shared || column + 1 == columns || i + 1 == figure.panels.len(),
            beyond: past
                .iter()
                .enumerate()
                .filter(|(j, _)| *j == i || shared && row_of(i).contains(j))
                .fold((false, false), |a, (_, b)| (a.0 || b.0, a.1 || b.1)),
            y_label,
        });
    }
    let lowest = panels.iter().map(|p| p.frame.bottom).fold(0.0, f64::max) + below;
    let (legend, legend_high) = legend(figure, width, lowest + 0.3 * TEXT);
    Ok(Layout {
        size: (width, lowest + legend_high + MARGIN),
        panels,
        legend,
    })
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
    let Some((bar, heat)) = bar.as_ref().zip(panel.heat.as_ref()) else {
        return (false, false);
    };
    let places = || heat.cells.iter().flatten().map(|c| bar.place(c.value));
    // A hundred-thousandth is rounding, not a value beyond the end.
    let slack = 1e-5;
    (
        places().any(|t| t < -slack),
        places().any(|t| t > 1.0 + slack),
    )
}

fn bar_width(bar: &Option<Ruler>) -> f64 {
    let Some(bar) = bar else { return GAP };
    let numbers = bar
        .major
        .iter()
        .map(|(_, n)| text::width(n, NUMBERS))
        .fold(0.0, f64::max);
    2.0 * GAP + BAR + TICK + GAP + numbers + GAP + TEXT
}

/// Computes the axes of a panel over all of its contents.
fn rulers(panel: &Panel) -> Result<(Ruler, Ruler, Option<Ruler>)> {
    let points = || panel.series.iter().flat_map(|s| &s.points);
    let rules = |vertical: bool| {
        panel
            .rules
            .iter()
            .filter(move |r| r.vertical == vertical)
            .map(|r| r.at)
    };
    let mut x_axis = panel.x.clone();
    let mut y_axis = panel.y.clone();
    if let Some(heat) = &panel.heat {
        fits(heat, panel)?;
        // Cells reach to the frame.
        x_axis.range = x_axis.range.or(ends(&edges(&heat.x, panel.x.scale)));
        y_axis.range = y_axis.range.or(ends(&edges(&heat.y, panel.y.scale)));
    }
    for contour in &panel.contours {
        grid_fits((&contour.x, &contour.y), &contour.values, panel)?;
    }
    let tips = || panel.arrows.iter().flat_map(|a| &a.shafts);
    let tips = || tips().flat_map(|(from, to)| [*from, *to]);
    let grids = |of: fn(&Contour) -> &Vec<f64>| panel.contours.iter().flat_map(of).copied();
    let xs = points().map(|p| p.x).chain(tips().map(|t| t.0));
    let x = Ruler::new(&x_axis, xs.chain(grids(|c| &c.x)).chain(rules(true)))?;
    let with_interval = points().flat_map(|p| {
        let (low, high) = p.interval.unwrap_or((p.y, p.y));
        [p.y, low, high]
    });
    let ys = with_interval.chain(tips().map(|t| t.1));
    let y = Ruler::new(&y_axis, ys.chain(grids(|c| &c.y)).chain(rules(false)))?;
    let bar = panel.heat.as_ref().map(heat_ruler).transpose()?;
    Ok((x, y, bar))
}

/// Refuses a grid whose rows and columns are not those of its axes.
fn grid_fits<T>((x, y): (&[f64], &[f64]), values: &[Vec<T>], panel: &Panel) -> Result<()> {
    if values.len() == y.len() && values.iter().all(|row| row.len() == x.len()) {
        return Ok(());
    }
    let found = (values.len(), values.first().map_or(0, Vec::len));
    let what = format!(
        "values over the plane of panel '{}'",
        text::plain(&panel.title)
    );
    Err(Error::shape(
        what,
        found,
        format!("({}, {})", y.len(), x.len()),
    ))
}

fn fits(heat: &Heat, panel: &Panel) -> Result<()> {
    grid_fits((&heat.x, &heat.y), &heat.cells, panel)
}

fn ends(edges: &[f64]) -> Option<(f64, f64)> {
    Some((*edges.first()?, *edges.last()?))
}

fn heat_ruler(heat: &Heat) -> Result<Ruler> {
    let mut axis = heat.bar.clone();
    if axis.range.is_none() {
        let log = axis.scale == Scale::Log;
        let shown = heat.cells.iter().flatten().map(|c| c.value);
        let shown = shown.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let ends = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
            (l.min(v), h.max(v))
        });
        if ends.0 < ends.1 {
            axis.range = Some(ends);
        }
    }
    Ruler::new(&axis, heat.cells.iter().flatten().map(|c| c.value))
}

/// Arranges the entries of the legend in centred rows below the panels; returns them and their height (pt).
fn legend(figure: &Figure, width: f64, top: f64) -> (Vec<Entry>, f64) {
    let mut entries: Vec<Entry> = vec![];
    for panel in &figure.panels {
        let series = panel.series.iter().map(entry_of);
        let contours = panel.contours.iter().map(contour_entry);
        let arrows = panel.arrows.iter().map(arrows_entry);
        let rules = panel.rules.iter().map(|rule| Entry {
            stroke: Stroke::Dotted,
            colour: None,
            ..plain_entry(&rule.label)
        });
        let hatched = |heat: &&Heat| heat.cells.iter().flatten().any(|c| c.hatched);
        let hatching = panel.heat.iter().filter(hatched).map(|heat| Entry {
            hatching: Some(heat.palette),
            ..plain_entry(&heat.hatching)
        });
        let all = series
            .chain(contours)
            .chain(arrows)
            .chain(rules)
            .chain(hatching);
        for entry in all.filter(|e| !e.label.is_empty()) {
            match entries.iter_mut().find(|e| e.label == entry.label) {
                Some(known) => known.band |= entry.band,
                None => entries.push(entry),
            }
        }
    }
    if entries.is_empty() {
        return (entries, 0.0);
    }
    // Measured series come first, then the predictions that they are compared with.
    entries.sort_by_key(|e| e.marker == Marker::None);
    let wide: Vec<f64> = entries
        .iter()
        .map(|e| SAMPLE + GAP + text::width(&e.label, TEXT))
        .collect();
    let columns = legend_columns(&wide, width - 2.0 * MARGIN);
    let total = columns.iter().sum::<f64>() + BETWEEN * (columns.len() - 1) as f64;
    for (i, entry) in entries.iter_mut().enumerate() {
        let (row, column) = (i / columns.len(), i % columns.len());
        let before = columns[..column].iter().sum::<f64>() + BETWEEN * column as f64;
        entry.at = (
            (width - total) / 2.0 + before,
            top + ROW * (row as f64 + 0.5),
        );
    }
    let rows = entries.len().div_ceil(columns.len());
    (entries, rows as f64 * ROW)
}

/// Computes the widths of the columns of the legend: as many as fit into the width `room` (pt), with rows
/// of even length.
fn legend_columns(wide: &[f64], room: f64) -> Vec<f64> {
    let of = |columns: usize| -> Vec<f64> {
        let column = |c: usize| {
            wide.iter()
                .skip(c)
                .step_by(columns)
                .copied()
                .fold(0.0, f64::max)
        };
        (0..columns).map(column).collect()
    };
    let fits =
        |columns: &usize| of(*columns).iter().sum::<f64>() + BETWEEN * (columns - 1) as f64 <= room;
    let most = (1..=wide.len()).rev().find(fits).unwrap_or(1);
    let rows = wide.len().div_ceil(most);
    let even = wide.len().div_ceil(rows);
    of(if fits(&even) { even } else { most })
}

/// Returns an entry of text alone.
fn plain_entry(label: &str) -> Entry {
    Entry {
        label: label.to_string(),
        colour: None,
        stroke: Stroke::None,
        marker: Marker::None,
        band: false,
        hatching: None,
        arrow: false,
        at: (0.0, 0.0),
    }
}

fn entry_of(series: &Series) -> Entry {
    Entry {
        colour: Some(series.colour),
        stroke: series.stroke,
        marker: series.marker,
        band: series.band && series.points.iter().any(|p| p.interval.is_some()),
        ..plain_entry(&series.label)
    }
}

fn contour_entry(contour: &Contour) -> Entry {
    Entry {
        colour: Some(contour.colour),
        stroke: contour.stroke,
        ..plain_entry(&contour.label)
    }
}

fn arrows_entry(arrows: &Arrows) -> Entry {
    Entry {
        colour: Some(arrows.colour),
        arrow: true,
        ..plain_entry(&arrows.label)
    }
}
