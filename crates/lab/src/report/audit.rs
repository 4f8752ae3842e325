//! Section of checks at random settings.

use super::{escape, put};
use crate::audit::{Summary, Surprise};
use std::fmt::Write;

/// Writes the summary of an audit: counts of findings by claim, and every surprise with its command.
pub fn section(page: &mut String, summary: &Summary) {
    put!(page, "<h2 id=\"audit\">Audit at random settings</h2>");
    put!(page, "<p>{} {}</p>", escape(&summary.sentence()), escape(&summary.alarm_sentence()));
    let used = summary.findings();
    put!(
        page,
        "<div class=\"wide\" tabindex=\"0\"><table id=\"audited\"><thead><tr><th scope=\"col\">Claim</th>\
         <th scope=\"col\" class=\"number\">settings</th>"
    );
    for finding in &used {
        put!(page, "<th scope=\"col\" class=\"number\" title=\"{}\">{}</th>", finding.definition(), finding.name());
    }
    put!(page, "</tr></thead><tbody>");
    for (claim, count) in &summary.claims {
        let stands = |s: &Surprise| s.claim == *claim && s.stands();
        let mark = if summary.surprises.iter().any(stands) { " class=\"surprise\"" } else { "" };
        let (claim, total) = (escape(claim), count.total());
        put!(page, "<tr{mark}><th scope=\"row\"><code>{claim}</code></th><td class=\"number\">{total}</td>");
        for finding in &used {
            put!(page, "<td class=\"number\">{}</td>", count.number(*finding));
        }
        put!(page, "</tr>");
    }
    put!(page, "</tbody></table></div>");
    if summary.surprises.is_empty() {
        return;
    }
    put!(page, "<h3>Surprises</h3>\n<ul>");
    summary.surprises.iter().for_each(|surprise| entry(page, surprise));
    put!(page, "</ul>");
}

fn entry(page: &mut String, surprise: &Surprise) {
    let allowed = if surprise.stands() { "" } else { ", within the allowance of the level" };
    let p_value = match (surprise.p_value, surprise.adjusted) {
        (Some(p), Some(adjusted)) => format!(", p = {p:.2e}, by Holm {adjusted:.2e}"),
        _ => String::new(),
    };
    put!(
        page,
        "<li>{}{allowed}{p_value}: <code>{}</code><br><small>{}</small></li>",
        surprise.finding.name(),
        escape(&surprise.command),
        escape(&surprise.message)
    );
}
