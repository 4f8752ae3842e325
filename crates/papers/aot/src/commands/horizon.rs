//! `attnlab horizon`: the depth to which Theorem 1 holds on one draw.

use crate::horizon::{HorizonReport, HorizonWitness, Predicted, bytes_with_copies, horizon_of_tokens, horizon_on};
use crate::theory::printed::delta_limit;
use crate::unroll::Data;
use attnlab_core::format::number;
use attnlab_gpu::backend::Where;
use attnlab_lab::command::{Bar, Out, Status, input};
use attnlab_lab::prelude::*;
use attnlab_theory::sample::Mixture;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  attnlab horizon --tokens 2000 --clusters 2 --dim 900
  attnlab horizon --tokens 20000 --clusters 2 --dim 1300 --eta 0.5 --tau 0.55
  attnlab horizon --tokens 200000 --dim 1300 --json      the proof's own regime, under 3 GB
  attnlab horizon --tokens z.npy --bases u0.npy u1.npy --labels y.npy

While the block pattern (30) lasts, layer l only rescales the in-cluster block by
theta = (1 + eta tau)^l. One pass over the scores of a draw finds, for every head and column, the
first theta at which the pattern breaks, and so the exact number of layers for which Eq. (8) holds.
The law is the distribution of that theta over draws (attnlab show aot.horizon_theta).

Tokens, bases and labels of a draw are files of NumPy: Z (d, N), U_k (d, p_k) with columns that are
jointly orthonormal, labels (N,) from 0. `attnlab sample --seed S` writes the draw of
`attnlab horizon --seed S`.";

/// Find the exact depth to which Theorem 1 holds on one draw, beside the predicted law
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// N, a multiple of K; or a file with Z (d, N), beside --bases and --labels
    #[arg(long, value_name = "N|FILE", default_value = "20000", value_parser = source, allow_negative_numbers = true)]
    tokens: Source,
    /// U_k (d, p_k), one file per subspace
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "labels")]
    #[arg(conflicts_with_all = ["clusters", "dim", "delta", "seed"])]
    bases: Vec<PathBuf>,
    /// Cluster of each token (N,), integers from 0
    #[arg(long, value_name = "FILE", requires = "bases")]
    labels: Option<PathBuf>,
    /// K
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = input::positive, allow_negative_numbers = true)]
    clusters: u64,
    /// p, dimension of each subspace
    #[arg(long, value_name = "P", default_value_t = 1300, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true)]
    dim: u64,
    /// Noise level [default: sqrt(log N / p) / 8, the upper end of (11)]
    #[arg(long, value_parser = input::number, allow_negative_numbers = true)]
    delta: Option<f64>,
    /// Step size
    #[arg(long, default_value_t = 0.5, value_parser = input::positive_number, allow_negative_numbers = true)]
    eta: f64,
    /// Threshold of phi
    #[arg(long, default_value_t = 0.55, value_parser = input::positive_number, allow_negative_numbers = true)]
    tau: f64,
    /// Seed of the draw
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole, allow_negative_numbers = true)]
    seed: u64,
    #[command(flatten)]
    device: Where,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Tokens to draw, or a file of them.
#[derive(Clone, Debug)]
enum Source {
    Drawn(u64),
    File(PathBuf),
}

/// A number if it is one, otherwise the name of a file.
fn source(text: &str) -> std::result::Result<Source, String> {
    if text.ends_with(".npy") { Ok(Source::File(text.into())) } else { input::positive(text).map(Source::Drawn) }
}

/// One line of JSON: what was measured, and the law beside it.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    report: &'a HorizonReport,
    predicted: &'a Option<Predicted>,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<Status> {
    require(args.tau <= 1.0, "tau", args.tau, "must be a number in (0, 1]")?;
    let (report, predicted) = match (&args.tokens, &args.labels) {
        (Source::Drawn(n), None) => drawn(args, *n)?,
        (Source::File(tokens), Some(labels)) => (of_files(args, tokens, labels)?, None),
        (Source::File(path), None) => {
            let allowed = "must come with the bases and labels of its draw. Write --bases FILE .. --labels FILE";
            return Err(Error::invalid("tokens", path.display(), allowed));
        }
        (Source::Drawn(n), Some(_)) => {
            let allowed = "must be a .npy file; bases and labels are those of a draw in files";
            return Err(Error::invalid("tokens", n, allowed));
        }
    };
    if args.json {
        out.json(&Line { report: &report, predicted: &predicted })?;
    } else {
        lines(&report, &predicted).iter().try_for_each(|l| out.line(l))?;
    }
    Ok(Status::Expected)
}

