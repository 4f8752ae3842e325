//! The experiment `language`: its networks, its rows and pictures, a resumed run, and what it refuses.
#![cfg(feature = "train")]

mod common;

use attnlab::experiment;
use attnlab::model::preset;
use attnlab::train::language::Text;
use serde_json::Value;
use std::path::Path;

/// Settings of seconds, which still have every part.
const TINY: [&str; 15] = [
    "networks=[\"aot-mssa\", \"gpt2\"]",
    "vocabulary=5",
    "order=1",
    "context=12",
    "tokens=20000",
    "layers=1",
    "width=16",
    "heads=2",
    "sigma=0.25",
    "plan.steps=24",
    "plan.batch=8",
    "plan.report_every=8",
    "plan.checkpoint_every=8",
    "evaluation.sequences=40",
    "evaluation.activations=4",
];

/// The command at the tiny settings, with `more` instead of those of the same name.
fn complete(out: &Path, more: &[&str]) -> (String, String) {
    let folder = out.display().to_string();
    let mut args = vec!["train", "language", "--quick", "--out", &folder];
    let name = |set: &str| set.split('=').next().unwrap_or_default().to_string();
    let replaced = |set: &&&str| more.iter().any(|m| name(m) == name(set));
    for set in TINY.iter().filter(|set| !replaced(set)).chain(more) {
        args.extend(["--set", set]);
    }
    let output = common::attnlab(&args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(0), "{error}");
    (String::from_utf8(output.stdout).unwrap(), error)
}

fn rows(out: &Path) -> String {
    std::fs::read_to_string(out.join("rows.jsonl")).unwrap()
}

