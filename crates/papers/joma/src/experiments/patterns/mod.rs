//! JoMA Fig. 10: pattern superposition, in a trained network whose patterns are known.
//!
//! A sequence has tokens of one pattern, tokens of none, and a query at its end. Every query has its pattern; the label
//! is the class of the pattern if the two fit, and "no fit" otherwise. R[i, j] is the mean response of a hidden unit, at
//! the query, to query i with pattern j. A unit holds pattern i if R[i, i] exceeds every other R[i, j] by some
//! standard errors on either side; it superposes if it holds two.

use crate::PAPERS;
use crate::network::{Adam, Architecture, Batch, Network, Pass, Plan, Record, Records, Start, Targets, train};
use attnlab_core::rng::Generator;
use attnlab_lab::experiment::ranges;
use attnlab_lab::prelude::*;
use ndarray::{Array3, ArrayView2, Axis};
use rand::RngExt;
use rand::seq::{SliceRandom, index::sample};

mod pictures;

settings! {
    /// Pattern superposition in a trained block.
    #[experiment("joma.patterns", rows = "joma_patterns",
        title = "Hidden units that hold several patterns, against chance")]
    #[source(&PAPERS[0], "Figure 10, Appendix E.4")]
    pub struct JomaPatterns {
        pub seeds: u64 = spread,
        pub patterns: usize = whole(2..=1000),
        pub pattern_tokens: usize = whole(1..),
        pub shown: usize,
        pub others: usize,
        pub noise: usize,
        pub classes: usize,
        pub width: usize,
        pub hidden: usize,
        pub batch: usize = whole(1..),
        pub rate: f64 = positive,
        pub records: Records = Records::ascend,
        pub draws: usize = whole(2..),
        pub margin: f64 = positive,
    }
}

/// Mean responses of all units: (unit, query, pattern), and their standard errors.
struct Responses {
    mean: Array3<f64>,
    error: Array3<f64>,
}

/// Measurements of a network.
struct Measured {
    responses: Responses,
    /// Share of a query's attention on its own pattern.
    mass: f64,
    accuracy: f64,
}

impl Responses {
    /// Sets the means and errors over the sequences of a pass, at their last tokens, the query.
    fn set(&mut self, query: usize, pattern: usize, pass: &Pass<f32>, batch: &Batch) {
        let (n, hidden) = (batch.spans.len() as f64, pass.hidden(0));
        for unit in 0..hidden.nrows() {
            let values = batch.spans.iter().map(|span| f64::from(hidden[[unit, span.end - 1]]));
            let (sum, squares) = values.fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
            self.mean[[unit, query, pattern]] = sum / n;
            self.error[[unit, query, pattern]] = ((squares - sum * sum / n).max(0.0) / (n - 1.0) / n).sqrt();
        }
    }

    /// Counts the patterns that every unit holds, when query `of(i)` stands for query i.
    fn held(&self, margin: f64, of: impl Fn(usize) -> usize) -> Vec<f64> {
        let (units, patterns, _) = self.mean.dim();
        let holds = |unit: usize, i: usize| {
            let query = of(i);
            let low = self.mean[[unit, query, i]] - margin * self.error[[unit, query, i]];
            (0..patterns)
                .filter(|j| *j != i)
                .all(|j| low > self.mean[[unit, query, j]] + margin * self.error[[unit, query, j]])
        };
        (0..units).map(|unit| (0..patterns).filter(|i| holds(unit, *i)).count() as f64).collect()
    }
}

/// Share of units that hold at least two patterns.
fn superposed(held: &[f64]) -> f64 {
    held.iter().filter(|n| **n >= 2.0).count() as f64 / held.len() as f64
}

impl JomaPatterns {
    fn architecture(&self) -> Architecture {
        let tokens = self.patterns * (self.pattern_tokens + 1) + self.others;
        Architecture::latents(tokens, self.width, self.hidden, 1, self.classes + 1)
    }

    /// The class of a query with a pattern; the last one says that they do not fit.
    fn class(&self, query: usize, pattern: usize) -> usize {
        if query == pattern { pattern % self.classes } else { self.classes }
    }

