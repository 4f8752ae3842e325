//! `attnlab inspect NETWORK --text FILE`: findings against plain definitions, windows, every file, bad input.
//!
//! The network is the tiny random Llama of `crates/networks/tests/data`, whose forward pass is held to that of Hugging
//! Face there.

use crate::data;
use crate::drawn::{Files, command};
use attnlab_aot::experiments::inspect_network::text_of;
use attnlab_aot::inspect::network::{Passes, head_bases, head_findings, shuffled, weight_findings};
use attnlab_core::npy;
use attnlab_core::rng::{Streams, hash};
use attnlab_lab::run::{Row, store};
use attnlab_networks::transformer::Recordings;
use attnlab_networks::{Checkpoint, Transformer, Windows};
use attnlab_theory::measure::{labelled_snr, nearest_subspace, stable_rank};
use ndarray::{Array1, Array2, Axis, s};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn llama() -> Transformer {
    Transformer::open(&data("llama.gguf")).unwrap()
}

fn windows(network: &Transformer, sizes: [usize; 3]) -> Result<Windows, String> {
    let text = text_of(&data("passage.txt")).unwrap();
    let tokenizer = network.tokenizer().unwrap();
    Windows::of_text(&text, &tokenizer, network.architecture(), sizes).map_err(|e| e.to_string())
}

#[test]
fn windows_cut_the_text_and_shuffling_keeps_the_frequencies() {
    let network = llama();
    let cut = windows(&network, [30, 16, 2]).unwrap();
    assert_eq!((cut.ids().len(), cut.tokens()), (32, 28));
    let shuffled = shuffled(&cut, &Streams::new(1, "t", 0, 0));
    let sorted = |w: &Windows| {
        let mut ids = w.ids().to_vec();
        ids.sort_unstable();
        ids
    };
    assert_ne!(cut.ids(), shuffled.ids());
    assert_eq!(sorted(&cut), sorted(&shuffled));
    let context = network.architecture().context;
    for (sizes, part) in [
        ([30, context + 1, 0], "at most the context"),
        ([30, 4, 4], "skip = 4"),
        ([30, 4, usize::MAX], "leave fewer than two"),
    ] {
        let refused = windows(&network, sizes).unwrap_err();
        assert!(refused.contains(part), "{refused}");
    }
}

