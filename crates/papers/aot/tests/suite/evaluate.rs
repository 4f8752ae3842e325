//! `attnlab evaluate`: every reading against its plain definition on the tiny random Llama of `crates/networks/tests/data`,
//! threads, and a resumed run.

use attnlab_aot::evaluate::files::{self, Read};
use attnlab_aot::evaluate::{Detokeniser, Passes, Prepared, STOP_WORDS, Task, ratio};
use attnlab_aot::experiments::evaluate::{Evaluate, Sample};
use attnlab_lab::experiment::{self, RunOptions};
use attnlab_lab::run::Silent;
use attnlab_networks::transformer::Recordings;
use attnlab_networks::{Tokenizer, Transformer};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) fn gguf() -> PathBuf {
    crate::data("llama.gguf")
}

pub(crate) fn llama() -> (Transformer, Tokenizer) {
    let network = Transformer::open(&gguf()).unwrap();
    let tokenizer = network.tokenizer().unwrap();
    (network, tokenizer)
}

/// Short passages: the network's context is 32 tokens, and a token is hardly more than a letter.
pub(crate) const PASSAGES: [&str; 4] = [
    "the oak and the hill",
    "she saw the the",
    "tea for two, \u{201c}tea",
    "an old man and the sea and the weather of the island where nobody lives but gulls",
];

