//! Legends: entries that belong to one panel stand under it, the others at the bottom of the figure.

use super::super::heat;
use super::super::model::{Figure, Marker, Panel, Stroke};
use super::super::style::{Colour, TEXT};
use super::super::text;
use super::{BETWEEN, Frame, GAP, MARGIN, ROW, SAMPLE};

/// Largest number of entries of a figure that stand in one common legend wherever they belong.
const MOST_COMMON: usize = 6;

/// An entry of the legend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    pub label: String,
    /// Index into the palette of `style`; None for a reference line.
    pub colour: Option<usize>,
    pub stroke: Stroke,
    pub marker: Marker,
    /// Flag: the series has a band.
    pub band: bool,
    /// Colour of a hatched sample; None for other entries.
    pub hatching: Option<Colour>,
    /// Flag: the sample is an arrow.
    pub arrow: bool,
    /// Left end and middle height on the paper.
    pub at: (f64, f64),
}

/// Entries of a figure, arranged by the panel that they belong to.
pub struct Legends {
    /// Entries that several panels share, or all where they are few.
    common: Vec<Entry>,
    /// Entries of each panel that no other panel has.
    by_panel: Vec<Vec<Entry>>,
    /// Width of the space under a panel (pt).
    cell: f64,
}

impl Legends {
    /// Collects the entries of a figure whose panels have the space `cell` (pt) under them. An entry that is
    /// wider than that is a common one.
    pub fn new(figure: &Figure, cell: f64) -> Legends {
        let mut by_label: Vec<(Entry, Vec<usize>)> = vec![];
        for (i, panel) in figure.panels.iter().enumerate() {
            for entry in entries_of(panel).filter(|e| !e.label.is_empty()) {
                match by_label.iter_mut().find(|(e, _)| e.label == entry.label) {
                    Some((known, panels)) => {
                        known.band |= entry.band;
                        panels.push(i);
                    }
                    None => by_label.push((entry, vec![i])),
                }
            }
        }
        let few = figure.panels.len() == 1 || by_label.len() <= MOST_COMMON;
        let (mut common, mut by_panel) = (vec![], vec![vec![]; figure.panels.len()]);
        for (entry, mut panels) in by_label {
            panels.dedup();
            match panels[..] {
                [only] if !few && wide(&entry) <= cell => by_panel[only].push(entry),
                _ => common.push(entry),
            }
        }
        // Measured series come first, then the predictions that they are compared with.
        for entries in by_panel.iter_mut().chain([&mut common]) {
            entries.sort_by_key(|e| e.marker == Marker::None);
        }
        Legends { common, by_panel, cell }
    }

    /// Returns the height of the legends under these panels (pt).
    pub fn height(&self, panels: std::ops::Range<usize>) -> f64 {
        let legends = self.by_panel.iter().skip(panels.start).take(panels.len());
        let rows = legends.map(|entries| rows(entries, self.cell)).max().unwrap_or(0);
        if rows == 0 { 0.0 } else { rows as f64 * ROW + 0.3 * TEXT }
    }

    /// Places the entries of panel `i` under its frame from `top` down; `cell_left` is the left end of its
    /// space.
    pub fn place_own(&mut self, i: usize, (frame, cell_left): (Frame, f64), top: f64) {
        let entries = &mut self.by_panel[i];
        let columns = columns(entries, self.cell);
        let total = total(&columns);
        // From the left end of the frame, or further left where the entries need the space.
        let left = frame.left.min(cell_left + self.cell - total);
        arrange(entries, &columns, (left, top + 0.3 * TEXT));
    }

    /// Places the common entries in centred rows from `top` down, and returns their height (pt).
    pub fn place_common(&mut self, width: f64, top: f64) -> f64 {
        let room = width - 2.0 * MARGIN;
        let columns = columns(&self.common, room);
        arrange(&mut self.common, &columns, ((width - total(&columns)) / 2.0, top));
        rows(&self.common, room) as f64 * ROW
    }

    /// Returns all entries in their places.
    pub fn entries(self) -> Vec<Entry> {
        self.by_panel.into_iter().flatten().chain(self.common).collect()
    }
}

/// Places entries row by row in columns of these widths; `corner` is the upper left one.
fn arrange(entries: &mut [Entry], columns: &[f64], (left, top): (f64, f64)) {
    for (i, entry) in entries.iter_mut().enumerate() {
        let (row, column) = (i / columns.len(), i % columns.len());
        let before = columns[..column].iter().sum::<f64>() + BETWEEN * column as f64;
        entry.at = (left + before, top + ROW * (row as f64 + 0.5));
    }
}

fn wide(entry: &Entry) -> f64 {
    SAMPLE + GAP + text::width(&entry.label, TEXT)
}

fn columns(entries: &[Entry], room: f64) -> Vec<f64> {
    let wide: Vec<f64> = entries.iter().map(wide).collect();
    if wide.is_empty() { vec![] } else { legend_columns(&wide, room) }
}

fn total(columns: &[f64]) -> f64 {
    columns.iter().sum::<f64>() + BETWEEN * columns.len().saturating_sub(1) as f64
}

fn rows(entries: &[Entry], room: f64) -> usize {
    entries.len().div_ceil(columns(entries, room).len().max(1))
}

