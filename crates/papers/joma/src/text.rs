//! Texts as sequences of words, cut into the batches of JoMA's Figures 6 and 8.

use crate::network::{Batch, Targets};
use attnlab_core::error::{Error, Result};
use attnlab_core::input;
use attnlab_core::rng::Streams;
use attnlab_networks::text;
use rand::seq::SliceRandom;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Pairs of file names that are training and validation part of a text.
const PARTS: [[&str; 2]; 3] =
    [["wiki.train.tokens", "wiki.valid.tokens"], ["train.txt", "valid.txt"], ["train.txt", "validation.txt"]];

/// Largest file, in bytes; WikiText-103 has half of it.
const MOST_BYTES: u64 = 1 << 30;

/// Word of every word that is too rare.
const UNKNOWN: &str = "<unk>";

/// A text: training and validation part as numbers of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Training part.
    pub train: Vec<u32>,
    /// Validation part.
    pub valid: Vec<u32>,
    /// Number of different words.
    pub vocabulary: usize,
}

impl Text {
    /// Reads a text ([`text`]): a file, whose last part of the share `held_out` is the validation part, or a folder
    /// with `wiki.train.tokens` and `wiki.valid.tokens`, with `train.txt` and `valid.txt`, or with `.txt` files,
    /// which are joined by name. Words are those of [`words`]; words of the training part that occur fewer than
    /// `least` times, and words of the validation part that are not in it, are one word.
    ///
    /// # Errors
    /// A file that is not there, not UTF-8 or larger than 1 GiB; a folder without texts.
    pub fn read(path: &Path, least: usize, held_out: f64) -> Result<Self> {
        if !path.is_dir() {
            return Ok(Self::split(&file(path)?, least, held_out));
        }
        for [train, valid] in PARTS {
            let (train, valid) = (path.join(train), path.join(valid));
            if input::is_file("text", &train) & input::is_file("text", &valid) {
                return Ok(Self::of_words(&words(&file(&train)?), &words(&file(&valid)?), least));
            }
        }
        let unreadable = |e| Error::io(path, e, "Check its permissions");
        let entries = std::fs::read_dir(path).map_err(unreadable)?.map(|entry| Ok(entry.map_err(unreadable)?.path()));
        let mut files = entries.collect::<Result<Vec<PathBuf>>>()?;
        files.retain(|file| file.extension().is_some_and(|e| e == "txt"));
        files.sort();
        if files.is_empty() {
            let problem =
                "must hold wiki.train.tokens and wiki.valid.tokens, train.txt and valid.txt, or .txt files".into();
            return Err(Error::Content { path: path.to_path_buf(), problem });
        }
        let texts = files.iter().map(|f| file(f)).collect::<Result<Vec<_>>>()?;
        Ok(Self::split(&texts.join("\n"), least, held_out))
    }

    /// Splits a text into training and validation part.
    fn split(text: &str, least: usize, held_out: f64) -> Self {
        let words = words(text);
        let train = ((1.0 - held_out) * words.len() as f64).round() as usize;
        let (train, valid) = words.split_at(train.min(words.len()));
        Self::of_words(train, valid, least)
    }

    fn of_words(train: &[String], valid: &[String], least: usize) -> Self {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for word in train {
            *counts.entry(word).or_default() += 1;
        }
        // In the order of their first appearance, so that numbers do not depend on a hash.
        let mut numbers: HashMap<&str, u32> = HashMap::from([(UNKNOWN, 0)]);
        for word in train {
            let next = numbers.len() as u32;
            if counts[word.as_str()] >= least {
                numbers.entry(word).or_insert(next);
            }
        }
        let number =
            |list: &[String]| list.iter().map(|w: &String| numbers.get(w.as_str()).copied().unwrap_or(0)).collect();
        Text { train: number(train), valid: number(valid), vocabulary: numbers.len() }
    }

    /// Returns the text with the words of each part in random order, so that only frequencies can be learnt.
    pub fn shuffled(mut self, streams: &Streams) -> Self {
        self.train.shuffle(&mut streams.part("shuffle", 0));
        self.valid.shuffle(&mut streams.part("shuffle", 1));
        self
    }

    /// Returns the training part as batches.
    ///
    /// # Errors
    /// As [`Windows::new`].
    pub fn training(&self, streams: usize, window: usize) -> Result<Windows<'_>> {
        Windows::new(&self.train, streams, window, "training")
    }

    /// Returns the validation part as batches.
    ///
    /// # Errors
    /// As [`Windows::new`].
    pub fn validation(&self, streams: usize, window: usize) -> Result<Windows<'_>> {
        Windows::new(&self.valid, streams, window, "validation")
    }
}

