//! Given tokens against the theory: `attnlab inspect`. Settings: `settings.toml`.

mod pictures;

use crate::PAPERS;
use crate::arrays::{Array, TokensAre};
use crate::inspect::{How, bytes, inspect};
use crate::unroll::Data;
use attnlab_core::error::{Error, Result};
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_core::stats::validate_level;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::{Described, Experiment};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::Row;
use attnlab_theory::fit::Options;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Inspection of arrays of activations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inspect {
    /// The arrays.
    pub arrays: Vec<Array>,
    /// Side on which their tokens are.
    pub tokens_are: TokensAre,
    /// Files of known bases.
    pub bases: Vec<PathBuf>,
    /// At most one file of known labels.
    pub labels: Vec<PathBuf>,
    /// K, or 0.
    pub clusters: usize,
    /// Largest K that is tried.
    pub most_clusters: usize,
    /// Treatment of the scale.
    pub scale: Scale,
    /// Flag: the mean token is subtracted.
    pub centre: bool,
    /// Flag: controls are measured.
    pub controls: bool,
    /// η.
    pub eta: f64,
    /// τ.
    pub tau: f64,
    /// Level of the intervals.
    pub level: f64,
    /// Level of the test.
    pub test_level: f64,
}

/// Treatment of the scale of the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// The signal has variance 1, as Definition 1 prints it; the test asks for that
    AsGiven,
    /// Any scale; tokens are divided by the fitted one before the horizon
    Fitted,
}

impl Described for Inspect {
    const ID: &'static str = "aot.inspect";
    const NAME: &'static str = "inspect";
    const TITLE: &'static str =
        "Given tokens against the theory: fit of Definition 1, hypotheses, horizon, controls";
    const SOURCE: Source = Source {
        paper: &PAPERS[1],
        place: "Definition 1, Theorem 1",
    };
}

/// Parameters of the rows.
pub const ARRAY: &str = "array";
/// Place of the array in the list.
pub const PLACE: &str = "place";

impl Inspect {
    /// The options of an inspection, with bases and labels from their files.
    ///
    /// # Errors
    /// Files that do not fit together.
    fn how(&self) -> Result<How> {
        Ok(How {
            eta: self.eta,
            tau: self.tau,
            options: Options {
                clusters: (self.clusters > 0).then_some(self.clusters),
                most_clusters: self.clusters.max(self.most_clusters),
                level: self.level,
                alpha: self.test_level,
                unit_scale: self.scale == Scale::AsGiven,
            },
            centre: self.centre,
            rescale: self.scale == Scale::Fitted,
            controls: self.controls,
            known: None,
        })
    }
}

impl Experiment for Inspect {
    fn validate(&self) -> Result<()> {
        self.how()?.validate()?;
        validate_level(self.level)?;
        let level = self.test_level;
        if !(level > 0.0 && level < 1.0) {
            let allowed = "must be a number in (0, 1), such as 0.01";
            return Err(Error::invalid("test_level", level, allowed));
        }
        let fits = self.bases.is_empty() == self.labels.is_empty() && self.labels.len() <= 1;
        if !fits {
            let allowed = "must be one file, beside --bases; known bases and labels come together";
            return Err(Error::invalid("labels", self.labels.len(), allowed));
        }
        match self.most_clusters {
            0 => Err(Error::invalid(
                "most_clusters",
                0,
                "must be a whole number >= 1",
            )),
            _ => Ok(()),
        }
    }

    fn ready(&self) -> Result<()> {
        if self.arrays.is_empty() {
            let allowed = "must hold at least one array. Write attnlab inspect --activations FILE, which fills it in";
            return Err(Error::invalid("arrays", "[]", allowed));
        }
        if let [labels] = &self.labels[..] {
            for array in &self.arrays {
                Data::read_with(array.read(self.tokens_are)?, &self.bases, labels)?;
            }
        }
        Ok(())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |(i, array): (usize, &Array)| {
            let named = [
                (ARRAY.to_string(), Value::from(array.name.as_str())),
                (PLACE.to_string(), Value::from(i)),
            ];
            Params::from_iter(named)
        };
        Ok(self.arrays.iter().enumerate().map(cell).collect())
    }

    fn trials(&self) -> u64 {
        1
    }

    fn memory(&self, cell: &Params) -> u64 {
        let (d, n) = self.array(cell).map_or((0, 0), |a| a.shape);
        bytes(d, n, self.clusters.max(self.most_clusters))
    }

    /// The findings of [`inspect`], and "hash", SHA-256 of the stored bytes.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let array = self.array(cell)?;
        let mut how = self.how()?;
        let mut tokens = array.read(self.tokens_are)?;
        if let [labels] = &self.labels[..] {
            let data = Data::read_with(tokens, &self.bases, labels)?;
            tokens = data.tokens;
            how.known = Some((data.bases, data.labels));
        }
        let found = inspect(tokens.view(), &how, streams);
        let mut data = found.map_err(|e| e.during(format!("array {}", array.name)))?;
        data.insert("hash".into(), array.hash.clone().into());
        Ok(data)
    }

    fn size(&self) -> String {
        match self.arrays.len() {
            1 => "1 array".into(),
            n => format!("{n} arrays"),
        }
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

impl Inspect {
    fn array(&self, cell: &Params) -> Result<&Array> {
        let place = cell.as_json().get(PLACE).and_then(Value::as_u64);
        let array = place.and_then(|i| self.arrays.get(i as usize));
        array.ok_or_else(|| Error::invalid(PLACE, "nothing", "must be the place of an array"))
    }
}
