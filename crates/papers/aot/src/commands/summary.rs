//! The findings of `attnlab inspect` in one paragraph, from its rows; terminal and page have the same.

use super::findings::{interval, shown};
use crate::experiments::inspect_network::{VARIANT, VARIANTS};
use crate::experiments::inspect_networks::NAME;
use attnlab_core::error::Result;
use attnlab_core::stats::quantile;
use attnlab_lab::run::Row;
use attnlab_lab::run::store::as_number;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

type Data = Map<String, Value>;

/// Words for the places of an inspection, one and several.
type Noun = [&'static str; 2];

/// Summarises inspected arrays.
///
/// # Errors
/// None; the type is that of [`of_networks`].
pub(super) fn of_arrays(rows: &[Row]) -> Result<Vec<String>> {
    let arrays: Vec<&Data> = rows.iter().map(|row| &row.data).collect();
    let mut sentences = of_places(&arrays, ["array", "arrays"]);
    let part = |name: &str| -> Vec<&Data> { arrays.iter().filter_map(|data| within(data, name)).collect() };
    for (name, words) in
        [("permuted", "with every coordinate permuted"), ("gaussian", "Gaussian with the same second moments")]
    {
        let control = part(name);
        if !control.is_empty() {
            sentences.push(format!(
                "Control, {words}: {}; horizon theta {}.",
                counted(&control),
                span(&control, |data| number(data, "theta_crit"))
            ));
        }
    }
    let labels = part("labels");
    if !labels.is_empty() {
        let theta = span(&labels, |data| number(data, "theta_crit"));
        sentences.push(format!("Control, labels permuted: horizon theta {theta}."));
    }
    Ok(vec![sentences.join(" ")])
}

/// Summarises inspected networks, one paragraph each.
///
/// # Errors
/// Rows of something else.
pub(super) fn of_networks(rows: &[Row]) -> Result<Vec<String>> {
    let mut names: Vec<&str> = vec![];
    for row in rows {
        let name = row.word(NAME).unwrap_or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| of_network(rows, name)).collect()
}

fn of_network(rows: &[Row], name: &str) -> Result<String> {
    let mut variants = vec![];
    for (variant, words) in VARIANTS {
        let mut places: Vec<&Data> = vec![];
        for row in rows.iter().filter(|row| row.word(NAME).unwrap_or_default() == name) {
            if row.word(VARIANT)? == variant {
                places.push(&row.data);
            }
        }
        variants.push((words, places));
    }
    let mut sentences = vec![];
    for (i, (words, places)) in variants.into_iter().enumerate().filter(|(_, (_, places))| !places.is_empty()) {
        match i {
            0 => {
                sentences.extend(of_places(&places, ["place", "places"]));
                sentences.extend(of_heads(&places));
                sentences.extend(of_attention(&places));
            }
            _ => {
                let parts = [Some(counted(&places)), snr_factor(&places), first_token(&places), entropy(&places)];
                let parts: Vec<String> = parts.into_iter().flatten().collect();
                sentences.push(format!("Control, {words}: {}.", parts.join("; ")));
            }
        }
    }
    let text = sentences.join(" ");
    Ok(if name.is_empty() { text } else { format!("{name}: {text}") })
}

fn within<'a>(data: &'a Data, name: &str) -> Option<&'a Data> {
    data.get(name)?.as_object()
}

fn number(data: &Data, name: &str) -> Option<f64> {
    data.get(name).and_then(as_number).filter(|x| !x.is_nan())
}

fn word<'a>(data: &'a Data, name: &str) -> &'a str {
    data.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// "LEAST to LARGEST" of a number of the places that have it.
fn span(places: &[&Data], of: impl Fn(&Data) -> Option<f64>) -> String {
    let values: Vec<f64> = places.iter().filter_map(|data| of(data)).collect();
    range(&values)
}

fn range(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match values {
        [] => "undefined".into(),
        _ if least == largest => shown(least),
        _ => format!("{} to {}", shown(least), shown(largest)),
    }
}

/// "LEAST to LARGEST, median M" of a number; None where no place has it.
fn spread(places: &[&Data], of: impl Fn(&Data) -> Option<f64>) -> Option<String> {
    let values: Vec<f64> = places.iter().filter_map(|data| of(data)).filter(|x| x.is_finite()).collect();
    let first = values.first()?;
    Some(match values.iter().all(|x| x == first) {
        true => shown(*first),
        false => format!("{} (median {})", range(&values), shown(quantile(&values, 0.5))),
    })
}

