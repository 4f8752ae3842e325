//! The figures of `lsa_flow`, from its rows.

use super::super::common::{INTERVAL, LAYERS, TIME, average, groups, slope_label, times};
use super::LsaFlow;
use crate::quantities::{CONDITION, CONTEXT, ETA, EXAMPLES, PART, SHIFT, SHIFTED, SHIFTS};
use crate::theory::printed_risk;
use attnlab_core::error::Result;
use attnlab_lab::experiment::Described;
use attnlab_lab::experiment::draw::{BAND, band, cells, curve, panel, spread, with_word};
use attnlab_lab::figure::{Axis, Figure, GREY, INK, Panel, Point, Rule, Series, Stroke, Width};
use attnlab_lab::run::Row;

const GAP: &str = "(*L* − min *L*) / start";

pub fn figures(settings: &LsaFlow, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(LsaFlow::NAME, rows)?;
    let part = |name: &str| with_word(&cells, PART.name, name);
    Ok(vec![
        flow(settings, &part("flow"), &part("descent"))?,
        test_risk(settings, &part)?,
        shifts(settings, &part("shift"))?,
    ])
}

fn bars(label: &str, colour: usize, points: Vec<Point>, interval: &str) -> Series {
    Series::bars(label, colour, points).with_interval(interval)
}

fn flow(settings: &LsaFlow, flows: &[&[Row]], descents: &[&[Row]]) -> Result<Figure> {
    let mut gap = panel("loss along the flow", Axis::log(TIME), Axis::log(GAP));
    let distance_label = "‖*uB* − *Γ*^{−1}‖ / ‖*Γ*^{−1}‖";
    let mut distance = panel("distance to the limit", Axis::log(TIME), Axis::log(distance_label));
    // Below, rounding and the tolerance of the integrator.
    gap.y.range = Some((1e-20, 3.0));
    distance.y.range = Some((1e-11, 3.0));
    let times = times(settings.until, settings.points);
    for (colour, cell) in flows.iter().enumerate() {
        let label = format!("condition number {}", cell[0].parameter(CONDITION.name)?);
        gap.series.push(curve(&label, colour, band(cell, "gap", &times)?));
        let points = band(cell, "distance", &times)?;
        distance.series.push(curve(&label, colour, points));
    }
    let mut steps = panel("gradient descent beside the flow", Axis::log("time *t* = steps × *η*"), Axis::log(GAP));
    let mut drift = panel(
        "drift of |*v*|² + *u*² − ‖*B*‖² − |*c*|²",
        Axis::log("step size *η*"),
        Axis::log("largest relative drift"),
    );
    let times = settings.descent_times();
    let (mut of_descent, mut of_flow) = (vec![], vec![]);
    for (colour, cell) in descents.iter().enumerate() {
        let eta = cell[0].parameter(ETA.name)?;
        let label = format!("gradient descent, *η* = {eta}");
        let points = band(cell, "gap", &times)?;
        steps.series.push(curve(&label, colour + 3, points));
        of_descent.push(spread(cell, "drift", eta)?);
        of_flow.push(spread(cell, "flow_drift", eta)?);
    }
    if let Some(cell) = descents.first() {
        let points = band(cell, "flow_gap", &times)?;
        let points = points.iter().map(|p| Point::at(p.x, p.y)).collect();
        steps.series.push(Series::predicted("flow", INK, points));
    }
    if let Some(first) = of_descent.first().copied() {
        let line = of_descent.iter().map(|p| Point::at(p.x, first.y * p.x / first.x));
        drift.series.push(Series::predicted("in proportion to *η*", GREY, line.collect()));
    }
    drift.series.push(bars("gradient descent", GREY, of_descent, BAND));
    drift.series.push(bars("flow, integrated", INK, of_flow, BAND));
    Ok(Figure {
        name: "lsa_flow".into(),
        title: "Gradient flow of linear self-attention and its limit".into(),
        caption: format!(
            "Gradient flow on the population loss from the theorem's initial weights, *d* = {}, *N* = {}, \
             *σ* = {}: median and 10-90 % over {} draws of *Θ*. (a), (b): by the condition number of *Λ*. \
             (c), (d): gradient descent at condition number {}; a flow conserves the quantity in (d) \
             exactly, and its integrator to what is shown.",
            settings.dim, settings.context, settings.scale, settings.trials, settings.descent_condition,
        ),
        width: Width::Page,
        columns: 2,
        panels: vec![gap, distance, steps, drift],
    })
}

