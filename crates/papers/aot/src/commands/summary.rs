//! The findings of `attnlab inspect` in a few sentences, from its rows; terminal and page have the same. The tables of the
//! page say the rest.

use super::findings::{PARTS, interval, is_fitted, shown, table};
use super::reasons::commonest;
use crate::experiments::inspect_network::{VARIANT, VARIANTS};
use crate::experiments::inspect_networks::NAME;
use attnlab_core::stats::quantile;
use attnlab_lab::prelude::*;
use attnlab_lab::report::Table;
use attnlab_lab::run::store::as_number;
use std::collections::BTreeSet;

type Data = Map<String, Value>;

/// Summarises inspected arrays.
pub(super) fn of_arrays(rows: &[Row]) -> Result<Vec<String>> {
    ensure_fitted("arrays", rows)?;
    let arrays: Vec<&Data> = rows.iter().map(|row| &row.data).collect();
    let mut sentences = of_places(&arrays, "array");
    let part = |name: &str| -> Vec<&Data> { arrays.iter().filter_map(|data| within(data, name)).collect() };
    let fitted = |(name, words): &(&str, &str)| {
        let control = part(name);
        (!control.is_empty()).then(|| format!("{words}, {}, theta {}", consistent(&control), theta(&control)))
    };
    let labels = part("labels");
    let labels = (!labels.is_empty()).then(|| format!("labels permuted, theta {}", theta(&labels)));
    let controls: Vec<String> = PARTS[1..].iter().filter_map(fitted).chain(labels).collect();
    sentences.extend(of_controls(&controls));
    Ok(vec![sentences.join(" ")])
}

/// Summarises inspected networks, one paragraph each.
pub(super) fn of_networks(rows: &[Row]) -> Result<Vec<String>> {
    ensure_fitted("places", rows)?;
    let of_network = |(name, [given, controls @ ..]): (&str, Variants)| {
        let mut sentences = of_places(&given, "place");
        sentences.extend(of_blocks(&given));
        let named = controls.iter().zip(&VARIANTS[1..]).filter(|(places, _)| !places.is_empty());
        let controls = named.map(|(places, (_, words))| format!("{words}, {}", consistent(places)));
        sentences.extend(of_controls(&controls.collect::<Vec<_>>()));
        let text = sentences.join(" ");
        if name.is_empty() { text } else { format!("{name}: {text}") }
    };
    Ok(by_network(rows)?.into_iter().map(of_network).collect())
}

/// Refuses rows of which none has a fit, with the reason of the first.
fn ensure_fitted(name: &str, rows: &[Row]) -> Result<()> {
    match rows.first() {
        Some(first) if !rows.iter().any(|row| is_fitted(&row.data)) => {
            let reason = commonest(&[&first.data]).unwrap_or_default();
            Err(Error::invalid(name, rows.len(), format!("at least one must be fitted; the first says: {reason}")))
        }
        _ => Ok(()),
    }
}

/// Ranges over places: header of the column, part of the rows, number in it.
const RANGES: [(&str, &str, &str); 7] = [
    ("SNR before", "heads", "all_before"),
    ("factor", "heads", "factor"),
    ("random: before", "heads", "chance_before"),
    ("random: factor", "heads", "chance_factor"),
    ("first token", "attention", "sink"),
    ("entropy", "attention", "entropy"),
    ("without the first token", "attention", "entropy_without_sink"),
];

/// The table of what the sentences on networks leave out: ranges over the places of every variant.
pub(super) fn table_of_networks(rows: &[Row]) -> Result<Table> {
    let mut lines = vec![];
    for (name, variants) in by_network(rows)? {
        for (places, (_, words)) in variants.iter().zip(VARIANTS).filter(|(places, _)| !places.is_empty()) {
            let named = [name.to_string(), words.to_string(), counted(places), theta(places)];
            let range = |(_, part, name): (&str, &str, &str)| {
                spread(places, |data| number(within(data, part)?, name)).unwrap_or("-".into())
            };
            lines.push([&named[..], &RANGES.map(range)].concat());
        }
    }
    Ok(table(
        "All places together",
        "Least to largest value over places, and the median; the tables below have every place and say what the columns are.",
        &["", "network", "verdicts", "theta"].into_iter().chain(RANGES.map(|range| range.0)).collect::<Vec<_>>(),
        lines,
    ))
}

/// Places of every variant, in the order of [`VARIANTS`].
type Variants<'a> = [Vec<&'a Data>; VARIANTS.len()];

