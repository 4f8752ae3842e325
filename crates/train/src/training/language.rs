//! Language: the next token of a text, from a file of bytes or of token ids.

use super::steps::{Batch, TrainingTask};
use crate::model::{Model, Recording, Tensor, cross_entropy, read};
use attnlab_core::error::{Error, Result};
use attnlab_core::rng::{Streams, hash};
use rand::RngExt;
use serde_json::{Value, json};
use std::path::Path;

/// Text as token ids, cut into a training part and a held-out part.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    tokens: Vec<u16>,
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
        let bytes = std::fs::read(path)
            .map_err(|e| Error::io(path, e, "Give a text, or token ids in a .bin file"))?;
        let wrong = |problem: String| Error::Content {
            path: path.to_path_buf(),
            problem,
        };
        if bytes.is_empty() {
            return Err(wrong("the text is empty".into()));
        }
        let tokens = match path.extension().is_some_and(|e| e == "bin") {
            true => {
                let (words, rest) = bytes.as_chunks::<2>();
                if !rest.is_empty() {
                    let found = bytes.len();
                    return Err(wrong(format!(
                        "it has {found} bytes, an odd number; a .bin file holds 16-bit token ids"
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
        Ok(Text {
            tokens,
            cut,
            context,
            watched: 0,
        })
    }

    /// Returns the same text with its held-out loss over `sequences` sequences computed during training.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the held-out part has fewer.
    pub fn watching(self, sequences: usize) -> Result<Self> {
        check_sequences(self.tokens.len() - self.cut, self.context, sequences)?;
        Ok(Text {
            watched: sequences,
            ..self
        })
    }

    /// Refuses a text of `length` tokens that is too short for [`Text::from_tokens`] or
    /// [`Text::watching`].
    ///
    /// # Errors
    /// As those two.
    pub fn check(length: usize, context: usize, held_out: f64, sequences: usize) -> Result<()> {
        let cut = cut(length, context, held_out)?;
        check_sequences(length - cut, context, sequences)
    }

    /// Computes the size of the smallest vocabulary that has all tokens.
    pub fn vocabulary(&self) -> usize {
        self.tokens.iter().max().map_or(0, |t| usize::from(*t) + 1)
    }

    /// Returns `count` sequences of the held-out part, context + 1 tokens each, evenly spread and without
    /// a common prediction: always the same ones, so that losses of two networks can be compared
    /// sequence by sequence.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the held-out part has fewer.
    pub fn held_out_sequences(&self, count: usize) -> Result<Vec<&[u16]>> {
        let part = &self.tokens[self.cut..];
        check_sequences(part.len(), self.context, count)?;
        let apart = (part.len() - 1) / count;
        let window = |i: usize| &part[i * apart..=i * apart + self.context];
        Ok((0..count).map(window).collect())
    }

    /// Draws sequence `i` of the training part, context + 1 tokens.
    fn window(&self, streams: &Streams, i: u64) -> &[u16] {
        let starts = self.cut - self.context;
        let start = streams.part("window", i).random_range(0..starts);
        &self.tokens[start..=start + self.context]
    }

    /// Computes the mean cross-entropy (nats per token) over sequences of context + 1 tokens.
    fn mean_loss(&self, model: &Model, sequences: &[&[u16]]) -> Result<Tensor<1>> {
        let shape = [sequences.len(), self.context];
        let side = |from: usize| {
            let all = sequences.iter().flat_map(|w| &w[from..from + self.context]);
            model
                .device()
                .token_ids(all.map(|t| i64::from(*t)).collect(), shape)
        };
        let hidden = model.hidden(side(0), &mut Recording::default())?;
        cross_entropy(model, hidden, side(1))
    }

    /// Computes the mean cross-entropy (nats per token) of each of [`Text::held_out_sequences`].
    ///
    /// # Errors
    /// When the network takes no tokens, or the held-out part has fewer sequences.
    pub fn losses(&self, model: &Model, sequences: usize) -> Result<Vec<f64>> {
        let model = model.frozen();
        let judged = self.held_out_sequences(sequences)?;
        let one = |window: &&[u16]| Ok(read(&self.mean_loss(&model, &[window])?)?[0]);
        judged.iter().map(one).collect()
    }

    /// Computes the same for the frequencies of tokens in the training part, each counted once more than
    /// it occurs so that none is impossible: the loss that a network without context can reach.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a vocabulary without some token, or too few held-out sequences.
    pub fn unigram_losses(&self, sequences: usize, vocabulary: usize) -> Result<Vec<f64>> {
        let needed = self.vocabulary();
        if vocabulary < needed {
            let allowed = format!("must be at least {needed}, to have all tokens");
            return Err(Error::invalid("vocabulary", vocabulary, allowed));
        }
        let mut counts = vec![1.0; vocabulary];
        for token in &self.tokens[..self.cut] {
            counts[usize::from(*token)] += 1.0;
        }
        let all = (self.cut + vocabulary) as f64;
        let nats = |token: &u16| -(counts[usize::from(*token)] / all).ln();
        let one = |w: &&[u16]| w[1..].iter().map(nats).sum::<f64>() / self.context as f64;
        Ok(self
            .held_out_sequences(sequences)?
            .iter()
            .map(one)
            .collect())
    }

    /// Records the activations of held-out sequences.
    ///
    /// # Errors
    /// As [`Text::losses`].
    pub fn activations(
        &self,
        model: &Model,
        sequences: usize,
        recording: &mut Recording,
    ) -> Result<()> {
        let judged = self.held_out_sequences(sequences)?;
        let tokens = judged.iter().flat_map(|w| &w[..self.context]);
        let tokens = tokens.map(|t| i64::from(*t)).collect();
        let model = model.frozen();
        let tokens = model.device().token_ids(tokens, [sequences, self.context]);
        model.hidden(tokens, recording).map(|_| ())
    }
}

/// Computes the index at which the held-out part of a text of `length` tokens begins.
fn cut(length: usize, context: usize, held_out: f64) -> Result<usize> {
    if !(held_out > 0.0 && held_out < 1.0) {
        return Err(Error::invalid(
            "held_out",
            held_out,
            "must be a number in (0, 1)",
        ));
    }
    let cut = ((1.0 - held_out) * length as f64) as usize;
    if cut.min(length - cut) < context + 1 {
        let allowed = format!(
            "must be larger; each part needs context + 1 = {} tokens, and the held-out one has {}",
            context + 1,
            length - cut
        );
        return Err(Error::invalid("tokens", length, allowed));
    }
    Ok(cut)
}

/// Refuses 0 sequences, and more than a held-out part of `length` tokens has.
fn check_sequences(length: usize, context: usize, sequences: usize) -> Result<()> {
    let most = length.saturating_sub(1) / context.max(1);
    if (1..=most).contains(&sequences) {
        return Ok(());
    }
    let allowed = format!(
        "must be from 1 to {most}; the held-out part has {length} tokens, in sequences of {context}"
    );
    Err(Error::invalid("sequences", sequences, allowed))
}

impl TrainingTask for Text {
    fn loss(&self, model: &Model, batch: &Batch) -> Result<Tensor<1>> {
        let numbers = batch.first..batch.first + batch.count as u64;
        let windows = numbers.map(|i| self.window(&batch.streams, i));
        self.mean_loss(model, &windows.collect::<Vec<_>>())
    }

    fn held_out(&self, model: &Model) -> Result<Option<f64>> {
        if self.watched == 0 {
            return Ok(None);
        }
        let losses = self.losses(model, self.watched)?;
        Ok(Some(losses.iter().sum::<f64>() / self.watched as f64))
    }

    fn settings(&self) -> Value {
        let bytes: Vec<u8> = self.tokens.iter().flat_map(|t| t.to_le_bytes()).collect();
        json!({
            "tokens": self.tokens.len(),
            "checksum": format!("{:016x}", hash(&bytes)),
            "cut": self.cut,
            "context": self.context,
            "watched": self.watched,
        })
    }
}
