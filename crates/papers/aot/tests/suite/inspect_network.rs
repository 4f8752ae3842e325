//! `attnlab inspect NETWORK --text FILE`: findings against plain definitions, windows, every file, bad input.
//!
//! The network is the tiny random Llama of `crates/networks/tests/data`, whose forward pass is held to that of Hugging
//! Face there.

use crate::drawn::{Files, command};
use attnlab_aot::experiments::inspect_network::text_of;
use attnlab_aot::inspect::network::{Windows, at_place, head_bases, head_findings, weight_findings};
use attnlab_core::rng::Streams;
use attnlab_lab::run::store;
use attnlab_networks::transformer::Recordings;
use attnlab_networks::{Checkpoint, Transformer};
use attnlab_theory::measure::{labelled_snr, nearest_subspace, stable_rank};
use ndarray::{Array1, Array2, Axis, s};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../networks/tests/data").join(name)
}

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
    let shuffled = cut.shuffled(&Streams::new(1, "t", 0, 0));
    let sorted = |w: &Windows| {
        let mut ids = w.ids().to_vec();
        ids.sort_unstable();
        ids
    };
    assert_ne!(cut.ids(), shuffled.ids());
    assert_eq!(sorted(&cut), sorted(&shuffled));
    let context = network.architecture().context;
    for (sizes, part) in [([30, context + 1, 0], "at most the context"), ([30, 4, 4], "skip = 4")] {
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
    let after_skip = |z: &Option<Array2<f32>>| {
        let z = z.as_ref().unwrap();
        z.slice(s![.., skip..]).mapv(f64::from)
    };
    let place = |i| at_place(&network, &cut, i).unwrap();
    let second = s![.., window - skip..];
    assert_eq!(place(0).residual.slice(second), after_skip(&plain.embedding));
    assert!(place(0).before.is_none() && place(0).attention.is_none());
    for (block, layer) in plain.layers.iter().enumerate() {
        let here = place(block + 1);
        assert_eq!(here.residual.slice(second), after_skip(&layer.residual));
        let before = match block {
            0 => &plain.embedding,
            _ => &plain.layers[block - 1].residual,
        };
        assert_eq!(here.before.as_ref().unwrap().slice(second), after_skip(before));
        let attention = here.attention.unwrap();
        let ceilings = (1..=window).map(|n| (n as f64).ln()).sum::<f64>() / window as f64;
        assert!((attention.ceiling - ceilings).abs() < 1e-12);
        for (head, weights) in layer.weights.iter().enumerate() {
            let entropy = |w: &f32| {
                if *w > 0.0 { -f64::from(*w * w.ln()) } else { 0.0 }
            };
            let plain: f64 = weights.iter().map(entropy).sum::<f64>() / window as f64;
            assert!((attention.entropy[[head, 1]] - plain).abs() < 1e-4);
            let energy = |j: usize| {
                let seen = layer.scores[head].slice(s![..=j, j]);
                -(seen.mapv(|x| f64::from(x).exp()).sum() / (j + 1) as f64).ln()
            };
            let plain: f64 = (0..window).map(energy).sum::<f64>() / window as f64;
            assert!((attention.energy[[head, 1]] - plain).abs() < 1e-5);
        }
        let findings = attention.findings(0.95).unwrap();
        assert!(findings["entropy_low"].as_f64() < findings["entropy"].as_f64());
    }
}

#[test]
fn heads_and_weights_are_those_of_the_plain_definitions() {
    let network = llama();
    let cut = windows(&network, [48, 12, 0]).unwrap();
    let here = at_place(&network, &cut, 2).unwrap();
    let streams = Streams::new(1, "t", 0, 0);
    let heads = head_findings(&network, &here, &streams).unwrap().unwrap();
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
    let embedding = at_place(&network, &cut, 0).unwrap();
    assert!(head_findings(&network, &embedding, &streams).unwrap().is_none());
}

/// With a mean subtracted, the heads are held against tokens about that mean, before the block about that of its tokens.
#[test]
fn heads_are_held_against_centred_tokens() {
    let network = llama();
    let cut = windows(&network, [48, 12, 0]).unwrap();
    let mut here = at_place(&network, &cut, 2).unwrap();
    let plain = at_place(&network, &cut, 2).unwrap();
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

fn inspect(files: &Files, arguments: &[&str]) -> Result<(), String> {
    let network = data("llama.gguf");
    let out = files.at("network");
    let fixed = ["inspect", network.to_str().unwrap(), "--out", &out];
    command(&[&fixed[..], arguments].concat())
}

#[test]
fn every_place_and_control_has_a_row_and_everything_is_written() {
    let files = Files::small();
    let text = data("passage.txt");
    let sizes = ["--text", text.to_str().unwrap(), "--tokens", "96", "--window", "24"];
    inspect(&files, &sizes).unwrap();
    let out = files.at("network");
    let rows = store::read(Path::new(&out)).unwrap().rows;
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
    for name in ["rows.csv", "inspect.html", "inspect_network.png", "inspect_network_weights.png"] {
        assert!(Path::new(&out).join(name).exists(), "{name}");
    }
    let page = fs::read_to_string(Path::new(&out).join("inspect.html")).unwrap();
    for word in ["Heads and attention", "tokens shuffled", "<svg"] {
        assert!(page.contains(word), "{word}");
    }
    // The same again computes nothing; other options ask for another folder.
    inspect(&files, &[&sizes[..], &["--json"]].concat()).unwrap();
    assert_eq!(store::read(Path::new(&out)).unwrap().rows, rows);
    let refused = inspect(&files, &[&sizes[..], &["--skip", "1"]].concat());
    assert!(refused.unwrap_err().contains("--force"));
    let alone = ["--skip", "1", "--centre", "--no-controls", "--force"];
    inspect(&files, &[&sizes[..], &alone].concat()).unwrap();
    let rows = store::read(Path::new(&out)).unwrap().rows;
    assert_eq!(rows.len(), places);
    assert_eq!(rows[0].data["tokens"], Value::from(92));
}

/// Two networks side by side have the numbers that each has alone, and a figure that compares them.
#[test]
fn several_networks_are_inspected_in_one_run() {
    let files = Files::small();
    let (network, text) = (data("llama.gguf"), data("passage.txt"));
    let [network, text] = [&network, &text].map(|path| path.to_str().unwrap());
    let out = files.at("two");
    let sizes = ["--tokens", "48", "--window", "24", "--no-controls"];
    let arguments = ["inspect", network, network, "--text", text, "--out", &out];
    command(&[&arguments[..], &sizes].concat()).unwrap();
    let rows = store::read(Path::new(&out)).unwrap().rows;
    inspect(&files, &[&["--text", text][..], &sizes].concat()).unwrap();
    let alone = store::read(Path::new(&files.at("network"))).unwrap().rows;
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
