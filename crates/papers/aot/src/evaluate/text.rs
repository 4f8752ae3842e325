//! The loss on a text, by windows of which each predicts the tokens that those before it did not.

use super::Cut;
use super::statistics::{Found, baselines_of_loss, entropy_of_counts, ratio};
use attnlab_core::error::{Error, Result, require};
use attnlab_networks::Transformer;
use attnlab_networks::transformer::log_loss;
use std::ops::Range;

/// Names of the readings.
pub(super) const READINGS: [&str; 3] = ["loss per token", "loss per word", "loss per byte"];

/// A text in windows. Window k reads the tokens from k · stride on and predicts those up to the one after its last that
/// no window before it has predicted. So every token but the first is predicted once (the first too, where the tokenizer
/// puts special tokens before a text), after at least window − stride + 1 tokens unless the text begins there.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// Special tokens with which every window begins.
    before: Vec<u32>,
    ids: Vec<u32>,
    /// Flag per token: its loss counts.
    counted: Vec<bool>,
    windows: Vec<Window>,
    /// Windows that form a unit of the interval: together they predict at least as many tokens as one window has.
    block: usize,
    /// Tokens that count, words and bytes of the whole text.
    sizes: [usize; 3],
}

#[derive(Clone, Copy, Debug)]
struct Window {
    /// First token that is read.
    start: usize,
    /// First and last token that are predicted.
    first: usize,
    last: usize,
}

/// Flag per token: none of its bytes is in an uncounted part of the text. Both are in the order of the text.
fn counted(spans: &[Range<usize>], uncounted: &[Range<usize>]) -> Vec<bool> {
    let mut next = uncounted.iter().peekable();
    let flag = |span: &Range<usize>| {
        // A token without bytes of its own counts as the place where it stands.
        let end = span.end.max(span.start + 1);
        while next.peek().is_some_and(|part| part.end <= span.start) {
            next.next();
        }
        next.peek().is_none_or(|part| part.start >= end)
    };
    spans.iter().map(flag).collect()
}

impl Windows {
    pub(super) fn new(text: &str, cut: &Cut, window: usize, stride: usize) -> Result<Self> {
        let special = cut.before.len();
        let most = format!("must be at most the context of the network, {}", cut.context);
        require(window <= cut.context, "window", window, most)?;
        let least = format!("must be at least {}; {special} special tokens begin every window", special + 2);
        require(window >= special + 2, "window", window, least)?;
        let len = window - special;
        let allowed = match special {
            0 => format!(
                "must be from 1 to {len}, the tokens of the text in a window; beyond, some tokens would not be predicted"
            ),
            _ => format!(
                "must be from 1 to {len}: of the window of {window} the tokenizer's special tokens take {special}, and \
                 beyond, some tokens would not be predicted. Write --stride {len}, or leave --stride out"
            ),
        };
        require((1..=len).contains(&stride), "stride", stride, allowed)?;
        let changed = cut.detokenise.apply(text);
        let (ids, spans): (Vec<u32>, Vec<_>) = cut.tokenizer.encode_with_spans(&changed)?.into_iter().unzip();
        let counted = counted(&spans, &cut.detokenise.uncounted(&changed));
        let allowed = "must have at least 3 tokens, so that there is something to predict; give a longer text";
        require(ids.len() >= 3, "data", format!("{} tokens", ids.len()), allowed)?;
        let mut windows = vec![];
        let mut next = usize::from(special == 0);
        for start in (0..).step_by(stride) {
            let last = (start + len).min(ids.len() - 1);
            windows.push(Window { start, first: next, last });
            next = last + 1;
            if next == ids.len() {
                break;
            }
        }
        let counts = counted[windows[0].first..].iter().filter(|c| **c).count();
        let sizes = [counts, text.split_whitespace().count(), text.len()];
        Ok(Windows { before: cut.before.to_vec(), sizes, counted, windows, block: len.div_ceil(stride), ids })
    }

    pub(super) fn len(&self) -> usize {
        self.windows.len()
    }

    pub(super) fn tokens(&self, window: usize) -> usize {
        let w = self.windows[window];
        self.before.len() + w.last - w.start
    }

    pub(super) fn keep(&mut self, numbers: &[usize]) {
        self.windows = numbers.iter().map(|i| self.windows[*i]).collect();
    }

    pub(super) fn sequences(&self) -> impl Iterator<Item = &[u32]> {
        [&self.before[..], &self.ids[..]].into_iter()
    }

    /// Scores: loss (sum over the predicted tokens that count) and their number.
    pub(super) fn score(&self, network: &Transformer, window: usize) -> Result<Vec<f64>> {
        let Window { start, first, last } = self.windows[window];
        let special = self.before.len();
        // The last token is predicted and not read.
        let ids = [&self.before, &self.ids[start..last]].concat();
        // Token j is predicted by the one before it, at special + j − 1 − start of the window.
        let positions = special + first - start - 1..special + last - start;
        let losses =
            network.predict(&ids, positions, |t, logits| log_loss(logits, self.ids[start + t + 1 - special]))?;
        let counts = &self.counted[first..=last];
        let counted = losses.iter().zip(counts).filter(|(_, counts)| **counts);
        let sum: f64 = counted.clone().map(|(loss, _)| loss).sum();
        Ok(vec![sum, counted.count() as f64])
    }

    pub(super) fn reading(&self, name: &str, scores: &[Vec<f64>], vocabulary: usize, level: f64) -> Result<Found> {
        let [tokens, words, bytes] = self.sizes.map(|n| n as f64);
        let (scale, unit) = match name {
            "loss per token" => (1.0, "nats per token"),
            "loss per word" => (tokens / words, "nats per word"),
            "loss per byte" => (tokens / bytes, "nats per byte"),
            other => return Err(Error::unknown("reading", other, READINGS)),
        };
        let sum = |i: usize| -> Vec<f64> { scores.chunks(self.block).map(|b| b.iter().map(|s| s[i]).sum()).collect() };
        let (sums, counts) = (sum(0), sum(1));
        let mut estimate = ratio(&sums, &counts, level)?;
        for x in [&mut estimate.value, &mut estimate.low, &mut estimate.high] {
            *x *= scale;
        }
        let targets = self.windows.iter().flat_map(|w| w.first..=w.last);
        let targets = targets.filter(|j| self.counted[*j]).map(|j| self.ids[j]);
        Ok(Found {
            estimate,
            unit,
            units: sums.len(),
            baselines: baselines_of_loss(scale, vocabulary, entropy_of_counts(targets)),
            counts: vec![
                ("tokens predicted", counts.iter().sum()),
                ("tokens of the text", self.ids.len() as f64),
                ("words of the text", words),
                ("bytes of the text", bytes),
            ],
        })
    }
}
