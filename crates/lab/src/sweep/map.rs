//! Maps of a sweep over a claim, drawn from the summaries of its cells.

use super::{Axis, CellSummary, Plan};
use crate::claim::{Claim, VerdictKind};
use crate::figure;
use crate::figure::{Cell, Contour, Figure, Heat, Marker, Panel, Point, Series, Stroke};
use crate::run::store::as_number;
use attnlab_core::error::Result;
use serde_json::Value;

/// Largest number of panels of one figure; further panels go to further figures.
const PANELS: usize = 6;
/// Largest number of curves of one panel: the number of colours for data.
const CURVES: usize = 6;
/// Palette index of the border of the hypotheses: vermillion, as in `theorem1_map`.
const STATED: usize = 1;
/// Palette index of the markers of verdicts over a map.
const VERDICT: usize = figure::INK;

/// Draws maps over the two numeric axes with the most values, with a panel for every combination of the
/// others. With one numeric axis it draws curves; with none, or for a plan that is not a sweep over a claim,
/// it returns no figure.
///
/// # Errors
/// None at present.
pub fn figures(plan: &Plan, cells: &[CellSummary]) -> Result<Vec<Figure>> {
    let Some((claim, sweep)) = plan.claim() else {
        return Ok(vec![]);
    };
    let varying: Vec<Free> = sweep.axes.iter().filter_map(|(name, axis)| Free::new(name, axis, cells)).collect();
    let numeric = longest(&varying);
    let others = |used: &[&Free]| -> Vec<&str> {
        let unused = varying.iter().filter(|a| used.iter().all(|u| u.name != a.name));
        unused.map(|a| a.name).collect()
    };
    let story = Story::new(claim, cells);
    let panels = match numeric[..] {
        [] => return Ok(vec![]),
        [x] => {
            let groups = grouped(cells, &others(&[x]));
            let panel = |groups: &[Group]| curves(&story, x, groups);
            groups.chunks(CURVES).map(panel).collect()
        }
        [x, y, ..] => {
            let groups = grouped(cells, &others(&[x, y]));
            groups.iter().map(|g| map(&story, x, y, g)).collect()
        }
    };
    Ok(story.figures(panels))
}

/// An axis along which the cells differ.
struct Free<'a> {
    name: &'a str,
    /// Values, ascending; None if one of them is not a number.
    values: Option<Vec<f64>>,
}

impl<'a> Free<'a> {
    /// Returns the axis; None if it is computed from others or has one value.
    fn new(name: &'a str, axis: &Axis, cells: &[CellSummary]) -> Option<Self> {
        if matches!(axis, Axis::Computed(_)) {
            return None;
        }
        let mut distinct: Vec<&Value> = vec![];
        for value in cells.iter().filter_map(|c| c.parameters.get(name)) {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        let values: Option<Vec<f64>> = distinct.iter().map(|v| as_number(v)).collect();
        let values = values.map(|mut v| {
            v.sort_by(f64::total_cmp);
            v
        });
        (distinct.len() > 1).then_some(Free { name, values })
    }

    /// Returns the axis of a figure, logarithmic where that spaces the values more evenly.
    fn axis(&self) -> figure::Axis {
        let values = self.values.as_deref().unwrap_or_default();
        let unevenness = |place: fn(f64) -> f64| {
            let steps = values.windows(2).map(|w| place(w[1]) - place(w[0]));
            let (least, most) = steps.fold((f64::INFINITY, 0.0_f64), |(a, b), s| (a.min(s), b.max(s)));
            most / least
        };
        let log = values[0] > 0.0 && values.len() > 2 && unevenness(f64::ln) < unevenness(|v| v);
        let label = format!("*{}*", self.name);
        if log { figure::Axis::log(label) } else { figure::Axis::linear(label) }
    }

    fn place(&self, cell: &CellSummary) -> f64 {
        cell.parameters.get(self.name).and_then(as_number).unwrap_or(f64::NAN)
    }
}

/// Returns the numeric axes with the most values, at most two, in the order of the file.
fn longest<'a, 'b>(axes: &'b [Free<'a>]) -> Vec<&'b Free<'a>> {
    let length = |a: &Free| a.values.as_ref().map_or(0, Vec::len);
    let mut order: Vec<usize> = (0..axes.len()).filter(|i| length(&axes[*i]) > 0).collect();
    // The sort is stable: of axes of equal length the first ones of the file are taken.
    order.sort_by_key(|i| std::cmp::Reverse(length(&axes[*i])));
    order.truncate(2);
    order.sort_unstable();
    order.into_iter().map(|i| &axes[i]).collect()
}

