//! Merging of the folders of shards into one canonical folder.

use super::{Plan, write_summary};
use crate::catalogue::Catalogue;
use crate::run::Origin;
use crate::run::grid::Finished;
use crate::run::store::{Frame, Opening, Shard, Store, Stored, all_row_files, common_manifest};
use attnlab_core::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Options of [`merge`].
#[derive(Clone, Copy, Debug, Default)]
pub struct MergeOptions {
    /// Flag: rows of another run in the folder of the result are deleted.
    pub force: bool,
    /// Flag: rows of several builds are taken together.
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
    let mut plan = Plan::of_manifest(&manifest, catalogue)?;
    // The rows are of the builds that computed them, not of this one.
    plan.manifest = manifest;
    let cells = Some(plan.cells.table().clone());
    let frame = Frame { manifest: &plan.manifest, cells: cells.clone() };
    let rows = Stored::scan(all_row_files(&paths)?, &frame)?;
    plan.with_grid(|grid| grid.ensure_complete(&rows, paths[0]))?;
    let mut origins = vec![];
    for folder in &paths {
        origins.extend(Origin::read(folder)?);
    }
    let opening = Opening { force: options.force, mix_builds: options.mix_builds, cells, ..Opening::default() };
    let store = Store::open(out, &plan.manifest, &opening)?;
    let stored = store.replace(&rows)?;
    for origin in origins {
        origin.note(out, Shard::WHOLE)?;
    }
    Ok((plan, Finished { resumed: stored.len() as u64, stored, computed: 0, dropped: rows.dropped() }))
}
