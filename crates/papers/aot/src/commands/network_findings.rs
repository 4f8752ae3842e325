//! The findings of `attnlab inspect NETWORK` in words, from its rows.

use super::findings::{
    MARGINS, clusters, dims, hypotheses, interval, is_fitted, of_rows, power, shown, table, value, verdict, word,
};
use super::summary;
use crate::experiments::inspect_network::{PLACE, VARIANT, VARIANTS};
use crate::experiments::inspect_networks::NAME;
use crate::experiments::parts::within;
use attnlab_lab::prelude::*;
use attnlab_lab::report::Table;
use attnlab_lab::run::store::as_number;

/// Words for a place and a variant.
fn named(row: &Row) -> Result<[String; 2]> {
    let place = match row.parameter(PLACE).unwrap_or(0.0) {
        0.0 => "embedding".to_string(),
        block => format!("block {block}"),
    };
    let place = row.word(NAME).map_or(place.clone(), |name| format!("{name}, {place}"));
    let variant = row.word(VARIANT)?;
    let words = VARIANTS.iter().find(|(name, _)| *name == variant);
    Ok([place, words.map_or(variant, |(_, words)| *words).to_string()])
}

/// One place of the trained network in lines; other variants are in the tables.
pub(super) fn lines(row: &Row) -> Result<Vec<String>> {
    let data = &row.data;
    let [place, variant] = named(row)?;
    if row.word(VARIANT)? != VARIANTS[0].0 {
        return Ok(vec![]);
    }
    let name = format!("{place}, {variant}: N = {}, d = {}", value(data, "tokens"), value(data, "ambient"));
    let mut lines =
        if is_fitted(data) { of_fit(row, name) } else { vec![name, format!("  mixture      {}", verdict(data))] };
    if let Some(heads) = within(row, "heads") {
        let [before, after, factor] = ["all_before", "all_after", "factor"].map(|name| interval(heads, name));
        lines.push(format!("  heads        SNR {before} before the block, {after} after it, factor {factor}"));
        let [before, after, factor] =
            ["chance_before", "chance_after", "chance_factor"].map(|name| interval(heads, name));
        lines.push(format!("               in random subspaces {before} and {after}, factor {factor}"));
    }
    if let Some(attention) = within(row, "attention") {
        let [entropy, energy, sink, without] =
            ["entropy", "energy", "sink", "entropy_without_sink"].map(|name| interval(attention, name));
        let ceiling = value(attention, "ceiling");
        lines.push(format!("  attention    entropy {entropy} of {ceiling} nats, energy {energy}"));
        lines.push(format!("               first token {sink} of the weight, entropy without it {without}"));
    }
    Ok(lines)
}

/// The lines of a fit, behind the name of its place.
fn of_fit(row: &Row, name: String) -> Vec<String> {
    let data = &row.data;
    let holds = hypotheses(row);
    let failing: Vec<&str> = holds.iter().filter(|h| h[3] != "holds").map(|h| h[0].as_str()).collect();
    let (count, holding) = (holds.len(), holds.len() - failing.len());
    let ends = |name| interval(data, name);
    let [rank, rate, cosine] = ["stable_rank", "coding_rate", "mean_cosine"].map(|name| value(data, name));
    let failing = if failing.is_empty() { "none".into() } else { failing.join(", ") };
    vec![
        name,
        format!("  fit          K = {}, p = {}, delta = {}", clusters(data), dims(data), ends("delta")),
        format!("  mixture      {}", verdict(data)),
        format!("  power        {}", power(data)),
        format!("  hypotheses   {holding} of {count} hold; failing: {failing}"),
        format!(
            "  horizon      theta = {}, of {}; stable rank {rank}, coding rate {rate} nats, mean cosine {cosine}",
            ends("theta_crit"),
            word(data, "horizon_of")
        ),
    ]
}

/// Lists of a block with an entry per head, and of one with an entry per subspace.
const HEADS: [&str; 4] = ["sink_by_head", "entropy_by_head", "entropy_without_sink_by_head", "energy_by_head"];
const SUBSPACES: [&str; 4] = ["counts", "snr_before", "snr_after", "factor_by_head"];

/// Rows of a table: place, number of the head from 1, and its entry of every list in a part of the row, with its interval
/// if it has one.
fn by_head(row: &Row, place: &str, part: &str, lists: &[&str]) -> Vec<Vec<String>> {
    let Some(data) = within(row, part) else { return vec![] };
    let entry = |name: &str, head: usize| data.get(name)?.as_array()?.get(head).and_then(as_number);
    let heads = lists.first().and_then(|name| data.get(*name)?.as_array()).map_or(0, Vec::len);
    let cell = |name: &str, head: usize| {
        let value = entry(name, head).map_or("-".into(), shown);
        let end = |end: &str| entry(&format!("{name}_{end}"), head);
        match end("low").zip(end("high")) {
            Some((low, high)) => format!("{value} ({} to {})", shown(low), shown(high)),
            None => value,
        }
    };
    let row = |head: usize| {
        let named = [place.to_string(), (head + 1).to_string()].into_iter();
        named.chain(lists.iter().map(|name| cell(name, head))).collect()
    };
    (0..heads).map(row).collect()
}

