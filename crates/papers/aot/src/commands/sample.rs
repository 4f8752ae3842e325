//! `attnlab sample`: a draw of Definition 1 as files of NumPy.

use crate::draws::{DrawOptions, Planned, drawing_claim};
use attnlab_lab::command::{Out, Parameters, Status, input};
use attnlab_lab::prelude::*;
use attnlab_lab::run::files;
use attnlab_networks::npy;
use attnlab_theory::sample::Draw;
use ndarray::Array1;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  attnlab sample --tokens 600 --clusters 2 --dim 40 --delta 0.05 --out runs/draw
  attnlab sample --tokens 600 --dim 40 --relation coherent --coherence 0.2 --out runs/coherent
  attnlab sample --claim aot.theorem1 --set tokens=600 --set dim=40 --trial 3 --out runs/witness

Writes z.npy, Z (d, N); u0.npy, u1.npy, .., U_k (d, p) with orthonormal columns; y.npy, labels (N,)
from 0; and draw.json, the seeds and parameters. The draw of --seed S is that of `attnlab horizon
--seed S`, that of --claim ID --trial T is trial T of `attnlab check ID` under the same seed and
parameters, so that its witness can be recomputed from the files. `attnlab horizon`, `attnlab
unroll` and `attnlab inspect` take them:
  attnlab horizon --tokens runs/draw/z.npy --bases runs/draw/u*.npy --labels runs/draw/y.npy

`attnlab check` takes no files: a claim speaks about the law of draws, and one draw given by hand
is neither evidence for it nor, chosen freely, against it. What the theorem says of this one draw is
its horizon.";

/// Write a draw of Definition 1 (tokens, bases, labels) as NumPy files
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    options: DrawOptions,
    /// Seed of the draw
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole, allow_negative_numbers = true)]
    seed: u64,
    /// Draw a trial of this claim, at its parameters: aot.theorem1 or aot.theorem1_bounded
    #[arg(long, value_name = "ID")]
    #[arg(conflicts_with_all = ["tokens", "clusters", "dim", "ambient", "delta", "relation", "coherence"])]
    claim: Option<String>,
    /// Number of the trial, from 0
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole, requires = "claim")]
    #[arg(allow_negative_numbers = true)]
    trial: u64,
    #[command(flatten)]
    parameters: Parameters,
    /// Folder of the files; it is made if it does not exist
    #[arg(long, value_name = "DIR", default_value = "runs/sample")]
    out: PathBuf,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// One JSON object: what draw.json holds
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<Status> {
    let plan = args.claim.as_ref().map_or_else(|| of_options(args), |id| of_claim(args, id))?;
    plan.validate()?;
    let names: Vec<PathBuf> = ["z.npy".into(), "y.npy".into(), "draw.json".into()]
        .into_iter()
        .chain((0..plan.clusters()).map(|k| format!("u{k}.npy")))
        .map(|name: String| args.out.join(name))
        .collect();
    std::fs::create_dir_all(&args.out)
        .map_err(|e| Error::io(&args.out, e, "Choose a folder that you may write with --out"))?;
    names.iter().try_for_each(|path| files::ensure_free(path, args.force))?;
    let draw = plan.draw()?;
    let text = plan.describe();
    write(args, &names, &draw, &text)?;
    match args.json {
        true => out.json(&text)?,
        false => names.iter().try_for_each(|path| out.line(&path.display().to_string()))?,
    }
    Ok(Status::Expected)
}

fn of_options(args: &Args) -> Result<Planned> {
    let unset = args.parameters.set.is_empty() && args.parameters.input.is_none();
    let allowed = "must come with --claim; without one write --tokens, --clusters, --dim and --delta";
    require(unset, "set", args.parameters.set.join(" "), allowed)?;
    Planned::of_options(&args.options, args.seed)
}

fn of_claim(args: &Args, id: &str) -> Result<Planned> {
    // An unknown id is refused before parameters that cannot be read.
    drawing_claim(id)?;
    Planned::of_claim(id, &args.parameters.collect()?, args.seed, args.trial)
}

/// Writes the files; `names` are those of tokens, labels, seeds and bases.
fn write(args: &Args, names: &[PathBuf], draw: &Draw, text: &Value) -> Result<()> {
    npy::write(&names[0], &draw.tokens, args.force)?;
    let labels: Array1<i64> = draw.labels.iter().map(|k| *k as i64).collect();
    files::write_whole(&names[1], args.force, |w| attnlab_core::npy::write(&labels, w))?;
    for (path, basis) in names[3..].iter().zip(&draw.bases) {
        npy::write(path, basis, args.force)?;
    }
    // Last, so that a folder with seeds is complete.
    files::write_whole(&names[2], args.force, |w| w.write_all(format!("{text:#}\n").as_bytes()))
}
