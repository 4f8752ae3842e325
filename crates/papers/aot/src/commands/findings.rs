//! The findings of `attnlab inspect` in words, from its rows.

use crate::experiments::inspect::ARRAY;
use crate::experiments::parts::within;
use attnlab_core::format::significant;
use attnlab_lab::prelude::*;
use attnlab_lab::report::Table;
use attnlab_lab::run::store::as_number;

/// Digits of a shown number.
const DIGITS: usize = 4;

/// Parts of a row: the array as it is, and its controls.
pub(super) const PARTS: [(&str, &str); 3] =
    [("", "as given"), ("permuted", "coordinates permuted"), ("gaussian", "Gaussian of the same second moments")];

pub(super) fn shown(x: f64) -> String {
    match x.is_nan() {
        true => "undefined".into(),
        false if x.is_infinite() => "infinite".into(),
        false => significant(x, DIGITS),
    }
}

pub(super) fn value(data: &Map<String, Value>, name: &str) -> String {
    data.get(name).and_then(as_number).map_or("-".into(), shown)
}

pub(super) fn word<'a>(data: &'a Map<String, Value>, name: &str) -> &'a str {
    data.get(name).and_then(Value::as_str).unwrap_or("-")
}

/// Texts of a list; none of what is no list.
pub(super) fn texts<'a>(data: &'a Map<String, Value>, name: &str) -> Vec<&'a str> {
    data.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

pub(super) fn list(data: &Map<String, Value>, name: &str) -> String {
    let shown = |values: &Vec<Value>| values.iter().filter_map(as_number).map(shown).collect::<Vec<_>>().join(" ");
    data.get(name).and_then(Value::as_array).map_or("-".into(), shown)
}

pub(super) fn interval(data: &Map<String, Value>, name: &str) -> String {
    let [estimate, low, high] = ["", "_low", "_high"].map(|end| value(data, &format!("{name}{end}")));
    // One window has no interval, nor has a horizon without draws.
    let none = ["-", "undefined"];
    match none.contains(&low.as_str()) && none.contains(&high.as_str()) {
        true => estimate,
        false => format!("{estimate} ({low} to {high})"),
    }
}

pub(super) fn verdict(data: &Map<String, Value>) -> String {
    let word = word(data, "verdict");
    let p = match data.get("p_value").and_then(as_number) {
        Some(p) if p < 1e-300 => "below 1e-300".to_string(),
        _ => value(data, "p_value"),
    };
    let reasons = texts(data, "reasons");
    let word = match word {
        "consistent" => "consistent with Definition 1",
        "not-such-a-mixture" => "not such a mixture",
        other => other,
    };
    if reasons.is_empty() {
        return format!("{word} (p-value {p})");
    }
    format!("{word} (p-value {p}): {}", reasons.join("; "))
}

/// The power behind a verdict, and for a network that against mixtures of the size of its heads.
pub(super) fn power(data: &Map<String, Value>) -> String {
    let of = |name: &str| {
        let mixture = data.get(&format!("{name}_of")).and_then(Value::as_str)?;
        let computed = data.get(&format!("{name}_draws")).and_then(Value::as_u64) == Some(0);
        let share =
            if computed { format!("{}, too few tokens for a test,", value(data, name)) } else { interval(data, name) };
        Some(format!("{share} of true mixtures of {mixture}"))
    };
    let measured: Vec<String> = ["power", "power_heads"].into_iter().filter_map(of).collect();
    if measured.is_empty() { "not measured".into() } else { measured.join("; ") }
}

/// Numbers p_k of the printed fit, to all tokens, and those of the half behind the test where they differ.
pub(super) fn dims(data: &Map<String, Value>) -> String {
    let [all, half] = ["dims", "dims_of_half"].map(|name| list(data, name));
    if all == half { all } else { format!("{all} (fitted to half, for the test: {half})") }
}

/// K, and the numbers that the tokens do not allow, with the reasons.
pub(super) fn clusters(data: &Map<String, Value>) -> String {
    let (impossible, k) = (texts(data, "clusters_impossible"), value(data, "clusters"));
    if impossible.is_empty() { k } else { format!("{k} (not possible: {})", impossible.join("; ")) }
}

/// Returns `true` for a row with a fit; another has the reason why there is none.
pub(super) fn is_fitted(data: &Map<String, Value>) -> bool {
    data.contains_key("clusters")
}

/// A hypothesis: name, printed form, margin with its ends, and whether it holds.
pub(super) fn hypotheses(row: &Row) -> Vec<[String; 4]> {
    let object = row.data.get("hypotheses").and_then(Value::as_object);
    let entry = |(name, h): (&String, &Value)| {
        let h = h.as_object()?;
        let printed = h.get("printed").and_then(Value::as_str)?.to_string();
        let holds = h.get("holds").and_then(Value::as_bool)?;
        let word = if holds { "holds" } else { "fails" };
        Some([name.clone(), printed, interval(h, "margin"), word.into()])
    };
    object.map_or(vec![], |object| object.iter().filter_map(entry).collect())
}

