//! Text of `attnlab check`, one claim of each kind of promise: promise, tolerance, p-value, reach, and the power in
//! the lines of every mutant. `ATTNLAB_BLESS=1 cargo test --test suite check_text` writes the texts anew.

use crate::common::attnlab;
use std::path::{Path, PathBuf};

/// File of the text, and arguments of the check.
const TEXTS: &[(&str, &[&str])] = &[
    ("always", &["aot.mssa_is_mhsa"]),
    ("counter-example", &["denoise.prop3_bessel"]),
    ("probability", &["aot.lemma1"]),
    ("computed", &["aot.theorem1", "--set", "tokens=400", "--set", "dim=100", "--beyond-hypotheses"]),
    ("mean", &["lsa.rate_n"]),
    ("limit", &["denoise.softmax_any_beta"]),
    ("distribution", &["aot.horizon_law", "--trials", "200"]),
    ("out-of-scope", &["joma.theorem1_exp", "--set", "step=0.05"]),
];

fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/check_text");
    folder.join(format!("{name}.txt"))
}

/// Leaves out what depends on the machine: the time, and the numbers of a witness, which rounding may change.
fn portable(text: &str) -> String {
    let (mut lines, mut in_witness) = (vec![], false);
    for line in text.lines() {
        in_witness = match line.strip_prefix("  ") {
            Some(rest) => rest.starts_with("witness") || (in_witness && rest.starts_with(' ')),
            None => false,
        };
        let timed = line.starts_with("  seed ");
        let shown = match (timed, line.rsplit_once(", ")) {
            (true, Some((seed, _))) => seed,
            _ => line,
        };
        if !in_witness {
            lines.push(shown.to_string() + "\n");
        }
    }
    lines.concat()
}

#[test]
fn the_text_of_a_check() {
    let mut stale = vec![];
    for (name, args) in TEXTS {
        let all = [&["check"], *args, &["--mutants", "--mutant-seeds", "2"]].concat();
        let output = attnlab(&all).output().unwrap();
        let text = portable(&String::from_utf8_lossy(&output.stdout));
        let path = file(name);
        if std::env::var_os("ATTNLAB_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != text {
            stale.push(*name);
        }
    }
    let advice = "read the change, then ATTNLAB_BLESS=1 cargo test --test suite check_text";
    assert!(stale.is_empty(), "{stale:?}: {advice}");
}

/// Every text has the promise, the trials and the reach of a decided check, and the power of every mutant.
#[test]
fn nothing_is_left_out() {
    for (name, _) in TEXTS {
        let text = std::fs::read_to_string(file(name)).unwrap();
        let blocks: Vec<&str> = text.split("\n\n").filter(|b| b.contains("  promise")).collect();
        assert!(blocks.len() >= 2, "{name}");
        for block in blocks {
            let has = |field: &str| block.contains(&format!("\n  {field} "));
            assert!(has("promise") && has("estimate") && has("trials"), "{name}: {block}");
            assert_eq!(has("power"), block.contains(" / mutant "), "{name}: {block}");
            assert!(has("reach"), "{name}: {block}");
        }
    }
}