/// Residual stream, entropy and energy are those of the plain forward pass of each window.
#[test]
fn a_place_has_the_stream_and_the_attention_of_the_forward_pass() {
    let network = llama();
    let (window, skip) = (12, 3);
    let cut = windows(&network, [24, window, skip]).unwrap();
    let ids = &cut.ids()[window..];
    let plain = network.forward(ids, &Recordings::all()).unwrap();
    let after_skip = |z: &Option<Array2<f32>>| z.as_ref().unwrap().slice(s![.., skip..]).mapv(f64::from);
    let passes = Passes::record(&network, &cut).unwrap();
    let place = |i| passes.place(i).unwrap();
    let second = s![.., window - skip..];
    assert_eq!(place(0).residual.slice(second), after_skip(&plain.embedding));
    assert!(place(0).before.is_none() && place(0).attention.is_none());
    assert!(passes.place(plain.layers.len() + 1).unwrap_err().to_string().contains("place = "));
    for (block, layer) in plain.layers.iter().enumerate() {
        let here = place(block + 1);
        assert_eq!(here.residual.slice(second), after_skip(&layer.residual));
        let before = if block == 0 { &plain.embedding } else { &plain.layers[block - 1].residual };
        assert_eq!(here.before.as_ref().unwrap().slice(second), after_skip(before));
        let attention = here.attention.unwrap();
        let ceilings = (1..=window).map(|n| (n as f64).ln()).sum::<f64>() / window as f64;
        assert!((attention.ceiling - ceilings).abs() < 1e-12);
        for (head, weights) in layer.weights.iter().enumerate() {
            let entropy = |w: &f32| if *w > 0.0 { -f64::from(*w * w.ln()) } else { 0.0 };
            let plain: f64 = weights.iter().map(entropy).sum::<f64>() / window as f64;
            assert!((attention.entropy[[head, 1]] - plain).abs() < 1e-4);
            let energy = |j: usize| {
                let scores = layer.scores[head].slice(s![..=j, j]);
                -(scores.mapv(|x| f64::from(x).exp()).sum() / (j + 1) as f64).ln()
            };
            let plain: f64 = (0..window).map(energy).sum::<f64>() / window as f64;
            assert!((attention.energy[[head, 1]] - plain).abs() < 1e-5);
            let plain = weights.slice(s![0, 1..]).mapv(f64::from).mean().unwrap();
            assert!((attention.sink[[head, 1]] - plain).abs() < 1e-6);
            let others = |j: usize| {
                let others = weights.slice(s![1.., j]).mapv(f64::from);
                let scaled = &others / others.sum();
                scaled.iter().filter(|w| **w > 0.0).map(|w| -w * w.ln()).sum::<f64>()
            };
            // The first query sees the first token alone.
            let plain = (1..window).map(others).sum::<f64>() / window as f64;
            assert!((attention.entropy_without_sink[[head, 1]] - plain).abs() < 1e-4);
        }
        let findings = attention.findings(0.95).unwrap();
        for name in ["entropy", "energy", "sink", "entropy_without_sink"] {
            let end = |end: &str| findings[&format!("{name}{end}")].as_f64().unwrap();
            assert!(end("_low") < end("") && end("") < end("_high"), "{name}");
            let list = |end: &str| findings[&format!("{name}_by_head{end}")].as_array().unwrap();
            assert_eq!((list("").len(), list("_low").len()), (layer.weights.len(), layer.weights.len()));
            let mean = list("").iter().filter_map(Value::as_f64).sum::<f64>() / list("").len() as f64;
            assert!((mean - end("")).abs() < 1e-12, "{name}");
        }
    }
}

#[test]
fn heads_and_weights_are_those_of_the_plain_definitions() {
    let network = llama();
    let cut = windows(&network, [48, 12, 0]).unwrap();
    let passes = Passes::record(&network, &cut).unwrap();
    let here = passes.place(2).unwrap();
    let streams = Streams::new(1, "t", 0, 0);
    let heads = head_findings(&network, &here, 0.95, &streams).unwrap().unwrap();
    let bases = head_bases(&network, 1).unwrap();
    assert_eq!(bases.len(), network.architecture().kv_heads);
    let value = network.value_map(1, 0).unwrap().mapv(f64::from);
    // Its rows lie in the span of the basis.
    let rest = &value.t() - &bases[0].dot(&bases[0].t().dot(&value.t()));
    assert!(rest.iter().all(|x| x.abs() < 1e-6));
    let before = here.before.as_ref().unwrap();
    let labels = nearest_subspace(before.view(), &bases);
    let number = |name: &str| heads[name].as_f64().unwrap();
    let snr = |z: &Array2<f64>| labelled_snr(z.view(), &bases, &labels);
    assert!((number("all_before") - snr(before)).abs() < 1e-12);
    assert!((number("all_after") - snr(&here.residual)).abs() < 1e-12);
    assert!((number("factor") - snr(&here.residual) / snr(before)).abs() < 1e-12);
    for name in ["all_before", "all_after", "factor", "chance_before", "chance_after", "chance_factor"] {
        let (low, high) = (number(&format!("{name}_low")), number(&format!("{name}_high")));
        assert!(low < number(name) && number(name) < high, "{name}");
    }
    // Random subspaces of p of d dimensions hold a share near p/d of a token: SNR² near p/(d − p), and more since the
    // best of K is taken.
    assert!(number("chance_before") > 0.3 && number("chance_before") < 2.0);
    let mut centred = passes.place(2).unwrap();
    let mean = centred.residual.mean_axis(Axis(1));
    centred.centre(mean.as_ref());
    let mean = centred.before.unwrap().mean_axis(Axis(1)).unwrap();
    assert!(mean.iter().all(|x| x.abs() < 1e-12));
    let cosines = bases[0].t().dot(&bases[1]);
    let gram = cosines.t().dot(&cosines);
    let (squares, _) = attnlab_core::linalg::symmetric_eigen(gram.view()).unwrap();
    let most = squares.iter().copied().fold(0.0, f64::max).sqrt();
    assert!(number("coherence") >= most - 1e-9 && number("coherence") <= 1.0 + 1e-9);
    let path = data("llama.gguf");
    let weights = weight_findings(&path, 1, &streams).unwrap();
    let file = Checkpoint::open(&path).unwrap();
    let weights = weights.as_object().unwrap();
    assert!(weights.len() >= 7, "{weights:?}");
    for (kind, findings) in weights {
        let matrix = file.matrix(&kind.replace('*', "1")).unwrap();
        let plain = stable_rank(matrix.view()).unwrap();
        assert!((findings["stable_rank"].as_f64().unwrap() / plain - 1.0).abs() < 1e-8);
    }
    let embedding = passes.place(0).unwrap();
    assert!(head_findings(&network, &embedding, 0.95, &streams).unwrap().is_none());
}

