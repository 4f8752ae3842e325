//! The figures of `lsa_flow`, from its rows.

use super::LsaFlow;
use crate::error::{Error, Result};
use crate::figure::{Axis, Figure, GREY, INK, Panel, Point, Rule, Series, Stroke, Width};
use crate::run::Row;
use crate::run::store::by_cell;
use crate::stats::{binomial, mean, quantile};
use crate::theory::lsa::risk;

const BAND: &str = "10-90 % of draws";
const INTERVAL: &str = "95 % interval";
const GAP: &str = "(*L* − min *L*) / start";
const TIME: &str = "time *t*";

pub fn figures(settings: &LsaFlow, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = by_cell(rows);
    let of_part = |part: &str| -> Vec<&[Row]> {
        let is = |cell: &&[Row]| cell[0].word("part").is_ok_and(|p| p == part);
        cells.iter().copied().filter(is).collect()
    };
    if cells.is_empty() {
        let problem = "no rows to draw; run the experiment first".into();
        return Err(Error::Content {
            path: "rows of lsa_flow".into(),
            problem,
        });
    }
    Ok(vec![
        flow(settings, &of_part("flow"), &of_part("descent"))?,
        test_risk(settings, &of_part)?,
        starts(settings, &of_part("starts"))?,
    ])
}

/// Median and 10-90 % of a series over the draws, at each of `xs`.
fn band(cell: &[Row], name: &str, xs: &[f64]) -> Result<Vec<Point>> {
    let all = cell
        .iter()
        .map(|r| r.series(name))
        .collect::<Result<Vec<_>>>()?;
    let at = |(i, x): (usize, &f64)| {
        let values: Vec<f64> = all.iter().filter_map(|s| s.get(i).copied()).collect();
        let q = |p| quantile(&values, p);
        Point::between(*x, q(0.5), q(0.1), q(0.9))
    };
    Ok(xs.iter().enumerate().map(at).collect())
}

/// Median and 10-90 % of a number over the draws.
fn spread(cell: &[Row], name: &str, x: f64) -> Result<Point> {
    let values = cell
        .iter()
        .map(|r| r.number(name))
        .collect::<Result<Vec<_>>>()?;
    let q = |p| quantile(&values, p);
    Ok(Point::between(x, q(0.5), q(0.1), q(0.9)))
}

/// Mean with its 95 % interval over the draws.
fn average(cell: &[Row], name: &str, x: f64) -> Result<Point> {
    let values = cell
        .iter()
        .map(|r| r.number(name))
        .collect::<Result<Vec<_>>>()?;
    let e = mean(&values, 0.95)?;
    Ok(Point::between(x, e.value, e.low, e.high))
}

fn bars(label: &str, colour: usize, points: Vec<Point>, interval: &str) -> Series {
    Series {
        band: false,
        stroke: Stroke::None,
        ..Series::measured(label, colour, points).with_interval(interval)
    }
}

/// A curve over many points: no markers.
fn curve(label: &str, colour: usize, points: Vec<Point>) -> Series {
    Series {
        marker: crate::figure::Marker::None,
        ..Series::measured(label, colour, points).with_interval(BAND)
    }
}

fn panel(title: &str, x: Axis, y: Axis) -> Panel {
    Panel {
        title: title.into(),
        x,
        y,
        ..Panel::default()
    }
}

