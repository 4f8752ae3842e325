//! LAMBADA: the last word of a passage.

use super::files::Located;
use super::statistics::{ACCURACY, Found, accuracy, baselines_of_loss, entropy_of_counts, ratio};
use super::{Cut, first_beyond};
use attnlab_core::error::{Error, Result};
use attnlab_networks::transformer::log_loss;
use attnlab_networks::{Tokenizer, Transformer};
use std::collections::{HashMap, HashSet};

/// Names of the readings.
pub(super) const READINGS: [&str; 6] = [
    "last word",
    "last token",
    "last word, no stop words",
    "loss per last word",
    "loss per token of last words",
    "loss per token of passages",
];

/// Words that are not predicted under "last word, no stop words": English function words, a list of our own after those
/// that are in use.
pub const STOP_WORDS: [&str; 96] = [
    "a", "about", "after", "again", "all", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "being", "but", "by", "can", "could", "did", "do", "does", "down", "each", "few", "for", "from", "had",
    "has", "have", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "me",
    "more", "most", "my", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "out",
    "over", "own", "same", "she", "should", "so", "some", "such", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "very", "was", "we",
    "were", "what", "will", "with", "you",
];

/// Tokens that are a stop word in themselves.
pub(super) struct Excluded(HashSet<u32>);

impl Excluded {
    pub(super) fn new(tokenizer: &Tokenizer) -> Result<Self> {
        let mut tokens = HashSet::new();
        for word in STOP_WORDS {
            let capital = word[..1].to_uppercase() + &word[1..];
            for text in [word.to_string(), format!(" {word}"), format!(" {capital}"), capital] {
                if let [token] = tokenizer.encode_plain(&text)?[..] {
                    tokens.insert(token);
                }
            }
        }
        Ok(Excluded(tokens))
    }
}

/// A passage as tokens.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    pub(super) ids: Vec<u32>,
    /// Index of the first token of the last word.
    word: usize,
    last_word: String,
    pub(super) shortened: bool,
}

impl Passage {
    pub(super) fn new(passage: &Located<String>, cut: &Cut) -> Result<Self> {
        let text = cut.detokenise.apply(&passage.value);
        let text = text.trim_end();
        let bad = |problem: &str| passage.refused(problem);
        let words = text.trim_start();
        let Some(space) = words.rfind(char::is_whitespace) else {
            return Err(bad("must have at least two words, the last of which is predicted"));
        };
        let before = text[..text.len() - words.len() + space].trim_end().len();
        let (whole, spans): (Vec<u32>, Vec<_>) = cut.tokenizer.encode_with_spans(text)?.into_iter().unzip();
        // A token that spans the space belongs to the last word.
        let word = first_beyond(&spans, before);
        let mut ids = [cut.before, &whole].concat();
        let mut word = cut.before.len() + word;
        if word == 0 || word == ids.len() {
            return Err(bad(
                "must have a last word that is tokens of its own; the tokenizer joins it to what is before it",
            ));
        }
        let last = ids.len() - word;
        // The last token is predicted and not read.
        let shortened = ids.len() - 1 > cut.context;
        if shortened {
            let excess = ids.len() - 1 - cut.context;
            if last + cut.before.len() > cut.context {
                let problem = format!(
                    "must have a last word that fits the context; it has {last} tokens and the network's context {}",
                    cut.context
                );
                return Err(bad(&problem));
            }
            ids.drain(cut.before.len()..cut.before.len() + excess);
            word -= excess;
        }
        Ok(Passage { ids, word, last_word: words[space..].trim_start().to_lowercase(), shortened })
    }

    /// Tokens of the forward pass.
    pub(super) fn tokens(&self) -> usize {
        self.ids.len() - 1
    }

    /// Tokens of the last word.
    fn last_tokens(&self) -> &[u32] {
        &self.ids[self.word..]
    }

    /// Scores: losses of the passage (sum) and of the last word (sum); 1 or 0 for the last word, its last token, and the
    /// last word without stop words.
    pub(super) fn score(&self, network: &Transformer, excluded: &Excluded) -> Result<Vec<f64>> {
        let ids = &self.ids;
        let predictions = network.predict(ids, 0..ids.len() - 1, |t, logits| {
            let token = ids[t + 1];
            let mut predicted = (true, true);
            if t + 1 >= self.word {
                // The target's own token may begin a longer word.
                let longer = t + 1 == self.word && t + 2 < ids.len();
                predicted = greedy(logits, token, t + 1 == self.word, longer, excluded);
            }
            (log_loss(logits, token), predicted)
        })?;
        let (passage, last) = (&predictions[..], &predictions[self.word - 1..]);
        let sum = |part: &[(f64, (bool, bool))]| part.iter().map(|p| p.0).sum::<f64>();
        let flag = |holds: bool| f64::from(u8::from(holds));
        let (word, token) = (last.iter().all(|p| p.1.0), last.last().is_some_and(|p| p.1.0));
        let allowed = last.iter().all(|p| p.1.1);
        Ok(vec![sum(passage), sum(last), flag(word), flag(token), flag(allowed)])
    }
}

