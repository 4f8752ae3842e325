//! Owner of a folder: the lock under which rows are written and deleted.

use super::{Manifest, SUMMARY};
use crate::run::Origin;
use crate::run::files::content;
use attnlab_core::error::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::ops::Deref;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time to wait for another process that looks at the folder before it begins.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// The right to write into a folder, until it is dropped or the process ends.
///
/// One process owns a folder, or several processes share it that compute shards of one run. The lock is one of
/// the system (`flock` on Unix): it ends with its process, so a kill leaves nothing behind. It holds between
/// machines on NFS (version 4, or 3 with its lock service), SMB, GPFS, CephFS, and on Lustre that is mounted
/// with `flock`; it does not where locks are local to each machine (NFS with `nolock` or `local_lock`, Lustre
/// with `localflock`). Where the file system refuses locks, [`Owner::unprotected`] says so.
#[derive(Debug)]
pub struct Owner {
    file: LockFile,
    /// Flag: the lock holds.
    pub(super) locked: bool,
}

/// An open file whose lock ends when this is dropped.
///
/// Closing the file is not enough: a lock of the system lasts until every copy of the open file is closed, and a process
/// that another thread is just starting has a copy of each until its program begins.
#[derive(Debug)]
pub(super) struct LockFile(pub(super) File);

impl Deref for LockFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Where this fails, the lock ends with the last copy of the file.
        let _ = self.0.unlock();
    }
}

impl Owner {
    /// The lock file in a folder. It stays there, empty or with the name of its last owner.
    pub const FILE: &'static str = "run.lock";

    /// Takes the folder for this process alone, or returns None where another process writes into it.
    ///
    /// # Errors
    /// When the lock file cannot be made.
    pub fn alone(folder: &Path) -> Result<Option<Owner>> {
        let mut owner = Self::take(folder, File::try_lock, Duration::ZERO)?;
        if let Some(owner) = owner.as_mut().filter(|owner| owner.locked) {
            // Only for the message of another process.
            let _ = sign(&mut owner.file.0);
        }
        Ok(owner)
    }

    /// Takes a share of the folder, beside processes with shares of their own. Waits for a process that has just
    /// begun, at most five seconds.
    ///
    /// # Errors
    /// When another process has the folder for itself, or the lock file cannot be made.
    pub fn share(folder: &Path) -> Result<Owner> {
        Self::take(folder, File::try_lock_shared, PATIENCE)?.ok_or_else(|| busy(folder))
    }

