//! `attnlab list` and `attnlab show`: what there is.

use super::Status;
use super::card;
use super::format::wrapped;
use super::out::Out;
use crate::claim::registry;
use crate::error::Result;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  attnlab list                      every claim, with what it says and where it is printed
  attnlab list --json | jq -r .id
  attnlab list aot.mssa_is_mhsa     the same as attnlab show aot.mssa_is_mhsa";

/// List claims, experiments and closed forms
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// `claims`, or the id of one claim
    #[arg(value_name = "WHAT", default_value = "claims")]
    what: String,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  attnlab show aot.mssa_is_mhsa
  attnlab show aot.mssa_is_mhsa --json | jq .parameters";

/// Show one claim: statement, hypotheses, parameters, mutants, correction
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
    let claim = registry::find(id)?;
    if json {
        return out.json(&card::claim_json(&*claim));
    }
    card::claim_lines(&*claim)
        .iter()
        .try_for_each(|l| out.line(l))
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
    out.line(&format!("{} claims.", cards.len()))?;
    Ok(())
}
