//! Cells: the combinations of parameters of a grid.

use super::memory;
use super::store::{CellKey, CellTable};
use attnlab_core::error::{Error, Result};
use attnlab_core::format::pairs;
use attnlab_core::params::Params;
use serde_json::{Map, Value};
use std::sync::Arc;

/// One combination of parameters.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Parameters of its trials.
    pub params: Params,
    /// Parameters as its rows show them: `params`, and axes that only expressions use.
    pub shown: Map<String, Value>,
    /// Number of trials; with a stopping rule, the largest number.
    pub trials: u64,
    /// Peak memory of one trial, in bytes.
    pub memory: u64,
}

impl Cell {
    /// Returns what a run keeps of the cell.
    pub fn key(&self) -> CellKey {
        let Cell { trials, memory, .. } = *self;
        CellKey { hash: self.params.cell(), shown: CellKey::hash_of(&self.shown), trials, memory }
    }

    /// Refuses a cell whose trial does not fit into memory.
    ///
    /// # Errors
    /// [`Error::Memory`] with the cell.
    pub fn ensure_memory(&self) -> Result<()> {
        memory::ensure(&format!("one trial of the cell ({})", pairs(&self.shown)), self.memory)
    }
}

/// Function that makes a cell anew, from its place.
pub type Make = Arc<dyn Fn(usize) -> Result<Cell> + Send + Sync>;

/// The cells of a run, in the canonical order of their rows. A run of a million cells keeps 32 bytes of each
/// and makes its parameters anew when they are needed.
#[derive(Clone)]
pub struct Cells {
    table: Arc<CellTable>,
    make: Make,
}

impl Cells {
    /// Collects cells that are held in memory.
    ///
    /// # Errors
    /// A cell that occurs twice.
    pub fn listed(cells: Vec<Cell>) -> Result<Cells> {
        let keys = cells.iter().map(Cell::key).collect();
        Cells::made(keys, Arc::new(move |place: usize| -> Result<Cell> { Ok(cells[place].clone()) }))
    }

    /// Collects cells that `make` makes anew from their places; `keys` must be theirs.
    ///
    /// # Errors
    /// A cell that occurs twice.
    pub fn made(keys: Vec<CellKey>, make: Make) -> Result<Cells> {
        match CellTable::new(keys) {
            Ok(table) => Ok(Cells { table: Arc::new(table), make }),
            Err(place) => {
                let allowed = "must occur once. Remove the value that an axis repeats";
                Err(Error::invalid("cell", Value::Object(make(place)?.shown), allowed))
            }
        }
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.keys().len()
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.keys().is_empty()
    }

    /// Returns what is kept of every cell.
    pub fn keys(&self) -> &[CellKey] {
        self.table.keys()
    }

    /// Returns the places of the cells by their hashes.
    pub fn table(&self) -> &Arc<CellTable> {
        &self.table
    }

    /// Returns the cell at a place.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn get(&self, place: usize) -> Result<Cell> {
        (self.make)(place)
    }

    /// Returns the cell whose trials hold the most memory; None if there are no cells.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn heaviest(&self) -> Result<Option<Cell>> {
        self.keys().iter().enumerate().max_by_key(|(_, key)| key.memory).map(|(place, _)| self.get(place)).transpose()
    }
}