/// The tables of the page.
pub(super) fn tables(rows: &[Row]) -> Result<Vec<Table>> {
    Ok(vec![
        summary::table_of_networks(rows)?,
        table(
            "Mixture of Definition 1",
            "The residual stream at every place, of the network as given, with random weights, and on the same tokens in \
             random order. The test is on tokens that the fit did not see.",
            &["place", "network", "K", "p_k", "delta", "scale", "verdict", "power"],
            of_rows(rows, named, fit)?,
        ),
        table(
            "Hypotheses of Theorem 1",
            MARGINS,
            &["place", "network", "hypothesis", "printed", "margin", ""],
            of_rows(rows, named, |row| hypotheses(row).into_iter().map(Vec::from).collect())?,
        ),
        table(
            "Heads and attention",
            "SNR in the subspaces of the heads (what their values read), tokens labelled by their largest projection \
             before the block, and the factor that the block multiplies it by, with intervals over windows; the same \
             in random subspaces of the same sizes, with intervals over draws; coherence, the largest singular value \
             of U_k^T U_l, 0 in Theorem 1 (random subspaces in brackets).",
            &["place", "network", "SNR before", "SNR after", "factor", "random: before", "random: factor", "coherence"],
            of_rows(rows, named, heads)?,
        ),
        table(
            "Attention and the first token",
            "Share of a query's weight on the first token of its window, mean over the other queries; entropy of the \
             weights, and of those on the other tokens scaled to sum 1; energy. Means over queries and heads with \
             intervals over windows, in nats.",
            &["place", "network", "first token", "entropy", "without the first token", "largest", "energy"],
            of_rows(rows, named, attention)?,
        ),
        table(
            "Attention by head",
            "Of the network as given, with intervals over windows.",
            &["place", "head", "first token", "entropy", "without the first token", "energy"],
            of_trained(rows, |row, place| by_head(row, place, "attention", &HEADS))?,
        ),
        table(
            "SNR by subspace",
            "Of the network as given, with intervals over windows. Heads that share their values share a subspace.",
            &["place", "subspace", "tokens", "SNR before", "SNR after", "factor"],
            of_trained(rows, |row, place| by_head(row, place, "heads", &SUBSPACES))?,
        ),
        table(
            "Horizon and ranks",
            "",
            &["place", "network", "theta", "horizon of", "stable rank", "coding rate", "mean cosine"],
            of_rows(rows, named, measures)?,
        ),
        table(
            "Stable rank of weights",
            "Beside each matrix the same entries in random order.",
            &["place", "matrix", "shape", "stable rank", "entries permuted"],
            of_trained(rows, weights)?,
        ),
    ])
}

/// Lines of a table of the network as given. One table of heads is long enough: the controls' are in the rows.
fn of_trained(rows: &[Row], lines: impl Fn(&Row, &str) -> Vec<Vec<String>>) -> Result<Vec<Vec<String>>> {
    let mut table_lines = vec![];
    for row in rows {
        if row.word(VARIANT)? == VARIANTS[0].0 {
            table_lines.extend(lines(row, &named(row)?[0]));
        }
    }
    Ok(table_lines)
}

fn fit(row: &Row) -> Vec<Vec<String>> {
    let data = &row.data;
    vec![vec![clusters(data), dims(data), interval(data, "delta"), interval(data, "scale"), verdict(data), power(data)]]
}

fn heads(row: &Row) -> Vec<Vec<String>> {
    let cells = |data| {
        let measured = ["all_before", "all_after", "factor", "chance_before", "chance_factor"];
        let coherence = format!("{} ({})", value(data, "coherence"), value(data, "chance_coherence"));
        measured.into_iter().map(|name| interval(data, name)).chain([coherence]).collect()
    };
    within(row, "heads").map(cells).into_iter().collect()
}

fn attention(row: &Row) -> Vec<Vec<String>> {
    let names = ["sink", "entropy", "entropy_without_sink", "ceiling", "energy"];
    let cells = |data| names.iter().map(|name| interval(data, name)).collect();
    within(row, "attention").map(cells).into_iter().collect()
}

fn measures(row: &Row) -> Vec<Vec<String>> {
    let data = &row.data;
    let ranks = ["stable_rank", "coding_rate", "mean_cosine"].map(|name| value(data, name));
    vec![[vec![value(data, "theta_crit"), word(data, "horizon_of").into()], ranks.into()].concat()]
}

fn weights(row: &Row, place: &str) -> Vec<Vec<String>> {
    let matrices = within(row, "weights").into_iter().flatten();
    let line = |(matrix, findings): (&String, &Value)| {
        let findings = findings.as_object()?;
        let shape = format!("{} x {}", value(findings, "rows"), value(findings, "columns"));
        let ranks = ["stable_rank", "permuted"].map(|name| value(findings, name));
        Some([vec![place.to_string(), matrix.clone(), shape], ranks.into()].concat())
    };
    matrices.filter_map(line).collect()
}
