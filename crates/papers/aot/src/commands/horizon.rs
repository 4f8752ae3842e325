//! `attnlab horizon`: the depth to which Theorem 1 holds on one draw.

use crate::horizon::{HorizonReport, horizon_on};
use crate::theory::Horizon;
use crate::theory::printed::delta_limit;
use attnlab_core::error::{Error, Result};
use attnlab_core::format::number;
use attnlab_gpu::backend::Where;
use attnlab_lab::command::{Bar, Command, Out, Status, input, note};
use attnlab_lab::run::memory;
use attnlab_theory::sample::Mixture;
use clap::Args as _;
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  attnlab horizon --tokens 2000 --clusters 2 --dim 900
  attnlab horizon --tokens 20000 --clusters 2 --dim 1300 --eta 0.5 --tau 0.55
  attnlab horizon --tokens 200000 --dim 1300 --json      the proof's own regime, under 3 GB

While the block pattern (30) lasts, layer l only rescales the in-cluster block by
theta = (1 + eta tau)^l. One pass over the scores of a draw finds, for every head and column, the
first theta at which the pattern breaks, and so the exact number of layers for which Eq. (8) holds.
The law is the distribution of that theta over draws (attnlab show aot.horizon_theta).";

/// Find the exact depth to which Theorem 1 holds on one draw, beside the predicted law
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
struct Args {
    /// N, a multiple of K
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true)]
    tokens: u64,
    /// K
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true)]
    clusters: u64,
    /// p, dimension of each subspace
    #[arg(long, value_name = "P", default_value_t = 1300, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true)]
    dim: u64,
    /// Noise level [default: sqrt(log N / p) / 8, the upper end of (11)]
    #[arg(long, value_parser = input::number, allow_negative_numbers = true)]
    delta: Option<f64>,
    /// Step size
    #[arg(long, default_value_t = 0.5, value_parser = input::positive_number)]
    #[arg(allow_negative_numbers = true)]
    eta: f64,
    /// Threshold of phi
    #[arg(long, default_value_t = 0.55, value_parser = input::positive_number)]
    #[arg(allow_negative_numbers = true)]
    tau: f64,
    /// Seed of the draw
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole)]
    #[arg(allow_negative_numbers = true)]
    seed: u64,
    #[command(flatten)]
    device: Where,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// One line of JSON: what was measured, and the law beside it.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    found: &'a HorizonReport,
    predicted: &'a Option<Predicted>,
}

/// The law of the first break at the same parameters.
#[derive(Serialize)]
struct Predicted {
    /// θ by which 5, 50 and 95 % of draws have broken.
    theta: [f64; 3],
    /// Exact updates at these θ.
    exact_updates: [u64; 3],
    /// Share of draws that have broken by the θ seen here: uniform on (0, 1) if the law is right.
    rank: Option<f64>,
}

/// The command.
pub(super) struct HorizonCommand;

impl Command for HorizonCommand {
    fn describe(&self) -> clap::Command {
        Args::augment_args(clap::Command::new("horizon"))
    }

    fn run(&self, matches: &clap::ArgMatches, out: &mut Out) -> Result<Status> {
        run(&super::parsed::<Args>(matches)?, out)
    }
}

fn run(args: &Args, out: &mut Out) -> Result<Status> {
    let delta = args.delta;
    let delta = delta.unwrap_or_else(|| delta_limit(args.tokens as f64, args.dim as f64));
    if args.tau > 1.0 {
        return Err(Error::invalid(
            "tau",
            args.tau,
            "must be a number in (0, 1]",
        ));
    }
    memory::ensure("the horizon of one draw", bytes(args))?;
    let (n, k, p) = (
        args.tokens as usize,
        args.clusters as usize,
        args.dim as usize,
    );
    let mixture = Mixture::balanced(n, k, p, delta)?;
    let chosen = args.device.backend.machine()?;
    if let Some(line) = &chosen.note {
        note(line);
    }
    let (eta, tau, seed) = (args.eta, args.tau, args.seed);
    let found = horizon_on(&*chosen.machine, &mixture, eta, tau, seed, &Bar::new())?;
    let law = Horizon::new(n, k, p, delta, args.tau);
    let predicted = law
        .ok()
        .and_then(|law| predict(&law, args.eta, found.theta_crit));
    if args.json {
        out.json(&Line {
            found: &found,
            predicted: &predicted,
        })?;
    } else {
        lines(args, &found, &predicted)
            .iter()
            .try_for_each(|l| out.line(l))?;
    }
    Ok(Status::Expected)
}

/// One head's coefficients in f32 with the copies of its blocks, and what is kept of every column.
fn bytes(args: &Args) -> u64 {
    // Sums at twelve θ, maxima, scratch: some 400 bytes of a column; 24 of bracket in every head.
    let column = args.dim.saturating_mul(8).saturating_add(400);
    let column = column.saturating_add(args.clusters.saturating_mul(24));
    args.tokens.saturating_mul(column)
}

fn predict(law: &Horizon, eta: f64, seen: Option<f64>) -> Option<Predicted> {
    let at = |probability| -> Option<(f64, u64)> {
        let updates = law.exact_updates(eta, probability).ok()?;
        Some((law.theta(probability).ok()?, updates))
    };
    let (low, median, high) = (at(0.05)?, at(0.5)?, at(0.95)?);
    Some(Predicted {
        theta: [low.0, median.0, high.0],
        exact_updates: [low.1, median.1, high.1],
        rank: seen.map(|theta| -(-law.lambda(theta)).exp_m1()),
    })
}

fn lines(args: &Args, found: &HorizonReport, predicted: &Option<Predicted>) -> Vec<String> {
    let mut lines = vec![format!(
        "N = {}, K = {}, p = {}, delta = {}, eta = {}, tau = {}, seed {}",
        args.tokens,
        args.clusters,
        args.dim,
        number(found.delta),
        number(found.eta),
        number(found.tau),
        found.seed
    )];
    match (found.theta_crit, &found.witness) {
        (Some(theta), Some(first)) => {
            let updates = first.layer;
            lines.push(format!(
                "  this draw  theta = {}: updates 0 to {} are exact ({updates} of them)",
                number(theta),
                updates.saturating_sub(1)
            ));
            lines.push(format!(
                "             layer {updates} is not: head {}, column {}, key {} with weight {}",
                first.head,
                first.column,
                first.row,
                number(first.weight)
            ));
        }
        _ => lines.push("  this draw  the pattern never breaks: every update is exact".into()),
    }
    match predicted {
        Some(law) => lines.extend(law_lines(law)),
        None => lines.push("  the law    does not apply here (K = 1, delta = 0 or tau = 1)".into()),
    }
    lines.push(format!(
        "  {}: {} columns decided again in f64, {} s, {} GFLOP/s",
        found.backend,
        found.redecided,
        number((100.0 * found.wall_s).round() / 100.0),
        number(found.gflops.round())
    ));
    lines
}

fn law_lines(law: &Predicted) -> Vec<String> {
    let updates = law.exact_updates.map(|u| u.to_string()).join(" / ");
    let mut lines = vec![format!(
        "  the law    theta = {}: {updates} exact updates (5 / 50 / 95 % of draws)",
        law.theta.map(number).join(" / ")
    )];
    if let Some(rank) = law.rank {
        let percent = number((1000.0 * rank).round() / 10.0);
        lines.push(format!(
            "             {percent} % of draws break by the theta of this one"
        ));
    }
    lines
}
