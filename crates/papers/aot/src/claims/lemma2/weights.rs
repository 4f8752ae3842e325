//! Lemma 2 (iv), Eqs. (18) and (19): in a noise column no key holds more than half of the weight.
//!
//! The printed proof, whose gaps the sheets name, bounds $|X_i| \le 2\sigma\sqrt{\log N}$ for the keys of one column; the
//! constant 3 that a union over all columns takes would not close the arithmetic at δ = √(log N/p)/8. The statements are
//! true by far: a key holds more than half iff its exponential exceeds the sum of the M others, which by the inequality
//! of the means is at least $M e^{\bar X}$, so that one key fails with probability at most
//! $Q(\log M / (\sigma\sqrt{1 + 1/M}))$. With $\sigma \approx \delta\sqrt p \le \sqrt{\log N}/8$ the union over all
//! keys and columns is about $N^2 \cdot N^{-32}$. See [`Lemma2`](crate::theory::Lemma2).

use super::super::columns::*;
use super::{Event::*, Lemma2Claim};
use crate::quantities::*;
use attnlab_lab::prelude::*;
use std::ops::Range;

impl Lemma2Claim {
    pub(super) fn record_weights(&self, params: &Params, column: &Column, worst: &mut Worst) {
        if column.own.contains(&column.index) {
            return;
        }
        if self.event == Signal18 {
            self.record_rows(column, column.own.clone(), worst);
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
