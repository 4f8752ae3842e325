//! The passes on a GPU against the plain tiled product on the same adapter and against the CPU's fast
//! path, all in one run (feature gpu):
//!
//! ```text
//! cargo bench --features gpu --bench gpu                  # N = 32768, p = 512, K = 2, 5 rounds
//! cargo bench --features gpu --bench gpu -- --quick       # a small size: does it still run?
//! cargo bench --features gpu --bench gpu -- --tokens 200000 --dim 1300 --no-cpu
//! cargo bench --features gpu --bench gpu -- --json        # only the layers, for benches/peers/gpu.sh
//! ```
//!
//! The contenders take turns; ratios are taken within a round. The heads are on the card before the
//! layers and products are timed; the horizon brings its own. Nothing here is a test.

mod arguments;
mod heads;
mod race;

use arguments::{Arguments, or_exit};
use attnlab::attention::streaming::Machine;
use attnlab::attention::streaming::horizon::horizon_of_head;
use attnlab::attention::{Mssa, Phi, Softmax};
use attnlab::gpu::{Gpu, Head, Options, Precision};
use attnlab::sample::Mixture;
use heads::{THRESHOLDED, draw};
use ndarray::Array2;
use race::Race;
use std::hint::black_box;

struct Size {
    tokens: usize,
    dim: usize,
    heads: usize,
    rounds: usize,
    /// Flag: the CPU runs too.
    cpu: bool,
}

impl Size {
    fn read(arguments: &Arguments) -> Result<Self, String> {
        let size = Size {
            tokens: arguments.whole("--tokens", 32_768, 1024)?,
            dim: arguments.whole("--dim", 512, 64)?,
            heads: arguments.whole("--heads", 2, 2)?,
            rounds: arguments.whole("--rounds", 5, 2)?,
            cpu: !arguments.has("--no-cpu"),
        };
        if !size.tokens.is_multiple_of(size.heads) {
            return Err("--tokens: write a multiple of --heads".into());
        }
        Ok(size)
    }
}

/// One layer on all heads, left on the card.
fn layer(phi: impl Into<Phi>, heads: &[Head]) {
    let layer = Mssa::new(phi, 0.5);
    for head in heads {
        black_box(head.attend(&layer).expect("a working device"));
    }
}

fn products(heads: &[Head], updates: bool) {
    for head in heads {
        head.bare_products(updates).expect("a working device");
    }
}

fn main() {
    let arguments = Arguments::of_process();
    let size = or_exit(Size::read(&arguments));
    let gpu = match Gpu::open(&Options::default()) {
        Ok(gpu) => gpu,
        Err(error) => {
            eprintln!("nothing to measure: {error}");
            return;
        }
    };
    let (mixture, heads) = draw("bench.gpu", size.tokens, size.heads, size.dim);
    let resident: Vec<_> =
        heads.iter().map(|y| Head::new(&gpu, y.view()).expect("heads that fit on the card")).collect();
    if arguments.has("--json") {
        json(&size, &gpu, &resident);
    } else {
        full(&size, &gpu, (&mixture, &heads, &resident));
    }
}

fn json(size: &Size, gpu: &Gpu, heads: &[Head]) {
    let mut race = Race::new();
    race.add("softmax", || layer(Softmax, heads));
    race.add("thresholded", || layer(THRESHOLDED, heads));
    race.add("product", || products(heads, false));
    race.run(size.rounds);
    let line = serde_json::json!({
        "device": gpu.report().name, "driver": gpu.report().driver, "tokens": size.tokens, "dim": size.dim,
        "heads": size.heads, "softmax": race.seconds("softmax"), "thresholded": race.seconds("thresholded"),
        "product": race.seconds("product"),
    });
    println!("{line}");
}

fn full(size: &Size, gpu: &Gpu, (mixture, heads, resident): (&Mixture, &[Array2<f32>], &[Head])) {
    let (n, p, k) = (size.tokens, size.dim, size.heads);
    let report = gpu.report();
    println!("N = {n}, p = {p}, K = {k}");
    println!("{} ({}, {}, {})", report.name, report.kind, report.interface, report.driver);
    println!("scores of decisions from products in {}", gpu.products());
    let horizon = |gpu: &Gpu| {
        for (k, y) in heads.iter().enumerate() {
            black_box(gpu.horizon_of_head(y.view(), mixture.cluster(k), 0.55, &|| {}).expect("a working device"));
        }
    };
    // The first head says whether anything computes in half precision.
    let half = resident[0].bare_half_scores().expect("a working device");
    let halved = Gpu::open(&Options { precision: Precision::Half, ..Options::default() });
    let halved = halved.expect("the adapter that was opened before");
    let mut race = Race::new();
    race.add("plain product, N²p", || products(resident, false));
    race.add("plain products, 3N²p", || products(resident, true));
    race.add("softmax layer", || layer(Softmax, resident));
    race.add("thresholded layer (tau = 0.55)", || layer(THRESHOLDED, resident));
    race.add("horizon pass with upload", || horizon(gpu));
    if half {
        race.add("scores in f16, N²p", || {
            for head in resident {
                head.bare_half_scores().expect("a working device");
            }
        });
        race.add("horizon pass in f16", || horizon(&halved));
    }
    if size.cpu {
        race.add("thresholded layer on the CPU", || {
            for y in heads {
                black_box(Mssa::new(THRESHOLDED, 0.5).stream_head(y.view()).is_ok());
            }
        });
        race.add("horizon pass on the CPU", || {
            for (k, y) in heads.iter().enumerate() {
                black_box(horizon_of_head(y.view(), mixture.cluster(k), 0.55, || {}).is_ok());
            }
        });
    }
    race.run(size.rounds);
    println!("seconds, median [least, most] of {} rounds:", size.rounds);
    race.print_times();
    let operations = (n as f64).powi(2) * p as f64 * k as f64;
    let rate = |name: &str| {
        let best = race.seconds(name).iter().copied().fold(f64::INFINITY, f64::min);
        println!("{name}: {:.0} GFLOP/s at best", operations / best / 1e9);
    };
    rate("plain product, N²p");
    if half {
        rate("scores in f16, N²p");
    }
    println!("ratios within a round, median [least, most]:");
    for (name, base, contender, goal) in [
        (
            "horizon pass's share of the product's rate",
            "plain product, N²p",
            "horizon pass with upload",
            "goal >= 0.40 of the card's",
        ),
        ("thresholded layer's share", "plain product, N²p", "thresholded layer (tau = 0.55)", ""),
        ("softmax layer's share of the rate of 3N²p", "plain products, 3N²p", "softmax layer", ""),
    ] {
        race.print_ratio(name, base, contender, goal);
    }
    if half {
        let [f32, f16] = ["plain product, N²p", "scores in f16, N²p"];
        race.print_ratio("scores in f16 faster than in f32", f32, f16, "");
        let [f32, f16] = ["horizon pass with upload", "horizon pass in f16"];
        race.print_ratio("horizon in f16 faster than in f32", f32, f16, "");
    }
    if size.cpu {
        race.print_ratio(
            "thresholded layer faster than the CPU",
            "thresholded layer on the CPU",
            "thresholded layer (tau = 0.55)",
            "",
        );
        race.print_ratio("horizon faster than the CPU", "horizon pass on the CPU", "horizon pass with upload", "");
    }
}