/// "3 of 31 consistent with Definition 1, 20 not such a mixture, 8 undecided".
fn counted(places: &[&Data]) -> String {
    let of = |verdict: &str| places.iter().filter(|data| word(data, "verdict") == verdict).count();
    format!(
        "{} of {} consistent with Definition 1, {} not such a mixture, {} undecided",
        of("consistent"),
        places.len(),
        of("not-such-a-mixture"),
        of("undecided")
    )
}

/// Sentences that arrays and networks share: verdicts, power, hypotheses, horizon.
fn of_places(places: &[&Data], noun: Noun) -> Vec<String> {
    let mut sentences = vec![format!("{}: {}.", capital(&of_noun(places.len(), noun)), counted(places))];
    for (verdict, words) in [("not-such-a-mixture", "Rejected"), ("undecided", "Undecided")] {
        let judged: Vec<&Data> = places.iter().filter(|data| word(data, "verdict") == verdict).copied().collect();
        if let Some((reason, count)) = commonest_reason(&judged) {
            sentences.push(format!("{words} most often because of: {reason} ({count} of {}).", judged.len()));
        }
    }
    sentences.extend(power(places));
    sentences.extend(hypotheses(places));
    sentences.push(horizon(places));
    sentences
}

fn of_noun(count: usize, [one, several]: Noun) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The reason that most places have, and their number; the first of several. The reasons of two places are the same if
/// they differ in numbers alone.
fn commonest_reason(places: &[&Data]) -> Option<(String, usize)> {
    let mut counts: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for data in places {
        let reasons = data.get("reasons").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let mut own: Vec<(String, String)> = reasons.map(|reason| (kind(reason), reason.to_string())).collect();
        own.dedup_by(|a, b| a.0 == b.0);
        for (kind, reason) in own {
            let known = counts.entry(kind).or_insert_with(|| (0, reason.clone()));
            *known = (known.0 + 1, without_differences(&known.1, &reason));
        }
    }
    let most = counts.values().map(|(count, _)| *count).max()?;
    let (count, reason) = counts.into_values().find(|(count, _)| *count == most)?;
    Some((if count == 1 { reason } else { without_p_value(&reason).to_string() }, count))
}

/// A reason with ".." for the words in which another of its kind differs.
fn without_differences(reason: &str, other: &str) -> String {
    let words = reason.split(' ').zip(other.split(' ')).map(|(a, b)| if a == b { a } else { ".." });
    words.collect::<Vec<_>>().join(" ")
}

/// What stands in brackets at the end of a reason are p-values.
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

/// Share of true mixtures that the test would have called consistent, where the rows have it: those of the fit and, for a
/// network, those of the sizes of its heads.
fn power(places: &[&Data]) -> Option<String> {
    let of = |name: &'static str| {
        let known: Vec<(&Data, f64)> = places.iter().filter_map(|data| Some((*data, number(data, name)?))).collect();
        let (least, _) = known.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let shares: Vec<f64> = known.iter().map(|known| known.1).collect();
        let least = interval(least, name);
        let equal = shares.iter().all(|share| *share == shares[0]);
        Some(if equal { least } else { format!("{}, least {least}", range(&shares)) })
    };
    let of_heads = of("power_heads").map(|heads| format!("of the sizes of the heads {heads}"));
    let shares: Vec<String> = of("power").into_iter().chain(of_heads).collect();
    let shares = (!shares.is_empty()).then(|| shares.join("; "))?;
    Some(format!("Power, the share of true mixtures of these sizes that would be called consistent: {shares}."))
}

/// Range of the horizon, and the subspaces that it is of where the rows say so.
fn horizon(places: &[&Data]) -> String {
    let theta = span(places, |data| number(data, "theta_crit"));
    let updates = span(places, |data| number(data, "exact_updates"));
    let mut of: Vec<(&str, usize)> = vec![];
    for subspaces in places.iter().map(|data| word(data, "horizon_of")).filter(|word| !word.is_empty()) {
        match of.iter_mut().find(|(known, _)| *known == subspaces) {
            Some((_, count)) => *count += 1,
            None => of.push((subspaces, 1)),
        }
    }
    let of: Vec<String> = of.into_iter().map(|(words, count)| format!("; of {words} at {count}")).collect();
    format!("Horizon: theta {theta}, exact updates {updates}{}.", of.concat())
}