/// The rows of every network under its name; a single network has none.
fn by_network(rows: &[Row]) -> Result<Vec<(&str, Variants<'_>)>> {
    let mut networks: Vec<(&str, Variants)> = vec![];
    for row in rows {
        let name = row.word(NAME).unwrap_or_default();
        let i = networks.iter().position(|network| network.0 == name).unwrap_or(networks.len());
        if i == networks.len() {
            networks.push((name, Variants::default()));
        }
        let variant = row.word(VARIANT)?;
        if let Some(known) = VARIANTS.iter().position(|(name, _)| *name == variant) {
            networks[i].1[known].push(&row.data);
        }
    }
    Ok(networks)
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
    range(&places.iter().filter_map(|data| of(data)).collect::<Vec<_>>())
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

/// "3 of 31 consistent with Definition 1, 20 not such a mixture (most often: REASON), 8 undecided (most often: REASON)".
fn counted(places: &[&Data]) -> String {
    let of = |verdict: &str, words: &str| {
        let judged = judged(places, verdict);
        let reason = commonest(&judged).map_or(String::new(), |reason| format!(" (most often: {reason})"));
        format!("{} {words}{reason}", judged.len())
    };
    let (rejected, undecided) = (of("not-such-a-mixture", "not such a mixture"), of("undecided", "undecided"));
    format!("{} with Definition 1, {rejected}, {undecided}", consistent(places))
}

/// "3 of 31 consistent".
fn consistent(places: &[&Data]) -> String {
    format!("{} of {} consistent", judged(places, "consistent").len(), places.len())
}

fn judged<'a>(places: &[&'a Data], verdict: &str) -> Vec<&'a Data> {
    places.iter().filter(|data| word(data, "verdict") == verdict).copied().collect()
}

/// Sentences that arrays and networks share: verdicts with their commonest reasons, power, hypotheses, horizon.
fn of_places(places: &[&Data], noun: &str) -> Vec<String> {
    let plural = if places.len() == 1 { "" } else { "s" };
    let mut sentences = vec![format!("{} {noun}{plural}: {}.", places.len(), counted(places))];
    sentences.extend(power(places));
    sentences.extend(hypotheses(places));
    sentences.push(horizon(places));
    sentences
}

/// The sentence on controls, if there are any.
fn of_controls(controls: &[String]) -> Option<String> {
    (!controls.is_empty()).then(|| format!("Controls: {}.", controls.join("; ")))
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
    let named = [("power", "of these sizes"), ("power_heads", "of the sizes of the heads")];
    let shares: Vec<String> =
        named.into_iter().filter_map(|(name, words)| Some(format!("{} {words}", of(name)?))).collect();
    let shares = (!shares.is_empty()).then(|| shares.join("; "))?;
    Some(format!("Power, the share of true mixtures that would be called consistent: {shares}."))
}

/// Range of the horizon, and the subspaces that it is of where they are of one kind.
fn horizon(places: &[&Data]) -> String {
    let updates = span(places, |data| number(data, "exact_updates"));
    let kinds: BTreeSet<&str> = places.iter().map(|data| word(data, "horizon_of")).collect();
    let of = match kinds.first() {
        Some(kind) if kinds.len() == 1 && !kind.is_empty() => format!(" of {kind}"),
        _ => String::new(),
    };
    format!("Horizon{of}: theta {}, exact updates {updates}.", theta(places))
}

fn theta(places: &[&Data]) -> String {
    span(places, |data| number(data, "theta_crit"))
}

/// Number of hypotheses that hold everywhere; the others with the number of places at which they fail, and the margins there.
fn hypotheses(places: &[&Data]) -> Option<String> {
    // By name: places that have it, margins where it fails.
    let mut by_name: Vec<(&str, usize, Vec<f64>)> = vec![];
    for (name, hypothesis) in places.iter().filter_map(|data| within(data, "hypotheses")).flatten() {
        let Some(hypothesis) = hypothesis.as_object() else { continue };
        let i = by_name.iter().position(|known| known.0 == name).unwrap_or(by_name.len());
        if i == by_name.len() {
            by_name.push((name, 0, vec![]));
        }
        by_name[i].1 += 1;
        if hypothesis.get("holds").and_then(Value::as_bool) == Some(false) {
            by_name[i].2.push(number(hypothesis, "margin").unwrap_or(f64::NAN));
        }
    }
    let failing = by_name.iter().filter(|(.., margins)| !margins.is_empty());
    let failing: Vec<String> = failing
        .map(|(name, count, margins)| format!("{name} at {} of {count} (margin {})", margins.len(), range(margins)))
        .collect();
    let (count, holding) = (by_name.len(), by_name.len() - failing.len());
    let failing = if failing.is_empty() { String::new() } else { format!("; failing: {}", failing.join(", ")) };
    (count > 0).then(|| format!("{holding} of {count} hypotheses of Theorem 1 hold everywhere{failing}."))
}

