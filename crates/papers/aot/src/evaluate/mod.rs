//! Evaluation of trained networks as in the AoT papers' Table 1 (2024) and Table 3 (ICML): LAMBADA, the Children's Book
//! Test, the loss on a text, and the cost of a forward pass.
//!
//! The papers print one number per benchmark and not how it is read off. Here every common reading is computed from the
//! same forward passes:
//!
//! 1. [`files`] reads passages, questions or documents, and refuses what is malformed with file and line;
//! 2. [`Prepared`] turns them into the token ids of forward passes, after a [`Detokeniser`];
//! 3. [`Prepared::score`] runs one item and returns its scores, a few numbers;
//! 4. [`Prepared::reading`] turns the scores of all items into one number with its interval and its baselines.
//!
//! ```
//! use attnlab_aot::evaluate::{Detokeniser, Passes, Prepared, Task, files};
//! use attnlab_networks::Transformer;
//! # let network = concat!(env!("CARGO_MANIFEST_DIR"), "/../../networks/tests/data/llama.gguf");
//! # let folder = tempfile::tempdir().unwrap();
//! # let file = folder.path().join("passages.txt");
//! # std::fs::write(&file, "the tokens of the attention\nthe weights of the tokens\n").unwrap();
//! let network = Transformer::open(network.as_ref())?;
//! let passages = files::read(&[file], Task::Lambada)?;
//! let passes = Passes { detokenise: Detokeniser::Off, window: 0, stride: 0 };
//! let prepared = Prepared::new(&passages, &network.tokenizer()?, network.architecture(), passes)?;
//! let scores: Result<Vec<_>, _> = (0..prepared.len()).map(|i| prepared.score(&network, i)).collect();
//! let result = prepared.reading("last word", &scores?, 0.95)?;
//! println!("accuracy {} from {} to {}", result.estimate.value, result.estimate.low, result.estimate.high);
//! # Ok::<(), attnlab_core::Error>(())
//! ```

mod cloze;
pub mod cost;
mod detokenise;
pub mod files;
mod passage;
pub mod printed;
mod statistics;
mod text;

pub use detokenise::Detokeniser;
pub use passage::STOP_WORDS;
pub use statistics::{Found, ratio};

use attnlab_lab::prelude::*;
use attnlab_networks::transformer::TransformerArchitecture;
use attnlab_networks::{Tokenizer, Transformer};
use clap::ValueEnum;
use files::Read;
use std::ops::Range;

/// Task that a network is evaluated on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// LAMBADA: the last word of a passage.
    Lambada,
    /// Children's Book Test: the omitted word, one of ten candidates.
    Cbt,
    /// Loss on a text, such as PTB or WikiText.
    Text,
    /// Operations, memory and time of a forward pass.
    Cost,
}

impl Task {
    /// Returns the name that the command line and the rows have.
    pub fn name(self) -> &'static str {
        match self {
            Task::Lambada => "lambada",
            Task::Cbt => "cbt",
            Task::Text => "text",
            Task::Cost => "cost",
        }
    }

    /// Returns the names of the readings, which [`Prepared::reading`] knows.
    pub fn readings(self) -> &'static [&'static str] {
        match self {
            Task::Lambada => &passage::READINGS,
            Task::Cbt => &cloze::READINGS,
            Task::Text => &text::READINGS,
            Task::Cost => &cost::READINGS,
        }
    }

    /// Returns the detokenisers that are compared where the user names none.
    pub fn detokenisers(self) -> &'static [Detokeniser] {
        match self {
            Task::Lambada => &[Detokeniser::Off, Detokeniser::Openai],
            Task::Cbt => &[Detokeniser::Off, Detokeniser::Spaces],
            Task::Text | Task::Cost => &[Detokeniser::Off],
        }
    }
}

/// Choices that forward passes depend on. Readings that share them share the passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passes {
    /// Change of the text before it is cut into tokens.
    pub detokenise: Detokeniser,
    /// Tokens of a forward pass over a text.
    pub window: usize,
    /// Tokens between the beginnings of two windows of a text.
    pub stride: usize,
}

/// Special tokens that a tokenizer puts before a text.
pub(crate) fn special_before(tokenizer: &Tokenizer) -> Result<Vec<u32>> {
    let (plain, whole) = (tokenizer.encode_plain("a")?, tokenizer.encode("a")?);
    let start = (0..=whole.len()).find(|i| whole[*i..].starts_with(&plain));
    Ok(whole[..start.unwrap_or(0)].to_vec())
}

/// Index of the first token that stands for text beyond this byte, or the number of tokens.
fn first_beyond(spans: &[Range<usize>], byte: usize) -> usize {
    spans.iter().position(|span| span.end > byte).unwrap_or(spans.len())
}

/// Length of the common beginning of two sequences.
fn common<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Items of an evaluation as token ids, ready for forward passes.
pub struct Prepared {
    items: Items,
    vocabulary: usize,
    /// Tokens of each item's forward passes.
    tokens: Vec<usize>,
}

