//! Contents of a figure, and the sentences that a chart is made of: `Figure::page("flow", "The flow", 2, panels)`,
//! `Panel::new("loss", Axis::log("*t*"), Axis::log("*L*")).with(series).ruled(rule)`.

use super::field::{Arrows, Cell, Contour, Heat, Palette};
use super::film::Film;
use super::point::{Measured, Point};
use attnlab_core::error::Result;

/// A figure: panels in a grid and one legend.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of its files, without extension.
    pub name: String,
    /// One line above the panels in reports; the picture itself has none, as in a paper.
    pub title: String,
    /// Caption: the contents with every parameter, and the kind of the bands.
    pub caption: String,
    /// Width on paper.
    pub width: Width,
    /// Panels beside each other.
    pub columns: usize,
    /// Panels, row by row.
    pub panels: Vec<Panel>,
    /// A film for talks, in a file of its own.
    pub film: Option<Film>,
}

impl Figure {
    /// Creates a figure as wide as one column of a paper, with its panels below each other.
    pub fn column(name: impl Into<String>, title: impl Into<String>, panels: Vec<Panel>) -> Self {
        let (name, title, caption) = (name.into(), title.into(), String::new());
        Figure { name, title, caption, width: Width::Column, columns: 1, panels, film: None }
    }

    /// Creates a figure as wide as a page, with this number of panels beside each other.
    pub fn page(name: impl Into<String>, title: impl Into<String>, columns: usize, panels: Vec<Panel>) -> Self {
        Figure { width: Width::Page, columns, ..Figure::column(name, title, panels) }
    }

    /// Creates a figure as wide as a page, with up to `most` panels beside each other, or as a column for one panel.
    pub fn fitting(name: impl Into<String>, title: impl Into<String>, most: usize, panels: Vec<Panel>) -> Self {
        match panels.len() {
            0 | 1 => Figure::column(name, title, panels),
            several => Figure::page(name, title, several.min(most), panels),
        }
    }

    /// Sets the caption.
    pub fn captioned(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Adds a film.
    pub fn filmed(mut self, film: Film) -> Self {
        self.film = Some(film);
        self
    }

    /// Adds a small grey line at the bottom of the figure, for the size of its run.
    pub fn noted(mut self, words: &str) -> Self {
        if let Some(panel) = self.panels.first_mut() {
            panel.note = words.to_string();
        }
        self
    }

    /// Writes words across every panel.
    pub fn watermarked(mut self, words: &str) -> Self {
        for panel in &mut self.panels {
            panel.watermark = words.to_string();
        }
        self
    }
}

/// Width on paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One column of a two-column paper, 8.5 cm.
    Column,
    /// The whole text width, 17.5 cm.
    Page,
}

/// One pair of axes with what is drawn in it.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// A few words above the axes; the panel's letter is added.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves and points, in drawing order.
    pub series: Vec<Series>,
    /// Straight reference lines.
    pub rules: Vec<Rule>,
    /// A heat map under the series.
    pub heat: Option<Heat>,
    /// Contour lines over the heat map, under the series.
    pub contours: Vec<Contour>,
    /// Arrows over the series.
    pub arrows: Vec<Arrows>,
    /// Words across the panel that keep a preliminary picture from being taken for a finished one.
    pub watermark: String,
    /// A small grey line at the bottom of the figure; different ones of several panels follow each other.
    pub note: String,
    /// Flag: the frame is a square, as for a square matrix. All frames of a figure have one size, so that one
    /// such panel makes all of them squares.
    pub square: bool,
}

