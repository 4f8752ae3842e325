//! Lemma 2 (iii), Eq. (17): every noise column has some large in-cluster score.
//!
//! One column fails with probability $q = \Phi(\sqrt{\log N})^{N/K}$ exactly, and there are
//! $N(K-1)$ of them. The proof bounds q by $N^{-1}$ and stops: it takes no union over the columns.
//! (11) gives more: with $L = \log N$ and Gordon's $Q(t) \ge \phi(t) \, t/(1+t^2)$,
//!
//! $$ q \le e^{-(N/K) Q(\sqrt L)} \le \exp\left( -\frac{\sqrt N}{K\sqrt{2\pi}}
//!    \frac{\sqrt L}{1+L} \right) \le \exp\left( -\frac{2L^2}{1+L} \right) \le e^2 N^{-2}, $$
//!
//! by $\sqrt N \ge \sqrt{8\pi} K L^{3/2}$. So the event fails with probability at most
//! $N(K-1) q \le e^2 (K-1)/N < 8(K-1)/N$: the same hypotheses, another constant, and a factor K - 1.
//! At the edge of (11) this is nearly what happens: the printed 2/N is missed by a factor of 2.6 at K = 2 and of 19 at
//! K = 8.
//!
//! Lemma 3 uses (17) only for $\sigma_i(m_i) < 1/2$ in (33), which holds without it, because
//! $|e_{i,1}|^2$ is much smaller than $\log N$.

use super::super::columns::*;

/// Records max over i in C_k of <a_i, e_{j,k}> / |e_{j,k}| in a noise column (j, k), as its negative.
pub(super) fn record_maximum(column: &Column, worst: &mut Worst) {
    if column.length == 0.0 {
        return; // δ = 0: both sides are 0
    }
    let scores = column.others(column.own.clone());
    let (row, top) = scores.fold((0, f64::NEG_INFINITY), |best, new| if new.1 > best.1 { new } else { best });
    worst.record(-top / column.length, column, row);
}
