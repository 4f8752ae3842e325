//! Pages of `docs/` that are generated from the catalogue. A test compares the committed files with these
//! functions; `ATTNLAB_BLESS=1 cargo test --test suite docs` writes the files anew.

use super::Claim;
use super::params::{Fallback, Params};
use std::fmt::Write;
use std::sync::Arc;

/// File name (without folder) of the page of a claim.
pub fn file_name(claim: &dyn Claim) -> String {
    format!("{}.md", claim.sheet().id)
}

/// Returns the page of one claim: statement, hypotheses, parameters, expected verdict, mutants.
pub fn page(claim: &dyn Claim) -> String {
    let sheet = claim.sheet();
    let mut page = format!("# `{}`: {}\n\n", sheet.id, sheet.title);
    line(&mut page, &format!("*{}*", sheet.source()));
    if sheet.own {
        line(&mut page, "A statement of our own:");
    }
    quote(&mut page, &sheet.statement);
    line(&mut page, &format!("Expected verdict at the defaults: **{}**.", sheet.expected.name()));
    paragraphs(&mut page, "Judged within", &sheet.tolerance);
    paragraphs(&mut page, "What holds", &sheet.holds);
    line(&mut page, &format!("```\ncargo run -- check {}\n```", sheet.id));
    page += &parameters(claim);
    page += &arrays(claim);
    page += &hypotheses(claim);
    page += "## Mutants\n\nFalse variants that must come back refuted within the default budget:\n\n";
    for mutant in claim.mutants() {
        let set: String = mutant.set.iter().map(|(k, v)| format!(" `{k}={v}`")).collect();
        let setting = if set.is_empty() { set } else { format!(", at{set}") };
        _ = writeln!(page, "- `{}`: {}{setting}", mutant.name, mutant.says());
    }
    page
}

/// Returns the table of contents of the claim pages.
pub fn index(claims: &[Arc<dyn Claim>]) -> String {
    let mut page = String::from("# Claims\n\n| claim | source | expected | title |\n|---|---|---|---|\n");
    for claim in claims {
        let sheet = claim.sheet();
        let (id, name) = (&sheet.id, file_name(&**claim));
        let (expected, title) = (sheet.expected.name(), &sheet.title);
        _ = writeln!(page, "| [`{id}`]({name}) | {} | {expected} | {title} |", sheet.source());
    }
    page
}

/// Returns every printed statement that is wrong, meaningless or misprinted, with what holds instead.
pub fn discrepancies(claims: &[Arc<dyn Claim>]) -> String {
    let mut page = String::from(
        "# Discrepancies\n\nStatements that do not hold as printed, or say less than they seem to. Each \
         has a claim that anyone can run: `cargo run -- check ID` shows the witness and the \
         interval.\n",
    );
    for sheet in claims.iter().map(|claim| claim.sheet()).filter(|sheet| sheet.print.is_some()) {
        _ = write!(page, "\n## `{}`: {}\n\n", sheet.id, sheet.title);
        line(&mut page, &format!("*{}*", sheet.source()));
        quote(&mut page, &sheet.statement);
        if let Some(class) = sheet.class {
            line(&mut page, &format!("*Class:* {}.", class.name()));
        }
        paragraphs(&mut page, "The print", &sheet.print);
        paragraphs(&mut page, "Witness", &sheet.witness);
        paragraphs(&mut page, "Range", &sheet.range);
        paragraphs(&mut page, "What holds", &sheet.holds);
    }
    page
}

/// Writes a statement as a quotation, paragraph by paragraph.
fn quote(page: &mut String, text: &str) {
    let text = text.replace('\n', "\n>\n> ");
    line(page, &format!("> {text}"));
}

/// Writes the paragraphs of a section that the sheet has, the first one after its heading.
fn paragraphs(page: &mut String, heading: &str, text: &Option<String>) {
    if let Some(text) = text {
        line(page, &format!("**{heading}.** {}", text.replace('\n', "\n\n")));
    }
}

/// Returns a section with a table, from its head and its rows; nothing where there are no rows.
fn section(head: &str, rows: impl Iterator<Item = String>) -> String {
    let rows: String = rows.map(|row| row + "\n").collect();
    if rows.is_empty() { rows } else { format!("{head}\n{rows}\n") }
}

fn parameters(claim: &dyn Claim) -> String {
    let rows = claim.schema().into_iter().map(|spec| {
        let default = match &spec.default {
            Fallback::Fixed(value) => value.to_string(),
            Fallback::Derived(formula, _) => formula.to_string(),
            Fallback::Required => "must be set".into(),
        };
        format!("| `{}` | {} | {} | `{default}` |", spec.name, spec.doc(), spec.domain.allowed())
    });
    section("## Parameters\n\n| name | meaning | allowed | default |\n|---|---|---|---|", rows)
}

fn arrays(claim: &dyn Claim) -> String {
    let rows = claim.takes().iter().map(|spec| {
        let replaced: Vec<_> = spec.replaces.iter().map(|name| format!("`{name}`")).collect();
        format!("| `{}` | {} | {} |", spec.name, spec.meaning, replaced.join(", "))
    });
    let what = "Instead of draws, `--array name=file` gives it arrays of yours:";
    section(&format!("## On arrays\n\n{what}\n\n| name | meaning | replaces |\n|---|---|---|"), rows)
}

fn hypotheses(claim: &dyn Claim) -> String {
    let Ok(params) = Params::resolve(&claim.schema(), &Default::default()) else { return String::new() };
    let hypotheses = claim.hypotheses(&params);
    let rows = hypotheses.iter().map(|h| format!("| {} | {} | {:.4} |", h.name, h.printed, h.margin));
    section("## Hypotheses\n\n| name | as printed | margin at the defaults |\n|---|---|---|", rows)
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push_str("\n\n");
}