/// Cells that have the same values of some axes.
struct Group<'a> {
    /// The common values, such as "clusters = 2, tokens = 600".
    title: String,
    cells: Vec<&'a CellSummary>,
}

/// Groups the cells by the values of `names`, in the order of the cells.
fn grouped<'a>(cells: &'a [CellSummary], names: &[&str]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = vec![];
    for cell in cells {
        let entry = |name: &&str| match cell.parameters.get(*name) {
            Some(Value::String(word)) => format!("{name} = {word}"),
            Some(value) => match as_number(value) {
                Some(x) => format!("{name} = {}", short(x)),
                None => format!("{name} = {value}"),
            },
            None => (*name).to_string(),
        };
        let same = |group: &&mut Group| {
            let of = |cell: &CellSummary, name| cell.parameters.get(name).cloned();
            names.iter().all(|n| of(group.cells[0], *n) == of(cell, *n))
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.cells.push(cell),
            None => {
                groups.push(Group { title: names.iter().map(entry).collect::<Vec<_>>().join(", "), cells: vec![cell] })
            }
        }
    }
    groups
}

/// Formats a number of a title with four digits.
fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.3e}").parse().unwrap_or(x);
    rounded.to_string()
}

/// Texts that all panels share.
struct Story {
    id: &'static str,
    title: String,
    /// Flag: the estimate is the probability that a trial holds.
    probability: bool,
    interval: String,
    trials: String,
}

impl Story {
    fn new(claim: &dyn Claim, cells: &[CellSummary]) -> Self {
        let counts = cells.iter().map(|c| c.trials);
        let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
        let probability = cells.iter().filter_map(|c| c.estimate).all(|e| {
            // Claims of a mean or a distance estimate that instead.
            (0.0..=1.0).contains(&e.low) && (0.0..=1.0).contains(&e.high)
        });
        let levels = || cells.iter().filter_map(|c| Some(c.estimate?.level));
        let interval = levels().find(|l| *l < 1.0).map(|l| format!("{} % interval", short(100.0 * l)));
        // Level 1 marks a bracket by a closed form.
        let bracket = levels().any(|l| l == 1.0).then(|| "bracket by a closed form".to_string());
        Story {
            id: &claim.sheet().id,
            title: claim.sheet().title.clone(),
            probability,
            interval: [interval, bracket].into_iter().flatten().collect::<Vec<_>>().join(" or "),
            trials: if least == most { format!("{most}") } else { format!("{least} to {most}") },
        }
    }

    /// Returns the axis of the estimated quantity, also for a colour bar.
    fn quantity(&self) -> figure::Axis {
        match self.probability {
            true => figure::Axis::linear("probability").from_to(0.0, 1.0),
            false => figure::Axis::linear("estimate"),
        }
    }

    fn figures(&self, panels: Vec<Panel>) -> Vec<Figure> {
        let many = panels.len() > PANELS;
        let name = self.id.replace('.', "_");
        let map = panels.iter().any(|p| p.heat.is_some());
        let figure = |(i, panels): (usize, &[Panel])| {
            let name = if many { format!("{name}_{}", i + 1) } else { name.clone() };
            Figure::fitting(name, &self.title, 3, panels.to_vec()).captioned(self.caption(map))
        };
        panels.chunks(PANELS).enumerate().map(figure).collect()
    }