/// Effect of a block on the SNR in the subspaces of its heads, and the share of the first token.
fn of_blocks(places: &[&Data]) -> Option<String> {
    let of = |part: &'static str, name: &'static str| spread(places, move |data| number(within(data, part)?, name));
    let beside =
        of("heads", "chance_factor").map_or(String::new(), |chance| format!(", in random subspaces by {chance}"));
    Some(format!(
        "A block multiplies the SNR in the heads' subspaces by {}{beside}; the first token of a window takes a share of {} \
         of the attention of the others.",
        of("heads", "factor")?,
        of("attention", "sink")?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use attnlab_lab::run::store::Manifest;
    use serde_json::json;

    fn row(parameters: Value, data: Value) -> Row {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        Row::new(&Manifest::new("t", 0, Map::new()), 0, 0, object(parameters), object(data))
    }

    fn judged(verdict: &str, reasons: Value, margin: f64) -> Value {
        json!({
            "clusters": 2, "verdict": verdict, "reasons": reasons, "theta_crit": 3.0 + margin, "exact_updates": 2,
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
            "4 arrays: 1 of 4 consistent with Definition 1, 2 not such a mixture (most often: the tokens span .. dimensions \
             and the subspaces 3), 1 undecided (most often: too few tokens).",
            "1 of 2 hypotheses of Theorem 1 hold everywhere; failing: tokens (11) at 3 of 4 (margin -2 to -0.5).",
            "Horizon: theta 1 to 4, exact updates 2.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("Power") && !text.contains("Control"), "{text}");
    }

    #[test]
    fn what_cannot_be_fitted_is_undecided_beside_others_and_an_error_alone() {
        let refused = || row(json!({}), json!({"verdict": "undecided", "reasons": ["clusters = 9: must be less"]}));
        let text = of_arrays(&[refused(), row(json!({}), judged("consistent", json!([]), 1.0))]).unwrap().join("\n");
        let part = "2 arrays: 1 of 2 consistent with Definition 1, 0 not such a mixture, 1 undecided (most often: clusters = 9: must be less).";
        assert!(text.contains(part), "{text}");
        let error = of_arrays(&[refused(), refused()]).unwrap_err().to_string();
        assert_eq!(error, "arrays = 2: at least one must be fitted; the first says: clusters = 9: must be less");
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
            "2 of 2 hypotheses of Theorem 1 hold everywhere.",
            "that would be called consistent: 0.9 (0.8 to 0.95) of these sizes; 0.5 of the sizes of the heads.",
            "Horizon of known subspaces: theta 4, exact updates 2.",
            "Controls: coordinates permuted, 0 of 1 consistent, theta 1.5; labels permuted, theta 1.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        weaker.as_object_mut().unwrap().insert("verdict".into(), "undecided".into());
        let text = of_arrays(&[row(json!({}), data), row(json!({}), weaker)]).unwrap().join("\n");
        assert!(text.contains("consistent: 0.25 to 0.9, least 0.25 (0.125 to 0.5) of these sizes"), "{text}");
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
            "3 places: 0 of 3 consistent with Definition 1, 3 not such a mixture (most often: test failed: lengths), 0 \
             undecided.",
            "A block multiplies the SNR in the heads' subspaces by 1.25 to 1.75 (median 1.5), in random subspaces by 1; the \
             first token of a window takes a share of 0.25 to 0.75 (median 0.5) of the attention of the others.",
            "Controls: random weights, 0 of 1 consistent.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let table = table_of_networks(&rows).unwrap();
        assert_eq!(table.rows.len(), 2);
        assert_eq!(table.rows[0][4..9], ["0.25", "1.25 to 1.75 (median 1.5)", "0.4", "1", "0.25 to 0.75 (median 0.5)"]);
        assert_eq!(table.rows[1][8..], ["0.125", "1.875", "2"]);
        let two = rows.map(|r| {
            let mut parameters = r.parameters.clone();
            parameters.insert(NAME.into(), "small".into());
            Row { parameters, ..r }
        });
        assert!(of_networks(&two).unwrap()[0].starts_with("small: 3 places"));
    }
}
