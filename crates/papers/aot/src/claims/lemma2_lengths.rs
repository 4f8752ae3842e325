//! Lemma 2 (i), Eqs. (12) and (13): the lengths of all signal and noise vectors.
//!
//! All lengths are independent and follow the χ law, so the failure probability of each event is
//! known exactly: $1 - (1 - f)^N$ and $1 - (1 - f)^{N(K-1)}$ with
//! $f = \mathbb P(|\chi_p - \sqrt p| > 2(\sqrt{\log N} + 1))$. Both hold with room to spare, and do
//! not need the hypothesis on p. The print promises 1 - 2K/N for (12) and (13) together, which
//! [`Joint`](super::lemma2_joint::Joint) judges; here each is held to that probability by itself. A trial takes
//! the lengths from the draws of [`Mixture`], block by block.

use super::columns::*;
use super::lemma2::{ColumnEvent, Event, Lemma2Event};
use super::setting::mixture;
use crate::quantities::*;
use crate::theory::Lemma2;
use attnlab_lab::prelude::*;
use attnlab_theory::sample::Mixture;

/// One of the two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Equation {
    Signal12,
    Noise13,
}

/// With probability at least 1 - 2K/N, every length is within 2(√log N + 1) (times δ) of √p (times δ).
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    equation: Equation,
    /// The factor of √log N + 1; 2 as printed.
    factor: f64,
    /// The mutant: δ is missing on the right of (13), or the centre is p.
    centre_power: f64,
}

impl Lengths {
    /// (12).
    pub fn signal() -> Self {
        Lengths { equation: Equation::Signal12, factor: 2.0, centre_power: 0.5 }
    }

    /// (13).
    pub fn noise() -> Self {
        Lengths { equation: Equation::Noise13, ..Self::signal() }
    }

    fn genuine(&self) -> bool {
        self.factor == 2.0 && self.centre_power == 0.5
    }
}

impl Lemma2Event for Lengths {
    // A length costs p normals and no products.
    fn default_columns(&self) -> u64 {
        1000
    }

    fn sheet(&self) -> &'static Sheet {
        match self.equation {
            Equation::Signal12 => sheet!("aot.lemma2_12"),
            Equation::Noise13 => sheet!("aot.lemma2_13"),
        }
    }

    fn fails_at_most(&self, params: &Params) -> f64 {
        2.0 * params.real(CLUSTERS) / params.real(TOKENS)
    }

    fn failure(&self, lemma: &Lemma2) -> Option<(Bracket, &'static str)> {
        let how = "exact: all lengths are independent and follow the chi law";
        self.genuine().then(|| (self.bracket(lemma), how))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mixture = mixture(params)?;
        let (mut worst, mut seen) = ((0.0_f64, 0, 0), 0);
        for head in 0..mixture.clusters() {
            for (token, length) in self.lengths(&mixture, head, params.get(COLUMNS), streams) {
                let deviation = self.deviation(params, length);
                if deviation >= worst.0 {
                    worst = (deviation, head, token);
                }
                seen += 1;
            }
        }
        let limit = self.limit(params);
        Ok(Outcome::Event {
            holds: worst.0 <= limit,
            witness: witness! {
                "largest_deviation" => worst.0,
                "limit" => limit,
                "head" => worst.1,
                "token" => worst.2,
                "vectors" => seen,
            },
        })
    }

    /// One block of tokens at a time.
    fn memory(&self, params: &Params) -> u64 {
        (8 * Mixture::BLOCK as u64).saturating_mul(params.get(DIM) as u64)
    }

    fn seconds(&self, params: &Params) -> f64 {
        // 3 ns per normal number.
        let columns = match params.get(COLUMNS) {
            0 => params.get(TOKENS),
            columns => columns,
        };
        3e-9 * params.real(CLUSTERS) * params.real(DIM) * columns as f64
    }

    fn mutants(&self) -> Vec<Mutant> {
        let (narrow, half, power) = (0.25, 0.5, 1.0);
        let with = |name, lengths| Mutant::new(name, Event(lengths));
        vec![
            with("narrow", Lengths { factor: narrow, ..*self }),
            with("half", Lengths { factor: half, ..*self }),
            with("centre", Lengths { centre_power: power, ..*self }),
        ]
    }
}

impl Lengths {
    fn concerns(&self, signal: bool) -> bool {
        signal == (self.equation == Equation::Signal12)
    }

    /// δ in (13), 1 in (12).
    fn scale(&self, params: &Params) -> f64 {
        match self.equation {
            Equation::Signal12 => 1.0,
            Equation::Noise13 => params.get(DELTA),
        }
    }

    fn deviation(&self, params: &Params, length: f64) -> f64 {
        let centre = self.scale(params) * params.real(DIM).powf(self.centre_power);
        (length - centre).abs()
    }

    /// Tokens of one head with their lengths, in the blocks of its draw: `count` of them, or all for 0.
    fn lengths(&self, mixture: &Mixture, head: usize, count: usize, streams: &Streams) -> Vec<(usize, f64)> {
        let (own, tokens) = (mixture.cluster(head), mixture.tokens());
        let all = match self.equation {
            Equation::Signal12 => own.len(),
            Equation::Noise13 => tokens - own.len(),
        };
        let count = if count == 0 { all } else { count.min(all) };
        // From the first block with tokens of the own cluster, or behind it, round.
        let blocks = tokens.div_ceil(Mixture::BLOCK);
        let start = match self.equation {
            Equation::Signal12 => own.start,
            Equation::Noise13 => own.end % tokens,
        } / Mixture::BLOCK;
        let mut found = vec![];
        for block in (0..blocks).map(|b| (start + b) % blocks) {
            if found.len() >= count {
                break;
            }
            let y = mixture.head_block::<f64>(head, block, streams);
            let first = block * Mixture::BLOCK;
            for (j, column) in y.columns().into_iter().enumerate() {
                if self.concerns(own.contains(&(first + j))) {
                    found.push((first + j, column.dot(&column).sqrt()));
                }
            }
        }
        found.truncate(count);
        found
    }
}

impl ColumnEvent for Lengths {
    fn equation(&self) -> &'static str {
        match self.equation {
            Equation::Signal12 => "(12)",
            Equation::Noise13 => "(13)",
        }
    }

    fn limit(&self, params: &Params) -> f64 {
        self.factor * self.scale(params) * (root_log(params) + 1.0)
    }

    fn record(&self, params: &Params, column: &Column, worst: &mut Worst) {
        if self.concerns(column.own.contains(&column.index)) {
            worst.record(self.deviation(params, column.length), column, column.index);
        }
    }

    fn bracket(&self, lemma: &Lemma2) -> Bracket {
        match self.equation {
            Equation::Signal12 => lemma.signal_lengths(),
            Equation::Noise13 => lemma.noise_lengths(),
        }
    }
}
