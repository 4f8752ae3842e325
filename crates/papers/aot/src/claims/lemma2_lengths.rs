//! Lemma 2 (i), Eqs. (12) and (13): the lengths of all signal and noise vectors.
//!
//! All lengths are independent and follow the χ law, so the failure probability of each event is
//! known exactly: $1 - (1 - f)^N$ and $1 - (1 - f)^{N(K-1)}$ with
//! $f = \mathbb P(|\chi_p - \sqrt p| > 2(\sqrt{\log N} + 1))$. Both hold with room to spare, and do
//! not need the hypothesis on p. The print promises 1 - 2K/N for (12) and (13) together; the sum of
//! the two exact probabilities is as far below it.

use super::columns::*;
use super::lemma2::{Event, Lemma2Event};
use super::setting::mixture;
use crate::quantities::*;
use crate::theory::Lemma2;
use attnlab_lab::prelude::*;
use rand_distr::{Distribution, StandardNormal};

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
        Lengths {
            equation: Equation::Signal12,
            factor: 2.0,
            centre_power: 0.5,
        }
    }

    /// (13).
    pub fn noise() -> Self {
        Lengths {
            equation: Equation::Noise13,
            ..Self::signal()
        }
    }

    fn genuine(&self) -> bool {
        self.factor == 2.0 && self.centre_power == 0.5
    }
}

impl Lemma2Event for Lengths {
    // A length costs p normals and no products.
    const DEFAULT_COLUMNS: u64 = 1000;

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
        let failure = match self.equation {
            Equation::Signal12 => lemma.signal_lengths(),
            Equation::Noise13 => lemma.noise_lengths(),
        };
        let how = "exact: all lengths are independent and follow the chi law";
        self.genuine().then_some((failure, how))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mixture = mixture(params)?;
        let (n, k, p) = (mixture.tokens(), mixture.clusters(), params.get(DIM));
        let (scale, total) = match self.equation {
            Equation::Signal12 => (1.0, n),
            Equation::Noise13 => (mixture.delta, n.saturating_mul(k - 1)),
        };
        let asked = match params.get(COLUMNS) {
            0 => total,
            // Per head, as in the other claims.
            c => c.saturating_mul(k).min(total),
        };
        let mut rng = streams.part("lengths", 0);
        let centre = scale * (p as f64).powf(self.centre_power);
        let mut worst = (f64::NEG_INFINITY, 0);
        for vector in 0..asked {
            let square = |_| {
                let g: f64 = StandardNormal.sample(&mut rng);
                g * g
            };
            let length = scale * (0..p).map(square).sum::<f64>().sqrt();
            let deviation = (length - centre).abs();
            if deviation > worst.0 {
                worst = (deviation, vector);
            }
        }
        let limit = self.factor * scale * (root_log(params) + 1.0);
        Ok(Outcome::Event {
            holds: worst.0 <= limit,
            witness: witness! {
                "largest_deviation" => if asked == 0 { 0.0 } else { worst.0 },
                "limit" => limit,
                "vector" => worst.1,
                "vectors" => asked,
            },
        })
    }

    /// Vectors are drawn one by one.
    fn memory(&self, _params: &Params) -> u64 {
        0
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![
            Mutant::new(
                "narrow",
                Event(Lengths {
                    factor: 0.25,
                    ..*self
                }),
            ),
            Mutant::new(
                "centre",
                Event(Lengths {
                    centre_power: 1.0,
                    ..*self
                }),
            ),
        ]
    }
}
