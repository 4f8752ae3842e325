//! A site: the contents of a report as static pages, one per claim and one per paper, with an index.

use super::level::levels;
use super::links::{FIGURES, Links};
use super::rows::check_link;
use super::{CARD, Report, card, escape, head, page, picture, put, section};
use crate::figure;
use attnlab_core::error::Result;
use std::fmt::Write;

/// Name of the page from which the others are reached.
pub const INDEX: &str = "index.html";

/// A file of a site.
pub struct File {
    /// Name in the folder of the site.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// Writes the contents of a report as a folder of files that refer to each other by name: `index.html` with a row per
/// claim, a page per claim (`aot.theorem1.html`) and per paper, and the numbers of every figure. The index is the last. With
/// `runner`, the address of the library in a browser (docs/page.md), the page of a claim of the library leads to its check there.
///
/// # Errors
/// When a figure cannot be drawn.
pub fn site(report: &Report, runner: Option<&str>) -> Result<Vec<File>> {
    let (links, sections) = (Links::in_site(report), section::sections(report));
    let levels = levels(report.checks);
    let file = |name: &str, text: String| File { name: name.to_string(), text };
    let mut files = vec![
        file(head::STYLE_FILE, format!("{CARD}{}", head::STYLE)),
        file(head::SCRIPT_FILE, head::SCRIPT.to_string()),
    ];
    for (i, checked) in report.checks.iter().enumerate() {
        let mut page = head::open(&checked.report.claim, &links);
        head::way_back(&mut page, &links, Some(checked.claim.sheet().paper));
        card::unfolded(&mut page, &links, i, &levels[i]);
        if let Some(address) = runner.filter(|_| checked.claim.code().is_none()) {
            let to = escape(&format!("{address}#{}", check_link(checked)));
            put!(page, "<p><a href=\"{to}\">Run it yourself</a>, in this browser: the same seed, the same draws.</p>");
        }
        links.figures_of(i).try_for_each(|f| picture::show(&mut page, &links, f))?;
        files.push(file(&links.claim_address(i), head::closed(page, &links)));
    }
    for section in &sections {
        let mut page = head::open(&section.paper.cite(), &links);
        head::way_back(&mut page, &links, None);
        page.push_str(&section::begun(section));
        section::rows(&mut page, &links, section, &levels);
        section::figures(&mut page, &links, section)?;
        page.push_str("</section>\n");
        files.push(file(&links.paper_address(section.paper), head::closed(page, &links)));
    }
    if report.pictures.iter().any(|picture| picture.source.is_none()) {
        let mut page = head::open("Figures", &links);
        head::way_back(&mut page, &links, None);
        section::figures_of_no_paper(&mut page, &links)?;
        files.push(file(FIGURES, head::closed(page, &links)));
    }
    for (f, picture) in report.pictures.iter().enumerate() {
        files.push(file(&links.table(f), figure::to_csv(&picture.figure)?));
    }
    files.push(file(INDEX, page(&links, "")?));
    Ok(files)
}
