//! `attnlab horizon`: the depth to which Theorem 1 holds on one draw.

use super::Status;
use super::bar::Bar;
use crate::format::number;
use super::input;
use super::out::Out;
use crate::error::Result;
use crate::run::horizon::{HorizonReport, HorizonSetting, horizon};

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
pub struct Args {
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
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut Out) -> Result<Status> {
    let limit = || crate::claim::aot_setting::delta_limit(args.tokens as f64, args.dim as f64);
    let setting = HorizonSetting {
        tokens: args.tokens as usize,
        clusters: args.clusters as usize,
        dim: args.dim as usize,
        delta: args.delta.unwrap_or_else(limit),
        eta: args.eta,
        tau: args.tau,
        seed: args.seed,
    };
    let found = horizon(&setting, &Bar::new())?;
    if args.json {
        out.json(&found)?;
    } else {
        lines(&found).iter().try_for_each(|l| out.line(l))?;
    }
    Ok(Status::Expected)
}

fn lines(found: &HorizonReport) -> Vec<String> {
    let s = &found.setting;
    let mut lines = vec![format!(
        "N = {}, K = {}, p = {}, delta = {}, eta = {}, tau = {}, seed {}",
        s.tokens,
        s.clusters,
        s.dim,
        number(s.delta),
        number(s.eta),
        number(s.tau),
        s.seed
    )];
    match (found.theta, found.exact_updates, &found.first) {
        (Some(theta), Some(updates), Some(first)) => {
            lines.push(format!(
                "  this draw  theta = {}: {updates} exact updates",
                number(theta)
            ));
            lines.push(format!(
                "             then head {}, column {}: key {} gets the weight {}",
                first.head,
                first.place.column,
                first.place.row,
                number(first.place.weight)
            ));
        }
        _ => lines.push("  this draw  the pattern never breaks".into()),
    }
    match &found.predicted {
        Some(law) => {
            let theta = law.theta.map(number).join(" / ");
            let updates = law.exact_updates.map(|u| u.to_string()).join(" / ");
            lines.push(format!(
                "  the law    theta = {theta}: {updates} exact updates (5 / 50 / 95 % of draws)"
            ));
            if let Some(rank) = law.rank {
                lines.push(format!(
                    "             {} % of draws break by the theta of this one",
                    number((1000.0 * rank).round() / 10.0)
                ));
            }
        }
        None => lines.push("  the law    does not apply here (K = 1, delta = 0 or tau = 1)".into()),
    }
    lines.push(format!(
        "  {} columns decided again in f64, {} s",
        found.redecided,
        number((100.0 * found.wall_s).round() / 100.0)
    ));
    lines
}
