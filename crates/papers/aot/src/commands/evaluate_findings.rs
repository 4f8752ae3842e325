//! The findings of `attnlab evaluate` in words, from its rows.

use super::findings::{shown, table, value};
use crate::evaluate::Task;
use crate::evaluate::printed::{BENCHMARKS, COSTS, ZERO_SHOT, comparable};
use crate::experiments::evaluate::{READING, TASK, VARIANT, VARIANTS, choice, numbered};
use attnlab_core::format::size;
use attnlab_lab::prelude::*;
use attnlab_lab::report::Table;
use attnlab_lab::run::store::as_number;
use clap::ValueEnum;

/// Words for the network of a row.
fn variant(row: &Row) -> Result<&'static str> {
    let word = row.word(VARIANT)?;
    let words = VARIANTS.iter().find(|(name, _)| *name == word);
    Ok(words.map_or(VARIANTS[0].1, |(_, words)| *words))
}

fn task(row: &Row) -> Result<Option<Task>> {
    Ok(Task::from_str(row.word(TASK)?, false).ok())
}

fn interval(data: &Map<String, Value>) -> String {
    let [estimate, low, high] = ["value", "low", "high"].map(|name| value(data, name));
    format!("{estimate} [{low}, {high}]")
}

/// Names and values of a reading's baselines, with a sign after the names.
fn baselines(row: &Row, sign: &str) -> String {
    let baselines = row.data.get("baselines").and_then(Value::as_object).into_iter().flatten();
    let named = baselines.filter_map(|(name, x)| Some(format!("{name}{sign} {}", shown(as_number(x)?))));
    named.collect::<Vec<_>>().join("; ")
}

fn unit(row: &Row) -> &str {
    row.data.get("unit").and_then(Value::as_str).unwrap_or_default()
}

/// The papers' numbers for a reading, the network of GPT-2 alone: name and value.
fn printed(row: &Row) -> Result<Vec<(&'static str, f64)>> {
    let benchmarks = match task(row)? {
        Some(task) => comparable(task, row.word(READING)?),
        None => &[],
    };
    let gpt2 = ZERO_SHOT.iter().find(|z| z.network.starts_with("GPT-2"));
    Ok(gpt2.into_iter().flat_map(|z| benchmarks.iter().map(|i| (BENCHMARKS[*i], z.values[*i]))).collect())
}

/// One reading in lines.
pub(super) fn lines(row: &Row) -> Result<Vec<String>> {
    let data = &row.data;
    let title = format!("{} ({}), {}", row.word(READING)?, choice(row), variant(row)?);
    if task(row)? == Some(Task::Cost) {
        let number = |name| value(data, name);
        return Ok(vec![
            title,
            format!(
                "  time         {} seconds, median of the runs [least, most], {} threads",
                interval(data),
                number("threads")
            ),
            format!(
                "  operations   {} GFLOP ({} in linear maps with the last token's logits; {} executed), {} GFLOP/s",
                number("gflop"),
                number("gflop_maps"),
                number("gflop_executed"),
                number("gflop_per_second")
            ),
            format!(
                "  memory       weights {}, activations {} (by formula)",
                bytes(data, "weight_bytes"),
                bytes(data, "activation_bytes")
            ),
        ]);
    }
    let perplexity = data.get("perplexity").map(|_| format!(", perplexity {}", value(data, "perplexity")));
    let perplexity = perplexity.unwrap_or_default();
    let mut lines = vec![
        format!("{title}: {} {}{perplexity}", interval(data), unit(row)),
        format!("  baselines    {}", baselines(row, "")),
    ];
    let printed: Vec<String> = printed(row)?.iter().map(|(name, x)| format!("{name} {x}")).collect();
    if !printed.is_empty() {
        lines.push(format!("  in print     GPT-2 Base: {}", printed.join("; ")));
    }
    Ok(lines)
}

fn bytes(data: &Map<String, Value>, name: &str) -> String {
    data.get(name).and_then(Value::as_u64).map_or("-".into(), size)
}

/// The tables of the page.
pub(super) fn tables(rows: &[Row]) -> Result<Vec<Table>> {
    let rows: Vec<&Row> = rows.iter().collect();
    if rows.first().map(|row| task(row)).transpose()?.flatten() == Some(Task::Cost) {
        return costs(&rows);
    }
    let reading = |(row, (number, _)): (&&Row, (usize, String))| {
        let data = &row.data;
        Ok(vec![
            number.to_string(),
            row.word(READING)?.into(),
            choice(row),
            variant(row)?.into(),
            interval(data),
            unit(row).into(),
            value(data, "perplexity"),
            format!("{} of {}", value(data, "items"), value(data, "items_of")),
            value(data, "shortened"),
            baselines(row, ":"),
        ])
    };
    let readings = rows.iter().zip(numbered(&rows)?).map(reading).collect::<Result<_>>()?;
    let print = ZERO_SHOT.iter().map(|z| {
        [z.network.to_string(), z.table.to_string()].into_iter().chain(z.values.map(|x| format!("{x:.2}"))).collect()
    });
    Ok(vec![
        table(
            "Readings",
            "Accuracies have exact intervals over items; losses Student intervals, over passages or over blocks of one \
             window of the text. A ceiling knows the answers: it is computed from the frequencies of the evaluated \
             text itself. Shortened items are longer than the context and lack their beginning.",
            &["no.", "reading", "choices", "network", "value", "unit", "perplexity", "items", "shortened", "baselines"],
            readings,
        ),
        table(
            "In print",
            "Zero-shot results of the AoT papers. Detokeniser, window, stride, unit of the losses, split of PTB, scoring \
             of candidates, and whether LAMBADA's last word or last token is meant, are not printed.",
            &[&["network", "table"][..], &BENCHMARKS].concat(),
            print.collect(),
        ),
    ])
}

fn costs(rows: &[&Row]) -> Result<Vec<Table>> {
    let measured = rows.iter().map(|row| {
        let data = &row.data;
        let operations = ["gflop", "gflop_maps", "gflop_executed"].map(|name| value(data, name));
        let memory = ["weight_bytes", "activation_bytes"].map(|name| bytes(data, name));
        [&[choice(row), interval(data)][..], &operations, &memory].concat()
    });
    let print = COSTS.iter().map(|c| {
        std::iter::once(c.network.to_string()).chain([c.gflop, c.memory, c.time].map(|x| x.to_string())).collect()
    });
    Ok(vec![
        table(
            "Forward pass",
            "Time: median of the runs with the least and the largest. Operations by formula, two per multiplication and \
             addition: linear maps, attention over the pairs that a query sees, and the logits of every token; linear \
             maps with the logits of the last token of each sequence; with attention as it is computed here, in tiles.",
            &["sizes", "seconds", "GFLOP", "GFLOP, maps", "GFLOP, executed", "weights", "activations"],
            measured.collect(),
        ),
        table(
            "In print",
            "AoT 2024, Table 3: 16 sequences of 1024 tokens on a GPU. The printed operations of GPT-2 Base and Medium are \
             those of the linear maps and the last token's logits alone, without the products of attention.",
            &["network", "GFLOPS", "memory (MiB)", "time (ms)"],
            print.collect(),
        ),
    ])
}
