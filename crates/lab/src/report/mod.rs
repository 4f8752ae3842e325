//! `report.html`: verdicts with their evidence, figures, and the origin of each, in one self-contained
//! file.
//!
//! The file needs no network: pictures are inline SVG, formulas are MathML, one short script sorts and
//! filters. Everything can be read without the script. It prints well and follows the reader's choice of light or
//! dark. Each paper has a section: a forest plot whose rows unfold into the evidence of a claim, and its figures.

mod audit;
mod card;
mod head;
mod level;
mod links;
mod live;
mod math;
mod picture;
mod rows;
mod section;
mod site;
mod track;

pub use live::{Live, RunUnderWay, TrainingUnderWay, live_html};
pub use math::mathml;
pub use rows::{Found, ID as VERDICTS, keep, latest, restore, row_name};
pub use site::{File, INDEX, site};

use crate::audit::Summary;
use crate::catalogue::Catalogue;
use crate::claim::{Claim, Source};
use crate::figure;
use crate::figure::Figure;
use crate::run::{CheckReport, Origin};
use attnlab_core::error::Result;
use links::{FIGURES, Links};
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
    /// Paper and place of the figure; None for a figure of no paper.
    pub source: Option<Source>,
    /// Claim of which it is the map; None for the figures of an experiment.
    pub claim: Option<String>,
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
    /// The catalogue, whose rooms give the subjects.
    pub catalogue: &'a Catalogue,
}

impl Report<'_> {
    /// Returns version and machine of the verdicts with their numbers; nothing where they were all made here.
    fn origins(&self) -> Vec<(String, usize)> {
        let name = |origin: &Origin| format!("attnlab {} on {}", origin.version, origin.machine);
        let mut counts: Vec<(String, usize)> = vec![];
        for name in self.checks.iter().map(|checked| name(&checked.origin)) {
            match counts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
        }
        let here = name(&Origin::of_verdict(String::new()));
        if counts.iter().all(|(name, _)| *name == here) { vec![] } else { counts }
    }

    /// Iterates over the mutants of a claim that ran with its check.
    fn mutants_of(&self, check: &CheckReport) -> impl Iterator<Item = &MutantResult> {
        self.mutants.iter().filter(|m| m.claim == check.claim && m.first.report.seed == check.seed)
    }
}

/// Writes the report as one self-contained HTML file.
///
/// # Errors
/// When a figure cannot be drawn.
///
/// ```
/// use attnlab_lab::{catalogue::Catalogue, report::{html, Checked, Report}, run::{check, Silent}, toy};
/// let claim = toy::fair_coin();
/// let report = check(&*claim, &Default::default(), &Default::default(), &Silent)?;
/// let (checks, catalogue) = ([Checked::here(&claim, report)], &Catalogue::new());
/// let (command, mutants, tables, pictures, audit) = ("attnlab check ..", &[], &[], &[], None);
/// let page = html(&Report { command, checks: &checks, mutants, tables, pictures, audit, catalogue })?;
/// assert!(page.contains("id=\"toy.fair\"") && page.contains("supported"));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn html(report: &Report) -> Result<String> {
    page(&Links::new(report), "")
}

/// Writes the page of a report, or the index of a site, with `first` before everything else. The figures of a site are on
/// pages of their own.
fn page(links: &Links, first: &str) -> Result<String> {
    let report = links.report;
    let (sections, levels) = (section::sections(report), level::levels(report.checks));
    let mut page = head::open("attnlab report", links);
    head::bar(&mut page, report, &sections);
    page.push_str("<main id=\"top\">\n");
    page.push_str(first);
    head::summary(&mut page, report, &levels);
    section::contents(&mut page, links, &sections);
    report.tables.iter().for_each(|table| plain_table(&mut page, table));
    for section in &sections {
        page.push_str(&section::begun(section));
        section::rows(&mut page, links, section, &levels);
        if !links.site {
            section::figures(&mut page, links, section)?;
        }
        put!(page, "</section>");
    }
    if !links.site {
        section::figures_of_no_paper(&mut page, links)?;
    }
    if let Some(summary) = report.audit {
        audit::section(&mut page, summary);
    }
    section::index(&mut page, links, &sections);
    if links.site && report.pictures.iter().any(|picture| picture.source.is_none()) {
        put!(page, "<p><a href=\"{FIGURES}\">Figures of no paper</a></p>");
    }
    Ok(head::closed(page, links))
}

/// Writes the verdict with its mutants as a card for a notebook: one unfolded block of HTML with its own style.
///
/// ```
/// use attnlab_lab::{report::{card, Checked}, run::{check, Silent}, toy};
/// let claim = toy::fair_coin();
/// let report = check(&*claim, &Default::default(), &Default::default(), &Silent)?;
/// assert!(card(&Checked::here(&claim, report), &[]).contains("supported"));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn card(checked: &Checked, mutants: &[MutantResult]) -> String {
    let mutants: Vec<_> = mutants.iter().filter(|mutant| mutant.claim == checked.report.claim).collect();
    // Nested, so that it reaches nothing else on the page.
    let style = CARD.replace(":root", "&");
    let mut card = format!("<div class=\"attnlab\"><style>.attnlab {{ {style} }}</style>\n");
    for level in level::levels(std::slice::from_ref(checked)) {
        card::card(&mut card, "open", checked, &mutants, "", &level);
    }
    card.push_str("</div>\n");
    card
}

/// Appends formatted text to a String, which cannot fail.
macro_rules! put {
    ($page:expr, $($format:tt)*) => { let _ = writeln!($page, $($format)*); };
}
use put;

fn plain_table(page: &mut String, table: &Table) {
    put!(page, "<h2>{}</h2>", escape(&table.title));
    for text in &table.text {
        put!(page, "<p>{}</p>", escape(text));
    }
    if table.header.is_empty() {
        return;
    }
    let row = |cells: &[String], tag: &str| -> String {
        cells.iter().map(|text| format!("<{tag}>{}</{tag}>", escape(text))).collect()
    };
    put!(page, "<div class=\"wide\" tabindex=\"0\"><table><thead><tr>{}</tr></thead><tbody>", row(&table.header, "th"));
    for cells in &table.rows {
        put!(page, "<tr>{}</tr>", row(cells, "td"));
    }
    put!(page, "</tbody></table></div>");
}

/// Writes command, version and machine as entries of a list.
fn made_by(page: &mut String, origin: &Origin) {
    put!(page, "<dt>Command</dt><dd><code class=\"command\">{}</code></dd>", escape(&origin.command));
    let (version, machine) = (escape(&origin.version), escape(&origin.machine));
    put!(page, "<dt>Made by</dt><dd>attnlab {version} on {machine}</dd>");
}

/// Converts a label of a figure (`*x*`, `^{..}`, `_{..}`, code between backticks) to HTML.
fn markup(label: &str) -> String {
    figure::runs(label)
        .iter()
        .map(|run| {
            let text = math::code(&run.text);
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

/// Style of the cards, which a page and a notebook share.
const CARD: &str = include_str!("card.css");