fn flow(settings: &LsaFlow, flows: &[&[Row]], descents: &[&[Row]]) -> Result<Figure> {
    let mut gap = panel("loss along the flow", Axis::log(TIME), Axis::log(GAP));
    let distance_label = "‖*uB* − *Γ*^{−1}‖ / ‖*Γ*^{−1}‖";
    let mut distance = panel(
        "distance to the limit",
        Axis::log(TIME),
        Axis::log(distance_label),
    );
    // Below, rounding and the tolerance of the integrator.
    gap.y.range = Some((1e-20, 3.0));
    distance.y.range = Some((1e-11, 3.0));
    let times = settings.times();
    for (colour, cell) in flows.iter().enumerate() {
        let label = format!("condition number {}", cell[0].parameter("condition")?);
        gap.series
            .push(curve(&label, colour, band(cell, "gap", &times)?));
        let points = band(cell, "distance", &times)?;
        distance.series.push(curve(&label, colour, points));
    }
    let mut steps = panel(
        "gradient descent beside the flow",
        Axis::log("time *t* = steps × *η*"),
        Axis::log(GAP),
    );
    let mut drift = panel(
        "drift of |*v*|² + *u*² − ‖*B*‖² − |*c*|²",
        Axis::log("step size *η*"),
        Axis::log("largest relative drift"),
    );
    let times = settings.descent_times();
    let (mut of_descent, mut of_flow) = (vec![], vec![]);
    for (colour, cell) in descents.iter().enumerate() {
        let eta = cell[0].parameter("eta")?;
        let label = format!("gradient descent, *η* = {eta}");
        let points = band(cell, "gap", &times)?;
        steps.series.push(curve(&label, colour + 4, points));
        of_descent.push(spread(cell, "drift", eta)?);
        of_flow.push(spread(cell, "flow_drift", eta)?);
    }
    if let Some(cell) = descents.first() {
        let points = band(cell, "flow_gap", &times)?;
        let points = points.iter().map(|p| Point::at(p.x, p.y)).collect();
        steps.series.push(Series::predicted("flow", INK, points));
    }
    if let Some(first) = of_descent.first().copied() {
        let line = of_descent
            .iter()
            .map(|p| Point::at(p.x, first.y * p.x / first.x));
        drift.series.push(Series::predicted(
            "in proportion to *η*",
            GREY,
            line.collect(),
        ));
    }
    drift
        .series
        .push(bars("gradient descent", 4, of_descent, BAND));
    drift.series.push(bars("flow", INK, of_flow, BAND));
    Ok(Figure {
        name: "lsa_flow".into(),
        title: "Gradient flow of linear self-attention and its limit".into(),
        caption: format!(
            "Gradient flow on the population loss from the theorem's initial weights, *d* = {}, *N* = {}, \
             *σ* = {}: median and 10-90 % over {} draws of *Θ*. (a), (b): by the condition number of *Λ*. \
             (c), (d): gradient descent at condition number {}; a flow conserves the quantity in (d) \
             exactly, and its integrator to what is shown.",
            settings.dim,
            settings.context,
            settings.scale,
            settings.trials,
            settings.descent_condition,
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
        shift(settings, &of_part("shift"))?,
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
             the flow. (c): test inputs of covariance *cΛ*, *M* = {}. (d): risk for random tasks with \
             *M* = *N*, softmax attention at its best temperature and scale.",
            settings.dim,
            settings.risk_condition,
            settings.noise_var,
            settings.trials,
            settings.prompts,
            settings.context,
        ),
        width: Width::Page,
        columns: 2,
        panels,
    })
}

