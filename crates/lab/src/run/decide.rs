//! Checks that go on until they decide: their looks at the trials, and the level of each.
//!
//! An interval that is looked at again and again errs more often than its level says. Look k therefore has the level
//! $1 - \alpha / (k (k+1))$: since $\sum_{k \ge 1} 1/(k(k+1)) = 1$, all looks together err with probability at most α,
//! by the union bound and whatever the rule of judgement.

use attnlab_core::stats::MAX_TRIALS;

/// Largest number of trials relative to that of the first look: eight looks.
const TIMES: u64 = 128;

/// Lists the numbers of trials at the looks of a check: `first`, twice as many, four times and so on.
pub(super) fn looks(first: u64) -> Vec<u64> {
    let most = first.saturating_mul(TIMES).min(MAX_TRIALS);
    let next = |n: &u64| (*n < most).then(|| n.saturating_mul(2).min(most));
    std::iter::successors(Some(first), next).collect()
}

/// Returns the level of look k = 1, 2, .. of a check with this level.
pub(super) fn level_of_look(level: f64, k: usize) -> f64 {
    1.0 - (1.0 - level) / (k * (k + 1)) as f64
}

/// Returns the level of a check whose look k has this level, to twelve decimals.
pub(super) fn level_of_check(level: f64, k: usize) -> f64 {
    let alpha = (1.0 - level) * (k * (k + 1)) as f64;
    ((1.0 - alpha) * 1e12).round() / 1e12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_double_and_share_the_error() {
        assert_eq!(looks(30), [30, 60, 120, 240, 480, 960, 1920, 3840]);
        let spent: f64 = (1..=8).map(|k| 1.0 - level_of_look(0.95, k)).sum();
        // 1/2 + 1/6 + .. + 1/72 = 1 - 1/9.
        assert!((spent - 0.05 * 8.0 / 9.0).abs() < 1e-12);
        assert!((1..=8).all(|k| level_of_check(level_of_look(0.95, k), k) == 0.95));
        let half = MAX_TRIALS / 2;
        assert_eq!(looks(half - 1), [half - 1, MAX_TRIALS - 2, MAX_TRIALS]);
        assert_eq!(looks(MAX_TRIALS), [MAX_TRIALS]);
    }
}
