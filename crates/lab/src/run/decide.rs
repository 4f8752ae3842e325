//! Checks that go on until they decide.

use attnlab_core::error::{Error, Result};
use attnlab_core::stats::MAX_TRIALS;

/// Rule by which a check goes on until it decides: it looks after n, 2n, 4n, .. trials and at last after `most`.
///
/// An interval that is looked at again and again errs more often than its level says. Look k therefore has the level
/// $1 - \alpha / (k (k+1))$: since $\sum_{k \ge 1} 1/(k(k+1)) = 1$, all looks together err with probability at most α,
/// by the union bound and whatever the rule of judgement. The trials of a look are those of the look before and as many
/// new ones.
///
/// ```
/// use attnlab_lab::run::{check, CheckOptions, Silent, UntilDecided};
/// use attnlab_lab::{claim::VerdictKind, toy};
/// let options = CheckOptions { trials: Some(50), ..CheckOptions::default() };
/// let claim = toy::fair_coin();
/// let once = check(&*claim, &Default::default(), &options, &Silent)?;
/// assert_eq!(once.verdict, VerdictKind::Inconclusive);
/// let options = CheckOptions { until_decided: Some(UntilDecided::default()), ..options };
/// let decided = check(&*claim, &Default::default(), &options, &Silent)?;
/// assert_eq!(decided.verdict, VerdictKind::Supported);
/// assert!(decided.trials > 50);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UntilDecided {
    /// Largest number of trials; None for [`UntilDecided::TIMES`] times those of the first look.
    pub most: Option<u64>,
}

/// One look at the trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    /// Number of trials at this look.
    pub(super) trials: u64,
    /// Confidence level of this look.
    pub(super) level: f64,
}

impl UntilDecided {
    /// Largest number of trials relative to the first look's, unless another is given: eight looks.
    pub const TIMES: u64 = 128;

    /// Lists the looks of a check whose first has `first` trials.
    ///
    /// # Errors
    /// A largest number of trials below that of the first look, or beyond what has exact intervals.
    pub(super) fn looks(&self, first: u64, level: f64) -> Result<Vec<Look>> {
        let most = match self.most {
            None => first.saturating_mul(Self::TIMES).min(MAX_TRIALS),
            Some(most) if (first..=MAX_TRIALS).contains(&most) => most,
            Some(most) => {
                let allowed =
                    format!("must be a whole number from {first}, the trials of the first look, to {MAX_TRIALS}");
                return Err(Error::invalid("until-decided", most, allowed));
            }
        };
        let mut looks = vec![];
        let mut trials = first;
        loop {
            let k = looks.len() as f64 + 1.0;
            looks.push(Look { trials, level: 1.0 - (1.0 - level) / (k * (k + 1.0)) });
            if trials == most {
                return Ok(looks);
            }
            trials = trials.saturating_mul(2).min(most);
        }
    }

    /// Says in words when the check looked, and at what level it decided.
    pub(super) fn described(looks: &[Look], last: usize, level: f64) -> String {
        let numbers: Vec<String> = looks[..=last].iter().map(|l| l.trials.to_string()).collect();
        let most = looks.last().map_or(0, |l| l.trials);
        let alpha = attnlab_core::format::number(rounded(1.0 - level));
        format!(
            "until decided: looked after {} trials (at most {most}); look k at level 1 - {alpha}/(k(k+1)), so that all \
             looks together err with probability at most {alpha}",
            numbers.join(", "),
        )
    }
}

/// 1 - 0.95 as it was meant.
fn rounded(alpha: f64) -> f64 {
    (alpha * 1e12).round() / 1e12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_double_and_share_the_error() {
        let rule = UntilDecided { most: Some(100) };
        let looks = rule.looks(30, 0.95).unwrap();
        let trials: Vec<u64> = looks.iter().map(|l| l.trials).collect();
        assert_eq!(trials, [30, 60, 100]);
        let spent: f64 = looks.iter().map(|l| 1.0 - l.level).sum();
        // 1/2 + 1/6 + 1/12 = 3/4.
        assert!((spent - 0.05 * 0.75).abs() < 1e-12);
        assert_eq!(UntilDecided::default().looks(10, 0.9).unwrap().len(), 8);
        let error = rule.looks(200, 0.95).unwrap_err().to_string();
        assert!(error.contains("until-decided = 100"), "{error}");
        assert!(error.contains("from 200"), "{error}");
    }
}
