//! Table of verdicts with its filters and levels of significance.

use super::{Checked, Report, badge, escape, mathml, put};
use crate::claim::VerdictKind;
use crate::run::CheckReport;
use attnlab_core::format;
use attnlab_core::stats::holm;
use std::fmt::Write;

/// Level of significance of a verdict.
pub enum Level {
    /// p-value of the verdict, raw and adjusted for all sampled verdicts of the table (Holm).
    Sampled { raw: f64, adjusted: f64 },
    /// Reason why no level applies.
    None(&'static str),
}

/// Computes the level of every verdict.
pub fn levels(checks: &[Checked]) -> Vec<Level> {
    let raw: Vec<Option<f64>> = checks.iter().map(|c| c.report.p_value).collect();
    let mut adjusted = holm(&raw.iter().copied().flatten().collect::<Vec<_>>()).into_iter();
    let level = |(raw, check): (&Option<f64>, &Checked)| match raw.zip(raw.and_then(|_| adjusted.next())) {
        Some((raw, adjusted)) => Level::Sampled { raw, adjusted },
        None => Level::None(why_none(&check.report)),
    };
    raw.iter().zip(checks).map(level).collect()
}

fn why_none(check: &CheckReport) -> &'static str {
    match check.verdict {
        VerdictKind::Supported | VerdictKind::Refuted if check.estimate.level >= 1.0 => "computed",
        VerdictKind::Supported | VerdictKind::Refuted if !check.looks.is_empty() => "until decided",
        VerdictKind::Supported => "no trial failed",
        VerdictKind::Refuted => "counter-example",
        _ => "–",
    }
}

/// Formats a level as a cell with its sort key.
fn cell(level: Option<f64>, otherwise: &str) -> String {
    match level {
        Some(x) => format!("<td class=\"number\" data-value=\"{x}\">{}</td>", short(x)),
        None => format!("<td class=\"number quiet\" data-value=\"\">{otherwise}</td>"),
    }
}

/// Formats a level with two digits.
pub fn short(x: f64) -> String {
    match x {
        0.0 => "0".into(),
        x if x < 1e-3 => format!("{x:.0e}").replace('-', "−"),
        x if x < 0.0995 => format!("{x:.3}"),
        x => format!("{x:.2}"),
    }
}

/// Headings of the columns with their tooltips.
const HEADINGS: [(&str, &str); 9] = [
    ("Claim", "id and title"),
    ("Source", "paper and place"),
    ("Verdict", "verdict of the trials and closed forms"),
    ("Estimate", "point and interval"),
    ("p", "p-value: the least 1 − level at which the trials decide"),
    ("p (Holm)", "the same, adjusted for all sampled checks of this table, inconclusive ones too"),
    ("Hypotheses", "number of the printed hypotheses that hold at these parameters"),
    ("Trials", "number of trials"),
    ("Mutants", "false variants refuted"),
];

pub fn verdicts(page: &mut String, report: &Report, levels: &[Level]) {
    put!(page, "<h2 id=\"verdicts-heading\">Verdicts</h2>");
    put!(page, "<p>{}</p>", summary(report, levels));
    filters(page, report.checks);
    put!(page, "<div class=\"wide\"><table id=\"verdicts\"><thead><tr>");
    for (heading, title) in HEADINGS {
        put!(page, "<th scope=\"col\" title=\"{title}\"><button>{heading}</button></th>");
    }
    put!(page, "</tr></thead><tbody>");
    for (i, check) in report.checks.iter().enumerate() {
        row(page, report, i, check, &levels[i]);
    }
    put!(page, "</tbody></table></div>");
}

