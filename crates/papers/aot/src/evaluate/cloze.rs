//! Children's Book Test: which of the candidates stood where XXXXX is.

use super::files::{Cloze, Located};
use super::statistics::{ACCURACY, Found, accuracy};
use super::{Cut, common, first_beyond};
use attnlab_core::error::{Error, Result};
use attnlab_networks::Transformer;
use attnlab_networks::transformer::log_loss;

/// Names of the readings.
pub(super) const READINGS: [&str; 3] =
    ["sum over the candidate", "mean per token of the candidate", "candidate and the rest of the sentence"];

/// A question as tokens.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// Tokens with which all sequences begin; the last of them is read with each candidate.
    shared: Vec<u32>,
    /// The shared tokens are left out: up to the end of the candidate, and with the rest of the sentence.
    candidates: Vec<[Sequence; 2]>,
    answer: usize,
    /// Candidates that occur most often in the passage.
    frequent: Vec<usize>,
    pub(super) shortened: bool,
}

/// Tokens of a text that a candidate is in, and the index of the candidate's first.
#[derive(Clone, Debug)]
struct Sequence {
    ids: Vec<u32>,
    start: usize,
}

impl Sequence {
    /// Encodes the whole text once; the candidate begins where the text leaves `known`, the text before it.
    fn new(text: &str, known: &str, cut: &Cut) -> Result<Self> {
        let (ids, spans): (Vec<u32>, Vec<_>) = cut.tokenizer.encode_with_spans(text)?.into_iter().unzip();
        Ok(Sequence { start: first_beyond(&spans, common(text.as_bytes(), known.as_bytes())), ids })
    }
}

impl Question {
    pub(super) fn new(question: &Located<Cloze>, cut: &Cut) -> Result<Self> {
        let cloze = &question.value;
        let apply = |text: &str| cut.detokenise.apply(text).into_owned();
        let (before, after) = cloze.sides();
        let before = format!("{} {}", cloze.passage.join(" "), before);
        let known = apply(&before);
        let pair = |candidate: &String| {
            let short = format!("{}{candidate}", with_space(&before));
            let full = format!("{short}{after}");
            let [short, full] = [short, full].map(|text| Sequence::new(apply(&text).trim_end(), known.trim_end(), cut));
            Ok([short?, full?])
        };
        let mut candidates = cloze.candidates.iter().map(pair).collect::<Result<Vec<[Sequence; 2]>>>()?;
        let sequences = || candidates.iter().flatten();
        let first: &[u32] = candidates.first().map_or(&[], |[short, _]| &short.ids);
        // Tokens with which all sequences begin, none of which belongs to a candidate.
        let shared = sequences().map(|s| s.start.min(common(&s.ids, first))).min().unwrap_or(0);
        let longest = sequences().map(|s| s.ids.len()).max().unwrap_or(0) - shared;
        let mut begin = [cut.before, &first[..shared]].concat();
        let room = (cut.context + 1).saturating_sub(longest);
        if room <= cut.before.len() || begin.is_empty() {
            let problem = format!(
                "must have candidates that fit the context after something; the longest is {longest} tokens with the \
                 rest of its sentence, and the network's context {}",
                cut.context
            );
            return Err(question.refused(&problem));
        }
        let shortened = begin.len() > room;
        if shortened {
            begin.drain(cut.before.len()..cut.before.len() + begin.len() - room);
        }
        for sequence in candidates.iter_mut().flatten() {
            // A new list: draining would keep the memory of the whole passage.
            sequence.ids = sequence.ids[shared..].to_vec();
            sequence.start -= shared;
        }
        if candidates.iter().any(|[short, _]| short.ids.len() <= short.start) {
            return Err(question.refused("must have candidates that are tokens of their own"));
        }
        Ok(Question { shared: begin, candidates, answer: cloze.answer, frequent: cloze.most_frequent(), shortened })
    }

    pub(super) fn sequences(&self) -> impl Iterator<Item = &[u32]> {
        std::iter::once(&self.shared[..]).chain(self.candidates.iter().flatten().map(|s| &s.ids[..]))
    }

    /// Tokens of the forward passes: the shared ones once, then those of every candidate.
    pub(super) fn tokens(&self) -> usize {
        let each = self.candidates.iter().map(|[short, full]| match full.ids.starts_with(&short.ids) {
            true => full.ids.len(),
            false => full.ids.len() + short.ids.len(),
        });
        self.shared.len() + each.sum::<usize>()
    }

    /// Scores, three per candidate: log-probability of the candidate, number of its tokens, log-probability of the
    /// candidate and the rest of the sentence.
    pub(super) fn score(&self, network: &Transformer) -> Result<Vec<f64>> {
        // The last shared token predicts the first of each candidate.
        let (&last, before) = self.shared.split_last().ok_or_else(|| Error::undefined("a question without tokens"))?;
        let prefix = network.prefix(before)?;
        let losses = |after: &[u32]| {
            let ids: Vec<u32> = std::iter::once(last).chain(after.iter().copied()).collect();
            network.predict_after(&prefix, &ids, 0..after.len(), |t, logits| log_loss(logits, ids[t + 1]))
        };
        let mut scores = vec![];
        for [short, full] in &self.candidates {
            let of_full = losses(&full.ids)?;
            let of_short = match full.ids.starts_with(&short.ids) {
                true => of_full[..short.ids.len()].to_vec(),
                false => losses(&short.ids)?,
            };
            let (short, full) = (&of_short[short.start..], &of_full[full.start.min(of_full.len())..]);
            scores.extend([-short.iter().sum::<f64>(), short.len() as f64, -full.iter().sum::<f64>()]);
        }
        Ok(scores)
    }

    /// The candidate that a score prefers, the first of equal ones.
    fn chosen(scores: impl Iterator<Item = f64>) -> usize {
        let first = (0, f64::NEG_INFINITY);
        scores.enumerate().fold(first, |best, new| if new.1 > best.1 { new } else { best }).0
    }
}

/// The text with one space at its end, unless it is empty.
fn with_space(text: &str) -> String {
    match text.trim_end() {
        "" => String::new(),
        text => format!("{text} "),
    }
}

pub(super) fn reading(name: &str, questions: &[Question], scores: &[Vec<f64>], level: f64) -> Result<Found> {
    let value: fn(&[f64]) -> f64 = match name {
        "sum over the candidate" => |s| s[0],
        "mean per token of the candidate" => |s| s[0] / s[1],
        "candidate and the rest of the sentence" => |s| s[2],
        other => return Err(Error::unknown("reading", other, READINGS)),
    };
    let right = |(q, scores): (&Question, &Vec<f64>)| Question::chosen(scores.chunks_exact(3).map(value)) == q.answer;
    let correct: Vec<bool> = questions.iter().zip(scores).map(right).collect();
    let n = questions.len() as f64;
    let chance = questions.iter().map(|q| 1.0 / q.candidates.len() as f64);
    let share = |q: &Question| if q.frequent.contains(&q.answer) { 1.0 / q.frequent.len() as f64 } else { 0.0 };
    let tokens: usize = questions.iter().map(Question::tokens).sum();
    Ok(Found {
        estimate: accuracy(&correct, level)?,
        unit: ACCURACY,
        units: questions.len(),
        baselines: vec![
            ("a candidate drawn uniformly", chance.sum::<f64>() / n),
            ("the candidate most frequent in the passage", questions.iter().map(share).sum::<f64>() / n),
        ],
        counts: vec![("questions", n), ("tokens of the passes", tokens as f64)],
    })
}
