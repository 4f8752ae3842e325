//! Anchors of claims and figures, and which figures belong to which claims.

use super::{Checked, Picture, Report};
use std::collections::{BTreeMap, BTreeSet};

/// Anchors of one page, and the pairs of claims and figures that refer to each other.
#[derive(Default)]
pub struct Links {
    claims: Vec<String>,
    figures: Vec<String>,
    /// Pairs (claim, figure) of places in the report.
    pairs: Vec<(usize, usize)>,
}

impl Links {
    /// Finds the links of a report.
    pub fn of(report: &Report) -> Self {
        let claims = report.checks.iter().map(|c| c.report.claim.clone());
        let figures = report.pictures.iter().map(|p| format!("figure-{}", p.figure.name));
        let mut pairs = vec![];
        for (f, picture) in report.pictures.iter().enumerate() {
            for (c, checked) in report.checks.iter().enumerate() {
                if belongs(picture, checked) {
                    pairs.push((c, f));
                }
            }
        }
        Links { claims: distinct(claims), figures: distinct(figures), pairs }
    }

    /// Returns the anchor of a claim: its id, with a number if the page has it several times.
    pub fn claim(&self, claim: usize) -> &str {
        self.claims.get(claim).map_or("", String::as_str)
    }

    /// Returns the anchor of a figure.
    pub fn figure(&self, figure: usize) -> &str {
        self.figures.get(figure).map_or("", String::as_str)
    }

    /// Iterates over the figures of a claim.
    pub fn figures_of(&self, claim: usize) -> impl Iterator<Item = usize> {
        let of = move |(c, _): &&(usize, usize)| *c == claim;
        self.pairs.iter().filter(of).map(|(_, f)| *f)
    }

    /// Iterates over the claims of a figure.
    pub fn claims_of(&self, figure: usize) -> impl Iterator<Item = usize> {
        let of = move |(_, f): &&(usize, usize)| *f == figure;
        self.pairs.iter().filter(of).map(|(c, _)| *c)
    }
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

/// Words that name the items of a paper, in the singular, and what they are written as.
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
    let mut found = BTreeSet::new();
    let mut kind = None;
    for word in place.split([' ', ',', ';']).filter(|w| !w.is_empty()) {
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = plain.to_lowercase();
        let one = lower.strip_suffix('s').unwrap_or(&lower);
        let number = |w: &str| w.chars().any(|c| c.is_ascii_digit());
        match (kind, ITEMS.iter().find(|(name, _)| *name == one)) {
            (_, Some((_, item))) => kind = Some(*item),
            (Some(item), None) if number(plain) => {
                found.insert(format!("{item} {plain}"));
            }
            (_, None) if ["and", "to"].contains(&lower.as_str()) => {}
            (_, None) => kind = None,
        }
    }
    let part = place.split([',', ';']).next().unwrap_or_default().trim();
    if found.is_empty() && !part.is_empty() {
        found.insert(part.to_lowercase());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_items_are_found() {
        let of = |place: &str| items(place).into_iter().collect::<Vec<_>>();
        assert_eq!(of("Theorem 4, Eqs. (6), (7) and (88)"), ["equation 6", "equation 7", "equation 88", "theorem 4"]);
        assert_eq!(of("Fig. 6 and Section F.4"), ["figure 6", "section F.4"]);
        assert_eq!(of("Theorem 1 (3), after 40 pages"), ["theorem 1", "theorem 3"]);
        assert_eq!(of("first theorem, initial weights"), ["first theorem"]);
        assert!(items("").is_empty());
    }

    #[test]
    fn repeated_names_are_numbered() {
        let names = ["a.b", "c", "a.b", "a.b"].map(String::from);
        assert_eq!(distinct(names.into_iter()), ["a.b", "c", "a.b-2", "a.b-3"]);
    }
}
