//! Anchors and addresses of claims, figures and papers, and which figures belong to which claims.

use super::{Checked, Picture, Report, escape};
use crate::claim::Paper;
use itertools::iproduct;
use std::collections::{BTreeMap, BTreeSet};

/// Page of a site for the figures of no paper.
pub const FIGURES: &str = "figures.html";

/// A report with its anchors, the addresses of links to them, and the pairs of claims and figures that refer to each other.
pub struct Links<'a> {
    pub report: &'a Report<'a>,
    /// Flag: claims and papers have pages of their own.
    pub site: bool,
    /// Anchor of each claim: its id, with a number if the report has it several times.
    pub claims: Vec<String>,
    /// Anchor of each figure.
    pub figures: Vec<String>,
    /// Pairs (claim, figure) of places in the report.
    pairs: Vec<(usize, usize)>,
}

impl<'a> Links<'a> {
    /// Collects the links of a report on one page.
    pub fn new(report: &'a Report<'a>) -> Self {
        let claims = report.checks.iter().map(|checked| checked.report.claim.clone());
        let figures = report.pictures.iter().map(|picture| format!("figure-{}", picture.figure.name));
        let places = iproduct!(0..report.pictures.len(), 0..report.checks.len());
        let related = places.filter(|(f, c)| belongs(&report.pictures[*f], &report.checks[*c]));
        let pairs = related.map(|(f, c)| (c, f)).collect();
        Links { report, site: false, claims: distinct(claims), figures: distinct(figures), pairs }
    }

    /// Collects the links of a report whose claims and papers have pages of their own.
    pub fn in_site(report: &'a Report<'a>) -> Self {
        Links { site: true, ..Links::new(report) }
    }

    /// Returns the name of the file of a figure's numbers.
    pub fn table(&self, figure: usize) -> String {
        let anchor = &self.figures[figure];
        format!("{}.csv", anchor.strip_prefix("figure-").unwrap_or(anchor))
    }

    pub fn claim_address(&self, claim: usize) -> String {
        let anchor = &self.claims[claim];
        if self.site { format!("{anchor}.html") } else { format!("#{anchor}") }
    }

    pub fn paper_address(&self, paper: &Paper) -> String {
        if self.site { format!("paper-{}.html", paper.key) } else { format!("#paper-{}", paper.key) }
    }

    pub fn to_claim(&self, claim: usize) -> String {
        link(&self.claim_address(claim), &self.report.checks[claim].report.claim)
    }

    pub fn to_figure(&self, figure: usize) -> String {
        let (picture, anchor) = (&self.report.pictures[figure], &self.figures[figure]);
        let page = match picture.source {
            _ if !self.site => String::new(),
            Some(source) => self.paper_address(source.paper),
            None => FIGURES.to_string(),
        };
        link(&format!("{page}#{anchor}"), &picture.figure.name)
    }

    pub fn to_paper(&self, paper: &Paper) -> String {
        link(&self.paper_address(paper), &paper.cite())
    }

    /// Writes a link to the figures of a paper.
    pub fn to_figures(&self, paper: &Paper, words: &str) -> String {
        let page = if self.site { self.paper_address(paper) } else { String::new() };
        link(&format!("{page}#figures-{}", paper.key), words)
    }

    pub fn figures_of(&self, claim: usize) -> impl Iterator<Item = usize> {
        self.pairs.iter().filter(move |(c, _)| *c == claim).map(|(_, f)| *f)
    }

    pub fn claims_of(&self, figure: usize) -> impl Iterator<Item = usize> {
        self.pairs.iter().filter(move |(_, f)| *f == figure).map(|(c, _)| *c)
    }
}

fn link(address: &str, words: &str) -> String {
    format!("<a href=\"{}\">{}</a>", escape(address), escape(words))
}

/// Makes names distinct: the second of a name gets the suffix `-2`, and so on.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let numbered = |name: String| {
        let count = counts.entry(name.clone()).or_insert(0);
        *count += 1;
        match *count {
            1 => name,
            n => format!("{name}-{n}"),
        }
    };
    names.map(numbered).collect()
}

/// Decides whether a figure belongs to a claim: it maps the claim, or both name the same numbered item of the
/// same paper, such as Theorem 1 or Eq. (8).
fn belongs(picture: &Picture, checked: &Checked) -> bool {
    if let Some(id) = &picture.claim {
        return *id == checked.report.claim;
    }
    let sheet = checked.claim.sheet();
    picture
        .source
        .is_some_and(|source| source.paper == sheet.paper && !items(source.place).is_disjoint(&items(&sheet.place)))
}

/// Words that name the items of a paper, in the singular, and the item that each names.
const ITEMS: [(&str, &str); 10] = [
    ("theorem", "theorem"),
    ("lemma", "lemma"),
    ("proposition", "proposition"),
    ("corollary", "corollary"),
    ("definition", "definition"),
    ("figure", "figure"),
    ("fig", "figure"),
    ("table", "table"),
    ("eq", "equation"),
    ("section", "section"),
];

/// Returns the numbered items that a place names: "Theorem 1, Eqs. (7), (8)" has theorem 1 and equations 7 and 8.
/// Where it names none, its first part is the item.
fn items(place: &str) -> BTreeSet<String> {
    let mut items = BTreeSet::new();
    let mut kind = None;
    for word in place.split([' ', ',', ';']).filter(|word| !word.is_empty()) {
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = plain.to_lowercase();
        let singular = lower.strip_suffix('s').unwrap_or(&lower);
        let numbered = plain.chars().any(|c| c.is_ascii_digit());
        match (kind, ITEMS.iter().find(|(name, _)| *name == singular)) {
            (_, Some((_, item))) => kind = Some(*item),
            (Some(item), None) if numbered => {
                items.insert(format!("{item} {plain}"));
            }
            (_, None) if ["and", "to"].contains(&lower.as_str()) => {}
            (_, None) => kind = None,
        }
    }
    let part = place.split([',', ';']).next().unwrap_or_default().trim();
    if items.is_empty() && !part.is_empty() {
        items.insert(part.to_lowercase());
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_items_are_found() {
        let listed = |place: &str| items(place).into_iter().collect::<Vec<_>>();
        let expected = ["equation 6", "equation 7", "equation 88", "theorem 4"];
        assert_eq!(listed("Theorem 4, Eqs. (6), (7) and (88)"), expected);
        assert_eq!(listed("Fig. 6 and Section F.4"), ["figure 6", "section F.4"]);
        assert_eq!(listed("first theorem, initial weights"), ["first theorem"]);
        assert!(items("").is_empty());
    }

    #[test]
    fn repeated_names_are_numbered() {
        let names = ["a.b", "c", "a.b", "a.b"].map(String::from);
        assert_eq!(distinct(names.into_iter()), ["a.b", "c", "a.b-2", "a.b-3"]);
    }
}
