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
//! large θ: the mutant `theta_12`.

use super::columns::*;
use super::lemma2::{ColumnEvent, Event, Lemma2Event};
use crate::quantities::*;
use crate::theory::Lemma2;
use attnlab_lab::prelude::*;
use std::ops::Range;

/// One of the two events.
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
    /// The mutant: at most this multiple of the average weight, in place of 1/2.
    averages: Option<f64>,
}

impl Weights {
    /// (18).
    pub fn signal() -> Self {
        Weights { equation: Equation::Signal18, theta: 1.0, averages: None }
    }

    /// (19).
    pub fn noise() -> Self {
        Weights { equation: Equation::Noise19, ..Self::signal() }
    }

    /// Records the largest softmax weight among `rows` without the column's own token, over the limit.
    fn record_rows(&self, column: &Column, rows: Range<usize>, worst: &mut Worst) {
        let scores = column.others(rows.clone());
        let (row, top, count) = scores.fold((0, f64::NEG_INFINITY, 0_usize), |best, (i, x)| {
            if x > best.1 { (i, x, best.2 + 1) } else { (best.0, best.1, best.2 + 1) }
        });
        if count == 0 {
            return;
        }
        let terms = column.others(rows).map(|(_, x)| (self.theta * (x - top)).exp());
        let weight = 1.0 / terms.sum::<f64>();
        let limit = self.averages.map_or(0.5, |times| times / count as f64);
        worst.record(0.5 * weight / limit, column, row);
    }
}

impl Lemma2Event for Weights {
    fn sheet(&self) -> &'static Sheet {
        match self.equation {
            Equation::Signal18 => sheet!("aot.lemma2_18"),
            Equation::Noise19 => sheet!("aot.lemma2_19"),
        }
    }

    fn fails_at_most(&self, params: &Params) -> f64 {
        4.0 * params.real(CLUSTERS) / params.real(TOKENS)
    }

    fn failure(&self, lemma: &Lemma2) -> Option<(Bracket, &'static str)> {
        let genuine = self.theta == 1.0 && self.averages.is_none();
        let how = "union over keys and columns of a normal tail: the sum of the other terms is at \
                   least their number times the exponential of their mean";
        genuine.then(|| (self.bracket(lemma), how))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let worst = worst_column(params, Side::Noise, streams, |column, worst| self.record(params, column, worst))?;
        let what = match self.averages {
            Some(_) => "largest_weight_over_limit_halved",
            None => "largest_weight",
        };
        Ok(worst.at_most(what, self.limit(params)))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let times = |averages| {
            let averages = Some(averages);
            Event(Weights { averages, ..*self })
        };
        let theta = |theta| Event(Weights { theta, ..*self });
        match self.equation {
            Equation::Signal18 => vec![Mutant::new("five_averages", times(5.0)), Mutant::new("theta_12", theta(12.0))],
            // Noise scores have standard deviation δ²√p, .01 at the defaults: no key stands out
            // until δ is larger.
            Equation::Noise19 => {
                vec![Mutant::new("even", times(1.03)), Mutant::new("hundred_averages", times(100.0)).with(DELTA, 0.3)]
            }
        }
    }
}

impl ColumnEvent for Weights {
    fn equation(&self) -> &'static str {
        match self.equation {
            Equation::Signal18 => "(18)",
            Equation::Noise19 => "(19)",
        }
    }

    fn limit(&self, _params: &Params) -> f64 {
        0.5
    }

    fn record(&self, params: &Params, column: &Column, worst: &mut Worst) {
        if column.own.contains(&column.index) {
            return;
        }
        if self.equation == Equation::Signal18 {
            self.record_rows(column, column.own.clone(), worst);
            return;
        }
        let per_cluster = params.get(TOKENS) / params.get(CLUSTERS);
        for l in (0..params.get(CLUSTERS)).filter(|l| *l != column.head) {
            self.record_rows(column, l * per_cluster..(l + 1) * per_cluster, worst);
        }
    }

    fn bracket(&self, lemma: &Lemma2) -> Bracket {
        match self.equation {
            Equation::Signal18 => lemma.signal_weights(),
            Equation::Noise19 => lemma.noise_weights(),
        }
    }
}
