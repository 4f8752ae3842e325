//! The figure of `coherence_map`, from its rows.

use super::CoherenceMap;
use super::noise_unit;
use crate::experiments::law::{LAW, MEDIAN, median, median_theta, typical_reach};
use crate::quantities::*;
use crate::theory::Horizon;
use attnlab_lab::experiment::draw::{self, drawable, ends, over, with_number, with_word};
use attnlab_lab::experiment::plane::{Plane, finer};
use attnlab_lab::figure::{Axis, Cell, Contour, Panel, Point, Scale, Series, Stroke};
use attnlab_lab::prelude::*;
use rayon::prelude::*;

/// Points per axis of closed forms over the map.
const FINE: usize = 32;
/// Steps of the bisection for log θ, which is at most ten: to 1e-6.
const HALVINGS: usize = 24;

pub fn figures(settings: &CoherenceMap, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = draw::cells("coherence_map", rows)?;
    let coherent = drawable("coherence_map", with_word(&cells, GROUP, super::COHERENT))?;
    let random = with_word(&cells, GROUP, super::RANDOM);
    let least = settings.least_noise();
    let law = Law::tabulated(settings, least)?;
    let panels = vec![map(&law, &coherent)?, curves(settings, &law, least, &coherent, &random)?];
    let CoherenceMap { tokens, clusters, dim, eta, tau, layers, .. } = settings;
    let title = "How much coherence of the subspaces Theorem 1 survives";
    Ok(vec![Figure::page("coherence_map", title, 2, panels).captioned(format!(
        "Number of updates for which (8) is exact in every cluster, for bases with *U*_{{k}}ᵀ*U*_{{l}} = *c* *I*; *N* \
         = {tokens}, *K* = {clusters}, *p* = {dim}, *η* = {eta}, *τ* = {tau}: median over {} draws, networks of \
         {layers} layers. (a) Over coherence *c* and noise; lines: equal depth, solid as measured, dashed by the \
         horizon law with the noise √(*δ*² + *c*²*θ*²) that a token has in a foreign head when its signal has grown \
         to *θ*; hatched: the exact 95 % interval of the median is wider than one update. (b) At the least noise, \
         {least} √(log *N* / *p*), also for independent random subspaces of ℝ^{{*d*}}, at *c* = √(*p* / *d*); bars: \
         exact 95 % intervals of the median.",
        coherent[0].len(),
    ))])
}

/// The law's median θ over δ at the size of the experiment, tabulated: θδ varies by some per cent over
/// the whole range, so that lines between a few points are as good as the law.
struct Law {
    /// log δ, ascending, and log θ there.
    table: Vec<(f64, f64)>,
    rate: f64,
    unit: f64,
}

impl Law {
    fn tabulated(settings: &CoherenceMap, least: f64) -> Result<Law> {
        let (n, k, p) = (settings.tokens, settings.clusters, settings.dim);
        let unit = noise_unit(n, p);
        // From the least noise to that which breaks the pattern before the first layer.
        let low = (least * unit).ln();
        let high = (2.0 * typical_reach(n) / (p as f64).sqrt()).ln();
        let points = 16;
        let point = |i: usize| -> Result<(f64, f64)> {
            let u = low + (high - low) * i as f64 / (points - 1) as f64;
            let law = Horizon::new(n, k, p, u.exp(), settings.tau)?;
            let guess = typical_reach(n) / (u.exp() * (p as f64).sqrt());
            Ok((u, median_theta(&law, guess)?.ln()))
        };
        Ok(Law {
            table: (0..points).into_par_iter().map(point).collect::<Result<_>>()?,
            rate: (settings.eta * settings.tau).ln_1p(),
            unit,
        })
    }

    fn ln_theta(&self, ln_delta: f64) -> f64 {
        let last = self.table.len() - 2;
        let i = self.table.partition_point(|(u, _)| *u < ln_delta).saturating_sub(1).min(last);
        let ((a, fa), (b, fb)) = (self.table[i], self.table[i + 1]);
        fa + (fb - fa) * (ln_delta - a) / (b - a)
    }

    /// log θ_crit / log(1 + ητ) at coherence c, which adds cθ to the noise as the signal grows; 0 where
    /// the pattern breaks before the first layer.
    fn depth(&self, c: f64, noise: f64) -> f64 {
        let delta = noise * self.unit;
        let beyond = |u: f64| u > self.ln_theta(delta.hypot(c * u.exp()).ln());
        if beyond(0.0) {
            return 0.0;
        }
        // Without coherence the pattern lasts longest.
        let (mut low, mut high) = (0.0, self.ln_theta(delta.ln()).max(0.0));
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if beyond(middle) { high = middle } else { low = middle }
        }
        0.5 * (low + high) / self.rate
    }
}

fn map(law: &Law, cells: &[&[Row]]) -> Result<Panel> {
    let plane = Plane::arrange(cells, COHERENCE, NOISE)?;
    let mut heat = plane.heat(Axis::whole(UPDATES), |rows| {
        let e = median(rows, "updates")?;
        Ok(Cell::of(e).hatched_if(e.high - e.low > 1.0))
    })?;
    let deepest = heat.cells.iter().flatten().map(|c| c.value).fold(1.0, f64::max);
    heat.bar = heat.bar.from_to(0.0, deepest);
    // ⌈x⌉ updates are exact: the line of depth l lies where the median passes l - 1/2.
    let levels: Vec<f64> = (1..=deepest as u32 / 3).map(|l| f64::from(3 * l)).collect();
    let middles: Vec<f64> = levels.iter().map(|l| l - 0.5).collect();
    let measured = heat.contour("measured", &middles).named(|middle| (middle + 0.5).to_string());
    let (x, y) = (finer(&plane.x, Scale::Log, FINE), finer(&plane.y, Scale::Log, FINE));
    let starts: Vec<f64> = levels.iter().map(|l| l - 1.0).collect();
    let by_law = Contour::of_field(BY_LAW, &x, &y, &starts, |c, noise| law.depth(c, noise));
    let hatching = "95 % interval of the median is wider than one update";
    Ok(Panel::new("coherent bases", Axis::log("coherence *c*"), Axis::log("noise, *δ* / √(log *N* / *p*)"))
        .contoured(measured)
        .contoured(by_law.drawn(Stroke::Dashed, LAW))
        .coloured(heat.explained(MEDIAN, hatching)))
}

const UPDATES: &str = "exact updates (median)";
const BY_LAW: &str = "horizon law with the noise of coherence";

fn curves(settings: &CoherenceMap, law: &Law, least: f64, coherent: &[&[Row]], random: &[&[Row]]) -> Result<Panel> {
    let fixed = over(&with_number(coherent, NOISE, least), COHERENCE, |rows| median(rows, "updates"))?;
    let mut haar = over(random, AMBIENT, |rows| median(rows, "updates"))?;
    haar.iter_mut().for_each(|point| point.x = (settings.dim as f64 / point.x).sqrt());
    let (low, high) = ends(fixed.iter().chain(&haar).map(|p| p.x));
    let grid = finer(&[low, high], Scale::Log, 400);
    let by_law = grid.iter().map(|c| Point::at(*c, law.depth(*c, least).ceil())).collect();
    Ok(Panel::new("the least noise", Axis::log("coherence *c*, or √(*p* / *d*)"), Axis::whole(UPDATES))
        .with(Series::predicted(BY_LAW, LAW, by_law))
        .with(Series::bars("*U*_{k}ᵀ*U*_{l} = *c* *I*", 0, fixed).with_interval(MEDIAN))
        .with(Series::bars("independent random subspaces", 1, haar).with_interval(MEDIAN)))
}
