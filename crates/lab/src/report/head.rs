//! Frame of a page: style and script, the bar that sticks to its top, and the summary of the whole.

use super::level::Level;
use super::links::Links;
use super::section::{Section, subjects};
use super::track::marked;
use super::{CARD, Report, START, escape, put};
use crate::claim::{Paper, VerdictKind};
use crate::run::Origin;
use attnlab_core::format::date;
use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Style of a page, beside that of the cards.
pub const STYLE: &str = include_str!("style.css");
/// Script of a page.
pub const SCRIPT: &str = include_str!("explore.js");
/// Name of the style of all pages of a site.
pub const STYLE_FILE: &str = "style.css";
/// Name of the script of all pages of a site.
pub const SCRIPT_FILE: &str = "explore.js";

/// Begins a page: everything before its bar.
pub fn open(title: &str, links: &Links) -> String {
    let style = match links.site {
        true => format!("<link rel=\"stylesheet\" href=\"{STYLE_FILE}\">"),
        false => format!("<style>{CARD}{STYLE}</style>"),
    };
    format!(
        "{START}\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n{style}</head>\n<body>\n",
        escape(title)
    )
}

/// Ends a page, with its script.
pub fn closed(page: String, links: &Links) -> String {
    let script = match links.site {
        true => format!("<script src=\"{SCRIPT_FILE}\"></script>"),
        false => format!("<script>{SCRIPT}</script>"),
    };
    format!("{page}</main>\n{script}\n</body></html>\n")
}

/// Writes the bar of a page of a site, which leads back to the index and the paper.
pub fn way_back(page: &mut String, links: &Links, paper: Option<&Paper>) {
    put!(
        page,
        "<header id=\"bar\"><div class=\"first\"><a class=\"home\" href=\"index.html\">attnlab report</a> {}</div>\
         </header>\n<main>",
        paper.map_or(String::new(), |paper| links.to_paper(paper))
    );
}

/// Writes the bar: title, links to the parts, and the controls, which the script shows.
pub fn bar(page: &mut String, report: &Report, sections: &[Section]) {
    put!(page, "<header id=\"bar\"><div class=\"first\"><a class=\"home\" href=\"#top\">attnlab report</a>");
    let parts = [
        ("contents", "papers", !sections.is_empty()),
        ("index", "index", !report.checks.is_empty()),
        ("audit", "audit", report.audit.is_some()),
    ];
    for (anchor, word, _) in parts.into_iter().filter(|(_, _, there)| *there) {
        put!(page, "<a class=\"part\" href=\"#{anchor}\">{word}</a>");
    }
    if report.checks.is_empty() {
        put!(page, "</div></header>");
        return;
    }
    put!(
        page,
        "<input id=\"words\" class=\"scripted\" type=\"search\" placeholder=\"search ( / )\" \
         aria-label=\"search names and statements\"></div><div class=\"controls scripted\">"
    );
    places(page, sections);
    put!(
        page,
        "<select id=\"order\" aria-label=\"order\"><option value=\"\">by paper</option>\
         <option value=\"verdict\">by verdict</option><option value=\"name\">by name</option>\
         <option value=\"distance\">by distance from the promise</option></select>"
    );
    put!(page, "<button class=\"chip\" data-verdict=\"\" aria-pressed=\"true\">all {}</button>", report.checks.len());
    for kind in VerdictKind::ALL {
        let count = report.checks.iter().filter(|c| c.report.verdict == kind).count();
        if count > 0 {
            let (name, words) = (kind.name(), marked(kind, &format!("{} {count}", kind.name())));
            put!(page, "<button class=\"chip\" data-verdict=\"{name}\" aria-pressed=\"false\">{words}</button>");
        }
    }
    put!(page, "<output id=\"shown\"></output></div></header>");
}