/// Returns the entries of one panel.
fn entries_of(panel: &Panel) -> impl Iterator<Item = Entry> {
    let text = |label: &str| Entry { label: label.to_string(), ..Entry::default() };
    let series = panel.series.iter().filter(|s| !s.unlisted).map(move |s| Entry {
        colour: Some(s.colour),
        stroke: s.stroke,
        marker: s.marker,
        band: s.band && s.points.iter().any(|p| p.interval.is_some()),
        ..text(&s.label)
    });
    let contours = panel.contours.iter();
    let contours = contours.map(move |c| Entry { colour: Some(c.colour), stroke: c.stroke, ..text(&c.label) });
    let arrows = panel.arrows.iter();
    let arrows = arrows.map(move |a| Entry { colour: Some(a.colour), arrow: true, ..text(&a.label) });
    let rules = panel.rules.iter().filter(|rule| !rule.written);
    let rules = rules.map(move |rule| Entry { stroke: Stroke::Dotted, ..text(&rule.label) });
    let hatching = panel.heat.iter().filter_map(move |heat| {
        let colour = heat::under_hatching(heat)?;
        Some(Entry { hatching: Some(colour), ..text(&heat.hatching) })
    });
    series.chain(contours).chain(arrows).chain(rules).chain(hatching)
}

/// Computes the widths of the columns of the legend: as many as fit into the width `room` (pt), with rows
/// of even length.
fn legend_columns(wide: &[f64], room: f64) -> Vec<f64> {
    let of = |columns: usize| -> Vec<f64> {
        (0..columns).map(|c| wide.iter().skip(c).step_by(columns).copied().fold(0.0, f64::max)).collect()
    };
    let fits = |columns: &usize| of(*columns).iter().sum::<f64>() + BETWEEN * (columns - 1) as f64 <= room;
    let most = (1..=wide.len()).rev().find(fits).unwrap_or(1);
    let even = wide.len().div_ceil(wide.len().div_ceil(most));
    of(if fits(&even) { even } else { most })
}

#[cfg(test)]
mod tests {
    use super::super::super::model::{Axis, Rule, Series};
    use super::super::super::point::Point;
    use super::super::layout;
    use super::*;

    fn figure(labels: &[&[&str]]) -> Figure {
        let points = || vec![Point::at(0.0, 0.0), Point::at(1.0, 1.0)];
        let panel = |labels: &&[&str]| {
            let series = labels.iter().map(|l| Series::measured(*l, 0, points()));
            Panel::new("", Axis::linear("x"), Axis::linear("y")).with_each(series)
        };
        Figure::page("f", "", labels.len(), labels.iter().map(panel).collect())
    }

    #[test]
    fn many_entries_stand_under_their_own_panels() {
        let figure = figure(&[&["a", "b", "c", "both"], &["d", "e", "f", "both"]]);
        let laid = layout(&figure).unwrap();
        assert_eq!(laid.legend.len(), 7);
        let of = |label: &str| laid.legend.iter().find(|e| e.label == label).unwrap().at;
        let middle = laid.size.0 / 2.0;
        for (label, left) in [("a", true), ("c", true), ("d", false), ("f", false)] {
            assert_eq!(of(label).0 < middle, left, "{label}");
            assert!(of("both").1 > of(label).1, "{label}");
            assert!(of(label).1 > laid.panels[0].frame.bottom);
        }
        assert!(of("both").1 < laid.size.1);
    }

    #[test]
    fn few_entries_stand_in_one_legend() {
        let laid_figure = figure(&[&["a", "b"], &["c"]]);
        let laid = layout(&laid_figure).unwrap();
        assert!(laid.legend.iter().all(|e| e.at.1 == laid.legend[0].at.1), "{:?}", laid.legend);
    }

    #[test]
    fn an_entry_that_is_too_wide_for_its_panel_is_common() {
        let long = "a label of many words ".repeat(6);
        let figure = figure(&[&["a", "b", "c", &long], &["d", "e", "f"]]);
        let laid = layout(&figure).unwrap();
        let lowest = laid.legend.iter().map(|e| e.at.1).fold(0.0, f64::max);
        assert_eq!(laid.legend.iter().find(|e| e.label == long).unwrap().at.1, lowest);
    }

    #[test]
    fn notes_follow_each_other_and_break_at_the_width() {
        let mut figure = figure(&[&["a"], &["b"], &["c"]]);
        figure.panels[1..].iter_mut().for_each(|panel| panel.note = "quick size".into());
        let figure = figure.noted(&"several words ".repeat(20));
        let laid = layout(&figure).unwrap();
        assert!(laid.note.len() > 1);
        let lines: Vec<&str> = laid.note.iter().map(|(line, _)| line.as_str()).collect();
        assert_eq!(lines.join(" ").matches("quick size").count(), 1);
        assert!(laid.note.iter().all(|(_, place)| place.1 < laid.size.1));
    }

    #[test]
    fn squares_frames_and_leaves_unlisted_labels_out() {
        let mut figure = figure(&[&["a"], &["b"]]);
        figure.panels[0].square = true;
        figure.panels[1].series.push(Series::measured("c", 0, vec![]).unlisted());
        figure.panels[1].rules.push(Rule::vertical("stage 2", 0.5).written());
        let laid = layout(&figure).unwrap();
        for Frame { left, top, right, bottom } in laid.panels.iter().map(|panel| panel.frame) {
            let (wide, high) = (right - left, bottom - top);
            assert!((wide - high).abs() < 1e-9);
        }
        assert_eq!(laid.legend.len(), 2);
    }
}
