//! Card of one claim: its row of the forest plot and, folded, statement, hypotheses, evidence, mutants.

use super::level::{Level, estimate, short};
use super::links::Links;
use super::track::{Track, badge};
use super::{Checked, MutantResult, Report, escape, made_by, mathml, put};
use crate::claim::VerdictKind;
use crate::run::CheckReport;
use attnlab_core::format;
use attnlab_core::stats::binomial;
use std::fmt::Write;

/// Writes the card of the claim at place `i` of the report, which is opened for print.
pub fn claim(page: &mut String, report: &Report, links: &Links, i: usize, level: &Level) {
    let checked = &report.checks[i];
    let anchor = escape(links.claim(i));
    let opening = format!("id=\"{anchor}\" data-order=\"{i}\"");
    let own: Vec<_> = report.mutants_of(&checked.report).collect();
    head(page, &opening, checked, &own);
    statement(page, checked);
    put!(page, "<dl>");
    beside(page, report, links, i);
    evidence(page, checked, level);
    put!(page, "</dl>");
    hypotheses(page, &checked.report);
    mutants(page, &own);
    put!(page, "</details>");
}

/// Writes the card of a claim that stands alone, unfolded and without an anchor.
pub fn alone(page: &mut String, checked: &Checked, own: &[&MutantResult], level: &Level) {
    head(page, "open", checked, own);
    statement(page, checked);
    put!(page, "<dl>");
    evidence(page, checked, level);
    put!(page, "</dl>");
    hypotheses(page, &checked.report);
    mutants(page, own);
    put!(page, "</details>");
}

fn head(page: &mut String, attributes: &str, checked: &Checked, own: &[&MutantResult]) {
    let (check, sheet) = (&checked.report, checked.claim.sheet());
    let track = Track::of(checked);
    let distance = track.distance().map_or(String::new(), |d| d.to_string());
    let verdict = check.verdict.name();
    let (surprise, expected) = match check.as_expected() {
        true => ("", String::new()),
        false => (" surprise", format!(" <small>expected: {}</small>", check.expected.name())),
    };
    put!(
        page,
        "<details class=\"claim{surprise}\" {attributes} data-verdict=\"{verdict}\" data-rank=\"{}\" \
         data-distance=\"{distance}\"><summary><span class=\"name\"><code>{}</code> {}{expected}</span>\
         <span class=\"title\">{}</span>",
        rank(check),
        escape(&check.claim),
        badge(check.verdict),
        mathml(&sheet.title)
    );
    track.draw(page, own);
    put!(page, "<span class=\"estimate\">{}</span></summary>", estimate(check));
}

/// Returns the place of a verdict in an order by verdict: surprises first, then as the words are listed.
fn rank(check: &CheckReport) -> usize {
    let all = VerdictKind::ALL;
    let place = all.iter().position(|v| *v == check.verdict);
    match check.as_expected() {
        true => all.len() + place.unwrap_or(all.len()),
        false => place.unwrap_or(all.len()),
    }
}

fn statement(page: &mut String, checked: &Checked) {
    let sheet = checked.claim.sheet();
    put!(
        page,
        "<blockquote>{}</blockquote><p class=\"source\">{}</p>",
        mathml(&sheet.statement),
        escape(&checked.report.source)
    );
    if let Some(holds) = &sheet.holds {
        put!(page, "<p><strong>What holds.</strong> {}</p>", mathml(holds));
    }
}

/// Writes the links of a claim to its figures, or to those of its paper where it has none of its own.
fn beside(page: &mut String, report: &Report, links: &Links, i: usize) {
    let link = |f: usize| {
        let name = &report.pictures[f].figure.name;
        format!("<a href=\"#{}\">{}</a>", escape(links.figure(f)), escape(name))
    };
    let paper = report.checks[i].claim.sheet().paper;
    let figures: Vec<String> = links.figures_of(i).map(link).collect();
    let of_paper = |p: &&super::Picture| p.source.is_some_and(|s| s.paper == paper);
    let all = report.pictures.iter().filter(of_paper).count();
    let mut entry = figures.join(", ");
    if all > figures.len() {
        let words = match figures.len() {
            0 => format!("{all} of the paper, none for this statement"),
            _ => format!("all {all} of the paper"),
        };
        let separator = if entry.is_empty() { "" } else { "; " };
        entry.push_str(&format!("{separator}<a href=\"#figures-{}\">{words}</a>", escape(paper.key)));
    }
    if !entry.is_empty() {
        put!(page, "<dt>Figures</dt><dd>{entry}</dd>");
    }
}

