//! Completeness of a run: every trial is there, and nothing else.

use super::{Cell, Grid, Stopping};
use crate::run::Row;
use crate::run::files::content;
use crate::run::store::Stored;
use attnlab_core::error::{Error, Result};
use attnlab_core::format::pairs;
use std::path::Path;

/// Trials that the rows of a run lack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Number of missing trials.
    pub absent: u64,
    /// Number of trials of the whole run.
    pub wanted: u64,
    /// Parameters of the first cell that lacks one.
    pub first: Option<String>,
}

impl Missing {
    /// Returns the share of the trials that are there, in percent, rounded down.
    pub fn percent(&self) -> u64 {
        100 * (self.wanted - self.absent) / self.wanted.max(1)
    }
}

/// Numbers of trials that held and of informative trials.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) held: u64,
    pub(super) informative: u64,
}

impl Counts {
    pub(super) fn add(&mut self, held: Option<bool>) {
        self.held += u64::from(held == Some(true));
        self.informative += u64::from(held.is_some());
    }
}

impl Stopping<'_> {
    /// Returns `true` if the cell at this place may stop with these counts.
    pub(super) fn ends(&self, place: usize, counts: Counts) -> Result<bool> {
        Ok(counts.informative > 0 && (self.enough)(place, counts.held, counts.informative)?)
    }

    /// Returns the trial number up to which the round after `reach` goes, at most `most`.
    pub(super) fn reach(&self, reach: u64, most: u64) -> u64 {
        reach.saturating_add(self.every).min(most)
    }

    /// Follows the rule through the rows of the cell at this place, with at most `most` trials.
    pub(super) fn follow(&self, place: usize, rows: &[Row], most: u64) -> Result<Followed> {
        let mut followed = Followed { reach: 0, wanted: self.reach(0, most), ended: false };
        let mut counts = Counts::default();
        for (i, row) in rows.iter().enumerate() {
            let next = i as u64 + 1;
            if row.trial + 1 != next {
                break;
            }
            counts.add((self.holds)(&row.data)?);
            if next == followed.wanted {
                followed.reach = next;
                followed.ended = next == most || self.ends(place, counts)?;
                if followed.ended {
                    return Ok(followed);
                }
                followed.wanted = self.reach(next, most);
            }
        }
        Ok(followed)
    }
}

/// Progress of the stopping rule through the rows of a cell.
pub(super) struct Followed {
    /// Number of trials at the last decision.
    pub(super) reach: u64,
    /// Number of trials at the next decision, or of all if there is none.
    pub(super) wanted: u64,
    /// Flag: the cell needs no more trials.
    pub(super) ended: bool,
}

impl Grid<'_> {
    /// Compares rows with those of the whole run.
    ///
    /// # Errors
    /// As the stopping rule; a cell with more trials than the rule asks for.
    pub fn missing(&self, stored: &Stored, folder: &Path) -> Result<Missing> {
        let mut missing = Missing::default();
        let mut note = |place: usize, there: u64, wanted: u64| -> Result<()> {
            if there > wanted {
                return Err(too_many(folder, &self.cells.get(place)?));
            }
            if there < wanted && missing.first.is_none() {
                missing.first = Some(pairs(&self.cells.get(place)?.shown));
            }
            missing.absent += wanted - there;
            missing.wanted += wanted;
            Ok(())
        };
        let keys = self.cells.keys();
        match &self.stopping {
            None => {
                for (place, key) in keys.iter().enumerate() {
                    note(place, stored.trials(place).len() as u64, key.trials)?;
                }
            }
            Some(rule) => stored.for_each_cell(keys.len(), |place, rows| {
                let followed = rule.follow(place, rows, keys[place].trials)?;
                note(place, rows.len() as u64, followed.wanted)
            })?,
        }
        Ok(missing)
    }

    /// Refuses rows that are not exactly those of the whole run: too few, or more than the stopping rule asks for.
    ///
    /// # Errors
    /// Names the number of missing trials and the first cell that lacks one.
    pub fn ensure_complete(&self, stored: &Stored, folder: &Path) -> Result<()> {
        let missing = self.missing(stored, folder)?;
        let Some(cell) = missing.first else { return Ok(()) };
        let problem = format!(
            "{} trials are missing, the first of them of the cell ({cell}): give every shard's \
             command again, each goes on where it stopped, and then merge",
            missing.absent
        );
        Err(content(folder, problem))
    }

    /// Refuses rows that are not those of the run that has just ended: `wanted` trials of each cell.
    pub(super) fn ensure_own(&self, stored: &Stored, wanted: &[u64], folder: &Path) -> Result<()> {
        for (place, wanted) in wanted.iter().enumerate() {
            let there = stored.trials(place).len() as u64;
            if there != *wanted {
                let cell = pairs(&self.cells.get(place)?.shown);
                let problem = format!(
                    "it holds {there} of the {wanted} trials of this run for the cell ({cell}): another process \
                     has changed the rows. Give the same command again"
                );
                return Err(content(folder, problem));
            }
        }
        Ok(())
    }
}

pub(super) fn too_many(folder: &Path, cell: &Cell) -> Error {
    content(folder, format!("more trials than its rule asks for ({})", pairs(&cell.shown)))
}
