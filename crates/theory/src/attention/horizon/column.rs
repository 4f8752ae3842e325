//! The first break of one column of scores, in f64 and to rounding.
//!
//! *Noise columns.* With F(θ) = log Σ_{i∈C_k} e^{θ s_i} and the constant B = Σ_{others} e^{s_i}, the
//! weight of key t is exp(-H_t(θ)), H_t = log(e^F + B) - (exponent of t), and H_t is convex in θ (a
//! log-sum-exp minus a linear function). So {θ : weight > τ} is an interval, and Newton's iteration
//! from θ = 1 reaches its left end from the left without ever passing it, or meets H_t' ≥ 0 above
//! the level -log τ, which proves that there is no such interval. Among the keys of C_k the one with
//! the largest score has the largest weight at every θ > 0, among the others likewise.
//!
//! *Signal columns.* Relative to the token itself key i has the exponent θ² (s_i - s_jj) or, outside C_k,
//! θ s_i - θ² s_jj. If all are ≤ 0 at θ = 1 then s_i ≤ s_jj, and for θ ≥ 1 none of them rises: the token's own weight
//! never falls. If one is positive there, that key has more weight than the token itself. So a token whose weight is
//! above τ at θ = 1 either keeps it for ever or shares the column with another key above τ from the start. For τ ≥ 1/2
//! that decides everything at θ = 1. For τ < 1/2 another key's weight may still rise above τ later (when third keys
//! fall): 1/weight is then G(θ) = Σ_i exp(q_i θ² + r_i θ), and its first fall below 1/τ is searched for with bounds:
//! over an interval every term is at least its least value (at an end or at the vertex); intervals in which the sum of
//! these values is at least 1/τ are discarded, and the leftmost of the others is halved.

use super::{Break, BreakKind};
use crate::attention::streaming::exp_in_place;
use std::ops::Range;

/// Scores s_ij of one column j at θ = 1.
pub(crate) struct Column<'a> {
    scores: &'a [f64],
    own: &'a Range<usize>,
    column: usize,
    signal: bool,
}

/// One term exp(q θ² + r θ) of 1/weight.
#[derive(Clone, Copy)]
struct Term {
    q: f64,
    r: f64,
}

impl Term {
    fn value(self, theta: f64) -> f64 {
        ((self.q * theta + self.r) * theta).exp()
    }

    /// Computes the least value on [a, b], b finite.
    fn inf(self, a: f64, b: f64) -> f64 {
        let ends = self.value(a).min(self.value(b));
        let vertex = -self.r / (2.0 * self.q);
        if self.q > 0.0 && vertex > a && vertex < b { ends.min(self.value(vertex)) } else { ends }
    }
}

impl<'a> Column<'a> {
    /// Wraps column `column` of the scores of the head whose cluster is `own`.
    pub(crate) fn new(scores: &'a [f64], own: &'a Range<usize>, column: usize) -> Self {
        Column { scores, own, column, signal: own.contains(&column) }
    }

    /// Returns the exponent of key i at θ, as q θ² + r θ + c with only one of the three non-zero.
    fn exponent(&self, i: usize, theta: f64) -> f64 {
        let factor = match (self.signal, self.own.contains(&i)) {
            (true, true) => theta * theta,
            (true, false) | (false, true) => theta,
            (false, false) => 1.0,
        };
        factor * self.scores[i]
    }

    /// Computes the softmax weight of key `row` at θ.
    pub(crate) fn weight(&self, row: usize, theta: f64) -> f64 {
        let exponent = self.exponent(row, theta);
        let inverse: f64 = (0..self.scores.len()).map(|i| (self.exponent(i, theta) - exponent).exp()).sum();
        1.0 / inverse
    }

    /// Returns the key with the largest score among `keys`, the first one in case of ties.
    fn top(&self, keys: impl Iterator<Item = usize>) -> Option<usize> {
        keys.reduce(|best, i| if self.scores[i] > self.scores[best] { i } else { best })
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<'_> {
        (0..self.own.start).chain(self.own.end..self.scores.len())
    }

    /// Computes the first break of the pattern at τ in (0, 1]; `None` if the column never breaks.
    pub(crate) fn first_break(&self, tau: f64) -> Option<Break> {
        if self.signal { self.signal_break(tau) } else { self.noise_break(tau) }
    }

    fn break_at(&self, theta: f64, row: usize, kind: BreakKind) -> Break {
        Break { theta, column: self.column, row, weight: self.weight(row, theta), kind }
    }

    fn noise_break(&self, tau: f64) -> Option<Break> {
        if tau >= 1.0 {
            return None; // a weight is never above 1
        }
        let signal = self.top(self.own.clone())?;
        let noise = self.top(self.others())?;
        let captured = self.newton(signal, tau).map(|theta| (theta, signal, BreakKind::Captured));
        let noise_kept = self.newton(noise, tau).map(|theta| (theta, noise, BreakKind::NoiseKept));
        let first = [captured, noise_kept].into_iter().flatten().reduce(|a, b| if b.0 < a.0 { b } else { a });
        first.map(|(theta, row, kind)| self.break_at(theta, row, kind))
    }

