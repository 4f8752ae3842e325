//! Networks that `train language` trained, opened by the readers of real networks: their forward pass is that of the
//! training, and they can be inspected.

use crate::configured::{complete, configured};
use crate::data;
use crate::drawn::command;
use attnlab_aot::experiments::language::Language;
use attnlab_core::rng::Streams;
use attnlab_lab::experiment::Described;
use attnlab_lab::run::store;
use attnlab_networks::transformer::{HeadMaps, Recordings, TransformerArchitecture};
use attnlab_networks::{Checkpoint, Tokenizer, Transformer};
use attnlab_train::model::{ComputeDevice, Recording};
use attnlab_train::training;
use std::fs;
use std::path::{Path, PathBuf};

const TINY: &str = "
networks = [\"aot-mssa\", \"aot-mhsa\", \"aot-tied\", \"hybrid\", \"full-mlp\", \"gpt2\", \"llama\", \"llama-aot\"]
seeds = 2
vocabulary = 256
order = 1
context = 16
layers = 2
width = 16
heads = 2
sigma = 0.25
plan.steps = 12
plan.batch = 4
plan.report_every = 6
plan.checkpoint_every = 6
plan.rate.peak = 0.01
evaluation.sequences = 8
evaluation.activations = 2
";

/// Trains on a text of bytes; returns the folders of the checkpoints.
fn trained(folder: &Path, more: &str) -> Vec<PathBuf> {
    let text = folder.join("text.txt");
    let words = ["the ", "token ", "é ", "attends\n", "to ", "others. "];
    let written: String = (0..3000).map(|i| words[i * i % 7 % 6]).collect();
    fs::write(&text, written).unwrap();
    trained_on(folder, &text, more)
}

fn trained_on(folder: &Path, text: &Path, more: &str) -> Vec<PathBuf> {
    let text = format!("text = {:?}", text.display().to_string());
    let (defaults, more): (Vec<&str>, Vec<&str>) = (TINY.lines().collect(), more.lines().chain([&*text]).collect());
    complete(&*configured(Language::NAME, &defaults, &more).unwrap(), &folder.join("run"));
    let folders = fs::read_dir(folder.join("run/checkpoints")).unwrap();
    // The first seed of each network.
    folders.map(|f| f.unwrap().path()).filter(|f| f.to_string_lossy().ends_with("-0")).collect()
}

/// Largest difference relative to the largest number.
fn distance(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> f64 {
    let pairs: Vec<(f64, f64)> = a.zip(b).collect();
    let largest = pairs.iter().fold(0.0_f64, |m, (a, _)| m.max(a.abs()));
    pairs.iter().fold(0.0_f64, |m, (a, b)| m.max((a - b).abs())) / largest
}

/// Residual streams, weights and logits of every kind of network against burn's. Both are in f32, so they agree to some
/// thousand roundings.
#[test]
fn networks_trained_here_are_opened_and_compute_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let folders = trained(folder.path(), "");
    assert_eq!(folders.len(), 8);
    let ids: Vec<u32> = b"the token att\xc3\xa9\n".iter().map(|b| u32::from(*b)).collect();
    let mut forms = vec![];
    for path in &folders {
        let opened = Transformer::open(path).unwrap();
        forms.push((opened.architecture().form, opened.architecture().attention_only_from));
        let checkpoint = training::Checkpoint::network(path, &ComputeDevice::cpu()).unwrap();
        assert_eq!(checkpoint.step, 12);
        let stored = checkpoint.model.config().parameters() as u64;
        assert_eq!(opened.architecture().parameters(), stored);
        let wanted = Recordings::named(&["residual", "weights", "logits"]).unwrap();
        let recorded = opened.forward(&ids, &wanted).unwrap();
        let mut recording = Recording::keeping([""]);
        let tokens = ids.iter().map(|i| i64::from(*i)).collect();
        let tokens = checkpoint.model.device().token_ids(tokens, [1, ids.len()]);
        checkpoint.model.frozen().hidden(tokens, &mut recording).unwrap();
        for (l, layer) in recorded.layers.iter().enumerate() {
            let name = |part: &str| format!("blocks.{l}.{part}");
            let output = recording.get(&name("output")).unwrap().tokens(0).unwrap();
            let residual = layer.residual.as_ref().unwrap();
            let far = distance(output.iter().copied(), residual.iter().map(|x| f64::from(*x)));
            assert!(far < 1e-4, "{:?} block {l}: {far}", opened.architecture());
            // (head, query, key) there, (key, query) per head here.
            let weights = &recording.get(&name("weights")).unwrap().values;
            let n = ids.len();
            let ours = (0..2 * n * n).map(|i| {
                let (head, query, key) = (i / (n * n), i / n % n, i % n);
                f64::from(layer.weights[head][[key, query]])
            });
            let far = distance(weights.iter().copied(), ours);
            assert!(far < 1e-4, "weights of block {l}: {far}");
        }
        let last = recording.get("final").unwrap().tokens(0).unwrap();
        let opened_last = recorded.last.unwrap();
        let far = distance(last.iter().copied(), opened_last.iter().map(|x| f64::from(*x)));
        assert!(far < 1e-4, "last: {far}");
        // The control has one map where the network has one.
        let control = opened.untrained(&Streams::new(1, "untrained", 0, 0));
        let head = control.head_matrices(1, 1).unwrap();
        let shared = opened.architecture().form.maps != HeadMaps::Separate;
        assert_eq!(head.query == head.value, shared);
        if let HeadMaps::Tied { eta } = opened.architecture().form.maps {
            assert_eq!(head.output, head.value.t().mapv(|u| eta as f32 * u));
        }
    }
    // MSSA with queries of unit length, MHSA, Eq. (4), and an MLP in none, half and all blocks.
    let with = |maps: fn(&HeadMaps) -> bool| forms.iter().any(|(form, _)| maps(&form.maps));
    assert!(with(|m| *m == HeadMaps::Shared) && with(|m| *m == HeadMaps::Separate));
    assert!(with(|m| matches!(m, HeadMaps::Tied { .. })));
    for first in [Some(0), Some(1), None] {
        assert!(forms.iter().any(|(_, from)| *from == first), "{first:?}");
    }
    assert!(forms.iter().any(|(form, _)| form.unit_queries && !form.scaled));
}

/// The newest of two checkpoints counts, without the averages of the optimiser; the tokens of a text are its bytes; and
/// `inspect` takes network and text.
#[test]
fn a_network_trained_here_can_be_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let folders = trained(folder.path(), "networks = [\"aot-mssa\"]");
    let [path] = &folders[..] else { panic!("one training") };
    let names = Checkpoint::open(path).unwrap();
    assert!(names.names().all(|name| name.starts_with("parameters.")));
    let tokenizer = Tokenizer::open(path).unwrap();
    let text = "Of é and\ta\u{0}\u{7f}»\u{ad}\u{100}\n";
    let bytes: Vec<u32> = text.bytes().map(u32::from).collect();
    assert_eq!(tokenizer.encode(text).unwrap(), bytes);
    assert_eq!(tokenizer.decode(&bytes).unwrap(), text);
    let text = folder.path().join("text.txt");
    let out = folder.path().join("inspected");
    let [network, text, out] = [path, &text, &out].map(|p| p.to_str().unwrap());
    let sizes = ["--tokens", "64", "--no-controls", "--most-clusters", "2"];
    let arguments = ["inspect", network, "--text", text, "--out", out];
    command(&[&arguments[..], &sizes].concat()).unwrap();
    let rows = store::read(Path::new(out)).unwrap().rows;
    assert_eq!(rows.len(), 3);
    // 256 tokens at most, or the context, which is 16.
    assert_eq!(rows[0].data["tokens"], 64);
    let weights = rows[1].data["weights"].as_object().unwrap();
    let named = |name: &String| name.starts_with("parameters.blocks.*.");
    assert!(weights.len() == 2 && weights.keys().all(named), "{weights:?}");
    // Settings that the reader does not know may change the computation.
    let state = path.join("step-000000012.json");
    let written = fs::read_to_string(&state).unwrap();
    for (from, to, part) in [
        ("\"mssa\"", "\"mixed\"", "attention.form = \"mixed\""),
        ("\"context\": 16", "\"contexts\": 16", "context = absent"),
        ("\"model\"", "\"network\"", "settings.model: must be there"),
        ("\"norm\": \"layer\"", "\"norm\": \"none\"", "norm = \"none\""),
    ] {
        assert!(written.contains(from), "{from}");
        fs::write(&state, written.replacen(from, to, 1)).unwrap();
        let refused = TransformerArchitecture::of_network(path).unwrap_err().to_string();
        assert!(refused.contains(part), "{refused}");
    }
    fs::write(&state, &written).unwrap();
    fs::write(path.join("step-000000012.safetensors"), b"cut").unwrap();
    assert!(Transformer::open(path).is_err());
}

/// A network that was trained with a tokenizer keeps it beside its checkpoints.
#[test]
fn a_network_has_the_tokenizer_of_its_training() {
    let folder = tempfile::tempdir().unwrap();
    let given = data("llama.gguf");
    let tokenizer = Tokenizer::open(&given).unwrap();
    let documents = folder.path().join("documents.txt");
    let passage = fs::read_to_string(data("passage.txt")).unwrap();
    fs::write(&documents, [passage.as_str(); 3].join("\n<|endoftext|>\n")).unwrap();
    let more = format!(
        "networks = [\"aot-mssa\"]\nheld_out = 0.3\nvocabulary = {}\ntokenizer = {:?}\ncontext = 8\nevaluation.sequences = 2",
        tokenizer.vocabulary(),
        given.display().to_string()
    );
    let folders = trained_on(folder.path(), &documents, &more);
    let stored = Transformer::open(&folders[0]).unwrap().tokenizer().unwrap();
    assert_eq!(stored.encode(&passage).unwrap(), tokenizer.encode(&passage).unwrap());
}
