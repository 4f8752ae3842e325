//! A run knows every file that it was computed from: whichever changes, appears or goes, its folder is refused.
//!
//! The files are those that `run.json` lists, so that a new kind of input is tried too. That the list is complete is the
//! matter of `layering.rs` (no file is opened elsewhere) and of the names that a command must list here.

use crate::common::{attnlab, root, stderr};
use attnlab::run::store::Manifest;
use attnlab_core::input::{ABSENT, Input};
use attnlab_core::rng::hash;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A command that writes a folder, and the files that it must list.
struct Case {
    folder: TempDir,
    words: Vec<String>,
    listed: &'static [&'static str],
}

impl Case {
    /// `words` name files of the folder as `@NAME`.
    fn new(folder: TempDir, words: &[&str], listed: &'static [&'static str]) -> Self {
        let place = |word: &&str| word.replace('@', &format!("{}/", folder.path().display()));
        let words = words.iter().map(place).collect();
        Case { folder, words, listed }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Runs the command; returns its exit status and standard error.
    fn run(&self, more: &[&str]) -> (Option<i32>, String) {
        let out = self.out().display().to_string();
        let words = self.words.iter().map(String::as_str).chain(["--out", &out]).chain(more.iter().copied());
        let output = attnlab(&words.collect::<Vec<_>>()).output().unwrap();
        (output.status.code(), stderr(&output))
    }

    fn rows(&self) -> Vec<u8> {
        fs::read(self.out().join("rows.jsonl")).unwrap()
    }

    fn inputs(&self) -> Vec<Input> {
        Manifest::of_folder(&self.out()).unwrap().inputs
    }

    #[track_caller]
    fn succeeds(&self) {
        let (status, error) = self.run(&[]);
        assert_eq!(status, Some(0), "{:?}: {error}", self.words);
    }

    /// The folder is refused, names the file, and keeps its rows.
    #[track_caller]
    fn is_refused(&self, path: &str, part: &str) {
        let rows = self.rows();
        let (status, error) = self.run(&[]);
        assert_eq!(status, Some(2), "{:?}: {path}: {error}", self.words);
        assert!(error.contains(path) && error.contains(part), "{:?}: {path}: {error}", self.words);
        assert_eq!(self.rows(), rows, "{:?}: {path}", self.words);
    }

    /// Tries every input that the run lists.
    fn every_input_counts(&self) {
        self.succeeds();
        let (inputs, rows) = (self.inputs(), self.rows());
        for name in self.listed {
            let is_listed = inputs.iter().any(|i| i.path.ends_with(name) && i.content.starts_with("sha256:"));
            assert!(is_listed, "{:?}: {name} is not in {inputs:?}", self.words);
        }
        for Input { path, content, .. } in &inputs {
            let file = Path::new(path);
            assert!(file.starts_with(self.folder.path()), "{:?}: {path} is not of the user", self.words);
            if content == ABSENT {
                if file.parent().is_some_and(Path::is_dir) {
                    fs::write(file, "{}").unwrap();
                    self.is_refused(path, "");
                    fs::remove_file(file).unwrap();
                }
                continue;
            }
            if !file.is_file() {
                continue;
            }
            let bytes = fs::read(file).unwrap();
            for place in [0, bytes.len() / 2, bytes.len() - 1] {
                let mut other = bytes.clone();
                other[place] ^= 1;
                fs::write(file, &other).unwrap();
                self.is_refused(path, "");
            }
            fs::remove_file(file).unwrap();
            // A reader may name the folder that lacks it.
            self.is_refused(&file.parent().unwrap().display().to_string(), "");
            fs::write(file, &bytes).unwrap();
        }
        // The same bytes again are the same run, whatever the time of change.
        self.succeeds();
        assert_eq!((self.inputs(), self.rows()), (inputs, rows), "{:?}", self.words);
    }
}

fn data(name: &str) -> PathBuf {
    root().join("crates/networks/tests/data").join(name)
}

