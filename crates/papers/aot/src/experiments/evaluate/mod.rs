//! A trained network on LAMBADA, CBT, a text, or a clock: `attnlab evaluate NETWORK --task TASK --data FILE`. Settings:
//! `settings.toml`.
//!
//! A cell is a reading of a network; readings of the same forward passes share them.

mod passes;
mod pictures;

pub(crate) use pictures::{choice, numbered};

use crate::PAPERS;
use crate::evaluate::cost::measure;
use crate::evaluate::{Detokeniser, Passes, Task, special_before};
use attnlab_core::input;
use attnlab_core::stats::validate_level;
use attnlab_lab::prelude::*;
use attnlab_networks::transformer::TransformerArchitecture;
use attnlab_networks::{Checkpoint, Tokenizer, sha256, text};
use clap::ValueEnum;
use passes::Cache;
use std::path::{Path, PathBuf};

/// Choice of the items that a limit keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Sample {
    /// The first of the files.
    #[default]
    First,
    /// Drawn without replacement, by the seed; they keep the order of the files.
    Random,
}

settings! {
    /// Evaluation of a network.
    #[experiment("aot.evaluate", rows = "evaluate",
        title = "A network on LAMBADA, CBT or a text: every reading of a benchmark as a row")]
    #[source(&PAPERS[1], "Table 3; 2024 version, Tables 1 and 3")]
    pub struct Evaluate {
        pub network: PathBuf,
        pub network_hash: String,
        pub task: Task,
        pub data: Vec<PathBuf>,
        pub data_hash: String,
        pub detokenise: Vec<Detokeniser>,
        pub windows: Vec<usize>,
        pub strides: Vec<usize>,
        pub limit: usize,
        pub sample: Sample,
        pub controls: bool,
        pub control_seed: u64,
        pub level: f64,
        pub context: usize = whole(1..),
        pub batch: usize = whole(1..),
        pub runs: usize = whole(1..),
        #[serde(skip)]
        cache: Shared<Cache>,
    }
}

/// Choices that a user makes; None and an empty list leave the default of the task or of the network.
#[derive(clap::Args, Clone, Debug, Default)]
// The default in brackets is the form of help texts and no link.
#[allow(rustdoc::broken_intra_doc_links)]
pub struct Choices {
    /// Changes of the text, each a reading [default: lambada: off,openai; cbt: off,spaces; text: off]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub detokenise: Vec<Detokeniser>,
    /// Text: tokens of a forward pass [default: 1024, or the context of the network if that is less]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = positive_size, allow_negative_numbers = true)]
    pub window: Vec<usize>,
    /// Text: tokens between the beginnings of two windows [default: the windows less special tokens]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = positive_size, allow_negative_numbers = true)]
    pub stride: Vec<usize>,
    /// Passages, questions or windows [default: all]
    #[arg(long, value_name = "N", value_parser = positive_size, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Choice of the items that a limit keeps
    #[arg(long, default_value = "first")]
    pub sample: Sample,
    /// Leave out the network with random weights, which takes half of the time
    #[arg(long)]
    pub no_controls: bool,
    /// Cost: tokens of a sequence [default: 1024, or the context of the network if that is less]
    #[arg(long, value_name = "N", value_parser = positive_size, allow_negative_numbers = true)]
    pub context: Option<usize>,
    /// Cost: sequences of a forward pass [default: 1]
    #[arg(long, value_name = "N", value_parser = positive_size, allow_negative_numbers = true)]
    pub batch: Option<usize>,
    /// Cost: measured passes [default: 5]
    #[arg(long, value_name = "N", value_parser = positive_size, allow_negative_numbers = true)]
    pub runs: Option<usize>,
}

/// Parses a whole number ≥ 1.
fn positive_size(text: &str) -> std::result::Result<usize, String> {
    attnlab_lab::command::input::positive(text).map(|n| n as usize)
}

impl Choices {
    /// Refuses choices that the task does not read.
    fn refuse_idle(&self, task: Task, data: &[PathBuf]) -> Result<()> {
        let (text, cost) = (task == Task::Text, task == Task::Cost);
        let idle = [
            ("window", !self.window.is_empty(), text, "text"),
            ("stride", !self.stride.is_empty(), text, "text"),
            ("context", self.context.is_some(), cost, "cost"),
            ("batch", self.batch.is_some(), cost, "cost"),
            ("runs", self.runs.is_some(), cost, "cost"),
            ("data", !data.is_empty(), !cost, "lambada, cbt or text"),
            ("detokenise", !self.detokenise.is_empty(), !cost, "lambada, cbt or text"),
            ("limit", self.limit.is_some(), !cost, "lambada, cbt or text"),
        ];
        for (name, given, read, tasks) in idle {
            let allowed = format!("must be {tasks} with --{name}. Leave --{name} out");
            require(read || !given, "task", task.name(), allowed)?;
        }
        Ok(())
    }
}

