//! `report.html`: verdicts with their evidence, figures, and the origin of each, in one self-contained
//! file.
//!
//! The file needs no network: pictures are inline SVG, formulas are MathML, one short script sorts and
//! filters the table. It prints well and follows the reader's choice of light or dark.

mod audit;
mod card;
mod math;
mod rows;
mod table;

pub use math::mathml;
pub use rows::{Found, ID as VERDICTS, keep, latest, restore, row_name};

use crate::audit::Summary;
use crate::claim::{Claim, VerdictKind};
use crate::figure;
use crate::figure::Figure;
use crate::run::{CheckReport, Origin};
use attnlab_core::error::Result;
use std::fmt::Write;
use std::sync::Arc;

/// First bytes of a report, which distinguish it from other files.
pub const START: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">";

/// A verdict with its origin.
#[derive(Clone)]
pub struct Checked {
    /// The verdict with its evidence.
    pub report: CheckReport,
    /// The claim that was checked.
    pub claim: Arc<dyn Claim>,
    /// Origin of the verdict.
    pub origin: Origin,
}

/// Result of one mutant of a claim.
#[derive(Clone)]
pub struct MutantResult {
    /// Id of the claim of which it is a false variant.
    pub claim: String,
    /// Its name within the claim.
    pub name: String,
    /// Its sentence, from the sheet.
    pub says: String,
    /// Number of seeds under which it was checked.
    pub seeds: u64,
    /// Number of seeds under which it was refuted; its share is the power of the check.
    pub refuted: u64,
    /// The check under the first seed.
    pub first: Checked,
}

/// A figure with its origin.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The figure.
    pub figure: Figure,
    /// Seed of the rows that it was drawn from.
    pub seed: u64,
    /// Origins of those rows; more than one if another machine continued the run.
    pub origins: Vec<Origin>,
}

/// A table of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Heading.
    pub title: String,
    /// Sentences under the heading.
    pub text: Vec<String>,
    /// Names of the columns; empty: the table is its heading and its sentences.
    pub header: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
}

/// Contents of a report.
pub struct Report<'a> {
    /// Command that writes the same report.
    pub command: &'a str,
    /// The verdicts.
    pub checks: &'a [Checked],
    /// The mutants, of any of those claims.
    pub mutants: &'a [MutantResult],
    /// Tables of numbers, before the pictures.
    pub tables: &'a [Table],
    /// The pictures.
    pub pictures: &'a [Picture],
    /// Checks at random settings.
    pub audit: Option<&'a Summary>,
}

impl Report<'_> {
    /// Iterates over the mutants of a claim that ran with its check.
    fn mutants_of(&self, check: &CheckReport) -> impl Iterator<Item = &MutantResult> {
        let same = |m: &&MutantResult| m.claim == check.claim && m.first.report.seed == check.seed;
        self.mutants.iter().filter(same)
    }
}

/// Writes the report as one self-contained HTML file.
///
/// # Errors
/// When a figure cannot be drawn.
///
/// ```
/// use attnlab_lab::{report::{html, Checked, Report}, run::{check, Silent}, toy};
/// let claim = toy::fair_coin();
/// let found = check(&*claim, &Default::default(), &Default::default(), &Silent)?;
/// let checks = [Checked::here(&claim, found)];
/// let page = html(&Report { command: "attnlab check ..", checks: &checks, mutants: &[], tables: &[], pictures: &[], audit: None })?;
/// assert!(page.contains("toy.fair") && page.contains("supported"));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn html(report: &Report) -> Result<String> {
    let mut page = String::new();
    head(&mut page, report);
    if !report.checks.is_empty() {
        let adjusted = table::levels(report.checks);
        table::verdicts(&mut page, report, &adjusted);
        for (i, check) in report.checks.iter().enumerate() {
            card::claim(&mut page, report, i, check, &adjusted[i]);
        }
    }
    if let Some(summary) = report.audit {
        audit::section(&mut page, summary);
    }
    for table in report.tables {
        plain_table(&mut page, table);
    }
    if !report.pictures.is_empty() {
        page.push_str("<h2 id=\"figures\">Figures</h2>\n");
        for picture in report.pictures {
            show(&mut page, picture)?;
        }
    }
    page.push_str(SCRIPT);
    page.push_str("</main></body></html>\n");
    Ok(page)
}

