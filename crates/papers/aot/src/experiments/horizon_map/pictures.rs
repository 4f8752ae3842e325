//! The figure of `horizon_map`, from its rows.

use super::HorizonMap;
use crate::experiments::law::{LAW, MEDIAN, law_of, median, median_theta, typical_reach};
use crate::quantities::*;
use attnlab_lab::experiment::draw::{self, with_word};
use attnlab_lab::experiment::plane::Plane;
use attnlab_lab::figure::{Axis, Cell, Heat, Panel, Stroke};
use attnlab_lab::prelude::*;
use rayon::prelude::*;
use std::collections::BTreeMap;

const DEPTH: &str = "depth in layers";
const RATIO: &str = "*θ*_{crit}, measured / law";
/// The ratio's colours reach to 15 % on both sides: draws of one cell spread by about 8 %.
const RATIO_ENDS: (f64, f64) = (0.85, 1.15);

/// One map: what is varied besides δ√p, and how its axis is drawn.
struct Slice<'a> {
    plane: Plane<'a>,
    group: &'static str,
    axis: Axis,
    title: &'static str,
}

pub fn figures(settings: &HorizonMap, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = draw::cells("horizon_map", rows)?;
    let slices = slices(settings, &cells)?;
    let deepest = deepest(settings, &cells)?;
    let laws = laws(&cells)?;
    let above = slices.iter().map(|slice| depth(settings, slice, &laws, deepest));
    let panels = above.chain(slices.iter().map(|slice| ratio(slice, &laws))).collect::<Result<Vec<_>>>()?;
    let ratios = panels[slices.len()..].iter().filter_map(|p| p.heat.as_ref()).flat_map(|h| h.cells.concat());
    let ratios: Vec<Cell> = ratios.filter(|c| c.value.is_finite()).collect();
    let marked = ratios.iter().filter(|c| c.hatched).count();
    let title = "How deep Theorem 1 holds, measured and predicted";
    let HorizonMap { base_tokens, base_clusters, base_tau, dim, eta, .. } = settings;
    Ok(vec![Figure::page("horizon_map", title, slices.len(), panels).captioned(format!(
        "Depth to which the pattern (30), and with it the linear rate (8), is exact, over the noise *δ* √*p* and over \
         *N*, *K* and *τ*; the others are *N* = {base_tokens}, *K* = {base_clusters}, *τ* = {base_tau}, and *p* = \
         {dim}, *η* = {eta}: median over {} draws per cell, every column of every head measured. Above: in layers, \
         log *θ*_{{crit}} / log(1 + *ητ*); lines at whole depths, solid by the measured medians, dashed by the \
         horizon law. Below: the measured median of *θ*_{{crit}} over the law's. Hatched: the exact 95 % interval of \
         the median does not hold the law's, in {marked} of {} cells; chance alone would do so in at most 5 %.",
        cells[0].len(),
        ratios.len(),
    ))])
}

fn slices<'a>(settings: &HorizonMap, cells: &[&'a [Row]]) -> Result<Vec<Slice<'a>>> {
    let whole = |values: &[usize]| values.iter().map(|v| *v as f64).collect::<Vec<_>>();
    // τ enters the law by its odds; the ticks say τ.
    let odds = settings.tau.iter().map(|tau| (tau / (1.0 - tau), tau.to_string()));
    let mut slices = vec![];
    for (group, axis, title) in [
        (TOKENS.name, Axis::log("tokens *N*").ticks_at(&whole(&settings.tokens)), "over *N*"),
        (CLUSTERS.name, Axis::log("clusters *K*").ticks_at(&whole(&settings.clusters)), "over *K*"),
        (TAU.name, Axis::log("threshold *τ*").ticks_named(odds), "over *τ*"),
    ] {
        let cells = with_word(cells, GROUP, group);
        if !cells.is_empty() {
            slices.push(Slice { plane: Plane::arrange(&cells, NOISE_LENGTH, group)?, group, axis, title });
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

    fn panel(&self, heat: Heat) -> Panel {
        Panel::new(self.title, Axis::log("noise *δ* √*p*"), self.axis.clone()).coloured(heat)
    }
}

/// The law's median of θ_crit in every cell, by the cell's name; 1 where it breaks before the first layer, as measured.
fn laws(cells: &[&[Row]]) -> Result<BTreeMap<String, f64>> {
    let law = |rows: &&[Row]| -> Result<(String, f64)> {
        let row = &rows[0];
        let guess = typical_reach(row.parameter(TOKENS.name)? as usize) / row.parameter(NOISE_LENGTH.name)?;
        let theta = median_theta(&law_of(row, row.parameter(TAU.name)?)?, guess)?;
        Ok((row.cell.clone(), theta.max(1.0)))
    };
    cells.par_iter().map(law).collect()
}

/// θ as a number of layers.
fn layers(settings: &HorizonMap, row: &Row, theta: f64) -> Result<f64> {
    Ok(theta.ln() / (settings.eta * row.parameter(TAU.name)?).ln_1p())
}

/// The largest measured depth, for the end of the colour bar.
fn deepest(settings: &HorizonMap, cells: &[&[Row]]) -> Result<f64> {
    let depth = |rows: &&[Row]| layers(settings, &rows[0], median(rows, "theta")?.value);
    let depths = cells.iter().map(depth).collect::<Result<Vec<_>>>()?;
    Ok(depths.into_iter().filter(|depth| depth.is_finite()).fold(1.0_f64, f64::max).ceil())
}

fn depth(settings: &HorizonMap, slice: &Slice, laws: &BTreeMap<String, f64>, deepest: f64) -> Result<Panel> {
    let bar = || Axis::linear(DEPTH).from_to(0.0, deepest);
    let heat = slice.heat(bar(), |rows| {
        let rate = (settings.eta * rows[0].parameter(TAU.name)?).ln_1p();
        Ok(Cell::of(median(rows, "theta")?.map(|theta| theta.ln() / rate)))
    })?;
    let by_law = slice.heat(bar(), |rows| Ok(Cell::of(layers(settings, &rows[0], laws[&rows[0].cell])?)))?;
    // Every second whole depth: more lines than that hide the cells.
    let levels: Vec<f64> = (1..=deepest as u32 / 2).map(|l| f64::from(2 * l)).collect();
    let measured = heat.contour("measured", &levels).named(|l| l.to_string());
    let by_law = by_law.contour("horizon law", &levels).drawn(Stroke::Dashed, LAW);
    Ok(slice.panel(heat.explained(MEDIAN, "")).contoured(measured).contoured(by_law))
}

fn ratio(slice: &Slice, laws: &BTreeMap<String, f64>) -> Result<Panel> {
    let heat = slice.heat(Axis::linear(RATIO).from_to(RATIO_ENDS.0, RATIO_ENDS.1), |rows| {
        let (e, law) = (median(rows, "theta")?, laws[&rows[0].cell]);
        Ok(Cell::of(e.map(|theta| theta / law)).hatched_if(!e.covers(law)))
    })?;
    Ok(slice.panel(heat.parted_at(1.0).explained(MEDIAN, "95 % interval of the median does not hold the law's")))
}
