//! Sheets: the statements of claims in Markdown, which can be corrected without Rust.
//!
//! ```text
//! # toy.fair: A fair coin shows heads half of the time
//!
//! - paper: toy
//! - place: Eq. (1)
//! - kind: law
//! - expected: supported
//!
//! ## Statement
//!
//! $P(H) = 1/2$.
//!
//! ## Mutants
//!
//! - `loaded` {share = 0.6}: $P(H) = 3/5$.
//! - `few` at {tosses = 20}: $P(H) = 1/2$ already after twenty tosses.
//!   > At 20 tosses .4 and .6 have a likelihood ratio of 5.
//! ```
//!
//! A mutant names the fields of the claim's struct in which it differs and, after "at", the parameters at which it
//! is judged, both as TOML; [`variants`](super::variants()) makes the mutants of these. Quoted lines below an entry
//! give the reason of these numbers and are not printed.
//!
//! The entry `draws` names the claim whose random numbers the mutants see, where that is another than the sheet's own.
//! A claim that fails as printed also has the sections "Print" (what the print gets wrong), "Witness"
//! (numbers that the check prints), "Range" (parameters at which it fails), and the entry `class`. The
//! section "Holds" gives the corrected statement; it may occur without the others. The section "Tolerance"
//! gives the error budget of the tolerance, or the reason of the band, within which the check judges. The section
//! "Checked at" gives [settings](CheckedAt) with the verdict there.

use super::{CheckedAt, Paper, VerdictKind};
use attnlab_core::error::{Error, Result};
use attnlab_core::named;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// Source of a statement: paper and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The paper.
    pub paper: &'static Paper,
    /// Place in the paper: "Theorem 1, Eq. (8)".
    pub place: &'static str,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.paper.cite(), self.place)
    }
}

/// Kind of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// "With probability at least q".
    Probability,
    /// Two things are equal.
    Identity,
    /// One thing is at most another.
    Bound,
    /// Something exists.
    Existence,
    /// A quantity has a predicted value or distribution.
    Law,
}

named!(Kind, "kind": Probability = "probability", Identity = "identity", Bound = "bound", Existence = "existence",
    Law = "law");

/// Class of a printed statement that is wrong, meaningless or misprinted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discrepancy {
    /// It says something definite that does not hold.
    FalseAsStated,
    /// It does not hold in the reading that the sheet states; another reading may.
    FalseAsRead,
    /// It holds under a hypothesis that is not printed.
    MissingHypothesis,
    /// A symbol or sign is wrong, and the proof or the use has the right one.
    Misprint,
    /// The caption of a figure and the authors' code differ.
    CaptionAgainstCode,
    /// It promises nothing.
    Vacuous,
}

named!(Discrepancy, "class": FalseAsStated = "false as stated", FalseAsRead = "false as read",
    MissingHypothesis = "missing hypothesis", Misprint = "misprint",
    CaptionAgainstCode = "caption against code", Vacuous = "vacuous");

/// Mutant as the sheet describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Fields of the claim's struct that differ from the claim.
    pub constants: Map<String, Value>,
    /// Parameters at which it is judged.
    pub set: Map<String, Value>,
    /// Its sentence.
    pub says: String,
}

/// Statement of a claim, its source, and the expected verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Identifier, "paper.name".
    pub id: String,
    /// One line for lists.
    pub title: String,
    /// The paper.
    pub paper: &'static Paper,
    /// Place in the paper: "Theorem 1, Eq. (8)"; for a statement of our own, that of the statement it
    /// corrects.
    pub place: String,
    /// Kind of the statement.
    pub kind: Kind,
    /// Expected verdict inside the hypotheses.
    pub expected: VerdictKind,
    /// Flag: the statement is our own, a corrected form or one that the paper does not print.
    pub own: bool,
    /// Id of the claim whose draws the mutants see, where it is another: that of the corrected form, so that a mutant
    /// of both is judged once.
    pub draws: Option<String>,
    /// The statement as printed, or our own; TeX between dollar signs.
    pub statement: String,
    /// Corrected statement, where the printed one fails or is loose, with the reason.
    pub holds: Option<String>,
    /// Class of the discrepancy, if there is one.
    pub class: Option<Discrepancy>,
    /// Description of the error in print.
    pub print: Option<String>,
    /// Evidence for the error: numbers that the check prints.
    pub witness: Option<String>,
    /// Parameters at which the statement fails, and at which it holds.
    pub range: Option<String>,
    /// Section "Checked at", an entry a line; [`Sheet::checked`] reads it. A command, which reads every sheet, does not.
    pub checked_at: String,
    /// Reason of the tolerance or band within which it is judged.
    pub tolerance: Option<String>,
    /// The mutants.
    pub mutants: Vec<Variant>,
}