impl Panel {
    /// Creates an empty panel.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Panel { title: title.into(), x, y, ..Panel::default() }
    }

    /// Creates the panel of a square matrix that is given row by row from the top, with labels of its columns and rows.
    pub fn matrix(
        title: impl Into<String>,
        [column, row]: [&str; 2],
        entries: &[f64],
        bar: Axis,
        palette: Palette,
    ) -> Self {
        let n = (entries.len() as f64).sqrt().round() as usize;
        let indices: Vec<f64> = (1..=n).map(|i| i as f64).collect();
        let ends = [1.0, n as f64];
        let (x, y) = (Axis::linear(column).ticks_at(&ends), Axis::linear(row).ticks_at(&ends).downwards());
        let heat = Heat::over(&indices, &indices, bar, |i, j| Cell::of(entries[j * n + i]));
        Panel { square: true, ..Panel::new(title, x, y).coloured(Heat { palette, ..heat }) }
    }

    /// Adds a series over those that are there.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds several series.
    pub fn with_each(mut self, series: impl IntoIterator<Item = Series>) -> Self {
        self.series.extend(series);
        self
    }

    /// Adds a series if it has points, so that the legend names nothing that is not drawn.
    pub fn with_any(self, series: Series) -> Self {
        self.with_each((!series.points.is_empty()).then_some(series))
    }

    /// Adds one series per item (a cell, a group of cells, a name), of its number from 0, which is the usual index of
    /// its colour, and the item.
    ///
    /// ```
    /// use attnlab_lab::figure::{Axis, Panel, Point, Series};
    /// let panel = Panel::new("powers", Axis::linear("*x*"), Axis::linear("*y*"))
    ///     .curves([1, 2], |i, n| {
    ///         let points = vec![Point::at(0.0, 0.0), Point::at(2.0, 2_f64.powi(n))];
    ///         Ok(Series::measured(format!("*n* = {n}"), i, points))
    ///     })?;
    /// assert_eq!(panel.series[1].points[1].y, 4.0);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first error of `series`.
    pub fn curves<T>(
        mut self,
        items: impl IntoIterator<Item = T>,
        mut series: impl FnMut(usize, T) -> Result<Series>,
    ) -> Result<Self> {
        for (i, item) in items.into_iter().enumerate() {
            self.series.push(series(i, item)?);
        }
        Ok(self)
    }

    /// Adds a reference line.
    pub fn ruled(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Sets the heat map under the series.
    pub fn coloured(mut self, heat: Heat) -> Self {
        self.heat = Some(heat);
        self
    }

    /// Adds contour lines.
    pub fn contoured(mut self, contour: Contour) -> Self {
        self.contours.push(contour);
        self
    }

    /// Returns the points of every series.
    pub fn points(&self) -> impl Iterator<Item = &Point> + Clone {
        self.series.iter().flat_map(|series| &series.points)
    }
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Quantity and unit. Labels may hold `*x*` (italic), `^{..}` and `_{..}`.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// Flag: only whole numbers are marked (layers, counts).
    pub whole: bool,
    /// Ends; from the data where None.
    pub range: Option<(f64, f64)>,
    /// Numbered ticks and their labels, for values that have names or are few; chosen automatically if empty.
    pub ticks: Vec<(f64, String)>,
    /// Flag: the axis runs from the high end to the low one, as for the rows of a matrix.
    pub reversed: bool,
}

impl Axis {
    /// Creates a linear axis over the data.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), ..Axis::default() }
    }

    /// Creates a logarithmic axis over the data.
    pub fn log(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Log, ..Axis::default() }
    }

    /// Creates a linear axis of whole numbers.
    pub fn whole(label: impl Into<String>) -> Self {
        Axis { label: label.into(), whole: true, ..Axis::default() }
    }

    /// Reverses the axis: it runs from the high end to the low one.
    pub fn downwards(mut self) -> Self {
        self.reversed = true;
        self
    }

    /// Sets the ends.
    pub fn from_to(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// Sets the numbered ticks to these ascending values; where they are too close, some become small ticks.
    pub fn ticks_at(mut self, values: &[f64]) -> Self {
        self.ticks = values.iter().map(|v| (*v, v.to_string())).collect();
        self
    }

    /// Sets the ticks and their words, by ascending values.
    pub fn ticks_named(mut self, ticks: impl IntoIterator<Item = (f64, String)>) -> Self {
        self.ticks = ticks.into_iter().collect();
        self
    }
}

/// Map from numbers to lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Proportionally.
    #[default]
    Linear,
    /// By their logarithm; numbers ≤ 0 are left out.
    Log,
}

/// A curve, points, or both, with an optional band or error bars.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the table of numbers and entry in the legend; series of one label share one entry. Empty: none.
    pub label: String,
    /// Flag: the series has no entry in the legend, because its tag or an entry of its stroke says what it is.
    pub unlisted: bool,
    /// Index into the palette of `style`.
    pub colour: usize,
    /// The line between points.
    pub stroke: Stroke,
    /// The marker on each point.
    pub marker: Marker,
    /// Flag: intervals are drawn as a band, not as error bars.
    pub band: bool,
    /// Kind of the intervals, for the table of numbers: "10-90 % of draws", "95 % interval", or
    /// empty.
    pub interval: String,
    /// The points, by x. A point with a y that is not finite interrupts the line.
    pub points: Vec<Point>,
    /// A few words in the panel at the last point, instead of or beside an entry in the legend; empty: none.
    pub tag: String,
}

impl Series {
    /// Creates a line with a marker on each point, in the colour of this index. The marker follows from the
    /// colour, so that curves differ in grey print too.
    pub fn measured(label: impl Into<String>, colour: usize, points: Vec<Point>) -> Self {
        Series {
            label: label.into(),
            unlisted: false,
            colour,
            stroke: Stroke::Solid,
            marker: Marker::for_colour(colour),
            band: true,
            interval: String::new(),
            points,
            tag: String::new(),
        }
    }

