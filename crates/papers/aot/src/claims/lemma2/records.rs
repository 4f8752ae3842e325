//! The quantities that the inequalities of Lemma 2 bound, in one column of scores.

use super::super::columns::*;
use super::{Event::*, Lemma2Claim};
use crate::quantities::*;
use attnlab_lab::prelude::*;
use std::ops::Range;

impl Lemma2Claim {
    /// Records what an inequality bounds, in a column of any token; a column that it does not concern is passed over.
    pub(super) fn record(&self, params: &Params, column: &Column, worst: &mut Worst) {
        match self.event {
            Signal12 | Noise13 => self.record_length(params, column, worst),
            Maximum17 | Maximum17Corrected => record_maximum(column, worst),
            Signal18 | Noise19 => self.record_weights(params, column, worst),
            _ => self.record_products(params, column, worst),
        }
    }

    /// Records the scores of part (ii), Eqs. (14) to (16): inner products of different vectors are small.
    ///
    /// Given the vector on the right-hand side, its inner product with an independent isotropic vector,
    /// divided by its length, is exactly normal: every ordered pair fails with probability
    /// $2Q(3\sqrt{\log N}) \approx 2N^{-9/2}/(3\sqrt{2\pi\log N})$ whatever p and δ. The union bound over
    /// at most $K N^2$ pairs stays below the printed $4K N^{-2}$ by a factor of about $N^{1/2}$. With
    /// the constant 2 that the proof writes in passing in place of 3, a pair fails with probability
    /// about $N^{-2}$ and some pair with a probability that does not fall below $1/\log N$: 3 is right.
    ///
    /// (15) prints $e_{j,l}$ for $j \in C_l$, which Definition 1 does not define (a token has no noise
    /// in its own subspace); the proof and Lemma 3 use $e_{j,k}$, and so does the claim.
    fn record_products(&self, params: &Params, column: &Column, worst: &mut Worst) {
        if column.is_signal() != (self.event == Signal14) || column.length == 0.0 {
            return; // δ = 0: both sides are 0
        }
        let cluster = column.cluster.clone();
        let in_cluster = matches!(self.event, Signal14 | Mixed15);
        let unit = if in_cluster { column.length } else { params.get(DELTA) * column.length };
        let mut record = |(row, score): (usize, f64)| worst.record(score.abs() / unit, column, row);
        if in_cluster {
            column.others(cluster).for_each(&mut record);
        } else {
            column.others(0..cluster.start).for_each(&mut record);
            column.others(cluster.end..params.get(TOKENS)).for_each(&mut record);
        }
        if self.event == Noise16 {
            record((column.index, column.length.powi(2)));
        }
    }

    /// Records the weights of part (iv), Eqs. (18) and (19): in a noise column no key holds more than half of them.
    ///
    /// The printed proof, whose gaps the sheets name, bounds $|X_i| \le 2\sigma\sqrt{\log N}$ for the keys of one
    /// column; the constant 3 that a union over all columns takes would not close the arithmetic at δ = √(log N/p)/8.
    /// The statements are true by far: a key holds more than half iff its exponential exceeds the sum of the M others,
    /// which by the inequality of the means is at least $M e^{\bar X}$, so that one key fails with probability at most
    /// $Q(\log M / (\sigma\sqrt{1 + 1/M}))$. With $\sigma \approx \delta\sqrt p \le \sqrt{\log N}/8$ the union
    /// over all keys and columns is about $N^2 \cdot N^{-32}$. See [`Lemma2`](crate::theory::Lemma2).
    fn record_weights(&self, params: &Params, column: &Column, worst: &mut Worst) {
        if column.is_signal() {
            return;
        }
        if self.event == Signal18 {
            self.record_rows(column, column.cluster.clone(), worst);
            return;
        }
        let per_cluster = params.get(TOKENS) / params.get(CLUSTERS);
        for l in (0..params.get(CLUSTERS)).filter(|l| *l != column.head) {
            self.record_rows(column, l * per_cluster..(l + 1) * per_cluster, worst);
        }
    }

    /// Records the largest softmax weight among `rows` without the column's own token, over the limit.
    fn record_rows(&self, column: &Column, rows: Range<usize>, worst: &mut Worst) {
        let (row, top, count) = column.others(rows.clone()).fold((0, f64::NEG_INFINITY, 0_usize), |best, (i, x)| {
            if x > best.1 { (i, x, best.2 + 1) } else { (best.0, best.1, best.2 + 1) }
        });
        if count == 0 {
            return;
        }
        let weight = 1.0 / column.others(rows).map(|(_, x)| (self.theta * (x - top)).exp()).sum::<f64>();
        let limit = self.averages.map_or(0.5, |times| times / count as f64);
        worst.record(0.5 * weight / limit, column, row);
    }
}

/// Records, as its negative, max over i in C_k of <a_i, e_{j,k}> / |e_{j,k}| in a noise column (j, k), for part (iii),
/// Eq. (17): every noise column has some large in-cluster score.
///
/// One column fails with probability $q = \Phi(\sqrt{\log N})^{N/K}$ exactly, and there are
/// $N(K-1)$ of them. The proof bounds q by $N^{-1}$ and stops: it takes no union over the columns.
/// (11) gives more: with $L = \log N$ and Gordon's $Q(t) \ge \phi(t) \, t/(1+t^2)$,
///
/// $$ q \le e^{-(N/K) Q(\sqrt L)} \le \exp\left( -\frac{\sqrt N}{K\sqrt{2\pi}}
///    \frac{\sqrt L}{1+L} \right) \le \exp\left( -\frac{2L^2}{1+L} \right) \le e^2 N^{-2}, $$
///
/// by $\sqrt N \ge \sqrt{8\pi} K L^{3/2}$. So the event fails with probability at most
/// $N(K-1) q \le e^2 (K-1)/N < 8(K-1)/N$: the same hypotheses, another constant, and a factor K - 1.
/// At the edge of (11) this is nearly what happens: the printed 2/N is missed by a factor of 2.6 at K = 2 and of 19 at
/// K = 8.
///
/// Lemma 3 uses (17) only for $\sigma_i(m_i) < 1/2$ in (33), which holds without it, because
/// $|e_{i,1}|^2$ is much smaller than $\log N$.
fn record_maximum(column: &Column, worst: &mut Worst) {
    if column.length == 0.0 {
        return; // δ = 0: both sides are 0
    }
    let scores = column.others(column.cluster.clone());
    let (row, top) = scores.fold((0, f64::NEG_INFINITY), |best, new| if new.1 > best.1 { new } else { best });
    worst.record(-top / column.length, column, row);
}
