//! The pages of `docs/` that are generated from the registry, so that they cannot drift from it.
//! A test holds the committed files against these functions; `ATTNLAB_BLESS=1 cargo test --test
//! docs` writes them anew.

use super::Claim;
use super::params::{Fallback, Params};
use std::fmt::Write;

/// File name (without folder) of the page of a claim.
pub fn file_name(claim: &dyn Claim) -> String {
    format!("{}.md", claim.card().id)
}

/// The page of one claim: statement, hypotheses, parameters, expected verdict, mutants.
pub fn page(claim: &dyn Claim) -> String {
    let card = claim.card();
    let mut page = format!("# `{}`: {}\n\n", card.id, card.title);
    line(&mut page, &format!("*{}*", card.source()));
    line(&mut page, &format!("> {}", card.statement));
    line(
        &mut page,
        &format!(
            "Expected verdict at the defaults: **{}**.",
            card.expected.name()
        ),
    );
    if let Some(corrected) = card.corrected {
        line(&mut page, &format!("**What holds.** {corrected}"));
    }
    line(
        &mut page,
        &format!("```\ncargo run --release -- check {}\n```", card.id),
    );
    page += &parameters(claim);
    page += &hypotheses(claim);
    page +=
        "## Mutants\n\nFalse variants that must come back refuted within the default budget:\n\n";
    for mutant in claim.mutants() {
        let set: String = mutant
            .set
            .iter()
            .map(|(k, v)| format!(" `{k}={v}`"))
            .collect();
        let at = if set.is_empty() {
            set
        } else {
            format!(", at{set}")
        };
        _ = writeln!(page, "- `{}`: {}{at}", mutant.name, mutant.says);
    }
    page
}

/// The table of contents of the claim pages.
pub fn index(claims: &[Box<dyn Claim>]) -> String {
    let mut page =
        String::from("# Claims\n\n| claim | source | expected | title |\n|---|---|---|---|\n");
    for claim in claims {
        let card = claim.card();
        let (id, name) = (card.id, file_name(&**claim));
        let (expected, title) = (card.expected.name(), card.title);
        _ = writeln!(
            page,
            "| [`{id}`]({name}) | {} | {expected} | {title} |",
            card.source()
        );
    }
    page
}

/// Every printed statement that is wrong, meaningless or misprinted, with what holds instead.
pub fn discrepancies(claims: &[Box<dyn Claim>]) -> String {
    let mut page = String::from(
        "# Discrepancies\n\nStatements that do not hold as printed, or say less than they seem to. Each \
         has a claim that anyone can run: `cargo run --release -- check ID` shows the witness and the \
         interval.\n",
    );
    for claim in claims {
        let (card, Some(found)) = (claim.card(), claim.discrepancy()) else {
            continue;
        };
        _ = write!(page, "\n## `{}`: {}\n\n", card.id, card.title);
        line(&mut page, &format!("*{}*", card.source()));
        line(&mut page, &format!("> {}", card.statement));
        line(&mut page, &format!("**The print.** {}", found.printed));
        line(&mut page, &format!("**Witness.** {}", found.witness));
        line(&mut page, &format!("**Range.** {}", found.range));
        line(&mut page, &format!("**What holds.** {}", found.correction));
    }
    page
}

fn parameters(claim: &dyn Claim) -> String {
    let schema = claim.schema();
    if schema.is_empty() {
        return String::new();
    }
    let mut table = String::from(
        "## Parameters\n\n| name | meaning | allowed | default |\n|---|---|---|---|\n",
    );
    for spec in schema {
        let default = match &spec.default {
            Fallback::Fixed(value) => value.to_string(),
            Fallback::Derived(formula, _) => formula.to_string(),
            Fallback::Required => "must be set".into(),
        };
        let allowed = spec.domain.allowed();
        _ = writeln!(
            table,
            "| `{}` | {} | {allowed} | `{default}` |",
            spec.name, spec.doc
        );
    }
    table + "\n"
}

fn hypotheses(claim: &dyn Claim) -> String {
    let Ok(params) = Params::resolve(&claim.schema(), &Default::default()) else {
        return String::new();
    };
    let hypotheses = claim.hypotheses(&params);
    if hypotheses.is_empty() {
        return String::new();
    }
    let mut table = String::from(
        "## Hypotheses\n\n| name | as printed | margin at the defaults |\n|---|---|---|\n",
    );
    for h in hypotheses {
        _ = writeln!(table, "| {} | {} | {:.4} |", h.name, h.printed, h.margin);
    }
    table + "\n"
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push_str("\n\n");
}