impl Sheet {
    /// Reads a sheet; `papers` are those of the package.
    ///
    /// # Errors
    /// Names the line or the field that is missing or wrong, but for lines under "Checked at" ([`Sheet::checked`]).
    ///
    /// ```
    /// use attnlab_lab::claim::{Paper, Sheet};
    /// static PAPERS: [Paper; 1] = [Paper {
    ///     key: "toy", title: "On coins", authors: "A. Toss", venue: "", year: 2026, link: "",
    /// }];
    /// let text = "# toy.fair: A coin is fair\n- paper: toy\n- place: Eq. (1)\n- kind: law\n\
    ///             - expected: supported\n## Statement\n$P(H) = 1/2$.\n## Mutants\n- `loaded`: $P(H) = 3/5$.";
    /// let sheet = Sheet::parse(text, &PAPERS)?;
    /// assert_eq!((sheet.id.as_str(), sheet.mutant("loaded")), ("toy.fair", "$P(H) = 3/5$."));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn parse(text: &str, papers: &'static [Paper]) -> Result<Sheet> {
        let (heading, rest) = text.split_once('\n').unwrap_or((text, ""));
        let Some((id, title)) = heading.strip_prefix("# ").and_then(|h| h.split_once(": ")) else {
            return Err(wrong("?", "the first line must be \"# paper.name: title\"".into()));
        };
        Sheet::read(id.trim(), title.trim(), rest, papers).map_err(|problem| wrong(id.trim(), problem.to_string()))
    }

    /// Reads what follows the heading.
    fn read(id: &str, title: &str, text: &str, papers: &'static [Paper]) -> Result<Sheet, Box<dyn std::error::Error>> {
        let mut fields: Vec<(&str, &str)> = vec![];
        let mut sections: Vec<(&str, String)> = vec![];
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("## ") {
                sections.push((name.trim(), String::new()));
            } else if let Some((name, text)) = sections.last_mut() {
                add(text, line, ["Mutants", "Checked at"].contains(name));
            } else if let Some(field) = line.strip_prefix("- ") {
                let pair = field.split_once(": ").ok_or_else(|| format!("{line}: must be \"- name: value\""))?;
                fields.push((pair.0.trim(), pair.1.trim()));
            } else if !line.trim().is_empty() {
                return Err(format!("{line}: must be \"- name: value\" before the first section").into());
            }
        }
        let field = |name: &str| fields.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        let needed = |name: &str| field(name).ok_or_else(|| format!("- {name}: is missing"));
        let section = |name: &str| {
            // The empty line before the next heading separates no paragraphs.
            let text = sections.iter().find(|(n, _)| *n == name).map(|(_, text)| text.trim_end().to_string());
            text.filter(|text| !text.is_empty())
        };
        fields.iter().try_for_each(|(name, _)| known("field", name, &FIELDS))?;
        sections.iter().try_for_each(|(name, _)| known("section", name, &SECTIONS))?;
        let paper = needed("paper")?;
        let unknown = || Error::unknown("paper", paper, papers.iter().map(|p| p.key));
        let paper = papers.iter().find(|p| p.key == paper).ok_or_else(unknown)?;
        let class = field("class").map(Discrepancy::parse).transpose()?;
        let kind = Kind::parse(needed("kind")?)?;
        let expected = VerdictKind::parse(needed("expected")?)?;
        let own = match field("own") {
            None | Some("no") => false,
            Some("yes") => true,
            Some(other) => return Err(format!("own = {other}: must be yes or no").into()),
        };
        let statement = section("Statement").ok_or("## Statement is missing")?;
        let mutants = mutants(&section("Mutants").unwrap_or_default())?;
        Ok(Sheet {
            place: needed("place")?.to_string(),
            holds: section("Holds"),
            print: section("Print"),
            witness: section("Witness"),
            range: section("Range"),
            tolerance: section("Tolerance"),
            checked_at: section("Checked at").unwrap_or_default(),
            draws: field("draws").map(str::to_string),
            id: id.to_string(),
            title: title.to_string(),
            paper,
            class,
            kind,
            expected,
            own,
            statement,
            mutants,
        })
    }

    /// Paper and place in one line.
    pub fn source(&self) -> String {
        format!("{}, {}", self.paper.cite(), self.place)
    }

    /// Returns the part of the id before the dot, which the claims of a room share.
    pub fn family(&self) -> &str {
        self.id.split('.').next().unwrap_or_default()
    }

    /// Returns the sentence of a mutant; empty where the sheet has none of this name, which
    /// [`Room::validate`](crate::catalogue::Room::validate) refuses.
    pub fn mutant(&self, name: &str) -> &str {
        self.mutants.iter().find(|variant| variant.name == name).map_or("", |variant| &variant.says)
    }

    /// Returns the settings of the section "Checked at", with the verdict there.
    ///
    /// # Errors
    /// Names the line that is wrong. [`Room::validate`](crate::catalogue::Room::validate) finds it.
    pub fn checked(&self) -> Result<Vec<CheckedAt>> {
        CheckedAt::read(&self.checked_at).map_err(|problem| self.wrong(problem))
    }

    /// Builds an error in this sheet.
    pub fn wrong(&self, problem: String) -> Error {
        wrong(&self.id, problem)
    }
}

