//! The horizon law where a picture needs it at many places: solved from a good guess to the width of a line.

use crate::quantities::{CLUSTERS, DELTA, DIM, TOKENS};
use crate::theory::Horizon;
use crate::theory::printed::self_match_lambda;
use attnlab_core::stats::{Estimate, quantile_interval};
use attnlab_lab::experiment::draw::{LEVEL, numbers};
use attnlab_lab::experiment::plane::Plane;
use attnlab_lab::figure::Point;
use attnlab_lab::prelude::*;
use rayon::prelude::*;

/// Error of log Λ at which a root is good enough: log Λ has the slope of about 15 in log θ or log δ,
/// so θ is right to 4e-4, far below a line's width and a cell's interval.
const CLOSE: f64 = 6e-3;
/// That slope, for the first step.
const SLOPE: f64 = 15.0;

/// The root of an increasing function that is nearly linear with slope [`SLOPE`], by secants from
/// `start`; None where ten steps do not reach it.
fn secant(excess: impl Fn(f64) -> f64, start: f64) -> Option<f64> {
    let (mut x, mut value) = (start, excess(start));
    let mut slope = SLOPE;
    for _ in 0..10 {
        if value.abs() < CLOSE {
            return Some(x);
        }
        // A factor of 2 in θ at most: further out the slope is another.
        let step = (-value / slope).clamp(-0.7, 0.7);
        let (next, then) = (x + step, excess(x + step));
        let secant = (then - value) / step;
        slope = if secant.is_finite() { secant.clamp(2.0, 60.0) } else { SLOPE };
        (x, value) = (next, then);
    }
    None
}

/// The horizon law at the parameters of a row, and τ.
pub(super) fn law_of(row: &Row, tau: f64) -> Result<Horizon> {
    let whole = |name| row.parameter(name).map(|x| x as usize);
    let (n, k, p) = (whole(TOKENS.name)?, whole(CLUSTERS.name)?, whole(DIM.name)?);
    Horizon::new(n, k, p, row.parameter(DELTA.name)?, tau)
}

/// The θ by which the pattern (30) has broken in half of the draws, near `guess`.
pub(super) fn median_theta(law: &Horizon, guess: f64) -> Result<f64> {
    let excess = |u: f64| (law.lambda(u.exp()) / 2.0_f64.ln()).ln().max(-300.0);
    match secant(excess, guess.ln()) {
        Some(u) => Ok(u.exp()),
        None => law.theta(0.5),
    }
}

/// 0.62 √log N: about where θδ√p lies when the pattern breaks, at N of hundreds and thousands.
pub(super) fn typical_reach(tokens: usize) -> f64 {
    0.62 * (tokens as f64).ln().sqrt()
}

/// The curve (p, δ) on which half of the draws keep the pattern (30) up to θ, by the law together with
/// the signal columns in which another token matches (which bound p from below), for p up to `most`.
fn half_curve((tokens, clusters): (usize, usize), tau: f64, theta: f64, most: f64) -> Vec<Point> {
    let half = 2.0_f64.ln();
    let matched = |p: usize| self_match_lambda(tokens, clusters, p);
    let Some(least) = (1..=most as usize).find(|p| matched(*p) < half) else { return vec![] };
    // Dense where the curve bends upwards from the least p, then a few per decade.
    let bend = (0..5).map(|i| least + (1 << i) - 1);
    let rest = (1..=6).map(|i| (least as f64 * (most / least as f64).powf(f64::from(i) / 6.0)) as usize);
    let mut dims: Vec<usize> = bend.chain(rest).filter(|p| *p as f64 <= most).collect();
    dims.sort_unstable();
    dims.dedup();
    let point = |p: &usize| -> Option<Point> {
        let allowed = half - matched(*p);
        let excess = |u: f64| {
            let law = Horizon::new(tokens, clusters, *p, u.exp(), tau);
            law.map_or(f64::NAN, |law| (law.lambda(theta) / allowed).ln().max(-300.0))
        };
        let guess = typical_reach(tokens) / (theta * (*p as f64).sqrt());
        secant(excess, guess.ln()).map(|u| Point::at(*p as f64, u.exp()))
    };
    dims.par_iter().filter_map(point).collect()
}

/// Palette colour of the horizon law over a map: orange, seen on blue and on yellow.
pub(super) const LAW: usize = 4;

/// Kind of the intervals of [`median`].
pub(super) const MEDIAN: &str = "95 % interval of the median (order statistics)";

/// The median of a number over the draws of a cell, with its exact interval.
pub(super) fn median(rows: &[Row], name: &str) -> Result<Estimate> {
    quantile_interval(&numbers(rows, name)?, 0.5, LEVEL)
}

/// [`half_curve`] over a map of p and δ, and a little to its right.
pub(super) fn half_line(size: (usize, usize), tau: f64, theta: f64, plane: &Plane) -> Vec<Point> {
    half_curve(size, tau, theta, 1.3 * plane.x[plane.x.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_root_is_that_of_the_law() {
        for (n, k, p, delta, tau) in [(400, 2, 60, 0.05, 0.55), (960, 8, 100, 0.01, 0.9), (120, 2, 80, 0.12, 0.99)] {
            let law = Horizon::new(n, k, p, delta, tau).unwrap();
            let guess = typical_reach(n) / (delta * (p as f64).sqrt());
            let (quick, exact) = (median_theta(&law, guess).unwrap(), law.theta(0.5).unwrap());
            assert!((quick / exact - 1.0).abs() < 1e-3, "{quick} {exact}");
        }
    }

    #[test]
    fn on_the_curve_half_of_the_draws_hold() {
        let curve = half_curve((400, 2), 0.55, 1.275, 300.0);
        assert!(curve.len() >= 8 && curve.windows(2).all(|w| w[0].x < w[1].x));
        for Point { x: p, y: delta, .. } in &curve[5..] {
            let law = Horizon::new(400, 2, *p as usize, *delta, 0.55).unwrap();
            let expected = law.lambda(1.275) + self_match_lambda(400, 2, *p as usize);
            assert!((expected / 2.0_f64.ln()).ln().abs() < 0.01, "{p} {delta} {expected}");
        }
    }
}
