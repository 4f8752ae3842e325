//! Lemma 2 (iv), Eqs. (18) and (19): in a noise column no key holds more than half of the weight.
//!
//! The printed proof bounds $|X_i| \le 2\sigma\sqrt{\log N}$ for one column with probability
//! $1 - 2/N$ and then uses it for all columns: the union is missing, and with the constant 3 that
//! would repair it the arithmetic no longer closes at δ = √(log N/p)/8. It also uses
//! $N \ge 16K^4$ "due to (11)", which (11) does not imply from K = 133 on. The statements
//! are true all the same, by far: a key holds more than half iff its exponential exceeds the sum of
//! the M others, which by the inequality of the means is at least $M e^{\bar X}$, so that one key
//! fails with probability at most $Q(\log M / (\sigma\sqrt{1 + 1/M}))$. With
//! $\sigma \approx \delta\sqrt p \le \sqrt{\log N}/8$ the union over all keys and columns is about
//! $N^2 \cdot N^{-32}$. See [`Lemma2`](crate::theory::Lemma2).
//!
//! Lemma 3 applies (18) to scores multiplied by θ, for which it was not shown and is false for
//! large θ: the mutant `theta_20`.

use super::aot_columns::*;
use super::aot_lemma2::Lemma2Event;
use super::aot_setting::mixture;
use super::*;
use crate::theory::Lemma2;
use std::ops::Range;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Equation {
    Signal18,
    Noise19,
}

/// With probability at least 1 - 4K/N, every weight within a cluster is at most 1/2.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    equation: Equation,
    /// The scores are multiplied by it; 1 as printed.
    theta: f64,
    /// The mutant: at most twice the average weight.
    even: bool,
}

impl Weights {
    /// (18).
    pub fn signal() -> Self {
        Weights {
            equation: Equation::Signal18,
            theta: 1.0,
            even: false,
        }
    }

    /// (19).
    pub fn noise() -> Self {
        Weights {
            equation: Equation::Noise19,
            ..Self::signal()
        }
    }

    /// The largest softmax weight among `rows` without the column's own token, over the limit.
    fn see(&self, column: &Column, rows: Range<usize>, worst: &mut Worst) {
        let scores = column.others(rows.clone());
        let (row, top, count) = scores.fold((0, f64::NEG_INFINITY, 0_usize), |best, (i, x)| {
            if x > best.1 {
                (i, x, best.2 + 1)
            } else {
                (best.0, best.1, best.2 + 1)
            }
        });
        if count == 0 {
            return;
        }
        let terms = column
            .others(rows)
            .map(|(_, x)| (self.theta * (x - top)).exp());
        let weight = 1.0 / terms.sum::<f64>();
        let limit = if self.even { 2.0 / count as f64 } else { 0.5 };
        worst.see(0.5 * weight / limit, column, row);
    }
}

impl Lemma2Event for Weights {
    fn card(&self) -> Card {
        let signal = self.equation == Equation::Signal18;
        Card {
            id: if signal {
                "aot.lemma2_18"
            } else {
                "aot.lemma2_19"
            },
            paper: Paper::Aot2024,
            equation: if signal {
                "Lemma 2 (iv), Eq. (18)"
            } else {
                "Lemma 2 (iv), Eq. (19)"
            },
            title: if signal {
                "No in-cluster key holds more than half of a noise column"
            } else {
                "No noise key holds more than half of its cluster in a noise column"
            },
            statement: if signal {
                "With probability at least $1 - 4KN^{-1}$, $\\exp(\\langle a_i, e_{j,k} \\rangle) / \
                 \\sum_{i' \\in C_k} \\exp(\\langle a_{i'}, e_{j,k} \\rangle) \\le 1/2$ for all $i \
                 \\in C_k$, $j \\in C_l$, $k \\ne l \\in [K]$."
            } else {
                "With probability at least $1 - 4KN^{-1}$, $\\exp(\\langle e_{i,k}, e_{j,k} \
                 \\rangle) / \\sum_{i' \\ne j, i' \\in C_l} \\exp(\\langle e_{i',k}, e_{j,k} \
                 \\rangle) \\le 1/2$ for all $i \\ne j$, $i \\in C_l$, $j \\in C_m$, $l, m \\ne k$."
            },
            kind: Kind::Probability,
            expected: VerdictKind::Supported,
            corrected: Some(
                "Holds as printed, but not by the printed proof, which lacks a union over columns. \
                 A bound on one key by the inequality of the means closes it. It holds for the \
                 scores of the first layer only; Lemma 3 uses it for all layers.",
            ),
        }
    }

    fn fails_at_most(&self, params: &Params) -> f64 {
        4.0 * params.f64("clusters") / params.f64("tokens")
    }

    fn failure(&self, lemma: &Lemma2) -> Option<(Bracket, &'static str)> {
        let genuine = self.theta == 1.0 && !self.even;
        let failure = match self.equation {
            Equation::Signal18 => lemma.signal_weights(),
            Equation::Noise19 => lemma.noise_weights(),
        };
        let how = "union over keys and columns of a normal tail: the sum of the other terms is at \
                   least their number times the exponential of their mean";
        genuine.then_some((failure, how))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mixture = mixture(params)?;
        let worst = worst_column(params, Side::Noise, streams, |column, worst| {
            match self.equation {
                Equation::Signal18 => self.see(column, column.own.clone(), worst),
                Equation::Noise19 => {
                    for l in (0..mixture.clusters()).filter(|l| *l != column.head) {
                        self.see(column, mixture.cluster(l), worst);
                    }
                }
            }
        })?;
        let what = if self.even {
            "largest_weight_over_4_averages"
        } else {
            "largest_weight"
        };
        Ok(worst.at_most(what, 0.5))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let even = Mutant::new(
            "even",
            "no key holds more than twice the average weight",
            Weights {
                even: true,
                ..*self
            },
        );
        match self.equation {
            Equation::Signal18 => vec![
                even,
                Mutant::new(
                    "theta_20",
                    "the same for scores multiplied by 20, as Lemma 3 needs it after 13 layers",
                    Weights {
                        theta: 20.0,
                        ..*self
                    },
                ),
            ],
            // Noise scores have standard deviation δ²√p, .01 at the defaults: no key stands out
            // until δ is larger.
            Equation::Noise19 => vec![even.at("delta", 0.3)],
        }
    }
}
