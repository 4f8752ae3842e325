//! Time and memory of a sweep's commands as cells and rows grow, in one run:
//!
//! ```text
//! cargo bench --bench growth                       # 10^4, 10^5 and 10^6 cells, one trial each
//! cargo bench --bench growth -- --quick            # 10^2 and 10^3 cells: does it still run?
//! cargo bench --bench growth -- --trials 10        # 10^7 rows in the largest
//! cargo bench --bench growth --features parquet    # exports to Parquet too
//! ```
//!
//! Each command is a process of its own. Memory is the largest that the system saw the process hold. Linear growth
//! shows as equal times per row; a command whose memory does not grow with rows shows as equal megabytes.

mod arguments;

use arguments::{Arguments, or_exit};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A claim whose trial takes microseconds, so that what is timed is the runner.
const CLAIM: &str = "aot.lemma1";

/// Time and memory of one command.
struct Cost {
    time: Duration,
    /// Bytes.
    memory: u64,
}

fn main() {
    let arguments = Arguments::of_process();
    let trials = or_exit(arguments.whole("--trials", 1, 1));
    let largest = or_exit(arguments.whole("--cells", 1_000_000, 1_000));
    println!("{CLAIM}, {trials} trial(s) a cell");
    println!("command           cells        rows   seconds  µs a row    MB");
    for cells in [100, 10, 1].map(|part| largest / part).into_iter().filter(|cells| *cells >= 100) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        // Two axes of equal length.
        let side = (cells as f64).sqrt().round() as usize;
        write_map(&folder.path().join("map.toml"), side, trials);
        let (map, whole, shards, merged) = (path("map.toml"), path("whole"), path("shards"), path("merged"));
        let mut commands = vec![
            ("sweep", vec!["sweep", &map, "--out", &whole]),
            ("again", vec!["sweep", &map, "--out", &whole]),
            ("shard 0/2", vec!["sweep", &map, "--out", &shards, "--shard", "0/2"]),
            ("shard 1/2", vec!["sweep", &map, "--out", &shards, "--shard", "1/2"]),
            ("merge", vec!["merge", &shards, "--out", &merged]),
            ("export csv", vec!["export", &merged, "--format", "csv"]),
        ];
        if cfg!(feature = "parquet") {
            commands.push(("export parquet", vec!["export", &merged, "--format", "parquet"]));
        }
        for (name, command) in commands {
            let cost = run(&command);
            let rows = side * side * trials;
            let seconds = cost.time.as_secs_f64();
            println!(
                "{name:<14} {:>8} {rows:>11} {seconds:>9.2} {:>9.1} {:>5.0}",
                side * side,
                seconds * 1e6 / rows as f64,
                cost.memory as f64 / 1e6,
            );
        }
        let rows = |name: &str| fs::read(folder.path().join(name).join("rows.jsonl")).expect("rows");
        assert!(rows("whole") == rows("merged"), "merged rows are those of one process");
    }
}

fn write_map(path: &Path, side: usize, trials: usize) {
    let text = format!(
        "claim = '{CLAIM}'\ntrials = {trials}\n[axes]\n\
         delta = {{ from = 0.05, to = 0.5, steps = {side} }}\n\
         t = {{ from = 0.5, to = 1.5, steps = {side} }}\n[set]\ndim = 2\n"
    );
    fs::write(path, text).expect("the sweep file");
}

/// Runs a command of attnlab and watches its memory.
fn run(arguments: &[&str]) -> Cost {
    let mut command = Command::new(env!("CARGO_BIN_EXE_attnlab"));
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn().expect("the command starts");
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    while child.try_wait().expect("a child").is_none() {
        memory = memory.max(most_held(&status));
        std::thread::sleep(Duration::from_millis(5));
    }
    let time = begun.elapsed();
    let output = child.wait_with_output().expect("a child");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Cost { time, memory }
}

/// The most memory (bytes) that a process has held, 0 where the system does not say.
fn most_held(status: &str) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