/// One array in lines.
pub(super) fn lines(row: &Row) -> Result<Vec<String>> {
    let data = &row.data;
    let name = format!("{}: N = {}, d = {}", row.word(ARRAY)?, value(data, "tokens"), value(data, "ambient"));
    if !is_fitted(data) {
        return Ok(vec![name, format!("  mixture      {}", verdict(data))]);
    }
    let ends = |name| interval(data, name);
    let mut lines = vec![
        name,
        format!("  fit          K = {}, p = {}, N_k = {}", clusters(data), dims(data), list(data, "counts")),
        format!(
            "               delta = {}, scale = {}, {} labels expected wrong",
            ends("delta"),
            ends("scale"),
            value(data, "wrong_labels")
        ),
        format!("  mixture      {}", verdict(data)),
        format!("  power        {}", power(data)),
    ];
    let hypotheses = hypotheses(row).into_iter();
    lines.extend(
        hypotheses.map(|[name, printed, margin, holds]| format!("  {holds}        {name}: {printed}, margin {margin}")),
    );
    lines.push(format!(
        "  horizon      theta = {}, {} exact updates, of {}; law {} (5, 50, 95 % of draws)",
        ends("theta_crit"),
        ends("exact_updates"),
        word(data, "horizon_of"),
        list(data, "law_theta")
    ));
    lines.push(format!("  SNR          {}; law {}", list(data, "snr"), list(data, "snr_law")));
    for (name, words) in PARTS {
        let Some(data) = within(row, name) else { continue };
        if !is_fitted(data) {
            lines.push(format!("  {words}: {}", verdict(data)));
            continue;
        }
        let [rank, rate, cosine] = ["stable_rank", "coding_rate", "mean_cosine"].map(|name| value(data, name));
        lines.push(format!("  {words}: stable rank {rank}, coding rate {rate} nats, mean cosine {cosine}"));
        if !name.is_empty() {
            let (k, p) = (clusters(data), dims(data));
            lines.push(format!("               K = {k}, p = {p}, {}; power {}", verdict(data), power(data)));
        }
    }
    if let Some(data) = within(row, "labels") {
        lines.push(format!("  labels permuted: SNR {}, theta = {}", list(data, "snr"), value(data, "theta_crit")));
    }
    Ok(lines)
}

/// Text above the hypotheses.
pub(super) const MARGINS: &str = "Signed margins at the fitted values, in the units of the printed form; in brackets at the \
                                  ends of the interval of delta. Negative: the hypothesis fails.";

/// A table; an empty text stands for none.
pub(super) fn table(title: &str, text: &str, header: &[&str], rows: Vec<Vec<String>>) -> Table {
    let text = if text.is_empty() { vec![] } else { vec![text.to_string()] };
    Table { title: title.into(), text, header: header.iter().map(ToString::to_string).collect(), rows }
}

/// The tables of the page.
pub(super) fn tables(rows: &[Row]) -> Result<Vec<Table>> {
    let name = |row: &Row| -> Result<[String; 1]> { Ok([row.word(ARRAY)?.to_string()]) };
    let with_labels = [&PARTS[..], &[("labels", "labels permuted")]].concat();
    Ok(vec![
        table(
            "Mixture of Definition 1",
            "Each array as given and its controls. The test is on tokens that the fit did not see. Power: the share of \
             true mixtures that the same procedure would call consistent, from draws; where it is not shown to be above \
             one half, a rejection is undecided.",
            &headers(&FIT),
            of_rows(rows, name, |row| of_parts(row, &PARTS, &FIT))?,
        ),
        table(
            "Hypotheses of Theorem 1",
            MARGINS,
            &["array", "hypothesis", "printed", "margin", ""],
            of_rows(rows, name, |row| hypotheses(row).into_iter().map(Vec::from).collect())?,
        ),
        table(
            "Horizon, SNR and ranks",
            "",
            &headers(&MEASURES),
            of_rows(rows, name, |row| of_parts(row, &with_labels, &MEASURES))?,
        ),
    ])
}

/// Lines of a table, each behind the words for its row.
pub(super) fn of_rows<const N: usize>(
    rows: &[Row],
    words: impl Fn(&Row) -> Result<[String; N]>,
    lines: impl Fn(&Row) -> Vec<Vec<String>>,
) -> Result<Vec<Vec<String>>> {
    let mut table_lines = vec![];
    for row in rows {
        let words = words(row)?;
        table_lines.extend(lines(row).into_iter().map(|cells| [&words[..], &cells].concat()));
    }
    Ok(table_lines)
}

/// A column about a part of a row: its header and its cell.
type Column = (&'static str, fn(&Map<String, Value>) -> String);

/// The fit to an array or a control.
const FIT: [Column; 7] = [
    ("K", clusters),
    ("p_k", dims),
    ("N_k", |data| list(data, "counts")),
    ("delta", |data| interval(data, "delta")),
    ("scale", |data| interval(data, "scale")),
    ("verdict", verdict),
    ("power", power),
];

/// The measures of an array, of a control, or of labels in random order.
const MEASURES: [Column; 8] = [
    ("theta", |data| interval(data, "theta_crit")),
    ("exact updates", |data| interval(data, "exact_updates")),
    ("horizon of", |data| word(data, "horizon_of").into()),
    ("SNR", |data| list(data, "snr")),
    ("law of the SNR", |data| list(data, "snr_law")),
    ("stable rank", |data| value(data, "stable_rank")),
    ("coding rate", |data| value(data, "coding_rate")),
    ("mean cosine", |data| value(data, "mean_cosine")),
];

fn headers(columns: &[Column]) -> Vec<&'static str> {
    ["array", "tokens"].into_iter().chain(columns.iter().map(|(header, _)| *header)).collect()
}

/// A line for each of these parts that the row has, behind the words for it.
fn of_parts(row: &Row, parts: &[(&str, &str)], columns: &[Column]) -> Vec<Vec<String>> {
    let line = |(name, words): &(&str, &str)| {
        let data = within(row, name)?;
        Some(std::iter::once(words.to_string()).chain(columns.iter().map(|(_, cell)| cell(data))).collect())
    };
    parts.iter().filter_map(line).collect()
}