fn parsed(out: &Path) -> Vec<Value> {
    let rows = rows(out);
    let lines = rows.lines();
    lines.map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// Every network has a name, those of the papers are at the papers' sizes, and their settings file can be
/// run.
#[test]
fn the_papers_rows_are_at_their_sizes() {
    let entry = experiment::find("language").unwrap();
    let all = entry.configure(false, None, &toml::Table::new()).unwrap();
    assert_eq!(all.cells().unwrap().len(), 8);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/language_papers.toml");
    let set = "text = \"some.bin\"\nbackend = \"cpu\"".parse().unwrap();
    let papers = entry.configure(false, Some(&file), &set).unwrap();
    let mut sizes = vec![];
    for cell in papers.cells().unwrap() {
        let paper = preset(cell.text("network")).unwrap();
        assert_eq!(cell.usize("layers"), paper.layers);
        assert_eq!(cell.usize("width"), paper.width);
        assert_eq!(cell.usize("heads"), paper.heads);
        assert_eq!(cell.usize("context"), paper.context);
        sizes.push((paper.layers, paper.width));
    }
    assert_eq!(sizes, [(24, 1024), (24, 896), (12, 768)]);
}

/// A chain of order 1 is learnt in seconds: from the loss of a uniform guess, below the entropy of a
/// token, to the law of the chain, which it may not pass by more than chance.
#[test]
fn a_chain_is_learnt_and_its_entropy_is_the_floor() {
    let folder = tempfile::tempdir().unwrap();
    let steps = ["plan.steps=160", "plan.report_every=40"];
    let (pictures, _) = complete(folder.path(), &steps);
    for name in ["language.svg", "language.png", "language_depth.svg"] {
        assert!(pictures.contains(name), "{pictures}");
    }
    let rows = parsed(folder.path());
    assert_eq!(rows.len(), 4);
    for row in &rows {
        let data = &row["data"];
        let number = |name: &str| data[name].as_f64().unwrap_or_else(|| panic!("{name}"));
        let list = |name: &str| {
            let list = data[name].as_array().unwrap();
            list.iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(list("held_out_steps"), [0.0, 40.0, 80.0, 120.0, 160.0]);
        let (held_out, entropies) = (list("held_out"), list("entropies"));
        // All rows speak of one text and one chain.
        assert_eq!(data["entropies"], rows[0]["data"]["entropies"]);
        assert_eq!(data["source"], rows[0]["data"]["source"]);
        assert!(held_out[0] > entropies[0], "{held_out:?}");
        let last = held_out[4];
        assert!(
            (last - number("final")).abs() < 1e-12,
            "the end is the last point"
        );
        assert!(
            last < entropies[0] - 0.5 * (entropies[0] - entropies[1]),
            "{last} {entropies:?}"
        );
        assert!((number("final") - number("source") - number("excess")).abs() < 1e-12);
        assert!(number("excess.high") > 0.0, "{}", number("excess.high"));
        assert!(number("source.low") < number("least") && number("least") < number("source.high"));
        assert_eq!(list("trained.stable_rank").len(), 2);
        assert_eq!(
            data.get("trained.snr_after").is_some(),
            row["parameters"]["network"] == "aot-mssa"
        );
    }
}

/// A run that lost its rows and its newest checkpoints goes on at those before, to the same bytes.
#[test]
fn a_resumed_run_leaves_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    complete(folder.path(), &[]);
    let whole = rows(folder.path());
    std::fs::remove_file(folder.path().join("rows.jsonl")).unwrap();
    let mut removed = 0;
    for training in std::fs::read_dir(folder.path().join("checkpoints")).unwrap() {
        let newest = training.unwrap().path().join("step-000000024.json");
        removed += u32::from(std::fs::remove_file(newest).is_ok());
    }
    assert_eq!(removed, 4, "one newest checkpoint of every training");
    let (_, said) = complete(folder.path(), &[]);
    assert_eq!(rows(folder.path()), whole);
    assert!(!said.contains("0 computed now"), "{said}");
}

/// A text of one's own, as bytes or as numbers, is the same text; its figures can be drawn when it is
/// gone.
#[test]
fn a_text_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let words = "to be or not to be, that is the question. ".repeat(60);
    let (bytes, numbers) = (folder.path().join("one.txt"), folder.path().join("two.bin"));
    std::fs::write(&bytes, &words).unwrap();
    let wide: Vec<u8> = words.bytes().flat_map(|b| [b, 0]).collect();
    std::fs::write(&numbers, wide).unwrap();
    let more = |path: &Path| {
        vec![
            format!("text={}", path.display()),
            "vocabulary=128".into(),
            "held_out=0.3".into(),
            "networks=[\"llama-aot\"]".into(),
        ]
    };
    let [one, two] = [&bytes, &numbers].map(|path| {
        let out = path.with_extension("runs");
        let more = more(path);
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        complete(&out, &more);
        let found = parsed(&out);
        (out, found)
    });
    assert_eq!(one.1[0]["data"], two.1[0]["data"]);
    let unigram = one.1[0]["data"]["unigram"].as_f64().unwrap();
    assert!(unigram > 2.0 && unigram < 128.0_f64.ln(), "{unigram}");
    std::fs::remove_file(&bytes).unwrap();
    let (rows, plots) = (one.0.display().to_string(), folder.path().join("plots"));
    let plots = plots.display().to_string();
    let args = ["figure", "language", "--rows", &rows, "--out", &plots];
    assert_eq!(
        common::attnlab(&args).output().unwrap().status.code(),
        Some(0)
    );
}

/// Held-out sequences: in their part, evenly spread, and no token is predicted twice.
#[test]
fn held_out_sequences_do_not_overlap() {
    let text = Text::of_tokens((0..1000).collect(), 9, 0.2).unwrap();
    for count in [1, 2, 7, 22] {
        let judged = text.judged(count).unwrap();
        assert_eq!(judged.len(), count);
        assert!(judged.iter().all(|w| w.len() == 10 && w[0] >= 800));
        assert!(judged.windows(2).all(|w| w[1][0] >= w[0][9]));
    }
    let error = text.judged(23).unwrap_err().to_string();
    let expected = "sequences = 23 is not allowed: from 1 to 22: the held-out part has 200 tokens, in \
                    sequences of 9";
    assert_eq!(error, expected);
}

