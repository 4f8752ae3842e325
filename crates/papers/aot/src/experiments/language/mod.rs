//! Training on language: the next token of a text, for the networks of the AoT papers' Section 4.2.
//! Settings: `attnlab run language --show`.
//!
//! Without a text of the user's the text is a stationary Markov chain, whose entropy rate is exact: what
//! no network may fall below on the held-out part, and what one that has learnt the chain comes near.
//!
//! A cell is a network; a trial is a training seed. All share one text.

use super::LANGUAGE as LISTED;
use super::networks::{held_out, history, record_depth, record_estimate, rows_of_papers, training_memory};
use crate::corpus::Corpus;
use crate::quantities::*;
use attnlab_core::stats;
use attnlab_lab::prelude::*;
use attnlab_networks::Tokenizer;
use attnlab_theory::markov::{MarkovChain, contexts};
use attnlab_theory::sample::markov;
use attnlab_train::model::{ComputeDevice, Input, Model, ModelConfig, Output, Recording, preset};
use attnlab_train::training::language::Text;
use attnlab_train::training::{TrainingPlan, train};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

mod pictures;

settings! {
    /// Training on a text with all its settings.
    #[experiment(LISTED.id, rows = LISTED.name, title = LISTED.title)]
    #[source(LISTED.source.paper, LISTED.source.place)]
    #[trains = true]
    pub struct Language {
        pub seeds: u64 = spread,
        pub networks: Vec<String> = names,
        pub text: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub tokenizer: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub end_of_text: String,
        pub held_out: f64,
        pub vocabulary: usize,
        pub context: usize = whole(1..),
        pub order: usize,
        pub concentration: f64,
        pub tokens: usize,
        pub layers: usize,
        pub width: usize,
        pub heads: usize,
        pub sigma: f64,
        pub backend: String,
        pub plan: TrainingPlan = table,
        pub evaluation: LanguageEvaluation = table,
        #[serde(skip)]
        packed: Shared<Mutex<Option<(Arc<Text>, f64)>>>,
    }
}

settings! {
    /// Measurements on the held-out part.
    pub struct LanguageEvaluation {
        pub sequences: usize = whole(2..),
        pub activations: usize = whole(1..),
        pub precision: f64 = positive,
    }
}

/// Networks that take the sizes of the settings, and the row of a paper that each is cut from.
const NETWORKS: [(&str, &str); 8] = [
    ("aot-mssa", "aot-mssa-l-base"),
    ("aot-mhsa", "aot-mhsa-l-base"),
    ("aot-tied", "icl-aot-tied"),
    ("hybrid", "aot-hybrid-l"),
    ("full-mlp", "aot-full-mlp-l"),
    ("gpt2", "gpt2-base"),
    ("llama", "icl-llama"),
    ("llama-aot", "icl-llama-aot"),
];

/// Confidence of the intervals over sequences.
const LEVEL: f64 = 0.95;

/// A text, and the chain it was drawn from.
struct Source {
    text: Arc<Text>,
    chain: Option<MarkovChain>,
    /// Tokens per byte of the held-out part, where a tokenizer has cut it.
    density: Option<f64>,
}

impl Language {
    /// A network of the papers on this vocabulary and context.
    fn network(&self, name: &str) -> Result<ModelConfig> {
        let sized = match NETWORKS.iter().find(|(n, _)| *n == name) {
            Some((_, paper)) => {
                ModelConfig { sigma: self.sigma, ..preset(paper)?.resized(self.layers, self.width, self.heads) }
            }
            None if of_papers().any(|row| row == name) => preset(name)?,
            None => {
                let known = NETWORKS.iter().map(|(name, _)| *name).chain(of_papers());
                return Err(Error::unknown("network", name, known));
            }
        };
        let input = Input::Tokens { vocabulary: self.vocabulary };
        Ok(ModelConfig { input, output: Output::TiedTokens, context: self.context, bias: false, ..sized })
    }

    /// The text of the user, or one drawn from a chain that all cells and trials of a run share.
    fn source(&self, streams: &Streams) -> Result<Source> {
        if !self.tokenizer.is_empty() {
            let (text, density) = self.packed()?;
            return Ok(Source { text, chain: None, density: Some(density) });
        }
        let (context, held_out) = (self.context, self.held_out);
        let (text, chain) = match self.text.as_str() {
            "" => {
                let shared = streams.of_cell(0).of_trial(0).child("source", 0);
                let chain = markov::dirichlet(self.vocabulary, self.order, self.concentration, &shared)?;
                let text = Text::from_tokens(markov::draw(&chain, self.tokens, &shared), context, held_out)?;
                (text, Some(chain))
            }
            path => (Text::read(Path::new(path), context, held_out)?, None),
        };
        let needed = text.vocabulary();
        let (path, last) = (&self.text, needed.saturating_sub(1));
        let allowed =
            format!("must be at least {needed}; {path} holds token {last} (256 have all bytes, 50304 GPT-2's tokens)");
        require(needed <= self.vocabulary, "vocabulary", self.vocabulary, allowed)?;
        let text = Arc::new(text.watching(self.evaluation.sequences)?);
        Ok(Source { text, chain, density: None })
    }