/// Writes the verdict with its mutants as a card for a notebook: one block of HTML with its own style.
pub fn card(checked: &Checked, mutants: &[MutantResult]) -> String {
    let checks = std::slice::from_ref(checked);
    let report = Report { command: "", checks, mutants, tables: &[], pictures: &[], audit: None };
    // Nested, so that it reaches nothing else on the page.
    let style = STYLE.replace(":root", "&");
    let mut page = format!("<div class=\"attnlab\"><style>.attnlab {{ color: var(--ink); {style} }}</style>");
    for level in table::levels(checks) {
        card::claim(&mut page, &report, 0, checked, &level);
    }
    page.push_str("</div>");
    page.replacen("<details ", "<details open ", 1)
}

/// Appends formatted text to a String, which cannot fail.
macro_rules! put {
    ($page:expr, $($format:tt)*) => { let _ = writeln!($page, $($format)*); };
}
use put;

fn head(page: &mut String, report: &Report) {
    let here = Origin::here(report.command.to_string());
    put!(page, "{START}");
    put!(page, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    put!(page, "<title>attnlab report</title>\n<style>{STYLE}</style></head>\n<body><main>");
    put!(page, "<h1>attnlab report</h1>\n<dl class=\"run\">");
    put!(page, "<dt>Command</dt><dd><code>{}</code></dd>", escape(&here.command));
    put!(page, "<dt>Version</dt><dd>attnlab {}</dd>", escape(&here.version));
    put!(page, "<dt>Machine</dt><dd>{}</dd></dl>", escape(&here.machine));
}

fn badge(verdict: VerdictKind) -> String {
    format!("<span class=\"verdict {0}\">{0}</span>", verdict.name())
}

fn plain_table(page: &mut String, table: &Table) {
    put!(page, "<h2>{}</h2>", escape(&table.title));
    for text in &table.text {
        put!(page, "<p>{}</p>", escape(text));
    }
    if table.header.is_empty() {
        return;
    }
    let row = |cells: &[String], tag: &str| -> String {
        let cell = |text: &String| format!("<{tag}>{}</{tag}>", escape(text));
        cells.iter().map(cell).collect()
    };
    put!(page, "<div class=\"wide\"><table><thead><tr>{}</tr></thead><tbody>", row(&table.header, "th"));
    for cells in &table.rows {
        put!(page, "<tr>{}</tr>", row(cells, "td"));
    }
    put!(page, "</tbody></table></div>");
}

fn show(page: &mut String, picture: &Picture) -> Result<()> {
    let figure = &picture.figure;
    put!(page, "<figure id=\"{}\">", escape(&figure.name));
    page.push_str(&figure::svg(figure)?);
    let (title, caption) = (markup(&figure.title), markup(&figure.caption));
    put!(page, "<figcaption><strong>{title}.</strong> {caption}");
    put!(page, "<dl class=\"made\"><dt>Numbers</dt><dd><code>{}.csv</code></dd>", escape(&figure.name));
    put!(page, "<dt>Seed</dt><dd>{}</dd>", picture.seed);
    for origin in &picture.origins {
        made_by(page, origin);
    }
    put!(page, "</dl></figcaption></figure>");
    Ok(())
}

/// Writes command, version and machine as entries of a list.
fn made_by(page: &mut String, origin: &Origin) {
    put!(page, "<dt>Command</dt><dd><code>{}</code></dd>", escape(&origin.command));
    let (version, machine) = (escape(&origin.version), escape(&origin.machine));
    put!(page, "<dt>Made by</dt><dd>attnlab {version} on {machine}</dd>");
}

/// Converts a label of a figure (`*x*`, `^{..}`, `_{..}`) to HTML.
fn markup(label: &str) -> String {
    figure::runs(label)
        .iter()
        .map(|run| {
            let text = escape(&run.text);
            let text = if run.italic { format!("<i>{text}</i>") } else { text };
            match run.raise {
                up if up > 0.0 => format!("<sup>{text}</sup>"),
                down if down < 0.0 => format!("<sub>{text}</sub>"),
                _ => text,
            }
        })
        .collect()
}

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = concat!("<script>", include_str!("table.js"), "</script>\n");