const FIELDS: [&str; 7] = ["paper", "place", "kind", "expected", "class", "own", "draws"];
const SECTIONS: [&str; 8] = ["Statement", "Tolerance", "Print", "Witness", "Range", "Holds", "Checked at", "Mutants"];

/// Builds an error in the sheet `id`.
fn wrong(id: &str, problem: String) -> Error {
    Error::Content { path: Path::new("sheets").join(format!("{id}.md")), problem }
}

/// Adds a line to a section: the lines of a paragraph are joined, an empty line separates paragraphs,
/// and in lists every entry keeps a line of its own and quoted lines are comments.
fn add(text: &mut String, line: &str, list: bool) {
    let line = line.trim();
    if line.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        return;
    }
    if list && line.starts_with('>') {
        return;
    }
    if list && line.starts_with("- ") && !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push(' ');
    }
    text.push_str(line);
}

/// Returns the entries "- `name` {field = value} at {parameter = value}: sentence"; either table may be missing.
fn mutants(text: &str) -> Result<Vec<Variant>, String> {
    let entry = |line: &str| {
        let wrong = || format!("{line}: must be \"- `name`: sentence\" or \"- `name` {{field = value}}: sentence\"");
        let (name, rest) = line.strip_prefix("- `").and_then(|l| l.split_once('`')).ok_or_else(wrong)?;
        let (constants, rest) = table(" {", rest)?;
        let (set, rest) = table(" at {", rest)?;
        let says = rest.strip_prefix(": ").ok_or_else(wrong)?.trim().to_string();
        Ok(Variant { name: name.to_string(), constants, set, says })
    };
    text.lines().filter(|l| !l.is_empty()).map(entry).collect()
}

/// Reads the TOML table at the start of `text`, and returns what follows; an empty table where it is missing.
fn table<'a>(opening: &str, text: &'a str) -> Result<(Map<String, Value>, &'a str), String> {
    let Some((entries, rest)) = text.strip_prefix(opening).and_then(|t| t.split_once('}')) else {
        return Ok((Map::new(), text));
    };
    let entries = format!("{{{entries}}}");
    let value = toml::de::ValueDeserializer::parse(&entries).and_then(Map::deserialize);
    value.map(|table| (table, rest)).map_err(|e| format!("{entries}: {}", e.message()))
}

fn known(what: &'static str, name: &str, names: &[&'static str]) -> Result<()> {
    if names.contains(&name) { Ok(()) } else { Err(Error::unknown(what, name, names.iter().copied())) }
}

/// The sheet `sheets/ID.md` of the package, read at compile time. The package must have
/// `pub static PAPERS: &[Paper]` at its root.
///
/// # Panics
/// On first use, when the file is not a sheet; the message names the file and the line. The test that a
/// package runs over its [`Room`](crate::catalogue::Room) finds it.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "the papers of the calling package")]
macro_rules! sheet {
    ($id:literal) => {{
        static SHEET: std::sync::LazyLock<$crate::claim::Sheet> = std::sync::LazyLock::new(|| {
            let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sheets/", $id, ".md"));
            match $crate::claim::Sheet::parse(text, crate::PAPERS) {
                Ok(sheet) if sheet.id == $id => sheet,
                Ok(sheet) => panic!("sheets/{}.md is headed {}", $id, sheet.id),
                Err(error) => panic!("{error}"),
            }
        });
        &*SHEET
    }};
}