    /// The documents, cut into tokens by the first trial that asks, and tokens per byte of the held-out ones.
    fn packed(&self) -> Result<(Arc<Text>, f64)> {
        let mut packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(packed) = &*packed {
            return Ok(packed.clone());
        }
        let corpus = Corpus::read(Path::new(&self.text), Path::new(&self.tokenizer), &self.end_of_text)?;
        let allowed = format!("must be at least {}, the tokens of {}", corpus.vocabulary, self.tokenizer);
        require(corpus.vocabulary <= self.vocabulary, "vocabulary", self.vocabulary, allowed)?;
        let Corpus { ids, starts, bytes, .. } = corpus;
        let text = Text::from_documents(ids, &starts, self.context, self.held_out)?;
        let text = text.watching(self.evaluation.sequences)?;
        let cut = text.held_out_start();
        let bytes: u64 = starts.iter().zip(&bytes).filter(|(start, _)| **start >= cut).map(|(_, bytes)| bytes).sum();
        let density = (text.len() - cut) as f64 / bytes as f64;
        Ok(packed.insert((Arc::new(text), density)).clone())
    }

    /// Stable rank, coding rate and SNR by depth.
    fn depth(&self, when: &str, model: &Model, text: &Text, data: &mut Map<String, Value>) -> Result<()> {
        let e = &self.evaluation;
        let forward = |recording: &mut Recording| text.activations(model, e.activations, recording);
        record_depth(when, model, e.activations, e.precision, &forward, data)
    }
}

/// The rows of the papers that learn language.
fn of_papers() -> impl Iterator<Item = &'static str> {
    rows_of_papers(|input| matches!(input, Input::Tokens { .. }))
}

/// "NAME", "NAME.low" and "NAME.high": a mean over sequences with its interval.
fn record(name: &str, values: &[f64], data: &mut Map<String, Value>) -> Result<()> {
    record_estimate(name, &stats::mean(values, LEVEL)?, data);
    Ok(())
}

/// Records the loss of the chain's own law on the same sequences, and the network's excess over it.
fn against_chain(
    chain: &MarkovChain,
    sequences: &[Vec<u32>],
    losses: &[f64],
    data: &mut Map<String, Value>,
) -> Result<()> {
    // Symbols of a chain are below 1024.
    let narrow = |w: &Vec<u32>| w.iter().map(|id| *id as u16).collect::<Vec<u16>>();
    let source: Vec<f64> = sequences.iter().map(|w| chain.loss(&narrow(w))).collect();
    let context = sequences.first().map_or(0, |w| w.len() - 1);
    data.insert("entropies".into(), store::series(&chain.entropies()));
    data.insert("least".into(), store::number(chain.least_loss(context)));
    record("source", &source, data)?;
    let above: Vec<f64> = losses.iter().zip(&source).map(|(l, o)| l - o).collect();
    record("excess", &above, data)
}

impl Experiment for Language {
    fn validate(&self) -> Result<()> {
        let (text, tokenizer, end) = (&self.text, &self.tokenizer, &self.end_of_text);
        let allowed = "must be empty without a text; a Markov chain has symbols of its own. Add --set text=FILE";
        require(tokenizer.is_empty() || !text.is_empty(), "tokenizer", tokenizer, allowed)?;
        let allowed = "must be empty without a tokenizer. Add --set tokenizer=PATH";
        require(end.is_empty() || !tokenizer.is_empty(), "end_of_text", end, allowed)?;
        ComputeDevice::parse(&self.backend)?;
        let e = &self.evaluation;
        let most = format!("must be at most evaluation.sequences = {}", e.sequences);
        require(e.activations <= e.sequences, "evaluation.activations", e.activations, most)?;
        if self.text.is_empty() {
            contexts(self.vocabulary, self.order)?;
            markov::check_concentration(self.concentration)?;
            Text::check(self.tokens, self.context, self.held_out, e.sequences)?;
        }
        self.networks.iter().try_for_each(|n| self.network(n)?.validate())
    }

