//! Reasons of verdicts, told apart by their words and not by their numbers.

use super::findings::texts;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Returns the reason that most places have; of several, the first in the alphabet. Reasons that differ in numbers alone
/// are the same.
pub(super) fn commonest(places: &[&Map<String, Value>]) -> Option<String> {
    let mut counts: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for data in places {
        // The first reason of each kind.
        let reasons = texts(data, "reasons").into_iter().rev();
        let by_kind: BTreeMap<String, &str> = reasons.map(|reason| (kind(reason), reason)).collect();
        for (kind, reason) in by_kind {
            let (count, common) = counts.entry(kind).or_insert_with(|| (0, reason.to_string()));
            *count += 1;
            *common = without_differences(common, reason);
        }
    }
    let most = counts.values().map(|(count, _)| *count).max()?;
    let (count, reason) = counts.into_values().find(|(count, _)| *count == most)?;
    Some(if count == 1 { reason } else { without_p_value(&reason).to_string() })
}

/// A reason with ".." for the words in which another of its kind differs.
fn without_differences(reason: &str, other: &str) -> String {
    reason.split(' ').zip(other.split(' ')).map(|(a, b)| if a == b { a } else { ".." }).collect::<Vec<_>>().join(" ")
}

/// A reason without the p-values in brackets at its end.
fn without_p_value(reason: &str) -> &str {
    reason.rsplit_once(" (p").map_or(reason, |(before, _)| before)
}

/// A reason with ".." for all of its numbers.
fn kind(reason: &str) -> String {
    let reason = without_p_value(reason);
    let words = reason.split(' ').map(|word| match word.trim_end_matches([',', ':', ';']).parse::<f64>() {
        Ok(_) => word.replace(word.trim_end_matches([',', ':', ';']), ".."),
        Err(_) => word.to_string(),
    });
    words.collect::<Vec<_>>().join(" ")
}
