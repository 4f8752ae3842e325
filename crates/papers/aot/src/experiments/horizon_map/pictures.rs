//! The figure of `horizon_map`, from its rows.

use super::HorizonMap;
use crate::experiments::law::{median_theta, typical_reach};
use crate::quantities::*;
use crate::theory::Horizon;
use attnlab_core::error::{Error, Result};
use attnlab_core::stats::{Estimate, quantile_interval};
use attnlab_lab::experiment::plane::Plane;
use attnlab_lab::figure::{Axis, Cell, Contour, Figure, Heat, Palette, Panel, Stroke, Width};
use attnlab_lab::run::Row;
use attnlab_lab::run::store::by_cell;
use rayon::prelude::*;
use std::collections::BTreeMap;

const LEVEL: f64 = 0.95;
const INTERVAL: &str = "95 % interval of the median (order statistics)";
const DEPTH: &str = "depth in layers";
const RATIO: &str = "*θ*_{crit}, measured / law";
/// Palette colour of the horizon law over a map: orange, seen on blue and on yellow.
const LAW: usize = 4;
/// The ratio's colours reach to 15 % on both sides: draws of one cell spread by about 8 %.
const RATIO_ENDS: (f64, f64) = (0.85, 1.15);

/// One map: what is varied besides δ√p, and how its axis is drawn.
struct Slice<'a> {
    plane: Plane<'a>,
    group: &'static str,
    axis: Axis,
    title: String,
}

pub fn figures(settings: &HorizonMap, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = by_cell(rows);
    let slices = slices(settings, &cells)?;
    if slices.is_empty() {
        let problem = "no rows to draw; run the experiment first".into();
        let path = "rows of horizon_map".into();
        return Err(Error::Content { path, problem });
    }
    let deepest = deepest(settings, &cells)?;
    let laws = laws(&cells)?;
    let (mut above, mut below, mut marked, mut all) = (vec![], vec![], 0, 0);
    for slice in &slices {
        above.push(depth(settings, slice, &laws, deepest)?);
        let panel = ratio(slice, &laws)?;
        let cells = panel.heat.iter().flat_map(|h| h.cells.iter().flatten());
        for cell in cells.filter(|c| c.value.is_finite()) {
            all += 1;
            marked += usize::from(cell.hatched);
        }
        below.push(panel);
    }
    above.extend(below);
    Ok(vec![Figure {
        name: "horizon_map".into(),
        title: "How deep Theorem 1 holds, measured and predicted".into(),
        caption: format!(
            "Depth to which the pattern (30), and with it the linear rate (8), is exact, over the noise \
             *δ* √*p* and over *N*, *K* and *τ*; the others are *N* = {}, *K* = {}, *τ* = {}, and *p* = {}, \
             *η* = {}: median over {} draws per cell, every column of every head measured. Above: in layers, \
             log *θ*_{{crit}} / log(1 + *ητ*); lines at whole depths, solid by the measured medians, dashed by the horizon law. Below: the \
             measured median of *θ*_{{crit}} over the law's. Hatched: the exact 95 % interval of the median \
             does not hold the law's, in {marked} of {all} cells; chance alone would do so in at most 5 %.",
            settings.base_tokens,
            settings.base_clusters,
            settings.base_tau,
            settings.dim,
            settings.eta,
            cells[0].len(),
        ),
        width: Width::Page,
        columns: slices.len(),
        panels: above,
    }])
}

fn slices<'a>(settings: &HorizonMap, cells: &[&'a [Row]]) -> Result<Vec<Slice<'a>>> {
    let whole = |values: &[usize]| values.iter().map(|v| *v as f64).collect::<Vec<_>>();
    // τ enters the law by its odds; the ticks say τ.
    let odds = |tau: &f64| tau / (1.0 - tau);
    let mut tau_axis = Axis::log("threshold *τ*");
    tau_axis.ticks = settings.tau.iter().map(|t| (odds(t), t.to_string())).collect();
    let axes = [
        (TOKENS.name, Axis::log("tokens *N*").ticks_at(&whole(&settings.tokens)), "over *N*"),
        (CLUSTERS.name, Axis::log("clusters *K*").ticks_at(&whole(&settings.clusters)), "over *K*"),
        (TAU.name, tau_axis, "over *τ*"),
    ];
    let mut slices = vec![];
    for (group, axis, title) in axes {
        let is = |cell: &&[Row]| cell[0].word(GROUP.name).is_ok_and(|g| g == group);
        let own: Vec<&[Row]> = cells.iter().copied().filter(is).collect();
        if !own.is_empty() {
            let plane = Plane::arrange(&own, NOISE_LENGTH.name, group)?;
            slices.push(Slice { plane, group, axis, title: title.into() });
        }
    }
    Ok(slices)
}