fn test_risk<'a>(settings: &LsaFlow, of_part: &impl Fn(&str) -> Vec<&'a [Row]>) -> Result<Figure> {
    let panels = vec![
        against_m(settings, &of_part("risk"))?,
        against_n(settings, &of_part("risk"), &of_part("limit"))?,
        softmax(settings, &of_part("softmax"))?,
    ];
    Ok(Figure {
        name: "lsa_risk".into(),
        title: "Test risk of trained linear self-attention".into(),
        caption: format!(
            "Excess risk over the best linear predictor after training on prompts of *N* examples, tested \
             on *M*; *d* = {}, eigenvalues of *Λ* from 1 to 1/{}, task of unit variance, label noise of \
             variance {} at test. Points: mean over {} × {} prompts with 95 % interval; dashed: the \
             corrected formula; dotted: the formula as printed. (b): *M* = ∞ from the weights at the end of \
             the flow, median and 10-90 % of draws. Slopes: of the means with 95 % interval, in (a) over \
             the excess less its limit for *M* → ∞, in (b) over the last three *N*. (c): risk for random \
             tasks with *M* = *N*, softmax attention at its best temperature and scale; dash-dotted: 2 min *L* of linear attention.",
            settings.dim, settings.risk_condition, settings.noise_var, settings.trials, settings.prompts,
        ),
        width: Width::Page,
        columns: 3,
        panels,
    })
}

/// The corrected and the printed excess risk at N and M; None for M is M → ∞.
fn predicted(settings: &LsaFlow, n: f64, m: Option<f64>) -> Result<(f64, f64)> {
    let count = m.map_or(usize::MAX, |m| m as usize);
    let test = settings.test(n as usize, count, "covariance", 1.0)?;
    let moments = test.target.moments(&test.examples, test.noise_var);
    let printed = printed_risk(&test.training, &moments, count).excess();
    Ok((test.predicted(m.is_none()).excess(), printed))
}

/// The slope of what the cells show of "excess", less `floor`, over a parameter, with its interval
/// over the draws; None for fewer than three cells.
fn slope(cells: &[&[Row]], name: &str, floor: f64) -> Result<Option<String>> {
    if cells.len() < 3 {
        return Ok(None);
    }
    let x = cells.iter().map(|c| c[0].parameter(name));
    let x = x.collect::<Result<Vec<f64>>>()?;
    let draws = cells.iter().map(|c| c.len()).min().unwrap_or(0);
    let sample = |i: usize| {
        let one = |c: &&[Row]| Ok(c[i].number("excess")? - floor);
        cells.iter().map(one).collect::<Result<Vec<f64>>>()
    };
    let samples = (0..draws).map(sample).collect::<Result<Vec<_>>>()?;
    slope_label(&x, &samples)
}

const CORRECTED: &str = "corrected formula";
const PRINTED: &str = "formula as printed";

/// The first, the middle and the last: more curves than that hide each other.
fn three<T>(groups: Vec<T>) -> Vec<T> {
    let last = groups.len().saturating_sub(1);
    let keep = [0, last / 2, last];
    let indexed = groups.into_iter().enumerate();
    indexed.filter(|(i, _)| keep.contains(i)).map(|(_, g)| g).collect()
}

fn against_m(settings: &LsaFlow, cells: &[&[Row]]) -> Result<Panel> {
    let title = "against the test context";
    let mut found = panel(title, Axis::log("test examples *M*"), Axis::log("excess risk"));
    for (colour, (n, group)) in three(groups(cells, CONTEXT.name)?).into_iter().enumerate() {
        let (mut measured, mut line) = (vec![], vec![]);
        for cell in &group {
            let m = cell[0].parameter(EXAMPLES.name)?;
            measured.push(average(cell, "excess", m)?);
            line.push(Point::at(m, predicted(settings, n, Some(m))?.0));
        }
        found.series.push(Series::predicted(CORRECTED, GREY, line));
        let mut label = format!("*N* = {n}");
        // Of the largest N: of the others the limit for M → ∞ is most of the excess.
        if Some(&(n as usize)) == settings.contexts.iter().max()
            && let Some(slope) = slope(&group, EXAMPLES.name, predicted(settings, n, None)?.0)?
        {
            label += &format!(": slope {slope}");
        }
        found.series.push(bars(&label, colour, measured, INTERVAL));
    }
    Ok(found)
}

fn against_n(settings: &LsaFlow, cells: &[&[Row]], limits: &[&[Row]]) -> Result<Panel> {
    let title = "against the training context";
    let mut found = panel(title, Axis::log("training examples *N*"), Axis::log("excess risk"));
    let (mut measured, mut corrected, mut printed) = (vec![], vec![], vec![]);
    for cell in limits {
        let n = cell[0].parameter(CONTEXT.name)?;
        measured.push(spread(cell, "excess", n)?);
        let (right, wrong) = predicted(settings, n, None)?;
        corrected.push(Point::at(n, right));
        printed.push(Point::at(n, wrong));
    }
    found.series.push(Series { stroke: Stroke::Dotted, ..Series::predicted(PRINTED, GREY, printed) });
    if let Some(last) = corrected.last().copied() {
        let slope = corrected.iter().map(|p| Point::at(p.x, last.y * (last.x / p.x).powi(2)));
        found.series.push(Series { stroke: Stroke::Solid, ..Series::predicted("slope −2", GREY, slope.collect()) });
    }
    found.series.push(Series::predicted(CORRECTED, GREY, corrected));
    let mut label = "*M* = ∞".to_string();
    let last = limits.len().saturating_sub(3);
    if let Some(slope) = slope(&limits[last..], CONTEXT.name, 0.0)? {
        label += &format!(": slope {slope}");
    }
    found.series.push(bars(&label, INK, measured, BAND));
    for (colour, (m, group)) in three(groups(cells, EXAMPLES.name)?).into_iter().enumerate() {
        let (mut measured, mut line) = (vec![], vec![]);
        for cell in group {
            let n = cell[0].parameter(CONTEXT.name)?;
            measured.push(average(cell, "excess", n)?);
            line.push(Point::at(n, predicted(settings, n, Some(m))?.0));
        }
        found.series.push(Series::predicted(CORRECTED, GREY, line));
        let label = format!("*M* = {m}");
        found.series.push(bars(&label, colour, measured, INTERVAL));
    }
    Ok(found)
}

