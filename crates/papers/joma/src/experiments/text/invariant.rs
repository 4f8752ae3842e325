//! Theorem 1 on the text of Figures 6 to 8: one layer of Eq. (1) whose embeddings are orthonormal and held fixed, with
//! exp attention and free logits, learns the word after a query from the words before it. Then z − ½ Σ_k v_k² is
//! conserved along the flow, and up to O(η) along gradient descent.

use super::JomaText;
use crate::dynamics::{Attention, Backpropagated, Training};
use crate::text::Text;
use crate::theory::Activation;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Watch, descend};
use ndarray::{Array1, Array2, Axis};
use rand::seq::SliceRandom;

attnlab_lab::settings! {
    /// Sizes of the check of Theorem 1.
    pub struct Invariant {
        pub words: usize = whole(2..),
        pub classes: usize = whole(2..),
        pub samples: usize = whole(2..),
        pub scale: f64 = positive,
        pub eta: f64 = positive,
        pub steps: usize,
        pub every: usize = whole(1..),
    }
}

impl Invariant {
    /// Refuses steps that hold no two records.
    pub fn validate(&self) -> Result<()> {
        let allowed = format!("must be at least twice theorem1.every = {}", self.every);
        require(self.steps >= 2 * self.every, "theorem1.steps", self.steps, allowed)
    }

    /// The steps that are recorded.
    pub fn records(&self) -> Vec<f64> {
        (0..=self.steps / self.every).map(|i| (i * self.every) as f64).collect()
    }
}

/// Factor of Σ v² in the control: a tenth more than the theorem's.
const OTHER_FACTOR: f64 = 0.55;

/// The most frequent of some words, the first one of equally frequent.
fn frequent(words: impl Iterator<Item = u32>, vocabulary: usize, count: usize) -> Vec<usize> {
    let mut counts = vec![0_usize; vocabulary];
    words.for_each(|word| counts[word as usize] += 1);
    let mut order: Vec<usize> = (0..vocabulary).filter(|w| counts[*w] > 0).collect();
    order.sort_by_key(|w| (std::cmp::Reverse(counts[*w]), *w));
    order.truncate(count);
    order
}

/// Words before some occurrences of a query, and the words after them.
struct Occurrences {
    /// Shares of the words: (word, occurrence).
    inputs: Array2<f64>,
    /// Classes of the words after the query.
    labels: Vec<usize>,
}

impl Occurrences {
    fn draw(settings: &JomaText, text: &Text, streams: &Streams) -> Result<Self> {
        let (sizes, train) = (&settings.theorem1, &text.train);
        let size = text.vocabulary;
        let query = frequent(train.iter().copied(), size, 1);
        let query = query.first().copied().unwrap_or(0) as u32;
        let words = frequent(train.iter().copied().filter(|w| *w != query), size, sizes.words);
        let places = (settings.window..train.len().saturating_sub(1)).filter(|t| train[*t] == query);
        let mut places: Vec<usize> = places.collect();
        let after = places.iter().map(|t| train[t + 1]);
        let classes = frequent(after, size, sizes.classes);
        places.shuffle(&mut streams.part("occurrences", 0));
        let (mut columns, mut labels) = (vec![], vec![]);
        for t in places {
            let label = classes.iter().position(|c| *c == train[t + 1] as usize);
            let mut counts = Array1::<f64>::zeros(words.len());
            for word in &train[t - settings.window..t] {
                if let Some(l) = words.iter().position(|w| *w == *word as usize) {
                    counts[l] += 1.0;
                }
            }
            let sum = counts.sum();
            if let (Some(label), true) = (label, sum > 0.0) {
                columns.push(counts / sum);
                labels.push(label);
            }
            if labels.len() == sizes.samples {
                break;
            }
        }
        if labels.len() < 2 || classes.len() < 2 {
            let count = labels.len();
            return Err(Error::undefined(format!(
                "Theorem 1 on this text: its most frequent word must occur twice at least, after words that it may \
                 attend to and before two different ones; it does {count} times. Give a longer text"
            )));
        }
        Ok(Occurrences { inputs: Array2::from_shape_fn((words.len(), columns.len()), |(l, i)| columns[i][l]), labels })
    }

    fn layer(&self, attention: Attention, classes: usize) -> Result<Training> {
        let labels = Backpropagated::CrossEntropy(self.labels.clone());
        Training::uniform(attention, Activation::RELU, classes, self.inputs.clone(), labels)
    }
}

/// z − factor Σ_k v_k² of a state.
fn conserved(layer: &Training, state: &[f64], factor: f64) -> Array1<f64> {
    &layer.logits(state) - &(layer.weights(state).mapv(|v| v * v).sum_axis(Axis(1)) * factor)
}

/// Largest entry in size.
fn largest(values: &Array1<f64>) -> f64 {
    values.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// Mean entropy of the shares of attention over the occurrences, in nats.
fn entropy(layer: &Training, state: &[f64], occurrences: usize) -> f64 {
    let of = |i: usize| {
        let scores = layer.scores(state, i);
        let sum = scores.sum();
        super::measure::entropy(scores.iter().map(|b| b / sum))
    };
    (0..occurrences).map(of).sum::<f64>() / occurrences as f64
}

/// Trains the layer and returns the series at the records: "drift", the largest change of z − ½ Σ v² since the start,
/// relative to the largest one of z; "drift_half" with half the step size, at the same times; "drift_factor" of z − .55
/// Σ v²; "drift_softmax" under softmax attention. "entropy" of the attention. And "samples", the number of occurrences.
pub fn trial(settings: &JomaText, text: &Text, streams: &Streams) -> Result<Map<String, Value>> {
    let sizes = &settings.theorem1;
    let occurrences = Occurrences::draw(settings, text, streams)?;
    let exp = occurrences.layer(Attention::Exp, sizes.classes)?;
    let softmax = occurrences.layer(Attention::Softmax, sizes.classes)?;
    let start = exp.rectified_start(sizes.scale, streams);
    let mut data = Map::new();
    for (name, layer, factor, halved) in [
        ("drift", &exp, 0.5, 1),
        ("drift_half", &exp, 0.5, 2),
        ("drift_factor", &exp, OTHER_FACTOR, 1),
        ("drift_softmax", &softmax, 0.5, 1),
    ] {
        let (mut drifts, mut entropies) = (vec![], vec![]);
        let eta = sizes.eta / f64::from(halved);
        let every = sizes.every * halved as usize;
        let mut look = |t: f64, x: &[f64]| {
            if ((t / eta).round() as usize).is_multiple_of(every) {
                let drift = conserved(layer, x, factor) - conserved(layer, &start, factor);
                drifts.push(largest(&drift) / largest(&(&layer.logits(x) - &layer.logits(&start))));
                entropies.push(entropy(layer, x, occurrences.labels.len()));
            }
        };
        descend(layer, &start, eta, &[sizes.steps as f64 * sizes.eta], Watch::steps(&mut look))?;
        data.insert(name.into(), store::series(&drifts));
        if name == "drift" {
            data.insert("entropy".into(), store::series(&entropies));
        }
    }
    data.insert("samples".into(), occurrences.labels.len().into());
    Ok(data)
}