fn copy(from: &str, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(data(from)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

const TEXT: &str = "the oak and the hill, she saw the sea. tea for two, and an old man; the weather of the island where \
                    nobody lives but gulls. the oak and the hill, she saw the sea. tea for two, and an old man.\n";

/// The tiny Llama of the tests of networks, with a tokenizer of letters, and a text.
fn network() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let net = folder.path().join("net");
    copy("llama", &net);
    let letters = "abcdefghijklmnopqrstuvwxyz .,;\n".chars().enumerate();
    let vocabulary: serde_json::Map<String, Value> = letters.map(|(i, c)| (c.to_string(), json!(i))).collect();
    let model = json!({"type": "BPE", "vocab": vocabulary, "merges": []});
    let tokenizer = json!({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null,
        "post_processor": null, "decoder": null, "model": model});
    fs::write(net.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    fs::write(folder.path().join("text.txt"), TEXT).unwrap();
    folder
}

/// A draw of Definition 1 in NumPy files.
fn draw() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let sizes = ["--tokens", "80", "--clusters", "2", "--dim", "12", "--delta", "0.05"];
    assert_eq!(attnlab(&[&["sample", "--out", &out], &sizes[..]].concat()).output().unwrap().status.code(), Some(0));
    folder
}

/// `evaluate` of a folder: configuration, tokenizer, tensors, text; and what is looked for beside them.
fn evaluation() -> Case {
    let words = ["evaluate", "@net", "--task", "text", "--data", "@text.txt", "--window", "16", "--no-controls"];
    Case::new(network(), &words, &["net/config.json", "net/model.safetensors", "net/tokenizer.json", "text.txt"])
}

/// `inspect` of arrays with all that is known of them.
fn inspection() -> Case {
    let words = ["inspect", "--activations", "@z.npy", "--tokens-are", "columns", "--bases", "@u0.npy", "@u1.npy"];
    let words = [&words[..], &["--labels", "@y.npy", "--no-controls"]].concat();
    Case::new(draw(), &words, &["z.npy", "u0.npy", "u1.npy", "y.npy"])
}

fn inspections_of_networks() -> [Case; 2] {
    let sizes = ["--text", "@text.txt", "--tokens", "96", "--window", "24", "--no-controls"];
    let listed = &["net/config.json", "net/model.safetensors", "net/tokenizer.json", "text.txt"];
    let alone = Case::new(network(), &[&["inspect", "@net"], &sizes[..]].concat(), listed);
    let folder = network();
    fs::copy(data("llama.gguf"), folder.path().join("llama.gguf")).unwrap();
    let words = [&["inspect", "@net", "@llama.gguf"], &sizes[..]].concat();
    let listed = &["net/config.json", "net/model.safetensors", "net/tokenizer.json", "llama.gguf", "text.txt"];
    [alone, Case::new(folder, &words, listed)]
}

/// `weights` of a network in two files, and of two checkpoints.
fn weights() -> [Case; 2] {
    let folder = tempfile::tempdir().unwrap();
    copy("llama-tied", &folder.path().join("tied"));
    let listed = &[
        "tied/model-00001-of-00002.safetensors",
        "tied/model-00002-of-00002.safetensors",
        "tied/model.safetensors.index.json",
    ];
    let tied = Case::new(folder, &["weights", "@tied"], listed);
    let folder = tempfile::tempdir().unwrap();
    for step in ["step1", "step2"] {
        copy("llama", &folder.path().join("steps").join(step));
    }
    let second = folder.path().join("steps/step2/model.safetensors");
    let mut bytes = fs::read(&second).unwrap();
    let last = bytes.len() - 1;
    // Two equal checkpoints would be refused: every tensor differs in a low bit. The header is left as it is.
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (header..=last).step_by(2).for_each(|i| bytes[i] ^= 1);
    fs::write(second, bytes).unwrap();
    [tied, Case::new(folder, &["weights", "@steps"], &["step1/model.safetensors", "step2/model.safetensors"])]
}

fn experiment_on_a_text() -> Case {
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<String> = (0..3000).map(|i| format!("w{}", (i * i) % 17)).collect();
    fs::create_dir(folder.path().join("books")).unwrap();
    for book in ["a.txt", "b.txt"] {
        fs::write(folder.path().join("books").join(book), words.join(" ")).unwrap();
    }
    let sets = ["seeds=2", "layers=[1]", "controls=[]", "steps=40", "every=20", "streams=4"];
    let sets = sets.iter().chain(&["validation_streams=2", "window=10"]).flat_map(|set| ["--set", set]);
    let words: Vec<&str> = ["run", "joma_text", "--quick", "--set", "text=@books"].into_iter().chain(sets).collect();
    Case::new(folder, &words, &["books/a.txt", "books/b.txt"])
}

const SETTINGS: &str = "trials = 2\ntokens = [40, 80]\ndim = 16\nnoise = [0.1, 0.2]\n";

fn experiment_with_settings() -> Case {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), SETTINGS).unwrap();
    Case::new(folder, &["run", "theorem1_horizon", "--config", "@mine.toml"], &["mine.toml"])
}