/// Numbers of places at which a hypothesis fails, and its margins there.
fn hypotheses(places: &[&Data]) -> Vec<String> {
    // By name: printed form, places that have it, margins where it fails.
    let mut by_name: Vec<(&str, &str, usize, Vec<f64>)> = vec![];
    for data in places {
        for (name, hypothesis) in within(data, "hypotheses").into_iter().flatten() {
            let Some(hypothesis) = hypothesis.as_object() else {
                continue;
            };
            let i = by_name.iter().position(|known| known.0 == name).unwrap_or(by_name.len());
            if i == by_name.len() {
                by_name.push((name, word(hypothesis, "printed"), 0, vec![]));
            }
            by_name[i].2 += 1;
            if hypothesis.get("holds").and_then(Value::as_bool) == Some(false) {
                by_name[i].3.push(number(hypothesis, "margin").unwrap_or(f64::NAN));
            }
        }
    }
    if by_name.is_empty() {
        return vec![];
    }
    let (hold, fail): (Vec<_>, Vec<_>) = by_name.into_iter().partition(|h| h.3.is_empty());
    let mut sentences = vec![];
    if !fail.is_empty() {
        let failing = fail.iter().map(|(name, printed, count, margins)| {
            format!("{name}, {printed}, at {} of {count} (margin {})", margins.len(), range(margins))
        });
        sentences.push(format!("Hypotheses of Theorem 1 that fail: {}.", failing.collect::<Vec<_>>().join("; ")));
    }
    let holding: Vec<&str> = hold.iter().map(|h| h.0).collect();
    sentences.push(match (&holding[..], sentences.is_empty()) {
        ([], _) => "No hypothesis holds everywhere.".into(),
        (_, true) => "All hypotheses of Theorem 1 hold.".into(),
        (holding, false) => format!("Those that hold everywhere: {}.", holding.join("; ")),
    });
    sentences
}

/// SNR in the subspaces of the heads.
fn of_heads(places: &[&Data]) -> Option<String> {
    let factor = snr_factor(places)?;
    let of = |name: &'static str| spread(places, move |data| number(within(data, "heads")?, name));
    let (before, chance) = (of("all_before")?, of("chance_before")?);
    let beside = of("chance_factor").map_or(String::new(), |factor| format!(", factor {factor}"));
    Some(format!(
        "The SNR in the heads' subspaces is {before} before a block; {factor}; in random subspaces {chance}{beside}."
    ))
}

fn snr_factor(places: &[&Data]) -> Option<String> {
    let factor = spread(places, |data| number(within(data, "heads")?, "factor"))?;
    Some(format!("a block multiplies the SNR in the heads' subspaces by {factor}"))
}

fn of_attention(places: &[&Data]) -> Option<String> {
    Some(format!("{}; {}.", capital(&first_token(places)?), entropy(places)?))
}

fn first_token(places: &[&Data]) -> Option<String> {
    let sink = spread(places, |data| number(within(data, "attention")?, "sink"))?;
    Some(format!("the first token of a window takes a share of {sink} of the attention of the others"))
}

