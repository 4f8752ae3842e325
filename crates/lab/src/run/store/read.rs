//! Reading of rows, from files that may end in a torn line.

use super::{Row, cell_name};
use attnlab_core::error::{Error, Result};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

/// Rows read from a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The rows, without repetitions, in the order of the files.
    pub rows: Vec<Row>,
    /// Messages for the user about rows that were dropped: torn last lines of killed runs.
    pub dropped: Vec<String>,
}

/// Reads every `rows*.jsonl` of a folder, in the order of their names.
///
/// # Errors
/// A folder that cannot be read, a line before the last that is not a row, two different rows for one
/// trial.
pub fn read(folder: &Path) -> Result<Rows> {
    read_all(&[folder])
}

/// Reads every `rows*.jsonl` of several folders.
///
/// # Errors
/// As [`read`].
pub fn read_all<P: AsRef<Path>>(folders: &[P]) -> Result<Rows> {
    let mut rows = Rows::default();
    for folder in folders {
        for path in row_files(folder.as_ref())? {
            let file = read_file(&path)?;
            rows.rows.extend(file.rows);
            rows.dropped.extend(file.dropped);
        }
    }
    let names: Vec<_> = folders.iter().map(|f| f.as_ref().display().to_string()).collect();
    rows.rows = without_repetitions(Path::new(&names.join(", ")), rows.rows)?;
    Ok(rows)
}

/// Sorts rows into canonical order: by the place of their cell in `cells`, then by trial. Rows of
/// other cells are left out.
pub fn canonical(rows: Vec<Row>, cells: &[u64]) -> Vec<Row> {
    let place: BTreeMap<String, usize> = cells.iter().enumerate().map(|(i, c)| (cell_name(*c), i)).collect();
    let mut placed: Vec<(usize, Row)> =
        rows.into_iter().filter_map(|row| Some((*place.get(&row.cell)?, row))).collect();
    placed.sort_by_key(|(place, row)| (*place, row.trial));
    placed.into_iter().map(|(_, row)| row).collect()
}

/// Splits rows in canonical order into cells.
pub fn by_cell(rows: &[Row]) -> Vec<&[Row]> {
    rows.chunk_by(|a, b| a.cell == b.cell).collect()
}

/// Lists `rows.jsonl` and the files of shards.
pub(super) fn row_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |e| Error::io(folder, e, "Give the folder that holds the rows");
    let mut files = vec![];
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == "rows.jsonl" || (name.starts_with("rows-") && name.ends_with(".jsonl")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads one file. A last line without its newline, or one that is no row, is a torn write.
pub(super) fn read_file(path: &Path) -> Result<Rows> {
    let bytes = fs::read(path).map_err(|e| Error::io(path, e, "Check its permissions"))?;
    let mut rows = Rows::default();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    for (i, line) in lines.iter().enumerate() {
        match serde_json::from_slice::<Row>(line) {
            Ok(row) if line.ends_with(b"\n") => rows.rows.push(row),
            _ if i + 1 == lines.len() => {
                let note = "was torn (the run was killed while writing it) and is dropped";
                rows.dropped.push(format!("{}: line {} {note}", path.display(), i + 1));
            }
            Err(e) => {
                let problem = format!(
                    "line {} is not a row of this version ({e}); delete the line to have its trial \
                     computed again",
                    i + 1
                );
                return Err(Error::Content { path: path.to_path_buf(), problem });
            }
            Ok(_) => {}
        }
    }
    Ok(rows)
}

/// Reads one file and cuts off a torn last line, so that the next row starts a line of its own.
pub(super) fn cut_torn_line(path: &Path) -> Result<Rows> {
    let rows = read_file(path)?;
    if rows.dropped.is_empty() {
        return Ok(rows);
    }
    let advice = "The torn last line could not be cut off";
    let bytes = fs::read(path).map_err(|e| Error::io(path, e, advice))?;
    let before_last = bytes[..bytes.len().saturating_sub(1)].iter().rposition(|b| *b == b'\n');
    let keep = before_last.map_or(0, |i| i + 1) as u64;
    let file = OpenOptions::new().write(true).open(path);
    file.and_then(|f| f.set_len(keep)).map_err(|e| Error::io(path, e, advice))?;
    Ok(rows)
}

/// Drops repeated rows. Two different rows for one trial are an error, because a trial is a pure function of
/// its indices.
pub(super) fn without_repetitions(path: &Path, rows: Vec<Row>) -> Result<Vec<Row>> {
    let mut first: BTreeMap<(String, u64), usize> = BTreeMap::new();
    let mut unique: Vec<Row> = vec![];
    for row in rows {
        match first.get(&(row.cell.clone(), row.trial)) {
            Some(i) if unique[*i] != row => {
                let problem = format!(
                    "two different rows for cell {}, trial {} of {}: they come from different runs",
                    row.cell, row.trial, row.id
                );
                return Err(Error::Content { path: path.to_path_buf(), problem });
            }
            Some(_) => {}
            None => {
                first.insert((row.cell.clone(), row.trial), unique.len());
                unique.push(row);
            }
        }
    }
    Ok(unique)
}
