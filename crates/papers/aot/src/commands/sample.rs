//! `attnlab sample`: a draw of Definition 1 as files of NumPy.

use crate::claims;
use crate::claims::setting::mixture;
use crate::quantities::SAMPLED_COLUMNS;
use crate::theory::printed::delta_limit;
use attnlab_core::error::{Error, Result};
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::command::{Out, Parameters, Status, input};
use attnlab_lab::run::store::cell_name;
use attnlab_lab::run::{files, memory};
use attnlab_networks::npy;
use attnlab_theory::sample::{Bases, Draw, Mixture};
use clap::ValueEnum;
use ndarray::Array1;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
    /// N, a multiple of K
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true)]
    tokens: u64,
    /// K
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true)]
    clusters: u64,
    /// p, dimension of each subspace
    #[arg(long, value_name = "P", default_value_t = 100, value_parser = input::positive)]
    #[arg(allow_negative_numbers = true)]
    dim: u64,
    /// d, dimension of the tokens [default: K p, and (K + 1) p for coherent bases]
    #[arg(long, value_name = "D", value_parser = input::positive, allow_negative_numbers = true)]
    ambient: Option<u64>,
    /// Noise level [default: sqrt(log N / p) / 8, the upper end of (11)]
    #[arg(long, value_parser = input::number, allow_negative_numbers = true)]
    delta: Option<f64>,
    /// Relative position of the bases
    #[arg(long, default_value = "orthonormal")]
    relation: Relation,
    /// c of U_k'U_l = c I, for coherent bases
    #[arg(long, value_name = "C", value_parser = input::number, allow_negative_numbers = true)]
    coherence: Option<f64>,
    /// Seed of the draw
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole)]
    #[arg(allow_negative_numbers = true)]
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Relation {
    /// All of them together: Theorem 1's (7)
    Orthonormal,
    /// Drawn independently of each other
    Independent,
    /// All principal cosines of two of them are --coherence
    Coherent,
}

/// A mixture to draw, with its streams.
struct Plan {
    mixture: Mixture,
    streams: Streams,
    /// Entries of draw.json.
    origin: Value,
}

/// Runs the command.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<Status> {
    let plan = match &args.claim {
        Some(id) => of_claim(args, id)?,
        None => of_options(args)?,
    };
    let mixture = &plan.mixture;
    mixture.validate()?;
    let (d, n) = (mixture.ambient as u64, mixture.tokens() as u64);
    // Tokens, one head, the copy in C order; the bases and their QR factor.
    let needed = memory::product(&[8, 3, d, n]).saturating_add(memory::product(&[8, 4, d, d]));
    memory::ensure("the draw", needed)?;
    let names: Vec<PathBuf> = ["z.npy".into(), "y.npy".into(), "draw.json".into()]
        .into_iter()
        .chain((0..mixture.clusters()).map(|k| format!("u{k}.npy")))
        .map(|name: String| args.out.join(name))
        .collect();
    std::fs::create_dir_all(&args.out)
        .map_err(|e| Error::io(&args.out, e, "Choose a folder that you may write with --out"))?;
    names.iter().try_for_each(|path| files::ensure_free(path, args.force))?;
    let draw = mixture.draw(&plan.streams)?;
    let text = describe(&plan);
    write(args, &names, &draw, &text)?;
    match args.json {
        true => out.json(&text)?,
        false => names.iter().try_for_each(|path| out.line(&path.display().to_string()))?,
    }
    Ok(Status::Expected)
}

