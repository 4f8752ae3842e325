//! Steps at which a training is recorded, and what is recorded.

use attnlab_core::error::{Result, require};
use attnlab_lab::run::store;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Steps at which a network is recorded, ascending from 0, the untrained network; the last ends training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Records(Vec<u64>);

impl Records {
    /// Returns the multiples of `every` up to `steps`.
    pub fn every(every: u64, steps: u64) -> Self {
        Records((0..=steps / every).map(|i| i * every).collect())
    }

    /// Range of the setting: steps that ascend from 0.
    ///
    /// # Errors
    /// Names the setting.
    pub fn ascend(name: &str, records: &Records) -> Result<()> {
        let ascends = records.0.first() == Some(&0) && records.0.is_sorted_by(|a, b| a < b);
        let allowed = "must ascend from 0, the untrained network, such as [0, 10, 100]";
        require(ascends, name, format!("{:?}", records.0), allowed)
    }

    /// Returns the last step.
    pub fn last(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }

    /// Returns the first steps, so many or all.
    pub fn first(&self, count: usize) -> &[u64] {
        &self.0[..count.min(self.0.len())]
    }

    /// Returns `true` if the network is recorded after so many steps.
    pub fn contains(&self, step: u64) -> bool {
        self.0.binary_search(&step).is_ok()
    }

    /// Returns the steps as abscissas, each with `add` added: 0 has a place on a logarithmic axis if `add` is 1.
    pub fn places(&self, add: f64) -> Vec<f64> {
        self.0.iter().map(|step| *step as f64 + add).collect()
    }
}

/// Recorded series, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Record(pub Map<String, Value>);

impl Record {
    /// Adds a number to a series.
    pub fn push(&mut self, name: impl Into<String>, value: f64) {
        let list = self.0.entry(name).or_insert_with(|| Value::Array(vec![]));
        if let Value::Array(list) = list {
            list.push(store::number(value));
        }
    }

    /// Returns the numbers of a series; none if it has none.
    pub fn series(&self, name: &str) -> Vec<f64> {
        self.0.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(store::as_number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_ascend_from_the_untrained_network() {
        for good in [vec![0], vec![0, 1, 7]] {
            assert!(Records::ascend("records", &Records(good)).is_ok());
        }
        for bad in [vec![], vec![1, 2], vec![0, 3, 3], vec![0, 5, 2]] {
            assert!(Records::ascend("records", &Records(bad)).is_err());
        }
        let records = Records::every(30, 100);
        assert_eq!(records, Records(vec![0, 30, 60, 90]));
        assert_eq!(records.last(), 90);
        assert!(records.contains(60) && !records.contains(61));
        assert_eq!((records.first(2), records.first(9).len()), (&[0, 30][..], 4));
        assert_eq!(records.places(1.0), [1.0, 31.0, 61.0, 91.0]);
    }
}
