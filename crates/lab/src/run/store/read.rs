//! Reading of rows into memory, for runs that fit there.

use super::{Frame, Manifest, Row, Shard, Stored};
use crate::run::files::{self, content};
use attnlab_core::error::Result;
use itertools::Itertools;
use std::path::{Path, PathBuf};

/// Rows read from a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The rows, each once, in the order of the files by cell, then by trial.
    pub rows: Vec<Row>,
    /// Messages for the user about rows that were left out: torn last lines of killed runs.
    pub dropped: Vec<String>,
}

/// Reads every `rows*.jsonl` of a folder and checks each row against the manifest.
///
/// # Errors
/// A folder without a manifest or that cannot be read; a line that is no row or a row of another run; two
/// different rows for one trial.
pub fn read(folder: &Path) -> Result<Rows> {
    read_all(&[folder])
}

/// Reads every `rows*.jsonl` of several folders of one run.
///
/// # Errors
/// As [`read`], and when the folders hold different runs.
pub fn read_all<P: AsRef<Path>>(folders: &[P]) -> Result<Rows> {
    let folders: Vec<&Path> = folders.iter().map(AsRef::as_ref).collect();
    let Some(manifest) = common_manifest(&folders, true)? else { return Ok(Rows::default()) };
    let stored = Stored::scan(all_row_files(&folders)?, &Frame::without_cells(&manifest))?;
    Ok(Rows { rows: stored.rows()?, dropped: stored.dropped() })
}

/// Returns the manifest of the run that all folders share, with every build; None of no folder.
///
/// # Errors
/// Folders of different runs, and, unless `mix`, of different builds.
pub fn common_manifest(folders: &[&Path], mix: bool) -> Result<Option<Manifest>> {
    let mut common: Option<Manifest> = None;
    for folder in folders {
        let manifest = Manifest::of_folder(folder)?;
        let Some(common) = &mut common else {
            common = Some(manifest);
            continue;
        };
        let first = folders[0].display();
        if let Some(difference) = common.difference(&manifest) {
            return Err(content(folder, format!("it is of another run than {first}, which holds {difference}")));
        }
        let same_builds = common.has_builds_of(&manifest) && manifest.has_builds_of(common);
        if !(mix || same_builds) {
            let list = |m: &Manifest| m.builds().collect::<Vec<_>>().join(", ");
            let (here, there) = (list(&manifest), list(common));
            let problem = format!(
                "it holds rows of the build {here}, and {first} of {there}. Different code may compute different \
                 numbers: write --mix-builds to take them together all the same"
            );
            return Err(content(folder, problem));
        }
        common.add_builds_of(&manifest);
        common.add_inputs(&manifest.inputs);
    }
    Ok(common)
}

/// Splits rows in canonical order into cells.
pub fn by_cell(rows: &[Row]) -> Vec<&[Row]> {
    rows.chunk_by(|a, b| a.cell == b.cell).collect()
}

/// Lists `rows.jsonl` and the files of shards.
///
/// # Errors
/// A folder that cannot be read.
pub fn row_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let whole = Shard::WHOLE.file();
    files::named(folder, |name| name == whole || (name.starts_with("rows-") && name.ends_with(".jsonl")))
}

/// Lists the files of rows of several folders, each once.
///
/// # Errors
/// As [`row_files`].
pub fn all_row_files(folders: &[&Path]) -> Result<Vec<PathBuf>> {
    let files = folders.iter().map(|folder| row_files(folder)).collect::<Result<Vec<_>>>()?;
    Ok(files.into_iter().flatten().unique().collect())
}