/// Cells grouped by a parameter, in their order.
fn groups<'a>(cells: &[&'a [Row]], name: &str) -> Result<Vec<(f64, Vec<&'a [Row]>)>> {
    let mut groups: Vec<(f64, Vec<&'a [Row]>)> = vec![];
    for cell in cells {
        let value = cell[0].parameter(name)?;
        match groups.iter_mut().find(|(v, _)| *v == value) {
            Some((_, group)) => group.push(cell),
            None => groups.push((value, vec![cell])),
        }
    }
    Ok(groups)
}

/// The corrected and the printed excess risk at N, M and c; None for M is M → ∞.
fn predicted(settings: &LsaFlow, n: f64, m: Option<f64>, c: f64) -> Result<(f64, f64)> {
    let training = settings.risk_training(n as usize)?;
    let test = training.covariance().scaled(c)?;
    let moments = settings.task()?.moments(&test, settings.noise_var);
    let m = m.map(|m| m as usize);
    let corrected = risk(&training, &test, &moments, m).excess();
    let printed = crate::theory::lsa::printed_risk(&training, &moments, m.unwrap_or(usize::MAX));
    Ok((corrected, printed.excess()))
}

const CORRECTED: &str = "corrected formula";
const PRINTED: &str = "formula as printed";

fn against_m(settings: &LsaFlow, cells: &[&[Row]]) -> Result<Panel> {
    let title = "against the test context";
    let mut found = panel(
        title,
        Axis::log("test examples *M*"),
        Axis::log("excess risk"),
    );
    for (colour, (n, group)) in groups(cells, "N")?.into_iter().enumerate() {
        let (mut measured, mut line) = (vec![], vec![]);
        for cell in group {
            let m = cell[0].parameter("M")?;
            measured.push(average(cell, "excess", m)?);
            line.push(Point::at(m, predicted(settings, n, Some(m), 1.0)?.0));
        }
        found.series.push(Series::predicted(CORRECTED, GREY, line));
        found
            .series
            .push(bars(&format!("*N* = {n}"), colour, measured, INTERVAL));
    }
    Ok(found)
}

fn against_n(settings: &LsaFlow, cells: &[&[Row]], limits: &[&[Row]]) -> Result<Panel> {
    let title = "against the training context";
    let mut found = panel(
        title,
        Axis::log("training examples *N*"),
        Axis::log("excess risk"),
    );
    let (mut measured, mut corrected, mut printed) = (vec![], vec![], vec![]);
    for cell in limits {
        let n = cell[0].parameter("N")?;
        measured.push(spread(cell, "excess", n)?);
        let (right, wrong) = predicted(settings, n, None, 1.0)?;
        corrected.push(Point::at(n, right));
        printed.push(Point::at(n, wrong));
    }
    found.series.push(Series {
        stroke: Stroke::Dotted,
        ..Series::predicted(PRINTED, GREY, printed)
    });
    if let Some(last) = corrected.last().copied() {
        let slope = corrected
            .iter()
            .map(|p| Point::at(p.x, last.y * (last.x / p.x).powi(2)));
        found.series.push(Series {
            stroke: Stroke::Solid,
            ..Series::predicted("slope −2", GREY, slope.collect())
        });
    }
    found
        .series
        .push(Series::predicted(CORRECTED, GREY, corrected));
    found.series.push(bars("*M* = ∞", INK, measured, BAND));
    for (colour, (m, group)) in groups(cells, "M")?.into_iter().enumerate() {
        let (mut measured, mut line) = (vec![], vec![]);
        for cell in group {
            let n = cell[0].parameter("N")?;
            measured.push(average(cell, "excess", n)?);
            line.push(Point::at(n, predicted(settings, n, Some(m), 1.0)?.0));
        }
        found.series.push(Series::predicted(CORRECTED, GREY, line));
        let label = format!("*M* = {m}");
        found
            .series
            .push(bars(&label, colour + 4, measured, INTERVAL));
    }
    Ok(found)
}

fn shift(settings: &LsaFlow, cells: &[&[Row]]) -> Result<Panel> {
    let title = "under covariate shift *Λ* → *cΛ*";
    let mut found = panel(title, Axis::log("*c*"), Axis::log("excess risk"));
    let m = settings.context as f64;
    for (colour, (n, group)) in groups(cells, "N")?.into_iter().enumerate() {
        let measured = group
            .iter()
            .map(|cell| average(cell, "excess", cell[0].parameter("shift")?))
            .collect::<Result<Vec<_>>>()?;
        let (low, high) = match (measured.first(), measured.last()) {
            (Some(first), Some(last)) => (first.x, last.x),
            _ => continue,
        };
        let line = (0..=60)
            .map(|i| {
                let c = low * (high / low).powf(f64::from(i) / 60.0);
                Ok(Point::at(c, predicted(settings, n, Some(m), c)?.0))
            })
            .collect::<Result<Vec<_>>>()?;
        found.series.push(Series::predicted(CORRECTED, GREY, line));
        found
            .series
            .push(bars(&format!("*N* = {n}"), colour, measured, INTERVAL));
    }
    found.rules.push(Rule {
        label: String::new(),
        vertical: true,
        at: 1.0,
    });
    Ok(found)
}

fn softmax(settings: &LsaFlow, cells: &[&[Row]]) -> Result<Panel> {
    let title = "beside softmax attention";
    let mut found = panel(
        title,
        Axis::log("*N* = *M*"),
        Axis::log("risk, random tasks"),
    );
    let (mut linear, mut soft, mut law) = (vec![], vec![], vec![]);
    for cell in cells {
        let n = cell[0].parameter("N")?;
        linear.push(average(cell, "linear", n)?);
        soft.push(average(cell, "softmax", n)?);
        law.push(Point::at(
            n,
            2.0 * settings.risk_training(n as usize)?.minimum(),
        ));
    }
    found.series.push(Series::predicted("2 min *L*", GREY, law));
    found
        .series
        .push(bars("linear attention", 3, linear, INTERVAL));
    found
        .series
        .push(bars("softmax attention", 7, soft, INTERVAL));
    Ok(found)
}

fn starts(settings: &LsaFlow, cells: &[&[Row]]) -> Result<Figure> {
    let mut found = panel(
        "",
        Axis::log("training examples *N*"),
        Axis::linear("share at the global minimum").from_to(-0.04, 1.04),
    );
    for (colour, (scale, group)) in groups(cells, "scale")?.into_iter().enumerate() {
        let mut points = vec![];
        for cell in group {
            let reached = cell
                .iter()
                .map(|r| r.number("reached"))
                .sum::<Result<f64>>()?;
            let all = (settings.starts * cell.len()) as u64;
            let e = binomial(reached as u64, all, 0.95)?;
            points.push(Point::between(
                cell[0].parameter("N")?,
                e.value,
                e.low,
                e.high,
            ));
        }
        let label = format!("weights of standard deviation {scale}");
        found.series.push(Series {
            band: false,
            ..Series::measured(label, colour, points).with_interval(INTERVAL)
        });
    }
    Ok(Figure {
        name: "lsa_starts".into(),
        title: "From dense weights the flow need not find the global minimum".into(),
        caption: format!(
            "Share of {} flows from independent normal weights in all places that matter that end within \
             1e-4 of the least loss, *d* = {}, eigenvalues of *Λ* from 1 to 1/3; bars: 95 % \
             (Clopper-Pearson). The rows say how many of the others are at rest in a \
             local minimum with *u* = 0, *B* = 0.",
            settings.starts * settings.trials as usize,
            settings.start_dim,
        ),
        width: Width::Column,
        columns: 1,
        panels: vec![found],
    })
}