/// With a mean subtracted, the heads are held against tokens about that mean, before the block about that of its tokens.
#[test]
fn heads_are_held_against_centred_tokens() {
    let network = llama();
    let cut = windows(&network, [48, 12, 0]).unwrap();
    let passes = Passes::record(&network, &cut).unwrap();
    let (mut here, plain) = (passes.place(2).unwrap(), passes.place(2).unwrap());
    here.centre(None);
    assert_eq!(here.residual, plain.residual);
    let mean = Array1::from_elem(here.residual.nrows(), 0.25);
    here.centre(Some(&mean));
    assert_eq!(here.residual, &plain.residual - 0.25);
    let before = here.before.unwrap();
    assert!(before.mean_axis(Axis(1)).unwrap().iter().all(|x| x.abs() < 1e-6));
    let differences = &plain.before.unwrap() - &before;
    assert!((&differences.column(0) - &differences.column(5)).iter().all(|x| x.abs() < 1e-6));
}

fn rows_of(out: &str) -> Vec<Row> {
    store::read(Path::new(out)).unwrap().rows
}

fn inspect(files: &Files, arguments: &[&str]) -> Result<Vec<Row>, String> {
    let (network, out) = (data("llama.gguf"), files.path_of("network"));
    command(&[&["inspect", network.to_str().unwrap(), "--out", &out], arguments].concat())?;
    Ok(rows_of(&out))
}