/// Flag: no token has a larger logit; and the same where stop words may not be predicted at the `first` token of the
/// word.
fn greedy(logits: &[f32], token: u32, first: bool, longer: bool, excluded: &Excluded) -> (bool, bool) {
    let logit = logits[token as usize];
    let mut above = logits.iter().enumerate().filter(|(_, x)| **x > logit).map(|(i, _)| i as u32).peekable();
    let plain = above.peek().is_none();
    if !first {
        return (plain, plain);
    }
    let allowed = longer || !excluded.0.contains(&token);
    (plain, allowed && above.all(|i| excluded.0.contains(&i)))
}

pub(super) fn reading(
    name: &str,
    passages: &[Passage],
    scores: &[Vec<f64>],
    vocabulary: usize,
    level: f64,
) -> Result<Found> {
    let column = |i: usize| scores.iter().map(|s| s[i]).collect::<Vec<f64>>();
    let units = passages.len();
    let lasts: Vec<f64> = passages.iter().map(|p| p.last_tokens().len() as f64).collect();
    let counts = vec![("passages", units as f64), ("last tokens", lasts.iter().sum())];
    let of_accuracy = |i: usize| {
        let correct: Vec<bool> = scores.iter().map(|s| s[i] > 0.0).collect();
        let most_frequent = match name {
            "last token" => share(passages.iter().filter_map(|p| p.ids.last())),
            _ => share(passages.iter().map(|p| &p.last_word)),
        };
        let baselines = vec![
            ("one token drawn uniformly", 1.0 / vocabulary as f64),
            ("ceiling: the file's own most frequent answer", most_frequent),
        ];
        let estimate = accuracy(&correct, level)?;
        Ok(Found { estimate, unit: ACCURACY, units, baselines, counts: counts.clone() })
    };
    let of_loss = |sums: Vec<f64>, per: Vec<f64>, tokens: f64, entropy: f64, unit| {
        // Tokens per unit of the loss.
        let scale = tokens / per.iter().sum::<f64>();
        let (estimate, baselines) = (ratio(&sums, &per, level)?, baselines_of_loss(scale, vocabulary, entropy));
        Ok(Found { estimate, unit, units, baselines, counts: counts.clone() })
    };
    let of_last = || entropy_of_counts(passages.iter().flat_map(|p| p.last_tokens().iter().copied()));
    let all_last: f64 = lasts.iter().sum();
    match name {
        "last word" => of_accuracy(2),
        "last token" => of_accuracy(3),
        "last word, no stop words" => of_accuracy(4),
        "loss per last word" => of_loss(column(1), vec![1.0; units], all_last, of_last(), "nats per word"),
        "loss per token of last words" => of_loss(column(1), lasts.clone(), all_last, of_last(), "nats per token"),
        "loss per token of passages" => {
            let per: Vec<f64> = passages.iter().map(|p| p.tokens() as f64).collect();
            let entropy = entropy_of_counts(passages.iter().flat_map(|p| p.ids[1..].iter().copied()));
            of_loss(column(0), per.clone(), per.iter().sum(), entropy, "nats per token")
        }
        other => Err(Error::unknown("reading", other, READINGS)),
    }
}

/// Share of the most frequent of some answers.
fn share<T: std::hash::Hash + Eq>(answers: impl Iterator<Item = T>) -> f64 {
    let mut counts: HashMap<T, u64> = HashMap::new();
    answers.for_each(|a| *counts.entry(a).or_default() += 1);
    let most = counts.values().copied().max().unwrap_or(0);
    most as f64 / counts.values().sum::<u64>().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Token 0 has the largest logit, then 1, 2, 3; 0 and 2 are stop words.
    #[test]
    fn greedy_predictions_by_hand() {
        let logits = [3.0, 2.0, 1.0, 0.5];
        let excluded = Excluded(HashSet::from([0, 2]));
        let predict = |token: u32, first: bool, longer: bool| greedy(&logits, token, first, longer, &excluded);
        assert_eq!(predict(0, true, false), (true, false), "a stop word may not be predicted");
        assert_eq!(predict(0, true, true), (true, true), "the beginning of a longer word may");
        assert_eq!(predict(1, true, false), (false, true), "only a stop word is above it");
        assert_eq!(predict(3, true, false), (false, false));
        assert_eq!(predict(1, false, false), (false, false), "later tokens are not filtered");
        assert_eq!(predict(0, false, false), (true, true));
    }

    #[test]
    fn shares_count_the_most_frequent() {
        assert_eq!(share(["a", "b", "a", "c"].iter()), 0.5);
        assert_eq!(share(std::iter::empty::<u32>()), 0.0);
    }

    #[test]
    fn stop_words_are_sorted_and_there_once() {
        assert!(STOP_WORDS.windows(2).all(|w| w[0] < w[1]));
    }
}
