//! JoMA Figs. 6 to 8: entropy of attention and stable rank of weights while a decoder learns the next word of a text,
//! with the controls that the figures lack.

use crate::PAPERS;
use crate::network::{Adam, Architecture, Layout, Network, Plan, Record, Records, Slot, Start, train};
use crate::quantities::{BLOCKS, CONTROL, CONTROLS, LEARNING_RATE};
use crate::text::Text;
use attnlab_lab::prelude::*;
use std::path::Path;

mod controls;
mod drawn;
mod invariant;
mod measure;
mod pictures;

settings! {
    /// Attention entropy while training on a text.
    #[experiment("joma.text", rows = "joma_text",
        title = "Training on a text: entropy of attention and stable rank by layer, with controls")]
    #[source(&PAPERS[0], "Figures 6, 7 and 8")]
    pub struct JomaText {
        pub seeds: u64 = spread,
        pub layers: Vec<usize> = whole(1..),
        pub rates: Vec<f64> = positive,
        pub controls: Vec<String> = any_words("control", &CONTROLS),
        pub control_layers: usize,
        pub other_rate: f64 = positive,
        pub text: String,
        pub held_out: f64 = within("[0, 1)"),
        pub least_count: usize = whole(1..),
        pub source: String = word("source", &drawn::SOURCES),
        pub vocabulary: usize,
        pub words: usize,
        pub topics: usize = whole(1..),
        pub document: [usize; 2],
        pub latents: usize = whole(1..),
        pub active: f64 = within("[0, 1]"),
        pub rho: f64 = within("[0, 1]"),
        pub concentration: f64,
        pub width: usize = whole(2..),
        pub dropout: f64 = within("[0, 1)"),
        pub steps: u64,
        pub every: u64 = whole(1..),
        pub streams: usize = whole(1..),
        pub window: usize = whole(2..),
        pub clip: f64 = positive,
        pub reset: bool,
        pub validation_streams: usize = whole(1..),
        pub validation_batches: u64,
        pub theorem1: invariant::Invariant = table,
    }
}

/// The network itself.
const PLAIN: &str = "none";
/// The check of Theorem 1 on the same text.
const THEOREM_1: &str = "theorem1";
/// Training at another rate.
const RATE: &str = "rate";

impl JomaText {
    /// The number of blocks of the network that controls are compared with.
    fn compared(&self) -> usize {
        if self.control_layers == 0 { self.layers[0] } else { self.control_layers }
    }

    /// The learning rate of a control.
    fn rate_of(&self, control: &str) -> f64 {
        if control == RATE { self.other_rate } else { self.rates[0] }
    }

    fn text(&self, control: &str, streams: &Streams) -> Result<Text> {
        // One text for all cells and seeds, and one shuffle of it.
        let shared = streams.of_cell(0).of_trial(0).child("text", 0);
        let text = match self.text.as_str() {
            "" => drawn::text(self, &shared)?,
            path => Text::read(Path::new(path), self.least_count, self.held_out)?,
        };
        Ok(if control == "shuffled" { text.shuffled(&shared) } else { text })
    }

    fn network(&self, cell: &Params, vocabulary: usize) -> Architecture {
        let text = Architecture::text(vocabulary, self.width, cell.get(BLOCKS));
        Architecture { linear: cell.get(CONTROL) == "linear", ..text }
    }

    /// The parameters that a control keeps as they are.
    fn frozen(control: &str, layout: &Layout) -> Vec<Slot> {
        if control != "frozen" {
            return vec![];
        }
        let maps = layout.blocks.iter().flat_map(|b| [b.query, b.key]);
        maps.flat_map(|map| std::iter::once(map.weight).chain(map.bias)).collect()
    }

    fn records(&self) -> Records {
        Records::every(self.every, self.steps)
    }
}

impl Experiment for JomaText {
    fn validate(&self) -> Result<()> {
        // A control without the network that it is compared with says nothing.
        let compared = self.compared();
        let trained = self.controls.iter().any(|c| c != PLAIN && c != THEOREM_1);
        let allowed = format!("must be one of layers = {:?}, or 0 for the first of them", self.layers);
        require(!trained || self.layers.contains(&compared), "control_layers", compared, allowed)?;
        let differs = !self.controls.iter().any(|c| c == RATE) || self.other_rate != self.rates[0];
        require(differs, "other_rate", self.other_rate, "must differ from the first of rates")?;
        let allowed = format!("must be at least twice every = {}", self.every);
        require(self.steps >= 2 * self.every, "steps", self.steps, allowed)?;
        self.theorem1.validate()?;
        if self.text.is_empty() {
            drawn::validate(self)?;
        }
        Ok(())
    }

