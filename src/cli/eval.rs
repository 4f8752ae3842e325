//! `attnlab eval`: the value of a closed form.

use attnlab_core::error::Result;
use attnlab_core::format;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Out, Parameters, Status};

const EXAMPLES: &str = "\
Examples:
  attnlab eval aot.min_tokens --set clusters=2
  attnlab eval aot.horizon_layers --set tokens=2000 --set clusters=2 --set dim=900 --set delta=0.0115 \\
      --set eta=0.5 --set tau=0.55 --set probability=0.5
  attnlab eval aot.tau_upper --input params.json --json
  attnlab list formulas                          the names of the closed forms
  attnlab show aot.horizon_layers                the parameters of a closed form";

/// Evaluate a closed form at given parameters
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The formula, as `attnlab list formulas` shows it
    #[arg(value_name = "FORMULA")]
    formula: String,
    #[command(flatten)]
    parameters: Parameters,
    /// Print one JSON object: formula, parameters, value, source
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let formula = catalogue.formula(&args.formula)?;
    let evaluation = formula.evaluate(&args.parameters.collect()?)?;
    if args.json {
        out.json(&evaluation)?;
    } else {
        // All digits, so that other programs can compute with the value.
        out.line(&format!("{} = {}", evaluation.formula, evaluation.value))?;
        out.line(&format!("  {}", formula.doc))?;
        out.line(&format!("  {}", format::pairs(&evaluation.parameters)))?;
        out.line(&format!("  {}", evaluation.source))?;
    }
    Ok(Status::Expected)
}
