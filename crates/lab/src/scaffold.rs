//! Template of a new package with a claim, two mutants, an experiment and a test, which `attnlab new` writes.
//!
//! The files of `templates/package` are those of a package called `my-theorem`; [`scaffold`] writes them
//! with another name.

use crate::run::files;
use attnlab_core::error::{Error, Result, require};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Source of attnlab in a new package's dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// The published crate, of the same minor version as this program.
    Published,
    /// The checkout in this folder.
    Checkout(PathBuf),
}

impl Dependency {
    /// Returns the line of the manifest.
    fn line(&self) -> Result<String> {
        match self {
            Dependency::Published => Ok(format!("attnlab = \"{MINOR_VERSION}\"")),
            Dependency::Checkout(folder) => {
                Ok(format!("attnlab = {{ path = {} }}", toml::Value::from(checkout(folder)?)))
            }
        }
    }
}

/// Minor version of the published dependency.
const MINOR_VERSION: &str = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// Name of the package in the templates.
const TEMPLATE: &str = "my-theorem";

/// Placeholder for the line of the dependency.
const DEPENDENCY: &str = "@ATTNLAB@";

/// Files of the package with their templates.
const FILES: &[(&str, &str)] = &[
    // The manifest has another name, because cargo does not publish subfolders with a Cargo.toml.
    ("Cargo.toml", include_str!("../templates/package/Cargo.toml.in")),
    (".gitignore", include_str!("../templates/package/gitignore.in")),
    ("README.md", include_str!("../templates/package/README.md")),
    ("map.toml", include_str!("../templates/package/map.toml")),
    ("sheets/my_theorem.entropy_gap.md", include_str!("../templates/package/sheets/my_theorem.entropy_gap.md")),
    ("src/main.rs", include_str!("../templates/package/src/main.rs")),
    ("src/lib.rs", include_str!("../templates/package/src/lib.rs")),
    ("src/theorem.rs", include_str!("../templates/package/src/theorem.rs")),
    ("src/experiments/mod.rs", include_str!("../templates/package/src/experiments/mod.rs")),
    (
        "src/experiments/gap_over_sigma/mod.rs",
        include_str!("../templates/package/src/experiments/gap_over_sigma/mod.rs"),
    ),
    (
        "src/experiments/gap_over_sigma/settings.toml",
        include_str!("../templates/package/src/experiments/gap_over_sigma/settings.toml"),
    ),
    ("tests/room.rs", include_str!("../templates/package/tests/room.rs")),
];

/// Writes the package `name` into the new folder `into`/`name` and returns the paths of its files. The ids
/// of its claim and its experiment begin with the name, hyphens as underscores.
///
/// The folder is written in full or not at all; an existing one is refused.
///
/// # Errors
/// An invalid name of a package, a folder that exists or cannot be written, a path that is not a checkout.
///
/// ```
/// use attnlab_lab::scaffold::{Dependency, scaffold};
/// let folder = tempfile::tempdir().unwrap();
/// let files = scaffold("sharp-bound", &Dependency::Published, folder.path())?;
/// let sheet = folder.path().join("sharp-bound/sheets/sharp_bound.entropy_gap.md");
/// assert!(files.contains(&sheet));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn scaffold(name: &str, dependency: &Dependency, into: &Path) -> Result<Vec<PathBuf>> {
    validate(name)?;
    let dependency = dependency.line()?;
    let target = if into == Path::new(".") { PathBuf::from(name) } else { into.join(name) };
    if target.symlink_metadata().is_ok() {
        let exists = io::Error::from(io::ErrorKind::AlreadyExists);
        return Err(Error::io(&target, exists, "It is left as it is: choose another name"));
    }
    let advice = "Nothing is left behind: choose a folder that you may write";
    let temporary = files::temporary_beside(&target);
    fill(&temporary, name, &dependency).and_then(|()| fs::rename(&temporary, &target)).map_err(|e| {
        // Best effort: the first error is the one that is returned.
        let _ = fs::remove_dir_all(&temporary);
        Error::io(&target, e, advice)
    })?;
    Ok(FILES.iter().map(|(path, _)| target.join(renamed(path, name))).collect())
}

/// Writes the files of the package into a new folder.
fn fill(folder: &Path, name: &str, dependency: &str) -> io::Result<()> {
    fs::create_dir(folder)?;
    for (path, template) in FILES {
        let path = folder.join(renamed(path, name));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, renamed(template, name).replace(DEPENDENCY, dependency))?;
    }
    Ok(())
}

/// Replaces the name of the package in the text or the path of a template.
fn renamed(text: &str, name: &str) -> String {
    let library = |name: &str| name.replace('-', "_");
    text.replace(TEMPLATE, name).replace(&library(TEMPLATE), &library(name))
}

/// Largest length of a package's name, that of crates.io.
const MAX_NAME_BYTES: usize = 64;

/// Reserved names: folders of a build, crates, keywords of Rust.
#[rustfmt::skip]
const TAKEN: &[&str] = &[
    "build", "deps", "examples", "incremental", "test", "alloc", "core", "proc-macro", "std", "attnlab", "serde",
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match",
    "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

fn validate(name: &str) -> Result<()> {
    let letter = |c: char| c.is_ascii_lowercase();
    let sign = |c: char| letter(c) || c.is_ascii_digit() || c == '-';
    let plain = "must be lower-case letters, digits and hyphens, a letter first. Write a name such as my-theorem";
    let free = "must not be a word of Rust, of cargo or of the package; the program would not compile. Write a name \
                such as my-theorem";
    require(name.starts_with(letter) && name.chars().all(sign), "name", name, plain)?;
    require(name.len() <= MAX_NAME_BYTES, "name", name, format!("must have at most {MAX_NAME_BYTES} characters"))?;
    require(!TAKEN.contains(&name), "name", name, free)
}

/// Returns the absolute path of a checkout of attnlab.
fn checkout(folder: &Path) -> Result<String> {
    let refused = |why: &str| {
        let requirement = format!("must be a checkout of attnlab; {why}. Write the folder of its Cargo.toml");
        Error::invalid("path", folder.display(), requirement)
    };
    let text = fs::read_to_string(folder.join("Cargo.toml")).map_err(|e| refused(&format!("its Cargo.toml: {e}")))?;
    let manifest: toml::Table = text.parse().map_err(|_| refused("its Cargo.toml is not a manifest"))?;
    let package = manifest.get("package").and_then(|p| p.get("name"));
    if package.and_then(toml::Value::as_str) != Some("attnlab") {
        return Err(refused("its Cargo.toml is that of another package"));
    }
    let folder = fs::canonicalize(folder).map_err(|e| refused(&e.to_string()))?;
    folder.to_str().map(String::from).ok_or_else(|| refused("its path is not UTF-8"))
}
