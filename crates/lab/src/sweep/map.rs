//! Maps of a sweep over a claim, drawn from the summaries of its cells.

use super::{CellMark, Plan, Product};
use crate::claim::{Claim, VerdictKind};
use crate::figure::{self, Cell, Contour, Figure, Heat, Marker, Panel, Point, Series, Stroke};
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

/// Signs of the verdicts: a marker in each cell, or the border of the cells where they are too small for markers.
const SIGNS: [(VerdictKind, Marker, Stroke); 4] = [
    (VerdictKind::Refuted, Marker::Cross, Stroke::Dashed),
    (VerdictKind::Supported, Marker::Open, Stroke::Dotted),
    (VerdictKind::Vacuous, Marker::Down, Stroke::DashDotted),
    (VerdictKind::Failed, Marker::Square, Stroke::Solid),
];

/// Returns `true` if so many cells are too small for markers.
fn is_dense(cells: usize) -> bool {
    cells > 1000
}

/// Largest number of values of an axis that a map shows; of more, every second or third one and so on is shown.
const SHOWN: usize = 128;
/// The same for a curve.
const POINTS: usize = 2000;
/// Largest number of panels of all figures together.
const ALL_PANELS: usize = 48;

/// Draws maps over the two numeric axes with the most values, with a panel for every combination of the others. With
/// one numeric axis it draws curves; with none, or for a plan that is not a sweep over a claim, it returns no figure.
/// `cells` are the marks of all cells, in their order. The captions say what is left out of very large sweeps.
///
/// # Errors
/// A combination that cannot be computed.
pub fn figures(plan: &Plan, cells: &[CellMark]) -> Result<Vec<Figure>> {
    let (Some((claim, _)), Some(product)) = (plan.claim(), plan.product()) else { return Ok(vec![]) };
    let varying: Vec<Free> = (0..product.axes()).filter_map(|axis| Free::new(product, axis)).collect();
    let numeric = longest(&varying);
    let others: Vec<usize> =
        varying.iter().map(|free| free.axis).filter(|axis| numeric.iter().all(|used| used.axis != *axis)).collect();
    let story = Story::new(claim, cells);
    let mut left_out = vec![];
    let (panels, groups) = match numeric[..] {
        [] => return Ok(vec![]),
        [x] => {
            let x = x.thinned(POINTS, &mut left_out);
            let groups = grouped(product, cells, &[&x], &others, ALL_PANELS * CURVES);
            (groups.0.chunks(CURVES).map(|groups| curves(&story, &x, groups)).collect(), groups.1)
        }
        [x, y, ..] => {
            let [x, y] = [x, y].map(|axis| axis.thinned(SHOWN, &mut left_out));
            let groups = grouped(product, cells, &[&x, &y], &others, ALL_PANELS);
            (groups.0.iter().map(|group| map(&story, &x, &y, group)).collect(), groups.1)
        }
    };
    if groups > 0 {
        left_out.push(format!("{groups} further combinations of the other axes"));
    }
    Ok(story.figures(panels, &left_out))
}

/// An axis along which the cells differ.
#[derive(Clone)]
struct Free<'a> {
    /// Its place among the axes.
    axis: usize,
    name: &'a str,
    /// Numbers, ascending, each with its place among the values; none if a value is not a number.
    numbers: Vec<(f64, usize)>,
}

impl<'a> Free<'a> {
    /// Returns the axis; None if it is computed from others or has one value.
    fn new(product: &'a Product, axis: usize) -> Option<Self> {
        let values = product.values(axis);
        let placed = |(place, value): (usize, &Value)| Some((as_number(value)?, place));
        let mut numbers = values.iter().enumerate().map(placed).collect::<Option<Vec<_>>>().unwrap_or_default();
        numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
        (values.len() > 1).then_some(Free { axis, name: product.name(axis), numbers })
    }