impl Evaluate {
    /// Returns the evaluation of a network on files with these choices. `seed` is that of the random weights and of a
    /// random sample, `level` that of the intervals.
    ///
    /// # Errors
    /// A choice that the task does not read; those of [`Evaluate::of_files`].
    pub fn chosen(
        network: &Path,
        task: Task,
        data: &[PathBuf],
        choices: &Choices,
        (seed, level): (u64, f64),
    ) -> Result<Self> {
        choices.refuse_idle(task, data)?;
        let mut settings = Self::of_files(network, task, data)?;
        if !choices.detokenise.is_empty() {
            settings.detokenise = choices.detokenise.clone();
        }
        if !choices.window.is_empty() {
            settings.set_windows(choices.window.clone())?;
        }
        if !choices.stride.is_empty() {
            settings.strides = choices.stride.clone();
        }
        settings.limit = choices.limit.unwrap_or(0);
        settings.sample = choices.sample;
        settings.controls &= !choices.no_controls;
        settings.control_seed = seed;
        settings.level = level;
        settings.context = choices.context.unwrap_or(settings.context);
        settings.batch = choices.batch.unwrap_or(settings.batch);
        settings.runs = choices.runs.unwrap_or(settings.runs);
        Ok(settings)
    }

    /// Returns the evaluation of a network on files, with the hashes of both, the task's own detokenisers, and windows
    /// of the network's context but at most 1024 tokens ([`Evaluate::set_windows`]).
    ///
    /// # Errors
    /// Files that cannot be read; those of [`Evaluate::set_windows`].
    pub fn of_files(network: &Path, task: Task, data: &[PathBuf]) -> Result<Self> {
        let architecture = TransformerArchitecture::of_network(network)?;
        passes::ensure_causal(&architecture)?;
        let window = architecture.context.min(1024);
        let mut settings = Evaluate {
            network: network.to_path_buf(),
            network_hash: Checkpoint::open(network)?.digest()?,
            task,
            data: data.to_vec(),
            data_hash: hash_of(data)?,
            detokenise: task.detokenisers().to_vec(),
            controls: task != Task::Cost,
            context: window,
            ..Self::defaults()?
        };
        settings.set_windows(vec![window])?;
        Ok(settings)
    }

    /// Sets the windows, each with the largest stride that it may have: the tokens of the text in it. Special tokens
    /// that the tokenizer puts before a text begin every window and are not of the text.
    ///
    /// # Errors
    /// A text without the network's tokenizer.
    pub fn set_windows(&mut self, windows: Vec<usize>) -> Result<()> {
        let of_text = self.task == Task::Text;
        let special = if of_text { special_before(&Tokenizer::open(&self.network)?)?.len() } else { 0 };
        // A window without room for text is refused by its size.
        self.strides = windows.iter().map(|window| window.saturating_sub(special).max(1)).collect();
        self.windows = windows;
        Ok(())
    }

    /// Choices of forward passes, each with the parameters of its rows.
    fn choices(&self) -> Vec<(Vec<(String, Value)>, Passes)> {
        let sizes = match self.task {
            Task::Text => {
                iproduct!(&self.windows, &self.strides).filter(|(w, s)| s <= w).map(|(w, s)| (*w, *s)).collect()
            }
            _ => vec![(0, 0)],
        };
        let choice = |(detokenise, (window, stride)): (&Detokeniser, &(usize, usize))| {
            let mut parameters = vec![(DETOKENISE.to_string(), Value::from(detokenise.name()))];
            if self.task == Task::Text {
                parameters.extend([(WINDOW.to_string(), (*window).into()), (STRIDE.to_string(), (*stride).into())]);
            }
            (parameters, Passes { detokenise: *detokenise, window: *window, stride: *stride })
        };
        iproduct!(&self.detokenise, &sizes).map(choice).collect()
    }

    fn given(&self) -> bool {
        !self.network.as_os_str().is_empty()
    }
}

