//! Cards: statement, hypotheses, parameters and mutants of one claim.

use super::check::WIDTH;
use attnlab_core::format::{self, wrapped};
use attnlab_core::params::{Fallback, Spec};
use attnlab_lab::claim::{ArraySpec, Claim, Params, Schema};
use serde_json::{Map, Value, json};

/// Returns what a list says of a claim, as JSON.
pub fn claim_entry(claim: &dyn Claim) -> Value {
    let sheet = claim.sheet();
    json!({
        "id": sheet.id, "source": sheet.source(), "title": sheet.title, "statement": sheet.statement,
        "kind": sheet.kind, "expected": sheet.expected,
    })
}

/// Returns the card of a claim as JSON: its entry in a list, and the rest.
pub fn claim_json(claim: &dyn Claim) -> Value {
    let sheet = claim.sheet();
    let schema = claim.schema();
    let defaults = defaults(&schema);
    let mutants: Vec<_> = claim
        .mutants()
        .into_iter()
        .map(|m| {
            let set: Map<_, _> = m.set.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
            json!({ "name": m.name, "says": m.says(), "set": set })
        })
        .collect();
    let mut rest = json!({
        "corrected": sheet.holds, "own": sheet.own, "class": sheet.class, "print": sheet.print,
        "witness": sheet.witness, "range": sheet.range, "tolerance": sheet.tolerance,
        "parameters": parameters_json(&schema),
        "arrays": claim.takes().iter().map(array_json).collect::<Vec<_>>(),
        "hypotheses": defaults.as_ref().map(|p| claim.hypotheses(p)),
        "trials": defaults.as_ref().map(|p| claim.default_trials(p)), "mutants": mutants,
    });
    let mut card = claim_entry(claim);
    if let (Value::Object(card), Value::Object(rest)) = (&mut card, &mut rest) {
        card.append(rest);
    }
    card
}

/// Returns the default parameters; None where one is required.
fn defaults(schema: &Schema) -> Option<Params> {
    Params::resolve(schema, &Map::new()).ok()
}

/// Returns the parameters of a schema as JSON: name, range, default, meaning.
pub fn parameters_json(schema: &Schema) -> Vec<Value> {
    let defaults = defaults(schema);
    let entry = |spec: &Spec| {
        let formula = if let Fallback::Derived(formula, _) = spec.default { Some(formula) } else { None };
        json!({
            "name": spec.name, "allowed": spec.domain.allowed(),
            "required": matches!(spec.default, Fallback::Required), "default": spec.default_value(defaults.as_ref()),
            "formula": formula, "doc": spec.doc(), "symbol": spec.symbol, "unit": spec.unit, "aliases": spec.aliases,
        })
    };
    schema.iter().map(entry).collect()
}

fn array_json(array: &ArraySpec) -> Value {
    json!({ "name": array.name, "doc": array.meaning, "several": array.several, "replaces": array.replaces })
}

/// Returns the card of a claim as text.
pub fn claim_lines(claim: &dyn Claim) -> Vec<String> {
    let sheet = claim.sheet();
    let schema = claim.schema();
    let defaults = defaults(&schema);
    let mut lines = vec![format!("{}: {}", sheet.id, sheet.title)];
    lines.extend(wrapped(&sheet.source(), 2, WIDTH));
    let heading = if sheet.own { "statement, in our words" } else { "statement as printed" };
    lines.extend(section(heading, &sheet.statement));
    for (heading, text) in [
        ("judged within", &sheet.tolerance),
        ("what the print gets wrong", &sheet.print),
        ("witness", &sheet.witness),
        ("range", &sheet.range),
        ("what holds", &sheet.holds),
    ] {
        if let Some(text) = text {
            lines.extend(section(heading, text));
        }
    }
    lines.push(format!("\n  expected verdict: {}", sheet.expected.name()));
    if let Some(p) = &defaults {
        lines.push(format!("  trials by default: {}", claim.default_trials(p)));
        lines.extend(hypotheses(claim, p));
    }
    lines.extend(parameter_lines(&schema));
    let array = |a: &ArraySpec| {
        let replaced =
            if a.replaces.is_empty() { String::new() } else { format!("in place of {}", a.replaces.join(", ")) };
        vec![format!("    {}", a.name), a.meaning.to_string(), replaced]
    };
    lines.extend(table_under("\n  arrays, in place of draws (--array name=file)", claim.takes().iter().map(array)));
    let mutants = claim.mutants();
    let rows = mutants.iter().map(|m| vec![format!("    {}", m.name), m.says().to_string()]);
    lines.extend(table_under("\n  mutants (false variants, which must be refuted)", rows));
    lines
}

/// Aligns rows below a heading, which is left out without rows.
pub(super) fn table_under(heading: &str, rows: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    let mut lines = format::table(&rows.collect::<Vec<_>>());
    if !lines.is_empty() {
        lines.insert(0, heading.into());
    }
    lines
}

fn section(name: &str, text: &str) -> Vec<String> {
    let mut lines = vec![format!("\n  {name}")];
    for (i, paragraph) in text.lines().filter(|p| !p.is_empty()).enumerate() {
        if i > 0 {
            lines.push(String::new());
        }
        lines.extend(wrapped(paragraph, 4, WIDTH));
    }
    lines
}

fn hypotheses(claim: &dyn Claim, defaults: &Params) -> Vec<String> {
    let row = |h: &attnlab_lab::claim::Hypothesis| {
        let margin = format!("margin {} at the defaults", format::number(h.margin));
        vec![format!("    {}", h.name), h.printed.to_string(), margin]
    };
    table_under("\n  hypotheses", claim.hypotheses(defaults).iter().map(row))
}

/// Returns the parameters of a schema as text.
pub fn parameter_lines(schema: &Schema) -> Vec<String> {
    let defaults = defaults(schema);
    let row = |spec: &Spec| {
        let default = match &spec.default {
            Fallback::Required => "required".into(),
            Fallback::Fixed(value) => format::value(value),
            Fallback::Derived(formula, _) => match spec.default_value(defaults.as_ref()) {
                Value::Null => formula.to_string(),
                value => format!("{formula} = {}", format::value(&value)),
            },
        };
        vec![format!("    {}", spec.name), default, spec.doc(), format!("({})", spec.domain.allowed())]
    };
    table_under("\n  parameters (--set name=value)", schema.iter().map(row))
}
