//! `attnlab evaluate`: a trained network on benchmarks, in every reading.

use super::evaluate_findings::{lines, tables};
use super::results::{Destination, Shown, computed};
use crate::evaluate::Task;
use crate::experiments::evaluate::{Choices, Evaluate};
use attnlab_core::error::Result;
use attnlab_lab::command::{Out, RowOptions, Status, input};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  attnlab evaluate SmolLM2-135M --task lambada --data lambada_test.jsonl
  attnlab evaluate SmolLM2-135M --task lambada --data lambada.txt --limit 500 --sample random
  attnlab evaluate gpt2 --task cbt --data cbtest_CN_test_2500ex.txt
  attnlab evaluate gpt2 --task text --data wiki.test.tokens --detokenise off,wikitext
  attnlab evaluate gpt2 --task text --data ptb.test.txt --window 1024,512 --stride 1024,512,64
  attnlab evaluate --task cost --context 1024 --batch 1 gpt2

A network is a folder with config.json and safetensors, or a GGUF file (GPT-2, GPT-NeoX, OPT, Llama),
with its tokenizer. Files are plain text (LAMBADA: a passage per line; CBT: its own format), JSON lines
or, in a build with the feature parquet, parquet.

The AoT papers print one number per benchmark and not how it is read off, so every common reading is a
row with its interval: which tokens of a last word, how candidates are scored, which detokeniser, window
and stride, per token, word or byte. Beside it are chance, the text's own frequencies, the same
architecture with random weights, and the papers' numbers. --task cost measures operations, memory and
time of a forward pass.

Rows, rows.csv, the figure and evaluate.html go to the folder. The same files and seed give the same
rows, except for times; a run that was stopped goes on. docs/evaluate.md defines every reading.";

/// Evaluate a trained network: LAMBADA, CBT, the loss on a text, in every reading; cost of a forward pass
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A network: folder with config.json, or GGUF file
    #[arg(value_name = "NETWORK")]
    network: PathBuf,
    /// Task
    #[arg(long)]
    task: Task,
    /// Files of the task, one after another
    #[arg(long, value_name = "FILE", num_args = 1..)]
    #[arg(required_if_eq_any([("task", "lambada"), ("task", "cbt"), ("task", "text")]))]
    data: Vec<PathBuf>,
    #[command(flatten)]
    choices: Choices,
    /// Level of the intervals
    #[arg(long, default_value_t = 0.95, value_parser = input::level)]
    level: f64,
    /// Seed of the random weights and of a random sample
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole, allow_negative_numbers = true)]
    seed: u64,
    /// Folder for rows, pictures and the page
    #[arg(long, value_name = "DIR", default_value = "runs/evaluate")]
    out: PathBuf,
    #[command(flatten)]
    rows: RowOptions,
    /// One JSON object per reading: its row
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<Status> {
    let settings = Evaluate::chosen(&args.network, args.task, &args.data, &args.choices, (args.seed, args.level))?;
    super::note_renamings(&args.network)?;
    let shown = Shown { summary: |_| Ok(vec![]), lines, tables, page: "evaluate.html" };
    let to = Destination { folder: &args.out, rows: args.rows, seed: args.seed, json: args.json };
    computed(&settings, &shown, &to, out)
}
