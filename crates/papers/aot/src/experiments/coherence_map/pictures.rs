//! The figure of `coherence_map`, from its rows.

use super::CoherenceMap;
use super::noise_unit;
use crate::experiments::law::{median_theta, typical_reach};
use crate::quantities::*;
use crate::theory::Horizon;
use attnlab_core::error::{Error, Result};
use attnlab_core::stats::{Estimate, quantile_interval};
use attnlab_lab::experiment::plane::{Plane, finer};
use attnlab_lab::figure::{Axis, Cell, Contour, Figure, Panel, Point, Scale, Series, Stroke, Width};
use attnlab_lab::run::Row;
use attnlab_lab::run::store::by_cell;
use rayon::prelude::*;

const LEVEL: f64 = 0.95;
const INTERVAL: &str = "95 % interval of the median (order statistics)";
/// Points per axis of closed forms over the map.
const FINE: usize = 32;
/// Steps of the bisection for log θ, which is at most ten: to 1e-6.
const HALVINGS: usize = 24;
/// Palette colour of the horizon law over a map: orange, seen on blue and on yellow.
const LAW: usize = 4;

pub fn figures(settings: &CoherenceMap, rows: &[Row]) -> Result<Vec<Figure>> {
    let cells = by_cell(rows);
    let of_group = |group: &str| -> Vec<&[Row]> {
        let is = |cell: &&[Row]| cell[0].word(GROUP.name).is_ok_and(|g| g == group);
        cells.iter().copied().filter(is).collect()
    };
    let (coherent, random) = (of_group(super::COHERENT), of_group(super::RANDOM));
    if coherent.is_empty() {
        let problem = "no rows to draw; run the experiment first".into();
        let path = "rows of coherence_map".into();
        return Err(Error::Content { path, problem });
    }
    let draws = coherent[0].len();
    let law = Law::tabulated(settings)?;
    let least = settings.noise.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(vec![Figure {
        name: "coherence_map".into(),
        title: "How much coherence of the subspaces Theorem 1 survives".into(),
        caption: format!(
            "Number of updates for which (8) is exact in every cluster, for bases with *U*_{{k}}ᵀ*U*_{{l}} = \
             *c* *I*; *N* = {}, *K* = {}, *p* = {}, *η* = {}, *τ* = {}: median over {draws} draws, networks \
             of {} layers. (a) Over coherence *c* and noise; lines: equal depth, solid as measured, dashed \
             by the horizon law with the noise √(*δ*² + *c*²*θ*²) that a token has in a foreign head when \
             its signal has grown to *θ*; hatched: the exact 95 % interval of the median is wider than one \
             update. (b) At the least noise, {least} √(log *N* / *p*), also for independent random \
             subspaces of ℝ^{{*d*}}, at *c* = √(*p* / *d*); bars: exact 95 % intervals of the median.",
            settings.tokens, settings.clusters, settings.dim, settings.eta, settings.tau, settings.layers,
        ),
        width: Width::Page,
        columns: 2,
        panels: vec![map(&law, &coherent)?, curves(settings, &law, least, &coherent, &random)?],
    }])
}