    fn caption(&self, map: bool) -> String {
        let what = if self.probability { "Share of trials in which the statement holds" } else { "Estimate" };
        let (id, trials) = (self.id, &self.trials);
        let start = format!("{what}, claim `{id}`, {trials} trials per cell.");
        match map {
            true => format!(
                "{start} Crosses: refuted; circles: supported; triangles: vacuous, for nothing is promised; hatched: inconclusive, the {} does not \
                 decide. Vermillion: the border of the printed hypotheses, where it crosses the map. \
                 Each interval holds for its own cell.",
                self.interval
            ),
            false => format!("{start} Bands: {}, each for its own cell.", self.interval),
        }
    }
}

fn map(story: &Story, x: &Free, y: &Free, group: &Group) -> Panel {
    let find = |i: usize, j: usize| {
        let (xs, ys) = (x.values.as_ref()?, y.values.as_ref()?);
        let here = |c: &&&CellSummary| x.place(c) == xs[i] && y.place(c) == ys[j];
        group.cells.iter().find(here).copied()
    };
    let cell = |i, j| {
        let Some((cell, e)) = find(i, j).and_then(|c| Some((c, c.estimate?))) else {
            return Cell::of(f64::NAN);
        };
        Cell::of(e).hatched_if(cell.verdict == VerdictKind::Inconclusive)
    };
    let (xs, ys) = (x.values.as_deref(), y.values.as_deref());
    let (xs, ys) = (xs.unwrap_or_default(), ys.unwrap_or_default());
    let heat = Heat::over(xs, ys, story.quantity(), cell).explained(&story.interval, "inconclusive");
    let margins = Heat::over(xs, ys, figure::Axis::default(), |i, j| Cell::of(find(i, j).map_or(f64::NAN, margin)));
    let border = margins.contour("hypotheses", &[0.0]);
    let mut contours = vec![border.drawn(Stroke::Solid, STATED)];
    contours.retain(crosses);
    if story.probability {
        contours.push(heat.contour("half of the trials hold", &[0.5]));
        contours.retain(crosses);
    }
    let mut panel = Panel::new(&group.title, x.axis(), y.axis()).coloured(heat);
    panel.contours = contours;
    for (verdict, marker) in [
        (VerdictKind::Refuted, Marker::Cross),
        (VerdictKind::Supported, Marker::Open),
        (VerdictKind::Vacuous, Marker::Down),
        (VerdictKind::Failed, Marker::Square),
    ] {
        let cells = group.cells.iter().filter(|c| c.verdict == verdict);
        let points = cells.map(|c| Point::at(x.place(c), y.place(c))).collect();
        panel = panel.with_any(Series::marks(verdict.name(), VERDICT, marker, points));
    }
    panel
}

/// Returns `true` if the contour has a line to draw.
fn crosses(contour: &Contour) -> bool {
    let level = contour.levels[0].0;
    let values = contour.values.iter().flatten().filter(|v| !v.is_nan());
    let (below, total) = values.fold((0, 0), |(b, n), v| (b + usize::from(*v < level), n + 1));
    below > 0 && below < total
}

/// Returns the smallest margin of the hypotheses; NaN for a claim without any.
fn margin(cell: &CellSummary) -> f64 {
    let margins = cell.hypotheses.iter().map(|h| h.margin);
    margins.fold(f64::NAN, f64::min)
}

fn curves(story: &Story, x: &Free, groups: &[Group]) -> Panel {
    let curve = |(i, group): (usize, &Group)| {
        let point = |c: &&CellSummary| Some(Point::at(x.place(c), c.estimate?));
        let mut points: Vec<Point> = group.cells.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series::measured(group.title.clone(), i, points).with_interval(&story.interval)
    };
    Panel::new("", x.axis(), story.quantity()).with_each(groups.iter().enumerate().map(curve))
}
