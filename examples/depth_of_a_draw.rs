//! Finds the depth to which Theorem 1 holds on one draw, runs the network on the same tokens, and writes them
//! as NumPy files: `cargo run --example depth_of_a_draw`.

use attnlab::attention::{Mssa, ThresholdedSoftmax};
use attnlab::ndarray::Array1;
use attnlab::npy;
use attnlab::papers::aot::horizon::horizon;
use attnlab::papers::aot::unroll::{Data, unroll, write_tokens};
use attnlab::prelude::*;
use attnlab::run::{Silent, files};
use attnlab::sample::Mixture;
use std::path::Path;

const SEED: u64 = 1;
const ETA: f64 = 0.5;
const TAU: f64 = 0.55;

fn main() -> Result<()> {
    // N = 1000 tokens, K = 2 subspaces of dimension p = 100, noise δ = 0.03.
    let mixture = Mixture::balanced(1000, 2, 100, 0.03)?;
    let report = horizon(&mixture, ETA, TAU, SEED, &Silent)?;
    println!("exact updates: {:?}", report.exact_updates);
    if let Some(first) = &report.witness {
        println!("then column {} gives key {} weight {:.3}", first.column, first.row, first.weight);
    }

    // The network itself on the same draw, layer by layer.
    let draw = mixture.draw(&Streams::new(SEED, "aot.horizon", 0, 0))?;
    let data = Data::new(draw.tokens, draw.bases, draw.labels)?;
    let layer = Mssa::new(ThresholdedSoftmax { tau: TAU }, ETA);
    let unrolled = unroll(&data, &layer, 10)?;
    for pair in unrolled.layers.windows(2) {
        let ratio = pair[1].snr[0] / pair[0].snr[0];
        println!("update {}: SNR times {ratio:.6}", pair[0].layer);
    }

    // Files for `attnlab unroll`, or for a program in any language that checks this one.
    write_tokens(Path::new("z.npy"), &data.tokens, true)?;
    for (k, basis) in data.bases.iter().enumerate() {
        write_tokens(Path::new(&format!("u{k}.npy")), basis, true)?;
    }
    let labels: Array1<i64> = data.labels.iter().map(|k| *k as i64).collect();
    files::write_whole(Path::new("y.npy"), true, |w| npy::write(&labels, w))
}
