//! Card of one claim: its row of the forest plot and, folded, statement, hypotheses, evidence, mutants.

use super::level::{Level, estimate};
use super::links::Links;
use super::track::{Track, badge};
use super::{Checked, MutantResult, escape, made_by, mathml, put};
use crate::claim::VerdictKind;
use crate::run::CheckReport;
use crate::words::counted;
use attnlab_core::format;
use attnlab_core::stats::binomial;
use std::fmt::Write;

/// Writes the claim at place `i` of the report: its folded card or, in a site, the row that leads to its page.
pub fn claim(page: &mut String, links: &Links, i: usize, level: &Level) {
    let checked = &links.report.checks[i];
    let mutants: Vec<_> = links.report.mutants_of(&checked.report).collect();
    let attributes = format!("id=\"{}\" data-order=\"{i}\"", escape(&links.claims[i]));
    if links.site {
        let (address, statement) = (escape(&links.claim_address(i)), escape(&checked.claim.sheet().statement));
        // The statement is searched too.
        let attributes = format!("{attributes} data-statement=\"{statement}\"");
        put!(page, "<div {}><a href=\"{address}\">", described(checked, &attributes));
        row(page, checked, &mutants);
        put!(page, "</a></div>");
        return;
    }
    card(page, &attributes, checked, &mutants, &figures(links, i), level);
}

/// Writes title and unfolded card of the claim at place `i` of the report.
pub fn unfolded(page: &mut String, links: &Links, i: usize, level: &Level) {
    let checked = &links.report.checks[i];
    put!(page, "<h1>{}</h1>", mathml(&checked.claim.sheet().title));
    let mutants: Vec<_> = links.report.mutants_of(&checked.report).collect();
    card(page, "open", checked, &mutants, &figures(links, i), level);
}

/// Writes the card of a claim, with the attributes of its element and the entries of its figures.
pub fn card(
    page: &mut String,
    attributes: &str,
    checked: &Checked,
    mutants: &[&MutantResult],
    figures: &str,
    level: &Level,
) {
    put!(page, "<details {}><summary>", described(checked, attributes));
    row(page, checked, mutants);
    put!(page, "</summary>");
    statement(page, checked);
    put!(page, "<dl>{figures}");
    evidence(page, checked, level);
    put!(page, "</dl>");
    hypotheses(page, &checked.report);
    mutant_rows(page, mutants);
    put!(page, "</details>");
}

/// Returns the attributes of a claim, with those by which the script orders and filters.
fn described(checked: &Checked, attributes: &str) -> String {
    let check = &checked.report;
    let distance = Track::new(checked).distance().map_or(String::new(), |d| d.to_string());
    let surprise = if check.as_expected() { "" } else { " surprise" };
    format!(
        "class=\"claim{surprise}\" {attributes} data-verdict=\"{}\" data-rank=\"{}\" data-distance=\"{distance}\"",
        check.verdict.name(),
        rank(check)
    )
}

/// Writes the row of the forest plot.
fn row(page: &mut String, checked: &Checked, mutants: &[&MutantResult]) {
    let check = &checked.report;
    let expected = match check.as_expected() {
        true => String::new(),
        false => format!(" <small>expected: {}</small>", check.expected.name()),
    };
    put!(
        page,
        "<span class=\"name\"><code>{}</code> {}{expected}</span><span class=\"title\">{}</span>",
        escape(&check.claim),
        badge(check.verdict),
        mathml(&checked.claim.sheet().title)
    );
    Track::new(checked).draw(page, mutants);
    put!(page, "<span class=\"estimate\">{}</span>", estimate(check));
}

/// Returns the place of a verdict in an order by verdict: surprises first, then as the words are listed.
fn rank(check: &CheckReport) -> usize {
    let kinds = VerdictKind::ALL;
    let place = kinds.iter().position(|kind| *kind == check.verdict).unwrap_or(kinds.len());
    if check.as_expected() { kinds.len() + place } else { place }
}

fn statement(page: &mut String, checked: &Checked) {
    let sheet = checked.claim.sheet();
    let (statement, source) = (mathml(&sheet.statement), escape(&checked.report.source));
    put!(page, "<blockquote tabindex=\"0\">{statement}</blockquote><p class=\"source\">{source}</p>");
    if let Some(holds) = &sheet.holds {
        put!(page, "<p><strong>What holds.</strong> {}</p>", mathml(holds));
    }
}

