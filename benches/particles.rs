//! The velocity of tokens on a sphere against its two bare products, and a flow to clusters:
//!
//! ```text
//! cargo bench --bench particles                  # n = 10 000, d = 3, β = 9, 9 rounds
//! cargo bench --bench particles -- --quick       # a small size, seconds: does it still run?
//! cargo bench --bench particles -- --tokens 2000 --dim 8 --rounds 15
//! cargo bench --bench particles -- --cpu-time    # processor time, for a machine busy with other work
//! cargo bench --bench particles -- --json        # only the velocity, for benches/peers/particles.sh
//! ```
//!
//! Nothing here is a test: a ratio above its goal is printed, not failed.

mod arguments;
mod race;

use arguments::{Arguments, or_exit};
use attnlab::dynamics::flow::{Flow, Method};
use attnlab::linalg::{Threads, gemm};
use attnlab::particles::{Normalisation, Particles, directions, to_state};
use ndarray::{Array2, ArrayView2, ShapeBuilder, s};
use race::Race;
use std::hint::black_box;
use std::time::Instant;

/// Columns of a panel of scores.
const WIDTH: usize = 512;

fn main() {
    let arguments = Arguments::of_process();
    let size = |name, normal, small| or_exit(arguments.whole(name, normal, small));
    let (n, d) = (size("--tokens", 10_000, 600), size("--dim", 3, 3));
    let rounds = size("--rounds", 9, 2);
    // Tokens that other languages compute too.
    let spread = Array2::from_shape_fn((d, n), |(c, j)| ((c as f64 + 2.0).sqrt() * (j as f64 + 1.0)).cos());
    let tokens = directions(spread.view()).expect("no token is zero");
    let law = Particles::new(9.0, Normalisation::Softmax);
    if arguments.has("--json") {
        return json(&law, tokens.view(), rounds);
    }
    println!("n = {n}, d = {d}, f64, {} threads", rayon::current_num_threads());
    let mut race = Race::new();
    race.add("velocity", || _ = black_box(law.velocity(tokens.view()).expect("a valid law")));
    race.add("bare products", || bare_products(tokens.view()));
    race.run(rounds);
    println!("seconds, median [least, most] of {rounds} rounds:");
    race.print_times();
    race.print_ratio("velocity against its bare products", "velocity", "bare products", "goal <= 1.2");
    let flow = law.flow(n, d).expect("a valid law");
    let start = Instant::now();
    let path = Flow::new(Method::Tsit45).within(1e-6).run(&flow, &to_state(tokens.view()), &[1.0]);
    let steps = path.expect("a flow on the sphere").steps;
    println!("flow to t = 1: {steps} steps in {:.1} s", start.elapsed().as_secs_f64());
}

/// Prints the seconds of every round, and the mean speed of a token, by which other programs show the same work.
fn json(law: &Particles, tokens: ArrayView2<f64>, rounds: usize) {
    let velocity = || law.velocity(tokens).expect("a valid law");
    let speed = velocity().columns().into_iter().map(|v| v.dot(&v).sqrt()).sum::<f64>() / tokens.ncols() as f64;
    let mut race = Race::new();
    race.add("velocity", || _ = black_box(velocity()));
    race.run(rounds);
    let (threads, seconds) = (rayon::current_num_threads(), race.seconds("velocity"));
    println!("{{\"threads\":{threads},\"speed\":{speed},\"velocity\":{seconds:?}}}");
}

/// The scores XᵀX and the sums X S of a pass, in panels and without exponentials.
fn bare_products(x: ArrayView2<f64>) {
    let (d, n) = x.dim();
    let mut scores = Array2::<f64>::zeros((n, WIDTH.min(n)).f());
    let mut sums = Array2::<f64>::zeros((d, WIDTH.min(n)).f());
    for start in (0..n).step_by(WIDTH) {
        let panel = x.slice(s![.., start..n.min(start + WIDTH)]);
        let columns = panel.ncols();
        gemm(1.0, x.t(), panel, false, scores.slice_mut(s![.., ..columns]), Threads::All);
        gemm(1.0, x, scores.slice(s![.., ..columns]), false, sums.slice_mut(s![.., ..columns]), Threads::All);
        black_box(&sums);
    }
}
