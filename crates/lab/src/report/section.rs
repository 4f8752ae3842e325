//! Sections: one per paper with its claims and figures, and an index by subject.

use super::level::Level;
use super::links::Links;
use super::track::shape;
use super::{Report, card, escape, picture, put};
use crate::claim::{Paper, VerdictKind};
use attnlab_core::error::Result;
use std::fmt::Write;

/// Claims and figures of one paper, by their places in the report.
pub struct Section {
    paper: &'static Paper,
    claims: Vec<usize>,
    figures: Vec<usize>,
    subjects: Vec<&'static str>,
}

impl Section {
    /// Returns the paper.
    pub fn paper(&self) -> &'static Paper {
        self.paper
    }
}

/// Divides a report into its papers, in the order in which they first appear.
pub fn sections(report: &Report) -> Vec<Section> {
    let mut all: Vec<Section> = vec![];
    for (i, checked) in report.checks.iter().enumerate() {
        let place = section(&mut all, report, checked.claim.sheet().paper);
        all[place].claims.push(i);
    }
    for (f, picture) in report.pictures.iter().enumerate() {
        if let Some(source) = picture.source {
            let place = section(&mut all, report, source.paper);
            all[place].figures.push(f);
        }
    }
    all
}

/// Returns the place of the paper's section, which is added if there is none yet.
fn section(all: &mut Vec<Section>, report: &Report, paper: &'static Paper) -> usize {
    if let Some(place) = all.iter().position(|s| s.paper == paper) {
        return place;
    }
    let rooms = report.catalogue.rooms().iter();
    let own = rooms.filter(|room| room.papers.contains(paper));
    all.push(Section {
        paper,
        claims: vec![],
        figures: vec![],
        subjects: own.flat_map(|room| room.subjects).copied().collect(),
    });
    all.len() - 1
}

/// Returns the subjects of the sections in alphabetical order, each once.
pub fn subjects(sections: &[Section]) -> Vec<&'static str> {
    let mut all: Vec<_> = sections.iter().flat_map(|s| &s.subjects).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the anchor of a subject.
fn anchor(subject: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
    format!("subject-{}", subject.chars().map(plain).collect::<String>())
}

/// Writes the list of papers with their numbers of claims, verdicts and figures, and the list of subjects.
pub fn contents(page: &mut String, report: &Report, sections: &[Section]) {
    if sections.is_empty() {
        return;
    }
    put!(page, "<nav id=\"contents\" aria-label=\"Contents\"><ul>");
    for section in sections {
        let claims = section.claims.len();
        let mut parts = vec![];
        for kind in VerdictKind::ALL {
            let of_kind = |i: &&usize| report.checks[**i].report.verdict == kind;
            let count = section.claims.iter().filter(of_kind).count();
            if count > 0 {
                parts.push(counted(kind, count));
            }
        }
        let figures = section.figures.len();
        if figures > 0 {
            parts.push(format!(
                "<a href=\"#figures-{}\">{figures} figure{}</a>",
                escape(section.paper.key),
                plural(figures)
            ));
        }
        put!(
            page,
            "<li><a href=\"#paper-{}\">{}</a> <small>{claims} claim{}: {}</small></li>",
            escape(section.paper.key),
            escape(&section.paper.cite()),
            plural(claims),
            parts.join(" ")
        );
    }
    put!(page, "</ul>");
    let links: Vec<String> =
        subjects(sections).iter().map(|s| format!("<a href=\"#{}\">{}</a>", anchor(s), escape(s))).collect();
    if !links.is_empty() {
        put!(page, "<p>Subjects: {}</p>", links.join(", "));
    }
    put!(page, "</nav>");
}

/// Formats a number of verdicts with the shape of the verdict.
fn counted(kind: VerdictKind, count: usize) -> String {
    format!(
        "<span class=\"{0}\" title=\"{0}\"><svg class=\"mark\" width=\"12\" height=\"12\" \
         viewBox=\"-6 -6 12 12\" role=\"img\" aria-label=\"{0}\">{1}</svg>{count}</span>",
        kind.name(),
        shape(kind)
    )
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Writes the sections of all papers, then the figures of none.
///
/// # Errors
/// When a figure cannot be drawn.
pub fn papers(page: &mut String, report: &Report, links: &Links, sections: &[Section], levels: &[Level]) -> Result<()> {
    for section in sections {
        paper(page, report, links, section, levels)?;
    }
    let other = |f: &usize| report.pictures[*f].source.is_none();
    let others: Vec<usize> = (0..report.pictures.len()).filter(other).collect();
    if !others.is_empty() {
        put!(page, "<section class=\"paper\"><h2 id=\"figures\">Figures</h2>");
        for f in others {
            picture::show(page, report, links, f)?;
        }
        put!(page, "</section>");
    }
    Ok(())
}

fn paper(page: &mut String, report: &Report, links: &Links, section: &Section, levels: &[Level]) -> Result<()> {
    let (paper, key) = (section.paper, escape(section.paper.key));
    put!(
        page,
        "<section class=\"paper\" id=\"paper-{key}\" data-subjects=\"{}\"><h2>{}</h2>",
        escape(&section.subjects.join("|")),
        escape(&paper.cite())
    );
    let mut about = vec![];
    if !paper.authors.is_empty() {
        about.push(escape(paper.authors));
    }
    if paper.link.starts_with("https://") {
        about.push(format!("<a href=\"{0}\">{0}</a>", escape(paper.link)));
    }
    if !section.figures.is_empty() && !section.claims.is_empty() {
        about.push(format!("<a href=\"#figures-{key}\">figures</a>"));
    }
    put!(page, "<p class=\"about\">{}</p>", about.join(" · "));
    if !section.claims.is_empty() {
        put!(page, "<div class=\"claims\">");
        for i in &section.claims {
            card::claim(page, report, links, *i, &levels[*i]);
        }
        put!(page, "</div>");
    }
    if !section.figures.is_empty() {
        put!(page, "<h3 id=\"figures-{key}\">Figures</h3>");
        for f in &section.figures {
            picture::show(page, report, links, *f)?;
        }
    }
    put!(page, "</section>");
    Ok(())
}

/// Writes the claims and figures of every subject as links.
pub fn index(page: &mut String, report: &Report, links: &Links, sections: &[Section]) {
    let all = subjects(sections);
    if all.is_empty() {
        return;
    }
    put!(page, "<section id=\"subjects\"><h2>Subjects</h2>");
    for subject in all {
        put!(page, "<section id=\"{}\"><h3>{}</h3>", anchor(subject), escape(subject));
        for section in sections.iter().filter(|s| s.subjects.contains(&subject)) {
            let claims = section.claims.iter().map(|i| {
                let (id, anchor) = (&report.checks[*i].report.claim, escape(links.claim(*i)));
                format!("<a href=\"#{anchor}\">{}</a>", escape(id))
            });
            let figures = section.figures.iter().map(|f| {
                let name = escape(&report.pictures[*f].figure.name);
                format!("<a href=\"#{}\">{name}</a>", escape(links.figure(*f)))
            });
            put!(
                page,
                "<p><a href=\"#paper-{}\">{}</a></p><ul class=\"ids\">",
                escape(section.paper.key),
                escape(&section.paper.cite())
            );
            for link in claims.chain(figures) {
                put!(page, "<li>{link}</li>");
            }
            put!(page, "</ul>");
        }
        put!(page, "</section>");
    }
    put!(page, "</section>");
}
