//! A small sweep, and running it.

use crate::common::CATALOGUE;
use attnlab::run::Silent;
use attnlab::run::grid::GridOptions;
use attnlab::run::store::{Row, Shard};
use attnlab::sweep::{self, Sweep};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Twelve cells: some never fail, some always; a second of work.
pub const MAP: &str = r#"
claim = "aot.theorem1_bounded"
trials = 12
seed = 5
[axes]
tokens = [60, 100]
dim = { from = 16, to = 64, steps = 3, scale = "log", multiple_of = 1 }
delta = "c * sqrt(log(tokens) / dim)"
c = [0.03, 0.125]
[set]
layers = 6
"#;

/// The same with cells that may stop.
pub fn stopping() -> String {
    let trials = MAP.replace("trials = 12", "trials = 40\nbeyond_hypotheses = \"judge\"");
    let trials = trials.replace("theorem1_bounded", "theorem1").replace("layers = 6", "layers = 7");
    trials + "[stop]\nwidth = 0.45\nevery = 4\n"
}

pub fn parse(text: &str) -> Sweep {
    Sweep::parse(text, Path::new("map.toml")).unwrap()
}

pub fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// Runs a sweep in this process, as the build of the command that goes on in the same folder.
pub fn run(text: &str, out: &Path, shard: Shard) -> Vec<Row> {
    attnlab::state_build();
    let options = GridOptions { shard, ..GridOptions::default() };
    sweep::run(&parse(text), &CATALOGUE, out, options, &Silent).unwrap().stored.rows().unwrap()
}

/// Writes a sweep file and gives the command that runs it into the folder `out`.
pub fn command(folder: &Path, text: &str, threads: &str, out: &str) -> Command {
    let file = folder.join("map.toml");
    fs::write(&file, text).unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("attnlab"));
    command.args(["sweep", "--threads", threads]).arg(file).arg("--out").arg(folder.join(out));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Reads a finished folder: rows and both summaries.
pub fn files(folder: &Path) -> [String; 3] {
    ["rows.jsonl", "cells.jsonl", "cells.csv"].map(|name| fs::read_to_string(folder.join(name)).unwrap())
}
