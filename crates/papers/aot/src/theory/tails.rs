//! Exact probabilities behind AoT Lemmas 1 and 2, to hold against the printed bounds.
//!
//! The vectors are isotropic normal and independent, so lengths follow χ laws and, given one
//! factor, inner products are normal. Where a statement ranges over many vectors or pairs, the
//! expected number of violations is exact, and the probability of any is at most that.

use attnlab_core::special::{chi_cdf, chi_tail, ln_normal_cdf, normal_tail};

/// Lemma 1, (10): $\mathbb P(| |x| - \delta\sqrt d | > t + 2\delta)$ for $x \sim N(0, \delta^2 I_d)$.
/// The lemma bounds it by [`lemma1_bound`].
///
/// ```
/// use attnlab_aot::theory::tails::{lemma1_bound, lemma1_failure};
/// // mpmath: gammainc(50, (10+4)**2/2, inf, regularized=True) + gammainc(50, 0, (10-4)**2/2, ..)
/// let exact = lemma1_failure(100, 1.0, 2.0);
/// assert!((exact / 3.340_644_913_160_739_5e-8 - 1.0).abs() < 1e-11);
/// assert!(exact <= lemma1_bound(1.0, 2.0));
/// ```
pub fn lemma1_failure(d: usize, delta: f64, t: f64) -> f64 {
    length_deviation(d, t / delta + 2.0)
}

/// The printed bound of Lemma 1, $2 e^{-t^2/(2\delta^2)}$.
pub fn lemma1_bound(delta: f64, t: f64) -> f64 {
    2.0 * (-0.5 * (t / delta).powi(2)).exp()
}

/// $\mathbb P(| \chi_d - \sqrt d | > u)$.
pub fn length_deviation(d: usize, u: f64) -> f64 {
    let d = d as f64;
    chi_tail(d, d.sqrt() + u) + chi_cdf(d, d.sqrt() - u)
}

/// (12) and (13) for one vector: the probability that $|a_i|$, or $|e_{i,l}|/\delta$, differs from $\sqrt p$ by more
/// than $2(\sqrt{\ln N} + 1)$. There are N vectors $a_i$ and N(K-1) vectors $e_{i,l}$, all independent.
pub fn length_failure(tokens: usize, dim: usize) -> f64 {
    length_deviation(dim, 2.0 * (root_log(tokens) + 1.0))
}

/// (14), (15) and, for i ≠ j, (16) for one ordered pair: $2 Q(3\sqrt{\ln N})$, the probability that the inner product
/// exceeds $3\sqrt{\ln N}$ times the length of the vector on the right (times δ in (16)).
pub fn product_failure(tokens: usize) -> f64 {
    2.0 * normal_tail(3.0 * root_log(tokens))
}

/// Ordered pairs that (14), (15) and (16) without i = j range over: N(n-1), N(N-n) and K(N-n)(N-n-1), with n = N/K.
pub fn product_pairs(tokens: usize, clusters: usize) -> (f64, f64, f64) {
    let (total, k) = (tokens as f64, clusters as f64);
    let n = total / k;
    let out = total - n;
    (total * (n - 1.0), total * out, k * out * (out - 1.0))
}

/// (16) for i = j, which the printed statement does not exclude: the probability that
/// $|e_{j,k}|^2 > 3\delta\sqrt{\ln N} |e_{j,k}|$, which tends to 1 once $p > 9 \ln N$.
pub fn self_product_failure(tokens: usize, dim: usize) -> f64 {
    chi_tail(dim as f64, 3.0 * root_log(tokens))
}

/// (17): the expected number of the N(K-1) noise columns (j, k) whose largest in-cluster score
/// stays below $\sqrt{\ln N} |e_{j,k}|$: each fails with probability $\Phi(\sqrt{\ln N})^{N/K}$.
pub fn max_score_failures(tokens: usize, clusters: usize) -> f64 {
    let (columns, n) = (tokens as f64 * (clusters as f64 - 1.0), tokens as f64 / clusters as f64);
    columns * (n * ln_normal_cdf(root_log(tokens))).exp()
}

fn root_log(tokens: usize) -> f64 {
    (tokens as f64).ln().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-11, "{value} {expected}");
    }

    // mp.dps = 30; N = 2000; s = mp.sqrt(mp.log(N))
    #[test]
    fn pair_failures_agree_with_mpmath() {
        // mp.erfc(3*s/mp.sqrt(2))
        close(product_failure(2000), 1.329_289_247_080_272_2e-16);
        // mp.gammainc(45, (30+u)**2/2, mp.inf, regularized=True) + .., u = 2*(s+1), p = 900
        close(length_failure(2000, 900), 5.308_520_862_168_025e-25);
        close(length_failure(2000, 903), 5.279_960_044_421_892e-25);
        close(length_failure(200, 640), 1.031_450_745_136_620_3e-19);
        // N*(K-1)*mp.ncdf(s)**(N//K)
        close(max_score_failures(2000, 2), 107.736_153_227_915);
        close(max_score_failures(10_000, 2), 24.298_612_108_08);
        close(max_score_failures(50_000, 2), 0.176_212_709_813_625);
        close(max_score_failures(183_000, 2), 2.163_311_579_432_94e-5);
    }

    #[test]
    fn lemma_1_is_far_from_tight() {
        // The audit's claim: exact / bound <= 0.0024 wherever t >= δ/2.
        let mut worst: f64 = 0.0;
        for d in [1, 2, 5, 10, 100, 1000, 10_000] {
            for t in [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0] {
                let ratio = lemma1_failure(d, 0.3, 0.3 * t) / lemma1_bound(0.3, 0.3 * t);
                worst = worst.max(ratio);
            }
        }
        assert!(worst < 0.0025, "{worst}");
    }

    #[test]
    fn the_self_product_is_false_for_large_p() {
        assert!(self_product_failure(1000, 40) < 0.1);
        assert!(self_product_failure(1000, 200) > 0.999);
    }
}
