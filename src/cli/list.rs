//! `attnlab list` and `attnlab show`: the contents of the catalogue.

use super::card;
use attnlab_core::error::{Error, Result};
use attnlab_core::format::wrapped;
use attnlab_lab::catalogue::{Catalogue, is_pattern};
use attnlab_lab::claim::{Claim, Paper};
use attnlab_lab::command::{Out, Status};
use attnlab_lab::experiment::Entry;
use attnlab_lab::formula::Formula;
use serde_json::{Value, json};
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

/// Returns what `attnlab list WHAT --json` prints, one value per line.
///
/// # Errors
/// An unknown id, or a beginning that no claim has.
pub fn listed(catalogue: &Catalogue, what: &str) -> Result<Vec<Value>> {
    let claim = |c: &Arc<dyn Claim>| card::claim_entry(&**c);
    Ok(match what {
        "claims" => catalogue.claims().map(claim).collect(),
        "formulas" => catalogue.formulas().map(formula_line).collect(),
        "experiments" => catalogue.experiments().map(experiment_json).collect(),
        "papers" => papers(catalogue).map(|paper| json!(paper)).collect(),
        pattern if is_pattern(pattern) => catalogue.named(pattern)?.into_iter().map(claim).collect(),
        id => vec![shown(catalogue, id)?],
    })
}

/// Returns what `attnlab show ID --json` prints.
///
/// # Errors
/// An unknown id.
pub fn shown(catalogue: &Catalogue, id: &str) -> Result<Value> {
    Ok(match entry(catalogue, id)? {
        Shown::Claim(claim, formula) => {
            let mut card = card::claim_json(claim);
            if let Some(formula) = formula {
                card["formula"] = formula_json(formula);
            }
            card
        }
        Shown::Formula(formula) => formula_json(formula),
        Shown::Experiment(entry) => {
            let mut card = experiment_json(entry);
            card["settings"] = Value::Object(entry.configure(false, None, &toml::Table::new())?.settings());
            card
        }
    })
}

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let about = args.subject.as_ref().map(|subject| catalogue.about(subject)).transpose()?;
    let catalogue = about.as_ref().unwrap_or(catalogue);
    if args.json {
        listed(catalogue, &args.what)?.iter().try_for_each(|line| out.json(line))?;
        return Ok(Status::Expected);
    }
    match args.what.as_str() {
        "claims" => {
            let listed: Vec<_> = catalogue.claims().collect();
            claims(&listed, out)?;
            out.line(&format!(
                "{} claims; also: attnlab list experiments ({}), attnlab list formulas ({}).",
                listed.len(),
                catalogue.experiments().count(),
                catalogue.formulas().count()
            ))?;
        }
        "formulas" => formulas(catalogue, out)?,
        "experiments" => experiments(catalogue, out)?,
        "papers" => papers(catalogue).try_for_each(|paper| out.line(&paper.bibtex()))?,
        pattern if is_pattern(pattern) => claims(&catalogue.named(pattern)?, out)?,
        id => show_entry(catalogue, id, out)?,
    }
    Ok(Status::Expected)
}

pub fn show(args: &ShowArgs, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    if args.json {
        out.json(&shown(catalogue, &args.id)?)?
    } else {
        show_entry(catalogue, &args.id, out)?
    }
    Ok(Status::Expected)
}

