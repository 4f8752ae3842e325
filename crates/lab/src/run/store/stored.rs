//! Stored rows: an index of the rows of a run, 32 bytes each, through which they are read cell by cell.

use super::lines::{Content, LONGEST, Lines, unreadable};
use super::repair::hash_of;
use super::{CellTable, Frame, Row};
use crate::run::{files, pause};
use attnlab_core::error::{Error, Result};
use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Largest number of files that are held open.
const OPEN: usize = 200;
/// Number of bytes that are read ahead.
const AHEAD: usize = 1 << 16;

/// Number of files of rows that this process has replaced.
static REPLACED: AtomicU64 = AtomicU64::new(0);

/// The rows of a run, each checked against its [`Frame`], once, in canonical order: by cell, then by trial.
///
/// The rows themselves stay in their files. A million rows take 32 MB here.
#[derive(Debug)]
pub struct Stored {
    files: Vec<PathBuf>,
    entries: Vec<Entry>,
    cells: Cells,
    /// Number of lines of the files, torn ones left out.
    lines: usize,
    pub(super) torn: Vec<Torn>,
}

/// Place of a row.
#[derive(Clone, Copy, Debug)]
struct Entry {
    cell: u32,
    file: u32,
    trial: u64,
    offset: u64,
    check: u64,
}

/// Last line of a file, which was cut off.
#[derive(Clone, Debug)]
pub(super) struct Torn {
    pub(super) file: PathBuf,
    pub(super) number: u64,
    pub(super) offset: u64,
}

/// Places of the cells.
#[derive(Clone, Debug)]
enum Cells {
    /// Those of a plan.
    Planned(Arc<CellTable>),
    /// In the order in which the files name them.
    Named(HashMap<u64, u32>),
}

impl Stored {
    /// Reads and checks every row of `files`.
    ///
    /// # Errors
    /// A file that cannot be read; a line that is no row or is not of the run, with its file and number; two
    /// different rows for one trial.
    pub fn scan(files: Vec<PathBuf>, frame: &Frame) -> Result<Stored> {
        let cells = match &frame.cells {
            Some(table) => Cells::Planned(table.clone()),
            None => Cells::Named(HashMap::new()),
        };
        let mut stored = Stored { files: vec![], entries: vec![], cells, lines: 0, torn: vec![] };
        for path in files {
            stored.add(path, frame)?;
        }
        stored.sort(frame)?;
        Ok(stored)
    }

    fn add(&mut self, path: PathBuf, frame: &Frame) -> Result<()> {
        let mut lines = Lines::open(&path)?;
        let file = self.files.len() as u32;
        while let Some(line) = lines.next()? {
            let row = match line.content {
                Content::Row(row) => row,
                Content::Torn => {
                    self.torn.push(Torn { file: path.clone(), number: line.number, offset: line.offset });
                    continue;
                }
                Content::Broken(why) => return Err(wrong_line(&path, line.number, &why)),
            };
            let cell = frame.cell(&row).map_err(|why| wrong_line(&path, line.number, &why))?;
            let cell = match &mut self.cells {
                // The frame has found it there.
                Cells::Planned(table) => table.place(cell).unwrap_or_default() as u32,
                Cells::Named(places) => {
                    let next = places.len() as u32;
                    *places.entry(cell).or_insert(next)
                }
            };
            self.lines += 1;
            self.entries.push(Entry { cell, file, trial: row.trial, offset: line.offset, check: line.check });
        }
        self.files.push(path);
        Ok(())
    }

