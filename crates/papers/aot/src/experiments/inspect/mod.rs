//! Given tokens against the theory: `attnlab inspect`. Settings: `settings.toml`.

mod pictures;

use crate::PAPERS;
use crate::arrays::{Array, TokensAre};
use crate::experiments::parts::ensure_some_are_left;
use crate::inspect::{Controls, Fitting, Stages, bytes, inspect_place};
use crate::unroll::Data;
use attnlab_lab::prelude::*;
use std::path::PathBuf;

settings! {
    /// Inspection of arrays of activations.
    #[experiment("aot.inspect", rows = "inspect",
        title = "Given tokens against the theory: fit of Definition 1, hypotheses, horizon, controls")]
    #[source(&PAPERS[1], "Definition 1, Theorem 1")]
    pub struct Inspect {
        pub arrays: Vec<Array>,
        pub tokens_are: TokensAre,
        pub bases: Vec<PathBuf>,
        pub labels: Vec<PathBuf>,
        pub controls: bool,
        pub fitting: Fitting = table,
    }
}

/// Parameters of the rows.
pub const ARRAY: &str = "array";
/// Place of the array in the list.
pub const PLACE: &str = "place";

impl Experiment for Inspect {
    fn validate(&self) -> Result<()> {
        let fits = self.bases.is_empty() == self.labels.is_empty() && self.labels.len() <= 1;
        let allowed = "must be one file, beside --bases; known bases and labels come together";
        require(fits, "labels", self.labels.len(), allowed)?;
        self.fitting.validate()
    }

    fn ready(&self) -> Result<()> {
        let allowed = "must hold at least one array. Write attnlab inspect --activations FILE, which fills it in";
        require(!self.arrays.is_empty(), "arrays", "[]", allowed)?;
        let how = self.fitting.how(Controls::None);
        let mut refusals = vec![];
        for array in &self.arrays {
            let mut tokens = array.read(self.tokens_are)?;
            if let [labels] = &self.labels[..] {
                tokens = Data::read_with(tokens, &self.bases, labels)?.tokens;
            }
            refusals.extend(how.check(tokens.view()).err().map(|e| e.during(format!("array {}", array.name))));
        }
        ensure_some_are_left(self.arrays.len(), refusals)
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |(i, array): (usize, &Array)| {
            Params::from_iter([
                (ARRAY.to_string(), Value::from(array.name.as_str())),
                (PLACE.to_string(), Value::from(i)),
            ])
        };
        Ok(self.arrays.iter().enumerate().map(cell).collect())
    }

    fn memory(&self, cell: &Params) -> u64 {
        let (d, n) = self.array(cell).map_or((0, 0), |a| a.shape);
        bytes(d, n, self.fitting.clusters_tried())
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        self.trial_at(cell, streams, &TrialContext::none())
    }

    /// The findings of [`inspect_place`], and "hash", SHA-256 of the stored bytes.
    fn trial_at(&self, cell: &Params, streams: &Streams, context: &TrialContext) -> Result<Map<String, Value>> {
        let array = self.array(cell)?;
        let controls = if self.controls { Controls::All } else { Controls::None };
        let mut how = self.fitting.how(controls);
        let mut tokens = array.read(self.tokens_are)?;
        if let [labels] = &self.labels[..] {
            let data = Data::read_with(tokens, &self.bases, labels)?;
            tokens = data.tokens;
            how.known = Some((data.bases, data.labels));
        }
        let name = format!("array {}", array.name);
        let stages = Stages { name: &name, progress: context.progress };
        let inspected = inspect_place(tokens.view(), &how, streams, stages).map_err(|e| e.during(&name))?;
        // An array alone that cannot be fitted leaves nothing to show.
        let mut data = match self.arrays.len() {
            1 => inspected.fitted().map_err(|e| e.during(&name))?,
            _ => inspected.findings,
        };
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
