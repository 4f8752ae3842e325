//! Claiming of a folder: whose it is, before anything in it is deleted or written.

use super::inputs::{self, NotedInputs};
use super::owner::{busy, clear};
use super::repair::delete_leftovers;
use super::{Manifest, Opening, Owner, Shard, row_files};
use crate::run::files::content;
use attnlab_core::error::{Error, Result};
use attnlab_core::input::{Input, Inputs};
use std::path::{Path, PathBuf};

/// Takes `folder` for the run that `wanted` describes and returns its manifest, which may name more builds and inputs.
pub(super) fn claim(folder: &Path, wanted: &Manifest, how: &Opening) -> Result<(Owner, Manifest, NotedInputs)> {
    let recorder = Inputs::current().unwrap_or_default();
    let run = Run { wanted, opened: recorder.records()? };
    let (owner, manifest) = match Owner::alone(folder)? {
        Some(owner) => {
            if owner.locked {
                delete_leftovers(folder)?;
            }
            let manifest = settle(folder, &run, how)?;
            match how.shard.is_whole() {
                true => (owner, manifest),
                // Another process may have had the folder for itself in between.
                false => (owner.into_share(folder)?, run.beside(folder)?),
            }
        }
        None if how.shard.is_whole() => return Err(busy(folder)),
        // Other shards are under way: nothing may be deleted, and their manifest must be that of this run.
        None => (Owner::share(folder)?, run.beside(folder)?),
    };
    let inputs = NotedInputs::begin(folder, manifest.clone(), how.shard, recorder)?;
    Ok((owner, manifest, inputs))
}

/// Run that begins or goes on.
struct Run<'a> {
    /// Its identity.
    wanted: &'a Manifest,
    /// Inputs that were opened for it so far.
    opened: Vec<Input>,
}

impl Run<'_> {
    /// Returns the identity with the inputs.
    fn manifest(&self) -> Manifest {
        let mut manifest = self.wanted.clone();
        manifest.add_inputs(&self.opened);
        manifest
    }

    /// Returns the identity with the inputs, those of the folder hashed again.
    fn now(&self, here: &Manifest) -> Result<Manifest> {
        let mut now = self.manifest();
        now.add_inputs(&inputs::again(&here.inputs, &now.inputs)?);
        Ok(now)
    }

    /// Describes the first difference of the run of the folder from this one as it is `now`.
    fn difference(&self, here: &Manifest, now: &Manifest) -> Option<String> {
        here.difference(now).or_else(|| inputs::added(&here.inputs, &self.opened))
    }

    /// Returns the manifest of a folder that this process shares, which must be that of the run.
    fn beside(&self, folder: &Path) -> Result<Manifest> {
        let here = Manifest::read(folder)?.filter(|here| here.has_builds_of(self.wanted));
        let here = here.ok_or_else(|| busy(folder))?;
        match self.difference(&here, &self.now(&here)?) {
            None => Ok(here),
            Some(_) => Err(busy(folder)),
        }
    }
}

/// Writes the manifest of the run, or refuses a folder of another run.
fn settle(folder: &Path, run: &Run, how: &Opening) -> Result<Manifest> {
    let wanted = run.wanted;
    let mut rows = 0;
    let files = row_files(folder)?;
    for file in &files {
        rows += std::fs::metadata(file).map_err(|e| Error::io(file, e, "Check its permissions"))?.len();
    }
    let mut here = match how.force {
        // Under --force a manifest that cannot be read is no reason to stop.
        true => Manifest::read(folder).unwrap_or(None),
        false => Manifest::read(folder)?,
    };
    // Hashing takes long where the inputs are large.
    let now = here.as_ref().map(|here| run.now(here)).transpose()?;
    if let Some((here, now)) = here.as_mut().zip(now.as_ref())
        && how.shard.is_whole()
        && let Some(grown) = here.grown_to(now)
    {
        ensure_no_shards(&files)?;
        *here = grown;
    }
    let unknown = || format!("rows without {}, whose run is unknown", Manifest::FILE);
    let problem = match here.as_ref().zip(now.as_ref()) {
        Some((here, now)) => run.difference(here, now),
        None => (rows > 0).then(unknown),
    };
    if let Some(problem) = problem {
        if !how.force {
            return Err(refusal(folder, &problem));
        }
        clear(folder)?;
        return write(folder, run.manifest());
    }
    match here {
        None => write(folder, run.manifest()),
        // The run goes on under the identity that it began with.
        Some(mut here) if here.has_builds_of(wanted) => {
            here.add_inputs(&wanted.inputs);
            if how.shard.is_whole() { write(folder, here) } else { Ok(here) }
        }
        Some(_) if rows == 0 => write(folder, run.manifest()),
        Some(mut here) if how.mix_builds => {
            here.add_builds_of(wanted);
            write(folder, here)
        }
        Some(_) if how.force => {
            clear(folder)?;
            write(folder, run.manifest())
        }
        Some(here) => Err(content(folder, other_code(&here, wanted))),
    }
}

fn other_code(here: &Manifest, wanted: &Manifest) -> String {
    let builds = here.builds().collect::<Vec<_>>().join(", ");
    let found = match here.code().zip(wanted.code()) {
        Some((before, now)) if before != now => {
            format!("it holds rows of other code of {} (hash {before}, now {now}): its functions were changed", here.id)
        }
        _ => format!("it holds rows of the build {builds}, but this is {}", wanted.build),
    };
    format!(
        "{found}. Different code may compute different numbers: choose another folder with --out, write --mix-builds to go \
         on here (rows and reports then name every build), or write --force to delete those rows and start anew"
    )
}

fn write(folder: &Path, manifest: Manifest) -> Result<Manifest> {
    inputs::write(&folder.join(Manifest::FILE), &manifest)?;
    Ok(manifest)
}

/// Refuses rows of shards, which divide the trials of a run by their numbers in the whole run.
fn ensure_no_shards(files: &[PathBuf]) -> Result<()> {
    let whole = Shard::WHOLE.file();
    match files.iter().find(|file| file.file_name().is_none_or(|name| name != whole.as_str())) {
        None => Ok(()),
        Some(shard) => {
            let problem = "it holds a shard of the run with fewer trials, and with more of them shards divide them in \
                           another way. Give attnlab merge, and then the larger number in the merged folder";
            Err(content(shard, problem))
        }
    }
}

pub(super) fn refusal(path: &Path, contents: &str) -> Error {
    let way_out = "Choose another folder with --out, or write --force to delete those rows and start anew";
    content(path, format!("it holds {contents}. {way_out}"))
}
