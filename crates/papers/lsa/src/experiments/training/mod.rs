//! Training linear self-attention on B prompts and from other starts (lecture notes, first theorem).

use super::common::{cell, covariance, named, validate_condition, validate_counts, validate_times};
use crate::PAPERS;
use crate::quantities::{CELL_BATCH, CONTEXT, DENSE_SCALE, PART, PARTS, RELATIVE_SCALE, START, STARTS};
use crate::theory::Pretraining;
use attnlab_core::error;
use attnlab_core::error::{Error, Result};
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::Experiment;
use attnlab_lab::experiment::{Described, settings};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::Row;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod parts;
mod pictures;

/// The empirical loss beside the population one, and starts that the theorem does not cover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LsaTraining {
    /// Independent draws per cell.
    pub trials: u64,
    /// Dimension d of the inputs.
    pub dim: usize,
    /// Condition number of Λ.
    pub condition: f64,
    /// Number N of examples in training.
    pub context: usize,
    /// Variance of the label noise in training.
    pub noise_var: f64,
    /// Scale σ of the theorem's initial weights for training on prompts.
    pub scale: f64,
    /// Values of B.
    pub prompts: Vec<usize>,
    /// Time of the flow.
    pub until: f64,
    /// Times at which it is shown.
    pub points: usize,
    /// Kinds of starts with v = c = 0.
    pub starts: Vec<String>,
    /// Their scales over the largest that the theorem allows.
    pub scales: Vec<f64>,
    /// Share of the loss gap of weights 0 at which a flow has arrived.
    pub arrived: f64,
    /// Dimension d of the dense starts.
    pub dense_dim: usize,
    /// Their values of N.
    pub dense_contexts: Vec<usize>,
    /// Standard deviations of their weights.
    pub dense_scales: Vec<f64>,
    /// Dense starts per draw.
    pub dense_starts: usize,
    /// Values of B for softmax attention beside the linear one.
    pub softmax_prompts: Vec<usize>,
    /// New prompts on which both are tested.
    pub softmax_test: usize,
}

impl Described for LsaTraining {
    const ID: &'static str = "lsa.training";
    const NAME: &'static str = "lsa_training";
    const TITLE: &'static str = "Linear self-attention trained on B prompts, and from other initial weights";
    const SOURCE: Source = Source { paper: &PAPERS[0], place: "first theorem (Zhang, Frei and Bartlett)" };
    const ALIASES: &'static [(&'static str, &'static str)] = &[(CONTEXT.name, "context")];
}

impl LsaTraining {
    fn training(&self) -> Result<Pretraining> {
        let lambda = covariance(self.dim, self.condition)?;
        Pretraining::new(lambda, self.context, self.noise_var)
    }
}

impl Experiment for LsaTraining {
    fn validate(&self) -> Result<()> {
        settings::spread("trials", self.trials)?;
        // The moments of the empirical loss grow like d^6, and take 300 MB there.
        if !(2..=12).contains(&self.dim) {
            return Err(Error::invalid("dim", self.dim, "must be a whole number from 2 to 12"));
        }
        // Flows from dense weights meet rates of order (tr Λ)², and each cell has some hundred of them.
        if !(2..=20).contains(&self.dense_dim) {
            let allowed = "must be a whole number from 2 to 20";
            return Err(Error::invalid("dense_dim", self.dense_dim, allowed));
        }
        validate_counts(&[
            ("context", self.context),
            ("dense_starts", self.dense_starts),
            ("softmax_test", self.softmax_test),
        ])?;
        validate_condition("condition", self.condition)?;
        validate_times(self.until, self.points)?;
        error::non_negative("noise_var", self.noise_var)?;
        error::positive("scale", self.scale)?;
        // The slope over B needs three.
        settings::at_least("prompts", &self.prompts, 3)?;
        settings::at_least("dense_contexts", &self.dense_contexts, 1)?;
        settings::at_least("softmax_prompts", &self.softmax_prompts, 1)?;
        settings::positive("scales", &self.scales)?;
        settings::positive("dense_scales", &self.dense_scales)?;
        if let Some(name) = self.starts.iter().find(|s| !STARTS.contains(&s.as_str())) {
            return Err(Error::unknown("start", name, STARTS));
        }
        if !(self.arrived > 0.0 && self.arrived < 1.0) {
            return Err(Error::invalid("arrived", self.arrived, "must be a number in (0, 1)"));
        }
        Ok(())
    }

    /// One "part" each: "population", "prompts", "softmax", "start" and "dense".
    fn cells(&self) -> Result<Vec<Params>> {
        let mut cells = vec![];
        cells.push(cell("population", []));
        for count in &self.prompts {
            cells.push(cell("prompts", [CELL_BATCH.is(*count)]));
        }
        for count in &self.softmax_prompts {
            cells.push(cell("softmax", [CELL_BATCH.is(*count)]));
        }
        for kind in &self.starts {
            for scale in &self.scales {
                let values = [START.is(kind.as_str()), RELATIVE_SCALE.is(*scale)];
                cells.push(cell("start", values));
            }
        }
        for scale in &self.dense_scales {
            for n in &self.dense_contexts {
                cells.push(cell("dense", [CONTEXT.is(*n), DENSE_SCALE.is(*scale)]));
            }
        }
        Ok(cells)
    }

    fn trials(&self) -> u64 {
        self.trials
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let found = match cell.get(PART) {
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
        found.map_err(|error| named(error, Self::NAME, cell, &settings))
    }

    fn size(&self) -> String {
        format!("*d* = {}, *N* = {}, {} draws", self.dim, self.context, self.trials)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
