//! The horizon pass against the bare symmetric products it needs, in one run:
//! `cargo bench --bench horizon [-- N p K]`.

use attnlab::attention::streaming::horizon::horizon_of_head;
use attnlab::attention::streaming::{Blocks, for_each_tile};
use attnlab::rng::Streams;
use attnlab::sample::Mixture;
use std::time::Instant;

/// The least of three times, in seconds: other work on the machine only ever adds.
fn least(mut f: impl FnMut()) -> f64 {
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64()
    };
    (0..3).map(|_| time(&mut f)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let (n, p, k) = match numbers[..] {
        [n, p, k] => (n, p, k),
        _ => (8192, 512, 4),
    };
    let delta = ((n as f64).ln() / p as f64).sqrt() / 8.0;
    let mixture = Mixture::balanced(n, k, p, delta).expect("a valid mixture");
    let streams = Streams::new(1, "bench.horizon", 0, 0);
    let start = Instant::now();
    let heads: Vec<_> = (0..k).map(|k| mixture.head::<f32>(k, &streams)).collect();
    println!("sampling {:.3} s", start.elapsed().as_secs_f64());
    let products = least(|| {
        for y in &heads {
            let blocks = Blocks {
                columns: n,
                width: 256,
            };
            let mut states = vec![(); blocks.count()];
            for_each_tile(y.view(), blocks, &mut states, |_, _, _| {}, || {});
        }
    });
    let horizon = least(|| {
        for (k, y) in heads.iter().enumerate() {
            let head = horizon_of_head(y.view(), mixture.cluster(k), 0.55, || {});
            println!("{:?}", head.map(|h| (h.first, h.redecided)));
        }
    });
    let flops = (k * n * n * p) as f64;
    println!("N = {n}, p = {p}, K = {k}, {} threads", rayon_threads());
    println!(
        "bare symmetric products {products:.3} s, {:.1} GFLOP/s",
        flops / products / 1e9
    );
    println!(
        "horizon pass            {horizon:.3} s, {:.2} times the products",
        horizon / products
    );
}

fn rayon_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
