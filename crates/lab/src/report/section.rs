//! Sections: one per paper with its claims and figures, and an index by verdict and by subject.

use super::level::Level;
use super::links::Links;
use super::track::{badge, marked};
use super::{Report, card, escape, picture, put};
use crate::claim::{Paper, VerdictKind};
use attnlab_core::error::Result;
use std::fmt::Write;

/// Claims and figures of one paper, by their places in the report.
pub struct Section {
    /// The paper.
    pub paper: &'static Paper,
    claims: Vec<usize>,
    figures: Vec<usize>,
    subjects: Vec<&'static str>,
}

/// Divides a report into its papers, in the order in which they first appear.
pub fn sections(report: &Report) -> Vec<Section> {
    let mut sections: Vec<Section> = vec![];
    for (i, checked) in report.checks.iter().enumerate() {
        let place = section(&mut sections, report, checked.claim.sheet().paper);
        sections[place].claims.push(i);
    }
    for (f, picture) in report.pictures.iter().enumerate() {
        if let Some(source) = picture.source {
            let place = section(&mut sections, report, source.paper);
            sections[place].figures.push(f);
        }
    }
    sections
}

/// Returns the place of the paper's section, which is added if there is none yet.
fn section(sections: &mut Vec<Section>, report: &Report, paper: &'static Paper) -> usize {
    if let Some(place) = sections.iter().position(|section| section.paper == paper) {
        return place;
    }
    let rooms = report.catalogue.rooms().iter().filter(|room| room.papers.contains(paper));
    let subjects = rooms.flat_map(|room| room.subjects).copied().collect();
    sections.push(Section { paper, claims: vec![], figures: vec![], subjects });
    sections.len() - 1
}

/// Returns the subjects of the sections in alphabetical order, each once.
pub fn subjects(sections: &[Section]) -> Vec<&'static str> {
    let mut subjects: Vec<_> = sections.iter().flat_map(|section| &section.subjects).copied().collect();
    subjects.sort_unstable();
    subjects.dedup();
    subjects
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
        let (key, figures) = (escape(section.paper.key), section.figures.len());
        let mut parts = vec![];
        for kind in VerdictKind::ALL {
            match section.claims.iter().filter(|i| report.checks[**i].report.verdict == kind).count() {
                0 => {}
                count => parts.push(marked(kind, &count.to_string())),
            }
        }
        if figures > 0 {
            parts.push(format!("<a href=\"#figures-{key}\">{}</a>", counted(figures, "figure")));
        }
        let (title, claims) = (escape(&section.paper.cite()), counted(section.claims.len(), "claim"));
        put!(page, "<li><a href=\"#paper-{key}\">{title}</a> <small>{claims}: {}</small></li>", parts.join(" "));
    }
    put!(page, "</ul>");
    let subjects = subjects(sections);
    if !subjects.is_empty() {
        let links = subjects.iter().map(|s| format!("<a href=\"#{}\">{}</a>", anchor(s), escape(s)));
        put!(page, "<p>Subjects: {}</p>", links.collect::<Vec<_>>().join(", "));
    }
    put!(page, "</nav>");
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Writes the sections of all papers, then the figures of none.
///
/// # Errors
/// When a figure cannot be drawn.
pub fn papers(page: &mut String, report: &Report, links: &Links, sections: &[Section], levels: &[Level]) -> Result<()> {
    for section in sections {
        paper(page, report, links, section, levels)?;
    }
    let of_no_paper = |f: &usize| report.pictures[*f].source.is_none();
    let others: Vec<usize> = (0..report.pictures.len()).filter(of_no_paper).collect();
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
    let (title, subjects) = (escape(&paper.cite()), escape(&section.subjects.join("|")));
    put!(page, "<section class=\"paper\" id=\"paper-{key}\" data-subjects=\"{subjects}\"><h2>{title}</h2>");
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

/// Writes the claims of every verdict, and the claims and figures of every subject, as links.
pub fn index(page: &mut String, report: &Report, links: &Links, sections: &[Section]) {
    if report.checks.is_empty() {
        return;
    }
    put!(page, "<section id=\"index\"><h2>Index</h2>");
    for kind in VerdictKind::ALL {
        let of_kind = |i: &usize| report.checks[*i].report.verdict == kind;
        let claims: Vec<usize> = (0..report.checks.len()).filter(of_kind).collect();
        if !claims.is_empty() {
            put!(page, "<h3>{}</h3>", badge(kind));
            list(page, claims.into_iter().map(|i| links.to_claim(report, i)));
        }
    }
    for subject in subjects(sections) {
        put!(page, "<h3 id=\"{}\">{}</h3>", anchor(subject), escape(subject));
        for section in sections.iter().filter(|section| section.subjects.contains(&subject)) {
            let (key, title) = (escape(section.paper.key), escape(&section.paper.cite()));
            put!(page, "<p><a href=\"#paper-{key}\">{title}</a></p>");
            let claims = section.claims.iter().map(|i| links.to_claim(report, *i));
            list(page, claims.chain(section.figures.iter().map(|f| links.to_figure(report, *f))));
        }
    }
    put!(page, "</section>");
}

fn list(page: &mut String, links: impl Iterator<Item = String>) {
    let items: String = links.map(|link| format!("<li>{link}</li>")).collect();
    put!(page, "<ul class=\"ids\">{items}</ul>");
}