fn file(path: &Path) -> Result<String> {
    text::read(path, MOST_BYTES, "Give a file of text in UTF-8, or a folder of such files")
}

/// Part of a text, cut into parallel streams of equal length and these into windows. A batch is a window of each.
#[derive(Clone, Copy, Debug)]
pub struct Windows<'a> {
    words: &'a [u32],
    streams: usize,
    window: usize,
    /// Length of a stream.
    length: usize,
}

impl<'a> Windows<'a> {
    /// Cuts `words`.
    ///
    /// # Errors
    /// When a stream is shorter than a window and the word after it.
    pub fn new(words: &'a [u32], streams: usize, window: usize, part: &str) -> Result<Self> {
        let length = words.len() / streams.max(1);
        if streams == 0 || window == 0 || length <= window {
            let needed = streams.max(1) * (window + 1);
            let allowed = format!(
                "must be text of at least {needed} words, {} windows of {window} and the words after them",
                streams.max(1)
            );
            return Err(Error::invalid(format!("{part} part"), format!("{} words", words.len()), allowed));
        }
        Ok(Windows { words, streams, window, length })
    }

    /// Returns the number of batches in the text.
    pub fn batches(&self) -> u64 {
        ((self.length - 1) / self.window) as u64
    }

    /// Returns a batch and the next words; after the last batch the first comes again.
    pub fn batch(&self, number: u64) -> (Batch, Targets) {
        let (mut batch, mut next) = (Batch::default(), vec![]);
        for stream in 0..self.streams {
            let from = stream * self.length + (number % self.batches()) as usize * self.window;
            let window = &self.words[from..=from + self.window];
            let words: Vec<usize> = window.iter().map(|w| *w as usize).collect();
            batch.push(&words[..self.window], 1.0);
            next.extend(&words[1..]);
        }
        (batch, Targets::every(next))
    }
}

/// Splits a text into words as torchtext's `basic_english` does: lower case; quotes, brackets and the marks .,!?
/// are words of their own, apostrophes too; double quotes, semicolons and colons end a word and disappear.
///
/// ```
/// use attnlab_joma::text::words;
/// assert_eq!(words("It's \"done\": (yes)."), ["it", "'", "s", "done", "(", "yes", ")", "."]);
/// ```
pub fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace("<br />", " ");
    let mut spaced = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '\'' | '.' | ',' | '(' | ')' | '!' | '?' => spaced.extend([' ', c, ' ']),
            // A double quote disappears without ending the word, as in the original.
            '"' => {}
            ';' | ':' => spaced.push(' '),
            _ => spaced.push(c),
        }
    }
    spaced.split_whitespace().map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_windows_in_order_with_the_next_words() {
        let words: Vec<u32> = (0..23).collect();
        let windows = Windows::new(&words, 2, 3, "training").unwrap();
        // Streams of 11: windows 0..3, 3..6, 6..9, each with the word after it.
        assert_eq!(windows.batches(), 3);
        let (batch, targets) = windows.batch(1);
        assert_eq!(batch.tokens, [3, 4, 5, 14, 15, 16]);
        assert_eq!(targets.classes, [4, 5, 6, 15, 16, 17]);
        assert_eq!(windows.batch(4).0, batch);
        assert!(Windows::new(&words, 2, 11, "training").is_err());
        assert!(Windows::new(&[], 2, 3, "training").is_err());
    }

    #[test]
    fn rare_and_new_words_are_one_word() {
        let text = Text::split("a b a b c a b a x c", 2, 0.2);
        assert_eq!(text.train, [1, 2, 1, 2, 0, 1, 2, 1]);
        assert_eq!(text.valid, [0, 0]);
        assert_eq!(text.vocabulary, 3);
    }

    #[test]
    fn folders_are_read_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let read = || Text::read(folder.path(), 1, 0.5);
        assert!(read().unwrap_err().to_string().contains("wiki.train.tokens"));
        std::fs::write(folder.path().join("b.txt"), "c d").unwrap();
        std::fs::write(folder.path().join("a.txt"), "a b").unwrap();
        assert_eq!(read().unwrap().train, [1, 2]);
        std::fs::write(folder.path().join("wiki.train.tokens"), "x y x").unwrap();
        std::fs::write(folder.path().join("wiki.valid.tokens"), "y z").unwrap();
        assert_eq!(read().unwrap(), Text { train: vec![1, 2, 1], valid: vec![2, 0], vocabulary: 3 });
        std::fs::write(folder.path().join("wiki.train.tokens"), [0xff, 0xfe]).unwrap();
        assert!(read().is_err());
    }
}
