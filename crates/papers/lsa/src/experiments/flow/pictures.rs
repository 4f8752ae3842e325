//! The figures of `lsa_flow`, from its rows.

use super::super::common::{INTERVAL, LAYERS, TIME, law, mean, median, slope_label, times};
use super::LsaFlow;
use crate::quantities::{CONDITION, CONTEXT, ETA, EXAMPLES, PART, SHIFT, SHIFTED, SHIFTS};
use crate::theory::printed_risk;
use attnlab_lab::experiment::draw::{BAND, band, cells, curve, groups, log_spaced, over, with_word};
use attnlab_lab::figure::{Axis, GREY, INK, Panel, Point, Rule, Series, Stroke};
use attnlab_lab::prelude::*;

const GAP: &str = "(*L* − min *L*) / start";

pub fn figures(settings: &LsaFlow, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = cells(LsaFlow::NAME, rows)?;
    let part = |name: &str| with_word(&cells, PART, name);
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
    let flow_times = times(settings.until, settings.points);
    let by_condition = |title: &str, y: Axis, name: &str| {
        Panel::new(title, Axis::log(TIME), y).curves(flows, |colour, cell| {
            let label = format!("condition number {}", cell[0].parameter(CONDITION.name)?);
            Ok(curve(label, colour, band(cell, name, &flow_times)?))
        })
    };
    // Below, rounding and the tolerance of the integrator.
    let gap = by_condition("loss along the flow", Axis::log(GAP).from_to(1e-20, 3.0), "gap")?;
    let y = Axis::log("‖*uB* − *Γ*^{−1}‖ / ‖*Γ*^{−1}‖").from_to(1e-11, 3.0);
    let distance = by_condition("distance to the limit", y, "distance")?;
    let times = settings.descent_times();
    let steps = Panel::new("gradient descent beside the flow", Axis::log("time *t* = steps × *η*"), Axis::log(GAP))
        .curves(descents, |i, cell| {
            let label = format!("gradient descent, *η* = {}", cell[0].parameter(ETA.name)?);
            Ok(curve(label, i + 3, band(cell, "gap", &times)?))
        })?
        .curves(descents.first(), |_, cell| {
            let points = band(cell, "flow_gap", &times)?.iter().map(|p| Point::at(p.x, p.y)).collect();
            Ok(Series::predicted("flow", INK, points))
        })?;
    let of_descent = over(descents, ETA, |cell| median(cell, "drift"))?;
    let line = law(&of_descent, |eta| Ok(of_descent[0].y * eta / of_descent[0].x))?;
    let (x, y) = (Axis::log("step size *η*"), Axis::log("largest relative drift"));
    let drift = Panel::new("drift of |*v*|² + *u*² − ‖*B*‖² − |*c*|²", x, y)
        .with_any(Series::predicted("in proportion to *η*", GREY, line))
        .with(bars("gradient descent", GREY, of_descent, BAND))
        .with(bars("flow, integrated", INK, over(descents, ETA, |cell| median(cell, "flow_drift"))?, BAND));
    let title = "Gradient flow of linear self-attention and its limit";
    let LsaFlow { dim, context, scale, trials, descent_condition, .. } = settings;
    Ok(Figure::page("lsa_flow", title, 2, vec![gap, distance, steps, drift]).captioned(format!(
        "Gradient flow on the population loss from the theorem's initial weights, *d* = {dim}, *N* = {context}, \
         *σ* = {scale}: median and 10-90 % over {trials} draws of *Θ*. (a), (b): by the condition number of *Λ*. \
         (c), (d): gradient descent at condition number {descent_condition}; a flow conserves the quantity in (d) \
         exactly, and its integrator to what is shown."
    )))
}