    /// Computes the left end of {θ ≥ 1 : weight of `row` > τ} in a noise column by Newton's method.
    fn newton(&self, row: usize, tau: f64) -> Option<f64> {
        // weight > tau  <=>  excess = Σ_{i≠row} exp(difference of exponents) < 1/tau - 1.
        let level = ((1.0 - tau) / tau).ln();
        let inside = self.own.contains(&row);
        let row_slope = if inside { self.scores[row] } else { 0.0 };
        // The keys of C_k depend on θ; the others are summed once, relative to their largest.
        let (left, right) =
            if inside { (self.own.start..row, row + 1..self.own.end) } else { (self.own.clone(), 0..0) };
        let growing = [&self.scores[left], &self.scores[right]];
        let fixed = || self.others().filter(|i| *i != row).map(|i| self.scores[i]);
        let largest = fixed().fold(f64::NEG_INFINITY, f64::max);
        let fixed_sum: f64 = fixed().map(|c| (c - largest).exp()).sum();
        let mut theta = 1.0;
        // The convergence is quadratic, so a few steps suffice; the cap matters for a double root only.
        for _ in 0..200 {
            let base = self.exponent(row, theta);
            let constant = fixed_sum * (largest - base).exp();
            let (mut excess, mut slope) = (constant, -constant * row_slope);
            for scores in growing {
                let (sum, weighted) = exponential_sums(scores, theta, base);
                excess += sum;
                slope += weighted - sum * row_slope;
            }
            // log(excess) is a log-sum-exp too, hence convex: Newton's iterates stay to the left of the root.
            let gap = excess.ln() - level;
            if gap < 0.0 {
                return Some(theta);
            }
            if slope >= 0.0 {
                return None;
            }
            let step = gap * excess / -slope;
            if step <= 2.0 * f64::EPSILON * theta {
                return Some(theta);
            }
            theta += step;
            if !theta.is_finite() {
                return None;
            }
        }
        Some(theta)
    }

    fn terms(&self, target: usize) -> Vec<Term> {
        let (q, r) = if self.own.contains(&target) { (self.scores[target], 0.0) } else { (0.0, self.scores[target]) };
        let term = |i: usize| {
            let s = self.scores[i];
            if self.own.contains(&i) { Term { q: s - q, r: -r } } else { Term { q: -q, r: s - r } }
        };
        (0..self.scores.len()).map(term).collect()
    }

    fn signal_break(&self, tau: f64) -> Option<Break> {
        let weight = self.weight(self.column, 1.0);
        if weight <= tau {
            return Some(self.break_at(1.0, self.column, BreakKind::SelfLost));
        }
        if tau >= 0.5 {
            return None; // no other key is above τ at this or a larger θ
        }
        let signal = self.top(self.own.clone().filter(|i| *i != self.column));
        let noise = self.top(self.others());
        let rivals = [signal, noise].into_iter().flatten();
        rivals.filter_map(|row| self.rise(row, tau)).reduce(|a, b| if b.theta < a.theta { b } else { a })
    }

    /// Computes the first θ at which key `row` of a signal column gets more than τ, given that the token
    /// itself has more than τ.
    fn rise(&self, row: usize, tau: f64) -> Option<Break> {
        let distracted = |theta| Some(self.break_at(theta, row, BreakKind::Distracted));
        if self.weight(row, 1.0) > tau {
            return distracted(1.0);
        }
        // The weight is below exp(exponent - own exponent), which falls to τ at `end`.
        let (own_score, score, log_level) = (self.scores[self.column], self.scores[row], -tau.ln());
        let end = if self.own.contains(&row) {
            (log_level / (own_score - score)).sqrt()
        } else {
            (score + (score * score + 4.0 * own_score * log_level).sqrt()) / (2.0 * own_score)
        };
        // An end beyond this bound (a key within 1e-12 of the token's own score) is as good as none.
        let end = if end.is_nan() { 1.0 } else { end.min(1e6) };
        let (level, terms) = (1.0 / tau, self.terms(row));
        let broken = |t: f64| terms.iter().map(|x| x.value(t)).sum::<f64>() < level;
        let clear = |a: f64, b: f64| terms.iter().map(|x| x.inf(a, b)).sum::<f64>() >= level;
        first_where(broken, clear, 1.0, end).and_then(distracted)
    }
}

/// Computes Σ_i exp(θ s_i - base) and Σ_i s_i exp(θ s_i - base).
fn exponential_sums(scores: &[f64], theta: f64, base: f64) -> (f64, f64) {
    // The buffer is long enough for the vector units and short enough for the first-level cache.
    let mut buffer = [0.0; 512];
    let (mut sum, mut weighted) = (0.0, 0.0);
    for scores in scores.chunks(buffer.len()) {
        let weights = &mut buffer[..scores.len()];
        for (w, s) in weights.iter_mut().zip(scores) {
            *w = theta * s - base;
        }
        exp_in_place(weights);
        sum += weights.iter().sum::<f64>();
        weighted += weights.iter().zip(scores).map(|(w, s)| w * s).sum::<f64>();
    }
    (sum, weighted)
}

/// Finds, to rounding, the least θ in [start, end] at which `broken` holds; `clear(a, b)` proves that
/// there is none in [a, b].
fn first_where(broken: impl Fn(f64) -> bool, clear: impl Fn(f64, f64) -> bool, start: f64, end: f64) -> Option<f64> {
    let mut stack = vec![(start, end)];
    while let Some((a, b)) = stack.pop() {
        if clear(a, b) {
            continue;
        }
        if broken(a) {
            return Some(a);
        }
        let middle = 0.5 * (a + b);
        if b - a <= 4.0 * f64::EPSILON * b || middle <= a || middle >= b {
            if broken(b) {
                return Some(b);
            }
            continue;
        }
        stack.push((middle, b));
        stack.push((a, middle));
    }
    None
}
