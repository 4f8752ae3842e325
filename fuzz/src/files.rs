//! Inputs of several files, and the folder that they are written to.

use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// File system in memory, where the system has one: a disk takes a hundred times as long.
const IN_MEMORY: &str = "/dev/shm";

/// Temporary folder with the files of an input.
///
/// A line `==> NAME <==` begins a file of that name, and the newline before it belongs to the line. Only known names begin
/// files. What stands before the first such line is the first of the names.
pub struct Files(TempDir);

impl Files {
    /// Writes the files of an input; `names` are the known names.
    pub fn new(bytes: &[u8], names: &[&'static str]) -> Self {
        let folder = TempDir::new_in(IN_MEMORY).or_else(|_| TempDir::new());
        let files = Files(folder.expect("a temporary folder can be made"));
        for (name, content) in parts(bytes, names) {
            files.add(name, content);
        }
        files
    }

    /// Writes one more file.
    pub fn add(&self, name: &str, content: &[u8]) {
        let path = self.at(name);
        let written = match path.parent() {
            Some(folder) if name.contains('/') => fs::create_dir_all(folder).and_then(|()| fs::write(&path, content)),
            _ => fs::write(&path, content),
        };
        written.expect("a file in a temporary folder can be written");
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Returns the path of a file in the folder.
    pub fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Splits an input into its files.
fn parts<'a>(bytes: &'a [u8], names: &[&'static str]) -> Vec<(&'static str, &'a [u8])> {
    let mut parts = vec![(names[0], 0..0)];
    let mut place = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let next = place + line.len();
        let name = line.strip_prefix(b"==> ").and_then(|rest| rest.strip_suffix(b" <==\n"));
        let known = name.and_then(|name| names.iter().find(|known| known.as_bytes() == name));
        if let Some((_, range)) = parts.last_mut() {
            range.end = if known.is_some() { place.saturating_sub(1).max(range.start) } else { next };
        }
        if let Some(name) = known {
            parts.push((name, next..next));
        }
        place = next;
    }
    if parts.len() > 1 && parts[0].1.is_empty() {
        parts.remove(0);
    }
    parts.into_iter().map(|(name, range)| (name, &bytes[range])).collect()
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn a_heading_begins_a_file() {
        let names = ["a.json", "b.bin"];
        let parts = |text: &'static str| parts(text.as_bytes(), &names);
        assert_eq!(parts(""), [("a.json", &b""[..])]);
        assert_eq!(parts("{}\n"), [("a.json", &b"{}\n"[..])]);
        assert_eq!(parts("==> b.bin <==\n\n"), [("b.bin", &b"\n"[..])]);
        let both = parts("==> a.json <==\n{}\n\n==> b.bin <==\nx\n==> ../c <==\n");
        assert_eq!(both, [("a.json", &b"{}\n"[..]), ("b.bin", &b"x\n==> ../c <==\n"[..])]);
    }
}
