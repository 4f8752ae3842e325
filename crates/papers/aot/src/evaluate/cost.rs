//! Operations, memory and time of a forward pass: the quantities of AoT 2024, Table 3.

use attnlab_core::error::{Result, require};
use attnlab_core::stats::quantile;
use attnlab_lab::run::store::{number, series};
use attnlab_networks::Transformer;
use serde_json::{Map, Value, json};
use std::time::Instant;

/// Names of the readings.
pub(super) const READINGS: [&str; 1] = ["forward pass"];

/// Measures forward passes of `batch` sequences of `context` tokens, one after another, with the logits of every token:
/// one to warm up and then `runs`.
///
/// Numbers of a row: `gflop` (10⁹ operations of the products, [`ForwardCost`](attnlab_networks::transformer::ForwardCost):
/// linear maps, attention over the pairs that a query sees, logits of every token), `gflop_maps` (linear maps and the
/// logits of each sequence's last token, which is what the paper's table has for GPT-2), `gflop_executed` (with attention
/// as it is computed here, in tiles), `weight_bytes`, `activation_bytes` (by formula), `parameters`, `seconds` of every
/// run, `value` (their median) with `low` and `high` (least and largest), and `gflop_per_second`.
///
/// # Errors
/// A context beyond the network's; no runs; those of [`Transformer::predict`].
pub fn measure(network: &Transformer, context: usize, batch: usize, runs: usize) -> Result<Map<String, Value>> {
    let a = network.architecture();
    let allowed = format!("must be at most the context of the network, {}", a.context);
    require(context <= a.context, "context", context, allowed)?;
    let ids: Vec<u32> = (0..context).map(|i| (i * 7919 % a.vocabulary) as u32).collect();
    let pass = || -> Result<()> {
        for _ in 0..batch {
            // The largest logit keeps the compiler from leaving the pass out.
            let top = |_: usize, logits: &mut [f32]| logits.iter().copied().fold(f32::MIN, f32::max);
            std::hint::black_box(network.predict(&ids, 0..context, top)?);
        }
        Ok(())
    };
    pass()?;
    let mut seconds = vec![];
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        pass()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let cost = a.forward_cost(context);
    let giga = |operations: u64| number(batch as f64 * operations as f64 / 1e9);
    let logits = cost.logits_of_a_token.saturating_mul(context as u64);
    let total = cost.maps + cost.attention + logits;
    let median = quantile(&seconds, 0.5);
    let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = seconds.iter().copied().fold(0.0, f64::max);
    Ok(Map::from_iter(
        [
            ("value", number(median)),
            ("low", number(least)),
            ("high", number(most)),
            ("unit", json!("seconds")),
            ("seconds", series(&seconds)),
            ("gflop", giga(total)),
            ("gflop_maps", giga(cost.maps + cost.logits_of_a_token)),
            ("gflop_executed", giga(cost.maps + cost.attention_executed + logits)),
            ("gflop_per_second", number(batch as f64 * total as f64 / 1e9 / median)),
            ("parameters", json!(a.parameters())),
            ("weight_bytes", json!(4 * a.parameters())),
            ("activation_bytes", json!(a.activation_bytes(context))),
            ("threads", json!(rayon::current_num_threads())),
        ]
        .map(|(name, value)| (name.to_string(), value)),
    ))
}