fn summary(report: &Report, levels: &[Level]) -> String {
    let expected = report.checks.iter().filter(|c| c.report.as_expected()).count();
    let refuted = report.mutants.iter().filter(|m| m.refuted == m.seeds).count();
    let sampled = levels.iter().filter(|l| matches!(l, Level::Sampled { .. })).count();
    let stand = |l: &&Level| matches!(l, Level::Sampled { adjusted, .. } if *adjusted <= 0.05);
    format!(
        "{expected} of {} verdicts are the expected ones; {refuted} of {} mutants (false variants that a \
         check must refute) were refuted. A simulation supports or refutes a statement, or leaves it \
         open; it proves nothing. Intervals are exact binomial or Student intervals at the level shown. \
         p is the least 1 − level at which the trials decide; adjusted by Holm for the {sampled} sampled \
         checks of this table, inconclusive ones too, {} of them stand at 0.05 together. The others do \
         not rest on a level: they were computed, or single trials decide.",
        report.checks.len(),
        report.mutants.len(),
        levels.iter().filter(stand).count(),
    )
}

/// Writes a field for words and a button per verdict.
fn filters(page: &mut String, checks: &[Checked]) {
    put!(page, "<div class=\"filters\" role=\"search\">");
    put!(page, "<input id=\"filter\" type=\"search\" placeholder=\"filter: words\" aria-label=\"filter by words\">");
    put!(page, "<button class=\"chip\" data-verdict=\"\" aria-pressed=\"true\">all {}</button>", checks.len());
    for kind in VerdictKind::ALL {
        let count = checks.iter().filter(|c| c.report.verdict == kind).count();
        if count > 0 {
            let name = kind.name();
            put!(
                page,
                "<button class=\"chip {name}\" data-verdict=\"{name}\" aria-pressed=\"false\">{name} {count}</button>"
            );
        }
    }
    put!(page, "<output id=\"shown\"></output></div>");
}

fn row(page: &mut String, report: &Report, i: usize, checked: &Checked, level: &Level) {
    let check = &checked.report;
    let mark = if check.as_expected() { "" } else { " class=\"surprise\"" };
    put!(page, "<tr{mark} data-claim=\"{i}\" data-verdict=\"{}\">", check.verdict.name());
    put!(
        page,
        "<th scope=\"row\"><a href=\"#claim-{i}\">{}</a><small>{}</small></th>",
        escape(&check.claim),
        mathml(&checked.claim.sheet().title)
    );
    put!(page, "<td>{}</td>", escape(&check.source));
    let surprise = match check.as_expected() {
        true => String::new(),
        false => format!("<small>expected: {}</small>", check.expected.name()),
    };
    put!(page, "<td>{}{surprise}</td>", badge(check.verdict));
    put!(page, "<td data-value=\"{}\">{}</td>", check.estimate.value, estimate(check));
    let (raw, adjusted, why) = match level {
        Level::Sampled { raw, adjusted } => (Some(*raw), Some(*adjusted), ""),
        Level::None(why) => (None, None, *why),
    };
    put!(page, "{}{}", cell(raw, why), cell(adjusted, ""));
    let hold = check.hypotheses.iter().filter(|h| h.holds).count();
    put!(page, "{}", share(hold, check.hypotheses.len()));
    put!(page, "<td class=\"number\" data-value=\"{0}\">{0}</td>", check.trials);
    let mutants: Vec<_> = report.mutants_of(check).collect();
    let refuted = mutants.iter().filter(|m| m.refuted == m.seeds).count();
    put!(page, "{}</tr>", share(refuted, mutants.len()));
}

/// Formats "2 of 3" as a cell that is sorted by the share.
fn share(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "<td class=\"number quiet\" data-value=\"\">–</td>".into();
    }
    let share = part as f64 / whole as f64;
    let class = if part == whole { "" } else { " short" };
    format!("<td class=\"number{class}\" data-value=\"{share}\">{part} of {whole}</td>")
}

/// Formats the estimate on one line, its interval and level on the next.
pub fn estimate(check: &CheckReport) -> String {
    let e = &check.estimate;
    let number = format::number;
    let how = match e.level {
        1.0 => "computed".to_string(),
        level => format!("{} %", number(100.0 * level)),
    };
    let (value, low, high) = (number(e.value), number(e.low), number(e.high));
    format!("{value} <small class=\"number\">[{low}, {high}] {how}</small>")
}