/// Links a claim to its figures, and to those of its paper where that has more.
fn figures(links: &Links, i: usize) -> String {
    let report = links.report;
    let paper = report.checks[i].claim.sheet().paper;
    let mut entries: Vec<String> = links.figures_of(i).map(|f| links.to_figure(f)).collect();
    let of_paper = report.pictures.iter().filter(|p| p.source.is_some_and(|source| source.paper == paper)).count();
    if of_paper > entries.len() {
        let words = match entries.len() {
            0 => format!("{of_paper} of the paper, none for this statement"),
            _ => format!("all {of_paper} of the paper"),
        };
        entries.push(links.to_figures(paper, &words));
    }
    if entries.is_empty() { String::new() } else { format!("<dt>Figures</dt><dd>{}</dd>", entries.join(", ")) }
}

fn hypotheses(page: &mut String, check: &CheckReport) {
    if check.hypotheses.is_empty() {
        return;
    }
    put!(page, "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>Hypothesis</th><th>As printed</th>");
    put!(page, "<th>Margin</th><th>Holds</th></tr></thead><tbody>");
    for h in &check.hypotheses {
        let holds = if h.holds { "yes" } else { "<strong>no</strong>" };
        put!(page, "<tr><td>{}</td><td>{}</td>", escape(h.name), mathml(h.printed));
        put!(page, "<td class=\"number\">{}</td><td>{holds}</td></tr>", format::number(h.margin));
    }
    put!(page, "</tbody></table></div>");
    if check.beyond_hypotheses {
        put!(page, "<p>Judged beyond the hypotheses, on request.</p>");
    }
}

fn evidence(page: &mut String, checked: &Checked, level: &Level) {
    let check = &checked.report;
    let entries = [
        ("Parameters", Some(escape(&format::pairs(&check.parameters)))),
        ("Promise", Some(escape(&check.promise))),
        ("Estimate", Some(estimate(check))),
        ("Distance", Track::new(checked).distance_in_words()),
        ("p-value", Some(level.to_string())),
        ("Tolerance", check.tolerance.as_deref().map(mathml)),
        ("Trials", Some(escape(&check.counted()))),
        ("Stopping", check.stopping().as_deref().map(escape)),
        ("Reach", (!check.reach.is_empty()).then(|| escape(&check.reach))),
        ("Witness", (!check.witness.is_empty()).then(|| escape(&format::pairs(&check.witness)))),
        ("Seed, time", Some(format!("{}, {:.2} s", check.seed, check.wall_s))),
    ];
    for (name, text) in entries.into_iter().filter_map(|(name, text)| Some((name, text?))) {
        put!(page, "<dt>{name}</dt><dd>{text}</dd>");
    }
    made_by(page, &checked.origin);
}

/// Writes the mutants as rows of a forest plot.
fn mutant_rows(page: &mut String, mutants: &[&MutantResult]) {
    let Some(first) = mutants.first() else { return };
    put!(
        page,
        "<h3>Mutants</h3><p>False variants, which the check must refute: <code class=\"command\">{}</code></p>\
         <div class=\"mutants\">",
        escape(&first.first.origin.command)
    );
    for mutant in mutants {
        let check = &mutant.first.report;
        put!(
            page,
            "<div class=\"row\"><span class=\"name\"><code>{}</code> {}</span><span class=\"title\">{}</span>",
            escape(&mutant.name),
            badge(check.verdict),
            mathml(&mutant.says)
        );
        Track::new(&mutant.first).draw(page, &[]);
        let (estimate, power) = (estimate(check), power(mutant));
        put!(page, "<span class=\"estimate\">{estimate} <small>refuted under {power}</small></span></div>");
    }
    put!(page, "</div>");
}

/// Formats the power: the share of seeds under which the mutant was refuted, with its exact interval where
/// there is more than one seed.
fn power(mutant: &MutantResult) -> String {
    let (refuted, seeds) = (mutant.refuted, mutant.seeds);
    let share = format!("{refuted} of {}", counted(seeds, "seed"));
    match binomial(refuted, seeds, 0.95) {
        Ok(e) if seeds > 1 => format!("{share} [{:.2}, {:.2}]", e.low, e.high),
        _ => share,
    }
}
