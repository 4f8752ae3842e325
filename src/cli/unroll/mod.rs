//! `attnlab unroll`: the network on one's own tokens, SNR layer by layer.

mod data;
mod npy;

use super::Status;
use super::backend::{self, Backend};
use super::bar::Bar;
use super::input;
use super::out::{Out, note};
use crate::attention::streaming::{Exp, Streamed};
use crate::attention::{Mask, Mssa, Phi};
use crate::error::{Error, Result};
use crate::format::number;
use crate::measure::snr;
use crate::run::{Progress, files, memory};
use clap::ValueEnum;
use data::Data;
use ndarray::Array2;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  attnlab unroll --tokens z.npy --bases u0.npy u1.npy --labels y.npy --phi softmax --layers 12
  attnlab unroll --tokens z.npy --bases u*.npy --labels y.npy --phi thresholded-softmax --tau 0.55 \\
      --json --save-tokens out.npy

In NumPy: tokens Z (d, N), one file (d, p_k) with orthonormal columns per subspace, labels (N,)
integers from 0. One layer is Z <- Z + eta sum_k U_k U_k'Z phi(Z'U_k U_k'Z); layer 0 is the input.";

/// Run the unrolled network on NumPy files and show the SNR of each cluster per layer
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Z (d, N), float32 or float64
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
    /// U_k (d, p_k), one file per subspace
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    bases: Vec<PathBuf>,
    /// Cluster of each token (N,), integers from 0
    #[arg(long, value_name = "FILE")]
    labels: PathBuf,
    /// Nonlinearity
    #[arg(long, default_value = "softmax", value_parser = clap::builder::PossibleValuesParser::new(Phi::NAMES))]
    phi: String,
    /// Number of layers
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true)]
    layers: u64,
    /// Step size
    #[arg(long, default_value_t = 0.5, value_parser = input::positive_number)]
    #[arg(allow_negative_numbers = true)]
    eta: f64,
    /// Threshold, where phi has one
    #[arg(long, default_value_t = 0.55, value_parser = input::positive_number)]
    #[arg(allow_negative_numbers = true)]
    tau: f64,
    /// Which tokens a token may attend to
    #[arg(long, default_value = "none")]
    mask: MaskName,
    /// Scale queries to unit length
    #[arg(long)]
    normalise_queries: bool,
    /// Arithmetic of the layers; decisions of phi within rounding are made again in f64
    /// [default: f64; f32 with --backend gpu]
    #[arg(long)]
    precision: Option<Precision>,
    #[command(flatten)]
    device: backend::Where,
    /// One JSON object per layer and line
    #[arg(long)]
    json: bool,
    /// Also write the table as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the last Z (d, N) as a NumPy file
    #[arg(long, value_name = "FILE")]
    save_tokens: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MaskName {
    /// All of them
    None,
    /// Those before it and itself
    Causal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Precision {
    /// Single
    F32,
    /// Double
    F64,
}

/// One layer: JSON has null where the SNR is infinite or undefined.
#[derive(Clone, Debug, Serialize)]
struct Row {
    layer: u64,
    snr: Vec<f64>,
    /// Decisions of a discontinuous φ that rounding could have changed, made again in f64.
    redecided: usize,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut Out) -> Result<Status> {
    for path in [&args.csv, &args.save_tokens].into_iter().flatten() {
        files::ensure_free(path, args.force)?;
    }
    if let (Some(csv), Some(tokens)) = (&args.csv, &args.save_tokens)
        && csv == tokens
    {
        let allowed = "another name than that of --csv";
        return Err(Error::invalid("save-tokens", tokens.display(), allowed));
    }
    let phi = Phi::parse(&args.phi, args.tau)?;
    let data = Data::read(&args.tokens, &args.bases, &args.labels)?;
    for warning in &data.warnings {
        note(&format!("warning: {warning}"));
    }
    let layer = Mssa {
        phi,
        eta: args.eta,
        mask: match args.mask {
            MaskName::None => Mask::None,
            MaskName::Causal => Mask::Causal,
        },
        normalise_queries: args.normalise_queries,
    };
    let rows = match precision(args)? {
        Precision::F32 => {
            let machine = args.device.backend.machine()?;
            let step = |z: &Array2<f32>, bases: &[Array2<f32>]| {
                layer.stream_on(&*machine, z.view(), bases)
            };
            layers(args, step, data, out)?
        }
        // Only the CPU computes in f64, so `auto` has nothing to choose.
        Precision::F64 => {
            let step = |z: &Array2<f64>, bases: &[Array2<f64>]| layer.stream(z.view(), bases);
            layers(args, step, data, out)?
        }
    };
    if let Some(path) = &args.csv {
        let csv = csv_text(&rows);
        files::write_whole(path, args.force, |w| w.write_all(csv.as_bytes()))?;
    }
    Ok(Status::Expected)
}

/// The arithmetic: what the user says, else what the machine that the user named has.
fn precision(args: &Args) -> Result<Precision> {
    match (args.precision, args.device.backend) {
        (Some(Precision::F64), Backend::Gpu) => {
            let allowed = "--backend gpu computes in f32; write --precision f32 or --backend cpu";
            Err(Error::invalid("precision", "f64", allowed))
        }
        (None, Backend::Gpu) => Ok(Precision::F32),
        (given, _) => Ok(given.unwrap_or(Precision::F64)),
    }
}

/// Runs all layers on the fast path and shows each as soon as it is there.
fn layers<T: Exp>(
    args: &Args,
    step: impl Fn(&Array2<T>, &[Array2<T>]) -> Result<Streamed<T>>,
    data: Data,
    out: &mut Out,
) -> Result<Vec<Row>> {
    let (d, n) = data.tokens.dim();
    // Tokens before and after, coefficients and their update, the copies that the SNR takes: a
    // handful of (d, N) in f64. The scores are never all in memory.
    memory::ensure("a layer", (8 * 8 * d as u64).saturating_mul(n as u64))?;
    if !args.json {
        out.line(&header(data.bases.len()))?;
    }
    let bar = Bar::unless_lines_show();
    let bases: Vec<_> = data.bases.iter().map(|u| u.mapv(T::of_f64)).collect();
    let mut rows = vec![];
    let mut z = data.tokens.mapv(T::of_f64);
    bar.start("unroll", args.layers);
    for l in 0..=args.layers {
        let mut redecided = 0;
        if l > 0 {
            let next = step(&z, &bases)?;
            (z, redecided) = (next.output, next.redecided);
            bar.advance(1);
        }
        let wide: Array2<f64> = z.mapv(T::as_f64);
        finite(&wide, l, args.eta)?;
        let row = Row {
            layer: l,
            snr: snr(wide.view(), &data.bases, &data.labels),
            redecided,
        };
        if args.json {
            out.json(&row)?;
        } else {
            out.line(&line(&row))?;
        }
        rows.push(row);
    }
    bar.finish();
    if let Some(path) = &args.save_tokens {
        npy::write(path, &z.mapv(T::as_f64), args.force)?;
    }
    Ok(rows)
}

fn finite(z: &Array2<f64>, layer: u64, eta: f64) -> Result<()> {
    if z.iter().all(|x| x.is_finite()) {
        return Ok(());
    }
    Err(Error::Numerical(format!(
        "the tokens are no longer finite after layer {layer}: write fewer layers or a smaller eta \
         than {eta}"
    )))
}

fn header(clusters: usize) -> String {
    let names = (0..clusters).map(|k| format!("{:>12}", format!("snr_{k}")));
    format!("layer{}", names.collect::<String>())
}

fn line(row: &Row) -> String {
    let values = row.snr.iter().map(|x| format!("{:>12}", number(*x)));
    format!("{:>5}{}", row.layer, values.collect::<String>())
}

fn csv_text(rows: &[Row]) -> String {
    let clusters = rows.first().map_or(0, |r| r.snr.len());
    let names = (0..clusters).map(|k| format!(",snr_{k}"));
    let mut text = format!("layer{}\n", names.collect::<String>());
    for row in rows {
        // The shortest text that reads back to the same number.
        let values = row.snr.iter().map(|x| format!(",{x}"));
        text.push_str(&format!("{}{}\n", row.layer, values.collect::<String>()));
    }
    text
}
