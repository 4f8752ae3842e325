//! The support of sparsemax over the number of exponential scores.

use crate::PAPERS;
use crate::formulas::expected_support;
use crate::quantities::{SCALE, TOKENS};
use crate::support::support;
use attnlab::experiment::{Described, Experiment, draw};
use attnlab::figure::{Axis, Figure, Point, Series, Width};
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
        let mut panel = draw::panel(
            "",
            Axis::log("*n*, number of scores"),
            Axis::log("support of sparsemax"),
        );
        for (colour, scale) in self.scales.iter().enumerate() {
            let mut points = vec![];
            for cell in &cells {
                if cell[0].parameter(SCALE.name)? == *scale {
                    points.push(point(cell)?);
                }
            }
            let measured = Series::bars(format!("*β* = {scale}"), colour, points);
            let measured = measured.with_interval("95 % interval of the mean");
            let predicted = |n: &usize| Point::at(*n as f64, expected_support(&cell(*n, *scale)));
            let predicted = self.tokens.iter().map(predicted).collect();
            let predicted = Series::predicted("E min(*n*, 1 + *P*)", colour, predicted);
            panel.series.extend([measured, predicted]);
        }
        Ok(vec![Figure {
            name: "support_over_tokens".into(),
            title: Self::TITLE.into(),
            caption: format!(
                "Means over {} draws of *n* independent exponential scores of mean *β*, with 95 % \
                 intervals. Dashed: the closed form, with *P* a Poisson number of mean 1 / *β*.",
                self.trials
            ),
            width: Width::Column,
            columns: 1,
            panels: vec![panel],
        }])
    }
}

/// The mean of the draws of one cell with its interval, over n.
fn point(cell: &[Row]) -> Result<Point> {
    let supports: Result<Vec<f64>> = cell.iter().map(|row| row.number("support")).collect();
    let mean = stats::mean(&supports?, 0.95)?;
    let n = cell[0].parameter(TOKENS.name)?;
    Ok(Point::between(n, mean.value, mean.low, mean.high))
}
