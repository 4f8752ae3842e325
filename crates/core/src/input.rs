//! Input files: the one door through which readers open them, so that a run knows every file that it was computed from.
//!
//! [`open`], [`read`], [`read_settings`], [`is_file`] and [`note`] add a path to the [`Inputs`] of the run under way.
//! [`Inputs::records`] then says what is at each path: the hash of a file, or that there is none. A file that a reader
//! looks for and does not find is an input too, because its appearance would change what is read. Of a folder, the files
//! that a reader chooses from it are the inputs; it must open or note each of them before the first trial.
//!
//! A path is recorded when it is opened, with length and time of change. Its bytes are hashed when a run asks, all of them,
//! whatever their size and time of change. What changes in between, or before [`Inputs::ensure_unchanged`] at the end of
//! the run, is refused.
//!
//! ```
//! use attnlab_core::input::{self, Inputs};
//! # let folder = std::env::temp_dir().join(format!("attnlab-input-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let (text, absent) = (folder.join("abc.txt"), folder.join("labels.npy"));
//! # std::fs::write(&text, "abc")?;
//! let inputs = Inputs::default();
//! inputs.within(|| {
//!     assert_eq!(input::read("text", &text)?, b"abc");
//!     assert!(!input::is_file("labels", &absent));
//!     Ok::<(), std::io::Error>(())
//! })?;
//! let records = inputs.records()?;
//! // The first test vector of FIPS 180-4.
//! assert!(records[0].content.starts_with("sha256:ba7816bf8f01cfea"));
//! assert_eq!((records[1].kind.as_str(), records[1].content.as_str()), ("labels", "absent"));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::error::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

/// Kind of files whose values are settings. A run names every setting by its value, so that one run may be begun with such
/// a file and continued without it.
pub const SETTINGS: &str = "settings";

/// Largest file of settings (bytes), a list of some 100 000 numbers. Its values take a hundred times as much memory.
pub const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// Content of a path at which nothing is.
pub const ABSENT: &str = "absent";
/// Content of a path at which a folder is.
const FOLDER: &str = "folder";
/// Content of a pipe, socket or device: reading it for a hash would take its bytes from the reader.
const STREAM: &str = "stream";

/// Length (bytes) of the pieces of a file that are hashed in parallel.
const PIECE_BYTES: u64 = 8 << 20;

/// An input of a run: what was found at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path as it was opened.
    pub path: String,
    /// Purpose of the file, such as "labels" or "tokenizer": a word before "file" in a message.
    pub kind: String,
    /// `sha256:HEX` of a file of at most 8 MiB; of a longer one `sha256-tree:HEX`, SHA-256 of the SHA-256 of its pieces of
    /// 8 MiB; otherwise `absent`, `folder` or `stream`.
    pub content: String,
}

impl Input {
    /// Finds out what is at a path now.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn at_path(kind: &str, path: &str) -> Result<Self> {
        let advice = "Check its permissions; a run records its input files";
        let content = content(Path::new(path)).map_err(|e| Error::io(Path::new(path), e, advice))?;
        Ok(Input { path: path.to_string(), kind: kind.to_string(), content })
    }

    /// Returns the path in one spelling: from the root, without `.`, `..` and links to folders.
    pub fn location(&self) -> PathBuf {
        location(Path::new(&self.path))
    }

    /// Describes the change from this input to what is at its path now; None for the same bytes.
    pub fn difference(&self, now: &Input) -> Option<String> {
        if self.content == now.content && self.content != STREAM {
            return None;
        }
        let Input { path, .. } = self;
        Some(match (self.content.as_str(), now.content.as_str()) {
            (ABSENT, _) => format!("{path} was not there and is now"),
            (_, ABSENT) => format!("{path} is no longer there"),
            (STREAM, _) | (_, STREAM) => format!("{path} is a stream, whose bytes cannot be compared. Give a file"),
            (before, now) => format!("{path} has changed since ({} -> {})", shortened(before), shortened(now)),
        })
    }
}