fn test_risk<'a>(settings: &LsaFlow, of_part: &impl Fn(&str) -> Vec<&'a [Row]>) -> Result<Figure> {
    let panels = vec![
        against_m(settings, &of_part("risk"))?,
        against_n(settings, &of_part("risk"), &of_part("limit"))?,
        softmax(settings, &of_part("softmax"))?,
    ];
    let LsaFlow { dim, risk_condition, noise_var, trials, prompts, .. } = settings;
    Ok(Figure::page("lsa_risk", "Test risk of trained linear self-attention", 3, panels).captioned(format!(
        "Excess risk over the best linear predictor after training on prompts of *N* examples, tested on *M*; *d* = \
         {dim}, eigenvalues of *Λ* from 1 to 1/{risk_condition}, task of unit variance, label noise of variance \
         {noise_var} at test. Points: mean over {trials} × {prompts} prompts with 95 % interval; dashed: the \
         corrected formula; dotted: the formula as printed. (b): *M* = ∞ from the weights at the end of the flow, \
         median and 10-90 % of draws. Slopes: of the means with 95 % interval, in (a) over the excess less its limit \
         for *M* → ∞, in (b) over the last three *N*. (c): risk for random tasks with *M* = *N*, softmax attention \
         at its best temperature and scale; dash-dotted: 2 min *L* of linear attention."
    )))
}

/// The corrected and the printed excess risk at N and M; None for M is M → ∞.
fn predicted(settings: &LsaFlow, n: f64, m: Option<f64>) -> Result<(f64, f64)> {
    let count = m.map_or(usize::MAX, |m| m as usize);
    let test = settings.test(n as usize, count, "covariance", 1.0)?;
    let moments = test.target.moments(&test.examples, test.noise_var);
    Ok((test.predicted(m.is_none()).excess(), printed_risk(&test.training, &moments, count).excess()))
}

const CORRECTED: &str = "corrected formula";
const PRINTED: &str = "formula as printed";

/// The first, the middle and the last: more curves than that hide each other.
fn three<T>(groups: Vec<T>) -> Vec<T> {
    let last = groups.len().saturating_sub(1);
    let keep = [0, last / 2, last];
    groups.into_iter().enumerate().filter(|(i, _)| keep.contains(i)).map(|(_, g)| g).collect()
}

fn against_m(settings: &LsaFlow, cells: &[&[Row]]) -> Result<Panel> {
    let mut panel = Panel::new("against the test context", Axis::log("test examples *M*"), Axis::log("excess risk"));
    for (colour, (n, group)) in three(groups(cells, CONTEXT)?).into_iter().enumerate() {
        let measured = over(&group, EXAMPLES, |cell| mean(cell, "excess"))?;
        let line = law(&measured, |m| Ok(predicted(settings, n, Some(m))?.0))?;
        let mut label = format!("*N* = {n}");
        // Of the largest N: of the others the limit for M → ∞ is most of the excess.
        if Some(&(n as usize)) == settings.contexts.iter().max() {
            let limit = predicted(settings, n, None)?.0;
            let slope = slope_label(&group, EXAMPLES, |row| Ok(row.number("excess")? - limit))?;
            label += &slope.map_or(String::new(), |slope| format!(": slope {slope}"));
        }
        panel = panel.with(Series::predicted(CORRECTED, GREY, line)).with(bars(&label, colour, measured, INTERVAL));
    }
    Ok(panel)
}

fn against_n(settings: &LsaFlow, cells: &[&[Row]], limits: &[&[Row]]) -> Result<Panel> {
    let measured = over(limits, CONTEXT, |cell| median(cell, "excess"))?;
    let corrected = law(&measured, |n| Ok(predicted(settings, n, None)?.0))?;
    let printed = law(&measured, |n| Ok(predicted(settings, n, None)?.1))?;
    let slope = law(&corrected, |n| {
        let last = corrected[corrected.len() - 1];
        Ok(last.y * (last.x / n).powi(2))
    })?;
    let mut label = "*M* = ∞".to_string();
    if let Some(slope) = slope_label(&limits[limits.len().saturating_sub(3)..], CONTEXT, |row| row.number("excess"))? {
        label += &format!(": slope {slope}");
    }
    let x = Axis::log("training examples *N*");
    let mut panel = Panel::new("against the training context", x, Axis::log("excess risk"))
        .with(Series::predicted(PRINTED, GREY, printed).drawn(Stroke::Dotted))
        .with_any(Series::predicted("slope −2", GREY, slope).drawn(Stroke::Solid))
        .with(Series::predicted(CORRECTED, GREY, corrected))
        .with(bars(&label, INK, measured, BAND));
    for (colour, (m, group)) in three(groups(cells, EXAMPLES)?).into_iter().enumerate() {
        let measured = over(&group, CONTEXT, |cell| mean(cell, "excess"))?;
        let line = law(&measured, |n| Ok(predicted(settings, n, Some(m))?.0))?;
        let label = format!("*M* = {m}");
        panel = panel.with(Series::predicted(CORRECTED, GREY, line)).with(bars(&label, colour, measured, INTERVAL));
    }
    Ok(panel)
}

