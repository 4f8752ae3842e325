//! The glossary: every quantity with its symbols, every verdict word and every term with its definition.

use crate::catalogue::Catalogue;
use crate::claim::VerdictKind;
use attnlab_core::params::Spec;
use serde::Serialize;
use std::collections::BTreeMap;

/// Terms of the laboratory that are not verdict words; a room adds its own with
/// [`Room::terms`](crate::catalogue::Room::terms).
pub const TERMS: [(&str, &str); 16] = [
    ("claim", "a printed statement, or a corrected form of one, that a simulation can support or refute"),
    ("trial", "one independent simulation: a pure function of seed, claim, parameters and trial index"),
    (
        "mutant",
        "a false variant of a claim: the same trial with other constants. It must come back refuted, or \
         the check could not fail",
    ),
    ("power", "the share of seeds under which a check refutes a mutant"),
    ("witness", "the named values of a trial that show why a statement fails (or what was seen where it holds)"),
    ("hypothesis", "an assumption of a statement, evaluated at the parameters of a check"),
    (
        "margin",
        "the signed distance of a hypothesis to its boundary, in the units of its printed form; negative \
         where it fails",
    ),
    (
        "promise",
        "what a statement says about the outcomes of its trials: always, with at least this probability, \
         or a mean in an interval",
    ),
    (
        "p-value",
        "of a verdict: the least 1 - level at which the same trials decide. Adjusted (Holm): for all sampled \
         checks of one table, inconclusive ones too",
    ),
    (
        "uninformative",
        "of a trial: it says nothing about the statement, since nothing moved, there is no critical point, \
         or a computation failed. It is counted and shown, and never for or against the statement",
    ),
    ("reach", "the smallest deviation from the statement that the trials of a check could have seen"),
    (
        "tolerance",
        "the rounding error, by an error budget, or the band, for a stated reason, within which a check \
         judges",
    ),
    ("audit", "checks of every claim at settings drawn at random inside its domain"),
    ("bracket", "an interval that contains a computed number with certainty; nothing in it is random"),
    ("anytime-valid", "of an interval: it stays right whatever rule stopped the trials"),
    ("cell", "one combination of parameters of a sweep or an experiment"),
];

/// Name of a quantity with all of its meanings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuantityEntry {
    /// The name after `--set`.
    pub name: String,
    /// Aliases of the name.
    pub aliases: Vec<String>,
    /// Each meaning, with the rooms in which it is used.
    pub meanings: Vec<Meaning>,
}

/// One meaning of a quantity's name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Meaning {
    /// Symbol in the paper; empty where it has none.
    pub symbol: String,
    /// Meaning in words.
    pub meaning: String,
    /// Unit; empty for pure numbers.
    pub unit: String,
    /// Rooms whose claims and closed forms use the name with this meaning.
    pub rooms: Vec<String>,
}

/// Returns every quantity of the claims and closed forms of a catalogue, by name.
///
/// ```
/// use attnlab_lab::catalogue::{Catalogue, Room};
/// use attnlab_lab::{glossary, toy};
/// let room = Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]);
/// let quantities = glossary::quantities(&Catalogue::new().with(room));
/// assert_eq!(quantities[0].name, "heads");
/// assert_eq!(quantities[0].meanings[0].symbol, "p");
/// ```
pub fn quantities(catalogue: &Catalogue) -> Vec<QuantityEntry> {
    let mut entries: BTreeMap<&str, QuantityEntry> = BTreeMap::new();
    for room in catalogue.rooms() {
        let claims = room.claims.iter().flat_map(|c| c.schema());
        let formulas = room.formulas.iter().flat_map(|f| (f.schema)());
        for spec in claims.chain(formulas) {
            let new = || QuantityEntry { name: spec.name.to_string(), aliases: vec![], meanings: vec![] };
            add(entries.entry(spec.name).or_insert_with(new), &spec, room.name);
        }
    }
    entries.into_values().collect()
}

fn add(entry: &mut QuantityEntry, spec: &Spec, room: &str) {
    for alias in spec.aliases {
        if !entry.aliases.iter().any(|a| a == alias) {
            entry.aliases.push(alias.to_string());
        }
    }
    let same = |m: &&mut Meaning| {
        (m.symbol.as_str(), m.meaning.as_str(), m.unit.as_str()) == (spec.symbol, spec.meaning, spec.unit)
    };
    match entry.meanings.iter_mut().find(same) {
        Some(known) if known.rooms.iter().any(|r| r == room) => {}
        Some(known) => known.rooms.push(room.to_string()),
        None => entry.meanings.push(Meaning {
            symbol: spec.symbol.to_string(),
            meaning: spec.meaning.to_string(),
            unit: spec.unit.to_string(),
            rooms: vec![room.to_string()],
        }),
    }
}

/// Returns every verdict word with its definition.
pub fn verdicts() -> Vec<(&'static str, &'static str)> {
    VerdictKind::ALL.map(|verdict| (verdict.name(), verdict.definition())).to_vec()
}

/// Returns every other term, those of the rooms after those of the laboratory.
pub fn terms(catalogue: &Catalogue) -> Vec<(&'static str, &'static str)> {
    TERMS.iter().chain(catalogue.rooms().iter().flat_map(|room| room.terms)).copied().collect()
}