    /// The text is there, long enough, and within the vocabulary.
    fn ready(&self) -> Result<()> {
        // Nothing of a file is drawn.
        let source = (!self.text.is_empty()).then(|| self.source(&Streams::new(0, Self::NAME, 0, 0)));
        source.transpose().map(|_| ())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |name: &String| {
            let config = self.network(name)?;
            Ok(Params::from_iter([
                NETWORK.is(name.as_str()),
                LAYERS.is(config.layers),
                WIDTH.is(config.width),
                HEADS.is(config.heads),
                VOCABULARY.is(self.vocabulary),
                CONTEXT.is(self.context),
            ]))
        };
        self.networks.iter().map(cell).collect()
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        self.trial_at(cell, streams, &TrialContext::none())
    }

    /// "parameters"; the series "steps", "loss" (in training), "norm"; the held-out loss at those steps
    /// and before the first, "held_out_steps" and "held_out"; at the end "final" with "final.low" and
    /// "final.high" (95 % over sequences); stable rank, coding rate and SNR by depth, "untrained.WHAT"
    /// and "trained.WHAT". Of a chain: "entropies" (of the next symbol given 0, 1, .. before it), "least"
    /// (the least expected loss on such sequences), the loss of the chain's own law on the same sequences
    /// ("source"), and what "final" is above it ("excess"), each with its interval. Of a file: "unigram",
    /// the loss of the frequencies of tokens in the training part. With a tokenizer: "tokens_per_byte" of the held-out
    /// documents, end-of-text tokens included, and "final_per_byte" and "unigram_per_byte", nats per byte of their text.
    fn trial_at(&self, cell: &Params, streams: &Streams, context: &TrialContext) -> Result<Map<String, Value>> {
        let name = cell.get(NETWORK);
        let Source { text, chain, density } = self.source(streams)?;
        if let (Some(folder), false) = (&context.folder, self.tokenizer.is_empty()) {
            // The network can then be opened with its tokenizer, `inspect` and `evaluate` among others.
            Tokenizer::open(Path::new(&self.tokenizer))?.write(&folder.join("tokenizer.json"))?;
        }
        let device = ComputeDevice::parse(&self.backend)?;
        let model = Model::new(self.network(name)?, &device, &streams.child("weights", 0))?;
        let mut data = Map::new();
        data.insert("parameters".into(), model.config().parameters().into());
        self.depth("untrained", &model, &text, &mut data)?;
        let sequences = self.evaluation.sequences;
        let untrained = text.losses(&model, sequences)?;
        let before = vec![untrained.iter().sum::<f64>() / untrained.len() as f64];
        let label = format!("language {name} {}", streams.name());
        let trained = train(&*text, model, &self.plan, streams, &label, context)?;
        history(&trained.history, &mut data);
        held_out(&trained.history, before, &mut data);
        let losses = text.losses(&trained.model, sequences)?;
        record("final", &losses, &mut data)?;
        let per_byte = |losses: &[f64]| losses.iter().map(|l| l * density.unwrap_or(1.0)).collect::<Vec<_>>();
        if let Some(density) = density {
            data.insert("tokens_per_byte".into(), store::number(density));
            record("final_per_byte", &per_byte(&losses), &mut data)?;
        }
        match &chain {
            Some(chain) => against_chain(chain, &text.held_out_sequences(sequences)?, &losses, &mut data)?,
            None => {
                let losses = text.unigram_losses(sequences, self.vocabulary)?;
                record("unigram", &losses, &mut data)?;
                if density.is_some() {
                    record("unigram_per_byte", &per_byte(&losses), &mut data)?;
                }
            }
        }
        self.depth("trained", &trained.model, &text, &mut data)?;
        Ok(data)
    }

    fn memory(&self, cell: &Params) -> u64 {
        let tokens = match self.text.as_str() {
            "" => 2 * self.tokens as u64,
            // The text and at most four bytes per byte of it, once for all trials.
            _ if !self.tokenizer.is_empty() => 0,
            path => std::fs::metadata(path).map_or(0, |m| 3 * m.len()),
        };
        let Ok(config) = self.network(cell.get(NETWORK)) else { return tokens };
        let batch = self.plan.batch.div_ceil(self.plan.accumulate);
        // Scores, their logarithm, and a derivative.
        let scores = 3 * 4 * (batch * self.context * self.vocabulary) as u64;
        tokens + scores + training_memory(&config, batch, self.context)
    }

    fn size(&self) -> String {
        format!("{} layers of width {}, {} steps, {} seeds", self.layers, self.width, self.plan.steps, self.seeds)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