pub(crate) struct Folder(pub(crate) TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn with(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn path_of(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_string()
    }
}

fn prepared(path: &Path, task: Task, passes: Passes) -> (Transformer, Prepared) {
    let (network, tokenizer) = llama();
    let items = items(path, task, passes, &network, &tokenizer);
    (network, items)
}

/// The items of a file with a tokenizer that need not be the network's.
fn items(path: &Path, task: Task, passes: Passes, network: &Transformer, tokenizer: &Tokenizer) -> Prepared {
    Prepared::new(&files::read(&[path], task).unwrap(), tokenizer, network.architecture(), passes).unwrap()
}

/// Passes over a text as it is; the other tasks take no window.
pub(crate) fn passes(window: usize, stride: usize) -> Passes {
    Passes { detokenise: Detokeniser::Off, window, stride }
}

fn scores(network: &Transformer, prepared: &Prepared) -> Vec<Vec<f64>> {
    (0..prepared.len()).map(|i| prepared.score(network, i).unwrap()).collect()
}

/// Log-probabilities (V) after every token, by softmax in f64 of the logits of a plain forward pass.
fn log_probabilities(network: &Transformer, ids: &[u32]) -> Vec<Vec<f64>> {
    let logits = network.forward(ids, &Recordings::named(&["logits"]).unwrap()).unwrap().logits.unwrap();
    let column = |c: ndarray::ArrayView1<f32>| {
        let sum: f64 = c.iter().map(|x| f64::from(*x).exp()).sum();
        c.iter().map(|x| f64::from(*x) - sum.ln()).collect()
    };
    logits.columns().into_iter().map(column).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-4
}

#[test]
fn lambada_is_read_as_defined() {
    let folder = Folder::new();
    let file = folder.with("p.txt", PASSAGES.join("\n\n"));
    let (network, items) = prepared(&file, Task::Lambada, passes(0, 0));
    let (_, tokenizer) = llama();
    assert_eq!(items.len(), 4);
    assert_eq!(items.shortened(), 1, "the last passage is longer than the context");
    let context = network.architecture().context;
    let scored = scores(&network, &items);
    let (mut words, mut last_words, mut lengths, mut totals, mut sizes) = (0, vec![], vec![], vec![], vec![]);
    for (text, score) in PASSAGES.iter().zip(&scored) {
        let whole = tokenizer.encode_plain(text).unwrap();
        let word = text.rsplit_once(' ').unwrap().1;
        let ending = tokenizer.encode_plain(&format!(" {word}")).unwrap();
        assert!(whole.ends_with(&ending));
        let ids = &whole[whole.len().saturating_sub(context + 1)..];
        let p = log_probabilities(&network, &ids[..ids.len() - 1]);
        let loss = |t: &usize| -p[t - 1][ids[*t] as usize];
        let greedy = |t: &usize| p[t - 1].iter().all(|x| *x <= p[t - 1][ids[*t] as usize]);
        let last = ids.len() - ending.len()..ids.len();
        let losses: f64 = (1..ids.len()).map(|t| loss(&t)).sum();
        let last_loss: f64 = last.clone().map(|t| loss(&t)).sum();
        assert!(close(score[0], losses) && close(score[1], last_loss), "{text}: {score:?} {losses} {last_loss}");
        assert_eq!(score[2] > 0.0, last.clone().all(|t| greedy(&t)), "{text}");
        assert_eq!(score[3] > 0.0, greedy(&(ids.len() - 1)), "{text}");
        words += usize::from(score[2] > 0.0);
        last_words.push(last_loss);
        lengths.push(ending.len() as f64);
        totals.push(losses);
        sizes.push((ids.len() - 1) as f64);
    }
    let read = |name: &str| items.reading(name, &scored, 0.95).unwrap();
    assert_eq!(read("last word").estimate.value, words as f64 / 4.0);
    assert!(close(read("loss per last word").estimate.value, last_words.iter().sum::<f64>() / 4.0));
    for (name, sums, counts) in
        [("loss per token of last words", &last_words, &lengths), ("loss per token of passages", &totals, &sizes)]
    {
        let expected = ratio(sums, counts, 0.95).unwrap();
        let estimate = read(name).estimate;
        assert!(close(estimate.value, expected.value) && close(estimate.low, expected.low), "{name}");
    }
    let uniform = read("loss per token of passages").baselines[0].1;
    assert!(close(uniform, (network.architecture().vocabulary as f64).ln()));
    assert_eq!(read("last word").baselines[1].1, 0.25, "four different answers");
    let unknown = items.reading("last letter", &scored, 0.95).unwrap_err().to_string();
    assert!(unknown.contains("did you mean last token"), "{unknown}");
    assert!(STOP_WORDS.contains(&"the"));
}

/// Constructed so that the last token is the network's own prediction: the flags must be 1.
#[test]
fn what_the_network_predicts_is_right() {
    let (network, tokenizer) = llama();
    let folder = Folder::new();
    let mut right = 0;
    for begin in ["the oak and", "tea for", "an old", "she was", "of the hill, and", "they sat"] {
        let ids = tokenizer.encode_plain(&format!("{begin} x")).unwrap();
        let p = log_probabilities(&network, &ids[..ids.len() - 1]);
        let last = p.last().unwrap();
        let best = (0..last.len()).max_by(|a, b| last[*a].total_cmp(&last[*b])).unwrap() as u32;
        let word = tokenizer.decode(&[ids[ids.len() - 2], best]).unwrap();
        let text = format!("{begin}{word}");
        // Only where the text with that token is cut into tokens as wanted.
        if tokenizer.encode_plain(&text).unwrap() != [&ids[..ids.len() - 1], &[best]].concat()
            || text.trim_end() != text
        {
            continue;
        }
        let file = folder.with("one.txt", &text);
        let (network, items) = prepared(&file, Task::Lambada, passes(0, 0));
        assert_eq!(scores(&network, &items)[0][3], 1.0, "{text}");
        right += 1;
    }
    assert!(right > 0);
}

/// One forward pass per token, over the window that the definition names.
#[test]
fn strided_losses_are_those_of_a_pass_per_token() {
    let (network, tokenizer) = llama();
    let folder = Folder::new();
    let text = "the weights of the tokens, and the tokens of the text; it ends here and not before.";
    let file = folder.with("t.txt", text);
    let ids = tokenizer.encode_plain(text).unwrap();
    for (window, stride) in [(32, 32), (16, 16), (16, 5), (12, 1), (32, 7)] {
        let (network, items) = prepared(&file, Task::Text, passes(window, stride));
        let scored = scores(&network, &items);
        let mut sum = 0.0;
        for j in 1..ids.len() {
            // The first window that reaches token j, as its prediction.
            let k = (0..).find(|k| k * stride + window >= j).unwrap();
            let start = k * stride;
            assert!(start == 0 || j - start > window - stride, "context of token {j}");
            let p = log_probabilities(&network, &ids[start..j]);
            sum -= p[j - start - 1][ids[j] as usize];
        }
        let [total, count] = [0, 1].map(|i| scored.iter().map(|s| s[i]).sum::<f64>());
        assert_eq!(count as usize, ids.len() - 1, "every token but the first, once");
        assert!((total - sum).abs() < 1e-3, "{window} {stride}: {total} {sum}");
        let read = |name: &str| items.reading(name, &scored, 0.9).unwrap().estimate.value;
        assert!(close(read("loss per token"), sum / count));
        assert!(close(read("loss per word"), sum / text.split_whitespace().count() as f64));
        assert!(close(read("loss per byte"), sum / text.len() as f64));
        let units = items.reading("loss per token", &scored, 0.9).unwrap().units;
        assert!(units <= (ids.len() - 2) / window + 1, "blocks of at least a window");
    }
    let read = files::read(&[&file], Task::Text).unwrap();
    for (window, stride, part) in [
        (33, 8, "window = 33: must be at most the context"),
        (1, 1, "window = 1: must be at least 2"),
        (16, 17, "stride = 17: must be from 1 to 16"),
        (16, 0, "stride = 0: must be from 1 to 16"),
    ] {
        let refused = Prepared::new(&read, &tokenizer, network.architecture(), passes(window, stride)).err();
        let refused = refused.unwrap().to_string();
        assert!(refused.contains(part), "{refused}");
    }
}

/// The tokens of <unk> are read and not counted.
#[test]
fn unknown_words_of_ptb_do_not_count() {
    let folder = Folder::new();
    let file = folder.with("ptb.txt", "the <unk> sat and the <unk> ran");
    let passes = |detokenise| Passes { detokenise, window: 32, stride: 32 };
    let (network, with) = prepared(&file, Task::Text, passes(Detokeniser::Ptb));
    let (_, without) = prepared(&file, Task::Text, passes(Detokeniser::PtbWithoutUnk));
    let (with, without) = (scores(&network, &with), scores(&network, &without));
    let (_, tokenizer) = llama();
    let unknown = tokenizer.encode_plain(" <unk>").unwrap().len() as f64;
    assert_eq!(with[0][1] - without[0][1], 2.0 * unknown);
    assert!(without[0][0] < with[0][0]);
}

/// A tokenizer as SentencePiece's are converted: a space before every text, `<s>` before its tokens, and of letters alone.
fn sentencepiece(folder: &Folder) -> PathBuf {
    let mut vocabulary = serde_json::Map::new();
    for token in ["<unk>", "<s>", "\u{2581}"].map(String::from).into_iter().chain(('a'..='z').map(String::from)) {
        vocabulary.insert(token, vocabulary.len().into());
    }
    let added = |id: u32, token: &str| {
        serde_json::json!({"id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true})
    };
    let whole = serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [added(0, "<unk>"), added(1, "<s>")],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u{2581}"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"}]},
        "pre_tokenizer": null,
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
        "decoder": null,
        "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocabulary, "merges": []}});
    folder.with("tokenizer.json", whole.to_string())
}

