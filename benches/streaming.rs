//! The fast path against the plain definition, against its bare matrix products, and its parts
//! against each other, all in one run:
//!
//! ```text
//! cargo bench --bench streaming                  # N = 8192, p = 512, K = 4, 9 rounds
//! cargo bench --bench streaming -- --quick       # a small size, seconds: does it still run?
//! cargo bench --bench streaming -- --tokens 4096 --dim 256 --heads 2 --rounds 15
//! cargo bench --bench streaming -- --cpu-time    # processor time, for a machine busy with other work
//! cargo bench --bench streaming -- --json        # only the two layers, for benches/peers/run.sh
//! ```
//!
//! The contenders take turns, round after round, so that whatever else the machine does strikes all
//! of them; a ratio is taken within each round, and its median and range over the rounds are
//! printed. Nothing here is a test: a ratio below its goal is printed, not failed.

mod arguments;
mod heads;
mod race;

use arguments::{Arguments, or_exit};
use attnlab::attention::streaming::horizon::horizon_of_head;
use attnlab::attention::streaming::{Blocks, Tile, for_each_tile};
use attnlab::attention::{Mssa, Phi, Softmax};
use attnlab::linalg::{Threads, gemm};
use heads::{THRESHOLDED, draw};
use ndarray::{Array2, ArrayView2, ShapeBuilder, s};
use race::Race;
use std::hint::black_box;
use std::ops::Range;

const BENCH: &str = "bench.streaming";

struct Size {
    tokens: usize,
    dim: usize,
    heads: usize,
    rounds: usize,
    /// Tokens of the comparison with the plain definition, which holds N x N matrices in f64.
    plain_tokens: usize,
}

impl Size {
    fn read(arguments: &Arguments) -> Result<Self, String> {
        let size = Size {
            tokens: arguments.whole("--tokens", 8192, 768)?,
            dim: arguments.whole("--dim", 512, 64)?,
            heads: arguments.whole("--heads", 4, 2)?,
            rounds: arguments.whole("--rounds", 9, 3)?,
            plain_tokens: arguments.whole("--plain-tokens", 2048, 256)?,
        };
        if !size.tokens.is_multiple_of(size.heads) || !size.plain_tokens.is_multiple_of(size.heads) {
            return Err("--tokens and --plain-tokens: write multiples of --heads".into());
        }
        Ok(size)
    }
}

/// The products of a layer and nothing else, in panels of `width` columns on every thread: `all`
/// the 4N²p of attention, otherwise the 3N²p that the symmetry of the scores leaves.
fn bare_products(y: ArrayView2<f32>, all: bool, width: usize) {
    let (p, n) = y.dim();
    let mut scores = Array2::<f32>::zeros((n, width).f());
    let mut out = Array2::<f32>::zeros((p, width).f());
    for start in (0..n).step_by(width) {
        let stop = (start + width).min(n);
        let panel = y.slice(s![.., start..stop]);
        let columns = stop - start;
        // Columns start..stop of the upper triangle, halving the diagonal block: N²p in all.
        let rows = if all { n } else { (start + columns / 2).max(1) };
        gemm(1.0, y.slice(s![.., ..rows]).t(), panel, false, scores.slice_mut(s![..rows, ..columns]), Threads::All);
        let (weights, out) = (scores.slice(s![.., ..columns]), out.slice_mut(s![.., ..columns]));
        gemm(1e-6, y, weights, false, out, Threads::All);
    }
    black_box(&out);
}

/// The 3N²p again, in the tiles of the fast path and nothing done to them: what is left between
/// this and the layer is exponentials, maxima and transposes.
fn bare_tiles(y: ArrayView2<f32>) {
    let (p, columns) = y.dim();
    let blocks = Blocks { columns, width: 192.min(columns) };
    let start = |b| Array2::<f32>::zeros((p, blocks.range(b).len()).f());
    let mut states: Vec<_> = (0..blocks.count()).map(start).collect();
    let add = |out: &mut Array2<f32>, keys: Range<usize>, weights: ArrayView2<f32>| {
        gemm(1e-6, y.slice(s![.., keys]), weights, true, out.view_mut(), Threads::One);
    };
    let visit = |tile: Tile<f32>, own: &mut Array2<f32>, other: Option<&mut Array2<f32>>| {
        if let Some(other) = other {
            let shape = (tile.cols.len(), tile.rows.len()).f();
            let mirror = ArrayView2::from_shape(shape, &*tile.scratch).expect("as large as scores");
            add(own, tile.cols, mirror);
            add(other, tile.rows, tile.scores.view());
        } else {
            add(own, tile.rows, tile.scores.view());
        }
    };
    for_each_tile(y, blocks, &mut states, visit, || {});
    black_box(&states);
}

