//! Merging of the folders of shards into one canonical folder.

use super::{Plan, write_summary};
use crate::catalogue::Catalogue;
use crate::run::Origin;
use crate::run::grid::Finished;
use crate::run::store::{Frame, Opening, Shard, Store, Stored, all_row_files, common_manifest};
use attnlab_core::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Options of [`merge`].
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct MergeOptions {
    /// Delete the rows of another run that the folder --out holds
    #[arg(long)]
    pub force: bool,
    /// Take rows of several builds of attnlab together; the manifest and reports then name every build
    #[arg(long)]
    pub mix_builds: bool,
}

/// Merges the rows of `folders`, shards of one run, into `out`, byte for byte as the run in one process would
/// write them. Every row is checked against the plan of the run, and nothing is written unless the run is
/// complete. `out` may be one of the folders. The origins of all shards are noted beside the rows, and for a claim
/// the summary of the cells is written.
///
/// # Errors
/// Folders of different runs or builds, rows that are not of the run or contradict each other, missing trials (how
/// many, and of which cell first), rows of another run in `out` (and no `force`), files that cannot be read or
/// written.
pub fn merge(
    folders: &[PathBuf],
    catalogue: &Catalogue,
    out: &Path,
    options: MergeOptions,
) -> Result<(Plan, Finished)> {
    let (plan, merged) = merge_rows(folders, catalogue, out, options)?;
    write_summary(&plan, &merged.stored, out)?;
    Ok((plan, merged))
}

/// Merges as [`merge`] does, without a summary of the cells.
///
/// # Errors
/// As [`merge`].
pub fn merge_rows(
    folders: &[PathBuf],
    catalogue: &Catalogue,
    out: &Path,
    options: MergeOptions,
) -> Result<(Plan, Finished)> {
    let paths: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let Some(manifest) = common_manifest(&paths, options.mix_builds)? else {
        return Err(Error::invalid("DIR", "(none)", "must be at least one folder of rows"));
    };
    let plan = Plan::of_manifest(&manifest, catalogue)?;
    let cells = Some(plan.cells.table().clone());
    let rows = Stored::scan(all_row_files(&paths)?, &Frame { manifest: &plan.manifest, cells: cells.clone() })?;
    plan.with_grid(|grid| grid.ensure_complete(&rows, paths[0]))?;
    let origins = paths.iter().map(|folder| Origin::read(folder)).collect::<Result<Vec<_>>>()?.concat();
    let force = options.force && !is_among(out, &paths);
    let opening = Opening { force, mix_builds: options.mix_builds, cells, ..Opening::default() };
    let store = Store::open(out, &plan.manifest, &opening)?;
    // The rows are never there without their origins.
    for origin in origins {
        origin.note(out, Shard::WHOLE)?;
    }
    let stored = store.replace(&rows)?;
    Ok((plan, Finished { resumed: stored.len() as u64, stored, computed: 0, dropped: rows.dropped() }))
}

/// Returns `true` if the folder of the result is one of those that are merged. Whatever run it holds by the time of
/// writing, its rows must not be deleted for those that were read.
fn is_among(out: &Path, folders: &[&Path]) -> bool {
    let is_out = |folder: &&Path| matches!((folder.canonicalize(), out.canonicalize()), (Ok(a), Ok(b)) if a == b);
    folders.iter().any(is_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_merged_is_known_by_any_path() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        std::fs::create_dir_all(&one).unwrap();
        assert!(is_among(&one.join("."), &[&two, &one]));
        // The folder of the result need not exist.
        assert!(!is_among(&two, &[&one]) && !is_among(&two, &[&two]));
    }
}