/// Counted by hand: a text of letters is cut into these, every space is a token, and one is before the text.
#[test]
fn a_text_is_encoded_once_and_cut_afterwards() {
    let folder = Folder::new();
    let (network, _) = llama();
    let tokenizer = Tokenizer::open(&sentencepiece(&folder)).unwrap();
    let text = folder.with("t.txt", "we see <unk> here and <unk> there");
    let count = |detokenise| {
        let passes = Passes { detokenise, window: 32, stride: 31 };
        let items = items(&text, Task::Text, passes, &network, &tokenizer);
        let scored = scores(&network, &items);
        let counts = items.reading("loss per token", &scored, 0.95).unwrap().counts;
        let get = |name: &str| counts.iter().find(|(known, _)| *known == name).unwrap().1;
        (get("tokens of the text"), get("tokens predicted"))
    };
    // 17 letters; <unk>, matched before all else, twice; the 6 spaces of the text; one before each of its three parts
    // between added tokens.
    let (tokens, predicted) = count(Detokeniser::Ptb);
    assert_eq!((tokens, predicted), (28.0, 28.0), "<s> predicts the first token");
    let (same, counted) = count(Detokeniser::PtbWithoutUnk);
    assert_eq!(same, tokens, "the same tokens are read");
    assert_eq!(tokens - counted, 4.0, "a space and <unk>, twice");
    let passage = folder.with("p.txt", "we see the sea");
    let last_words = items(&passage, Task::Lambada, passes(0, 0), &network, &tokenizer);
    let scored = scores(&network, &last_words);
    let counts = last_words.reading("loss per last word", &scored, 0.95).unwrap().counts;
    assert_eq!(counts[1], ("last tokens", 4.0), "the space and three letters");
    assert_eq!(last_words.tokens(0), 15, "<s>, a space before each word, and the letters but the last");
    let question = folder.with("q.txt", "1 a cat ran .\n2 the XXXXX ran .\tdog\t\tcat|dog|hens\n");
    let questions = items(&question, Task::Cbt, passes(0, 0), &network, &tokenizer);
    let lengths: Vec<f64> = scores(&network, &questions)[0].chunks(3).map(|s| s[1]).collect();
    assert_eq!(lengths, [4.0, 4.0, 5.0], "the space and the letters of a candidate");
}