/// Writes the choice of a paper or a subject.
fn places(page: &mut String, sections: &[Section]) {
    put!(
        page,
        "<select id=\"place\" aria-label=\"paper or subject\"><option value=\"\">all papers</option>\
         <optgroup label=\"Papers\">"
    );
    for section in sections {
        let (key, title) = (escape(section.paper.key), escape(&section.paper.cite()));
        put!(page, "<option value=\"paper-{key}\">{title}</option>");
    }
    put!(page, "</optgroup><optgroup label=\"Subjects\">");
    for subject in subjects(sections) {
        put!(page, "<option value=\"{0}\">{0}</option>", escape(subject));
    }
    put!(page, "</optgroup></select>");
}

/// Writes the origin of the page and the tally of its verdicts.
pub fn summary(page: &mut String, report: &Report, levels: &[Level]) {
    put!(page, "<h1>attnlab report</h1>");
    origin(page, report);
    if report.checks.is_empty() {
        return;
    }
    put!(page, "<p>{}</p>", tally(report, levels));
    put!(
        page,
        "<p>Each row shows one claim: its estimate with the interval, and shaded the range that the statement \
         promises, with its edges as lines. The shape and the colour of the estimate are the verdict. Estimates \
         of trials that hold run from 0 to 1, with the mutants as small ticks below; means have a scale of their \
         own, whose ends are written under it. A click unfolds statement, evidence, mutants, figures and the \
         command.<span class=\"scripted\"> Keys: / searches, j and k go to the next claim and the one before, Enter \
         unfolds it.</span></p>"
    );
}

/// Writes command, version, machine and date of the page, and the origins of the verdicts where they are others.
fn origin(page: &mut String, report: &Report) {
    let (here, build) = (Origin::here(report.command.to_string()), crate::build::here());
    let or = |text: &str, otherwise: &str| if text.is_empty() { otherwise.to_string() } else { escape(text) };
    let mut entries = vec![
        ("Command", format!("<code class=\"command\">{}</code>", escape(&here.command))),
        ("Version", format!("attnlab {}", escape(&build.to_string()))),
        ("Commit", or(&build.commit, "not known")),
        ("Features", or(&build.features, "none")),
        ("Machine", escape(&here.machine)),
        ("Written", format!("{} (UTC)", today())),
    ];
    let verdicts = |(origin, count): (String, usize)| ("Verdicts", format!("{count} by {}", escape(&origin)));
    entries.extend(report.origins().into_iter().map(verdicts));
    let entries: String = entries.into_iter().map(|(name, text)| format!("<dt>{name}</dt><dd>{text}</dd>\n")).collect();
    put!(page, "<dl class=\"run\">{entries}</dl>");
}

fn tally(report: &Report, levels: &[Level]) -> String {
    let expected = report.checks.iter().filter(|c| c.report.as_expected()).count();
    let refuted = report.mutants.iter().filter(|m| m.refuted == m.seeds).count();
    let sampled = levels.iter().filter(|l| matches!(l, Level::Sampled { .. })).count();
    let stand = |l: &&Level| matches!(l, Level::Sampled { adjusted, .. } if *adjusted <= 0.05);
    format!(
        "{expected} of {} verdicts are the expected ones; {refuted} of {} mutants (false variants that a \
         check must refute) were refuted. A simulation supports or refutes a statement, or leaves it \
         open; it proves nothing. Intervals are exact binomial or Student intervals at the level shown. \
         The p-value is the least 1 − level at which the trials decide; adjusted by Holm for the {sampled} sampled \
         checks of this page, inconclusive ones too, {} of them stand at 0.05 together. The others do \
         not rest on a level: they were computed, or single trials decide.",
        report.checks.len(),
        report.mutants.len(),
        levels.iter().filter(stand).count(),
    )
}

/// Returns the date of today in UTC, or that of SOURCE_DATE_EPOCH for a page that is to be the same on every day.
fn today() -> String {
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    date(fixed.unwrap_or_else(now) / 86_400)
}