/// Returns a path in one spelling: from the root, without `.`, `..` and links to folders; the file need not exist.
pub fn location(path: &Path) -> PathBuf {
    let Some(name) = path.file_name() else { return fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::canonicalize(folder).unwrap_or_else(|_| location(folder)).join(name)
}

/// Shortens a hash to what tells two apart at sight.
fn shortened(content: &str) -> String {
    match content.split_once(':') {
        Some((algorithm, hash)) => format!("{algorithm} {}..", hash.get(..8).unwrap_or(hash)),
        None => content.to_string(),
    }
}

/// The inputs of a run under way. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct Inputs(Arc<Mutex<BTreeMap<String, Entry>>>);

/// What is known of a path.
#[derive(Clone, Debug)]
struct Entry {
    kind: String,
    /// Stamp when the path was noted.
    stamp: Stamp,
    /// None before the first request.
    content: Option<String>,
}

/// Length (bytes) and time of change of a file; None where there is none.
type Stamp = Option<(u64, SystemTime)>;

fn stamp(path: &str) -> Stamp {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((metadata.len(), metadata.modified().ok()?))
}

thread_local! {
    /// Inputs of the run that this thread works for.
    static OF_THREAD: RefCell<Option<Inputs>> = const { RefCell::new(None) };
}

/// Inputs of the only run of this process.
static OF_PROCESS: OnceLock<Inputs> = OnceLock::new();

/// Puts back the inputs of a thread, also after a panic.
struct Restore(Option<Inputs>);

impl Drop for Restore {
    fn drop(&mut self) {
        let before = self.0.take();
        OF_THREAD.with(|inputs| inputs.replace(before));
    }
}

impl Inputs {
    /// Records the inputs of every thread of this process from now on: for a program whose process is one run. The threads
    /// of a pool, which belong to no run in particular, are then included.
    pub fn record_process() {
        OF_PROCESS.get_or_init(Inputs::default);
    }

    /// Returns the inputs to which this thread adds: those of [`within`](Inputs::within), or those of the process; None
    /// where nothing is recorded.
    pub fn current() -> Option<Inputs> {
        OF_THREAD.with(|inputs| inputs.borrow().clone()).or_else(|| OF_PROCESS.get().cloned())
    }

    /// Does some work whose inputs are added to these. Threads that the work starts must do the same.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = OF_THREAD.with(|inputs| inputs.replace(Some(self.clone())));
        let _restore = Restore(before);
        work()
    }

    /// Returns the number of paths.
    pub fn count(&self) -> usize {
        self.entries().len()
    }

    /// Returns every input with its content, by path. A file is hashed once.
    ///
    /// # Errors
    /// A file that cannot be read, or that has changed since it was opened.
    pub fn records(&self) -> Result<Vec<Input>> {
        let record = |(path, entry): (String, Entry)| match entry.content {
            Some(content) => Ok(Input { path, kind: entry.kind, content }),
            None => {
                let input = Input::at_path(&entry.kind, &path)?;
                let same = entry.kind == SETTINGS || stamp(&path) == entry.stamp;
                if same { Ok(input) } else { Err(changed_during(&path)) }
            }
        };
        let records = self.known().into_par_iter().map(record).collect::<Result<Vec<_>>>()?;
        let mut entries = self.entries();
        for input in &records {
            if let Some(entry) = entries.get_mut(&input.path) {
                entry.content = Some(input.content.clone());
            }
        }
        Ok(records)
    }

    /// Refuses inputs other than settings whose content is no longer that of the records. Files with the length and time
    /// of change that they had when they were opened are not read again.
    ///
    /// # Errors
    /// Names the file.
    pub fn ensure_unchanged(&self) -> Result<()> {
        self.known().into_iter().try_for_each(|(path, entry)| {
            if entry.kind == SETTINGS || stamp(&path) == entry.stamp {
                return Ok(());
            }
            let now = Input::at_path(&entry.kind, &path)?.content;
            if entry.content.is_some_and(|content| content == now) { Ok(()) } else { Err(changed_during(&path)) }
        })
    }

    fn known(&self) -> Vec<(String, Entry)> {
        self.entries().iter().map(|(path, entry)| (path.clone(), entry.clone())).collect()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        // Every change is one insertion, so that a panic elsewhere leaves the map usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn changed_during(path: &str) -> Error {
    let problem = "must not change while a run reads it; its rows would be of either content. Give the command again, with \
                   --force where the folder has rows";
    Error::Content { path: PathBuf::from(path), problem: problem.into() }
}

/// Adds a path to the inputs of the run under way: a file that will be read, or that is looked for.
pub fn note(kind: &str, path: &Path) {
    if let Some(inputs) = Inputs::current() {
        let path = path.display().to_string();
        let entry = || Entry { kind: kind.to_string(), stamp: stamp(&path), content: None };
        inputs.entries().entry(path.clone()).or_insert_with(entry);
    }
}

/// Opens an input file.
///
/// # Errors
/// As [`File::open`].
pub fn open(kind: &str, path: &Path) -> io::Result<File> {
    note(kind, path);
    File::open(path)
}

/// Reads an input file whole.
///
/// # Errors
/// As [`fs::read`].
pub fn read(kind: &str, path: &Path) -> io::Result<Vec<u8>> {
    note(kind, path);
    fs::read(path)
}

/// Reads a file of settings, UTF-8 text of at most [`MAX_SETTINGS_BYTES`].
///
/// # Errors
/// As [`fs::read_to_string`] and [`text_of`].
pub fn read_settings(path: &Path) -> io::Result<String> {
    text_of(open(SETTINGS, path)?, MAX_SETTINGS_BYTES)
}

/// Reads UTF-8 text of at most `most` bytes.
///
/// # Errors
/// [`ErrorKind::FileTooLarge`] for a longer text, of which no more is read; [`ErrorKind::InvalidData`] for other bytes.
///
/// ```
/// use attnlab_core::input::text_of;
/// assert_eq!(text_of(&b"tokens = 200"[..], 12)?, "tokens = 200");
/// let endless = text_of(std::io::repeat(b' '), 1 << 20).unwrap_err().to_string();
/// assert_eq!(endless, "must be at most 1048576 bytes long");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn text_of(reader: impl Read, most: u64) -> io::Result<String> {
    let mut bytes = vec![];
    reader.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("must be at most {most} bytes long")));
    }
    String::from_utf8(bytes).map_err(|e| io::Error::new(ErrorKind::InvalidData, format!("must be UTF-8 text ({e})")))
}

