//! `attnlab glossary`: definitions of every quantity, verdict word and term.

use super::check::WIDTH;
use attnlab_core::error::Result;
use attnlab_core::format::{table, wrapped};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Out, Status};
use attnlab_lab::glossary::{QuantityEntry, quantities, terms, verdicts};
use serde_json::{Value, json};

const EXAMPLES: &str = "\
Examples:
  attnlab glossary
  attnlab glossary tokens                        one name or word
  attnlab glossary --json | jq .quantities";

/// Print every quantity with its symbols, every verdict word and every term with its definition
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only this name or word
    #[arg(value_name = "WORD")]
    word: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Quantities, verdict words and terms.
struct Entries {
    quantities: Vec<QuantityEntry>,
    verdicts: Vec<(&'static str, &'static str)>,
    terms: Vec<(&'static str, &'static str)>,
}

/// Returns what `attnlab glossary --json` prints, of all words or of one.
///
/// # Errors
/// An unknown word.
pub fn defined(catalogue: &Catalogue, word: Option<&str>) -> Result<Value> {
    let entries = entries(catalogue, word)?;
    let object = |pairs: &[(&str, &str)]| -> Value {
        Value::Object(pairs.iter().map(|(w, d)| (w.to_string(), json!(d))).collect())
    };
    let (verdicts, terms) = (object(&entries.verdicts), object(&entries.terms));
    Ok(json!({ "quantities": entries.quantities, "verdicts": verdicts, "terms": terms }))
}

fn entries(catalogue: &Catalogue, word: Option<&str>) -> Result<Entries> {
    let (mut quantities, mut verdicts, mut terms) = (quantities(catalogue), verdicts(), terms(catalogue));
    if let Some(word) = word {
        let words = verdicts.iter().chain(&terms).map(|(w, _)| w.to_string());
        let known: Vec<String> = quantities.iter().map(|q| q.name.clone()).chain(words).collect();
        quantities.retain(|q| q.name == word || q.aliases.iter().any(|alias| alias == word));
        verdicts.retain(|(w, _)| *w == word);
        terms.retain(|(w, _)| *w == word);
        if quantities.is_empty() && verdicts.is_empty() && terms.is_empty() {
            let known = known.iter().map(String::as_str);
            return Err(attnlab_core::Error::unknown("name or word", word, known).listed_by("`attnlab glossary`"));
        }
    }
    Ok(Entries { quantities, verdicts, terms })
}

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let word = args.word.as_deref();
    if args.json {
        out.json(&defined(catalogue, word)?)?;
        return Ok(Status::Expected);
    }
    let Entries { quantities, verdicts, terms } = entries(catalogue, word)?;
    if !quantities.is_empty() {
        out.line("Quantities (--set NAME=VALUE): name, symbol, rooms, meaning")?;
        let rows = quantities.iter().flat_map(|q| {
            q.meanings.iter().enumerate().map(|(i, m)| {
                let name = if i == 0 { q.name.as_str() } else { "" };
                let unit = if m.unit.is_empty() { String::new() } else { format!(" ({})", m.unit) };
                vec![format!("  {name}"), m.symbol.clone(), m.rooms.join(", "), format!("{}{unit}", m.meaning)]
            })
        });
        table(&rows.collect::<Vec<_>>()).iter().try_for_each(|line| out.line(line))?;
    }
    for (heading, pairs) in [("\nVerdicts", &verdicts), ("\nTerms", &terms)] {
        if pairs.is_empty() {
            continue;
        }
        out.line(heading)?;
        for (word, definition) in pairs {
            wrapped(&format!("{word}: {definition}"), 2, WIDTH).iter().try_for_each(|line| out.line(line))?;
        }
    }
    Ok(Status::Expected)
}
