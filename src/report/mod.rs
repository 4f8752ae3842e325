//! `report.html`: verdicts, figures, command, seed and version in one self-contained file.
//!
//! The file needs no network: pictures are inline SVG, formulas are MathML, the one script sorts
//! the table. It prints well and follows the reader's choice of light or dark.

mod math;

pub use math::mathml;

use crate::claim::{Card, VerdictKind, registry};
use crate::error::Result;
use crate::figure::{self, Figure};
use crate::format;
use crate::run::CheckReport;
use std::fmt::Write;

/// What came of one mutant of a claim.
#[derive(Clone, Debug)]
pub struct MutantResult {
    /// The claim that it is a false variant of.
    pub claim: String,
    /// Its name within the claim.
    pub name: String,
    /// What it says.
    pub says: String,
    /// Its verdict; refuted is what it should be.
    pub verdict: VerdictKind,
}

/// What a report shows.
pub struct Report<'a> {
    /// The exact command that made it.
    pub command: &'a str,
    /// Seed of every stream.
    pub seed: u64,
    /// The verdicts.
    pub checks: &'a [CheckReport],
    /// The mutants, of any of those claims.
    pub mutants: &'a [MutantResult],
    /// The pictures.
    pub figures: &'a [Figure],
}

/// The report as one HTML file that needs nothing else.
///
/// # Errors
/// When a figure cannot be drawn.
///
/// ```
/// use attnlab::{claim::registry, report::{html, Report}, run::{check, Silent}};
/// let claim = registry::find("aot.mssa_is_mhsa")?;
/// let checks = [check(&*claim, &Default::default(), &Default::default(), &Silent)?];
/// let page = html(&Report { command: "attnlab check ..", seed: 0, checks: &checks, mutants: &[], figures: &[] })?;
/// assert!(page.contains("aot.mssa_is_mhsa") && page.contains("supported"));
/// # Ok::<(), attnlab::Error>(())
/// ```
pub fn html(report: &Report) -> Result<String> {
    let mut page = String::new();
    head(&mut page, report);
    if !report.checks.is_empty() {
        verdicts(&mut page, report);
        for (i, check) in report.checks.iter().enumerate() {
            details(&mut page, i, check, report.mutants);
        }
    }
    if !report.figures.is_empty() {
        page.push_str("<h2>Figures</h2>\n");
        for figure in report.figures {
            picture(&mut page, figure)?;
        }
    }
    page.push_str(SCRIPT);
    page.push_str("</main></body></html>\n");
    Ok(page)
}

/// Writing to a String cannot fail; this keeps that knowledge in one place.
macro_rules! put {
    ($page:expr, $($format:tt)*) => { let _ = writeln!($page, $($format)*); };
}

fn head(page: &mut String, report: &Report) {
    put!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    );
    put!(
        page,
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
    );
    put!(
        page,
        "<title>attnlab report</title>\n<style>{STYLE}</style></head>\n<body><main>"
    );
    put!(page, "<h1>attnlab report</h1>");
    put!(
        page,
        "<dl class=\"run\"><dt>Command</dt><dd><code>{}</code></dd>",
        escape(report.command)
    );
    put!(page, "<dt>Seed</dt><dd>{}</dd>", report.seed);
    put!(
        page,
        "<dt>Version</dt><dd>attnlab {}</dd></dl>",
        env!("CARGO_PKG_VERSION")
    );
}

fn verdicts(page: &mut String, report: &Report) {
    let expected = report.checks.iter().filter(|c| c.as_expected()).count();
    let refuted = report
        .mutants
        .iter()
        .filter(|m| m.verdict == VerdictKind::Refuted)
        .count();
    put!(page, "<h2>Verdicts</h2>");
    put!(
        page,
        "<p>{expected} of {} verdicts are the expected ones; {refuted} of {} mutants (false variants \
         that a check must refute) were refuted. A simulation supports or refutes a statement, or \
         leaves it open; it proves nothing. Intervals are exact binomial or Student intervals. A \
         click on a heading sorts.</p>",
        report.checks.len(),
        report.mutants.len()
    );
    put!(
        page,
        "<div class=\"wide\"><table id=\"verdicts\"><thead><tr>"
    );
    for heading in HEADINGS {
        put!(page, "<th scope=\"col\"><button>{heading}</button></th>");
    }
    put!(page, "</tr></thead><tbody>");
    for (i, check) in report.checks.iter().enumerate() {
        row(page, i, check, report.mutants);
    }
    put!(page, "</tbody></table></div>");
}

const HEADINGS: [&str; 8] = [
    "Claim",
    "Source",
    "Says",
    "Verdict",
    "Expected",
    "Estimate",
    "Trials",
    "Mutants refuted",
];

fn row(page: &mut String, i: usize, check: &CheckReport, mutants: &[MutantResult]) {
    let card = card(&check.claim);
    let (of_claim, refuted) = mutants_of(&check.claim, mutants);
    let mark = if check.as_expected() {
        ""
    } else {
        " class=\"surprise\""
    };
    put!(
        page,
        "<tr{mark}><th scope=\"row\"><a href=\"#claim-{i}\">{}</a></th>",
        escape(&check.claim)
    );
    put!(page, "<td>{}</td>", escape(&check.source));
    put!(
        page,
        "<td>{}</td>",
        mathml(card.as_ref().map_or("", |c| c.title))
    );
    put!(
        page,
        "<td>{}</td><td>{}</td>",
        badge(check.verdict),
        check.expected.name()
    );
    let value = check.estimate.value;
    put!(page, "<td data-value=\"{value}\">{}</td>", estimate(check));
    put!(page, "<td data-value=\"{0}\">{0}</td>", check.trials);
    let share = refuted as f64 / of_claim.max(1) as f64;
    put!(
        page,
        "<td data-value=\"{share}\">{refuted} of {of_claim}</td></tr>"
    );
}

