//! Checks of mutants, the false variants of a claim, as evidence that the check of the claim can fail.

use super::{CheckOptions, CheckReport, Progress, check};
use crate::claim::{Claim, Mutant, VerdictKind};
use crate::words::counted;
use attnlab_core::error::Result;
use attnlab_core::stats::binomial;
use serde::Serialize;

/// Result of one mutant.
#[derive(Clone, Debug, Serialize)]
pub struct MutantReport {
    /// Id of the claim of which it is a false variant.
    pub claim: String,
    /// Its name.
    pub mutant: &'static str,
    /// Its sentence, from the sheet.
    pub says: &'static str,
    /// Number of seeds under which it ran.
    pub seeds: u64,
    /// Number of seeds under which it was refuted; its share is the power of the check.
    pub refuted: u64,
    /// The check under the first seed.
    pub first: CheckReport,
}

impl MutantReport {
    /// Says under how many seeds it was refuted, with the interval of the power of the check.
    pub fn power(&self) -> String {
        let share = format!("refuted under {} of {}", self.refuted, counted(self.seeds, "seed"));
        match binomial(self.refuted, self.seeds, 0.95) {
            Ok(e) => format!("{share}, 95 % interval [{:.3}, {:.3}]", e.low, e.high),
            Err(_) => share,
        }
    }

    /// Returns `true` if it was refuted under every seed.
    pub fn killed(&self) -> bool {
        self.refuted == self.seeds
    }
}

/// Checks every mutant of `claim` at the mutant's parameters, with the default number of trials there, under
/// `seeds` seeds from `options.seed` on. Hypotheses are ignored, because a mutant is false at its parameters,
/// in or out of scope.
///
/// # Errors
/// As [`check()`].
///
/// ```
/// use attnlab_lab::{run::{mutants, CheckOptions, Silent}, toy};
/// for report in mutants(&*toy::fair_coin(), &CheckOptions::default(), 1, &Silent)? {
///     assert!(report.killed(), "{}", report.mutant);
/// }
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn mutants(
    claim: &dyn Claim,
    options: &CheckOptions,
    seeds: u64,
    progress: &dyn Progress,
) -> Result<Vec<MutantReport>> {
    let report = |m: &Mutant| mutant(&claim.sheet().id, m, options, seeds, progress);
    claim.mutants().iter().map(report).collect()
}

/// Checks one mutant of the claim `id`, as [`mutants`] does.
///
/// # Errors
/// As [`check()`].
pub fn mutant(
    id: &str,
    mutant: &Mutant,
    options: &CheckOptions,
    seeds: u64,
    progress: &dyn Progress,
) -> Result<MutantReport> {
    let set = mutant.set.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    let run = |seed: u64| {
        let (seed, drawn_as) = (options.seed.wrapping_add(seed), Some(mutant.drawn_as));
        let options = CheckOptions { seed, beyond_hypotheses: true, drawn_as, until_decided: false, ..options.clone() };
        let mut report = check(&*mutant.claim, &set, &options, progress)?;
        report.expected = VerdictKind::Refuted;
        Ok(report)
    };
    let first = run(0)?;
    let mut refuted = u64::from(first.as_expected());
    for seed in 1..seeds {
        refuted += u64::from(run(seed)?.as_expected());
    }
    let (claim, says) = (id.to_string(), mutant.says());
    Ok(MutantReport { claim, mutant: mutant.name, says, seeds: seeds.max(1), refuted, first })
}
