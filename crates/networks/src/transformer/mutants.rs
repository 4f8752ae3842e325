//! Networks with one part wrong: each must be far from the reference, or the parity tests would not notice it.

use super::architecture::*;
use super::{Recordings, Transformer};
use crate::Checkpoint;
use ndarray::{Axis, Ix2};
use std::path::PathBuf;

/// Least distance of logits or last states from the reference, relative to its largest entry: a thousand times the
/// tolerance of the parity tests.
const LEAST: f32 = 1e-2;

fn distance(file: &str, reference: &str, mutate: impl FnOnce(&mut Transformer)) -> f32 {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut network = Transformer::open(&data.join(file)).unwrap();
    mutate(&mut network);
    let from = Checkpoint::open(&data.join(format!("{reference}.expected.safetensors"))).unwrap();
    let ids: Vec<u32> = from.values("ids").unwrap().iter().map(|x| *x as u32).collect();
    let got = network.forward(&ids, &Recordings::named(&["residual"]).unwrap()).unwrap().last.unwrap();
    let name = format!("hidden.{}", network.architecture.layers);
    let stored = from.values(&name).unwrap().into_dimensionality::<Ix2>().unwrap();
    let largest = stored.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    got.t().into_iter().zip(&stored).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs())) / largest
}

fn rotary(network: &mut Transformer, change: impl Fn(&mut usize, &mut f64, &mut RotaryPairs, &mut RotaryScaling)) {
    if let PositionEncoding::Rotary { turned, base, pairs, scaling } = &mut network.architecture.positions {
        change(turned, base, pairs, scaling);
    }
}

#[test]
fn every_wrong_choice_is_far_from_the_reference() {
    type Mutation = fn(&mut Transformer);
    let mutants: &[(&str, &str, Mutation)] = &[
        ("all of a head turned", "gpt-neox", |n| {
            let p = n.architecture.head_dim;
            rotary(n, |turned, _, _, _| *turned = p);
        }),
        ("neighbours turned", "gpt-neox", |n| {
            rotary(n, |_, _, pairs, _| *pairs = RotaryPairs::Neighbours);
        }),
        ("one after the other", "gpt-neox", |n| n.architecture.parallel = false),
        ("side by side", "gpt-neox-serial", |n| n.architecture.parallel = true),
        ("heads not taken apart", "gpt-neox", |n| {
            let (p, heads) = (n.architecture.head_dim, n.architecture.heads);
            // Row r of (queries; keys; values) back to its place by heads.
            let place = |r: usize| {
                let (part, head, i) = (r / (p * heads), r / p % heads, r % p);
                (3 * head + part) * p + i
            };
            let mut rows = vec![0; 3 * p * heads];
            (0..rows.len()).for_each(|r| rows[place(r)] = r);
            for block in &mut n.weights.blocks {
                block.qkv.weight = block.qkv.weight.select(Axis(0), &rows);
                block.qkv.bias = block.qkv.bias.take().map(|b| rows.iter().map(|row| b[*row]).collect());
            }
        }),
        ("GELU by tanh in place of ReLU", "opt", |n| n.architecture.mlp = MlpKind::GeluTanh),
        ("positions from row 0", "opt", |n| {
            n.architecture.positions = PositionEncoding::Learned { offset: 0 };
        }),
        ("the norm before", "opt-after", |n| n.architecture.place = NormPlace::Before),
        ("the norm after", "opt", |n| n.architecture.place = NormPlace::After),
        ("another base", "llama", |n| rotary(n, |_, base, _, _| *base = 10_000.0)),
        ("no scaling", "llama-tied", |n| {
            rotary(n, |_, _, _, scaling| *scaling = RotaryScaling::None);
        }),
        ("LayerNorm's mean", "llama", |n| n.architecture.norm = NormKind::Layer),
        ("every query with the first keys", "llama", |n| n.architecture.kv_heads = 1),
        ("halves turned", "llama.gguf", |n| {
            rotary(n, |_, _, pairs, _| *pairs = RotaryPairs::Halves);
        }),
        ("a causal mask", "bert", |n| n.architecture.causal = true),
        ("no norm of the embedding", "bert", |n| n.weights.embedding_norm = None),
        ("no segments", "bert", |n| n.weights.segments = None),
        ("maps not transposed", "gpt2", |n| {
            for block in &mut n.weights.blocks {
                block.out.weight.swap_axes(0, 1);
            }
        }),
    ];
    for (name, file, mutate) in mutants {
        let reference = file.replace('.', "-");
        assert!(distance(file, &reference, |_| ()) < 1e-5, "{file}");
        let got = distance(file, &reference, mutate);
        assert!(got > LEAST, "{name} ({file}): {got:e}");
    }
}

/// GELU by tanh differs from the exact one by at most 5e-4, far above rounding all the same.
#[test]
fn the_two_forms_of_gelu_are_told_apart() {
    for (file, wrong) in [("gpt2", MlpKind::Gelu), ("gpt-neox", MlpKind::GeluTanh), ("bert", MlpKind::GeluTanh)] {
        let got = distance(file, file, |n| n.architecture.mlp = wrong);
        assert!(got > 5e-5, "{file}: {got:e}");
    }
}
