//! The experiments of this room: a folder each, with code, pictures and `settings.toml`.

attnlab_lab::experiments! {
    trajectories::Trajectories,
    pair::ClosestPair,
    long_context::LongContexts,
    first::FirstClusters,
}

use attnlab_core::params::{Params, Quantity, Word};
use serde_json::{Map, Value};

/// Part of an experiment that a cell belongs to.
pub(crate) const PART: Quantity<Word> = Quantity::word("part", "", "part of the experiment", &[]);

/// Makes a cell of a part.
pub(crate) fn cell(part: &str, values: Vec<(String, Value)>) -> Params {
    std::iter::once(PART.is(part)).chain(values).collect()
}

/// Named data of a trial.
pub(crate) fn data<const N: usize>(values: [(&str, Value); N]) -> Map<String, Value> {
    values.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// Times between `first` and `last`, log-spaced.
pub(crate) fn log_times(first: f64, last: f64, points: usize) -> Vec<f64> {
    let at = |i: usize| first * (last / first).powf(i as f64 / (points - 1).max(1) as f64);
    (0..points).map(at).collect()
}
