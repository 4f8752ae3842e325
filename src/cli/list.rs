//! `attnlab list` and `attnlab show`: the contents of the catalogue.

use super::card;
use attnlab_core::error::{Error, Result};
use attnlab_core::format::wrapped;
use attnlab_core::params::Params;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::claim::Claim;
use attnlab_lab::command::{Out, Status};
use attnlab_lab::experiment::Entry;
use attnlab_lab::formula::Formula;
use serde_json::{Map, Value, json};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  attnlab list                      every claim, with its title and source
  attnlab list --json | jq -r .id
  attnlab list experiments          every figure that `attnlab run` makes
  attnlab list formulas             every closed form that `attnlab eval` takes
  attnlab list papers               every paper, as BibTeX
  attnlab list --subject memories   the claims of the rooms with this subject
  attnlab list 'aot.*'              every claim whose id begins with aot.
  attnlab list aot.mssa_is_mhsa     the same as attnlab show aot.mssa_is_mhsa";

/// List claims, experiments and closed forms
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// `claims`, `experiments`, `formulas`, `papers`, the id of one of them, or `prefix*`
    #[arg(value_name = "WHAT", default_value = "claims")]
    what: String,
    /// Only what belongs to rooms with this subject, such as "memories"
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// Print one JSON object per line
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
    /// Id of the claim, experiment or closed form
    #[arg(value_name = "ID")]
    id: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs `list`.
pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let about = args.subject.as_ref().map(|subject| catalogue.about(subject)).transpose()?;
    let catalogue = about.as_ref().unwrap_or(catalogue);
    match args.what.as_str() {
        "claims" => {
            let listed: Vec<_> = catalogue.claims().cloned().collect();
            claims(&listed, args.json, out)?;
            if !args.json {
                out.line(&format!(
                    "{} claims; also: attnlab list experiments ({}), attnlab list formulas ({}).",
                    listed.len(),
                    catalogue.experiments().count(),
                    catalogue.formulas().count()
                ))?;
            }
        }
        "formulas" => formulas(catalogue, args.json, out)?,
        "experiments" => experiments(catalogue, args.json, out)?,
        "papers" => papers(catalogue, args.json, out)?,
        pattern if pattern.ends_with('*') => {
            claims(&super::beginning(catalogue, pattern)?, args.json, out)?;
        }
        id => show_entry(catalogue, id, args.json, out)?,
    }
    Ok(Status::Expected)
}

/// Runs `show`.
pub fn show(args: &ShowArgs, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    show_entry(catalogue, &args.id, args.json, out)?;
    Ok(Status::Expected)
}

/// Shows the entry of this id. A claim and a closed form may share an id; then both are shown.
fn show_entry(catalogue: &Catalogue, id: &str, json: bool, out: &mut Out) -> Result<()> {
    let formula = catalogue.formula(id).ok();
    if let Ok(claim) = catalogue.claim(id) {
        if json {
            let mut card = card::claim_json(&**claim);
            if let Some(formula) = formula {
                card["formula"] = formula_json(formula);
            }
            return out.json(&card);
        }
        let lines = card::claim_lines(&**claim);
        lines.iter().try_for_each(|l| out.line(l))?;
        let Some(formula) = formula else {
            return Ok(());
        };
        out.line("\nThe closed form of the same id:\n")?;
        return show_formula(formula, false, out);
    }
    if let Some(formula) = formula {
        return show_formula(formula, json, out);
    }
    if let Ok(entry) = catalogue.experiment(id) {
        return show_experiment(entry, json, out);
    }
    let claims = catalogue.claims().map(|c| c.sheet().id.as_str());
    let formulas = catalogue.formulas().map(|f| f.id);
    let experiments = catalogue.experiments().map(|e| e.name);
    let known: Vec<_> = claims.chain(formulas).chain(experiments).collect();
    Err(Error::unknown("claim, formula or experiment", id, known)
        .listed_by("`attnlab list`, `attnlab list formulas`, `attnlab list experiments`"))
}

