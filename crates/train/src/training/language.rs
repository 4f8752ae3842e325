//! Language: the next token of a text, from a file of bytes, of token ids, or from documents cut into tokens.

use super::steps::{Batch, TrainingTask};
use crate::model::{Model, Recording, Tensor, cross_entropy, read};
use attnlab_core::error::{Error, Result, require};
use attnlab_core::input;
use attnlab_core::rng::{Streams, hash};
use attnlab_lab::experiment::ranges::within;
use rand::RngExt;
use serde_json::{Value, json};
use std::path::Path;

/// Ids in 16 bits each where all of them fit, as nearly all vocabularies up to GPT-2's do.
#[derive(Clone, Debug, PartialEq)]
enum Tokens {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Tokens {
    fn new(ids: Vec<u32>) -> Self {
        match ids.iter().all(|id| u16::try_from(*id).is_ok()) {
            true => Tokens::Narrow(ids.iter().map(|id| *id as u16).collect()),
            false => Tokens::Wide(ids),
        }
    }

    fn len(&self) -> usize {
        match self {
            Tokens::Narrow(ids) => ids.len(),
            Tokens::Wide(ids) => ids.len(),
        }
    }

    fn ids(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = u32> {
        range.map(move |i| match self {
            Tokens::Narrow(ids) => u32::from(ids[i]),
            Tokens::Wide(ids) => ids[i],
        })
    }

    /// Hash of the ids in the bytes in which they are kept.
    fn checksum(&self) -> u64 {
        let bytes: Vec<u8> = match self {
            Tokens::Narrow(ids) => ids.iter().flat_map(|id| id.to_le_bytes()).collect(),
            Tokens::Wide(ids) => ids.iter().flat_map(|id| id.to_le_bytes()).collect(),
        };
        hash(&bytes)
    }
}

/// Text as token ids, cut into a training part and a held-out part.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    tokens: Tokens,
    /// Index of the first held-out token.
    cut: usize,
    context: usize,
    /// Number of held-out sequences whose loss is computed during training.
    watched: usize,
}

impl Text {
    /// Reads a file whose bytes are the tokens (a vocabulary of 256), or, for a name that ends in `.bin`,
    /// of 16-bit little-endian token ids, as nanoGPT writes them. The last `held_out` of it is kept
    /// for evaluation. Sequences have `context` tokens.
    ///
    /// # Errors
    /// [`Error::Io`] for a file that cannot be read; [`Error::Content`] for one that is empty or too short,
    /// or a `.bin` of an odd number of bytes.
    pub fn read(path: &Path, context: usize, held_out: f64) -> Result<Self> {
        let bytes =
            input::read("text", path).map_err(|e| Error::io(path, e, "Give a text, or token ids in a .bin file"))?;
        let wrong = |problem: String| Error::Content { path: path.to_path_buf(), problem };
        if bytes.is_empty() {
            return Err(wrong("the text is empty".into()));
        }
        let tokens = match path.extension().is_some_and(|e| e == "bin") {
            true => {
                let (words, rest) = bytes.as_chunks::<2>();
                if !rest.is_empty() {
                    let count = bytes.len();
                    return Err(wrong(format!(
                        "it has {count} bytes, an odd number; a .bin file holds 16-bit token ids"
                    )));
                }
                words.iter().map(|w| u16::from_le_bytes(*w)).collect()
            }
            false => bytes.iter().map(|b| u16::from(*b)).collect(),
        };
        Self::from_tokens(tokens, context, held_out).map_err(|e| wrong(e.to_string()))
    }

    /// Cuts a text given by its tokens.
    ///
    /// # Errors
    /// [`Error::Invalid`] when either part is shorter than a sequence and the token after it.
    pub fn from_tokens(tokens: Vec<u16>, context: usize, held_out: f64) -> Result<Self> {
        let cut = cut(tokens.len(), context, held_out)?;
        Ok(Text { tokens: Tokens::Narrow(tokens), cut, context, watched: 0 })
    }