fn of_options(args: &Args) -> Result<Plan> {
    if !args.parameters.set.is_empty() || args.parameters.input.is_some() {
        let allowed = "must come with --claim; without one write --tokens, --clusters, --dim and --delta";
        return Err(Error::invalid("set", args.parameters.set.join(" "), allowed));
    }
    let (n, k, p) = (args.tokens as usize, args.clusters as usize, args.dim as usize);
    let limit = || delta_limit(args.tokens as f64, args.dim as f64);
    let mut mixture = Mixture::balanced(n, k, p, args.delta.unwrap_or_else(limit))?;
    mixture.bases = match (args.relation, args.coherence) {
        (Relation::Orthonormal, None) => Bases::Orthonormal,
        (Relation::Independent, None) => Bases::Independent,
        (Relation::Coherent, Some(c)) if (0.0..1.0).contains(&c) => Bases::Coherent(c),
        (Relation::Coherent, Some(c)) => {
            return Err(Error::invalid("coherence", c, "must be a number in [0, 1)"));
        }
        (Relation::Coherent, None) => {
            let allowed = "must come with a coherence. Write --coherence C";
            return Err(Error::invalid("relation", "coherent", allowed));
        }
        (_, Some(c)) => {
            let allowed = "must come with --relation coherent";
            return Err(Error::invalid("coherence", c, allowed));
        }
    };
    if args.relation == Relation::Coherent {
        mixture.ambient = mixture.ambient.saturating_add(p);
    }
    mixture.ambient = args.ambient.map_or(mixture.ambient, |d| d as usize);
    Ok(Plan {
        mixture,
        // The streams of `attnlab horizon`.
        streams: Streams::new(args.seed, "aot.horizon", 0, 0),
        origin: json!({ "seed": args.seed }),
    })
}

/// Trial T of a claim whose trials draw all coefficients of a mixture.
fn of_claim(args: &Args, id: &str) -> Result<Plan> {
    const DRAWING: [&str; 2] = ["aot.theorem1", "aot.theorem1_bounded"];
    let claims = claims::all();
    let claim = claims.iter().find(|c| c.sheet().id == id && DRAWING.contains(&id));
    let claim = claim.ok_or_else(|| {
        let allowed = format!("must be {}, whose trials draw tokens", DRAWING.join(" or "));
        Error::invalid("claim", id, allowed)
    })?;
    let params = Params::resolve(&claim.schema(), &args.parameters.collect()?)?;
    claim.validate(&params)?;
    if params.get(SAMPLED_COLUMNS) > 0 {
        let allowed = "must be 0; a trial that looks at some columns draws only what they need";
        return Err(Error::invalid("columns", params.get(SAMPLED_COLUMNS), allowed));
    }
    Ok(Plan {
        mixture: mixture(&params)?,
        streams: Streams::new(args.seed, id, params.cell(), args.trial),
        origin: json!({
            "seed": args.seed, "claim": id, "trial": args.trial, "cell": cell_name(params.cell()),
            "parameters": params.as_json(),
        }),
    })
}

fn describe(plan: &Plan) -> Value {
    let mixture = &plan.mixture;
    let mut text = json!({
        "counts": mixture.counts, "dims": mixture.dims, "ambient": mixture.ambient,
        "delta": mixture.delta, "relation": match mixture.bases {
            Bases::Orthonormal => json!("orthonormal"),
            Bases::Independent => json!("independent"),
            Bases::Coherent(c) => json!({ "coherent": c }),
        },
        "version": env!("CARGO_PKG_VERSION"),
    });
    if let (Value::Object(text), Value::Object(origin)) = (&mut text, &plan.origin) {
        text.extend(origin.clone());
    }
    text
}

/// Writes the files; `names` are those of tokens, labels, seeds and bases.
fn write(args: &Args, names: &[PathBuf], draw: &Draw, text: &Value) -> Result<()> {
    npy::write(&names[0], &draw.tokens, args.force)?;
    let labels: Array1<i64> = draw.labels.iter().map(|k| *k as i64).collect();
    let put = |path: &Path, bytes: &[u8]| files::write_whole(path, args.force, |w| w.write_all(bytes));
    files::write_whole(&names[1], args.force, |w| attnlab_core::npy::write(&labels, w))?;
    for (path, basis) in names[3..].iter().zip(&draw.bases) {
        npy::write(path, basis, args.force)?;
    }
    // Last, so that a folder with seeds is complete.
    put(&names[2], format!("{text:#}\n").as_bytes())
}