/// The horizon of a draw, and its law.
fn drawn(args: &Args, tokens: u64) -> Result<(HorizonReport, Option<Predicted>)> {
    let delta = args.delta.unwrap_or_else(|| delta_limit(tokens as f64, args.dim as f64));
    memory::ensure("the horizon of one draw", bytes_with_copies(tokens, args.clusters, args.dim))?;
    let (n, k, p) = (tokens as usize, args.clusters as usize, args.dim as usize);
    let mixture = Mixture::balanced(n, k, p, delta)?;
    let report = horizon_on(&*super::machine(&args.device)?, &mixture, args.eta, args.tau, args.seed, &Bar::new())?;
    let predicted = Predicted::beside(&report);
    Ok((report, predicted))
}

/// The horizon of tokens in files.
fn of_files(args: &Args, tokens: &Path, labels: &Path) -> Result<HorizonReport> {
    let data = Data::read(tokens, &args.bases, labels)?;
    let largest = data.bases.iter().map(|u| u.ncols()).max().unwrap_or(0);
    let (n, k) = (data.labels.len() as u64, data.bases.len() as u64);
    memory::ensure("the horizon of one draw", bytes_with_copies(n, k, largest as u64))?;
    horizon_of_tokens(&*super::machine(&args.device)?, &data, args.eta, args.tau, &Bar::new())
}

fn lines(report: &HorizonReport, predicted: &Option<Predicted>) -> Vec<String> {
    let one_p = report.dims.iter().all(|p| *p == report.dims[0]);
    let p = if one_p { report.dims[0].to_string() } else { format!("{:?}", report.dims) };
    let mut first = format!("N = {}, K = {}, p = {p}", report.counts.iter().sum::<usize>(), report.dims.len());
    if let Some(delta) = report.delta {
        first.push_str(&format!(", delta = {}", number(delta)));
    }
    let seed = report.seed.map_or("tokens from a file".into(), |seed| format!("seed {seed}"));
    first.push_str(&format!(", eta = {}, tau = {}, {seed}", number(report.eta), number(report.tau)));
    let mut lines = vec![first];
    match (report.theta_crit, &report.witness) {
        (Some(theta), Some(first)) => {
            let HorizonWitness { layer: updates, head, column, row, .. } = first;
            let (theta, last, weight) = (number(theta), updates.saturating_sub(1), number(first.weight));
            lines.push(format!("  this draw  theta = {theta}: updates 0 to {last} are exact ({updates} of them)"));
            let key = format!("key {row} with weight {weight}");
            lines.push(format!("             layer {updates} is not: head {head}, column {column}, {key}"));
        }
        _ => lines.push("  this draw  the pattern never breaks: every update is exact".into()),
    }
    match predicted {
        Some(law) => lines.extend(law_lines(law)),
        None if report.seed.is_none() => {
            lines.push("  the law    of draws: attnlab horizon --tokens N --dim P --delta DELTA".into());
        }
        None => lines.push("  the law    does not apply here (K = 1, delta = 0 or tau = 1)".into()),
    }
    let HorizonReport { backend, redecided, .. } = report;
    let (seconds, rate) = (number((100.0 * report.wall_s).round() / 100.0), number(report.gflops.round()));
    lines.push(format!("  {backend}: {redecided} columns decided again in f64, {seconds} s, {rate} GFLOP/s"));
    lines
}

fn law_lines(law: &Predicted) -> Vec<String> {
    let updates = law.exact_updates.map(|u| u.to_string()).join(" / ");
    let theta = law.theta.map(number).join(" / ");
    let mut lines = vec![format!("  the law    theta = {theta}: {updates} exact updates (5 / 50 / 95 % of draws)")];
    if let Some(rank) = law.rank {
        let percent = number((1000.0 * rank).round() / 10.0);
        lines.push(format!("             {percent} % of draws break by the theta of this one"));
    }
    lines
}