#[test]
fn an_evaluation_knows_its_files() {
    evaluation().every_input_counts();
}

#[test]
fn an_inspection_of_arrays_knows_its_files() {
    inspection().every_input_counts();
}

#[test]
fn an_inspection_of_networks_knows_its_files() {
    inspections_of_networks().iter().for_each(Case::every_input_counts);
}

#[test]
fn a_run_on_weights_knows_its_files() {
    weights().iter().for_each(Case::every_input_counts);
}

#[test]
fn an_experiment_on_a_text_knows_its_files() {
    let case = experiment_on_a_text();
    case.every_input_counts();
    // Another book is read since.
    let more = case.folder.path().join("books/c.txt");
    fs::write(&more, "w1 w2").unwrap();
    case.is_refused(more.to_str().unwrap(), "which is read now");
}

/// Random changes of one byte, of any input of any of these runs: none gives an old number.
#[test]
fn a_random_byte_of_a_random_input_counts() {
    const CHANGES: u32 = 50;
    let mut cases = vec![evaluation(), inspection(), experiment_on_a_text(), experiment_with_settings()];
    cases.extend(inspections_of_networks().into_iter().chain(weights()));
    #[cfg(feature = "train")]
    cases.extend(trainings());
    let is_read = |input: &Input| input.content != ABSENT && Path::new(&input.path).is_file();
    let finished = cases.iter().map(|case| {
        case.succeeds();
        (case, case.inputs().into_iter().filter(is_read).collect::<Vec<_>>(), case.rows())
    });
    let finished: Vec<_> = finished.collect();
    for change in 0..CHANGES {
        let draw = |what: &str, below: usize| hash(format!("{what} of change {change}").as_bytes()) as usize % below;
        let (case, inputs, rows) = &finished[draw("run", finished.len())];
        let path = &inputs[draw("input", inputs.len())].path;
        let bytes = fs::read(path).unwrap();
        let mut other = bytes.clone();
        other[draw("place", bytes.len())] ^= 1 + draw("byte", 255) as u8;
        fs::write(path, other).unwrap();
        // Settings of other values need not name their file.
        let (status, error) = case.run(&[]);
        assert!(status.is_some_and(|status| status != 0), "{:?}: change {change} of {path}: {error}", case.words);
        assert!(case.rows() == *rows, "{:?}: change {change} of {path}", case.words);
        fs::write(path, bytes).unwrap();
    }
    for (case, _, rows) in &finished {
        case.succeeds();
        assert!(case.rows() == *rows, "{:?}", case.words);
    }
}