/// SHA-256 of the bytes of files, one after another.
fn hash_of(paths: &[PathBuf]) -> Result<String> {
    let mut hashes = String::new();
    for path in paths {
        let advice = "Give a file with --data";
        text::regular(path, advice)?;
        let bytes = input::read("text", path).map_err(|e| Error::io(path, e, advice))?;
        hashes.push_str(&sha256(&bytes));
    }
    Ok(if paths.is_empty() { hashes } else { sha256(hashes.as_bytes()) })
}

/// Parameters of the rows: the task, its network ("trained" or "untrained"), and the reading.
pub const TASK: &str = "task";
/// The network of a row.
pub const VARIANT: &str = "variant";
/// The reading of a row.
pub const READING: &str = "reading";
/// The detokeniser of a row.
pub const DETOKENISE: &str = "detokenise";
/// The window of a row about a text.
pub const WINDOW: &str = "window";
/// The stride of a row about a text.
pub const STRIDE: &str = "stride";

/// Variants of the network: name in the rows, and words of tables and figures.
pub const VARIANTS: [(&str, &str); 2] = [("trained", "as given"), ("untrained", "random weights")];

impl Experiment for Evaluate {
    fn validate(&self) -> Result<()> {
        validate_level(self.level)?;
        let possible = !self.given() || self.task == Task::Cost || !self.choices().is_empty();
        let allowed = format!("must have one that is at most a window; the windows are {:?}", self.windows);
        require(possible, "strides", format!("{:?}", self.strides), allowed)
    }

    fn ready(&self) -> Result<()> {
        let path = "must be a path. Write attnlab evaluate NETWORK --task TASK --data FILE, which fills it in";
        require(self.given(), "network", "", path)?;
        let file = format!("must be a file; the task {} reads one. Add --data FILE", self.task.name());
        require(self.task == Task::Cost || !self.data.is_empty(), "data", "[]", file)?;
        self.cache.opened(self).map(|_| ())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        if !self.given() {
            return Ok(vec![]);
        }
        let cell = |more: &[(String, Value)], variant: &str, reading: &str| {
            let named = [(TASK, self.task.name()), (VARIANT, variant), (READING, reading)];
            let named = named.map(|(name, value)| (name.to_string(), Value::from(value)));
            named.into_iter().chain(more.iter().cloned()).collect::<Params>()
        };
        if self.task == Task::Cost {
            let sizes = [("context", self.context), ("batch", self.batch)];
            let sizes = sizes.map(|(name, n)| (name.to_string(), Value::from(n)));
            return Ok(vec![cell(&sizes, VARIANTS[0].0, self.task.readings()[0])]);
        }
        let (variants, choices) = (&VARIANTS[..1 + usize::from(self.controls)], self.choices());
        let cells = iproduct!(variants, &choices, self.task.readings());
        Ok(cells.map(|((variant, _), (more, _), reading)| cell(more, variant, reading)).collect())
    }

    fn memory(&self, _: &Params) -> u64 {
        self.cache.memory(self)
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        self.trial_at(cell, streams, &TrialContext::none())
    }

    /// The numbers of [`Found::data`](crate::evaluate::Found::data), "items" (how many of how many in "items_of") and
    /// "shortened" (items whose beginning is left out); for the cost those of [`measure`].
    fn trial_at(&self, cell: &Params, _: &Streams, context: &TrialContext) -> Result<Map<String, Value>> {
        let opened = self.cache.opened(self)?;
        if self.task == Task::Cost {
            return measure(&opened.trained, self.context, self.batch, self.runs);
        }
        let cell = cell.as_json();
        let word = |name: &str| cell.get(name).and_then(Value::as_str).unwrap_or_default();
        let of_cell =
            |(more, _): &(Vec<(String, Value)>, Passes)| more.iter().all(|(name, value)| cell.get(name) == Some(value));
        let (_, passes) =
            self.choices().into_iter().find(of_cell).ok_or_else(|| Error::undefined("a cell of other settings"))?;
        let scored = self.cache.scores(self, word(VARIANT), passes, context)?;
        let mut data = scored.prepared.reading(word(READING), &scored.scores, self.level)?.data();
        data.insert("items".into(), scored.prepared.len().into());
        data.insert("items_of".into(), scored.of.into());
        data.insert("shortened".into(), scored.prepared.shortened().into());
        Ok(data)
    }

    fn size(&self) -> String {
        match (self.task, self.limit) {
            (Task::Cost, _) => format!("{} sequences of {} tokens, {} runs", self.batch, self.context, self.runs),
            (_, 0) => "all items".into(),
            (_, n) => format!("at most {n} items"),
        }
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