/// Returns `true` if there is a file at a path, which is an input either way.
pub fn is_file(kind: &str, path: &Path) -> bool {
    note(kind, path);
    path.is_file()
}

/// Returns the content of a path as [`Input::content`] writes it.
fn content(path: &Path) -> io::Result<String> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(ABSENT.into()),
        Err(e) => return Err(e),
    };
    if metadata.is_dir() {
        return Ok(FOLDER.into());
    }
    if !metadata.is_file() {
        return Ok(STREAM.into());
    }
    let length = metadata.len();
    if length <= PIECE_BYTES {
        return Ok(format!("sha256:{}", hexadecimal(&Sha256::digest(fs::read(path)?))));
    }
    let piece = |i: u64| -> io::Result<[u8; 32]> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(i * PIECE_BYTES))?;
        let mut bytes = vec![0; PIECE_BYTES.min(length - i * PIECE_BYTES) as usize];
        file.read_exact(&mut bytes)?;
        Ok(Sha256::digest(&bytes).into())
    };
    let pieces = (0..length.div_ceil(PIECE_BYTES)).into_par_iter().map(piece).collect::<io::Result<Vec<_>>>()?;
    Ok(format!("sha256-tree:{}", hexadecimal(&Sha256::digest(pieces.concat()))))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_does_not_depend_on_the_spelling() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let name = folder.file_name().unwrap();
        for file in ["there.txt", "absent.txt", "no-folder/absent.txt"] {
            let plain = folder.join(file);
            for spelled in [folder.join(".").join(file), folder.join("..").join(name).join(file)] {
                assert_eq!(location(&spelled), location(&plain), "{}", spelled.display());
            }
        }
        assert_eq!(location(Path::new("./a.txt")), location(Path::new("a.txt")));
        assert_ne!(location(Path::new("a.txt")), location(Path::new("b.txt")));
    }

    /// Lengths differ, so that the test does not depend on the resolution of times.
    #[test]
    fn a_file_that_changes_during_a_run_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text.txt");
        let refused = |result: Result<()>| {
            let message = result.unwrap_err().to_string();
            assert!(message.contains("text.txt: must not change while a run reads it"), "{message}");
        };
        fs::write(&path, "abc").unwrap();
        let inputs = Inputs::default();
        inputs.within(|| note("text", &path));
        fs::write(&path, "abcd").unwrap();
        refused(inputs.records().map(|_| ()));

        let inputs = Inputs::default();
        inputs.within(|| note("text", &path));
        inputs.records().unwrap();
        inputs.ensure_unchanged().unwrap();
        fs::write(&path, "abc").unwrap();
        refused(inputs.ensure_unchanged());
        // The same bytes at another time are the same input.
        fs::write(&path, "abcd").unwrap();
        inputs.ensure_unchanged().unwrap();
        fs::remove_file(&path).unwrap();
        refused(inputs.ensure_unchanged());
    }
}