#[test]
fn every_place_and_control_has_a_row_and_everything_is_written() {
    let files = Files::small();
    let text = data("passage.txt");
    let sizes = ["--text", text.to_str().unwrap(), "--tokens", "96", "--window", "24"];
    let rows = inspect(&files, &sizes).unwrap();
    let out = files.path_of("network");
    let places = llama().architecture().layers + 1;
    assert_eq!(rows.len(), 3 * places);
    let variants: Vec<&str> = rows.iter().map(|r| r.word("variant").unwrap()).collect();
    assert_eq!(variants[0], "trained");
    assert_eq!(variants[3 * places - 1], "shuffled");
    for row in &rows {
        let trained = row.word("variant").unwrap() == "trained";
        let block = row.parameter("place").unwrap() > 0.0;
        assert_eq!(row.data.contains_key("weights"), trained && block);
        assert_eq!(row.data.contains_key("attention"), block);
        assert!(row.data.contains_key("labels"));
        // The power against the size of the heads is that of all places; that against the fit is the network's own.
        assert_eq!(row.data["power_heads"], rows[0].data["power_heads"]);
        assert!(!row.data["power_heads"].is_null());
        assert!(trained || row.data["verdict"] == "consistent" || row.data["power"].is_null());
        assert!(row.data["horizon_of"].as_str().unwrap().contains("subspaces"));
    }
    let figures = ["inspect_network.png", "inspect_network_heads.png", "inspect_network_weights.png"];
    for name in [&["rows.csv", "inspect.html"], &figures[..]].concat() {
        assert!(Path::new(&out).join(name).exists(), "{name}");
    }
    let page = fs::read_to_string(Path::new(&out).join("inspect.html")).unwrap();
    let words = ["Summary", "3 places: ", "Controls: random weights, ", "All places together", "Heads and attention"];
    for word in [&words[..], &["Attention by head", "SNR by subspace", "tokens shuffled", "<svg"]].concat() {
        assert!(page.contains(word), "{word}");
    }
    // The same again computes nothing; other options ask for another folder.
    assert_eq!(inspect(&files, &[&sizes[..], &["--json"]].concat()).unwrap(), rows);
    let refused = inspect(&files, &[&sizes[..], &["--skip", "1"]].concat());
    assert!(refused.unwrap_err().contains("--force"));
    // Refused with --force too, before the rows that are there are deleted.
    let most = rows[0].number("tokens").unwrap() / 2.0;
    let refused = inspect(&files, &[&sizes[..], &["--clusters", &format!("{}", most + 1.0), "--force"]].concat());
    assert!(refused.unwrap_err().contains("half the number of tokens"));
    assert_eq!(rows_of(&out), rows);
    let alone = ["--skip", "1", "--centre", "--no-controls", "--force"];
    let rows = inspect(&files, &[&sizes[..], &alone].concat()).unwrap();
    assert_eq!(rows.len(), places);
    assert_eq!(rows[0].data["tokens"], Value::from(92));
}

/// A text of two characters has an embedding of two dimensions, which has no three clusters: that place says so, and
/// the places behind it are inspected.
#[test]
fn an_impossible_number_of_clusters_ends_no_other_place() {
    let files = Files::small();
    let text = files.path_of("two.txt");
    // A random order: contexts differ.
    let letters = (0..2000_u32).map(|i| if hash(&i.to_le_bytes()).is_multiple_of(2) { 'a' } else { 'b' });
    fs::write(&text, letters.collect::<String>()).unwrap();
    let sizes = ["--text", &text, "--tokens", "1920", "--window", "24", "--clusters", "3", "--power-draws", "0"];
    let rows = inspect(&files, &[&sizes[..], &["--no-controls"]].concat()).unwrap();
    let out = files.path_of("network");
    assert_eq!(rows.len(), llama().architecture().layers + 1);
    assert_eq!(rows[0].data["verdict"], "undecided");
    let reason = rows[0].data["reasons"][0].as_str().unwrap();
    assert!(reason.contains("clusters = 3: must leave tokens in every cluster"), "{reason}");
    let page = fs::read_to_string(Path::new(&out).join("inspect.html")).unwrap();
    assert!(page.contains("clusters = 3: must leave tokens in every cluster"));
    assert!(rows[1..].iter().any(|row| row.data.get("clusters") == Some(&json!(3))));
    assert!(rows[1..].iter().all(|row| row.data.contains_key("heads") && row.data.contains_key("attention")));
}

fn floats(path: &Path) -> ndarray::ArrayD<f32> {
    npy::read(fs::File::open(path).unwrap()).unwrap()
}

