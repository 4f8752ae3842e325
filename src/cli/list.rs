//! `attnlab list` and `attnlab show`: what there is.

use super::Status;
use super::card;
use super::out::Out;
use crate::claim::{Claim, registry};
use crate::error::{Error, Result};
use crate::experiment::Entry;
use crate::experiment::registry::EXPERIMENTS;
use crate::format::wrapped;
use crate::params::Params;
use crate::theory::formulas::{self, Formula};
use serde_json::{Map, Value, json};

const EXAMPLES: &str = "\
Examples:
  attnlab list                      every claim, with what it says and where it is printed
  attnlab list --json | jq -r .id
  attnlab list experiments          every figure that `attnlab run` makes
  attnlab list formulas             every closed form that `attnlab eval` knows
  attnlab list aot.mssa_is_mhsa     the same as attnlab show aot.mssa_is_mhsa";

/// List claims, experiments and closed forms
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// `claims`, `experiments`, `formulas`, or the id of one of them
    #[arg(value_name = "WHAT", default_value = "claims")]
    what: String,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  attnlab show aot.mssa_is_mhsa
  attnlab show aot.mssa_is_mhsa --json | jq .parameters
  attnlab show aot.horizon_layers";

/// Show one claim, experiment or closed form: statement, hypotheses, parameters, mutants, correction
#[derive(clap::Args, Debug)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct ShowArgs {
    /// Its id
    #[arg(value_name = "ID")]
    id: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Runs `list`.
pub fn run(args: &Args, out: &mut Out) -> Result<Status> {
    match args.what.as_str() {
        "claims" => claims(args.json, out)?,
        "formulas" => all_formulas(args.json, out)?,
        "experiments" => experiments(args.json, out)?,
        id => one(id, args.json, out)?,
    }
    Ok(Status::Expected)
}

/// Runs `show`.
pub fn show(args: &ShowArgs, out: &mut Out) -> Result<Status> {
    one(&args.id, args.json, out)?;
    Ok(Status::Expected)
}

fn one(id: &str, json: bool, out: &mut Out) -> Result<()> {
    if let Ok(formula) = formulas::find(id) {
        return show_formula(&formula, json, out);
    }
    if let Some(entry) = EXPERIMENTS.iter().find(|e| e.id == id) {
        return show_experiment(entry, json, out);
    }
    let claim = claim(id)?;
    if json {
        return out.json(&card::claim_json(&*claim));
    }
    card::claim_lines(&*claim)
        .iter()
        .try_for_each(|l| out.line(l))
}

/// The claim with this id; the error suggests formulas and experiments too.
fn claim(id: &str) -> Result<Box<dyn Claim>> {
    registry::find(id).map_err(|error| {
        let claims: Vec<_> = registry::claims().iter().map(|c| c.card().id).collect();
        let formulas: Vec<_> = formulas::formulas().iter().map(|f| f.id).collect();
        let experiments: Vec<_> = EXPERIMENTS.iter().map(|e| e.id).collect();
        match error {
            Error::Unknown { .. } => {
                let known = [claims, formulas, experiments].concat();
                Error::unknown("claim, formula or experiment", id, known).listed_by(
                    "`attnlab list`, `attnlab list formulas`, `attnlab list experiments`",
                )
            }
            other => other,
        }
    })
}

fn show_formula(formula: &Formula, json: bool, out: &mut Out) -> Result<()> {
    let schema = (formula.schema)();
    let defaults = Params::resolve(&schema, &Map::new()).ok();
    if json {
        return out.json(&json!({
            "id": formula.id,
            "source": formula.source,
            "doc": formula.doc,
            "parameters": card::parameters_json(&schema, defaults.as_ref()),
        }));
    }
    out.line(&format!("{}: {}", formula.id, formula.doc))?;
    out.line(&format!("  {}", formula.source))?;
    let lines = card::parameter_lines(&schema, defaults.as_ref());
    lines.iter().try_for_each(|l| out.line(l))
}

fn experiment_json(entry: &Entry) -> Value {
    json!({ "id": entry.id, "source": entry.source, "title": entry.title })
}

fn show_experiment(entry: &Entry, json: bool, out: &mut Out) -> Result<()> {
    if json {
        let mut card = experiment_json(entry);
        let defaults = entry.configure(false, None, &toml::Table::new())?;
        card["settings"] = Value::Object(defaults.settings());
        return out.json(&card);
    }
    out.line(&format!("{}: {}", entry.id, entry.title))?;
    out.line(&format!("  {}\n", entry.source))?;
    out.line(entry.defaults.trim_end())
}

fn experiments(json: bool, out: &mut Out) -> Result<()> {
    if json {
        return EXPERIMENTS
            .iter()
            .try_for_each(|e| out.json(&experiment_json(e)));
    }
    for entry in EXPERIMENTS {
        out.line(&format!("{}: {}", entry.id, entry.title))?;
        out.line(&format!("    {}", entry.source))?;
    }
    out.line(&format!("{} experiments.", EXPERIMENTS.len()))
}

fn all_formulas(json: bool, out: &mut Out) -> Result<()> {
    let all = formulas::formulas();
    if json {
        return all
            .iter()
            .try_for_each(|f| out.json(&json!({ "id": f.id, "source": f.source, "doc": f.doc })));
    }
    for formula in &all {
        out.line(&format!("{}: {}", formula.id, formula.doc))?;
        let names: Vec<_> = (formula.schema)().iter().map(|s| s.name).collect();
        out.line(&format!("    {} <- {}", formula.source, names.join(", ")))?;
    }
    out.line(&format!("{} formulas.", all.len()))
}

fn claims(json: bool, out: &mut Out) -> Result<()> {
    let cards: Vec<_> = registry::claims().iter().map(|c| c.card()).collect();
    if json {
        return cards.iter().try_for_each(|card| {
            out.json(&json!({
                "id": card.id,
                "source": card.source(),
                "title": card.title,
                "statement": card.statement,
                "kind": card.kind,
                "expected": card.expected,
            }))
        });
    }
    for card in &cards {
        out.line(&format!("{}: {}", card.id, card.title))?;
        let where_ = format!("{}. Expected: {}.", card.source(), card.expected.name());
        wrapped(&where_, 4, 100)
            .iter()
            .try_for_each(|l| out.line(l))?;
    }
    out.line(&format!(
        "{} claims; also: attnlab list experiments ({}), attnlab list formulas ({}).",
        cards.len(),
        EXPERIMENTS.len(),
        formulas::formulas().len()
    ))
}
