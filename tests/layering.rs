//! Dependencies run one way. This test reads the `crate::` and `super::` paths of every source file
//! and holds them to the table below; the second half proves that it would notice.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What each top-level module may use, beside itself and the base (`error`, `Result`, `Error`).
/// What is not listed here may use nothing, so a new module must be given its place.
const ALLOWED: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("special", &[]),
    ("rng", &[]),
    ("params", &["rng"]),
    ("linalg", &["rng"]),
    ("stats", &["special"]),
    // Closed forms: no randomness, so neither `rng` nor `sample`.
    ("theory", &["params", "special", "linalg", "stats"]),
    // Denoising prompts are drawn from the laws whose Bayes optima `theory` has.
    ("sample", &["rng", "linalg", "special", "theory"]),
    ("attention", &["linalg", "special"]),
    // The streaming passes on other machines, behind the trait that `attention` states.
    ("gpu", &["attention"]),
    // What networks that learn in context are measured against.
    ("baseline", &["linalg", "sample"]),
    // Trainable networks: their configuration, parameters and forward pass.
    ("model", &["rng", "gpu"]),
    ("measure", &["rng", "linalg", "sample", "attention"]),
    // Training draws its prompts and its first weights.
    (
        "dynamics",
        &["rng", "linalg", "attention", "measure", "theory", "sample"],
    ),
    ("claim", &BELOW_CLAIM),
    ("format", &[]),
    ("run", &BELOW_RUN),
    ("train", &["rng", "sample", "run", "model"]),
    // Draws from stored rows: closed forms for predicted lines, but nothing that samples.
    ("figure", &["params", "stats", "theory", "run", "measure"]),
    // Experiments compute rows and describe their figures; figures know nothing of them.
    ("experiment", &BELOW_EXPERIMENT),
    // Claims and experiments over axes, and the maps that come of them.
    (
        "sweep",
        &[
            "params",
            "rng",
            "stats",
            "claim",
            "format",
            "run",
            "figure",
            "experiment",
        ],
    ),
    // Verdicts and figures on one page.
    ("report", &["format", "stats", "claim", "run", "figure"]),
    ("cli", &BELOW_CLI),
];

const BELOW_CLAIM: [&str; 10] = [
    "params",
    "special",
    "rng",
    "linalg",
    "stats",
    "sample",
    "attention",
    "measure",
    "theory",
    "dynamics",
];
const BELOW_RUN: [&str; 12] = [
    "format",
    "params",
    "special",
    "rng",
    "linalg",
    "stats",
    "sample",
    "attention",
    "measure",
    "theory",
    "dynamics",
    "claim",
];
const BELOW_EXPERIMENT: [&str; 17] = [
    "baseline",
    "model",
    "train",
    "params",
    "special",
    "rng",
    "linalg",
    "stats",
    "sample",
    "attention",
    "measure",
    "theory",
    "dynamics",
    "claim",
    "run",
    "figure",
    "format",
];
const BELOW_CLI: [&str; 21] = [
    "gpu",
    "baseline",
    "model",
    "train",
    "sweep",
    "params",
    "special",
    "rng",
    "linalg",
    "stats",
    "sample",
    "attention",
    "measure",
    "theory",
    "dynamics",
    "claim",
    "run",
    "figure",
    "experiment",
    "format",
    "report",
];

/// Modules in which not even a random number crate may be named.
const NEVER_DRAWS: [&str; 4] = ["theory", "figure", "stats", "special"];

/// Names at the root of the crate that are no modules of their own layer.
const BASE: [&str; 4] = ["error", "Error", "Result", "witness"];