    /// Takes a lock of the folder, or returns None where other processes hold theirs for longer than `patience`.
    fn take(folder: &Path, lock: fn(&File) -> Result<(), TryLockError>, patience: Duration) -> Result<Option<Owner>> {
        let begun = Instant::now();
        loop {
            let file = open(folder)?;
            match lock(&file) {
                Ok(()) => {
                    // A run that failed may have deleted it in between: whoever comes next locks another one.
                    let locked = is_in_place(&file, folder);
                    if locked || begun.elapsed() >= PATIENCE {
                        return Ok(Some(Owner { file, locked }));
                    }
                }
                Err(TryLockError::WouldBlock) if begun.elapsed() < patience => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(_)) => return Ok(Some(Owner { file, locked: false })),
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Turns the folder of this process alone into one that it shares.
    ///
    /// # Errors
    /// When another process takes the folder for itself meanwhile.
    pub fn into_share(self, folder: &Path) -> Result<Owner> {
        if !self.locked {
            return Ok(self);
        }
        drop(self.file);
        Owner::share(folder)
    }

    /// Returns a warning if no lock holds.
    pub fn unprotected(&self, folder: &Path) -> Option<String> {
        (!self.locked).then(|| {
            format!(
                "{}: no lock holds here: the file system has none, or {} is deleted again and again. See to it that no other \
                 process writes into this folder",
                folder.display(),
                Owner::FILE
            )
        })
    }
}

/// Returns the error for a folder that another process writes into.
pub(super) fn busy(folder: &Path) -> Error {
    let mut who = String::new();
    if let Ok(file) = File::open(folder.join(Owner::FILE)) {
        // A name is a help and not needed.
        let _ = file.take(200).read_to_string(&mut who);
    }
    let who = match who.trim() {
        "" => String::new(),
        who => format!(" ({who})"),
    };
    let way_out = "wait until it has ended, or choose another folder with --out";
    content(folder, format!("another process is writing into this folder{who}: {way_out}"))
}

fn open(folder: &Path) -> Result<LockFile> {
    let path = folder.join(Owner::FILE);
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
    file.map(LockFile).map_err(|e| Error::io(&path, e, "Choose a folder that you may write with --out"))
}

/// Returns `true` if the lock file in the folder is this one.
#[cfg(unix)]
fn is_in_place(file: &File, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |file: std::fs::Metadata| (file.dev(), file.ino());
    let (here, there) = (file.metadata().map(place), std::fs::metadata(folder.join(Owner::FILE)).map(place));
    here.is_ok_and(|here| there.is_ok_and(|there| here == there))
}

/// Returns `true`: other systems do not delete a file that is open.
#[cfg(not(unix))]
fn is_in_place(_: &File, _: &Path) -> bool {
    true
}

/// Writes process and machine into the lock file.
fn sign(file: &mut File) -> std::io::Result<()> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let on = match host.trim() {
        "" => String::new(),
        host => format!(" on {host}"),
    };
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {}{on}", std::process::id())
}

/// Deletes the run in `folder`, which this process owns: its rows and checkpoints, and what names its machines and
/// verdicts. Pictures stay until they are drawn again.
///
/// # Errors
/// A file that cannot be deleted.
pub(super) fn clear(folder: &Path) -> Result<()> {
    let deleted =
        |path: &Path, done: std::io::Result<()>| done.map_err(|e| Error::io(path, e, "It could not be replaced"));
    // The manifest goes last: a folder that is half deleted still says whose rows it holds.
    let summary = SUMMARY.map(|name| folder.join(name)).into_iter().filter(|file| file.exists());
    let beside = [super::inputs::files(folder)?, Origin::files(folder)?, summary.collect()].concat();
    for file in super::row_files(folder)?.into_iter().chain(beside) {
        deleted(&file, std::fs::remove_file(&file))?;
    }
    let checkpoints = folder.join(super::CHECKPOINTS);
    if checkpoints.is_dir() {
        deleted(&checkpoints, std::fs::remove_dir_all(&checkpoints))?;
    }
    let manifest = folder.join(Manifest::FILE);
    if manifest.exists() {
        deleted(&manifest, std::fs::remove_file(&manifest))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_owns_a_folder_or_several_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let alone = Owner::alone(path).unwrap().unwrap();
        assert!(Owner::alone(path).unwrap().is_none());
        assert!(busy(path).to_string().contains(&format!("process {}", std::process::id())));
        let first = alone.into_share(path).unwrap();
        let second = Owner::share(path).unwrap();
        assert!(Owner::alone(path).unwrap().is_none());
        drop((first, second));
        assert!(Owner::alone(path).unwrap().is_some());
    }

    /// Such a copy is what a process has that another thread is starting.
    #[test]
    fn a_lock_ends_although_a_copy_of_its_file_is_open() {
        let folder = tempfile::tempdir().unwrap();
        for take in [|folder: &Path| Owner::alone(folder).map(Option::unwrap), Owner::share] {
            let owner = take(folder.path()).unwrap();
            let copy = owner.file.try_clone().unwrap();
            assert!(Owner::alone(folder.path()).unwrap().is_none());
            drop(owner);
            assert!(Owner::alone(folder.path()).unwrap().is_some());
            drop(copy);
        }
    }

    /// A lock on a file that was deleted, as a run does that fails before its first row, is none.
    #[test]
    #[cfg(unix)]
    fn a_deleted_lock_file_is_not_owned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let deleted = open(path).unwrap();
        assert!(is_in_place(&deleted, path));
        std::fs::remove_file(path.join(Owner::FILE)).unwrap();
        assert!(!is_in_place(&deleted, path));
        let owner = Owner::alone(path).unwrap().unwrap();
        assert!(is_in_place(&owner.file, path) && !is_in_place(&deleted, path));
        assert!(Owner::alone(path).unwrap().is_none());
    }
}
