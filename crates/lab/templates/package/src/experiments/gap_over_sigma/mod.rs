//! The entropy gap over the spread of the scores, beyond the range of the claim too.

use crate::PAPERS;
use crate::theorem::{SCORES, SIGMA, gap};
use attnlab::experiment::{Described, Experiment, draw};
use attnlab::figure::{Axis, Figure, Panel, Point, Series};
use attnlab::prelude::*;
use attnlab::run::{Row, store};
use attnlab::stats;

settings! {
    /// The entropy gap over the spread of the scores.
    #[experiment("my_theorem.gap_over_sigma",
        title = "Entropy gap of softmax over the spread of its scores")]
    #[source(&PAPERS[0], "Proposition 1")]
    pub struct GapOverSigma {
        trials: u64 = spread,
        scores: Vec<usize> = whole(1..),
        sigmas: Vec<f64> = positive,
    }
}

impl Experiment for GapOverSigma {
    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |n: usize, sigma: f64| Params::from_iter([SCORES.is(n), SIGMA.is(sigma)]);
        let curve = |n: &usize| self.sigmas.iter().map(|sigma| cell(*n, *sigma)).collect();
        let curves: Vec<Vec<Params>> = self.scores.iter().map(curve).collect();
        Ok(curves.concat())
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let mut data = Map::new();
        data.insert("gap".into(), store::number(gap(cell, streams)));
        Ok(data)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        let cells = draw::cells(Self::NAME, rows)?;
        let panel = Panel::new(
            "",
            Axis::linear("*σ*, spread of the scores"),
            Axis::linear("log *n* − *H*, entropy gap (nats)"),
        )
        .curves(&self.scores, |colour, n| {
            let cells = draw::with_number(&cells, SCORES, *n as f64);
            let means = draw::over(&cells, SIGMA, |cell| {
                stats::mean(&draw::numbers(cell, "gap")?, 0.95)
            })?;
            let series = Series::measured(format!("*n* = {n}"), colour, means);
            Ok(series.with_interval("95 % interval of the mean"))
        })?;
        let end = self.sigmas.iter().copied().fold(0.0, f64::max);
        let sigmas = (0..=60).map(|i| end * f64::from(i) / 60.0);
        let predicted = sigmas.map(|sigma| Point::at(sigma, sigma * sigma / 2.0));
        let predicted = Series::predicted("*σ*^{2} / 2", self.scores.len(), predicted.collect());
        let figure = Figure::column("gap_over_sigma", Self::TITLE, vec![panel.with(predicted)]);
        Ok(vec![figure.captioned(format!(
            "Means over {} draws of *n* independent normal scores, with 95 % intervals. Dashed: \
             the limit *σ*^{{2}} / 2, which is claimed for *n* ≥ 100 and *σ* ≤ 1.",
            self.trials
        ))])
    }
}