#[test]
fn dependencies_run_one_way() {
    let mut problems = vec![];
    for path in sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))) {
        let text = fs::read_to_string(&path).unwrap();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        let name = path.strip_prefix(source).unwrap();
        problems.extend(violations(name, &text));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_table_has_no_cycle() {
    // Every module may only use modules that stand before it in the table.
    for (place, (module, uses)) in ALLOWED.iter().enumerate() {
        for used in *uses {
            let before = ALLOWED[..place].iter().any(|(m, _)| m == used);
            assert!(before, "{module} may use {used}, which comes after it");
        }
    }
}

#[test]
fn a_violation_is_noticed() {
    let found = |file: &str, text: &str| violations(Path::new(file), text);
    for (file, text) in [
        ("theory/horizon.rs", "use crate::rng::Streams;"),
        (
            "theory/horizon.rs",
            "use crate::{params::Params, sample::{Mixture}};",
        ),
        ("theory/mod.rs", "use super::sample;"),
        ("theory/deep/er.rs", "use super::super::super::rng::hash;"),
        ("theory/horizon.rs", "use rand_distr::StandardNormal;"),
        (
            "figure/lines.rs",
            "let draw = crate::sample::Mixture::balanced(1, 1, 1, 0.0);",
        ),
        ("stats/mean.rs", "use crate::claim::Outcome;"),
        (
            "linalg/haar.rs",
            "use crate::{\n    claim::{Claim, Card},\n    rng,\n};",
        ),
        ("linalg.rs", "use super::claim;"),
        ("run/check.rs", "fn f() -> crate::cli::Status { todo!() }"),
        ("invented/mod.rs", "use crate::rng;"),
        (
            "sample/mixture.rs",
            "let rng = ChaCha8Rng::seed_from_u64(1);",
        ),
    ] {
        assert_eq!(
            found(file, text).len(),
            1,
            "{file}: {text}: {:?}",
            found(file, text)
        );
    }
    for (file, text) in [
        (
            "claim/mod.rs",
            "use crate::{error::Result, rng::Streams, witness};",
        ),
        ("stats/mean.rs", "use super::{Estimate, validate_level};"),
        (
            "stats/mean.rs",
            "// crate::claim is above\n/// [`crate::claim`] too",
        ),
        (
            "stats/mean.rs",
            "#[cfg(test)]\nmod tests { use crate::claim::Outcome; }",
        ),
        ("lib.rs", "pub use error::{Error, Result}; use crate::cli;"),
    ] {
        assert_eq!(found(file, text), [""; 0], "{file}: {text}");
    }
}

/// Every `.rs` file below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push(path);
        }
    }
    all.sort();
    all
}

/// What is wrong in one file, given by its path below `src`.
fn violations(file: &Path, text: &str) -> Vec<String> {
    let parts: Vec<_> = file
        .iter()
        .map(|p| p.to_string_lossy().to_string())
        .collect();
    let module = parts[0].trim_end_matches(".rs").to_string();
    // The root only names its modules; the program only starts the command.
    if module == "lib" || module == "main" {
        return vec![];
    }
    let code = code_of(text);
    let mut problems = vec![];
    let allowed = ALLOWED
        .iter()
        .find(|(m, _)| *m == module)
        .map(|(_, uses)| *uses);
    for used in used_modules(&code, depth(&parts)) {
        let base = BASE.contains(&used.as_str()) || used == module;
        if !base && !allowed.unwrap_or_default().contains(&used.as_str()) {
            problems.push(format!(
                "src/{}: {module} may not use {used}",
                file.display()
            ));
        }
    }
    let draws = ["rand::", "rand_distr::", "rand_chacha::"];
    if NEVER_DRAWS.contains(&module.as_str()) && draws.iter().any(|d| code.contains(d)) {
        problems.push(format!("src/{}: {module} never draws", file.display()));
    }
    let makes = ["seed_from_u64", "from_seed", "from_rng", "rand::rng("];
    if module != "rng" && makes.iter().any(|m| code.contains(m)) {
        problems.push(format!(
            "src/{}: generators are made in rng.rs alone",
            file.display()
        ));
    }
    problems
}

/// How many `super` lead from a file's own module to the root: `stats/mod.rs` and `rng.rs` one,
/// `stats/mean.rs` two.
fn depth(parts: &[String]) -> usize {
    let is_mod = parts.last().is_some_and(|p| p == "mod.rs");
    parts.len() - usize::from(is_mod)
}

/// The text without comments, and without the tests at its end: they may use what they like.
fn code_of(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let uncommented = |line: &str| match line.trim_start().starts_with("//") {
        true => String::new(),
        // A `//` within a line is a comment, or part of an address in a text: no path either way.
        false => line.split("//").next().unwrap_or_default().to_string(),
    };
    let lines: Vec<_> = text[..tests].lines().map(uncommented).collect();
    lines.join("\n")
}

/// The top-level names behind every `crate::`, and behind as many `super::` as lead to the root.
fn used_modules(code: &str, depth: usize) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    let to_root = "super::".repeat(depth);
    for root in ["crate::", to_root.as_str()] {
        for (at, _) in code.match_indices(root) {
            // `$crate::` in a macro is a path of this crate too; `mycrate::` is not.
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            used.extend(first_names(&code[at + root.len()..]));
        }
    }
    used
}

/// The first names of a path or of a `{..}` group of paths.
fn first_names(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else {
        return vec![first_name(rest)];
    };
    let (mut depth, mut names, mut start) = (0, vec![], 0);
    for (i, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(first_name(&group[start..i]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(first_name(&group[start..i]));
                start = i + 1;
            }
            _ => {}
        }
    }
    names.retain(|n| !n.is_empty());
    names
}

fn first_name(path: &str) -> String {
    let word = |c: &char| c.is_alphanumeric() || *c == '_';
    path.trim_start().chars().take_while(word).collect()
}