/// What an id stands for. A claim and a closed form may share one; then both are shown.
enum Shown<'a> {
    Claim(&'a dyn Claim, Option<&'a Formula>),
    Formula(&'a Formula),
    Experiment(&'a Entry),
}

fn entry<'a>(catalogue: &'a Catalogue, id: &str) -> Result<Shown<'a>> {
    let formula = catalogue.formula(id).ok();
    if let Ok(claim) = catalogue.claim(id) {
        return Ok(Shown::Claim(&**claim, formula));
    }
    if let Some(formula) = formula {
        return Ok(Shown::Formula(formula));
    }
    if let Ok(entry) = catalogue.experiment(id) {
        return Ok(Shown::Experiment(entry));
    }
    let claims = catalogue.claims().map(|c| c.sheet().id.as_str());
    let formulas = catalogue.formulas().map(|f| f.id);
    let experiments = catalogue.experiments().map(|e| e.name);
    let known: Vec<_> = claims.chain(formulas).chain(experiments).collect();
    Err(Error::unknown("claim, formula or experiment", id, known)
        .listed_by("`attnlab list`, `attnlab list formulas`, `attnlab list experiments`"))
}

fn show_entry(catalogue: &Catalogue, id: &str, out: &mut Out) -> Result<()> {
    match entry(catalogue, id)? {
        Shown::Claim(claim, formula) => {
            card::claim_lines(claim).iter().try_for_each(|l| out.line(l))?;
            let Some(formula) = formula else { return Ok(()) };
            out.line("\nThe closed form of the same id:\n")?;
            show_formula(formula, out)
        }
        Shown::Formula(formula) => show_formula(formula, out),
        Shown::Experiment(entry) => show_experiment(entry, out),
    }
}

fn formula_json(formula: &Formula) -> Value {
    let mut card = formula_line(formula);
    card["parameters"] = card::parameters_json(&(formula.schema)()).into();
    card
}

fn formula_line(formula: &Formula) -> Value {
    json!({ "id": formula.id, "source": formula.source, "doc": formula.doc })
}

fn show_formula(formula: &Formula, out: &mut Out) -> Result<()> {
    out.line(&format!("{}: {}", formula.id, formula.doc))?;
    out.line(&format!("  {}", formula.source))?;
    card::parameter_lines(&(formula.schema)()).iter().try_for_each(|l| out.line(l))
}

fn experiment_json(entry: &Entry) -> Value {
    json!({ "id": entry.id, "name": entry.name, "source": entry.source.to_string(), "title": entry.title })
}

fn show_experiment(entry: &Entry, out: &mut Out) -> Result<()> {
    out.line(&format!("{}: {}", entry.id, entry.title))?;
    out.line(&format!("  {}", entry.source))?;
    let name = entry.name;
    let lacks = entry.lacks().map_or(String::new(), |feature| format!("; needs a build with --features {feature}"));
    out.line(&format!("  attnlab run {name}{lacks}\n"))?;
    out.line(entry.defaults.trim_end())
}

fn experiments(catalogue: &Catalogue, out: &mut Out) -> Result<()> {
    let entries: Vec<_> = catalogue.experiments().collect();
    for entry in &entries {
        out.line(&format!("{}: {}", entry.name, entry.title))?;
        out.line(&format!("    {}", entry.source))?;
    }
    out.line(&format!("{} experiments.", entries.len()))
}

fn formulas(catalogue: &Catalogue, out: &mut Out) -> Result<()> {
    let formulas: Vec<_> = catalogue.formulas().collect();
    for formula in &formulas {
        out.line(&format!("{}: {}", formula.id, formula.doc))?;
        let names: Vec<_> = (formula.schema)().iter().map(|s| s.name).collect();
        out.line(&format!("    {} <- {}", formula.source, names.join(", ")))?;
    }
    out.line(&format!("{} formulas.", formulas.len()))
}

fn papers(catalogue: &Catalogue) -> impl Iterator<Item = &Paper> {
    catalogue.rooms().iter().flat_map(|room| room.papers)
}

fn claims(claims: &[&Arc<dyn Claim>], out: &mut Out) -> Result<()> {
    claims.iter().map(|c| c.sheet()).try_for_each(|sheet| {
        out.line(&format!("{}: {}", sheet.id, sheet.title))?;
        let source = format!("{}. Expected: {}.", sheet.source(), sheet.expected.name());
        wrapped(&source, 4, 100).iter().try_for_each(|l| out.line(l))
    })
}
