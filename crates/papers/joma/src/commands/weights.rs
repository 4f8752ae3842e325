//! `attnlab weights`: the stable rank of weights along the checkpoints of a network.

use crate::experiments;
use crate::experiments::weights::JomaWeights;
use attnlab_core::error::{Error, Result};
use attnlab_core::format::significant;
use attnlab_lab::command::{Out, RowOptions, Status, input};
use attnlab_lab::experiment::{Described, Entry};
use attnlab_lab::folder;
use attnlab_lab::run::Row;
use attnlab_networks::Checkpoint;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  attnlab weights pythia-70m                     every folder in it is a checkpoint
  attnlab weights model.safetensors --tensors '*.mlp.down_proj.weight'
  attnlab weights step0 step1000 --tensors '*.fc1.weight' '*.fc2.weight' --out runs/opt

A checkpoint is a .safetensors or .npy file, or a folder with the shards of one; files whose
tensors have equal names are one checkpoint each. The first one is the start, W(0). Without
--tensors the matrices are those from the states into the hidden units of the MLPs, by the names
of GPT-NeoX and Pythia, GPT-2, OPT, Llama, BERT and PyTorch's encoder. A matrix and its transpose
have one stable rank.

Prints one line per matrix and checkpoint. chance: mn/(sqrt m + sqrt n)^2, the stable rank of
independent entries; permuted: that of W with its entries in random order, on average;
W - W(0): that of the change. Rows and pictures go to the folder. Nothing is downloaded.";

/// Measure the stable rank of weights along the checkpoints of a network, against chance
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Checkpoints in the order of training, or folders of checkpoints
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Patterns of names of matrices, after the paths; * matches any characters [default: see below]
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    tensors: Vec<String>,
    /// Permutations of the entries of every matrix, at least 2
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true)]
    draws: u64,
    /// Seed of the permutations
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole)]
    #[arg(allow_negative_numbers = true)]
    seed: u64,
    /// Folder for rows and pictures
    #[arg(long, value_name = "DIR", default_value = "runs/weights")]
    out: PathBuf,
    #[command(flatten)]
    rows: RowOptions,
}

/// Lower matrices of MLPs, from the states into the hidden units, by the names of the public files.
const LOWER: [&str; 7] = [
    // GPT-NeoX, Pythia.
    "*.mlp.dense_h_to_4h.weight",
    // GPT-2, whose files hold the transpose.
    "*h.*.mlp.c_fc.weight",
    // OPT.
    "*.fc1.weight",
    // Llama: gate and values.
    "*.mlp.gate_proj.weight",
    "*.mlp.up_proj.weight",
    // BERT.
    "*.intermediate.dense.weight",
    // The networks of PyTorch's own encoder.
    "*.linear1.weight",
];

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<Status> {
    let checkpoints = Checkpoint::open_all(&args.paths)?;
    let mut set = toml::Table::new();
    let paths = checkpoints.iter().map(|c| c.path().display().to_string());
    set.insert("checkpoints".into(), paths.collect::<Vec<_>>().into());
    set.insert("tensors".into(), tensors(args, &checkpoints[0])?.into());
    set.insert("draws".into(), (args.draws as i64).into());
    let entries = experiments::entries();
    let entry = entries.iter().find(|e: &&Entry| e.id == JomaWeights::ID);
    let entry = entry.ok_or_else(|| Error::undefined("this build has no such experiment"))?;
    let experiment = entry.configure(false, None, &set)?;
    let rows = folder::keep(entry, &*experiment, (args.seed, args.rows), &args.out, out)?;
    table(&rows, out)?;
    Ok(Status::Expected)
}

/// Finds the matrices of the first checkpoint that match the patterns.
fn tensors(args: &Args, first: &Checkpoint) -> Result<Vec<String>> {
    let is_matrix = |name: &String| first.shape(name).is_ok_and(|shape| shape.len() == 2);
    let matrices =
        |patterns: &[&str]| -> Vec<String> { first.matching(patterns).into_iter().filter(is_matrix).collect() };
    let patterns: Vec<&str> = args.tensors.iter().map(String::as_str).collect();
    let idle = patterns.iter().find(|p| matrices(&[p]).is_empty());
    let names = if patterns.is_empty() { matrices(&LOWER) } else { matrices(&patterns) };
    if idle.is_none() && !names.is_empty() {
        return Ok(names);
    }
    let mut kinds: Vec<String> = matrices(&["*"]).iter().map(|name| attnlab_networks::kind(name)).collect();
    kinds.sort();
    kinds.dedup();
    let (total, shown) = (kinds.len(), kinds.len().min(30));
    let allowed = format!(
        "must match a matrix of {}. Write --tensors with some of its {total} kinds: {}{}",
        first.path().display(),
        kinds[..shown].join(", "),
        if shown < total { ", .." } else { "" },
    );
    Err(Error::invalid("tensors", idle.map_or("the names of MLPs", |p| p), allowed))
}

/// Prints one line per matrix and checkpoint.
fn table(rows: &[Row], out: &mut Out) -> Result<()> {
    let line = |cells: [&str; 6]| {
        let [step, rank, chance, permuted, moved, tensor] = cells;
        format!("{step:>9}  {rank:>11}  {chance:>9}  {permuted:>9}  {moved:>9}  {tensor}")
    };
    out.line(&line(["step", "stable rank", "chance", "permuted", "W - W(0)", "matrix"]))?;
    for row in rows {
        let permuted = row.series("permuted")?;
        let mean = permuted.iter().sum::<f64>() / permuted.len() as f64;
        let shown =
            [row.parameter("step")?, row.number("stable_rank")?, row.number("chance")?, mean, row.number("moved")?]
                .map(|x| if x.is_nan() { "-".into() } else { significant(x, 4) });
        let [step, rank, chance, permuted, moved] = &shown;
        out.line(&line([step, rank, chance, permuted, moved, row.word("tensor")?]))?;
    }
    Ok(())
}
