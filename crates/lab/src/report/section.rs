//! Sections: one per paper with its claims and figures, and an index by verdict and by subject.

use super::level::Level;
use super::links::Links;
use super::track::{badge, marked};
use super::{Report, card, escape, picture, put};
use crate::claim::{Paper, VerdictKind};
use crate::words::counted;
use attnlab_core::error::Result;
use std::fmt::Write;

/// Claims and figures of one paper, by their places in the report.
pub struct Section {
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

fn anchor(subject: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
    format!("subject-{}", subject.chars().map(plain).collect::<String>())
}

/// Writes the list of papers with their numbers of claims, verdicts and figures, and the list of subjects.
pub fn contents(page: &mut String, links: &Links, sections: &[Section]) {
    if sections.is_empty() {
        return;
    }
    put!(page, "<nav id=\"contents\" aria-label=\"Contents\"><ul>");
    for section in sections {
        let claims_of = |kind: VerdictKind| {
            section.claims.iter().filter(move |i| links.report.checks[**i].report.verdict == kind).count()
        };
        let counts = VerdictKind::ALL.map(|kind| (kind, claims_of(kind))).into_iter().filter(|(_, count)| *count > 0);
        let mut parts: Vec<String> = counts.map(|(kind, count)| marked(kind, &count.to_string())).collect();
        let [figures, claims] = [&section.figures, &section.claims].map(|places| places.len() as u64);
        if figures > 0 {
            parts.push(links.to_figures(section.paper, &counted(figures, "figure")));
        }
        let (paper, claims) = (links.to_paper(section.paper), counted(claims, "claim"));
        put!(page, "<li>{paper} <small>{claims}: {}</small></li>", parts.join(" "));
    }
    put!(page, "</ul>");
    let subjects = subjects(sections);
    if !subjects.is_empty() {
        let links = subjects.iter().map(|s| format!("<a href=\"#{}\">{}</a>", anchor(s), escape(s)));
        put!(page, "<p>Subjects: {}</p>", links.collect::<Vec<_>>().join(", "));
    }
    put!(page, "</nav>");
}

/// Begins the section of a paper: its title, authors and address.
pub fn begun(section: &Section) -> String {
    let (paper, key) = (section.paper, escape(section.paper.key));
    let (title, subjects) = (escape(&paper.cite()), escape(&section.subjects.join("|")));
    let mut about = vec![];
    if !paper.authors.is_empty() {
        about.push(escape(paper.authors));
    }
    if paper.link.starts_with("https://") {
        about.push(format!("<a href=\"{0}\">{0}</a>", escape(paper.link)));
    }
    format!(
        "<section class=\"paper\" id=\"paper-{key}\" data-subjects=\"{subjects}\"><h2>{title}</h2>\n\
         <p class=\"about\">{}</p>\n",
        about.join(" · ")
    )
}

/// Writes the claims of a paper, after a link to its figures.
pub fn rows(page: &mut String, links: &Links, section: &Section, levels: &[Level]) {
    if section.claims.is_empty() {
        return;
    }
    if !section.figures.is_empty() {
        put!(page, "<p class=\"about\">{}</p>", links.to_figures(section.paper, "figures"));
    }
    put!(page, "<div class=\"claims\">");
    section.claims.iter().for_each(|i| card::claim(page, links, *i, &levels[*i]));
    put!(page, "</div>");
}

/// Writes the figures of a paper.
pub fn figures(page: &mut String, links: &Links, section: &Section) -> Result<()> {
    if !section.figures.is_empty() {
        put!(page, "<h3 id=\"figures-{}\">Figures</h3>", escape(section.paper.key));
    }
    section.figures.iter().try_for_each(|f| picture::show(page, links, *f))
}

/// Writes the figures that belong to no paper.
pub fn figures_of_no_paper(page: &mut String, links: &Links) -> Result<()> {
    let pictures = links.report.pictures;
    let mut of_no_paper = (0..pictures.len()).filter(|f| pictures[*f].source.is_none()).peekable();
    if of_no_paper.peek().is_none() {
        return Ok(());
    }
    put!(page, "<section class=\"paper\"><h2 id=\"figures\">Figures</h2>");
    of_no_paper.try_for_each(|f| picture::show(page, links, f))?;
    put!(page, "</section>");
    Ok(())
}

/// Writes the claims of every verdict, and the claims and figures of every subject, as links.
pub fn index(page: &mut String, links: &Links, sections: &[Section]) {
    let checks = links.report.checks;
    if checks.is_empty() {
        return;
    }
    put!(page, "<section id=\"index\"><h2>Index</h2>");
    for kind in VerdictKind::ALL {
        let mut claims = (0..checks.len()).filter(|i| checks[*i].report.verdict == kind).peekable();
        if claims.peek().is_some() {
            put!(page, "<h3>{}</h3>", badge(kind));
            list(page, claims.map(|i| links.to_claim(i)));
        }
    }
    for subject in subjects(sections) {
        put!(page, "<h3 id=\"{}\">{}</h3>", anchor(subject), escape(subject));
        for section in sections.iter().filter(|section| section.subjects.contains(&subject)) {
            put!(page, "<p>{}</p>", links.to_paper(section.paper));
            let claims = section.claims.iter().map(|i| links.to_claim(*i));
            list(page, claims.chain(section.figures.iter().map(|f| links.to_figure(*f))));
        }
    }
    put!(page, "</section>");
}

fn list(page: &mut String, links: impl Iterator<Item = String>) {
    put!(page, "<ul class=\"ids\">{}</ul>", links.map(|link| format!("<li>{link}</li>")).collect::<String>());
}
