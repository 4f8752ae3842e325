//! Details of one claim: statement, hypotheses, evidence, mutants and their power.

use super::table::{Level, estimate, short};
use super::{Checked, MutantResult, Report, badge, escape, made_by, mathml, put};
use crate::run::CheckReport;
use attnlab_core::format;
use attnlab_core::stats::binomial;
use std::fmt::Write;

/// Writes the details of a claim, collapsed on screen and opened for print.
pub fn claim(page: &mut String, report: &Report, i: usize, checked: &Checked, level: &Level) {
    let check = &checked.report;
    put!(
        page,
        "<details class=\"claim\" id=\"claim-{i}\" data-claim=\"{i}\"><summary><code>{}</code> {} \
         <small>{}</small></summary>",
        escape(&check.claim),
        badge(check.verdict),
        escape(&check.source)
    );
    statement(page, checked);
    hypotheses(page, check);
    evidence(page, checked, level);
    let results: Vec<_> = report.mutants_of(check).collect();
    if !results.is_empty() {
        mutants(page, &results);
    }
    put!(page, "</details>");
}

fn statement(page: &mut String, checked: &Checked) {
    let sheet = checked.claim.sheet();
    put!(page, "<blockquote>{}</blockquote>", mathml(&sheet.statement));
    if let Some(holds) = &sheet.holds {
        put!(page, "<p><strong>What holds.</strong> {}</p>", mathml(holds));
    }
}

fn hypotheses(page: &mut String, check: &CheckReport) {
    if check.hypotheses.is_empty() {
        return;
    }
    put!(page, "<table><thead><tr><th>Hypothesis</th><th>As printed</th>");
    put!(page, "<th>Margin</th><th>Holds</th></tr></thead><tbody>");
    for h in &check.hypotheses {
        let holds = if h.holds { "yes" } else { "<strong>no</strong>" };
        let (name, printed) = (escape(h.name), mathml(h.printed));
        put!(page, "<tr><td>{name}</td><td>{printed}</td>");
        put!(page, "<td class=\"number\">{}</td><td>{holds}</td></tr>", format::number(h.margin));
    }
    put!(page, "</tbody></table>");
    if check.beyond_hypotheses {
        put!(page, "<p>Judged beyond the hypotheses, on request.</p>");
    }
}

fn evidence(page: &mut String, checked: &Checked, level: &Level) {
    let check = &checked.report;
    put!(page, "<dl><dt>Parameters</dt><dd>{}</dd>", escape(&format::pairs(&check.parameters)));
    put!(page, "<dt>Estimate</dt><dd>{}</dd>", estimate(check));
    let level = match level {
        Level::Sampled { raw, adjusted } => {
            format!("{}, adjusted by Holm {}", short(*raw), short(*adjusted))
        }
        Level::None(why) => (*why).to_string(),
    };
    put!(page, "<dt>p-value</dt><dd>{level}</dd>");
    put!(page, "<dt>Promise</dt><dd>{}</dd>", escape(&check.promise));
    if let Some(tolerance) = &check.tolerance {
        put!(page, "<dt>Tolerance</dt><dd>{}</dd>", mathml(tolerance));
    }
    put!(page, "<dt>Trials</dt><dd>{}</dd>", escape(&check.counted()));
    if let Some(stopping) = check.stopping() {
        put!(page, "<dt>Stopping</dt><dd>{}</dd>", escape(&stopping));
    }
    if !check.reach.is_empty() {
        put!(page, "<dt>Reach</dt><dd>{}</dd>", escape(&check.reach));
    }
    put!(page, "<dt>Witness</dt><dd>{}</dd>", escape(&format::pairs(&check.witness)));
    put!(page, "<dt>Seed, time</dt><dd>{}, {:.2} s</dd>", check.seed, check.wall_s);
    made_by(page, &checked.origin);
    put!(page, "</dl>");
}

fn mutants(page: &mut String, results: &[&MutantResult]) {
    put!(page, "<table><thead><tr><th>Mutant</th><th>Says</th><th>Verdict</th>");
    put!(page, "<th>Estimate</th><th>Power</th></tr></thead><tbody>");
    for m in results {
        let check = &m.first.report;
        let (name, sentence) = (escape(&m.name), mathml(&m.says));
        put!(page, "<tr><td>{name}</td><td>{sentence}</td><td>{}</td>", badge(check.verdict));
        put!(page, "<td>{}</td><td>{}</td></tr>", estimate(check), power(m));
    }
    put!(page, "</tbody></table>");
    if let Some(m) = results.first() {
        put!(page, "<p><small>Mutants: <code>{}</code></small></p>", escape(&m.first.origin.command));
    }
}

/// Formats the power: the share of seeds under which the mutant was refuted, with its exact interval where
/// there is more than one seed.
fn power(mutant: &MutantResult) -> String {
    let (refuted, seeds) = (mutant.refuted, mutant.seeds);
    let plural = if seeds == 1 { "" } else { "s" };
    let counted = format!("{refuted} of {seeds} seed{plural}");
    match binomial(refuted, seeds, 0.95) {
        Ok(e) if seeds > 1 => format!("{counted} <small>[{:.2}, {:.2}]</small>", e.low, e.high),
        _ => counted,
    }
}