/// Defines the methods of a [`Claim`](crate::claim::Claim) that its sheet answers, inside the `impl`: `sheet` and
/// `mutants`, and the numbers of trials where they are the same at every setting.
///
/// - `from_sheet!("paper.name")`: the sheet `sheets/paper.name.md`, with the mutants whose constants it gives;
/// - `from_sheet!("paper.name", trials = 12, least_trials = 8)`: also `default_trials` and `least_trials`;
/// - `from_sheet!(self, EXPRESSION)`: the sheet by the fields of the claim, such as a printed and a corrected form.
#[macro_export]
macro_rules! from_sheet {
    ($id:literal $(, $key:ident = $number:expr)* $(,)?) => {
        $crate::from_sheet!(self, $crate::sheet!($id) $(, $key = $number)*);
    };
    ($this:ident, $sheet:expr $(, trials = $trials:expr)? $(, least_trials = $least:expr)? $(,)?) => {
        fn sheet(&$this) -> &'static $crate::claim::Sheet {
            $sheet
        }

        fn mutants(&self) -> Vec<$crate::claim::Mutant> {
            $crate::claim::variants(self)
        }

        $(fn default_trials(&self, _: &$crate::claim::Params) -> u64 {
            $trials
        })?

        $(fn least_trials(&self, _: &$crate::claim::Params) -> u64 {
            $least
        })?
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    static PAPERS: &[Paper] =
        &[Paper { key: "toy", title: "On coins", authors: "A. Toss", venue: "2026", year: 2026, link: "" }];

    const TEXT: &str = "\
# toy.fair: A coin is fair

- paper: toy
- place: Eq. (1)
- kind: law
- expected: refuted
- class: false as read

## Statement

Each side of a coin
shows half of the time.

A second paragraph.

## Holds

$P(H) = p$.

## Checked at

- each of `{ heads = [0.5,
  0.52] }`: supported
- `{ heads = 0.6 }`: refuted

## Mutants

- `loaded`: $P(H)$ is
  $3/5$.
- `edge` {edges = 1, side = 'heads'} at {tosses = 1, bias = 0.5}: it stands.
  > In one toss of
  > a thousand.
";

    #[test]
    fn paragraphs_are_joined_and_lists_kept() {
        let sheet = Sheet::parse(TEXT, PAPERS).unwrap();
        assert_eq!(sheet.checked().unwrap().len(), 3);
        assert_eq!(sheet.statement, "Each side of a coin shows half of the time.\nA second paragraph.");
        assert_eq!(sheet.mutant("loaded"), "$P(H)$ is $3/5$.");
        let edge = &sheet.mutants[1];
        assert_eq!((edge.name.as_str(), edge.says.as_str()), ("edge", "it stands."));
        assert_eq!(Value::Object(edge.constants.clone()), json!({ "edges": 1, "side": "heads" }));
        assert_eq!(Value::Object(edge.set.clone()).to_string(), r#"{"tosses":1,"bias":0.5}"#);
        assert_eq!(sheet.source(), "On coins (2026), Eq. (1)");
        assert_eq!(sheet.class.map(Discrepancy::name), Some("false as read"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, problem) in [
            ("- paper: toy", "- paper: toi", "unknown paper 'toi'; did you mean toy?"),
            ("- kind: law", "- kind: lore", "unknown kind 'lore'"),
            ("- kind: law\n", "", "- kind: is missing"),
            ("0.6 }`: refuted", "0.6 }`: no", "sheets/toy.fair.md: - `{ heads = 0.6 }`: no: unknown verdict 'no'"),
            ("## Statement", "## Statements", "unknown section 'Statements'"),
            ("# toy.fair: A", "toy.fair A", "the first line must be"),
            ("- `loaded`: $P", "- loaded: $P", "must be \"- `name`: sentence\""),
            ("- `loaded`: $P", "- `loaded` {share = 1: $P", "must be \"- `name`: sentence\""),
            ("tosses = 1", "tosses = one", "{tosses = one, bias = 0.5}: "),
            ("expected: refuted", "expected: false", "unknown verdict 'false'"),
        ] {
            let error = Sheet::parse(&TEXT.replace(from, to), PAPERS).and_then(|sheet| sheet.checked()).unwrap_err();
            assert!(error.to_string().contains(problem), "{error}");
        }
    }
}
