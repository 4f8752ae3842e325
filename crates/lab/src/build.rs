//! Build: which code computes the rows of this process.
//!
//! Rows of different code must not be taken for one run, so manifests and rows carry the build. A program that
//! knows what it was made from says so with [`state`]; the build of any other is told by a hash of its
//! executable, which changes with every change of its code.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Identity of the code of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// Version of attnlab.
    pub version: &'static str,
    /// Hash of the source files, or of the executable, in hexadecimal digits.
    pub code: String,
    /// System that it was built for, such as `x86_64-unknown-linux-gnu`.
    pub target: String,
    /// Features of the build, with commas; may be empty.
    pub features: String,
    /// Commit of the sources; empty where they were changed since, or it is not known. It is no part of the
    /// identity, which the hash is.
    pub commit: String,
}

impl fmt::Display for Build {
    /// Writes `0.2.0+3f2a9c1b7d04 x86_64-unknown-linux-gnu (gpu,train)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{} {}", self.version, self.code, self.target)?;
        if self.features.is_empty() { Ok(()) } else { write!(f, " ({})", self.features) }
    }
}

static STATED: OnceLock<Build> = OnceLock::new();

/// States the build of this process. The first statement counts.
pub fn state(build: Build) {
    // A second statement is of the same program and says the same.
    let _ = STATED.set(build);
}

/// Returns the build of this process: the one that was stated, otherwise the hash of its executable.
pub fn here() -> &'static Build {
    STATED.get().unwrap_or_else(|| &of_executable().0)
}

/// Returns a warning if the build of this process is unknown, at the first call alone.
pub(crate) fn unknown() -> Option<&'static str> {
    static SAID: AtomicBool = AtomicBool::new(false);
    if STATED.get().is_some() {
        return None;
    }
    let warning = of_executable().1.as_deref()?;
    (!SAID.swap(true, Ordering::Relaxed)).then_some(warning)
}

/// Returns the build that the executable of this process tells, with a warning if that cannot be read.
fn of_executable() -> &'static (Build, Option<String>) {
    static OF_EXECUTABLE: OnceLock<(Build, Option<String>)> = OnceLock::new();
    OF_EXECUTABLE.get_or_init(|| of_hash(std::env::current_exe().and_then(File::open).and_then(hash_of)))
}

fn of_hash(hash: io::Result<u64>) -> (Build, Option<String>) {
    let build = |code| Build {
        version: env!("CARGO_PKG_VERSION"),
        code,
        target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        features: String::new(),
        commit: String::new(),
    };
    match hash {
        Ok(hash) => (build(format!("{hash:016x}")), None),
        // The version alone is left to tell builds apart.
        Err(e) => {
            let build = build("unknown".into());
            let warning = format!(
                "build = {build}: the executable of this program cannot be read ({e}), so that rows of changed code would be \
                 taken for rows of this one. Let the executable be readable, and in its place while it runs; after a change \
                 of the code begin anew with --force"
            );
            (build, Some(warning))
        }
    }
}

/// Computes a 64-bit hash of a file: FNV-1a over words of eight bytes, then over the rest, then the length.
fn hash_of(file: File) -> io::Result<u64> {
    let (mut hash, mut length) = (0xcbf2_9ce4_8422_2325_u64, 0_u64);
    let mut mix = |word: u64| {
        hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 29;
    };
    const BLOCK: u64 = 1 << 16;
    let mut block = vec![];
    loop {
        block.clear();
        let filled = (&file).take(BLOCK).read_to_end(&mut block)? as u64;
        length += filled;
        let (words, rest) = block.as_chunks::<8>();
        words.iter().for_each(|word| mix(u64::from_le_bytes(*word)));
        rest.iter().for_each(|byte| mix(u64::from(*byte)));
        if filled < BLOCK {
            mix(length);
            return Ok(hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_changes_the_hash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let hash = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            hash_of(File::open(&path).unwrap()).unwrap()
        };
        let mut bytes = vec![7; (1 << 16) + 13];
        let first = hash(&bytes);
        assert_eq!(first, hash(&bytes));
        for place in [0, 70, 1 << 16, (1 << 16) + 12] {
            bytes[place] ^= 1;
            assert_ne!(first, hash(&bytes), "{place}");
            bytes[place] ^= 1;
        }
        bytes.push(0);
        assert_ne!(first, hash(&bytes));
    }

    #[test]
    fn an_executable_that_cannot_be_read_is_reported() {
        let (build, warning) = of_hash(Err(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(build.code, "unknown");
        let warning = warning.unwrap();
        assert!(warning.contains("permission denied") && warning.contains("--force"), "{warning}");
        let (build, warning) = of_hash(Ok(0x2a));
        assert_eq!((build.code.as_str(), warning), ("000000000000002a", None));
        // That of this test can be read.
        assert_eq!(unknown(), None);
    }

    #[test]
    fn a_build_is_one_line() {
        let build = Build {
            version: "0.2.0",
            code: "3f2a".into(),
            target: "x86_64-linux".into(),
            features: "gpu,train".into(),
            commit: String::new(),
        };
        assert_eq!(build.to_string(), "0.2.0+3f2a x86_64-linux (gpu,train)");
        assert!(here().to_string().starts_with(env!("CARGO_PKG_VERSION")));
    }
}