    /// Cuts documents that lie one after another in `ids`, document i from `starts[i]` on, between two of them: the
    /// first of the held-out part is the first that begins in the last `held_out` of the tokens, or the last document
    /// if none does. No document is in both parts.
    ///
    /// ```
    /// use attnlab_train::training::language::Text;
    /// let ids = (0..100_000).map(|i| i % 70_000).collect();
    /// let text = Text::from_documents(ids, &[0, 500, 93_000], 16, 0.1)?;
    /// assert_eq!(text.held_out_start(), 93_000);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for fewer than two documents, starts that do not ascend from 0 within the ids, or when either
    /// part is shorter than a sequence and the token after it.
    pub fn from_documents(ids: Vec<u32>, starts: &[usize], context: usize, held_out: f64) -> Result<Self> {
        let ascend = starts.first() == Some(&0) && starts.windows(2).all(|w| w[0] < w[1]);
        let fits = starts.len() >= 2 && ascend && starts[starts.len() - 1] < ids.len();
        let allowed = "must be at least 2, none of them empty; held-out documents are never trained on";
        require(fits, "documents", starts.len(), allowed)?;
        within("(0, 1)")("held_out", &held_out)?;
        let wanted = ((1.0 - held_out) * ids.len() as f64) as usize;
        let cut = starts[1..].iter().copied().find(|start| *start >= wanted).unwrap_or(starts[starts.len() - 1]);
        check_parts(ids.len(), cut, context)?;
        Ok(Text { tokens: Tokens::new(ids), cut, context, watched: 0 })
    }

    /// Returns the index of the first held-out token.
    pub fn held_out_start(&self) -> usize {
        self.cut
    }

    /// Returns the number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns `false`: a text has tokens.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the same text with its held-out loss over `sequences` sequences computed during training.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the held-out part has fewer.
    pub fn watching(self, sequences: usize) -> Result<Self> {
        check_sequences(self.tokens.len() - self.cut, self.context, sequences)?;
        Ok(Text { watched: sequences, ..self })
    }

    /// Refuses a text of `length` tokens that is too short for [`Text::from_tokens`] or [`Text::watching`].
    ///
    /// # Errors
    /// As those two.
    pub fn check(length: usize, context: usize, held_out: f64, sequences: usize) -> Result<()> {
        check_sequences(length - cut(length, context, held_out)?, context, sequences)
    }

    /// Computes the size of the smallest vocabulary that has all tokens.
    pub fn vocabulary(&self) -> usize {
        self.tokens.ids(0..self.len()).max().map_or(0, |id| id as usize + 1)
    }

    /// Returns `count` sequences of the held-out part, context + 1 tokens each, evenly spread and without a common
    /// prediction: always the same ones, so that losses of two networks can be compared sequence by sequence.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the held-out part has fewer.
    pub fn held_out_sequences(&self, count: usize) -> Result<Vec<Vec<u32>>> {
        let length = self.len() - self.cut;
        check_sequences(length, self.context, count)?;
        let apart = (length - 1) / count;
        let start = |i: usize| self.cut + i * apart;
        let window = |i: usize| -> Vec<u32> { self.tokens.ids(start(i)..start(i) + self.context + 1).collect() };
        Ok((0..count).map(window).collect())
    }

    /// Draws sequence `i` of the training part, context + 1 tokens.
    fn window(&self, streams: &Streams, i: u64) -> Vec<u32> {
        let starts = self.cut - self.context;
        let start = streams.part("window", i).random_range(0..starts);
        self.tokens.ids(start..start + self.context + 1).collect()
    }

    /// Computes the mean cross-entropy (nats per token) over sequences of context + 1 tokens.
    fn mean_loss(&self, model: &Model, sequences: &[Vec<u32>]) -> Result<Tensor<1>> {
        let shape = [sequences.len(), self.context];
        let side = |from: usize| {
            let ids = sequences.iter().flat_map(|w| &w[from..from + self.context]);
            model.device().token_ids(ids.map(|t| i64::from(*t)).collect(), shape)
        };
        cross_entropy(model, model.hidden(side(0), &mut Recording::default())?, side(1))
    }

