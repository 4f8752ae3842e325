//! Lemma 2 (i), Eqs. (12) and (13): the lengths of all signal and noise vectors.
//!
//! All lengths are independent and follow the χ law, so the failure probability of each event is known exactly:
//! $1 - (1 - f)^N$ and $1 - (1 - f)^{N(K-1)}$ with $f = \mathbb P(|\chi_p - \sqrt p| > 2(\sqrt{\log N} + 1))$. Both
//! hold with room to spare, and do not need the hypothesis on p. The print promises 1 - 2K/N for (12) and (13)
//! together, which the claim of part (i) judges; here each is held to that probability by itself. A trial takes the
//! lengths from the draws of [`Mixture`], block by block.

use super::super::columns::*;
use super::super::setting::mixture;
use super::{Event::*, Lemma2Claim};
use crate::quantities::*;
use attnlab_lab::prelude::*;
use attnlab_theory::sample::Mixture;

impl Lemma2Claim {
    pub(super) fn trial_of_lengths(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mixture = mixture(params)?;
        let (mut worst, mut vectors) = ((0.0_f64, 0, 0), 0);
        for head in 0..mixture.clusters() {
            for (token, length) in self.lengths(&mixture, head, params.get(COLUMNS), streams) {
                let deviation = self.deviation(params, length);
                if deviation >= worst.0 {
                    worst = (deviation, head, token);
                }
                vectors += 1;
            }
        }
        let limit = self.limit(params);
        Ok(Outcome::Event {
            holds: worst.0 <= limit,
            witness: witness! {
                "largest_deviation" => worst.0, "limit" => limit, "head" => worst.1, "token" => worst.2,
                "vectors" => vectors,
            },
        })
    }

    pub(super) fn record_length(&self, params: &Params, column: &Column, worst: &mut Worst) {
        if self.concerns(column.is_signal()) {
            worst.record(self.deviation(params, column.length), column, column.index);
        }
    }

    /// δ in (13), 1 in (12).
    pub(super) fn scale_of_lengths(&self, params: &Params) -> f64 {
        if self.event == Signal12 { 1.0 } else { params.get(DELTA) }
    }

    fn concerns(&self, signal: bool) -> bool {
        signal == (self.event == Signal12)
    }

    fn deviation(&self, params: &Params, length: f64) -> f64 {
        let centre = self.scale_of_lengths(params) * params.real(DIM).powf(self.centre_power);
        (length - centre).abs()
    }

    /// Tokens of one head with their lengths, in the blocks of its draw: `count` of them, or all for 0.
    fn lengths(&self, mixture: &Mixture, head: usize, count: usize, streams: &Streams) -> Vec<(usize, f64)> {
        let (cluster, tokens) = (mixture.cluster(head), mixture.tokens());
        let (total, first) = match self.event {
            Signal12 => (cluster.len(), cluster.start),
            _ => (tokens - cluster.len(), cluster.end % tokens),
        };
        let count = if count == 0 { total } else { count.min(total) };
        // From the first block with tokens of the own cluster, or behind it, round.
        let blocks = tokens.div_ceil(Mixture::BLOCK);
        let start = first / Mixture::BLOCK;
        let mut lengths = vec![];
        for block in (0..blocks).map(|b| (start + b) % blocks) {
            if lengths.len() >= count {
                break;
            }
            let y = mixture.head_block::<f64>(head, block, streams);
            let first = block * Mixture::BLOCK;
            for (j, column) in y.columns().into_iter().enumerate() {
                if self.concerns(cluster.contains(&(first + j))) {
                    lengths.push((first + j, column.dot(&column).sqrt()));
                }
            }
        }
        lengths.truncate(count);
        lengths
    }
}

/// Bytes of one trial, which holds one block of tokens at a time.
pub(super) fn memory(params: &Params) -> u64 {
    (8 * Mixture::BLOCK as u64).saturating_mul(params.get(DIM) as u64)
}

/// The time (s) of one trial.
pub(super) fn seconds(params: &Params) -> f64 {
    // 3 ns per normal number.
    let columns = if params.get(COLUMNS) == 0 { params.get(TOKENS) } else { params.get(COLUMNS) };
    3e-9 * params.real(CLUSTERS) * params.real(DIM) * columns as f64
}
