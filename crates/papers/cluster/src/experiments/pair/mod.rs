//! The merging of the closest pair of clusters, path and duration.

mod pictures;

use crate::PAPERS;
use crate::claims::pair::{angle, place, printed_time};
use crate::quantities::{ANGLE, BETA, CLUSTERS, DIM, GAP, MASS_I, MASS_J, PART};
use crate::setting::flow;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::Watch;

settings! {
    /// The closest pair of clusters beside its law.
    #[experiment("cluster.pair", rows = "cluster_pair", title = "The merging of the closest pair: path and duration")]
    #[source(&PAPERS[1], "Section 5, theorem on the merging of the closest pair")]
    pub struct ClosestPair {
        pub trials: u64 = spread,
        pub clusters: usize = whole(2..),
        pub dim: usize = whole(2..),
        pub gap: f64 = within("(0, 2)"),
        pub angle: f64 = within("(0, 3]"),
        pub masses: [f64; 2] = positive,
        pub betas: Vec<f64> = positive,
        pub until: f64 = positive,
        pub points: usize = whole(2..),
        pub ratios: Vec<f64> = positive,
        pub duration_betas: Vec<f64> = positive,
    }
}

/// Rescaled time at which the pair is in contact for the eye: tan(θ/2) has fallen by a factor e^{−10} or more.
const CONTACT: f64 = 5.0;

impl ClosestPair {
    /// Rescaled times of the paths.
    fn times(&self) -> Vec<f64> {
        (1..=self.points).map(|i| self.until * i as f64 / self.points as f64).collect()
    }

    fn cell(&self, part: &str, beta: f64, [mass_i, mass_j]: [f64; 2]) -> Params {
        Params::from_iter([
            PART.is(part),
            BETA.is(beta),
            ANGLE.is(self.angle),
            MASS_I.is(mass_i),
            MASS_J.is(mass_j),
            CLUSTERS.is(self.clusters),
            DIM.is(self.dim),
            GAP.is(self.gap),
        ])
    }
}

impl Experiment for ClosestPair {
    fn cells(&self) -> Result<Vec<Params>> {
        let paths = self.betas.iter().map(|beta| self.cell("path", *beta, self.masses));
        let durations = self.ratios.iter().flat_map(|ratio| {
            // The mean of the two masses is that of the others.
            let masses = [2.0 / (1.0 + ratio), 2.0 * ratio / (1.0 + ratio)];
            self.duration_betas.iter().map(move |beta| self.cell("duration", *beta, masses))
        });
        Ok(paths.chain(durations).collect())
    }

    /// "angle" at each of the times in the unit of the present angle, and "start_angle" in that of the start; or "time"
    /// until the angle is halved, in units of e^{β(1 − ρ_0)}/β.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let n = self.clusters;
        let Some(setting) = place(cell, &mut streams.part("clusters", 0))? else {
            let room =
                format!("must leave room for {n} clusters, which was not found. Lower it, or set fewer clusters");
            return Err(Error::invalid("gap", self.gap, room));
        };
        let field = setting.field(cell)?;
        if cell.get(PART) == "duration" {
            let halved = |x: &[f64]| angle(x, n) - 0.5 * self.angle;
            let path = flow().watched(&field, &setting.state, &[CONTACT], Watch::until(&halved))?;
            let time = path.event.map_or(f64::NAN, |(_, x)| cell.get(BETA) * printed_time(&x));
            return Ok(Map::from_iter([("time".into(), store::number(time))]));
        }
        let times = self.times();
        let angles = |states: &[Vec<f64>]| states.iter().map(|x| angle(x, n)).collect::<Vec<f64>>();
        let present = flow().run(&field, &setting.state, &times)?;
        // Steps until contact, for the angle as a function of the printed time.
        let mut steps = vec![];
        let mut look = |_: f64, x: &[f64]| steps.push((printed_time(x), angle(x, n)));
        flow().watched(&field, &setting.state, &[CONTACT], Watch::steps(&mut look))?;
        let start: Vec<f64> = times.iter().map(|t| between(&steps, *t)).collect();
        Ok(Map::from_iter([
            ("angle".into(), store::series(&angles(&present.states))),
            ("start_angle".into(), store::series(&start)),
        ]))
    }

    fn size(&self) -> String {
        format!("*K* = {}, *d* = {}, {} draws of the other clusters", self.clusters, self.dim, self.trials)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

/// Returns the ordinate at x of the line through points of ascending abscissae, that of the nearest end outside them.
fn between(points: &[(f64, f64)], x: f64) -> f64 {
    match points.iter().position(|point| point.0 > x) {
        Some(0) => points[0].1,
        Some(i) => {
            let ((a, from), (b, to)) = (points[i - 1], points[i]);
            from + (to - from) * (x - a) / (b - a)
        }
        None => points.last().map_or(f64::NAN, |point| point.1),
    }
}

#[cfg(test)]
#[test]
fn ordinates_between_points() {
    let line = [(0.0, 2.0), (1.0, 4.0), (3.0, 0.0)];
    assert_eq!([-1.0, 0.0, 0.5, 2.0, 4.0].map(|x| between(&line, x)), [2.0, 2.0, 3.0, 2.0, 0.0]);
}