    /// Creates an entry of the legend without points, for the meaning of a stroke that several series share.
    pub fn key(label: impl Into<String>, colour: usize, stroke: Stroke) -> Self {
        Series { stroke, ..Series::predicted(label, colour, vec![]) }
    }

    /// Creates points of one marker, with error bars where they have intervals and no line between them.
    pub fn marks(label: impl Into<String>, colour: usize, marker: Marker, points: Vec<Point>) -> Self {
        Series { marker, ..Series::bars(label, colour, points) }
    }

    /// Creates a dashed line at a height from the first of `ends` to the last.
    pub fn across(label: impl Into<String>, colour: usize, ends: [f64; 2], height: impl Into<Measured>) -> Self {
        let height = height.into();
        Series::predicted(label, colour, ends.map(|x| Point::at(x, height)).to_vec())
    }

    /// Sets the marker.
    pub fn marked(mut self, marker: Marker) -> Self {
        self.marker = marker;
        self
    }

    /// Draws the intervals as error bars, not as a band.
    pub fn with_bars(mut self) -> Self {
        self.band = false;
        self
    }

    /// Sets the stroke.
    pub fn drawn(mut self, stroke: Stroke) -> Self {
        self.stroke = stroke;
        self
    }

    /// Takes the series out of the legend; the table of numbers keeps its label.
    pub fn unlisted(mut self) -> Self {
        self.unlisted = true;
        self
    }

    /// Sets the words at the last point.
    pub fn tagged(mut self, words: impl Into<String>) -> Self {
        self.tag = words.into();
        self
    }

    /// Creates a dashed line without markers, for a prediction.
    pub fn predicted(label: impl Into<String>, colour: usize, points: Vec<Point>) -> Self {
        Series { stroke: Stroke::Dashed, marker: Marker::None, band: false, ..Series::measured(label, colour, points) }
    }

    /// Creates a line with its band and without markers, for a fit.
    pub fn fitted(label: impl Into<String>, colour: usize, points: Vec<Point>) -> Self {
        Series { marker: Marker::None, ..Series::measured(label, colour, points) }
    }

    /// Creates points with error bars and no line between them.
    pub fn bars(label: impl Into<String>, colour: usize, points: Vec<Point>) -> Self {
        Series { stroke: Stroke::None, band: false, ..Series::measured(label, colour, points) }
    }

    /// Sets the kind of the intervals.
    pub fn with_interval(mut self, interval: impl Into<String>) -> Self {
        self.interval = interval.into();
        self
    }
}

/// Style of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stroke {
    /// No line.
    #[default]
    None,
    /// ————
    Solid,
    /// – – –
    Dashed,
    /// · · ·
    Dotted,
    /// – · – ·
    DashDotted,
}

/// Shape of a marker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marker {
    /// Not at all.
    #[default]
    None,
    /// Filled circle.
    Circle,
    /// Filled square.
    Square,
    /// Filled triangle.
    Triangle,
    /// Filled diamond.
    Diamond,
    /// Triangle on its tip.
    Down,
    /// Diagonal cross.
    Cross,
    /// Open circle.
    Open,
    /// A ring around the point, larger than the other markers, which stay visible in it.
    Ring,
}

impl Marker {
    /// Returns the marker of the colour of this index.
    pub fn for_colour(colour: usize) -> Marker {
        use Marker::*;
        [Circle, Square, Triangle, Diamond, Down, Open, Cross][colour % 7]
    }
}

/// A straight reference line across the panel.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Entry in the legend; empty: none.
    pub label: String,
    /// Direction: `true` for a vertical line at x = `at`, `false` for a horizontal one at y = `at`.
    pub vertical: bool,
    /// Coordinate of the line.
    pub at: f64,
    /// Flag: the label is written along the line instead of in the legend.
    pub written: bool,
}

impl Rule {
    /// Returns a horizontal line at y = `at`.
    pub fn horizontal(label: impl Into<String>, at: f64) -> Self {
        Rule { label: label.into(), vertical: false, at, written: false }
    }

    /// Returns a vertical line at x = `at`.
    pub fn vertical(label: impl Into<String>, at: f64) -> Self {
        Rule { label: label.into(), vertical: true, at, written: false }
    }

    /// Writes the label along the line instead of in the legend: above a horizontal line in the upper half
    /// of the panel, below one in the lower half, and from the top down at the right of a vertical line.
    pub fn written(mut self) -> Self {
        self.written = true;
        self
    }
}
