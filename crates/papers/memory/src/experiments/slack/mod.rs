//! The slack of Theorem 3: patterns promised, patterns stored.

mod pictures;

use crate::PAPERS;
use crate::quantities::{BETA, DIM};
use crate::theory::stored::{Storage, storage, uniform};
use attnlab_core::error::Result;
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::{Described, Experiment, settings};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::{Row, store};
use ndarray::s;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Settings of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slack {
    /// Draws per cell.
    pub trials: u64,
    /// Dimensions of the patterns.
    pub dims: Vec<usize>,
    /// β M², the inverse temperature of patterns of length 1.
    pub heats: Vec<f64>,
    /// Most patterns that are drawn.
    pub most: usize,
    /// Failure probability of the theorem.
    pub p: f64,
}

impl Described for Slack {
    const ID: &'static str = "memory.slack";
    const NAME: &'static str = "memory_slack";
    const TITLE: &'static str = "Patterns that Theorem 3 promises and patterns that are stored";
    const SOURCE: Source = Source { paper: &PAPERS[0], place: "Theorem 3" };
}

/// Ratio of successive numbers of patterns that are tried.
const STEP: f64 = 1.122_462_048_309_373;

/// Numbers of patterns from 2 to `most`, about sixth powers of two.
fn numbers(most: usize) -> Vec<usize> {
    let mut all: Vec<usize> = std::iter::successors(Some(2.0), |n: &f64| Some(n * STEP))
        .map(|n| n.round() as usize)
        .take_while(|n| *n <= most)
        .collect();
    all.dedup();
    all
}

impl Experiment for Slack {
    fn validate(&self) -> Result<()> {
        settings::spread("trials", self.trials)?;
        settings::some("dims", &self.dims)?;
        for d in &self.dims {
            attnlab_core::error::at_least("dims", *d, 2)?;
        }
        settings::some("heats", &self.heats)?;
        settings::positive("heats", &self.heats)?;
        attnlab_core::error::at_least("most", self.most, 2)?;
        settings::positive("p", &[self.p])
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cells = self.dims.iter().flat_map(|d| {
            self.heats.iter().map(|heat| {
                let values = [DIM.is(*d), BETA.is(*heat)];
                values.into_iter().collect()
            })
        });
        Ok(cells.collect())
    }

    fn trials(&self) -> u64 {
        self.trials
    }

    /// "stored": the largest number of patterns of one draw, in its order, before the first that is not certified; 1 where
    /// two are not. "lost": the smallest number that is excluded. Both NaN where the largest number that is drawn is stored.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let (d, beta) = (cell.get(DIM), cell.get(BETA));
        let patterns = uniform(d, self.most, 1.0, &mut streams.part("patterns", 0))?;
        let (mut stored, mut lost) = (1.0, f64::NAN);
        let mut certified = true;
        for n in numbers(self.most) {
            match storage(patterns.slice(s![.., ..n]), beta)? {
                Storage::All if certified => stored = n as f64,
                Storage::NotAll(_) => {
                    lost = n as f64;
                    break;
                }
                _ => certified = false,
            }
        }
        if lost.is_nan() && certified {
            stored = f64::NAN;
        }
        let mut data = Map::new();
        data.insert("stored".into(), store::number(stored));
        data.insert("lost".into(), store::number(lost));
        Ok(data)
    }

    fn size(&self) -> String {
        format!("{} draws, at most {} patterns", self.trials, self.most)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

#[cfg(test)]
#[test]
fn numbers_rise_slowly() {
    let all = numbers(100);
    assert_eq!(all[..6], [2, 3, 4, 5, 6, 7]);
    assert!(all.windows(2).all(|w| w[0] < w[1] && w[1] as f64 <= 1.5 * w[0] as f64));
}