    /// Sorts the rows into canonical order and leaves each out but once.
    fn sort(&mut self, frame: &Frame) -> Result<()> {
        let key = |e: &Entry| (e.cell, e.trial, e.file, e.offset);
        if !self.entries.is_sorted_by_key(key) {
            self.entries.sort_unstable_by_key(key);
        }
        let trial = |e: &Entry| (e.cell, e.trial);
        let twice: Vec<(Entry, Entry)> = self
            .entries
            .windows(2)
            .filter(|pair| trial(&pair[0]) == trial(&pair[1]) && pair[0].check != pair[1].check)
            .map(|pair| (pair[0], pair[1]))
            .collect();
        let mut reader = self.reader();
        for (first, second) in twice {
            let rows = (reader.row(&first)?, reader.row(&second)?);
            let path = &self.files[first.file as usize];
            // `==` takes 0 and -0 for equal.
            if hash_of(&rows.0, path)? != hash_of(&rows.1, path)? {
                let place = |e: &Entry| -> Result<String> {
                    let path = &self.files[e.file as usize];
                    Ok(format!("{}, line {}", path.display(), number_of(path, e.offset)?))
                };
                let (Row { cell, trial, .. }, id) = (&rows.0, &frame.manifest.id);
                let problem = format!(
                    "two different rows for cell {cell}, trial {trial} of {id} ({} and {}): they come from different \
                     runs. {REPAIR}",
                    place(&first)?,
                    place(&second)?
                );
                return Err(files::content(path, problem));
            }
        }
        drop(reader);
        self.entries.dedup_by_key(|e| trial(e));
        Ok(())
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there is no row.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns `true` if the row of a trial is there; the cell is named by its hash.
    pub fn holds(&self, cell: u64, trial: u64) -> bool {
        let place = match &self.cells {
            Cells::Planned(table) => table.place(cell),
            Cells::Named(places) => places.get(&cell).map(|place| *place as usize),
        };
        let key = |place| (place as u32, trial);
        place.is_some_and(|place| self.entries.binary_search_by_key(&key(place), |e| (e.cell, e.trial)).is_ok())
    }

    /// Returns the numbers of the trials of a cell that are there, ascending.
    pub fn trials(&self, place: usize) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.entries_of(place..place + 1).iter().map(|e| e.trial)
    }

    /// Returns the entries of some neighbouring cells.
    fn entries_of(&self, places: Range<usize>) -> &[Entry] {
        let first = |place: usize| self.entries.partition_point(|e| (e.cell as usize) < place);
        &self.entries[first(places.start)..first(places.end)]
    }

    /// Returns messages for the user about torn last lines.
    pub fn dropped(&self) -> Vec<String> {
        let note = "was torn (the run was killed while writing it, or is writing it now) and is left out";
        let message = |torn: &Torn| format!("{}: line {} {note}", torn.file.display(), torn.number);
        self.torn.iter().map(message).collect()
    }

    /// Reads every row into memory.
    ///
    /// # Errors
    /// A file that has changed or cannot be read.
    pub fn rows(&self) -> Result<Vec<Row>> {
        self.read(&self.entries)
    }

    /// Reads the rows of some neighbouring cells.
    ///
    /// # Errors
    /// As [`Stored::rows`].
    pub fn rows_between(&self, places: Range<usize>) -> Result<Vec<Row>> {
        self.read(self.entries_of(places))
    }

    fn read(&self, entries: &[Entry]) -> Result<Vec<Row>> {
        let mut reader = self.reader();
        entries.iter().map(|entry| reader.row(entry)).collect()
    }

    /// Calls `then` for every row, in canonical order.
    ///
    /// # Errors
    /// As [`Stored::rows`], and those of `then`.
    pub fn for_each(&self, mut then: impl FnMut(&Row) -> Result<()>) -> Result<()> {
        let mut reader = self.reader();
        self.entries.iter().try_for_each(|entry| then(&reader.row(entry)?))
    }

    /// Calls `then` for each of the first `cells` cells, with its rows: none where there are none.
    ///
    /// # Errors
    /// As [`Stored::rows`], and those of `then`.
    pub fn for_each_cell(&self, cells: usize, mut then: impl FnMut(usize, &[Row]) -> Result<()>) -> Result<()> {
        let mut reader = self.reader();
        let mut rest = self.entries.as_slice();
        for place in 0..cells {
            let (entries, after) = rest.split_at(rest.partition_point(|e| e.cell as usize == place));
            rest = after;
            then(place, &entries.iter().map(|entry| reader.row(entry)).collect::<Result<Vec<Row>>>()?)?;
        }
        Ok(())
    }

