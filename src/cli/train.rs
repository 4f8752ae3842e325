//! `attnlab train`: runs the experiments that train networks.

use super::experiment::{Options, execute};
use attnlab_core::error::{Error, Result};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Out, Status};

const EXAMPLES: &str = "\
Examples:
  attnlab train icl --quick                       small networks, minutes on two cores
  attnlab train icl --out runs/icl                the papers' sizes: for a GPU, or for days
  attnlab train icl --set plan.steps=5000 --set layers.aot-mssa=8 --out runs/mine
  attnlab train icl --show                        every setting with its meaning
  attnlab train language --quick                  the next token of a Markov chain of known entropy rate
  attnlab train language --set text=book.txt --set vocabulary=256 --out runs/book
  attnlab train language --set text=docs.jsonl --set tokenizer=gpt2 --set vocabulary=50304 --out runs/docs

Networks need a build with the feature train: cargo run --features train -- train icl --quick.
A line on standard error shows step, loss, rate and time left; `attnlab report DIR --follow` shows the
curves on a page. A training that was stopped or killed goes on at its last checkpoint and ends with the
same bits: give the same command again.";

/// Train networks: `run` for the experiments that train
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The experiment
    #[arg(value_name = "EXPERIMENT")]
    id: String,
    #[command(flatten)]
    options: Options,
}

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let training = || catalogue.experiments().filter(|e| e.trains);
    let entry = training().find(|e| e.answers_to(&args.id));
    execute(entry.ok_or_else(|| Error::unknown("training", &args.id, training().map(|e| e.name)))?, &args.options, out)
}