fn entropy(places: &[&Data]) -> Option<String> {
    let of = |name: &'static str| spread(places, move |data| number(within(data, "attention")?, name));
    let (with, without) = (of("entropy")?, of("entropy_without_sink")?);
    Some(format!("entropy of attention {with} nats, without the first token {without}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use attnlab_lab::run::store::Manifest;
    use serde_json::json;

    fn row(parameters: Value, data: Value) -> Row {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let manifest = Manifest::new("t", 0, Map::new());
        Row::new(&manifest, 0, 0, object(parameters), object(data))
    }

    fn judged(verdict: &str, reasons: Value, margin: f64) -> Value {
        json!({
            "verdict": verdict, "reasons": reasons, "theta_crit": 3.0 + margin, "exact_updates": 2,
            "hypotheses": {
                "tokens (11)": {"printed": "N >= M", "holds": margin >= 0.0, "margin": margin},
                "tau": {"printed": "tau > 1/2", "holds": true, "margin": 0.05},
            },
        })
    }

    #[test]
    fn arrays_are_counted_with_reasons_margins_and_horizon() {
        let span = |d: i32| json!([format!("the tokens span {d} dimensions and the subspaces 3")]);
        let rows = [
            row(json!({}), judged("consistent", json!([]), 1.0)),
            row(json!({}), judged("not-such-a-mixture", span(9), -2.0)),
            row(json!({}), judged("not-such-a-mixture", span(12), -0.5)),
            row(json!({}), judged("undecided", json!(["too few tokens"]), -1.0)),
        ];
        let text = of_arrays(&rows).unwrap().join("\n");
        for part in [
            "4 arrays: 1 of 4 consistent with Definition 1, 2 not such a mixture, 1 undecided.",
            "Rejected most often because of: the tokens span .. dimensions and the subspaces 3 (2 of 2).",
            "Undecided most often because of: too few tokens (1 of 1).",
            "tokens (11), N >= M, at 3 of 4 (margin -2 to -0.5).",
            "Those that hold everywhere: tau.",
            "Horizon: theta 1 to 4, exact updates 2.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("Power") && !text.contains("Control"), "{text}");
    }

    #[test]
    fn power_and_controls_are_said_where_the_rows_have_them() {
        let mut data = judged("consistent", json!([]), 1.0);
        let more = json!({
            "power": 0.9, "power_low": 0.8, "power_high": 0.95, "power_heads": 0.5, "horizon_of": "known subspaces",
            "permuted": {"verdict": "not-such-a-mixture", "theta_crit": 1.5}, "labels": {"theta_crit": 1.0},
        });
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut weaker = json!({"power": 0.25, "power_low": 0.125, "power_high": 0.5});
        let text = of_arrays(&[row(json!({}), data.clone())]).unwrap().join("\n");
        for part in [
            "1 array: 1 of 1 consistent",
            "All hypotheses of Theorem 1 hold.",
            "that would be called consistent: 0.9 (0.8 to 0.95); of the sizes of the heads 0.5.",
            "exact updates 2; of known subspaces at 1.",
            "coordinate permuted: 0 of 1 consistent with Definition 1, 1 not such a mixture, 0 undecided; horizon theta \
             1.5.",
            "labels permuted: horizon theta 1.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        weaker.as_object_mut().unwrap().insert("verdict".into(), "undecided".into());
        let text = of_arrays(&[row(json!({}), data), row(json!({}), weaker)]).unwrap().join("\n");
        assert!(text.contains("consistent: 0.25 to 0.9, least 0.25 (0.125 to 0.5); of the sizes"), "{text}");
    }

    #[test]
    fn a_network_has_its_heads_its_first_token_and_its_controls() {
        let place = |variant: &str, place: u32, sink: f64| {
            let mut data = judged("not-such-a-mixture", json!(["test failed: lengths (p = 1.0e-9)"]), -1.0);
            if place > 0 {
                let more = json!({
                    "heads": {"all_before": 0.25, "factor": 1.0 + sink, "chance_before": 0.4, "chance_factor": 1.0},
                    "attention": {"sink": sink, "entropy": 2.0 - sink, "entropy_without_sink": 2.0},
                });
                data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            }
            row(json!({"variant": variant, "place": place}), data)
        };
        let rows = [
            place("trained", 0, 0.0),
            place("trained", 1, 0.25),
            place("trained", 2, 0.75),
            place("untrained", 1, 0.125),
        ];
        let paragraphs = of_networks(&rows).unwrap();
        let text = &paragraphs[0];
        assert_eq!(paragraphs.len(), 1);
        for part in [
            "3 places: 0 of 3 consistent with Definition 1, 3 not such a mixture, 0 undecided.",
            "because of: test failed: lengths (3 of 3).",
            "The SNR in the heads' subspaces is 0.25 before a block; a block multiplies the SNR in the heads' subspaces by \
             1.25 to 1.75 (median 1.5); in random subspaces 0.4, factor 1.",
            "The first token of a window takes a share of 0.25 to 0.75 (median 0.5) of the attention",
            "entropy of attention 1.25 to 1.75 (median 1.5) nats, without the first token 2.",
            "Control, random weights: 0 of 1 consistent",
            "a share of 0.125 of the attention",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let two = rows.map(|r| {
            let mut parameters = r.parameters.clone();
            parameters.insert(NAME.into(), "small".into());
            Row { parameters, ..r }
        });
        assert!(of_networks(&two).unwrap()[0].starts_with("small: 3 places"));
    }
}