#[test]
fn wrong_settings_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run").display().to_string();
    let refused = |sets: &[&str], message: &str| {
        let mut args = vec!["train", "language", "--quick", "--out", &out];
        sets.iter().for_each(|set| args.extend(["--set", set]));
        common::refused(&args, message);
        assert!(
            !Path::new(&out).exists(),
            "nothing is written for a refused run"
        );
    };
    refused(
        &["networks=[\"aot-msa\"]"],
        "unknown network 'aot-msa'; did you mean aot-mhsa, aot-mssa, aot-tied?",
    );
    refused(
        &["networks=[\"vit-s\"]"],
        "unknown network 'vit-s'; write one of aot-mssa, aot-mhsa, aot-tied, hybrid, full-mlp, gpt2, \
             llama, llama-aot, aot-mssa-l-base, aot-mssa-l-medium, aot-mssa-l-large, aot-mhsa-l-base, \
             aot-hybrid-l, aot-full-mlp-l, gpt2-base",
    );
    refused(
        &["networks=[]"],
        "networks = [] is not allowed: at least one name",
    );
    refused(
        &["order=0"],
        "order = 0 is not allowed: 1 or 2, or more with few symbols: how many tokens back the next one \
         depends on",
    );
    refused(
        &["vocabulary=64"],
        "vocabulary = 64 is not allowed: such that vocabulary^order is at most 1024 (order is 2): the exact \
         entropies need every context",
    );
    refused(
        &["concentration=0"],
        "concentration = 0 is not allowed: a finite number >= 0.05: below, transitions round to zero",
    );
    refused(
        &["tokens=600"],
        "tokens = 600 is not allowed: more: each part needs context + 1 = 65 tokens, and the held-out one \
         has 60",
    );
    refused(
        &["context=0"],
        "context = 0 is not allowed: a whole number >= 1",
    );
    refused(
        &["held_out=1"],
        "held_out = 1 is not allowed: a number in (0, 1)",
    );
    refused(
        &["evaluation.sequences=5000"],
        "sequences = 5000 is not allowed: from 1 to 937: the held-out part has 60000 tokens, in sequences \
         of 64",
    );
    refused(
        &["seeds=1"],
        "seeds = 1 is not allowed: at least 2: intervals come from their spread",
    );
    refused(
        &["heads=3"],
        "heads = 3 is not allowed: a divisor of width = 64",
    );
}

#[test]
fn wrong_texts_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run").display().to_string();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let refused = |text: &str, set: &str, message: &str| {
        let text = format!("text={text}");
        let args = ["train", "language", "--quick", "--out", &out];
        let sets = ["--set", &text, "--set", set];
        common::refused(&[&args[..], &sets].concat(), message);
        assert!(
            !Path::new(&out).exists(),
            "nothing is written for a refused run"
        );
    };
    let missing = folder.path().join("none.txt").display().to_string();
    let message = format!(
        "{missing}: No such file or directory (os error 2). Give a text, or token numbers in a .bin file"
    );
    refused(&missing, "vocabulary=256", &message);
    let empty = write("empty.txt", b"");
    let message = format!("{empty}: the text is empty");
    refused(&empty, "vocabulary=256", &message);
    let short = write("short.txt", &[b'a'; 100]);
    let message = format!(
        "{short}: tokens = 100 is not allowed: more: each part needs context + 1 = 65 tokens, and the \
         held-out one has 10"
    );
    refused(&short, "vocabulary=256", &message);
    let odd = write("odd.bin", &[0; 99_999]);
    let message =
        format!("{odd}: it has 99999 bytes, an odd number; a .bin file holds 16-bit token numbers");
    refused(&odd, "vocabulary=256", &message);
    let book = write("book.txt", &b"plain words. ".repeat(20_000));
    let message = format!(
        "vocabulary = 12 is not allowed: at least 120: {book} holds token 119 (256 have all bytes, 50304 \
         GPT-2's tokens)"
    );
    refused(&book, "vocabulary=12", &message);
    let small = write("small.txt", &b"plain words. ".repeat(200));
    let message = "sequences = 256 is not allowed: from 1 to 4: the held-out part has 260 tokens, in \
                   sequences of 64";
    refused(&small, "vocabulary=256", message);
}
