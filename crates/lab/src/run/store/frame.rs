//! Frame of a run: what every one of its rows must be.

use super::{Manifest, Row, cell_name};
use attnlab_core::rng::hash;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Identity and size of a cell without its parameters: 32 bytes, so that a million cells fit anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellKey {
    /// Hash of the parameters.
    pub hash: u64,
    /// Hash of the parameters as its rows show them.
    pub shown: u64,
    /// Number of trials; with a stopping rule, the largest number.
    pub trials: u64,
    /// Peak memory of one trial, in bytes.
    pub memory: u64,
}

impl CellKey {
    /// Computes the hash of the parameters that a row shows.
    pub fn hash_of(shown: &Map<String, Value>) -> u64 {
        // A map of plain values always has a JSON form.
        hash(&serde_json::to_vec(shown).unwrap_or_default())
    }
}

/// The cells of a run, in canonical order.
#[derive(Debug, Default)]
pub struct CellTable {
    keys: Vec<CellKey>,
    place: HashMap<u64, u32>,
}

impl CellTable {
    /// Collects cells. If a cell occurs twice, returns the place of its second occurrence as the error.
    ///
    /// # Errors
    /// The place, counted from 0.
    pub fn new(keys: Vec<CellKey>) -> Result<CellTable, usize> {
        let mut place = HashMap::with_capacity(keys.len());
        for (i, key) in keys.iter().enumerate() {
            // A plan has at most a million cells.
            if place.insert(key.hash, i as u32).is_some() {
                return Err(i);
            }
        }
        Ok(CellTable { keys, place })
    }

    /// Returns the cells.
    pub fn keys(&self) -> &[CellKey] {
        &self.keys
    }

    /// Returns the place of a cell, by its hash.
    pub fn place(&self, cell: u64) -> Option<usize> {
        self.place.get(&cell).map(|i| *i as usize)
    }
}

/// Requirements on the rows of a run: to be of its id, seed, schema and build, and, where the cells are known, of one of
/// its cells with its parameters.
#[derive(Clone)]
pub struct Frame<'a> {
    /// The manifest of the run.
    pub manifest: &'a Manifest,
    /// Its cells; None where they are not known.
    pub cells: Option<Arc<CellTable>>,
}

impl<'a> Frame<'a> {
    /// Creates the frame of a run whose cells are not known.
    pub fn without_cells(manifest: &'a Manifest) -> Self {
        Frame { manifest, cells: None }
    }

    /// Returns the cell of a row, or says why the row is not of this run.
    ///
    /// # Errors
    /// The reason, as the rest of a sentence that begins with the line.
    pub fn cell(&self, row: &Row) -> Result<u64, String> {
        let run = self.manifest;
        if row.schema != run.schema {
            return Err(format!("has schema {}, not {}", row.schema, run.schema));
        }
        if row.id != run.id {
            return Err(format!("is of {}, not of {}", row.id, run.id));
        }
        if row.seed != run.seed {
            return Err(format!("has seed = {}, not {}", row.seed, run.seed));
        }
        if !run.builds().any(|build| build == row.build) {
            let builds: Vec<&str> = run.builds().collect();
            return Err(format!("was computed by the build {}, not by {}", row.build, builds.join(" or ")));
        }
        let Some(hash) = u64::from_str_radix(&row.cell, 16).ok().filter(|hash| cell_name(*hash) == row.cell) else {
            return Err(format!("has cell = \"{}\", which is no 16 hexadecimal digits", row.cell));
        };
        let Some(table) = &self.cells else { return Ok(hash) };
        let Some(place) = table.place(hash) else {
            return Err(format!("is of the cell {}, which the run lacks", row.cell));
        };
        let key = &table.keys[place];
        if CellKey::hash_of(&row.parameters) != key.shown {
            return Err(format!("has other parameters than the cell {} of the run", row.cell));
        }
        if row.trial >= key.trials {
            return Err(format!("has trial = {}, but the cell has {} trials, counted from 0", row.trial, key.trials));
        }
        Ok(hash)
    }
}