enum Items {
    Passages(Vec<passage::Passage>, passage::Excluded),
    Questions(Vec<cloze::Question>),
    Windows(text::Windows),
}

impl Prepared {
    /// Cuts what was read into tokens. Where an item is longer than the network's context, its beginning is left out.
    ///
    /// # Errors
    /// An item that cannot be evaluated, with its file and line; a window that does not fit the context.
    pub fn new(read: &Read, tokenizer: &Tokenizer, network: &TransformerArchitecture, passes: Passes) -> Result<Self> {
        let before = special_before(tokenizer)?;
        let cut = Cut { tokenizer, before: &before, context: network.context, detokenise: passes.detokenise };
        let items = match read {
            Read::Passages(passages) => {
                let passages = passages.iter().map(|p| passage::Passage::new(p, &cut)).collect::<Result<_>>()?;
                Items::Passages(passages, passage::Excluded::new(tokenizer)?)
            }
            Read::Questions(questions) => {
                Items::Questions(questions.iter().map(|q| cloze::Question::new(q, &cut)).collect::<Result<_>>()?)
            }
            Read::Text(text) => Items::Windows(text::Windows::new(text, &cut, passes.window, passes.stride)?),
        };
        let tokens = match &items {
            Items::Passages(passages, _) => passages.iter().map(passage::Passage::tokens).collect(),
            Items::Questions(questions) => questions.iter().map(cloze::Question::tokens).collect(),
            Items::Windows(windows) => (0..windows.len()).map(|i| windows.tokens(i)).collect(),
        };
        let prepared = Prepared { items, vocabulary: network.vocabulary, tokens };
        let Some(id) = prepared.beyond_vocabulary() else { return Ok(prepared) };
        let allowed = format!(
            "must be less than {}, the number of tokens of the network; the tokenizer is another network's. Put the \
             network's own beside it",
            network.vocabulary
        );
        Err(Error::invalid("token", id, allowed))
    }

    fn beyond_vocabulary(&self) -> Option<u32> {
        let beyond = |ids: &[u32]| ids.iter().copied().find(|id| *id as usize >= self.vocabulary);
        match &self.items {
            Items::Passages(passages, _) => passages.iter().find_map(|p| beyond(&p.ids)),
            Items::Questions(questions) => questions.iter().find_map(|q| q.sequences().find_map(beyond)),
            Items::Windows(windows) => windows.sequences().find_map(beyond),
        }
    }

    /// Returns the number of items: passages, questions or windows.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns `true` without items.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Returns the tokens of the forward passes of an item.
    pub fn tokens(&self, item: usize) -> usize {
        self.tokens[item]
    }

    /// Returns the number of items whose beginning is left out because they are longer than the context.
    pub fn shortened(&self) -> usize {
        match &self.items {
            Items::Passages(passages, _) => passages.iter().filter(|p| p.shortened).count(),
            Items::Questions(questions) => questions.iter().filter(|q| q.shortened).count(),
            Items::Windows(_) => 0,
        }
    }

    /// Runs the network on one item. The scores do not depend on the number of threads.
    ///
    /// # Errors
    /// Those of [`Transformer::predict`].
    pub fn score(&self, network: &Transformer, item: usize) -> Result<Vec<f64>> {
        match &self.items {
            Items::Passages(passages, excluded) => passages[item].score(network, excluded),
            Items::Questions(questions) => questions[item].score(network),
            Items::Windows(windows) => windows.score(network, item),
        }
    }

    /// Computes a reading from the scores of items: `scores` are those of the items `0..scores.len()`, or of
    /// those that [`Prepared::keep`] has kept.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a reading that the task does not have; [`Error::Shape`] for another number of scores than
    /// of items.
    pub fn reading(&self, reading: &str, scores: &[Vec<f64>], level: f64) -> Result<Found> {
        require_shape(scores.len() == self.len(), "scores", scores.len(), format!("{}, one per item", self.len()))?;
        match &self.items {
            Items::Passages(passages, _) => passage::reading(reading, passages, scores, self.vocabulary, level),
            Items::Questions(questions) => cloze::reading(reading, questions, scores, level),
            Items::Windows(windows) => windows.reading(reading, scores, self.vocabulary, level),
        }
    }

    /// Keeps the items with these numbers, in this order.
    pub fn keep(&mut self, numbers: &[usize]) {
        fn pick<T: Clone>(items: &mut Vec<T>, numbers: &[usize]) {
            *items = numbers.iter().map(|i| items[*i].clone()).collect();
        }
        pick(&mut self.tokens, numbers);
        match &mut self.items {
            Items::Passages(passages, _) => pick(passages, numbers),
            Items::Questions(questions) => pick(questions, numbers),
            Items::Windows(windows) => windows.keep(numbers),
        }
    }
}

/// Means of cutting texts into tokens.
struct Cut<'a> {
    tokenizer: &'a Tokenizer,
    /// Special tokens before every text.
    before: &'a [u32],
    context: usize,
    detokenise: Detokeniser,
}
