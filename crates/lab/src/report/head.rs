//! Frame of a page: style and script, the bar that sticks to its top, and the summary of the whole.

use super::level::Level;
use super::section::{Section, subjects};
use super::track::badge;
use super::{Origin, Report, START, TRACK, escape, put};
use crate::claim::VerdictKind;
use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = concat!("<script>", include_str!("explore.js"), "</script>\n");

/// Writes everything up to the contents of the page.
pub fn open(page: &mut String, title: &str) {
    put!(page, "{START}");
    put!(page, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    put!(page, "<title>{}</title>\n<style>{TRACK}{STYLE}</style></head>\n<body>", escape(title));
}

/// Writes the script and the end of the page.
pub fn close(page: &mut String) {
    page.push_str("</main>\n");
    page.push_str(SCRIPT);
    page.push_str("</body></html>\n");
}

/// Writes the bar: title, links to the parts, and the controls, which the script shows.
pub fn bar(page: &mut String, report: &Report, sections: &[Section]) {
    put!(page, "<header id=\"bar\"><div class=\"first\">");
    put!(page, "<a class=\"home\" href=\"#top\">attnlab report</a>");
    let mut parts = vec![];
    if !sections.is_empty() {
        parts.push(("contents", "papers"));
    }
    if !subjects(sections).is_empty() {
        parts.push(("subjects", "subjects"));
    }
    if report.audit.is_some() {
        parts.push(("audit", "audit"));
    }
    for (anchor, word) in parts {
        put!(page, "<a class=\"part\" href=\"#{anchor}\">{word}</a>");
    }
    if report.checks.is_empty() {
        put!(page, "</div></header>");
        return;
    }
    put!(
        page,
        "<input id=\"words\" class=\"scripted\" type=\"search\" placeholder=\"search names and statements\" \
         aria-label=\"search names and statements\"></div><div class=\"controls scripted\">"
    );
    choice(page, sections);
    put!(
        page,
        "<select id=\"order\" aria-label=\"order\"><option value=\"\">by paper</option>\
         <option value=\"verdict\">by verdict</option><option value=\"name\">by name</option>\
         <option value=\"distance\">by distance from the promise</option></select>"
    );
    put!(page, "<button class=\"chip\" data-verdict=\"\" aria-pressed=\"true\">all {}</button>", report.checks.len());
    for kind in VerdictKind::ALL {
        let of_kind = |c: &&super::Checked| c.report.verdict == kind;
        let count = report.checks.iter().filter(of_kind).count();
        if count > 0 {
            put!(
                page,
                "<button class=\"chip\" data-verdict=\"{}\" aria-pressed=\"false\">{} {count}</button>",
                kind.name(),
                badge(kind)
            );
        }
    }
    put!(page, "<output id=\"shown\"></output></div></header>");
}

/// Writes the choice of a paper or a subject.
fn choice(page: &mut String, sections: &[Section]) {
    put!(
        page,
        "<select id=\"place\" aria-label=\"paper or subject\"><option value=\"\">all papers</option>\
         <optgroup label=\"Papers\">"
    );
    for section in sections {
        let paper = section.paper();
        put!(page, "<option value=\"paper-{}\">{}</option>", escape(paper.key), escape(&paper.cite()));
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
    origin(page, &report.origins(), report.command);
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
         command.</p>"
    );
}

/// Writes the command, version, machine and date of the page, and the origins of the verdicts where they are others.
pub fn origin(page: &mut String, verdicts: &[(String, usize)], command: &str) {
    let (here, build) = (Origin::here(command.to_string()), crate::build::here());
    let known = |text: &str| match text {
        "" => "not known".to_string(),
        text => escape(text),
    };
    put!(page, "<dl class=\"run\">");
    let mut entry = |name: &str, text: String| {
        put!(page, "<dt>{name}</dt><dd>{text}</dd>");
    };
    entry("Command", format!("<code class=\"command\">{}</code>", escape(&here.command)));
    entry("Version", format!("attnlab {}", escape(&build.to_string())));
    entry("Commit", known(&build.commit));
    entry(
        "Features",
        match build.features.as_str() {
            "" => "none".to_string(),
            features => escape(features),
        },
    );
    entry("Machine", escape(&here.machine));
    entry("Written", format!("{} (UTC)", today()));
    for (origin, count) in verdicts {
        entry("Verdicts", format!("{count} by {}", escape(origin)));
    }
    put!(page, "</dl>");
}

fn tally(report: &Report, levels: &[Level]) -> String {
    let as_expected = |c: &&super::Checked| c.report.as_expected();
    let expected = report.checks.iter().filter(as_expected).count();
    let killed = |m: &&super::MutantResult| m.refuted == m.seeds;
    let refuted = report.mutants.iter().filter(killed).count();
    let sampled = |l: &&Level| matches!(l, Level::Sampled { .. });
    let stand = |l: &&Level| matches!(l, Level::Sampled { adjusted, .. } if *adjusted <= 0.05);
    format!(
        "{expected} of {} verdicts are the expected ones; {refuted} of {} mutants (false variants that a \
         check must refute) were refuted. A simulation supports or refutes a statement, or leaves it \
         open; it proves nothing. Intervals are exact binomial or Student intervals at the level shown. \
         The p-value is the least 1 − level at which the trials decide; adjusted by Holm for the {} sampled \
         checks of this page, inconclusive ones too, {} of them stand at 0.05 together. The others do \
         not rest on a level: they were computed, or single trials decide.",
        report.checks.len(),
        report.mutants.len(),
        levels.iter().filter(sampled).count(),
        levels.iter().filter(stand).count(),
    )
}

/// Returns the date of today in UTC, or that of SOURCE_DATE_EPOCH for a page that is to be the same on every day.
fn today() -> String {
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok();
    let fixed = fixed.and_then(|text| text.parse().ok().map(Duration::from_secs));
    let now = || SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = fixed.unwrap_or_else(|| now().unwrap_or_default()).as_secs();
    let [year, month, day] = date(seconds / 86_400);
    format!("{year}-{month:02}-{day:02}")
}

/// Converts days since 1970-01-01 to year, month and day (Hinnant, "chrono-compatible low-level date algorithms").
fn date(days: u64) -> [u64; 3] {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    [year, month, day]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, expected) in [(0, [1970, 1, 1]), (59, [1970, 3, 1]), (11_016, [2000, 2, 29]), (20_819, [2027, 1, 1])]
        {
            assert_eq!(date(days), expected);
        }
    }
}