/// One panel for each kind of shift.
fn shifts(settings: &LsaFlow, cells: &[&[Row]]) -> Result<Figure> {
    let panels = SHIFTS.map(|what| {
        let is = |cell: &&&[Row]| cell[0].word(SHIFTED.name).is_ok_and(|w| w == what);
        shift(settings, what, &cells.iter().copied().filter(|c| is(&c)).collect::<Vec<_>>())
    });
    Ok(Figure {
        name: "lsa_shift".into(),
        title: "Trained linear self-attention under shifts".into(),
        caption: format!(
            "Excess risk over the best linear predictor, relative to the variance of the noiseless label \
             at the query, when (a) examples and query, (b) the query alone have covariance *cΛ*, (c) \
             the variance of the labels is *c* times as large through the task. *d* = {}, eigenvalues of \
             *Λ* from 1 to 1/{}, *M* = {}, label noise of variance {} at test. Points: mean over {} × {} \
             prompts with 95 % interval; dashed: the formula.",
            settings.dim,
            settings.risk_condition,
            settings.context,
            settings.noise_var,
            settings.trials,
            settings.prompts,
        ),
        width: Width::Page,
        columns: 3,
        panels: panels.into_iter().collect::<Result<Vec<_>>>()?,
    })
}

fn shift(settings: &LsaFlow, what: &str, cells: &[&[Row]]) -> Result<Panel> {
    let title = match what {
        "covariance" => "examples and query",
        "query" => "the query alone",
        _ => "the task",
    };
    let mut found = panel(title, Axis::log("*c*"), Axis::log("excess risk / signal"));
    for (colour, (n, group)) in groups(cells, CONTEXT.name)?.into_iter().enumerate() {
        let test = |c: f64| settings.test(n as usize, settings.context, what, c);
        let scaled = |cell: &&[Row]| {
            let c = cell[0].parameter(SHIFT.name)?;
            let (p, signal) = (average(cell, "excess", c)?, test(c)?.signal());
            let (low, high) = p.interval.unwrap_or((p.y, p.y));
            Ok(Point::between(c, p.y / signal, low / signal, high / signal))
        };
        let measured = group.iter().map(scaled).collect::<Result<Vec<_>>>()?;
        let (low, high) = match (measured.first(), measured.last()) {
            (Some(first), Some(last)) => (first.x, last.x),
            _ => continue,
        };
        let line = (0..=60)
            .map(|i| {
                let c = low * (high / low).powf(f64::from(i) / 60.0);
                let test = test(c)?;
                Ok(Point::at(c, test.predicted(false).excess() / test.signal()))
            })
            .collect::<Result<Vec<_>>>()?;
        found.series.push(Series::predicted("formula", GREY, line));
        let label = format!("*N* = {n}");
        found.series.push(bars(&label, colour, measured, INTERVAL));
    }
    found.rules.push(Rule::vertical("", 1.0));
    // The other two vary by less than a decade.
    if what != "covariance" {
        let points = found.series.iter().flat_map(|s| &s.points);
        let ends = points.map(|p| p.interval.map_or(p.y, |(_, high)| high));
        let high = ends.fold(0.0_f64, f64::max);
        found.y = Axis::linear("excess risk / signal").from_to(0.0, 1.05 * high);
    }
    Ok(found)
}

fn softmax(settings: &LsaFlow, cells: &[&[Row]]) -> Result<Panel> {
    let title = "beside softmax attention";
    let mut found = panel(title, Axis::log("*N* = *M*"), Axis::log("risk, random tasks"));
    let (mut linear, mut soft, mut law) = (vec![], vec![], vec![]);
    for cell in cells {
        let n = cell[0].parameter(CONTEXT.name)?;
        linear.push(average(cell, "linear", n)?);
        soft.push(average(cell, "softmax", n)?);
        law.push(Point::at(n, 2.0 * settings.risk_training(n as usize)?.minimum()));
    }
    let law = Series::predicted("2 min *L*", INK, law);
    found.series.push(law.drawn(Stroke::DashDotted));
    for (name, colour) in LAYERS {
        let points = if name == "linear" { &linear } else { &soft };
        let label = format!("{name} attention");
        let series = bars(&label, colour, points.clone(), INTERVAL);
        found.series.push(series);
    }
    Ok(found)
}
