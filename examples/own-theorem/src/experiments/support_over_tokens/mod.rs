//! The support of sparsemax over the number of exponential scores.

use crate::PAPERS;
use crate::formulas::expected_support;
use crate::quantities::{SCALE, TOKENS};
use crate::support::support;
use attnlab::experiment::{Described, Experiment, draw};
use attnlab::figure::{Axis, Figure, Panel, Point, Series};
use attnlab::prelude::*;
use attnlab::run::Row;
use attnlab::stats;

settings! {
    /// The support of sparsemax over the number of scores.
    #[experiment("own.support_over_tokens",
        title = "Support of sparsemax over the number of exponential scores")]
    #[source(&PAPERS[1], "Proposition 1")]
    pub struct SupportOverTokens {
        trials: u64 = spread,
        tokens: Vec<usize> = whole(1..),
        scales: Vec<f64> = positive,
    }
}

/// The parameters of one cell.
fn cell(n: usize, scale: f64) -> Params {
    Params::from_iter([TOKENS.is(n), SCALE.is(scale)])
}

impl Experiment for SupportOverTokens {
    fn cells(&self) -> Result<Vec<Params>> {
        let curve = |scale: &f64| self.tokens.iter().map(|n| cell(*n, *scale)).collect();
        let curves: Vec<Vec<Params>> = self.scales.iter().map(curve).collect();
        Ok(curves.concat())
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let mut data = Map::new();
        data.insert("support".into(), support(cell, streams).into());
        Ok(data)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        let cells = draw::cells(Self::NAME, rows)?;
        let mut panel = Panel::new(
            "",
            Axis::log("*n*, number of scores"),
            Axis::log("support of sparsemax"),
        );
        for (colour, scale) in self.scales.iter().enumerate() {
            let cells = draw::with_number(&cells, SCALE, *scale);
            let means = draw::over(&cells, TOKENS, |cell| {
                stats::mean(&draw::numbers(cell, "support")?, 0.95)
            })?;
            let measured = Series::bars(format!("*β* = {scale}"), colour, means);
            let predicted = |n: &usize| Point::at(*n as f64, expected_support(&cell(*n, *scale)));
            let predicted = self.tokens.iter().map(predicted).collect();
            panel = panel
                .with(measured.with_interval("95 % interval of the mean"))
                .with(Series::predicted("E min(*n*, 1 + *P*)", colour, predicted));
        }
        let figure = Figure::column("support_over_tokens", Self::TITLE, vec![panel]);
        Ok(vec![figure.captioned(format!(
            "Means over {} draws of *n* independent exponential scores of mean *β*, with 95 % \
             intervals. Dashed: the closed form, with *P* a Poisson number of mean 1 / *β*.",
            self.trials
        ))])
    }
}
