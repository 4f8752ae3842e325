//! States the build in the program: a hash of the sources, the commit where there is one, target and features.
//!
//! Rows carry it, so that those of different code are not taken for one run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let mut files = vec![];
    for part in ["Cargo.lock", "Cargo.toml", "src", "crates", "python/src"] {
        let path = root.join(part);
        if path.exists() {
            println!("cargo:rerun-if-changed={}", path.display());
            collect(&path, &mut files);
        }
    }
    files.sort();
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for path in &files {
        // Names and contents; the place of the checkout does not count.
        let name = path.strip_prefix(&root).unwrap_or(path);
        hash.add(name.to_string_lossy().as_bytes());
        hash.add(&fs::read(path).unwrap_or_default());
    }
    println!("cargo:rustc-env=ATTNLAB_CODE={:012x}", hash.0 >> 16);
    println!("cargo:rustc-env=ATTNLAB_TARGET={}", variable("TARGET"));
    let mut features: Vec<String> = std::env::vars()
        .filter_map(|(name, _)| name.strip_prefix("CARGO_FEATURE_").map(str::to_lowercase))
        .filter(|name| name != "default")
        .map(|name| name.replace('_', "-"))
        .collect();
    // The environment has no order, and the same features are the same build.
    features.sort();
    println!("cargo:rustc-env=ATTNLAB_FEATURES={}", features.join(","));
    println!("cargo:rustc-env=ATTNLAB_COMMIT={}", commit(&root));
}

/// Returns the commit of the checkout; empty where it is none or has changes.
fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(root).output().ok()?;
        let text = String::from_utf8(done.stdout).ok()?;
        done.status.success().then(|| text.trim().to_string())
    };
    // A commit of these sources, not of a folder that they were copied into.
    let top = git(&["rev-parse", "--show-toplevel"]).map(PathBuf::from);
    if top.and_then(|top| top.canonicalize().ok()) != root.canonicalize().ok() {
        return String::new();
    }
    // A commit on a branch leaves HEAD as it is, and a checkout may have no log of it.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--path-format=absolute", "--git-path", file]);
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    match git(&["status", "--porcelain", "--", "src", "crates", "python/src", "Cargo.lock", "Cargo.toml"]) {
        Some(changes) if changes.is_empty() => git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Lists the files at or below `path` that the program is made of.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_dir() {
        if ["target", "tests", "benches"].contains(&&*name) {
            return;
        }
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            collect(&entry.path(), files);
        }
    } else if !name.starts_with('.') {
        files.push(path.to_path_buf());
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// FNV-1a, with a separator after each piece.
struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
