//! Every family against Hugging Face's own implementation, on the checkpoints that `tests/data/make.py` wrote.

use attnlab_networks::Checkpoint;
use attnlab_networks::transformer::{Recordings, TokenInput, Transformer};
use ndarray::{Array2, ArrayView2, Ix2};
use std::path::PathBuf;

/// Largest distance, relative to the largest entry of the reference. Both sides compute in f32: some 20 roundings of
/// 6e-8 follow one another in a block of width 32 (two norms, four products, softmax), with gains near 2 in two
/// blocks; measured are at most 2e-6.
const TOLERANCE: f32 = 1e-5;

pub fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn expected(name: &str) -> Checkpoint {
    Checkpoint::open(&data(&format!("{name}.expected.safetensors"))).unwrap()
}

fn ids(from: &Checkpoint, name: &str) -> Vec<u32> {
    from.values(name)
        .unwrap()
        .iter()
        .map(|x| *x as u32)
        .collect()
}

/// Distance from a stored matrix (N, .), tokens as rows, relative to its largest entry.
fn distance(got: ArrayView2<f32>, from: &Checkpoint, name: &str) -> f32 {
    let stored = from.values(name).unwrap();
    let stored: Array2<f32> = stored.into_dimensionality::<Ix2>().unwrap();
    assert_eq!(got.t().dim(), stored.dim(), "{name}");
    let largest = stored.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    let pairs = got.t().into_iter().zip(&stored);
    pairs.fold(0.0_f32, |m, (a, b)| m.max((a - b).abs())) / largest
}

/// Largest distance of all hidden states, weights and logits.
fn worst(network: &Transformer, name: &str, part: &str, input: TokenInput) -> f32 {
    let from = expected(name);
    let a = network.architecture().clone();
    let mut wanted = vec!["residual", "weights"];
    if a.causal {
        wanted.push("logits");
    }
    let pass = network
        .forward(input, &Recordings::named(&wanted).unwrap())
        .unwrap();
    let mut worst = 0.0_f32;
    let mut check = |got: &Array2<f32>, name: &str| {
        let d = distance(got.view(), &from, &format!("{part}{name}"));
        assert!(d.is_finite());
        worst = worst.max(d);
    };
    check(pass.embedding.as_ref().unwrap(), "hidden.0");
    for layer in &pass.layers {
        for (h, weights) in layer.weights.iter().enumerate() {
            check(weights, &format!("weights.{}.{h}", layer.layer));
        }
        // The last hidden states of Hugging Face are those after the last norm.
        if layer.layer + 1 < a.layers {
            check(
                layer.residual.as_ref().unwrap(),
                &format!("hidden.{}", layer.layer + 1),
            );
        }
    }
    check(pass.last.as_ref().unwrap(), &format!("hidden.{}", a.layers));
    if let Some(logits) = &pass.logits {
        check(logits, "logits");
    }
    worst
}

fn plain(name: &str) -> f32 {
    let network = Transformer::open(&data(name)).unwrap();
    let ids = ids(&expected(name), "ids");
    worst(&network, name, "", ids.as_slice().into())
}

macro_rules! parity {
    ($($test:ident $name:literal)*) => {
        $(#[test]
        fn $test() {
            let worst = plain($name);
            println!("{}: {worst:e}", $name);
            assert!(worst < TOLERANCE, "{worst:e}");
        })*
    };
}

parity! {
    gpt2 "gpt2"
    gpt_neox_as_pythia_is_stored "gpt-neox"
    gpt_neox_one_after_the_other "gpt-neox-serial"
    opt "opt"
    opt_with_the_norm_after "opt-after"
    llama_with_grouped_queries_in_bfloat16 "llama"
    llama_tied_in_shards_with_scaled_rotations "llama-tied"
    llama_with_biases_and_heads_of_another_width "llama-head-dim"
    bert "bert"
}

#[test]
fn bert_with_segments_and_padding() {
    let network = Transformer::open(&data("bert")).unwrap();
    let from = expected("bert");
    let ids = ids(&from, "ids");
    let segments: Vec<u32> = from
        .values("segments")
        .unwrap()
        .iter()
        .map(|x| *x as u32)
        .collect();
    let mask: Vec<bool> = from
        .values("mask")
        .unwrap()
        .iter()
        .map(|x| *x == 1.0)
        .collect();
    let input = TokenInput {
        ids: &ids,
        segments: Some(&segments),
        mask: Some(&mask),
    };
    let worst = worst(&network, "bert", "masked.", input);
    assert!(worst < TOLERANCE, "{worst:e}");
}
