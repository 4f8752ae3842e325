//! The experiment `language`: its networks, its rows and figures, a resumed run, and documents that it refuses.

use crate::configured::{complete, configured};
use crate::{catalogue, data};
use attnlab_aot::experiments::language::Language;
use attnlab_aot::quantities::{CONTEXT, HEADS, LAYERS, NETWORK, WIDTH};
use attnlab_lab::experiment::{self, Described, Experiment, RunOptions};
use attnlab_lab::run::Silent;
use attnlab_train::model::preset;
use attnlab_train::training::language::Text;
use std::path::Path;

/// Settings of seconds, which still have every part.
const TINY: [&str; 15] = [
    "networks = [\"aot-mssa\", \"gpt2\"]",
    "vocabulary = 5",
    "order = 1",
    "context = 12",
    "tokens = 20000",
    "layers = 1",
    "width = 16",
    "heads = 2",
    "sigma = 0.25",
    "plan.steps = 24",
    "plan.batch = 8",
    "plan.report_every = 8",
    "plan.checkpoint_every = 8",
    "evaluation.sequences = 40",
    "evaluation.activations = 4",
];

/// The experiment at the tiny settings, with `more` instead of those of the same name.
fn tiny(more: &[&str]) -> Box<dyn Experiment> {
    configured(Language::NAME, &TINY, more).unwrap()
}

fn text_of_rows(out: &Path) -> String {
    std::fs::read_to_string(out.join("rows.jsonl")).unwrap()
}

/// Every network has a name, those of the papers are at the papers' sizes, and their settings file can be run.
#[test]
fn the_papers_rows_are_at_their_sizes() {
    let catalogue = catalogue();
    let entry = catalogue.experiment(Language::NAME).unwrap();
    let defaults = entry.configure(false, None, &toml::Table::new()).unwrap();
    assert_eq!(defaults.cells().unwrap().len(), 8);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join("experiments/language_papers.toml");
    let set = "text = \"some.bin\"\nbackend = \"cpu\"".parse().unwrap();
    let papers = entry.configure(false, Some(&file), &set).unwrap();
    let mut sizes = vec![];
    for cell in papers.cells().unwrap() {
        let paper = preset(cell.get(NETWORK)).unwrap();
        let sizes_of_cell = [LAYERS, WIDTH, HEADS, CONTEXT].map(|size| cell.get(size));
        assert_eq!(sizes_of_cell, [paper.layers, paper.width, paper.heads, paper.context]);
        sizes.push((paper.layers, paper.width));
    }
    assert_eq!(sizes, [(24, 1024), (24, 896), (12, 768)]);
}

/// A chain of order 1 is learnt in seconds: from the loss of a uniform guess, below the entropy of a
/// token, to the law of the chain, which it may not pass by more than chance.
#[test]
fn a_chain_is_learnt_and_its_entropy_is_the_floor() {
    let folder = tempfile::tempdir().unwrap();
    let language = tiny(&["plan.steps = 160", "plan.report_every = 40"]);
    let rows = complete(&*language, folder.path()).rows;
    let figures = language.figures(&rows).unwrap();
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["language", "language_depth"]);
    assert_eq!(rows.len(), 4);
    for row in &rows {
        let number = |name: &str| row.number(name).unwrap();
        let list = |name: &str| row.series(name).unwrap();
        assert_eq!(list("held_out_steps"), [0.0, 40.0, 80.0, 120.0, 160.0]);
        let (held_out, entropies) = (list("held_out"), list("entropies"));
        // All rows speak of one text and one chain.
        assert_eq!(row.data["entropies"], rows[0].data["entropies"]);
        assert_eq!(row.data["source"], rows[0].data["source"]);
        assert!(held_out[0] > entropies[0], "{held_out:?}");
        let last = held_out[4];
        assert!((last - number("final")).abs() < 1e-12, "the end is the last point");
        // Under this seed the networks go .86 to .92 of the way; of 40 under ten seeds all go .86 and more but the four of one
        // seed, whose chain takes more steps (.45 to .66).
        assert!(last < entropies[0] - 0.5 * (entropies[0] - entropies[1]), "{last} {entropies:?}");
        assert!((number("final") - number("source") - number("excess")).abs() < 1e-12);
        assert!(number("excess.high") > 0.0, "{}", number("excess.high"));
        assert!(number("source.low") < number("least") && number("least") < number("source.high"));
        assert_eq!(list("trained.stable_rank").len(), 2);
        assert_eq!(row.data.contains_key("trained.snr_after"), row.word(NETWORK.name).unwrap() == "aot-mssa");
    }
}

/// A run that lost its rows and its newest checkpoints goes on at those before, to the same bytes.
#[test]
fn a_resumed_run_leaves_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    complete(&*tiny(&[]), folder.path());
    let whole = text_of_rows(folder.path());
    std::fs::remove_file(folder.path().join("rows.jsonl")).unwrap();
    let mut removed = 0;
    for training in std::fs::read_dir(folder.path().join("checkpoints")).unwrap() {
        let newest = training.unwrap().path().join("step-000000024.json");
        removed += u32::from(std::fs::remove_file(newest).is_ok());
    }
    assert_eq!(removed, 4, "one newest checkpoint of every training");
    let again = complete(&*tiny(&[]), folder.path());
    assert_eq!(text_of_rows(folder.path()), whole);
    assert!(again.computed > 0);
}