    /// Leaves at most `most` values, with even steps between them, and says so.
    fn thinned(&self, most: usize, left_out: &mut Vec<String>) -> Free<'a> {
        let mut thinned = self.clone();
        let step = self.length().div_ceil(most);
        if step > 1 {
            thinned.numbers = self.numbers.iter().copied().step_by(step).collect();
            let rest = self.length() - thinned.length();
            left_out.push(format!("{rest} of the {} values of {}", self.length(), self.name));
        }
        thinned
    }

    /// Returns the number of values, 0 if they are not numbers.
    fn length(&self) -> usize {
        self.numbers.len()
    }

    fn numbers(&self) -> Vec<f64> {
        self.numbers.iter().map(|(x, _)| *x).collect()
    }

    /// Returns the place among the ascending values of each place among the values of the file.
    fn ranks(&self, values: usize) -> Vec<Option<usize>> {
        let mut ranks = vec![None; values];
        for (rank, (_, place)) in self.numbers.iter().enumerate() {
            ranks[*place] = Some(rank);
        }
        ranks
    }

    /// Returns the axis of a figure, logarithmic where that spaces the values more evenly.
    fn axis(&self) -> figure::Axis {
        let values = self.numbers();
        let unevenness = |place: fn(f64) -> f64| {
            let steps = values.windows(2).map(|w| place(w[1]) - place(w[0]));
            let (least, most) = steps.fold((f64::INFINITY, 0.0_f64), |(a, b), s| (a.min(s), b.max(s)));
            most / least
        };
        let positive = values.first().is_some_and(|v| *v > 0.0);
        let log = positive && values.len() > 2 && unevenness(f64::ln) < unevenness(|v| v);
        let label = format!("*{}*", self.name);
        if log { figure::Axis::log(label) } else { figure::Axis::linear(label) }
    }
}

/// Returns the numeric axes with the most values, at most two, in the order of the file.
fn longest<'a, 'b>(axes: &'b [Free<'a>]) -> Vec<&'b Free<'a>> {
    let mut order: Vec<usize> = (0..axes.len()).filter(|i| axes[*i].length() > 0).collect();
    // The sort is stable: of axes of equal length the first ones of the file are taken.
    order.sort_by_key(|i| std::cmp::Reverse(axes[*i].length()));
    order.truncate(2);
    order.sort_unstable();
    order.into_iter().map(|i| &axes[i]).collect()
}

/// Cells that have the same values of some axes.
struct Group {
    /// The common values, such as "clusters = 2, tokens = 600".
    title: String,
    /// The cells by the ranks of their values of the drawn axes; the last axis varies fastest.
    cells: Vec<Option<CellMark>>,
}

/// Groups the cells by their values of the axes `others`, in the order of the cells. Returns at most `most` groups and
/// the number of the others.
fn grouped(
    product: &Product,
    cells: &[CellMark],
    drawn: &[&Free],
    others: &[usize],
    most: usize,
) -> (Vec<Group>, usize) {
    let lengths = others.iter().map(|axis| product.values(*axis).len());
    let size = drawn.iter().map(|free| free.length()).product();
    let ranks: Vec<Vec<Option<usize>>> = drawn.iter().map(|free| free.ranks(product.values(free.axis).len())).collect();
    let count: usize = lengths.clone().product();
    // Places among the groups, in the order in which the cells name them.
    let mut place = vec![None; count];
    let mut groups: Vec<Group> = vec![];
    let mut left_out = 0;
    for (number, cell) in cells.iter().enumerate() {
        let mut key = 0;
        for (axis, length) in others.iter().zip(lengths.clone()) {
            key = key * length + product.place(*axis, number).unwrap_or(0);
        }
        let group = *place[key].get_or_insert_with(|| {
            if groups.len() == most {
                left_out += 1;
                return most;
            }
            let of = |axis: &usize| titled(product, *axis, number);
            groups.push(Group { title: others.iter().map(of).collect::<Vec<_>>().join(", "), cells: vec![None; size] });
            groups.len() - 1
        });
        let place_in_group = drawn.iter().zip(&ranks).try_fold(0, |place, (free, ranks)| {
            Some(place * free.length() + ranks[product.place(free.axis, number)?]?)
        });
        if let (Some(group), Some(place)) = (groups.get_mut(group), place_in_group) {
            group.cells[place] = Some(*cell);
        }
    }
    (groups, left_out)
}

/// Writes the value of an axis as `tokens = 600`.
fn titled(product: &Product, axis: usize, number: usize) -> String {
    let name = product.name(axis);
    let value = product.place(axis, number).map(|i| &product.values(axis)[i]);
    match value {
        Some(Value::String(word)) => format!("{name} = {word}"),
        Some(value) => match as_number(value) {
            Some(x) => format!("{name} = {}", short(x)),
            None => format!("{name} = {value}"),
        },
        None => name.to_string(),
    }
}