/// Trainings on files: documents with a tokenizer, and images with labels.
#[cfg(feature = "train")]
fn trainings() -> [Case; 2] {
    fn with_sets<'a>(words: [&'a str; 3], sets: &[&[&'a str]]) -> Vec<&'a str> {
        words.into_iter().chain(sets.concat().into_iter().flat_map(|set| ["--set", set])).collect()
    }
    let plan = ["plan.steps=6", "plan.batch=8", "plan.report_every=3", "plan.checkpoint_every=3"];
    let sizes = ["layers=1", "width=16", "heads=2", "sigma=0.25"];

    let folder = network();
    fs::write(folder.path().join("documents.txt"), format!("{TEXT}<|endoftext|>\n").repeat(40)).unwrap();
    // The letter z ends a document.
    let of_text = ["text=@documents.txt", "tokenizer=@net", "end_of_text=z", "vocabulary=64", "context=12"];
    let more = ["networks=[\"gpt2\"]", "evaluation.sequences=40", "evaluation.activations=4"];
    let words = with_sets(["train", "language", "--quick"], &[&of_text, &more, &plan, &sizes]);
    let language = Case::new(folder, &words, &["documents.txt", "net/tokenizer.json"]);

    let folder = tempfile::tempdir().unwrap();
    let create = |name: &str| fs::File::create(folder.path().join(name)).unwrap();
    let level = |(i, j, k): (usize, usize, usize)| (60 + 120 * (i % 2) + j + 2 * k) as u8;
    attnlab::npy::write(&attnlab::ndarray::Array3::from_shape_fn((40, 20, 20), level), create("images.npy")).unwrap();
    let label = |i: usize| (i % 2) as u8;
    attnlab::npy::write(&attnlab::ndarray::Array1::from_shape_fn(40, label), create("labels.npy")).unwrap();
    let of_images = ["images=@images.npy", "validation=0.2", "side=16", "patch=4", "maps.judged=6", "maps.images=1"];
    let more = ["networks=[\"aot-v\",\"neighbours\"]"];
    let words = with_sets(["train", "vision", "--quick"], &[&of_images, &more, &plan, &sizes]);
    [language, Case::new(folder, &words, &["images.npy", "labels.npy"])]
}

#[cfg(feature = "train")]
#[test]
fn a_training_knows_its_files() {
    trainings().iter().for_each(Case::every_input_counts);
}

/// Settings are named by their values: the same values by another way go on, also where the file has become another's.
#[test]
fn a_file_of_settings_counts_where_it_is_given() {
    let case = experiment_with_settings();
    let file = case.folder.path().join("mine.toml");
    case.succeeds();
    fs::write(&file, format!("{SETTINGS}# A remark.\n")).unwrap();
    case.is_refused(file.to_str().unwrap(), "has changed since");
    fs::write(&file, SETTINGS.replace("16", "17")).unwrap();
    case.is_refused("dim = 16", "dim = 17");
    let sets = ["trials=2", "tokens=[40,80]", "dim=16", "noise=[0.1,0.2]"].iter().flat_map(|set| ["--set", set]);
    let words = ["run", "theorem1_horizon"].into_iter().chain(sets).map(String::from).collect();
    Case { words, ..case }.succeeds();
}

/// Changes that leave every number as it is are changes too, and the message says what, how and what to do.
#[test]
fn the_message_names_kind_file_hashes_and_advice() {
    let case = evaluation();
    case.succeeds();
    let file = case.folder.path().join("net/config.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen('{', "{ ", 1)).unwrap();
    let path = file.display().to_string();
    case.is_refused(&path, "it holds a run on another config.json file: ");
    case.is_refused(&path, "has changed since (sha256 ");
    case.is_refused(&path, "Choose another folder with --out, or write --force");
    // With --force the folder is that of the new file.
    assert_eq!(case.run(&["--force"]).0, Some(0));
    case.succeeds();
    fs::write(&file, text).unwrap();
    case.is_refused(&path, "has changed since");

    let case = inspection();
    case.succeeds();
    let labels = case.folder.path().join("y.npy");
    let mut bytes = fs::read(&labels).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&labels, bytes).unwrap();
    case.is_refused(labels.to_str().unwrap(), "it holds a run on another labels file: ");
}

/// A path may be written otherwise: the run goes on, under the identity that it began with.
#[test]
fn the_spelling_of_a_path_does_not_matter() {
    for (case, name) in [(evaluation(), "net"), (inspection(), "z.npy")] {
        case.succeeds();
        let before = (fs::read(case.out().join(Manifest::FILE)).unwrap(), case.rows());
        let folder = case.folder.path().display().to_string();
        let respelled = |word: &String| match word.strip_prefix(&folder) {
            Some(rest) => format!("{folder}/./../{}{rest}", case.folder.path().file_name().unwrap().display()),
            None => word.clone(),
        };
        let words = case.words.iter().map(respelled).collect();
        let respelled = Case { words, ..case };
        respelled.succeeds();
        let after = (fs::read(respelled.out().join(Manifest::FILE)).unwrap(), respelled.rows());
        assert!(before == after, "{name}");
    }
}

/// A folder of an earlier version names no inputs: its rows may be of other files.
#[test]
fn a_folder_that_names_no_inputs_is_refused() {
    let case = inspection();
    case.succeeds();
    let file = case.out().join(Manifest::FILE);
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    manifest.as_object_mut().unwrap().remove("inputs").unwrap();
    fs::write(&file, manifest.to_string()).unwrap();
    case.is_refused("run.json", "a run whose input files");
}

/// Shards list the same inputs, and the folder of all of them is that of the whole run.
#[test]
fn merged_shards_list_the_inputs() {
    let case = evaluation();
    case.succeeds();
    let (whole, rows) = (fs::read(case.out().join(Manifest::FILE)).unwrap(), case.rows());
    fs::remove_dir_all(case.out()).unwrap();
    for shard in ["0/2", "1/2"] {
        let (status, error) = case.run(&["--shard", shard]);
        assert_eq!(status, Some(0), "{error}");
    }
    let out_of_all = case.folder.path().join("all").display().to_string();
    let merged = attnlab(&["merge", &case.out().display().to_string(), "--out", &out_of_all]).output().unwrap();
    assert_eq!(merged.status.code(), Some(0), "{}", stderr(&merged));
    assert_eq!(fs::read(Path::new(&out_of_all).join(Manifest::FILE)).unwrap(), whole);
    assert_eq!(fs::read(Path::new(&out_of_all).join("rows.jsonl")).unwrap(), rows);
}

/// Files that a trial opens are listed before its row is written; a kill after it leaves them in the list.
#[test]
fn inputs_of_trials_are_listed_with_their_rows() {
    use attnlab::run::store::{Opening, Row, Shard, Store};
    use attnlab_core::input::{self, Inputs};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("late.txt");
    fs::write(&file, "abc").unwrap();
    for shard in [Shard::WHOLE, Shard { index: 1, count: 3 }] {
        let out = folder.path().join(shard.file());
        let manifest = Manifest::new("demo", 1, serde_json::Map::new());
        let row = |trial| Row::new(&manifest, 7, trial, serde_json::Map::new(), serde_json::Map::new());
        let opening = Opening { shard, ..Opening::default() };
        Inputs::default().within(|| {
            let store = Store::open(&out, &manifest, &opening).unwrap();
            store.append(&row(0)).unwrap();
            assert!(Manifest::of_folder(&out).unwrap().inputs.is_empty());
            input::read("text", &file).unwrap();
            store.append(&row(1)).unwrap();
        });
        let inputs = Manifest::of_folder(&out).unwrap().inputs;
        assert_eq!((inputs.len(), inputs[0].path.as_str()), (1, file.to_str().unwrap()));
        // Also in a process that opens nothing.
        assert!(Store::open(&out, &manifest, &opening).is_ok());
        fs::write(&file, "abd").unwrap();
        let refused = Store::open(&out, &manifest, &opening).err().unwrap().to_string();
        assert!(refused.contains("another text file") && refused.contains("late.txt"), "{refused}");
        let forced = Store::open(&out, &manifest, &Opening { force: true, ..opening }).unwrap();
        assert!(!forced.holds(7, 1));
        drop(forced);
        assert!(Manifest::of_folder(&out).unwrap().inputs.is_empty());
        fs::write(&file, "abc").unwrap();
    }
}