/// A text of one's own, as bytes or as token ids, is the same text; its figures can be drawn when it is gone.
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
            format!("text = {:?}", path.display().to_string()),
            "vocabulary = 128".into(),
            "held_out = 0.3".into(),
            "networks = [\"llama-aot\"]".into(),
        ]
    };
    let [from_bytes, from_numbers] = [&bytes, &numbers].map(|path| {
        let out = path.with_extension("runs");
        let more = more(path);
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let language = tiny(&more);
        let rows = complete(&*language, &out).rows;
        (language, rows)
    });
    assert_eq!(from_bytes.1[0].data, from_numbers.1[0].data);
    let unigram = from_bytes.1[0].number("unigram").unwrap();
    assert!(unigram > 2.0 && unigram < 128.0_f64.ln(), "{unigram}");
    std::fs::remove_file(&bytes).unwrap();
    assert_eq!(from_bytes.0.figures(&from_bytes.1).unwrap().len(), 2);
}

/// Documents cut by a tokenizer: rows per token and per byte, the same after a resume, and no document in both parts.
#[test]
fn documents_with_a_tokenizer() {
    let folder = tempfile::tempdir().unwrap();
    let texts = folder.path().join("docs.jsonl");
    let line = |i: usize| format!("{{\"text\": \"the text of number {i} and its end\"}}\n");
    std::fs::write(&texts, (0..60).map(line).collect::<String>()).unwrap();
    let tokenizer = data("llama.gguf");
    let text = format!("text = {:?}", texts.display().to_string());
    let cutter = format!("tokenizer = {:?}", tokenizer.display().to_string());
    let more = [&text[..], &cutter, "held_out = 0.4", "vocabulary = 300", "networks = [\"gpt2\"]"];
    let out = folder.path().join("run");
    let rows = complete(&*tiny(&more), &out).rows;
    for row in &rows {
        let number = |name: &str| row.number(name).unwrap();
        let density = number("tokens_per_byte");
        assert!(density > 0.2 && density < 1.1, "{density}");
        assert!((number("final_per_byte") - density * number("final")).abs() < 1e-12);
        assert!((number("unigram_per_byte") - density * number("unigram")).abs() < 1e-12);
    }
    let written = text_of_rows(&out);
    std::fs::remove_file(out.join("rows.jsonl")).unwrap();
    complete(&*tiny(&more), &out);
    assert_eq!(text_of_rows(&out), written);
    for (set, part) in [
        ("vocabulary = 100", "vocabulary = 100: must be at least 2"),
        ("end_of_text = \"</x>\"", "end_of_text = </x>"),
        ("tokenizer = \"none\"", "none"),
    ] {
        let name = set.split(" =").next().unwrap();
        let others = more.iter().filter(|m| !m.starts_with(name)).copied();
        let sets: Vec<&str> = others.chain([set]).collect();
        let out = folder.path().join("refused");
        let refused = experiment::run(&*tiny(&sets), &out, &RunOptions::default(), &Silent).err();
        let refused = refused.unwrap().to_string();
        assert!(refused.contains(part), "{refused}");
    }
    let alone = configured(Language::NAME, &[], &[&cutter]).err().unwrap().to_string();
    assert!(alone.contains("must be empty without a text"), "{alone}");
}

/// The cut is between two documents, and wide ids are kept.
#[test]
fn no_document_is_in_both_parts() {
    let ids: Vec<u32> = (0..1000).map(|i| i * 70).collect();
    let starts = [0, 300, 450, 900, 960];
    for (held_out, start) in [(0.5, 900), (0.55, 450), (0.1, 900), (0.02, 960)] {
        let text = Text::from_documents(ids.clone(), &starts, 9, held_out).unwrap();
        assert_eq!(text.held_out_start(), start, "{held_out}");
        assert_eq!(text.vocabulary(), 999 * 70 + 1);
        let sequences = text.held_out_sequences(2).unwrap();
        assert_eq!(sequences[0], ids[start..start + 10]);
    }
    for starts in [&[0][..], &[0, 0], &[0, 1000], &[5, 10]] {
        let refused = Text::from_documents(ids.clone(), starts, 9, 0.1).unwrap_err();
        assert!(refused.to_string().contains("documents = "), "{refused}");
    }
    // The same ids are one text, narrow or wide, with one checksum in checkpoints.
    let narrow: Vec<u16> = (0..1000).collect();
    let plain = Text::from_tokens(narrow, 9, 0.1).unwrap();
    let packed = Text::from_documents((0..1000).collect(), &[0, 900], 9, 0.1).unwrap();
    assert_eq!(plain, packed);
}

/// Held-out sequences: in their part, evenly spread, and no token is predicted twice.
#[test]
fn held_out_sequences_do_not_overlap() {
    let text = Text::from_tokens((0..1000).collect(), 9, 0.2).unwrap();
    for count in [1, 2, 7, 22] {
        let sequences = text.held_out_sequences(count).unwrap();
        assert_eq!(sequences.len(), count);
        assert!(sequences.iter().all(|w| w.len() == 10 && w[0] >= 800));
        assert!(sequences.windows(2).all(|w| w[1][0] >= w[0][9]));
    }
    let error = text.held_out_sequences(23).unwrap_err().to_string();
    let expected = "sequences = 23: must be from 1 to 22; the held-out part has 200 tokens, in \
                    sequences of 9";
    assert_eq!(error, expected);
}
