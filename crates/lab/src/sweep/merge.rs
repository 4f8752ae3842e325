//! Merging of the folders of shards into one canonical folder.

use super::{Plan, write_summary};
use crate::catalogue::Catalogue;
use crate::run::grid::RunReport;
use crate::run::store;
use crate::run::store::{Manifest, Rows, Shard, Store};
use attnlab_core::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Merges the rows of `folders`, shards of one run, into `out`, byte for byte as the run in one process would
/// write them. Nothing is written unless the run is complete. `out` may be one of the folders.
///
/// # Errors
/// Folders of different runs, rows that contradict each other, missing trials (how many, and of
/// which cell first), rows of another run in `out` (and no `force`), files that cannot be read or written.
pub fn merge(folders: &[PathBuf], catalogue: &Catalogue, out: &Path, force: bool) -> Result<RunReport> {
    let manifest = common_manifest(folders)?;
    let plan = Plan::of_manifest(&manifest, catalogue)?;
    let Rows { rows, dropped } = store::read_all(folders)?;
    let cells: Vec<u64> = plan.cells.iter().map(|c| c.params.cell()).collect();
    let rows = store::canonical(rows, &cells);
    let first = folders.first().map_or(Path::new("."), PathBuf::as_path);
    plan.with_grid(|grid| grid.ensure_complete(&rows, first))?;
    Store::open(out, &manifest, Shard::WHOLE, force)?.replace(&rows)?;
    write_summary(&plan, &rows, out)?;
    Ok(RunReport { resumed: rows.len() as u64, rows, computed: 0, dropped })
}

/// Returns the manifest of the run that all folders share.
fn common_manifest(folders: &[PathBuf]) -> Result<Manifest> {
    let mut common: Option<Manifest> = None;
    for folder in folders {
        let content = |problem: String| Error::Content { path: folder.clone(), problem };
        let manifest = Manifest::of_folder(folder)?;
        match &mut common {
            None => common = Some(manifest),
            Some(common) => {
                if let Some(problem) = common.difference(&manifest) {
                    let first = folders[0].display();
                    let text = format!("it is of another run than {first}, which holds {problem}");
                    return Err(content(text));
                }
                common.add_inputs(&manifest.inputs);
            }
        }
    }
    common.ok_or_else(|| Error::invalid("DIR", "(none)", "must be at least one folder of rows"))
}
