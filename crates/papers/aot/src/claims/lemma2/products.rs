//! Lemma 2 (ii), Eqs. (14) to (16): inner products of different vectors are small.
//!
//! Given the vector on the right-hand side, its inner product with an independent isotropic vector,
//! divided by its length, is exactly normal: every ordered pair fails with probability
//! $2Q(3\sqrt{\log N}) \approx 2N^{-9/2}/(3\sqrt{2\pi\log N})$ whatever p and δ. The union bound over
//! at most $K N^2$ pairs stays below the printed $4K N^{-2}$ by a factor of about $N^{1/2}$. With
//! the constant 2 that the proof writes in passing in place of 3, a pair fails with probability
//! about $N^{-2}$ and some pair with a probability that does not fall below $1/\log N$: 3 is right.
//!
//! (15) prints $e_{j,l}$ for $j \in C_l$, which Definition 1 does not define (a token has no noise
//! in its own subspace); the proof and Lemma 3 use $e_{j,k}$, and so does the claim.

use super::super::columns::*;
use super::{Event::*, Lemma2Claim};
use crate::quantities::*;
use attnlab_lab::prelude::*;

impl Lemma2Claim {
    pub(super) fn record_products(&self, params: &Params, column: &Column, worst: &mut Worst) {
        let signal = column.own.contains(&column.index);
        if signal != (self.event == Signal14) || column.length == 0.0 {
            return; // δ = 0: both sides are 0
        }
        let cluster = column.own.clone();
        let in_cluster = matches!(self.event, Signal14 | Mixed15);
        let unit = if in_cluster { column.length } else { params.get(DELTA) * column.length };
        let mut see = |(row, score): (usize, f64)| worst.record(score.abs() / unit, column, row);
        if in_cluster {
            column.others(cluster).for_each(&mut see);
        } else {
            column.others(0..cluster.start).for_each(&mut see);
            column.others(cluster.end..params.get(TOKENS)).for_each(&mut see);
        }
        if self.event == Noise16 {
            see((column.index, column.length.powi(2)));
        }
    }
}