    fn ready(&self) -> Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        let text = self.text(PLAIN, &Streams::new(0, Self::NAME, 0, 0))?;
        text.training(self.streams, self.window)?;
        text.validation(self.validation_streams, self.window)?;
        Ok(())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |blocks: usize, rate: f64, control: &str| {
            Params::from_iter([BLOCKS.is(blocks), LEARNING_RATE.is(rate), CONTROL.is(control)])
        };
        let plain = iproduct!(&self.rates, &self.layers).map(|(rate, blocks)| cell(*blocks, *rate, PLAIN));
        let controls = self.controls.iter().filter(|c| *c != PLAIN).map(|control| {
            cell(if control == THEOREM_1 { 1 } else { self.compared() }, self.rate_of(control), control)
        });
        Ok(plain.chain(controls).collect())
    }

    fn memory(&self, cell: &Params) -> u64 {
        let (text, vocabulary) = match self.text.as_str() {
            "" => (8 * self.words as u64, self.vocabulary),
            // Words of English have about six bytes with their space; a word is a string while it is counted.
            path => (file_sizes(Path::new(path)).saturating_mul(12), 30_000),
        };
        let columns = self.window * self.streams.max(self.validation_streams);
        text.saturating_add(self.network(cell, vocabulary).memory(columns, columns))
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        self.trial_at(cell, streams, &TrialContext::none())
    }

    /// The series at the recorded steps: "loss" (validation), "training_loss"; of every block b "entropy_b" (mean
    /// over validation windows and positions), "others_b" (of the weights of the words before, without the
    /// word itself), "rank_b" (stable rank of W_1), "moved_b" (of W_1 − W_1(0)) and "permuted_b" (of W_1 with
    /// its entries permuted); by position, "start_b", "least_b" (at the record of least entropy) and "end_b". "vocabulary", and "epoch", the number of steps
    /// in one. For the control "theorem1", the series of that check (`invariant.rs`).
    fn trial_at(&self, cell: &Params, streams: &Streams, context: &TrialContext) -> Result<Map<String, Value>> {
        let control = cell.get(CONTROL);
        let text = self.text(control, streams)?;
        if control == THEOREM_1 {
            return invariant::trial(self, &text, streams);
        }
        let training = text.training(self.streams, self.window)?;
        let validation = text.validation(self.validation_streams, self.window)?;
        let sizes = self.network(cell, text.vocabulary);
        // All controls and rates of one depth have the same start.
        let streams = streams.of_cell(Params::from_iter([BLOCKS.is(cell.get(BLOCKS))]).cell());
        let mut network = Network::<f32>::new(sizes, Start::Library { equal_blocks: control != "own" }, &streams)?;
        let rate = cell.get(LEARNING_RATE);
        let adam = Adam::new(rate, 0.0, network.parameters().len());
        let records = self.records();
        let label = format!("{} layers {} rate {rate:e} {control} {}", Self::NAME, sizes.blocks, streams.name());
        let plan = Plan {
            clip: Some(self.clip),
            dropout: self.dropout,
            reset_every: self.reset.then(|| training.batches()),
            frozen: Self::frozen(control, network.layout()),
            ..Plan::new(&records, Value::Object(Identity::settings(self)), label)
        };
        let most = self.validation_batches;
        let batches = if most == 0 { validation.batches() } else { most.min(validation.batches()) };
        let looker = measure::Looker::new(&network, validation, batches, records.last(), &streams);
        let mut look = |network: &Network<f32>, step: u64, record: &mut Record| looker.look(network, step, record);
        let batch = |step: u64| Ok(training.batch(step));
        let mut data = train(&mut network, adam, &plan, &streams, context, &batch, &mut look)?.0;
        data.insert("vocabulary".into(), text.vocabulary.into());
        data.insert("epoch".into(), store::number(training.batches() as f64));
        Ok(data)
    }

    fn size(&self) -> String {
        format!("width {}, {} steps, {} seeds", self.width, self.steps, self.seeds)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

/// Sum of the sizes of the files at a path, in bytes; 0 where there are none.
fn file_sizes(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else { return std::fs::metadata(path).map_or(0, |m| m.len()) };
    entries.flatten().filter_map(|e| e.metadata().ok()).map(|m| m.len()).sum()
}
