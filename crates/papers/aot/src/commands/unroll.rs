//! `attnlab unroll`: the network on one's own tokens, SNR layer by layer.

use crate::unroll::{Data, LayerSnr, unroll_with, write_tokens};
use attnlab_core::error::{Error, Result};
use attnlab_core::format::number;
use attnlab_gpu::backend::{Backend, Where};
use attnlab_lab::command::{Bar, Out, Status, input, note};
use attnlab_lab::run::{Progress, files};
use attnlab_theory::attention::{Mask, Mssa, Phi};
use clap::ValueEnum;
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
pub(super) struct Args {
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
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = input::positive, allow_negative_numbers = true)]
    layers: u64,
    /// Step size
    #[arg(long, default_value_t = 0.5, value_parser = input::positive_number, allow_negative_numbers = true)]
    eta: f64,
    /// Threshold, where phi has one
    #[arg(long, default_value_t = 0.55, value_parser = input::positive_number, allow_negative_numbers = true)]
    tau: f64,
    /// Set of tokens that a token may attend to
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
    device: Where,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<Status> {
    for path in [&args.csv, &args.save_tokens].into_iter().flatten() {
        files::ensure_free(path, args.force)?;
    }
    if let (Some(csv), Some(tokens)) = (&args.csv, &args.save_tokens)
        && csv == tokens
    {
        return Err(Error::invalid("save-tokens", tokens.display(), "must be another name than that of --csv"));
    }
    let phi = Phi::parse(&args.phi, args.tau)?;
    let data = Data::read(&args.tokens, &args.bases, &args.labels)?;
    for warning in &data.warnings {
        note(&format!("warning: {warning}"));
    }
    let Args { eta, normalise_queries, .. } = *args;
    let mask = if args.mask == MaskName::Causal { Mask::Causal } else { Mask::None };
    let layer = Mssa { phi, eta, mask, normalise_queries };
    let machine = match precision(args)? {
        Precision::F32 => Some(super::machine(&args.device)?),
        // Only the CPU computes in f64, so `auto` has nothing to choose.
        Precision::F64 => None,
    };
    let bar = Bar::unless_lines_show();
    bar.start("unroll", args.layers);
    let report = unroll_with(&data, &layer, args.layers, machine.as_deref(), &mut |row| {
        if args.json {
            out.json(row)?;
        } else {
            if row.layer == 0 {
                out.line(&header(data.bases.len()))?;
            }
            out.line(&line(row))?;
        }
        bar.advance(u64::from(row.layer > 0));
        Ok(())
    });
    bar.finish();
    let report = report?;
    if let Some(path) = &args.save_tokens {
        write_tokens(path, &report.tokens, args.force)?;
    }
    if let Some(path) = &args.csv {
        let csv = csv_text(&report.layers);
        files::write_whole(path, args.force, |w| w.write_all(csv.as_bytes()))?;
    }
    Ok(Status::Expected)
}

/// The arithmetic: what the user says, else what the machine that the user named has.
fn precision(args: &Args) -> Result<Precision> {
    match (args.precision, args.device.backend) {
        (Some(Precision::F64), Backend::Gpu | Backend::GpuF32) => {
            let allowed = "must be f32; a GPU computes in f32. Write --precision f32 or --backend cpu";
            Err(Error::invalid("precision", "f64", allowed))
        }
        (None, Backend::Gpu | Backend::GpuF32) => Ok(Precision::F32),
        (given, _) => Ok(given.unwrap_or(Precision::F64)),
    }
}

fn header(clusters: usize) -> String {
    format!("layer{}", (0..clusters).map(|k| format!("{:>12}", format!("snr_{k}"))).collect::<String>())
}

fn line(row: &LayerSnr) -> String {
    format!("{:>5}{}", row.layer, row.snr.iter().map(|x| format!("{:>12}", number(*x))).collect::<String>())
}

fn csv_text(rows: &[LayerSnr]) -> String {
    let clusters = rows.first().map_or(0, |r| r.snr.len());
    let mut text = format!("layer{}\n", (0..clusters).map(|k| format!(",snr_{k}")).collect::<String>());
    for row in rows {
        // The shortest text that reads back to the same number.
        text.push_str(&format!("{}{}\n", row.layer, row.snr.iter().map(|x| format!(",{x}")).collect::<String>()));
    }
    text
}