/// One panel for each kind of shift.
fn shifts(settings: &LsaFlow, cells: &[&[Row]]) -> Result<Figure> {
    let panels = SHIFTS.map(|what| shift(settings, what, &with_word(cells, SHIFTED, what)));
    let panels = panels.into_iter().collect::<Result<_>>()?;
    let LsaFlow { dim, risk_condition, context, noise_var, trials, prompts, .. } = settings;
    Ok(Figure::page("lsa_shift", "Trained linear self-attention under shifts", 3, panels).captioned(format!(
        "Excess risk over the best linear predictor, relative to the variance of the noiseless label at the query, \
         when (a) examples and query, (b) the query alone have covariance *cΛ*, (c) the variance of the labels is \
         *c* times as large through the task. *d* = {dim}, eigenvalues of *Λ* from 1 to 1/{risk_condition}, *M* = \
         {context}, label noise of variance {noise_var} at test. Points: mean over {trials} × {prompts} prompts with \
         95 % interval; dashed: the formula."
    )))
}

fn shift(settings: &LsaFlow, what: &str, cells: &[&[Row]]) -> Result<Panel> {
    let title = match what {
        "covariance" => "examples and query",
        "query" => "the query alone",
        _ => "the task",
    };
    let mut panel =
        Panel::new(title, Axis::log("*c*"), Axis::log("excess risk / signal")).ruled(Rule::vertical("", 1.0));
    for (colour, (n, group)) in groups(cells, CONTEXT)?.into_iter().enumerate() {
        let test = |c: f64| settings.test(n as usize, settings.context, what, c);
        let mut measured = over(&group, SHIFT, |cell| mean(cell, "excess"))?;
        for p in &mut measured {
            let signal = test(p.x)?.signal();
            *p = Point::between(p.x, p.y / signal, p.low() / signal, p.high() / signal);
        }
        let (low, high) = (measured[0].x, measured[measured.len() - 1].x);
        let line = log_spaced(low, high, 61).into_iter().map(|c| {
            let test = test(c)?;
            Ok(Point::at(c, test.predicted(false).excess() / test.signal()))
        });
        panel = panel.with(Series::predicted("formula", GREY, line.collect::<Result<_>>()?)).with(bars(
            &format!("*N* = {n}"),
            colour,
            measured,
            INTERVAL,
        ));
    }
    // The other two vary by less than a decade.
    if what != "covariance" {
        let high = panel.points().map(Point::high).fold(0.0_f64, f64::max);
        panel.y = Axis::linear("excess risk / signal").from_to(0.0, 1.05 * high);
    }
    Ok(panel)
}

fn softmax(settings: &LsaFlow, cells: &[&[Row]]) -> Result<Panel> {
    let minima = over(cells, CONTEXT, |cell| {
        Ok(2.0 * settings.risk_training(cell[0].parameter(CONTEXT.name)? as usize)?.minimum())
    })?;
    Panel::new("beside softmax attention", Axis::log("*N* = *M*"), Axis::log("risk, random tasks"))
        .with(Series::predicted("2 min *L*", INK, minima).drawn(Stroke::DashDotted))
        .curves(LAYERS, |_, (name, colour)| {
            Ok(bars(&format!("{name} attention"), colour, over(cells, CONTEXT, |cell| mean(cell, name))?, INTERVAL))
        })
}
