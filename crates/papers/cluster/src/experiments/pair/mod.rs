//! The merging of the closest pair of clusters, path and duration.

mod pictures;

use super::{PART, cell, data, log_times};
use crate::PAPERS;
use crate::claims::pair::{angle, place, printed_time};
use crate::quantities::{ANGLE, BETA, CLUSTERS, DIM, GAP, MASS_I, MASS_J};
use crate::setting::flow;
use attnlab_core::error::{Error, Result, positive};
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::{Described, Experiment, settings};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::{Row, store};
use attnlab_theory::dynamics::flow::Watch;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Settings of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosestPair {
    /// Draws of the other clusters.
    pub trials: u64,
    /// Number of clusters.
    pub clusters: usize,
    /// Dimension of the space.
    pub dim: usize,
    /// Distance of the pair's inner product from all others.
    pub gap: f64,
    /// Angle of the pair at the start.
    pub angle: f64,
    /// Masses of the pair in the paths.
    pub masses: [f64; 2],
    /// Inverse temperatures of the paths.
    pub betas: Vec<f64>,
    /// Last rescaled time of the paths.
    pub until: f64,
    /// Number of times.
    pub points: usize,
    /// Ratios of the masses in the durations.
    pub ratios: Vec<f64>,
    /// Inverse temperatures of the durations.
    pub duration_betas: Vec<f64>,
}

impl Described for ClosestPair {
    const ID: &'static str = "cluster.pair";
    const NAME: &'static str = "cluster_pair";
    const TITLE: &'static str = "The merging of the closest pair: path and duration";
    const SOURCE: Source = Source { paper: &PAPERS[1], place: "Section 5, theorem on the merging of the closest pair" };
}

/// Rescaled time at which the pair is in contact for the eye: tan(θ/2) has fallen by e^{−2·5} at least.
const CONTACT: f64 = 5.0;

impl ClosestPair {
    /// Rescaled times of the paths.
    fn times(&self) -> Vec<f64> {
        let first = self.until / self.points as f64;
        (1..=self.points).map(|i| first * i as f64).collect()
    }

    fn cell(&self, part: &str, beta: f64, [a, b]: [f64; 2]) -> Params {
        let values = vec![
            BETA.is(beta),
            ANGLE.is(self.angle),
            MASS_I.is(a),
            MASS_J.is(b),
            CLUSTERS.is(self.clusters),
            DIM.is(self.dim),
            GAP.is(self.gap),
        ];
        cell(part, values)
    }
}

impl Experiment for ClosestPair {
    fn validate(&self) -> Result<()> {
        settings::spread("trials", self.trials)?;
        for (name, list) in [("betas", &self.betas), ("ratios", &self.ratios), ("duration_betas", &self.duration_betas)]
        {
            settings::some(name, list)?;
            settings::positive(name, list)?;
        }
        settings::positive("masses", &self.masses)?;
        positive("until", self.until)?;
        positive("gap", self.gap)?;
        attnlab_core::error::at_least("points", self.points, 2)?;
        attnlab_core::error::at_least("clusters", self.clusters, 2)?;
        attnlab_core::error::at_least("dim", self.dim, 2)?;
        if !(self.angle > 0.0 && self.angle < std::f64::consts::PI) {
            return Err(Error::invalid("angle", self.angle, "must be a number in (0, π)"));
        }
        Ok(())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let paths = self.betas.iter().map(|b| self.cell("path", *b, self.masses));
        let durations = self.ratios.iter().flat_map(|ratio| {
            // The mean of the two masses is that of the others.
            let masses = [2.0 / (1.0 + ratio), 2.0 * ratio / (1.0 + ratio)];
            self.duration_betas.iter().map(move |b| self.cell("duration", *b, masses))
        });
        Ok(paths.chain(durations).collect())
    }

    fn trials(&self) -> u64 {
        self.trials
    }

    /// "angle" at each of the times in the unit of the present angle, and "start_angle" in that of the start; or "time"
    /// until the angle is halved, in units of e^{β(1 − ρ_0)}/β.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let Some(setting) = place(cell, &mut streams.part("clusters", 0))? else {
            let problem = format!("{} clusters with a gap of {} found no place", self.clusters, self.gap);
            return Err(Error::undefined(problem));
        };
        let n = self.clusters;
        let field = setting.field(cell)?;
        if cell.get(PART) == "path" {
            let times = self.times();
            let states = flow().run(&field, &setting.state, &times)?.states;
            // Steps until contact, for the angle as a function of the printed time.
            let mut steps = vec![];
            let mut look = |_: f64, x: &[f64]| steps.push((printed_time(x), angle(x, n)));
            flow().watched(&field, &setting.state, &[CONTACT], Watch::steps(&mut look))?;
            let present: Vec<f64> = states.iter().map(|s| angle(s, n)).collect();
            let start: Vec<f64> = times.iter().map(|t| between(&steps, *t)).collect();
            return Ok(data([("angle", store::series(&present)), ("start_angle", store::series(&start))]));
        }
        let halved = |x: &[f64]| angle(x, n) - 0.5 * self.angle;
        let path = flow().watched(&field, &setting.state, &[10.0], Watch::until(&halved))?;
        let time = path.event.map_or(f64::NAN, |(_, x)| cell.get(BETA) * printed_time(&x));
        Ok(data([("time", store::number(time))]))
    }

    fn size(&self) -> String {
        format!("*K* = {}, *d* = {}, {} draws of the other clusters", self.clusters, self.dim, self.trials)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

/// Ordinate at x of the line through points of ascending abscissae; the last one beyond them.
fn between(points: &[(f64, f64)], x: f64) -> f64 {
    match points.iter().position(|p| p.0 > x) {
        Some(0) => points[0].1,
        Some(i) => {
            let ((a, from), (b, to)) = (points[i - 1], points[i]);
            from + (to - from) * (x - a) / (b - a)
        }
        None => points.last().map_or(f64::NAN, |p| p.1),
    }
}

/// Inverse temperatures of the smooth curves.
fn smooth(betas: &[f64]) -> Vec<f64> {
    let low = betas.iter().copied().fold(f64::INFINITY, f64::min);
    let high = betas.iter().copied().fold(0.0, f64::max);
    log_times(low, high, 60)
}