/// The largest stride under special tokens is the default.
#[test]
fn the_default_stride_leaves_room_for_special_tokens() {
    let folder = Folder::new();
    fs::copy(gguf(), folder.0.path().join("llama.gguf")).unwrap();
    sentencepiece(&folder);
    let file = folder.with("t.txt", "we see the sea and the hill and the oak and the gulls");
    let mut settings = Evaluate::of_files(folder.0.path(), Task::Text, std::slice::from_ref(&file)).unwrap();
    assert_eq!((&settings.windows[..], &settings.strides[..]), (&[32][..], &[31][..]));
    settings.controls = false;
    assert_eq!(rows(&settings, &folder.0.path().join("out"), 1).lines().count(), 3);
    settings.set_windows(vec![16, 8]).unwrap();
    assert_eq!(settings.strides, [15, 7]);
    let plain = Evaluate::of_files(&gguf(), Task::Text, std::slice::from_ref(&file)).unwrap();
    assert_eq!(plain.strides, [32], "no special tokens");
    let tokenizer = Tokenizer::open(folder.0.path()).unwrap();
    let read = files::read(&[&file], Task::Text).unwrap();
    let refused = Prepared::new(&read, &tokenizer, llama().0.architecture(), passes(16, 16)).err();
    let refused = refused.unwrap().to_string();
    for part in ["stride = 16: must be from 1 to 15", "Write --stride 15"] {
        assert!(refused.contains(part), "{refused}");
    }
}

const QUESTION: &str = "1 the cat sat .\n2 a dog ran .\n3 the XXXXX ran off .\tdog\t\tcat|dog|hen\n";

#[test]
fn cloze_questions_are_scored_as_defined() {
    let folder = Folder::new();
    let file = folder.with("q.txt", QUESTION);
    let hub = folder.with(
        "q.jsonl",
        r#"{"sentences": ["the cat sat .", "a dog ran ."], "question": "the XXXXX ran off .", "answer": "dog", "options": ["cat", "dog", "hen"]}"#,
    );
    let (a, b) = (files::read(&[&file], Task::Cbt).unwrap(), files::read(&[&hub], Task::Cbt).unwrap());
    let (Read::Questions(a), Read::Questions(b)) = (a, b) else { panic!("questions") };
    assert_eq!(a[0].value, b[0].value, "both forms are the same question");
    // cat and dog once, hen never.
    assert_eq!(a[0].value.most_frequent(), [0, 1]);
    let (network, items) = prepared(&file, Task::Cbt, passes(0, 0));
    let (_, tokenizer) = llama();
    let context = network.architecture().context;
    let scored = scores(&network, &items);
    assert_eq!(scored[0].len(), 9);
    // The longest sequence decides how much of the passage fits.
    let full = |c: &str| tokenizer.encode_plain(&format!("the cat sat . a dog ran . the {c} ran off .")).unwrap();
    let longest = ["cat", "dog", "hen"].map(|c| full(c).len()).into_iter().max().unwrap();
    let drop = longest.saturating_sub(context + 1);
    assert_eq!(items.shortened(), usize::from(drop > 0));
    let before = tokenizer.encode_plain("the cat sat . a dog ran . the").unwrap().len() - drop;
    let mut expected = vec![];
    for (i, candidate) in ["cat", "dog", "hen"].iter().enumerate() {
        let ids = &full(candidate)[drop..];
        let length = tokenizer.encode_plain(&format!(" {candidate}")).unwrap().len();
        let p = log_probabilities(&network, &ids[..ids.len() - 1]);
        let sum = |to: usize| (before..to).map(|t| p[t - 1][ids[t] as usize]).sum::<f64>();
        let scores = [sum(before + length), length as f64, sum(ids.len())];
        for (j, expected) in scores.iter().enumerate() {
            assert!(close(scored[0][3 * i + j], *expected), "{candidate} {j}: {scored:?} {scores:?}");
        }
        expected.push([scores[0], scores[0] / scores[1], scores[2]]);
    }
    for (r, name) in Task::Cbt.readings().iter().enumerate() {
        let best = (0..3).max_by(|a, b| expected[*a][r].total_cmp(&expected[*b][r])).unwrap();
        let read = items.reading(name, &scored, 0.95).unwrap();
        assert_eq!(read.estimate.value, f64::from(u8::from(best == 1)), "{name}");
        assert!(close(read.baselines[0].1, 1.0 / 3.0) && read.baselines[1].1 == 0.5);
    }
}

