//! Cost of a sweep's runner beside the trials themselves, in one run:
//!
//! ```text
//! cargo bench --bench sweep                  # 12 cells x 10 trials, N <= 1000, p <= 256, 25 rounds
//! cargo bench --bench sweep -- --quick       # a small size, seconds: does it still run?
//! cargo bench --bench sweep -- --cpu-time    # processor time of the contenders on one thread
//! ```
//!
//! "Bare" is a loop over `Claim::trial` and nothing else; the sweep reads its folder, deals out the
//! trials, and writes every row, the canonical file and the summary. Both know the integrals of the
//! claim's closed forms from the plan, which is made before the first round: what is left is the
//! runner's. Nothing here is a test: a ratio above its goal is printed, not failed.

mod arguments;
mod race;

use arguments::Arguments;
use attnlab::params::Params;
use attnlab::rng::Streams;
use attnlab::run::Silent;
use attnlab::run::grid::GridOptions;
use attnlab::sweep::{self, Plan, Sweep};
use race::Race;
use rayon::prelude::*;
use std::hint::black_box;
use std::path::Path;

const MAP: &str = r#"
claim = "aot.theorem1_bounded"
trials = 10
seed = 5
[axes]
tokens = [200, 1000]
dim = [64, 256]
delta = "c * sqrt(log(tokens) / dim)"
c = [0.03, 0.06, 0.125]
"#;

const QUICK: &str = r#"
claim = "aot.theorem1_bounded"
trials = 3
[axes]
tokens = [100, 200]
dim = [64]
"#;

fn main() {
    let arguments = Arguments::of_process();
    let (text, rounds) = if arguments.has("--quick") { (QUICK, 2) } else { (MAP, 25) };
    let sweep = Sweep::parse(text, Path::new("bench")).expect("the sweep above is valid");
    let catalogue = attnlab::catalogue();
    let plan = Plan::new(&sweep, &catalogue).expect("the sweep above can be run");
    let claim = catalogue.claim("aot.theorem1_bounded").expect("a claim of ours");
    let cell = |place| plan.cells.get(place).expect("a cell of the sweep").params;
    let cells: Vec<Params> = (0..plan.cells.len()).map(cell).collect();
    let keys = plan.cells.keys();
    let each = |c: usize| (0..keys[c].trials).map(move |t| (c, t));
    let trials: Vec<(usize, u64)> = (0..cells.len()).flat_map(each).collect();
    println!("{} cells, {} trials", cells.len(), trials.len());

    let trial = |(c, t): &(usize, u64)| {
        let streams = Streams::new(sweep.seed, "aot.theorem1_bounded", cells[*c].cell(), *t);
        black_box(claim.trial(&cells[*c], &streams).expect("a trial"));
    };
    let run = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        sweep::run(&sweep, &catalogue, folder.path(), GridOptions::default(), &Silent).expect("the sweep");
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    let mut race = Race::new();
    race.add("bare, one thread", || pool.install(|| trials.iter().for_each(trial)));
    race.add("sweep, one thread", || pool.install(run));
    // The threads of the sweep end with it, and with them what --cpu-time counts.
    if !arguments.has("--cpu-time") {
        race.add("bare, every thread", || trials.par_iter().with_max_len(1).for_each(trial));
        race.add("sweep, every thread", run);
    }
    race.run(rounds);
    race.print_times();
    let goal = "(goal <= 1.03)";
    race.print_ratio("sweep / bare, one thread", "sweep, one thread", "bare, one thread", goal);
    if !arguments.has("--cpu-time") {
        let (a, b) = ("sweep, every thread", "bare, every thread");
        race.print_ratio("sweep / bare, every thread", a, b, goal);
    }
}