fn formula_json(formula: &Formula) -> Value {
    let schema = (formula.schema)();
    let defaults = Params::resolve(&schema, &Map::new()).ok();
    json!({
        "id": formula.id,
        "source": formula.source,
        "doc": formula.doc,
        "parameters": card::parameters_json(&schema, defaults.as_ref()),
    })
}

fn show_formula(formula: &Formula, json: bool, out: &mut Out) -> Result<()> {
    if json {
        return out.json(&formula_json(formula));
    }
    let schema = (formula.schema)();
    let defaults = Params::resolve(&schema, &Map::new()).ok();
    out.line(&format!("{}: {}", formula.id, formula.doc))?;
    out.line(&format!("  {}", formula.source))?;
    let lines = card::parameter_lines(&schema, defaults.as_ref());
    lines.iter().try_for_each(|l| out.line(l))
}

fn experiment_json(entry: &Entry) -> Value {
    json!({
        "id": entry.id,
        "name": entry.name,
        "source": entry.source.to_string(),
        "title": entry.title,
    })
}

fn show_experiment(entry: &Entry, json: bool, out: &mut Out) -> Result<()> {
    if json {
        let mut card = experiment_json(entry);
        let defaults = entry.configure(false, None, &toml::Table::new())?;
        card["settings"] = Value::Object(defaults.settings());
        return out.json(&card);
    }
    out.line(&format!("{}: {}", entry.id, entry.title))?;
    out.line(&format!("  {}", entry.source))?;
    let name = entry.name;
    let lacks = match entry.lacks() {
        Some(feature) => format!("; needs a build with --features {feature}"),
        None => String::new(),
    };
    out.line(&format!("  attnlab run {name}{lacks}\n"))?;
    out.line(entry.defaults.trim_end())
}

fn experiments(catalogue: &Catalogue, json: bool, out: &mut Out) -> Result<()> {
    let entries: Vec<_> = catalogue.experiments().collect();
    if json {
        return entries.iter().try_for_each(|e| out.json(&experiment_json(e)));
    }
    for entry in &entries {
        out.line(&format!("{}: {}", entry.name, entry.title))?;
        out.line(&format!("    {}", entry.source))?;
    }
    out.line(&format!("{} experiments.", entries.len()))
}

fn formulas(catalogue: &Catalogue, json: bool, out: &mut Out) -> Result<()> {
    let formulas: Vec<_> = catalogue.formulas().collect();
    if json {
        return formulas.iter().try_for_each(|f| out.json(&json!({ "id": f.id, "source": f.source, "doc": f.doc })));
    }
    for formula in &formulas {
        out.line(&format!("{}: {}", formula.id, formula.doc))?;
        let names: Vec<_> = (formula.schema)().iter().map(|s| s.name).collect();
        out.line(&format!("    {} <- {}", formula.source, names.join(", ")))?;
    }
    out.line(&format!("{} formulas.", formulas.len()))
}

/// Prints every paper as a BibTeX entry.
fn papers(catalogue: &Catalogue, json: bool, out: &mut Out) -> Result<()> {
    let mut papers = catalogue.rooms().iter().flat_map(|room| room.papers);
    papers.try_for_each(|paper| if json { out.json(paper) } else { out.line(&paper.bibtex()) })
}

fn claims(claims: &[Arc<dyn Claim>], json: bool, out: &mut Out) -> Result<()> {
    let mut sheets = claims.iter().map(|c| c.sheet());
    if json {
        return sheets.try_for_each(|sheet| {
            out.json(&json!({
                "id": sheet.id,
                "source": sheet.source(),
                "title": sheet.title,
                "statement": sheet.statement,
                "kind": sheet.kind,
                "expected": sheet.expected,
            }))
        });
    }
    sheets.try_for_each(|sheet| {
        out.line(&format!("{}: {}", sheet.id, sheet.title))?;
        let source = format!("{}. Expected: {}.", sheet.source(), sheet.expected.name());
        wrapped(&source, 4, 100).iter().try_for_each(|l| out.line(l))
    })
}