/// One layer on all heads. With η = 0 every round sees the same tokens.
fn layer(phi: impl Into<Phi>, heads: &mut [Array2<f32>]) -> usize {
    Mssa::new(phi, 0.0).apply_coefficients(heads).expect("a valid τ")
}

fn main() {
    let arguments = Arguments::of_process();
    let size = or_exit(Size::read(&arguments));
    if arguments.has("--json") {
        json(&size);
    } else {
        full_size(&size);
        against_plain(&size);
    }
}

fn json(size: &Size) {
    let (_, mut heads) = draw(BENCH, size.tokens, size.heads, size.dim);
    let mut other = heads.clone();
    let mut race = Race::new();
    race.add("softmax", || _ = layer(Softmax, &mut heads));
    race.add("thresholded", || _ = layer(THRESHOLDED, &mut other));
    race.run(size.rounds);
    let threads = rayon::current_num_threads();
    println!(
        "{{\"threads\":{threads},\"softmax\":{:?},\"thresholded\":{:?}}}",
        race.seconds("softmax"),
        race.seconds("thresholded")
    );
}

fn full_size(size: &Size) {
    let (n, p, k) = (size.tokens, size.dim, size.heads);
    let (mixture, heads) = draw(BENCH, n, k, p);
    let (mut soft, mut hard) = (heads.clone(), heads.clone());
    let redecided = layer(THRESHOLDED, &mut hard);
    println!("N = {n}, p = {p}, K = {k}, f32, {} threads", rayon::current_num_threads());
    let width = 512.min(n);
    let mut race = Race::new();
    race.add("softmax layer", || _ = layer(Softmax, &mut soft));
    race.add("bare products, 3N²p", || heads.iter().for_each(|y| bare_products(y.view(), false, width)));
    race.add("bare tiles, 3N²p", || heads.iter().for_each(|y| bare_tiles(y.view())));
    race.add("thresholded layer (tau = 0.55)", || _ = layer(THRESHOLDED, &mut hard));
    race.add("bare products, 4N²p", || heads.iter().for_each(|y| bare_products(y.view(), true, width)));
    race.add("horizon pass", || {
        for (k, y) in heads.iter().enumerate() {
            black_box(horizon_of_head(y.view(), mixture.cluster(k), 0.55, || {}).is_ok());
        }
    });
    race.run(size.rounds);
    println!("seconds, median [least, most] of {} rounds:", size.rounds);
    race.print_times();
    println!("ratios within a round, median [least, most]:");
    race.print_ratio(
        "softmax layer's share of the rate of 3N²p",
        "bare products, 3N²p",
        "softmax layer",
        "goal >= 0.70",
    );
    race.print_ratio("softmax layer's share of the rate of bare tiles", "bare tiles, 3N²p", "softmax layer", "");
    race.print_ratio("softmax layer's share of the rate of 4N²p", "bare products, 4N²p", "softmax layer", "");
    race.print_ratio(
        "thresholded faster than softmax",
        "softmax layer",
        "thresholded layer (tau = 0.55)",
        "goal >= 2.5",
    );
    race.print_ratio(
        "horizon pass against one thresholded layer",
        "horizon pass",
        "thresholded layer (tau = 0.55)",
        "goal <= 1.5",
    );
    race.print_ratio("horizon pass against one softmax layer", "horizon pass", "softmax layer", "");
    println!("  columns decided again in f64, of {}: {redecided}", n * k);
}

fn against_plain(size: &Size) {
    let n = size.plain_tokens;
    let (_, heads) = draw(BENCH, n, size.heads, size.dim);
    let wide: Vec<_> = heads.iter().map(|y| y.mapv(f64::from)).collect();
    let (mut narrow_heads, mut wide_heads) = (heads.clone(), wide.clone());
    let mut race = Race::new();
    race.add("plain definition, f64", || {
        for y in &wide {
            let weights = Mssa::new(Softmax, 0.0).weights(y.view());
            black_box(attnlab::linalg::product(y.view(), weights.view()));
        }
    });
    race.add("streaming, f64", || {
        black_box(Mssa::new(Softmax, 0.0).apply_coefficients(&mut wide_heads).is_ok());
    });
    race.add("streaming, f32", || _ = layer(Softmax, &mut narrow_heads));
    race.run(size.rounds);
    println!("softmax against the plain definition, N = {n} (it holds N x N in f64):");
    race.print_times();
    race.print_ratio("f64 streaming faster than plain", "plain definition, f64", "streaming, f64", "");
    race.print_ratio("f32 streaming faster than plain", "plain definition, f64", "streaming, f32", "");
}
