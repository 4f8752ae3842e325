//! Figures with their captions, numbers, claims and origins.

use super::links::Links;
use super::{escape, made_by, markup, put};
use crate::figure::{self, Figure, Panel, Width};
use attnlab_core::error::Result;
use attnlab_core::format;
use std::fmt::Write;

/// Largest table of numbers (bytes) that a page holds; that of a larger figure lies beside its pictures.
const MAX_CSV_BYTES: usize = 32 << 10;

/// Writes the figure at place `f` of the report.
pub fn show(page: &mut String, links: &Links, f: usize) -> Result<()> {
    let picture = &links.report.pictures[f];
    let figure = &picture.figure;
    let claims: Vec<usize> = links.claims_of(f).collect();
    let places: Vec<String> = claims.iter().map(usize::to_string).collect();
    // Lines that lie over a map have colours that go with it, those of the legend too.
    let marks = if figure.panels.iter().any(over_map) { "over-map" } else { "lines" };
    let width = if figure.width == Width::Column { "column" } else { "full" };
    put!(
        page,
        "<figure id=\"{}\" class=\"{marks} {width}\" data-claims=\"{}\"><div class=\"wide\" tabindex=\"0\">{}</div>",
        escape(&links.figures[f]),
        places.join(" "),
        figure::svg_in_page(figure)?
    );
    let (title, caption) = (markup(&figure.title), markup(&figure.caption));
    put!(page, "<figcaption><strong>{title}.</strong> {caption}");
    numbers(page, figure, links.site.then(|| links.table(f)))?;
    put!(page, "<dl class=\"made\">");
    if !claims.is_empty() {
        let claims: Vec<String> = claims.iter().map(|c| links.to_claim(*c)).collect();
        put!(page, "<dt>Claims</dt><dd>{}</dd>", claims.join(", "));
    }
    if let Some(source) = picture.source {
        put!(page, "<dt>Source</dt><dd>{}, {}</dd>", links.to_paper(source.paper), escape(source.place));
    }
    put!(page, "<dt>Seed</dt><dd>{}</dd>", picture.seed);
    picture.origins.iter().for_each(|origin| made_by(page, origin));
    put!(page, "</dl></figcaption></figure>");
    Ok(())
}

/// Returns `true` if the panel has marks over a heat map.
fn over_map(panel: &Panel) -> bool {
    panel.heat.is_some() && !(panel.series.is_empty() && panel.contours.is_empty() && panel.arrows.is_empty())
}

/// Writes the numbers behind a figure: a link to their `file`, or a folded table of comma-separated values.
fn numbers(page: &mut String, figure: &Figure, file: Option<String>) -> Result<()> {
    let (name, table) = (escape(&figure.name), figure::to_csv(figure)?);
    let size = format::size(table.len() as u64);
    if let Some(file) = file {
        put!(page, "<p class=\"numbers\">Numbers: <a href=\"{0}\" download>{0}</a> ({size}).</p>", escape(&file));
        return Ok(());
    }
    if table.len() > MAX_CSV_BYTES {
        put!(page, "<p class=\"numbers\">Numbers: <code>{name}.csv</code> ({size}), beside the pictures.</p>");
        return Ok(());
    }
    put!(
        page,
        "<details class=\"numbers\"><summary>Numbers: <code>{name}.csv</code> ({size})</summary>\
         <pre data-name=\"{name}.csv\" tabindex=\"0\">{}</pre></details>",
        escape(&table)
    );
    Ok(())
}
