//! A new package: what is written, and what is refused. `.ci/new-package` builds one and runs it.

use attnlab_lab::claim::{Paper, Sheet};
use attnlab_lab::scaffold::{Dependency, scaffold};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn refusal(name: &str, dependency: &Dependency, into: &Path) -> String {
    scaffold(name, dependency, into).unwrap_err().to_string()
}

/// The files below a folder, relative to it.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    let mut rest = vec![folder.to_path_buf()];
    while let Some(folder) = rest.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => rest.push(path),
                false => {
                    paths.insert(path);
                }
            }
        }
    }
    paths.iter().map(|path| path.strip_prefix(folder).unwrap().to_path_buf()).collect()
}

fn templates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/package")
}

#[test]
fn every_template_is_written_under_the_name_of_the_package() {
    let into = tempfile::tempdir().unwrap();
    let listed = scaffold("sharp-bound2", &Dependency::Published, into.path()).unwrap();
    let folder = into.path().join("sharp-bound2");
    let written = files(&folder);
    let listed: BTreeSet<_> = listed.iter().map(|p| p.strip_prefix(&folder).unwrap().to_path_buf()).collect();
    assert_eq!(listed, written);
    // Nothing lies beside it, such as a temporary folder.
    assert_eq!(fs::read_dir(into.path()).unwrap().count(), 1);
    let expected = files(&templates()).into_iter().map(|path| {
        let path = path.to_str().unwrap().replace("my_theorem", "sharp_bound2");
        PathBuf::from(match path.as_str() {
            "Cargo.toml.in" => "Cargo.toml",
            "gitignore.in" => ".gitignore",
            other => other,
        })
    });
    assert_eq!(written, expected.collect());
    for path in &written {
        let text = fs::read_to_string(folder.join(path)).unwrap();
        for left in ["my-theorem", "my_theorem", "@ATTNLAB@"] {
            assert!(!text.contains(left), "{left} in {}", path.display());
        }
    }
}

#[test]
fn the_manifest_names_package_and_dependency() {
    let into = tempfile::tempdir().unwrap();
    let manifest = |name: &str, dependency: Dependency| -> toml::Table {
        scaffold(name, &dependency, into.path()).unwrap();
        fs::read_to_string(into.path().join(name).join("Cargo.toml")).unwrap().parse().unwrap()
    };
    let published = manifest("one", Dependency::Published);
    assert_eq!(published["package"]["name"].as_str(), Some("one"));
    let version = published["dependencies"]["attnlab"].as_str().unwrap();
    assert!(env!("CARGO_PKG_VERSION").starts_with(&format!("{version}.")), "{version}");
    // A folder whose name TOML must escape.
    let checkout = into.path().join("a \"quoted\" checkout");
    fs::create_dir(&checkout).unwrap();
    fs::write(checkout.join("Cargo.toml"), "[package]\nname = \"attnlab\"").unwrap();
    let local = manifest("two", Dependency::Checkout(checkout.clone()));
    let path = local["dependencies"]["attnlab"]["path"].as_str().unwrap();
    assert_eq!(Path::new(path), fs::canonicalize(checkout).unwrap());
}

#[test]
fn the_sheet_is_one_and_is_named_after_the_package() {
    static PAPERS: &[Paper] = &[Paper { key: "notes", title: "", authors: "", venue: "", year: 2026, link: "" }];
    let into = tempfile::tempdir().unwrap();
    scaffold("mine", &Dependency::Published, into.path()).unwrap();
    let path = into.path().join("mine/sheets/mine.entropy_gap.md");
    let sheet = Sheet::parse(&fs::read_to_string(path).unwrap(), PAPERS).unwrap();
    assert_eq!((sheet.id.as_str(), sheet.mutants.len()), ("mine.entropy_gap", 2));
}

#[test]
fn names_that_no_package_can_have_are_refused() {
    let into = tempfile::tempdir().unwrap();
    for name in ["", "My-Theorem", "my_theorem", "1st", "-x", "a/b", "..", "a b", "théorème", "a\0b"] {
        let message = refusal(name, &Dependency::Published, into.path());
        assert!(message.starts_with("name = "), "{message}");
        assert!(message.contains("must be lower-case letters, digits and hyphens"), "{message}");
    }
    for name in ["match", "test", "std", "build", "attnlab", "serde"] {
        let message = refusal(name, &Dependency::Published, into.path());
        assert!(message.starts_with(&format!("name = {name}: must not be a word")), "{message}");
    }
    let message = refusal(&"a".repeat(65), &Dependency::Published, into.path());
    assert!(message.ends_with("must have at most 64 characters"), "{message}");
    assert_eq!(fs::read_dir(into.path()).unwrap().count(), 0);
}

#[test]
fn what_exists_is_left_as_it_is() {
    let into = tempfile::tempdir().unwrap();
    let folder = into.path().join("mine");
    fs::create_dir(&folder).unwrap();
    let message = refusal("mine", &Dependency::Published, into.path());
    assert!(message.ends_with("It is left as it is: choose another name"), "{message}");
    assert_eq!(files(into.path()).len(), 0);
    fs::write(into.path().join("file"), "text").unwrap();
    refusal("file", &Dependency::Published, into.path());
    assert_eq!(fs::read(into.path().join("file")).unwrap(), b"text");
    assert_eq!(fs::read_dir(into.path()).unwrap().count(), 2);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let into = tempfile::tempdir().unwrap();
    let message = refusal("mine", &Dependency::Published, &into.path().join("missing"));
    assert!(message.contains("missing/mine: "), "{message}");
    assert!(message.ends_with("choose a folder that you may write"), "{message}");
    // A file where a folder is needed, for users who may write everywhere.
    fs::write(into.path().join("file"), "").unwrap();
    refusal("mine", &Dependency::Published, &into.path().join("file"));
    assert_eq!(fs::read_dir(into.path()).unwrap().count(), 1);
}

#[test]
fn a_checkout_must_be_one() {
    let into = tempfile::tempdir().unwrap();
    let elsewhere = into.path().join("elsewhere");
    let checkout = Dependency::Checkout(elsewhere.clone());
    let missing = refusal("mine", &checkout, into.path());
    assert!(missing.contains("must be a checkout of attnlab; its Cargo.toml: "), "{missing}");
    fs::create_dir(&elsewhere).unwrap();
    for (manifest, why) in [
        ("[package", "its Cargo.toml is not a manifest"),
        ("[package]\nname = \"other\"", "its Cargo.toml is that of another package"),
    ] {
        fs::write(elsewhere.join("Cargo.toml"), manifest).unwrap();
        let message = refusal("mine", &checkout, into.path());
        assert!(message.starts_with("path = ") && message.contains(why), "{message}");
        assert!(message.ends_with("Write the folder of its Cargo.toml"), "{message}");
    }
    assert!(!into.path().join("mine").exists());
}
