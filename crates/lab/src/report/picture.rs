//! Figures with their captions, numbers, claims and origins.

use super::links::Links;
use super::{Report, cells, escape, made_by, markup, put};
use crate::figure::{self, Figure, Width};
use attnlab_core::error::Result;
use attnlab_core::format;
use std::fmt::Write;

/// Largest table of numbers (bytes) that a page holds; that of a larger figure lies beside its pictures.
const MAX_CSV_BYTES: usize = 32 << 10;

/// Attributes of every mark and label of a figure, which are defaults or stand once in the style of the page.
const REPEATED: [&str; 2] = [" opacity=\"1\"", " font-family=\"Liberation Sans, Arial, Helvetica, sans-serif\""];

/// Writes the figure at place `f` of the report.
///
/// # Errors
/// When the figure cannot be drawn.
pub fn show(page: &mut String, report: &Report, links: &Links, f: usize) -> Result<()> {
    let picture = &report.pictures[f];
    let figure = &picture.figure;
    let claims: Vec<usize> = links.claims_of(f).collect();
    let places = claims.iter().map(usize::to_string).collect::<Vec<_>>();
    let heat = figure.panels.iter().any(|panel| panel.heat.is_some());
    put!(
        page,
        "<figure id=\"{}\" class=\"{} {}\" data-claims=\"{}\">",
        escape(links.figure(f)),
        if heat { "heat" } else { "lines" },
        match figure.width {
            Width::Column => "column",
            _ => "full",
        },
        places.join(" ")
    );
    page.push_str("<div class=\"wide\">");
    let svg = REPEATED.iter().fold(figure::svg(figure)?, |svg, same| svg.replace(same, ""));
    page.push_str(&cells::joined(&svg));
    page.push_str("</div>");
    let (title, caption) = (markup(&figure.title), markup(&figure.caption));
    put!(page, "<figcaption><strong>{title}.</strong> {caption}");
    numbers(page, figure)?;
    put!(page, "<dl class=\"made\">");
    let links: Vec<String> = claims
        .iter()
        .map(|c| {
            let id = &report.checks[*c].report.claim;
            let anchor = escape(links.claim(*c));
            format!("<a href=\"#{anchor}\">{}</a>", escape(id))
        })
        .collect();
    if !links.is_empty() {
        put!(page, "<dt>Claims</dt><dd>{}</dd>", links.join(", "));
    }
    if let Some(source) = picture.source {
        put!(
            page,
            "<dt>Source</dt><dd><a href=\"#paper-{}\">{}</a>, {}</dd>",
            escape(source.paper.key),
            escape(&source.paper.cite()),
            escape(source.place)
        );
    }
    put!(page, "<dt>Seed</dt><dd>{}</dd>", picture.seed);
    for origin in &picture.origins {
        made_by(page, origin);
    }
    put!(page, "</dl></figcaption></figure>");
    Ok(())
}

/// Writes the numbers behind a figure as a folded table of comma-separated values.
fn numbers(page: &mut String, figure: &Figure) -> Result<()> {
    let (name, table) = (escape(&figure.name), figure::to_csv(figure)?);
    let size = format::size(table.len() as u64);
    if table.len() > MAX_CSV_BYTES {
        put!(page, "<p class=\"numbers\">Numbers: <code>{name}.csv</code> ({size}), beside the pictures.</p>");
        return Ok(());
    }
    put!(
        page,
        "<details class=\"numbers\"><summary>Numbers: <code>{name}.csv</code> ({size})</summary>\
         <pre data-name=\"{name}.csv\">{}</pre></details>",
        escape(&table)
    );
    Ok(())
}