fn settings(file: &Path, task: Task) -> Evaluate {
    let mut settings = Evaluate::of_files(&gguf(), task, &[file.to_path_buf()]).unwrap();
    (settings.windows, settings.strides) = (vec![16], vec![16, 8]);
    settings
}

fn rows(settings: &Evaluate, out: &Path, threads: usize) -> String {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| experiment::run(settings, out, &RunOptions::default(), &Silent).unwrap());
    fs::read_to_string(out.join("rows.jsonl")).unwrap()
}

/// The file of partial scores in a run's folder, of the first pass.
fn scores_file(out: &Path) -> PathBuf {
    let folders = fs::read_dir(out.join("checkpoints")).unwrap();
    folders.map(|f| f.unwrap().path().join("scores.jsonl")).filter(|f| f.exists()).min().unwrap()
}

#[test]
fn rows_are_the_same_for_all_threads_and_after_a_resume() {
    let folder = Folder::new();
    let file = folder.with("p.txt", PASSAGES.join("\n"));
    for task in [Task::Lambada, Task::Text] {
        let settings = settings(&file, task);
        let out = |name: &str| folder.0.path().join(format!("{}-{name}", task.name()));
        let expected = rows(&settings, &out("one"), 1);
        assert_eq!(expected, rows(&settings, &out("two"), 2));
        // Killed in the middle of a pass: rows are gone, the scores of the first items are there, the last torn.
        fs::remove_file(out("one").join("rows.jsonl")).unwrap();
        let file = scores_file(&out("one"));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, &text[..text.len() / 2]).unwrap();
        assert_eq!(expected, rows(&settings, &out("one"), 2));
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        // They are used: others give other rows.
        fs::remove_file(out("one").join("rows.jsonl")).unwrap();
        let first = text.lines().next().unwrap().len();
        fs::write(&file, format!("[99.0, 1.0, 0.0, 0.0, 0.0]{}", &text[first..])).unwrap();
        assert_ne!(expected, rows(&settings, &out("one"), 2));
    }
}

#[test]
fn limits_and_samples_choose_items() {
    let folder = Folder::new();
    let file = folder.with("p.txt", PASSAGES.join("\n"));
    let mut settings = settings(&file, Task::Lambada);
    (settings.limit, settings.controls) = (2, false);
    let number = |rows: &str, name: &str| {
        let row: serde_json::Value = serde_json::from_str(rows.lines().nth(3).unwrap()).unwrap();
        row["data"][name].as_f64().unwrap()
    };
    let first = rows(&settings, &folder.0.path().join("first"), 1);
    assert_eq!((number(&first, "items"), number(&first, "items_of")), (2.0, 4.0));
    settings.sample = Sample::Random;
    let losses: Vec<u64> = (0..6)
        .map(|seed| {
            settings.control_seed = seed;
            number(&rows(&settings.clone(), &folder.0.path().join(format!("s{seed}")), 1), "value").to_bits()
        })
        .collect();
    assert!(losses.iter().any(|x| *x != losses[0]), "seeds draw different samples");
}
