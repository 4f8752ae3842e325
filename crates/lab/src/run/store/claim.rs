//! Claiming of a folder: whose it is, before anything in it is deleted or written.

use super::owner::{busy, clear};
use super::{Frame, Manifest, Opening, Owner, Shard, Stored, not_json, replace, row_files};
use attnlab_core::error::{Error, Result};
use std::path::Path;

/// Takes `folder` for the run that `wanted` describes and returns its manifest, which may name more builds.
pub(super) fn claim(folder: &Path, wanted: &Manifest, how: &Opening) -> Result<(Owner, Manifest)> {
    match Owner::alone(folder)? {
        Some(owner) => {
            let manifest = settle(folder, wanted, how)?;
            if how.shard.is_whole() {
                return Ok((owner, manifest));
            }
            let owner = owner.into_share(folder)?;
            // Another process may have had the folder for itself in between.
            match Manifest::read(folder)? {
                Some(here) if here == manifest => Ok((owner, manifest)),
                _ => Err(busy(folder)),
            }
        }
        None if how.shard.is_whole() => Err(busy(folder)),
        // Other shards are under way: nothing may be deleted, and their manifest must be that of this run.
        None => {
            let owner = Owner::share(folder)?;
            match Manifest::read(folder)? {
                Some(here) if here.difference(wanted).is_none() && here.has_builds_of(wanted) => Ok((owner, here)),
                _ => Err(busy(folder)),
            }
        }
    }
}

/// Writes the manifest of the run, or refuses a folder of another run.
fn settle(folder: &Path, wanted: &Manifest, how: &Opening) -> Result<Manifest> {
    let mut rows = 0;
    for file in row_files(folder)? {
        let size = std::fs::metadata(&file).map_err(|e| Error::io(&file, e, "Check its permissions"))?;
        rows += size.len();
    }
    let here = match how.force {
        // Under --force a manifest that cannot be read is no reason to stop.
        true => Manifest::read(folder).unwrap_or(None),
        false => Manifest::read(folder)?,
    };
    let unknown = || format!("rows without {}, whose run is unknown", Manifest::FILE);
    let problem = match &here {
        Some(here) => here.difference(wanted),
        None => (rows > 0).then(unknown),
    };
    if let Some(problem) = problem {
        let fewer = here.as_ref().filter(|here| here.differs_in_trials(wanted));
        if let Some(here) = fewer.filter(|_| how.top_up && how.shard.is_whole()) {
            return topped_up(folder, here, wanted, how);
        }
        if !how.force {
            return Err(refusal(folder, &problem, fewer.is_some()));
        }
        clear(folder)?;
        return write(folder, wanted.clone());
    }
    match here {
        None => write(folder, wanted.clone()),
        Some(here) if here.has_builds_of(wanted) => Ok(here),
        Some(_) if rows == 0 => write(folder, wanted.clone()),
        Some(mut here) if how.mix_builds => {
            here.add_builds_of(wanted);
            write(folder, here)
        }
        Some(_) if how.force => {
            clear(folder)?;
            write(folder, wanted.clone())
        }
        Some(here) => Err(Error::Content {
            path: folder.to_path_buf(),
            problem: format!(
                "it holds rows of the build {}, but this is {}. Different code may compute different numbers: \
                 choose another folder with --out, write --mix-builds to go on here (rows and reports then name \
                 every build), or write --force to delete those rows and start anew",
                here.builds().collect::<Vec<_>>().join(", "),
                wanted.build
            ),
        }),
    }
}

fn write(folder: &Path, manifest: Manifest) -> Result<Manifest> {
    let path = folder.join(Manifest::FILE);
    let text = serde_json::to_string_pretty(&manifest).map_err(|e| not_json(&path, &e))?;
    replace(&path, &(text + "\n")).map_err(|e| Error::io(&path, e, "Choose a folder that you may write with --out"))?;
    Ok(manifest)
}

/// Makes the rows of a run with fewer trials those of the `wanted` one. A trial is a function of its number, so each of
/// them is a row of that run too; rows beyond its trials are refused before anything is written.
fn topped_up(folder: &Path, here: &Manifest, wanted: &Manifest, how: &Opening) -> Result<Manifest> {
    let files = row_files(folder)?;
    let whole = folder.join(Shard::WHOLE.file());
    if let Some(shard) = files.iter().find(|file| **file != whole) {
        // The shards of a run divide its trials by their number in the whole run.
        let problem = "it holds a shard's rows, and with more trials shards divide them in another way. Give \
                       attnlab merge, then --top-up with the merged folder";
        return Err(Error::Content { path: shard.clone(), problem: problem.into() });
    }
    if !here.has_builds_of(wanted) && !how.mix_builds {
        let problem = format!(
            "it holds rows of the build {}, but this is {}. Write --mix-builds too to add trials of this build \
             (rows and reports then name both), or choose another folder with --out",
            here.builds().collect::<Vec<_>>().join(", "),
            wanted.build
        );
        return Err(Error::Content { path: folder.to_path_buf(), problem });
    }
    let mut manifest = Manifest { settings: wanted.settings.clone(), ..here.clone() };
    manifest.add_builds_of(wanted);
    let frame = Frame { manifest: &manifest, cells: how.cells.clone() };
    Stored::scan(files, &frame)?;
    write(folder, manifest)
}

fn refusal(path: &Path, found: &str, by_trials: bool) -> Error {
    let more = match by_trials {
        true => ", write --top-up to keep those rows and add trials to them",
        false => "",
    };
    Error::Content {
        path: path.to_path_buf(),
        problem: format!(
            "it holds {found}. Choose another folder with --out{more}, or write --force to delete those \
             rows and start anew"
        ),
    }
}
