//! Measurements of a network on the validation part.

use crate::network::{Network, Pass, Record};
use crate::text::Windows;
use attnlab_lab::prelude::*;
use attnlab_theory::measure::stable_rank;
use ndarray::{Array2, ArrayView2};
use rand::seq::SliceRandom;

/// Everything that a record needs.
pub struct Looker<'a> {
    validation: Windows<'a>,
    batches: u64,
    last: u64,
    /// W_1 of every block at the start.
    start: Vec<Array2<f32>>,
    streams: Streams,
}

/// Sums over queries.
struct Sums {
    /// Entropy of the weights, by position.
    places: Vec<f64>,
    /// Entropy of the weights of other words.
    others: f64,
    /// Number of queries that see other words.
    seeing: f64,
}

impl<'a> Looker<'a> {
    /// Creates the measurements of a training of `last` steps on `batches` batches of the validation part.
    pub fn new(network: &Network<f32>, validation: Windows<'a>, batches: u64, last: u64, streams: &Streams) -> Self {
        let blocks = &network.layout().blocks;
        let start = blocks.iter().map(|b| b.lower.weight.of(network.parameters()).to_owned());
        Looker { validation, batches, last, start: start.collect(), streams: streams.clone() }
    }

    /// Adds the measurements of a step to the record.
    pub fn look(&self, network: &Network<f32>, step: u64, record: &mut Record) -> Result<()> {
        let blocks = self.start.len();
        let mut sums: Vec<Sums> = (0..blocks).map(|_| Sums { places: vec![], others: 0.0, seeing: 0.0 }).collect();
        let (mut loss, mut sequences) = (0.0, 0.0);
        for number in 0..self.batches {
            let (batch, targets) = self.validation.batch(number);
            let pass = network.pass(&batch, None);
            loss += network.loss_of(&pass, &targets) / self.batches as f64;
            sequences += batch.spans.len() as f64;
            for (b, sums) in sums.iter_mut().enumerate() {
                sums.add(&pass, b);
            }
        }
        record.push("loss", loss);
        for (b, sums) in sums.iter().enumerate() {
            let entropy = sums.places.iter().sum::<f64>() / (sums.places.len() as f64 * sequences);
            let places: Vec<f64> = sums.places.iter().map(|sum| sum / sequences).collect();
            // Infinite before the first record.
            if entropy < record.series(&format!("entropy_{b}")).into_iter().fold(f64::INFINITY, f64::min) {
                record.0.insert(format!("least_{b}"), store::series(&places));
            }
            record.push(format!("entropy_{b}"), entropy);
            record.push(format!("others_{b}"), sums.others / sums.seeing);
            if step == 0 || step == self.last {
                let name = if step == 0 { "start" } else { "end" };
                record.0.insert(format!("{name}_{b}"), store::series(&places));
            }
            let weight = network.layout().blocks[b].lower.weight.of(network.parameters());
            record.push(format!("rank_{b}"), rank(weight)?);
            // Not a number at the start, where nothing has moved.
            record.push(format!("moved_{b}"), rank((&weight - &self.start[b]).view())?);
            let mut entries: Vec<f32> = weight.iter().copied().collect();
            entries.shuffle(&mut self.streams.child("permutation", b as u64).part("step", step));
            let permuted = Array2::from_shape_fn(weight.dim(), |(i, j)| entries[i * weight.ncols() + j]);
            record.push(format!("permuted_{b}"), rank(permuted.view())?);
        }
        Ok(())
    }
}

impl Sums {
    fn add(&mut self, pass: &Pass<f32>, block: usize) {
        for weights in pass.attention(block) {
            self.places.resize(self.places.len().max(weights.ncols()), 0.0);
            for (j, column) in weights.columns().into_iter().enumerate() {
                let weights: Vec<f64> = column.iter().take(j + 1).map(|a| f64::from(*a)).collect();
                self.places[j] += entropy(weights.iter().copied());
                let others: f64 = weights[..j].iter().sum();
                // A query that sees only itself, to rounding, has no distribution over others.
                if others > f64::from(f32::EPSILON) {
                    self.others += entropy(weights[..j].iter().map(|a| a / others));
                    self.seeing += 1.0;
                }
            }
        }
    }
}

/// −Σ a ln a, in nats.
pub(super) fn entropy(weights: impl Iterator<Item = f64>) -> f64 {
    weights.filter(|a| *a > 0.0).map(|a| -a * a.ln()).sum()
}

/// Stable rank in f64.
fn rank(weight: ArrayView2<f32>) -> Result<f64> {
    stable_rank(weight.mapv(f64::from).view())
}
