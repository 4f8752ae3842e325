//! Training linear self-attention on B prompts and from other starts (lecture notes, first theorem).

use super::common::{cell, condition, covariance, named, time};
use crate::PAPERS;
use crate::quantities::{CELL_BATCH, CONTEXT, DENSE_SCALE, PART, PARTS, RELATIVE_SCALE, START, STARTS};
use crate::theory::Pretraining;
use attnlab_lab::prelude::*;

mod parts;
mod pictures;

settings! {
    /// The empirical loss beside the population one, and starts that the theorem does not cover.
    #[experiment("lsa.training", rows = "lsa_training",
        title = "Linear self-attention trained on B prompts, and from other initial weights")]
    #[source(&PAPERS[0], "first theorem (Zhang, Frei and Bartlett)")]
    #[alias(CONTEXT.name, "context")]
    pub struct LsaTraining {
        pub trials: u64 = spread,
        pub dim: usize = whole(2..=12),
        pub condition: f64 = condition,
        pub context: usize = whole(1..),
        pub noise_var: f64 = non_negative,
        pub scale: f64 = positive,
        pub prompts: Vec<usize> = different(3),
        pub until: f64 = time,
        pub points: usize = whole(2..),
        pub starts: Vec<String> = any_words("start", &STARTS),
        pub scales: Vec<f64> = positive,
        pub arrived: f64 = within("(0, 1)"),
        pub dense_dim: usize = whole(2..=20),
        pub dense_contexts: Vec<usize> = whole(1..),
        pub dense_scales: Vec<f64> = positive,
        pub dense_starts: usize = whole(1..),
        pub softmax_prompts: Vec<usize> = whole(1..),
        pub softmax_test: usize = whole(1..),
    }
}

impl LsaTraining {
    fn training(&self) -> Result<Pretraining> {
        Pretraining::new(covariance(self.dim, self.condition)?, self.context, self.noise_var)
    }
}

impl Experiment for LsaTraining {
    /// One "part" each: "population", "prompts", "softmax", "start" and "dense".
    fn cells(&self) -> Result<Vec<Params>> {
        let mut cells = vec![cell("population", [])];
        cells.extend(self.prompts.iter().map(|count| cell("prompts", [CELL_BATCH.is(*count)])));
        cells.extend(self.softmax_prompts.iter().map(|count| cell("softmax", [CELL_BATCH.is(*count)])));
        for (kind, scale) in iproduct!(&self.starts, &self.scales) {
            cells.push(cell("start", [START.is(kind.as_str()), RELATIVE_SCALE.is(*scale)]));
        }
        for (scale, n) in iproduct!(&self.dense_scales, &self.dense_contexts) {
            cells.push(cell("dense", [CONTEXT.is(*n), DENSE_SCALE.is(*scale)]));
        }
        Ok(cells)
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let data = match cell.get(PART) {
            "population" => parts::population(self, streams),
            "prompts" => parts::prompts(self, cell.get(CELL_BATCH), streams),
            "softmax" => parts::softmax(self, cell.get(CELL_BATCH), streams),
            "start" => parts::start(self, cell.get(START), cell.get(RELATIVE_SCALE), streams),
            "dense" => parts::dense(self, cell.get(CONTEXT), cell.get(DENSE_SCALE), streams),
            other => Err(Error::unknown("part", other, PARTS)),
        };
        let settings = [
            ("dim", self.dim as f64),
            ("condition", self.condition),
            ("context", self.context as f64),
            ("noise_var", self.noise_var),
            ("scale", self.scale),
            ("until", self.until),
            ("dense_dim", self.dense_dim as f64),
        ];
        data.map_err(|error| named(error, Self::NAME, cell, &settings))
    }

    fn size(&self) -> String {
        format!("*d* = {}, *N* = {}, {} draws", self.dim, self.context, self.trials)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
