//! The constants that AoT prints with its Theorem 1, and what they amount to.

use attnlab_core::error::{Result, require};
use statrs::function::beta::beta_reg;
use std::f64::consts::PI;

/// The upper end of the τ interval (29), $1/(1 + N e^{-9p/32})$, and $\ln(1 - \cdot)$ of it: the
/// end itself rounds to 1 in double precision from about $p = (32/9)(\ln N + 37)$ on.
///
/// ```
/// let (end, ln_rest) = attnlab_aot::theory::printed::tau_upper(2000, 900);
/// assert_eq!(end, 1.0);
/// assert!((ln_rest + 245.524).abs() < 1e-3); // 2e-107 below 1
/// ```
pub fn tau_upper(tokens: usize, dim: usize) -> (f64, f64) {
    let ln_odds = ln_odds(tokens as f64, dim as f64);
    let ln_one_plus = |x: f64| {
        if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
    };
    (1.0 / (1.0 + (-ln_odds).exp()), -ln_one_plus(ln_odds))
}

/// $\ln(\tau/(1-\tau))$ at the upper end of (29): $9p/32 - \ln N$. The interval (1/2, end] is
/// non-empty iff this is positive, that is iff $p > (32/9) \ln N$.
pub fn ln_odds(tokens: f64, dim: f64) -> f64 {
    9.0 * dim / 32.0 - tokens.ln()
}

/// The largest θ that the printed proof covers: $(\ln N - \ln 2K) / (6 \delta \sqrt{p \ln N})$.
///
/// Lemma 2 (iv) bounds $|\langle a_i, e_{j,k}\rangle|$ by $3\delta\sqrt{p \ln N}$ and asks
/// $\ln N \ge 6\delta\sqrt{p \ln N} + \ln 2K$. Lemma 3 uses it for the scores of layer l, which are
/// θ times as large: the same lines then ask for 6θ in place of 6. At the largest δ that (11)
/// allows this is $(4/3)(1 - \ln 2K / \ln N)$, whatever N: no second layer.
pub fn proof_theta(tokens: usize, clusters: usize, dim: usize, delta: f64) -> f64 {
    let ln_n = (tokens as f64).ln();
    (ln_n - (2.0 * clusters as f64).ln()) / (6.0 * delta * (dim as f64 * ln_n).sqrt())
}

/// $c (\sqrt{\log N} + 1)^2$, the least p that the lemmas allow: c = 16 in Lemma 2, 64 in Lemma 3.
pub fn least_dim(tokens: f64, factor: f64) -> f64 {
    factor * (tokens.ln().sqrt() + 1.0).powi(2)
}

/// Upper end of δ in (11): $\sqrt{\log N / p} / 8$.
pub fn delta_limit(tokens: f64, dim: f64) -> f64 {
    (tokens.ln() / dim).sqrt() / 8.0
}

/// $8\pi K^2 \ln^3 N$, the right side of the first hypothesis in (11).
pub fn token_bound(tokens: f64, clusters: usize) -> f64 {
    8.0 * PI * (clusters as f64).powi(2) * tokens.ln().powi(3)
}

/// The least N from which on (11)'s $N \ge 8\pi K^2 \ln^3 N$ holds for good. (It holds at N = 1 too,
/// where both sides say nothing.)
///
/// # Errors
/// When K is 0, or so large that N exceeds the whole numbers that double precision holds.
///
/// ```
/// assert_eq!(attnlab_aot::theory::printed::min_tokens(2)?, 177_515);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn min_tokens(clusters: usize) -> Result<u64> {
    // K = 10^5 needs N of about 10^16, past 2^53.
    const MOST: usize = 50_000;
    require((1..=MOST).contains(&clusters), "clusters", clusters, format!("must be a whole number from 1 to {MOST}"))?;
    let holds = |n: f64| n >= token_bound(n, clusters);
    // N / ln³N increases from e³ on, so the condition changes once above it.
    let (mut low, mut high) = (21.0, 42.0);
    while !holds(high) {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1.0 {
        let middle = (0.5 * (low + high)).floor();
        if holds(middle) { high = middle } else { low = middle }
    }
    Ok(high as u64)
}

/// The expected number of *ordered* pairs (i, j), i ≠ j, of one cluster with $\langle a_i, a_j\rangle \ge |a_i|^2$,
/// over all K clusters: $\frac12 N (N/K - 1) \, I_{1/2}(p/2, 1/2)$.
///
/// In such a pair token j has at least the weight of token i in column i of $M_k$ at θ = 1, so (30) fails there for
/// $\tau \ge 1/2$. Given $a_i$, $\langle a_i, a_j\rangle = |a_i| g$ with g standard normal: the event is $g \ge |a_i|$,
/// of probability $\frac12 \mathbb P(\chi^2_1 \ge \chi^2_p) = \frac12 I_{1/2}(p/2, 1/2)$. The number is about $N^{2}
/// 2^{-p/2}$ up to powers of p, so about $p = (4/\ln 2) \ln N$ dimensions are necessary and enough.
///
/// Underflows to 0 from about p = 2000 on.
pub fn self_match_lambda(tokens: usize, clusters: usize, dim: usize) -> f64 {
    let n = tokens as f64 / clusters as f64;
    0.5 * tokens as f64 * (n - 1.0) * beta_reg(0.5 * dim as f64, 0.5, 0.5)
}