fn mutants_of(claim: &str, mutants: &[MutantResult]) -> (usize, usize) {
    let of_claim: Vec<_> = mutants.iter().filter(|m| m.claim == claim).collect();
    let refuted = of_claim
        .iter()
        .filter(|m| m.verdict == VerdictKind::Refuted)
        .count();
    (of_claim.len(), refuted)
}

fn estimate(check: &CheckReport) -> String {
    let e = &check.estimate;
    let number = format::number;
    let how = match e.level {
        1.0 => "computed".to_string(),
        level => format!("{} %", number(100.0 * level)),
    };
    format!(
        "{} [{}, {}] <small>{how}</small>",
        number(e.value),
        number(e.low),
        number(e.high)
    )
}

fn badge(verdict: VerdictKind) -> String {
    format!("<span class=\"verdict {0}\">{0}</span>", verdict.name())
}

fn card(id: &str) -> Option<Card> {
    registry::find(id).ok().map(|claim| claim.card())
}

/// Everything about one claim, folded away; opened for print.
fn details(page: &mut String, i: usize, check: &CheckReport, mutants: &[MutantResult]) {
    put!(
        page,
        "<details id=\"claim-{i}\"><summary><code>{}</code> ",
        escape(&check.claim)
    );
    put!(
        page,
        "{} <small>{}</small></summary>",
        badge(check.verdict),
        escape(&check.source)
    );
    if let Some(card) = card(&check.claim) {
        put!(page, "<blockquote>{}</blockquote>", mathml(card.statement));
        if let Some(corrected) = card.corrected {
            put!(
                page,
                "<p><strong>Correct form.</strong> {}</p>",
                mathml(corrected)
            );
        }
    }
    if !check.hypotheses.is_empty() {
        put!(
            page,
            "<table><thead><tr><th>Hypothesis</th><th>As printed</th><th>Margin</th><th>Holds</th>"
        );
        put!(page, "</tr></thead><tbody>");
        for h in &check.hypotheses {
            let holds = if h.holds {
                "yes"
            } else {
                "<strong>no</strong>"
            };
            put!(
                page,
                "<tr><td>{}</td><td>{}</td>",
                escape(h.name),
                mathml(h.printed)
            );
            put!(
                page,
                "<td>{}</td><td>{holds}</td></tr>",
                format::number(h.margin)
            );
        }
        put!(page, "</tbody></table>");
        if check.beyond_hypotheses {
            put!(page, "<p>Judged beyond the hypotheses, on request.</p>");
        }
    }
    put!(
        page,
        "<dl><dt>Parameters</dt><dd>{}</dd>",
        escape(&format::pairs(&check.parameters))
    );
    put!(
        page,
        "<dt>Trials</dt><dd>{}, of which {} failed</dd>",
        check.trials,
        check.failures
    );
    put!(
        page,
        "<dt>Evidence</dt><dd>{}</dd>",
        escape(&format::pairs(&check.witness))
    );
    let seconds = format!("{:.2} s", check.wall_s);
    put!(
        page,
        "<dt>Seed, time</dt><dd>{}, {seconds}</dd></dl>",
        check.seed
    );
    let of_claim: Vec<_> = mutants.iter().filter(|m| m.claim == check.claim).collect();
    if !of_claim.is_empty() {
        put!(
            page,
            "<table><thead><tr><th>Mutant</th><th>Says</th><th>Verdict</th></tr></thead><tbody>"
        );
        for m in of_claim {
            put!(
                page,
                "<tr><td>{}</td><td>{}</td>",
                escape(&m.name),
                mathml(&m.says)
            );
            put!(page, "<td>{}</td></tr>", badge(m.verdict));
        }
        put!(page, "</tbody></table>");
    }
    put!(page, "</details>");
}

fn picture(page: &mut String, figure: &Figure) -> Result<()> {
    put!(page, "<figure id=\"{}\">", escape(&figure.name));
    page.push_str(&figure::svg(figure)?);
    put!(
        page,
        "<figcaption><strong>{}.</strong> {}",
        markup(&figure.title),
        markup(&figure.caption)
    );
    put!(
        page,
        " <small>Numbers: <code>{}.csv</code></small></figcaption></figure>",
        escape(&figure.name)
    );
    Ok(())
}

/// A label of a figure as HTML: `*x*`, `^{..}` and `_{..}`.
fn markup(label: &str) -> String {
    figure::runs(label)
        .iter()
        .map(|run| {
            let text = escape(&run.text);
            let text = if run.italic {
                format!("<i>{text}</i>")
            } else {
                text
            };
            match run.raise {
                up if up > 0.0 => format!("<sup>{text}</sup>"),
                down if down < 0.0 => format!("<sub>{text}</sub>"),
                _ => text,
            }
        })
        .collect()
}

/// Text as HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = concat!("<script>", include_str!("sort.js"), "</script>\n");