    /// Returns `true` if `path` already holds exactly these rows, in canonical order.
    pub(super) fn is_canonical(&self, path: &Path) -> bool {
        let alone = self.files.len() == 1 && self.files[0] == path;
        let once = self.lines == self.entries.len() && self.torn.is_empty();
        alone && once && self.entries.is_sorted_by_key(|e| e.offset)
    }

    /// Replaces `path` by the lines of the rows in canonical order, in full or not at all, and returns the index
    /// of the new file.
    pub(super) fn rewrite(&self, path: &Path) -> io::Result<Stored> {
        let (mut entries, mut offset) = (Vec::with_capacity(self.len()), 0);
        files::replace(path, |to| {
            let mut reader = self.reader();
            for entry in &self.entries {
                let line = reader.line(entry).map_err(io::Error::other)?;
                to.write_all(line)?;
                entries.push(Entry { file: 0, offset, ..*entry });
                offset += line.len() as u64;
            }
            let replaced = REPLACED.fetch_add(1, Ordering::Relaxed);
            pause::before_next(pause::AFTER_REPLACEMENTS, replaced, || false).map_err(io::Error::other)
        })?;
        let (files, lines, cells) = (vec![path.to_path_buf()], entries.len(), self.cells.clone());
        Ok(Stored { files, entries, cells, lines, torn: vec![] })
    }

    fn reader(&self) -> Reader<'_> {
        Reader { stored: self, files: HashMap::new() }
    }
}

/// End of a message about a line that does not belong into its file.
const REPAIR: &str = "`attnlab repair DIR` shows every such line and can set it aside";

/// Returns the error for a line that is no row, or a row of another run.
pub(super) fn wrong_line(path: &Path, number: u64, why: &str) -> Error {
    files::content(path, format!("line {number} {why}. {REPAIR}"))
}

/// Counts the lines up to the one that begins at `offset`.
fn number_of(path: &Path, offset: u64) -> Result<u64> {
    let mut lines = Lines::open(path)?;
    while let Some(line) = lines.next()? {
        if line.offset == offset {
            return Ok(line.number);
        }
    }
    Ok(0)
}

/// Reader of rows at their places.
struct Reader<'a> {
    stored: &'a Stored,
    files: HashMap<u32, OpenFile>,
}

/// A file that is read here and there.
struct OpenFile {
    file: BufReader<File>,
    /// Place in the file of the next byte that is read.
    position: u64,
    /// The line that was read last.
    line: Vec<u8>,
}

impl Reader<'_> {
    fn row(&mut self, entry: &Entry) -> Result<Row> {
        let path = &self.stored.files[entry.file as usize];
        serde_json::from_slice(self.line(entry)?).map_err(|_| changed(path))
    }

    fn line(&mut self, entry: &Entry) -> Result<&[u8]> {
        let path = &self.stored.files[entry.file as usize];
        if self.files.len() >= OPEN && !self.files.contains_key(&entry.file) {
            self.files.clear();
        }
        let open = match self.files.entry(entry.file) {
            Occupied(open) => open.into_mut(),
            Vacant(place) => {
                let file = File::open(path).map_err(|e| unreadable(path, e))?;
                place.insert(OpenFile { file: BufReader::with_capacity(AHEAD, file), position: 0, line: vec![] })
            }
        };
        let line = open.line(entry.offset).map_err(|e| unreadable(path, e))?;
        let text = line.strip_suffix(b"\n").filter(|text| attnlab_core::rng::hash(text) == entry.check);
        text.map(|_| line).ok_or_else(|| changed(path))
    }
}

impl OpenFile {
    /// Returns the line that begins at `offset`, with its newline where it has one.
    fn line(&mut self, offset: u64) -> io::Result<&[u8]> {
        // A place within what was read ahead is not read again.
        self.file.seek_relative(offset as i64 - self.position as i64)?;
        self.line.clear();
        let length = (&mut self.file).take(LONGEST).read_until(b'\n', &mut self.line)?;
        self.position = offset + length as u64;
        Ok(&self.line)
    }
}

fn changed(path: &Path) -> Error {
    files::content(path, "it was changed by another process while it was read. Give the command again")
}