    /// Computes the mean cross-entropy (nats per token) of each of [`Text::held_out_sequences`].
    ///
    /// # Errors
    /// When the network takes no tokens, or the held-out part has fewer sequences.
    pub fn losses(&self, model: &Model, sequences: usize) -> Result<Vec<f64>> {
        let model = model.frozen();
        let judged = self.held_out_sequences(sequences)?;
        let loss = |window: &Vec<u32>| Ok(read(&self.mean_loss(&model, std::slice::from_ref(window))?)?[0]);
        judged.iter().map(loss).collect()
    }

    /// Computes the same for the frequencies of tokens in the training part, each counted once more than
    /// it occurs so that none is impossible: the loss that a network without context can reach.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a vocabulary without some token, or too few held-out sequences.
    pub fn unigram_losses(&self, sequences: usize, vocabulary: usize) -> Result<Vec<f64>> {
        let needed = self.vocabulary();
        let allowed = format!("must be at least {needed}, to have all tokens");
        require(vocabulary >= needed, "vocabulary", vocabulary, allowed)?;
        let mut counts = vec![1.0; vocabulary];
        self.tokens.ids(0..self.cut).for_each(|id| counts[id as usize] += 1.0);
        let total = (self.cut + vocabulary) as f64;
        let nats = |id: &u32| -(counts[*id as usize] / total).ln();
        let loss = |w: &Vec<u32>| w[1..].iter().map(nats).sum::<f64>() / self.context as f64;
        Ok(self.held_out_sequences(sequences)?.iter().map(loss).collect())
    }

    /// Records the activations of held-out sequences.
    ///
    /// # Errors
    /// As [`Text::losses`].
    pub fn activations(&self, model: &Model, sequences: usize, recording: &mut Recording) -> Result<()> {
        let judged = self.held_out_sequences(sequences)?;
        let tokens = judged.iter().flat_map(|w| &w[..self.context]).map(|t| i64::from(*t)).collect();
        let model = model.frozen();
        model.hidden(model.device().token_ids(tokens, [sequences, self.context]), recording).map(|_| ())
    }
}

/// Computes the index at which the held-out part of a text of `length` tokens begins.
fn cut(length: usize, context: usize, held_out: f64) -> Result<usize> {
    within("(0, 1)")("held_out", &held_out)?;
    let cut = ((1.0 - held_out) * length as f64) as usize;
    check_parts(length, cut, context)?;
    Ok(cut)
}

/// Refuses a cut of a text of `length` tokens with a part that is too short.
fn check_parts(length: usize, cut: usize, context: usize) -> Result<()> {
    let (needed, rest) = (context + 1, length - cut);
    let allowed =
        format!("must be larger; each part needs context + 1 = {needed} tokens, and the held-out one has {rest}");
    require(cut.min(rest) >= needed, "tokens", length, allowed)
}

/// Refuses 0 sequences, and more than a held-out part of `length` tokens has.
fn check_sequences(length: usize, context: usize, sequences: usize) -> Result<()> {
    let most = length.saturating_sub(1) / context.max(1);
    let allowed = format!("must be from 1 to {most}; the held-out part has {length} tokens, in sequences of {context}");
    require((1..=most).contains(&sequences), "sequences", sequences, allowed)
}

impl TrainingTask for Text {
    fn loss(&self, model: &Model, batch: &Batch) -> Result<Tensor<1>> {
        let numbers = batch.first..batch.first + batch.count as u64;
        self.mean_loss(model, &numbers.map(|i| self.window(&batch.streams, i)).collect::<Vec<_>>())
    }

    fn held_out(&self, model: &Model) -> Result<Option<f64>> {
        if self.watched == 0 {
            return Ok(None);
        }
        Ok(Some(self.losses(model, self.watched)?.iter().sum::<f64>() / self.watched as f64))
    }

    fn settings(&self) -> Value {
        json!({
            "tokens": self.tokens.len(), "checksum": format!("{:016x}", self.tokens.checksum()), "cut": self.cut,
            "context": self.context, "watched": self.watched,
        })
    }
}