    /// Draws a sequence; tokens are numbered pattern by pattern, then those of none, then the queries.
    fn sequence(&self, query: usize, pattern: usize, rng: &mut Generator) -> Vec<usize> {
        let first_other = self.patterns * self.pattern_tokens;
        let of_pattern = sample(rng, self.pattern_tokens, self.shown).into_iter();
        let others = sample(rng, self.others, self.noise).into_iter();
        let mut tokens: Vec<usize> =
            of_pattern.map(|t| pattern * self.pattern_tokens + t).chain(others.map(|t| first_other + t)).collect();
        tokens.shuffle(rng);
        tokens.push(first_other + self.others + query);
        tokens
    }

    /// One batch: half of the queries with their own pattern.
    fn batch(&self, rng: &mut Generator) -> (Batch, Targets) {
        let (mut batch, mut classes) = (Batch::default(), vec![]);
        for _ in 0..self.batch {
            let query = rng.random_range(0..self.patterns);
            let other = (query + rng.random_range(1..self.patterns)) % self.patterns;
            let pattern = if rng.random_bool(0.5) { query } else { other };
            batch.push(&self.sequence(query, pattern, rng), 1.0);
            classes.push(self.class(query, pattern));
        }
        let targets = Targets::last(&batch, &classes, &vec![1.0 / self.batch as f64; self.batch]);
        (batch, targets)
    }

    /// Measures the responses of the network, its accuracy, and the share of a query's attention on its own pattern.
    fn measure(&self, network: &Network<f32>, streams: &Streams) -> Measured {
        let shape = (self.hidden, self.patterns, self.patterns);
        let responses = Responses { mean: Array3::zeros(shape), error: Array3::zeros(shape) };
        let mut measured = Measured { responses, mass: 0.0, accuracy: 0.0 };
        let n = self.draws as f64;
        for (query, pattern) in iproduct!(0..self.patterns, 0..self.patterns) {
            let mut rng = streams.child("responses", query as u64).part("pattern", pattern as u64);
            let sequences: Vec<Vec<usize>> = (0..self.draws).map(|_| self.sequence(query, pattern, &mut rng)).collect();
            let batch = Batch::new(&sequences);
            let pass = network.pass(&batch, None);
            measured.responses.set(query, pattern, &pass, &batch);
            let classes = vec![self.class(query, pattern); self.draws];
            let scores = network.scores_of(&pass, &Targets::last(&batch, &classes, &vec![1.0; self.draws]));
            let best = |c: ndarray::ArrayView1<f32>| c.iter().all(|x| *x <= c[classes[0]]);
            let hits = scores.columns().into_iter().filter(|c| best(*c)).count() as f64;
            // Fits are as frequent as others in training.
            let weight = match query == pattern {
                true => 0.5 / self.patterns as f64,
                false => 0.5 / (self.patterns * (self.patterns - 1)) as f64,
            };
            measured.accuracy += weight * hits / n;
            if query == pattern {
                measured.mass += self.mass(pattern, &pass, &sequences) / (n * self.patterns as f64);
            }
        }
        measured
    }

    /// The attention of the queries on the tokens of a pattern, summed over the sequences.
    fn mass(&self, pattern: usize, pass: &Pass<f32>, sequences: &[Vec<usize>]) -> f64 {
        let tokens = pattern * self.pattern_tokens..(pattern + 1) * self.pattern_tokens;
        let of = |(weights, sequence): (ArrayView2<f32>, &Vec<usize>)| {
            let last = weights.column(sequence.len() - 1);
            sequence.iter().zip(last).filter(|(t, _)| tokens.contains(t)).map(|(_, a)| f64::from(*a)).sum::<f64>()
        };
        pass.attention(0).zip(sequences).map(of).sum()
    }
}

