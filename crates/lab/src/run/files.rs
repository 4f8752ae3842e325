//! Result files, which are overwritten only on request and never written in part.

use super::store::{LONGEST, Manifest, Repair};
use attnlab_core::error::{Error, Result};
use attnlab_core::input;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Destination of the contents of a file.
pub type Sink = dyn Write + Send;

/// Temporary files that this process is writing.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(vec![]);

fn temporary_files() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is in no bad state after a panic.
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns an error about the content of a file or folder.
pub fn content(path: impl Into<PathBuf>, problem: impl std::fmt::Display) -> Error {
    Error::Content { path: path.into(), problem: problem.to_string() }
}

/// Deletes the temporary files of this process, which is about to end.
pub(crate) fn abandon() {
    for path in temporary_files().iter() {
        // What cannot be deleted stays; `attnlab repair` finds it.
        let _ = fs::remove_file(path);
    }
}

/// Refuses a path that exists, unless `force`, and always a file that a run keeps beside its rows. It is called before
/// long work begins.
///
/// # Errors
/// Names the file and how to continue.
pub fn ensure_free(path: &Path, force: bool) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if is_of_run(&name) && path.exists() {
        return Err(content(path, "it belongs to a run and is left as it is. Choose another file with --out"));
    }
    let refused = |path: &Path, kind: io::ErrorKind, advice: &str| Err(Error::io(path, kind.into(), advice));
    if path.is_dir() {
        return refused(path, io::ErrorKind::IsADirectory, "Write the name of a file");
    }
    if !force && path.exists() {
        return refused(path, io::ErrorKind::AlreadyExists, "Write --force to replace it, or another name");
    }
    let folder = folder_of(path);
    if folder.is_dir() { Ok(()) } else { refused(folder, io::ErrorKind::NotFound, "Create this folder first") }
}

/// Returns `true` for the name of a file that cannot be made again: rows, those set aside, and whose they are.
pub(super) fn is_of_run(name: &str) -> bool {
    let kind = |prefix, suffix| name.starts_with(prefix) && name.ends_with(suffix);
    let noted = [("rows", ".jsonl"), ("inputs-", ".json"), ("made-by", ".json")];
    [Manifest::FILE, Repair::ASIDE].contains(&name) || noted.into_iter().any(|(prefix, suffix)| kind(prefix, suffix))
}

/// Writes a new file in full or not at all, by [`replace`].
///
/// # Errors
/// As [`ensure_free`], and when the disk is full or the folder cannot be written.
pub fn write_whole(path: &Path, force: bool, write: impl FnOnce(&mut Sink) -> io::Result<()>) -> Result<()> {
    ensure_free(path, force)?;
    replace(path, write).map_err(|e| Error::io(path, e, "Nothing was changed"))
}

/// Writes a temporary file beside `path` and renames it at the end: no reader sees a part of it, and a
/// kill or a full disk leaves the old file unchanged.
///
/// # Errors
/// The error of the system.
pub fn replace(path: &Path, write: impl FnOnce(&mut Sink) -> io::Result<()>) -> io::Result<()> {
    let temporary = temporary_beside(path);
    temporary_files().push(temporary.clone());
    let fill = || {
        let mut buffered = BufWriter::new(File::create(&temporary)?);
        write(&mut buffered)?;
        buffered.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    };
    let renamed = fill().and_then(|()| fs::rename(&temporary, path));
    if renamed.is_err() {
        // Best effort: the first error is the one that is returned.
        let _ = fs::remove_file(&temporary);
    }
    temporary_files().retain(|file| *file != temporary);
    renamed
}

/// Replaces a file as [`replace`] does by contents whose making has errors of its own; `advice` ends the message about an
/// error of the system.
///
/// # Errors
/// Those of `write`, and the error of the system.
pub fn replace_by(path: &Path, advice: &str, write: impl FnOnce(&mut Sink) -> Result<()>) -> Result<()> {
    let mut failed = None;
    let replaced = replace(path, |to| {
        write(to).map_err(|e| {
            failed = Some(e);
            io::Error::other("the contents could not be made")
        })
    });
    match failed {
        Some(error) => Err(error),
        None => replaced.map_err(|e| Error::io(path, e, advice)),
    }
}