fn hypotheses(page: &mut String, check: &CheckReport) {
    if check.hypotheses.is_empty() {
        return;
    }
    put!(page, "<div class=\"wide\"><table><thead><tr><th>Hypothesis</th><th>As printed</th>");
    put!(page, "<th>Margin</th><th>Holds</th></tr></thead><tbody>");
    for h in &check.hypotheses {
        let holds = if h.holds { "yes" } else { "<strong>no</strong>" };
        let (name, printed) = (escape(h.name), mathml(h.printed));
        put!(page, "<tr><td>{name}</td><td>{printed}</td>");
        put!(page, "<td class=\"number\">{}</td><td>{holds}</td></tr>", format::number(h.margin));
    }
    put!(page, "</tbody></table></div>");
    if check.beyond_hypotheses {
        put!(page, "<p>Judged beyond the hypotheses, on request.</p>");
    }
}

fn evidence(page: &mut String, checked: &Checked, level: &Level) {
    let check = &checked.report;
    put!(page, "<dt>Parameters</dt><dd>{}</dd>", escape(&format::pairs(&check.parameters)));
    put!(page, "<dt>Promise</dt><dd>{}</dd>", escape(&check.promise));
    put!(page, "<dt>Estimate</dt><dd>{}</dd>", estimate(check));
    if let Some(far) = Track::of(checked).distance_in_words() {
        put!(page, "<dt>Distance</dt><dd>{far}</dd>");
    }
    let level = match level {
        Level::Sampled { raw, adjusted } => {
            format!("{}, adjusted by Holm {}", short(*raw), short(*adjusted))
        }
        Level::None(why) => (*why).to_string(),
    };
    put!(page, "<dt>p-value</dt><dd>{level}</dd>");
    if let Some(tolerance) = &check.tolerance {
        put!(page, "<dt>Tolerance</dt><dd>{}</dd>", mathml(tolerance));
    }
    put!(page, "<dt>Trials</dt><dd>{}</dd>", escape(&check.counted()));
    if let Some(stopping) = &check.stopping {
        put!(page, "<dt>Stopping</dt><dd>{}</dd>", escape(stopping));
    }
    if !check.reach.is_empty() {
        put!(page, "<dt>Reach</dt><dd>{}</dd>", escape(&check.reach));
    }
    if !check.witness.is_empty() {
        put!(page, "<dt>Witness</dt><dd>{}</dd>", escape(&format::pairs(&check.witness)));
    }
    put!(page, "<dt>Seed, time</dt><dd>{}, {:.2} s</dd>", check.seed, check.wall_s);
    made_by(page, &checked.origin);
}

/// Writes the mutants as rows of a forest plot.
fn mutants(page: &mut String, own: &[&MutantResult]) {
    let Some(first) = own.first() else {
        return;
    };
    put!(
        page,
        "<h4>Mutants</h4><p>False variants, which the check must refute: <code>{}</code></p><div class=\"mutants\">",
        escape(&first.first.origin.command)
    );
    for m in own {
        let (name, says) = (escape(&m.name), mathml(&m.says));
        put!(
            page,
            "<div class=\"row\"><span class=\"name\"><code>{name}</code> {}</span><span class=\"title\">{says}</span>",
            badge(m.first.report.verdict)
        );
        Track::of(&m.first).draw(page, &[]);
        put!(
            page,
            "<span class=\"estimate\">{} <small>refuted under {}</small></span></div>",
            estimate(&m.first.report),
            power(m)
        );
    }
    put!(page, "</div>");
}

/// Formats the power: the share of seeds under which the mutant was refuted, with its exact interval where
/// there is more than one seed.
fn power(mutant: &MutantResult) -> String {
    let (refuted, seeds) = (mutant.refuted, mutant.seeds);
    let plural = if seeds == 1 { "" } else { "s" };
    let counted = format!("{refuted} of {seeds} seed{plural}");
    match binomial(refuted, seeds, 0.95) {
        Ok(e) if seeds > 1 => format!("{counted} [{:.2}, {:.2}]", e.low, e.high),
        _ => counted,
    }
}