/// The files of `--record` hold the plain forward pass of each window.
#[test]
fn records_are_those_of_the_forward_pass() {
    let files = Files::small();
    let text = data("passage.txt");
    let sizes = ["--text", text.to_str().unwrap(), "--tokens", "48", "--window", "12", "--skip", "2", "--no-controls"];
    let names = "residual,scores,weights,logits,inputs,outputs,hidden";
    inspect(&files, &[&sizes[..], &["--record", names]].concat()).unwrap();
    let folder = Path::new(&files.path_of("network")).join("record");
    let network = llama();
    let cut = windows(&network, [48, 12, 2]).unwrap();
    let ids: ndarray::ArrayD<i64> = npy::read(fs::File::open(folder.join("ids.npy")).unwrap()).unwrap();
    assert_eq!(ids.shape(), [4, 12]);
    assert!(ids.iter().zip(cut.ids()).all(|(a, b)| *a == i64::from(*b)));
    for window in 0..4 {
        let plain = network.forward(&cut.ids()[12 * window..12 * (window + 1)], &Recordings::all()).unwrap();
        let file = |name: &str| floats(&folder.join(format!("{name}.window-{window}.npy")));
        assert_eq!(file("residual.place-0"), plain.embedding.clone().unwrap().into_dyn());
        assert_eq!(file("last"), plain.last.clone().unwrap().into_dyn());
        assert_eq!(file("logits"), plain.logits.clone().unwrap().into_dyn());
        for layer in &plain.layers {
            let l = layer.layer + 1;
            assert_eq!(file(&format!("residual.place-{l}")), layer.residual.clone().unwrap().into_dyn());
            for (name, matrix) in [("inputs", &layer.inputs), ("hidden", &layer.hidden)] {
                assert_eq!(file(&format!("{name}.block-{l}")), matrix.clone().unwrap().into_dyn());
            }
            for (name, heads) in [("scores", &layer.scores), ("weights", &layer.weights), ("outputs", &layer.outputs)] {
                let stacked = file(&format!("{name}.block-{l}"));
                assert_eq!(stacked.shape()[0], heads.len());
                for (stored, head) in stacked.outer_iter().zip(heads) {
                    assert_eq!(stored, head.view().into_dyn(), "{name}");
                }
            }
        }
    }
    // Of a window: the embedding, after the last norm, the logits, and six quantities of every block.
    let files_of_window = 3 + 6 * network.architecture().layers;
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1 + 4 * files_of_window);
    // Another run takes the place of this one and of its records, and of nothing else.
    fs::write(folder.join("mine.npy"), "").unwrap();
    let fewer = ["--text", text.to_str().unwrap(), "--tokens", "48", "--window", "24", "--no-controls"];
    inspect(&files, &[&fewer[..], &["--record", "residual", "--force"]].concat()).unwrap();
    let places = network.architecture().layers + 1;
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2 + 2 * (places + 1));
    // Nor do they stay beside the rows of another run that records nothing.
    inspect(&files, &[&sizes[..], &["--force"]].concat()).unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    let refused = inspect(&files, &[&sizes[..], &["--record", "residual,weight"]].concat()).unwrap_err();
    assert!(refused.contains("unknown recording 'weight'"), "{refused}");
    let shard = inspect(&files, &[&sizes[..], &["--record", "logits", "--shard", "0/2"]].concat());
    assert!(shard.unwrap_err().contains("record = logits"));
}

/// 62 characters, no two the same, so that no two tokens of the embedding are.
const CHARACTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The base model of a network of `crates/networks/tests/data`, as `AutoModel` stores it: without the output's tensor and
/// the prefix of the others. Its tokenizer has a token per character.
fn base_model(files: &Files, name: &str, output: &str, prefix: &str) -> PathBuf {
    let (from, to) = (data(name), PathBuf::from(files.path_of(&format!("base-{name}"))));
    fs::create_dir(&to).unwrap();
    fs::copy(from.join("config.json"), to.join("config.json")).unwrap();
    let vocabulary: serde_json::Map<String, Value> =
        CHARACTERS.chars().chain(['?']).enumerate().map(|(id, c)| (c.to_string(), id.into())).collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": null, "post_processor": null, "decoder": null,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": "?", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocabulary, "merges": [],
        },
    });
    fs::write(to.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let network = Checkpoint::open(&from).unwrap();
    let (mut header, mut bytes) = (serde_json::Map::new(), vec![]);
    // Masks and frequencies are buffers, which not every version stores.
    let buffer = |tensor: &str| ["attention.bias", "masked_bias", "inv_freq"].iter().any(|end| tensor.ends_with(end));
    for tensor in network.names().filter(|tensor| *tensor != output && !buffer(tensor)) {
        let values = network.values(tensor).unwrap();
        let offsets = [bytes.len(), bytes.len() + 4 * values.len()];
        let entry = json!({"dtype": "F32", "shape": values.shape(), "data_offsets": offsets});
        header.insert(tensor.strip_prefix(prefix).unwrap().to_string(), entry);
        bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
    }
    let header = Value::from(header).to_string();
    let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &bytes].concat();
    fs::write(to.join("model.safetensors"), file).unwrap();
    to
}