fn median(rows: &[Row]) -> Result<Estimate> {
    let updates: Result<Vec<f64>> = rows.iter().map(|r| r.number("updates")).collect();
    quantile_interval(&updates?, 0.5, LEVEL)
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
    fn tabulated(settings: &CoherenceMap) -> Result<Law> {
        let (n, k, p) = (settings.tokens, settings.clusters, settings.dim);
        let unit = noise_unit(n, p);
        let least = settings.noise.iter().copied().fold(f64::INFINITY, f64::min);
        // From the least noise to that which breaks the pattern before the first layer.
        let low = (least * unit).ln();
        let high = (2.0 * typical_reach(n) / (p as f64).sqrt()).ln();
        let points = 16;
        let at = |i: usize| -> Result<(f64, f64)> {
            let u = low + (high - low) * i as f64 / (points - 1) as f64;
            let law = Horizon::new(n, k, p, u.exp(), settings.tau)?;
            let guess = typical_reach(n) / (u.exp() * (p as f64).sqrt());
            Ok((u, median_theta(&law, guess)?.ln()))
        };
        Ok(Law {
            table: (0..points).into_par_iter().map(at).collect::<Result<_>>()?,
            rate: (settings.eta * settings.tau).ln_1p(),
            unit,
        })
    }

    fn ln_theta(&self, ln_delta: f64) -> f64 {
        let last = self.table.len() - 2;
        let after = self.table.partition_point(|(u, _)| *u < ln_delta);
        let i = after.saturating_sub(1).min(last);
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
            match beyond(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        0.5 * (low + high) / self.rate
    }
}

fn map(law: &Law, cells: &[&[Row]]) -> Result<Panel> {
    let plane = Plane::arrange(cells, COHERENCE.name, NOISE.name)?;
    let mut bar = Axis::whole("exact updates (median)");
    bar.range = None;
    let mut heat = plane.heat(bar, |rows| {
        let e = median(rows)?;
        Ok(Cell { value: e.value, interval: Some((e.low, e.high)), hatched: e.high - e.low > 1.0 })
    })?;
    heat.interval = INTERVAL.into();
    heat.hatching = "95 % interval of the median is wider than one update".into();
    let shown = heat.cells.iter().flatten().map(|c| c.value);
    let deepest = shown.fold(1.0, f64::max);
    heat.bar = heat.bar.from_to(0.0, deepest);
    // ⌈x⌉ updates are exact: the line of depth l lies where the median passes l - 1/2.
    let levels: Vec<f64> = (1..=deepest as u32 / 3).map(|l| f64::from(3 * l)).collect();
    let middles: Vec<f64> = levels.iter().map(|l| l - 0.5).collect();
    let mut measured = heat.contour("measured", &middles);
    for (level, l) in measured.levels.iter_mut().zip(&levels) {
        level.1 = l.to_string();
    }
    let (x, y) = (finer(&plane.x, Scale::Log, FINE), finer(&plane.y, Scale::Log, FINE));
    let starts: Vec<f64> = levels.iter().map(|l| l - 1.0).collect();
    let by_law =
        Contour::of_field("horizon law with the noise of coherence", &x, &y, &starts, |c, noise| law.depth(c, noise));
    Ok(Panel {
        title: "coherent bases".into(),
        x: Axis::log("coherence *c*"),
        y: Axis::log("noise, *δ* / √(log *N* / *p*)"),
        contours: vec![measured, by_law.drawn(Stroke::Dashed, LAW)],
        heat: Some(heat),
        ..Panel::default()
    })
}

fn curves(settings: &CoherenceMap, law: &Law, least: f64, coherent: &[&[Row]], random: &[&[Row]]) -> Result<Panel> {
    let point = |rows: &[Row], x: f64| -> Result<Point> {
        let e = median(rows)?;
        Ok(Point::between(x, e.value, e.low, e.high))
    };
    let mut fixed = vec![];
    for rows in coherent {
        if rows[0].parameter(NOISE.name)? == least {
            fixed.push(point(rows, rows[0].parameter(COHERENCE.name)?)?);
        }
    }
    let mut haar = vec![];
    for rows in random {
        let d = rows[0].parameter(AMBIENT.name)?;
        haar.push(point(rows, (settings.dim as f64 / d).sqrt())?);
    }
    let xs: Vec<f64> = fixed.iter().chain(&haar).map(|p| p.x).collect();
    let ends = xs.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
    let grid = finer(&[ends.0, ends.1], Scale::Log, 400);
    let by_law = grid.iter().map(|c| Point::at(*c, law.depth(*c, least).ceil()));
    Ok(Panel {
        title: "the least noise".into(),
        x: Axis::log("coherence *c*, or √(*p* / *d*)"),
        y: Axis::whole("exact updates (median)"),
        series: vec![
            Series::predicted("horizon law with the noise of coherence", LAW, by_law.collect()),
            Series::bars("*U*_{k}ᵀ*U*_{l} = *c* *I*", 0, fixed).with_interval(INTERVAL),
            Series::bars("independent random subspaces", 1, haar).with_interval(INTERVAL),
        ],
        ..Panel::default()
    })
}
