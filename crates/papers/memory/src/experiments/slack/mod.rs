//! The slack of Theorem 3: patterns promised, patterns stored.

use crate::PAPERS;
use crate::patterns::uniform;
use crate::quantities::{DIM, STRENGTH};
use crate::theory::stored::{Storage, storage};
use attnlab_lab::prelude::*;
use ndarray::s;

mod pictures;

settings! {
    /// Patterns that Theorem 3 promises, that are stored and that are lost, over βM² and d.
    #[experiment("memory.slack", rows = "memory_slack",
        title = "Patterns that Theorem 3 promises and patterns that are stored")]
    #[source(&PAPERS[0], "Theorem 3")]
    pub struct MemorySlack {
        pub trials: u64 = spread,
        pub dims: Vec<usize> = whole(2..),
        pub strengths: Vec<f64> = positive,
        pub most: usize = whole(2..),
        pub p: f64 = within("(0, 1]"),
    }
}

/// Ratio of successive numbers of patterns: a sixth of an octave.
const STEP: f64 = 1.122_462_048_309_373;

/// Returns numbers of patterns from 2 to `most`.
fn numbers(most: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(2.0), |n: &f64| Some(n * STEP));
    let mut numbers: Vec<usize> = powers.map(|n| n.round() as usize).take_while(|n| *n <= most).collect();
    numbers.dedup();
    numbers
}

impl Experiment for MemorySlack {
    fn cells(&self) -> Result<Vec<Params>> {
        let cell = |(d, beta): (&usize, &f64)| Params::from_iter([DIM.is(*d), STRENGTH.is(*beta)]);
        Ok(iproduct!(&self.dims, &self.strengths).map(cell).collect())
    }

    /// "stored": the largest number of patterns of one draw, in its order, before the first that is not certified; 1 where
    /// two are not, ∞ where the largest number is. "lost": the smallest number that is excluded; ∞ where none is.
    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let patterns = uniform(cell.get(DIM), self.most, 1.0, &mut streams.part("patterns", 0))?;
        let (mut stored, mut lost, mut certified) = (1.0, f64::INFINITY, true);
        for n in numbers(self.most) {
            match storage(patterns.slice(s![.., ..n]), cell.get(STRENGTH))? {
                Storage::All if certified => stored = n as f64,
                Storage::NotAll(_) => {
                    lost = n as f64;
                    certified = false;
                    break;
                }
                Storage::All | Storage::Unknown => certified = false,
            }
        }
        if certified {
            stored = f64::INFINITY;
        }
        Ok([("stored", stored), ("lost", lost)]
            .map(|(name, n)| (name.to_string(), store::number(n)))
            .into_iter()
            .collect())
    }

    fn memory(&self, cell: &Params) -> u64 {
        // The products of all patterns with each other, and two copies of the patterns.
        let (most, dim) = (self.most as u64, cell.get(DIM) as u64);
        8 * most.saturating_mul(most + 2 * dim)
    }

    fn size(&self) -> String {
        format!("{} draws, at most {} patterns", self.trials, self.most)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