/// Base models of two families lack the head that their settings announce.
#[test]
fn a_network_without_a_language_model_head_is_enough() {
    let files = Files::small();
    let text = files.path_of("characters.txt");
    fs::write(&text, CHARACTERS).unwrap();
    for (name, output, prefix) in [("llama", "lm_head.weight", "model."), ("gpt-neox", "embed_out.weight", "gpt_neox.")]
    {
        let base = base_model(&files, name, output, prefix);
        let whole = Transformer::open(&data(name)).unwrap();
        let network = Transformer::open(&base).unwrap();
        let residual = Recordings::named(&["residual"]).unwrap();
        let ids = [1, 5, 3];
        assert_eq!(network.forward(&ids, &residual).unwrap(), whole.forward(&ids, &residual).unwrap());
        let logits = network.forward(&ids, &Recordings::named(&["logits"]).unwrap()).unwrap_err().to_string();
        assert!(logits.contains("no language-model head"), "{logits}");
        let out = files.path_of(&format!("out-{name}"));
        let fixed = ["inspect", base.to_str().unwrap(), "--text", &text, "--out", &out];
        let sizes = ["--tokens", "48", "--window", "24", "--no-controls"];
        let refused = command(&[&fixed[..], &sizes, &["--record", "residual,logits"]].concat()).unwrap_err();
        assert!(refused.contains("record = logits"), "{refused}");
        assert!(!Path::new(&out).exists(), "nothing is written");
        let evaluate = ["evaluate", base.to_str().unwrap(), "--task", "text", "--data", &text, "--out", &out];
        let refused = command(&evaluate).unwrap_err();
        assert!(refused.contains("must have a language-model head"), "{refused}");
        assert!(!Path::new(&out).exists(), "nothing is written");
        command(&[&fixed[..], &sizes, &["--record", "residual"]].concat()).unwrap();
        assert!(Path::new(&out).join("record/last.window-0.npy").exists());
    }
}

/// Two networks side by side have the numbers that each has alone, and a figure that compares them.
#[test]
fn several_networks_are_inspected_in_one_run() {
    let files = Files::small();
    let (network, text) = (data("llama.gguf"), data("passage.txt"));
    let [network, text] = [&network, &text].map(|path| path.to_str().unwrap());
    let out = files.path_of("two");
    let sizes = ["--tokens", "48", "--window", "24", "--no-controls"];
    let arguments = ["inspect", network, network, "--text", text, "--out", &out];
    command(&[&arguments[..], &sizes].concat()).unwrap();
    let rows = rows_of(&out);
    let alone = inspect(&files, &[&["--text", text][..], &sizes].concat()).unwrap();
    assert_eq!(rows.len(), 2 * alone.len());
    for (row, expected) in rows.iter().zip(alone.iter().chain(&alone)) {
        assert_eq!(row.data.get("attention"), expected.data.get("attention"));
        assert_eq!(row.data["delta"], expected.data["delta"]);
    }
    assert_eq!(rows[0].word("network").unwrap(), "1 llama");
    for name in ["inspect_networks.png", "inspect_network_2.png"] {
        assert!(Path::new(&out).join(name).exists(), "{name}");
    }
    let page = fs::read_to_string(Path::new(&out).join("inspect.html")).unwrap();
    assert!(page.contains("2 llama, block 1"));
}