/// Writes two files side by side, each in full or not at all: nothing is replaced unless both can be made.
///
/// # Errors
/// As [`replace_by`].
pub fn write_together(paths: [&Path; 2], write: impl FnOnce([&mut Sink; 2]) -> Result<()>) -> Result<()> {
    let advice = "Make room, or choose a folder that you may write, and give the same command again";
    replace_by(paths[0], advice, |first| replace_by(paths[1], advice, |second| write([first, second])))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Returns a path beside `path` that no other process uses, for the temporary file that replaces `path`.
pub(crate) fn temporary_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // On a file system that several machines share, two processes may have the same number.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = now.map_or(0, |time| time.subsec_nanos());
    folder_of(path).join(format!(".{name}.{}-{nanos}.part", std::process::id()))
}

/// Lists the files of a folder whose names `wanted` accepts, in the order of their paths.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn named(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let mut paths = listed(folder, "Give the folder that holds the rows")?;
    paths.retain(|path| wanted(&path.file_name().unwrap_or_default().to_string_lossy()));
    Ok(paths)
}

/// Lists the files and folders in a folder, in the order of their paths; `advice` ends the message where it cannot be read.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn listed(folder: &Path, advice: &str) -> Result<Vec<PathBuf>> {
    let paths = |entries: fs::ReadDir| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    let mut paths = fs::read_dir(folder).and_then(paths).map_err(|e| Error::io(folder, e, advice))?;
    paths.sort();
    Ok(paths)
}

/// Reads a JSON list; none where there is no file. `problem` describes other contents.
///
/// # Errors
/// A file that cannot be read, or holds something else.
pub(super) fn read_list<T: DeserializeOwned>(
    path: &Path,
    problem: impl FnOnce(serde_json::Error) -> String,
) -> Result<Vec<T>> {
    match File::open(path).and_then(|file| input::text_of(file, LONGEST)) {
        Ok(text) => serde_json::from_str(&text).map_err(|e| content(path, problem(e))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        Err(e) => Err(Error::io(path, e, "Check its permissions")),
    }
}

/// Returns the name of the file that a temporary file of [`replace`], which a kill leaves behind, was to replace; None for
/// any other file.
pub(crate) fn replaced_by(name: &str) -> Option<&str> {
    let inner = name.strip_prefix('.')?.strip_suffix(".part")?;
    let (name, (process, nanos)) =
        inner.rsplit_once('.').and_then(|(name, rest)| Some((name, rest.split_once('-')?)))?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (!name.is_empty() && digits(process) && digits(nanos)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        write_whole(&path, false, |w| w.write_all(b"one")).unwrap();
        let error = write_whole(&path, false, |w| w.write_all(b"two")).unwrap_err();
        assert!(error.to_string().contains("--force"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"one");
        // A write that fails half-way leaves the old content.
        let full = |w: &mut Sink| {
            w.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        assert!(write_whole(&path, true, full).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        write_whole(&path, true, |w| w.write_all(b"two")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let temporary = temporary_beside(&path);
        assert_eq!(replaced_by(&temporary.file_name().unwrap().to_string_lossy()), Some("rows.csv"));
        assert_eq!(replaced_by("rows.csv"), None);
        // With `force` too, the files of a run stay.
        for name in
            ["rows.jsonl", "rows-0-of-2.jsonl", "run.json", "made-by.json", "inputs-0-of-2.json", "set-aside.jsonl"]
        {
            let path = folder.path().join(name);
            fs::write(&path, "kept").unwrap();
            let error = write_whole(&path, true, |w| w.write_all(b"new")).unwrap_err();
            assert!(error.to_string().contains("belongs to a run"), "{error}");
            assert_eq!(fs::read(&path).unwrap(), b"kept");
        }
    }
}