impl Slice<'_> {
    /// A map over this slice, on the scale of its axis.
    fn heat(&self, bar: Axis, cell: impl Fn(&[Row]) -> Result<Cell>) -> Result<Heat> {
        let mut heat = self.plane.heat(bar, cell)?;
        if self.group == TAU.name {
            heat.y.iter_mut().for_each(|tau| *tau /= 1.0 - *tau);
        }
        Ok(heat)
    }

    fn panel(&self, heat: Heat, contours: Vec<Contour>) -> Panel {
        Panel {
            title: self.title.clone(),
            x: Axis::log("noise *δ* √*p*"),
            y: self.axis.clone(),
            heat: Some(heat),
            contours,
            ..Panel::default()
        }
    }
}

fn median(rows: &[Row]) -> Result<Estimate> {
    let theta: Result<Vec<f64>> = rows.iter().map(|r| r.number("theta")).collect();
    quantile_interval(&theta?, 0.5, LEVEL)
}

/// The law's median of θ_crit in every cell, by the cell's name; 1 where it breaks before the first
/// layer, as measured.
fn laws(cells: &[&[Row]]) -> Result<BTreeMap<String, f64>> {
    let one = |rows: &&[Row]| -> Result<(String, f64)> {
        let row = &rows[0];
        let whole = |name| row.parameter(name).map(|x| x as usize);
        let (n, k, p) = (whole(TOKENS.name)?, whole(CLUSTERS.name)?, whole(DIM.name)?);
        let law = Horizon::new(n, k, p, row.parameter(DELTA.name)?, row.parameter(TAU.name)?)?;
        let theta = median_theta(&law, typical_reach(n) / row.parameter(NOISE_LENGTH.name)?)?;
        Ok((row.cell.clone(), theta.max(1.0)))
    };
    cells.par_iter().map(one).collect()
}

/// θ as a number of layers.
fn layers(settings: &HorizonMap, row: &Row, theta: f64) -> Result<f64> {
    Ok(theta.ln() / (settings.eta * row.parameter(TAU.name)?).ln_1p())
}

/// The largest measured depth, for the end of the colour bar.
fn deepest(settings: &HorizonMap, cells: &[&[Row]]) -> Result<f64> {
    let mut deepest = 1.0_f64;
    for rows in cells {
        let depth = layers(settings, &rows[0], median(rows)?.value)?;
        if depth.is_finite() {
            deepest = deepest.max(depth);
        }
    }
    Ok(deepest.ceil())
}

fn depth(settings: &HorizonMap, slice: &Slice, laws: &BTreeMap<String, f64>, deepest: f64) -> Result<Panel> {
    let bar = || Axis::linear(DEPTH).from_to(0.0, deepest);
    let mut heat = slice.heat(bar(), |rows| {
        let e = median(rows)?;
        let [value, low, high] = [e.value, e.low, e.high].map(|t| layers(settings, &rows[0], t));
        Ok(Cell { interval: Some((low?, high?)), ..Cell::of(value?) })
    })?;
    heat.interval = INTERVAL.into();
    let by_law = slice.heat(bar(), |rows| Ok(Cell::of(layers(settings, &rows[0], laws[&rows[0].cell])?)))?;
    // Every second whole depth: more lines than that hide the cells.
    let levels: Vec<f64> = (1..=deepest as u32 / 2).map(|l| f64::from(2 * l)).collect();
    let measured = heat.contour("measured", &levels).named(|l| l.to_string());
    let by_law = by_law.contour("horizon law", &levels);
    let contours = vec![measured, by_law.drawn(Stroke::Dashed, LAW)];
    Ok(slice.panel(heat, contours))
}

fn ratio(slice: &Slice, laws: &BTreeMap<String, f64>) -> Result<Panel> {
    let bar = Axis::linear(RATIO).from_to(RATIO_ENDS.0, RATIO_ENDS.1);
    let mut heat = slice.heat(bar, |rows| {
        let (e, law) = (median(rows)?, laws[&rows[0].cell]);
        Ok(Cell { value: e.value / law, interval: Some((e.low / law, e.high / law)), hatched: !e.covers(law) })
    })?;
    heat.palette = Palette::Diverging(1.0);
    heat.interval = INTERVAL.into();
    heat.hatching = "95 % interval of the median does not hold the law's".into();
    Ok(slice.panel(heat, vec![]))
}