impl Experiment for JomaPatterns {
    fn validate(&self) -> Result<()> {
        for (name, value, least, most) in [
            ("shown", self.shown, 1, self.pattern_tokens),
            ("noise", self.noise, 0, self.others),
            ("classes", self.classes, 1, self.patterns),
        ] {
            ranges::whole(least..=most as u64)(name, &value)?;
        }
        self.architecture().validate()
    }

    fn cells(&self) -> Result<Vec<Params>> {
        Ok(vec![Params::from_iter([])])
    }

    fn memory(&self, _cell: &Params) -> u64 {
        let sequences = self.batch.max(self.draws);
        self.architecture()
            .memory((self.shown + self.noise + 1) * sequences, sequences)
            .saturating_add(memory::product(&[16, self.hidden, self.patterns, self.patterns].map(|n| n as u64)))
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        self.trial_at(cell, streams, &TrialContext::none())
    }

    /// The series at the recorded steps: "accuracy", "superposed" (share of units with two patterns or more),
    /// "permuted" (the same with query i + 1 in place of query i), "mass" (share of a query's attention on its own
    /// pattern); "tokens", the share of these tokens in a sequence. At the end "held" and "held_permuted", the number
    /// of patterns that every unit holds, "held_start" before training, and "response", R of the unit that holds most,
    /// query by query.
    fn trial_at(&self, _cell: &Params, streams: &Streams, context: &TrialContext) -> Result<Map<String, Value>> {
        let mut network = Network::<f32>::new(self.architecture(), Start::FanIn, streams)?;
        let adam = Adam::new(self.rate, 0.0, network.parameters().len());
        let settings = Value::Object(Identity::settings(self));
        let plan = Plan::new(&self.records, settings, format!("{} {}", Self::NAME, streams.name()));
        let batch = |step: u64| Ok(self.batch(&mut streams.part("batch", step)));
        let mut look = |network: &Network<f32>, step: u64, record: &mut Record| {
            let Measured { responses, mass, accuracy } = self.measure(network, streams);
            let held = responses.held(self.margin, |i| i);
            let permuted = responses.held(self.margin, |i| (i + 1) % self.patterns);
            record.push("accuracy", accuracy);
            record.push("superposed", superposed(&held));
            record.push("permuted", superposed(&permuted));
            record.push("mass", mass);
            if step == 0 {
                record.0.insert("held_start".into(), store::series(&held));
            }
            if step == self.records.last() {
                let most = (0..self.hidden).max_by(|a, b| held[*a].total_cmp(&held[*b])).unwrap_or(0);
                let best: Vec<f64> = responses.mean.index_axis(Axis(0), most).iter().copied().collect();
                record.0.insert("response".into(), store::series(&best));
                record.0.insert("held".into(), store::series(&held));
                record.0.insert("held_permuted".into(), store::series(&permuted));
            }
            Ok(())
        };
        let mut data = train(&mut network, adam, &plan, streams, context, &batch, &mut look)?.0;
        let tokens = self.shown as f64 / (self.shown + self.noise + 1) as f64;
        data.insert("tokens".into(), store::number(tokens));
        Ok(data)
    }

    fn size(&self) -> String {
        format!("{} patterns, width {}, {} steps, {} seeds", self.patterns, self.width, self.records.last(), self.seeds)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_holds_what_stands_out_by_the_margin() {
        let mut mean = Array3::zeros((2, 3, 3));
        // Unit 0 answers queries 0 and 1 with their own patterns, and query 2 with pattern 0.
        for (query, pattern) in [(0, 0), (1, 1), (2, 0)] {
            mean[[0, query, pattern]] = 1.0;
        }
        // Unit 1 answers query 0 with its pattern, within the error.
        mean[[1, 0, 0]] = 0.5;
        let responses = Responses { mean, error: Array3::from_elem((2, 3, 3), 0.1) };
        assert_eq!(responses.held(3.0, |i| i), [2.0, 0.0]);
        assert_eq!(superposed(&responses.held(3.0, |i| i)), 0.5);
        // Query 2 stands for query 0 once.
        assert_eq!(responses.held(3.0, |i| (i + 2) % 3), [1.0, 0.0]);
    }
}