/// Formats a number of a title with four digits.
fn short(x: f64) -> String {
    format!("{x:.3e}").parse().unwrap_or(x).to_string()
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
    fn new(claim: &dyn Claim, cells: &[CellMark]) -> Self {
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

    fn figures(&self, panels: Vec<Panel>, left_out: &[String]) -> Vec<Figure> {
        let many = panels.len() > PANELS;
        let name = self.id.replace('.', "_");
        let map = panels.iter().filter_map(|p| p.heat.as_ref()).map(|heat| heat.x.len() * heat.y.len()).max();
        let figure = |(i, panels): (usize, &[Panel])| {
            let name = if many { format!("{name}_{}", i + 1) } else { name.clone() };
            Figure::fitting(name, &self.title, 3, panels.to_vec()).captioned(self.caption(map, left_out))
        };
        panels.chunks(PANELS).enumerate().map(figure).collect()
    }

    /// Writes the caption; `map` is the number of cells of a map, None for curves.
    fn caption(&self, map: Option<usize>, left_out: &[String]) -> String {
        let rest = match left_out {
            [] => String::new(),
            parts => format!(" Not drawn, but in cells.csv: {}.", parts.join("; ")),
        };
        let what = if self.probability { "Share of trials in which the statement holds" } else { "Estimate" };
        let (id, trials) = (self.id, &self.trials);
        let start = format!("{what}, claim `{id}`, {trials} trials per cell.");
        let signs = match map {
            Some(cells) if is_dense(cells) => {
                "Dashed, dotted and dash-dotted: the borders of refuted, supported and vacuous cells;"
            }
            _ => "Crosses: refuted; circles: supported; triangles: vacuous, for nothing is promised;",
        };
        match map {
            Some(_) => format!(
                "{start} {signs} hatched: inconclusive, the {} does not \
                 decide. Vermillion: the border of the printed hypotheses, where it crosses the map. \
                 Each interval holds for its own cell.{rest}",
                self.interval
            ),
            None => format!("{start} Bands: {}, each for its own cell.{rest}", self.interval),
        }
    }
}

fn map(story: &Story, x: &Free, y: &Free, group: &Group) -> Panel {
    let find = |i: usize, j: usize| group.cells[i * y.length() + j];
    let cell = |i, j| {
        let Some((cell, e)) = find(i, j).and_then(|c| Some((c, c.estimate?))) else { return Cell::of(f64::NAN) };
        Cell::of(e).hatched_if(cell.verdict == VerdictKind::Inconclusive)
    };
    let (xs, ys) = (x.numbers(), y.numbers());
    let heat = Heat::over(&xs, &ys, story.quantity(), cell).explained(&story.interval, "inconclusive");
    let margins =
        Heat::over(&xs, &ys, figure::Axis::default(), |i, j| Cell::of(find(i, j).map_or(f64::NAN, |cell| cell.margin)));
    let mut contours = vec![margins.contour("hypotheses", &[0.0]).drawn(Stroke::Solid, STATED)];
    if story.probability {
        contours.push(heat.contour("half of the trials hold", &[0.5]));
    }
    let dense = is_dense(xs.len() * ys.len());
    if dense {
        for (verdict, _, stroke) in SIGNS {
            let share = |i, j| Cell::of(find(i, j).map_or(f64::NAN, |c| f64::from(c.verdict == verdict)));
            let indicator = Heat::over(&xs, &ys, figure::Axis::default(), share);
            contours.push(indicator.contour(format!("border of {}", verdict.name()), &[0.5]).drawn(stroke, VERDICT));
        }
    }
    contours.retain(crosses);
    let mut panel = Panel::new(&group.title, x.axis(), y.axis()).coloured(heat);
    panel.contours = contours;
    for (verdict, marker, _) in SIGNS.into_iter().filter(|_| !dense) {
        let cells = group.cells.iter().enumerate();
        let cells = cells.filter(|(_, cell)| cell.is_some_and(|c| c.verdict == verdict));
        let points = cells.map(|(place, _)| Point::at(xs[place / ys.len()], ys[place % ys.len()])).collect();
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

fn curves(story: &Story, x: &Free, groups: &[Group]) -> Panel {
    let curve = |(i, group): (usize, &Group)| {
        let points = x.numbers().into_iter().zip(&group.cells);
        let points = points.filter_map(|(x, cell)| Some(Point::at(x, (*cell)?.estimate?))).collect();
        Series::measured(group.title.clone(), i, points).with_interval(&story.interval)
    };
    Panel::new("", x.axis(), story.quantity()).with_each(groups.iter().enumerate().map(curve))
}
