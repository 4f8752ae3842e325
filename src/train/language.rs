//! Language: the next token of a text, from a file of bytes or of token numbers.

use super::steps::{Batch, Task};
use crate::error::{Error, Result};
use crate::model::{Model, Recording, cross_entropy, read};
use crate::rng::{Streams, hash};
use rand::RngExt;
use serde_json::{Value, json};
use std::path::Path;

/// A text as token numbers, cut into a part to learn from and a part to be judged on.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    tokens: Vec<u16>,
    /// Where the part to be judged on begins.
    cut: usize,
    context: usize,
}

impl Text {
    /// A file whose bytes are the tokens (a vocabulary of 256), or, for a name that ends in `.bin`, of
    /// 16-bit little-endian token numbers, as nanoGPT writes them. The last `held_out` of it is kept
    /// for evaluation. Sequences have `context` tokens.
    ///
    /// # Errors
    /// A file that cannot be read or is too short.
    pub fn read(path: &Path, context: usize, held_out: f64) -> Result<Self> {
        let bytes = std::fs::read(path)
            .map_err(|e| Error::io(path, e, "Give a text, or token numbers in a .bin file"))?;
        let tokens = match path.extension().is_some_and(|e| e == "bin") {
            true => {
                let (words, _) = bytes.as_chunks::<2>();
                words.iter().map(|w| u16::from_le_bytes(*w)).collect()
            }
            false => bytes.iter().map(|b| u16::from(*b)).collect(),
        };
        Self::of_tokens(tokens, context, held_out).map_err(|e| Error::Content {
            path: path.to_path_buf(),
            problem: e.to_string(),
        })
    }

    /// A text from its tokens.
    ///
    /// # Errors
    /// When either part is shorter than a sequence and the token after it.
    pub fn of_tokens(tokens: Vec<u16>, context: usize, held_out: f64) -> Result<Self> {
        if !(held_out > 0.0 && held_out < 1.0) {
            return Err(Error::invalid("held_out", held_out, "a number in (0, 1)"));
        }
        let cut = ((1.0 - held_out) * tokens.len() as f64) as usize;
        if cut.min(tokens.len() - cut) < context + 1 {
            let allowed = format!("more: each part needs context + 1 = {} tokens", context + 1);
            return Err(Error::invalid("tokens", tokens.len(), allowed));
        }
        Ok(Text {
            tokens,
            cut,
            context,
        })
    }

    /// Sequence `i` of the streams: its tokens and those that follow them.
    fn window(&self, part: std::ops::Range<usize>, streams: &Streams, i: u64) -> &[u16] {
        let starts = part.len() - self.context;
        let start = part.start + streams.part("window", i).random_range(0..starts);
        &self.tokens[start..=start + self.context]
    }

    fn mean_loss(
        &self,
        model: &Model,
        part: std::ops::Range<usize>,
        streams: &Streams,
        numbers: std::ops::Range<u64>,
    ) -> Result<crate::model::Tensor<1>> {
        let windows = numbers.map(|i| self.window(part.clone(), streams, i));
        let windows: Vec<&[u16]> = windows.collect();
        let shape = [windows.len(), self.context];
        let side = |from: usize| {
            let all = windows.iter().flat_map(|w| &w[from..from + self.context]);
            model
                .place()
                .numbers(all.map(|t| i64::from(*t)).collect(), shape)
        };
        let hidden = model.hidden(side(0), &mut Recording::default())?;
        cross_entropy(model, hidden, side(1))
    }

    /// Mean cross-entropy (nats per token) over `sequences` of the held-out part.
    ///
    /// # Errors
    /// When the network does not take tokens.
    pub fn evaluate(&self, model: &Model, sequences: u64, streams: &Streams) -> Result<f64> {
        let (mut sum, model) = (0.0, model.frozen());
        for i in 0..sequences {
            let loss = self.mean_loss(&model, self.cut..self.tokens.len(), streams, i..i + 1)?;
            sum += read(&loss)?[0];
        }
        Ok(sum / sequences as f64)
    }
}

impl Task for Text {
    fn loss(&self, model: &Model, batch: &Batch) -> Result<crate::model::Tensor<1>> {
        let numbers = batch.first..batch.first + batch.count as u64;
        self.mean_loss(model, 0..self.cut, &batch.streams, numbers)
    }

    fn settings(&self) -> Value {
        let bytes: Vec<u8> = self.tokens.iter().flat_map(|t| t.to_le_bytes()).collect();
        json!({
            "tokens": self.tokens.len(),
            "checksum": format!("{:016x}", hash(&bytes)),
            "cut": self.cut,
            "context": self.context,
        })
    }
}
