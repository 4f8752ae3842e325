//! JoMA Table 1: correlation of latents with hidden units after training, against what an untrained network, noise and
//! permuted latents score.
//!
//! There are at most C distinct sequences, so a batch is a vector of weights on them, drawn as the counts of 128
//! uniform classes: the stochastic gradient has the same law, at C/128 of the cost. The columns of padding are one
//! column with a multiplicity. Both are exact. Scores are over the C classes, the expectation of the authors' 1280
//! uniform draws.

use crate::PAPERS;
use crate::alignment::{Correlations, Layers, dimension};
use crate::hierarchy::Hierarchy;
use crate::network::{Adam, Architecture, Batch, Network, Plan, Record, Records, Start, Targets, train};
use crate::quantities::{CHILDREN, CLASSES, LATENTS_0, LATENTS_1, LEARNING_RATE};
use attnlab_lab::prelude::*;
use ndarray::Array2;
use rand::RngExt;

mod controls;
mod pictures;
mod printed;

settings! {
    /// Table 1 with its controls.
    #[experiment("joma.table1", rows = "joma_table1",
        title = "Latents against hidden units: Table 1 with untrained, noise and permuted controls")]
    #[source(&PAPERS[0], "Table 1, Section 5")]
    pub struct Table1 {
        pub seeds: u64 = spread,
        pub classes: Vec<usize> = whole(2..),
        pub children: Vec<usize> = whole(1..),
        pub latents: Vec<[usize; 2]> = whole(1..),
        pub rates: Vec<f64> = positive,
        pub vocabulary: usize = whole(2..),
        pub length: usize,
        pub width: usize,
        pub hidden: usize,
        pub blocks: usize = whole(2..),
        pub batch: usize = whole(1..),
        pub decay: f64 = non_negative,
        pub records: Records = Records::ascend,
        pub draws: u64 = whole(1..),
        pub few: usize = whole(1..),
    }
}

impl Table1 {
    fn architecture(&self, classes: usize) -> Architecture {
        Architecture::latents(self.vocabulary, self.width, self.hidden, self.blocks, classes)
    }

    /// Tokens that are not padding.
    fn usable(&self) -> usize {
        self.vocabulary - 1
    }

    fn sizes(cell: &Params) -> [usize; 3] {
        [cell.get(LATENTS_0), cell.get(LATENTS_1), cell.get(CLASSES)]
    }

    /// The cell without its learning rate, whose streams all rates share.
    fn data_cell(cell: &Params) -> u64 {
        Params::from_iter([CLASSES, CHILDREN, LATENTS_0, LATENTS_1].map(|size| size.is(cell.get(size)))).cell()
    }

    /// The sequences of all classes, padding first.
    fn sequences(&self, drawn: &Hierarchy) -> Batch {
        let mut batch = Batch::default();
        for class in 0..drawn.classes() {
            let mut tokens = drawn.tokens(class);
            let padding = self.length - tokens.len();
            if padding > 0 {
                tokens.insert(0, self.vocabulary - 1);
            }
            batch.push(&tokens, padding.max(1) as f64);
        }
        batch
    }

    /// Draws the classes of one batch and returns their shares.
    fn shares(&self, classes: usize, step: u64, streams: &Streams) -> Vec<f64> {
        let mut rng = streams.part("batch", step);
        let mut counts = vec![0.0; classes];
        for _ in 0..self.batch {
            counts[rng.random_range(0..classes)] += 1.0 / self.batch as f64;
        }
        counts
    }

    /// Adds to a record what the network has after so many steps.
    fn look(&self, network: &Network<f32>, sequences: &Batch, targets: &Targets, layers: &Layers, record: &mut Record) {
        let pass = network.pass(sequences, None);
        record.push("loss", network.loss_of(&pass, targets));
        let units: Vec<Array2<f32>> = (0..self.blocks).map(|b| pass.largest(b, sequences)).collect();
        layers.score(&units, record);
        for (b, units) in units.iter().enumerate() {
            record.push(format!("dimension_{b}"), dimension(units.view()));
        }
        for (s, (table, units)) in layers.tables.iter().zip(&units).enumerate() {
            let correlations = Correlations::new(table, units.view());
            record.push(format!("few_{s}"), correlations.score_of(self.few));
            record.push(format!("matched_{s}"), correlations.matched());
        }
    }
}

impl Experiment for Table1 {
    fn validate(&self) -> Result<()> {
        for classes in &self.classes {
            self.architecture(*classes).validate()?;
        }
        for children in &self.children {
            let longest = children.checked_pow(3).unwrap_or(usize::MAX).min(self.usable());
            let allowed = format!("must be at least {longest}, the most tokens of a class when children = {children}");
            require(longest <= self.length, "length", self.length, allowed)?;
            // A draw refuses what is impossible.
            for cell in self.cells()? {
                let mut rng = Streams::new(0, Self::NAME, 0, 0).part("hierarchy", 0);
                Hierarchy::draw(self.usable(), Self::sizes(&cell), *children, &mut rng)?;
            }
        }
        Ok(())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let settings = iproduct!(&self.rates, &self.classes, &self.children, &self.latents);
        let cells = settings.map(|(rate, classes, children, [n0, n1])| {
            let sizes = [CLASSES.is(*classes), CHILDREN.is(*children), LATENTS_0.is(*n0), LATENTS_1.is(*n1)];
            Params::from_iter(sizes.into_iter().chain([LEARNING_RATE.is(*rate)]))
        });
        Ok(cells.collect())
    }

    fn memory(&self, cell: &Params) -> u64 {
        let classes = cell.get(CLASSES);
        let longest = self.length.min(cell.get(CHILDREN).saturating_pow(3)) + 1;
        self.architecture(classes).memory(classes * longest, classes)
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        self.trial_at(cell, streams, &TrialContext::none())
    }

    /// The series at the recorded steps: "loss", the mean cross-entropy over the classes; "corr_s_b", NCorr of
    /// layer s of the latents (2: the classes) with block b; for b = s also "few_s" (the first units alone),
    /// "matched_s" (one-to-one) and "permuted_s"; "dimension_b", the effective number of dimensions of the units of block
    /// b over the classes. And "noise_s"; "constant_s", the number of latents that are left
    /// out because they never vary; "sequences", the number of distinct ones; "floor", the least possible loss.
    ///
    /// Both learning rates see the same hierarchy, start and batches.
    fn trial_at(&self, cell: &Params, streams: &Streams, context: &TrialContext) -> Result<Map<String, Value>> {
        let streams = streams.of_cell(Self::data_cell(cell));
        let sizes = Self::sizes(cell);
        let classes = sizes[2];
        let mut rng = streams.part("hierarchy", 0);
        let drawn = Hierarchy::draw(self.usable(), sizes, cell.get(CHILDREN), &mut rng)?;
        let sequences = self.sequences(&drawn);
        let labels: Vec<usize> = (0..classes).collect();
        let uniform_targets = Targets::last(&sequences, &labels, &vec![1.0 / classes as f64; classes]);
        let mut network = Network::<f32>::new(self.architecture(classes), Start::FanIn, &streams)?;
        let rate = cell.get(LEARNING_RATE);
        let adam = Adam::new(rate, self.decay, network.parameters().len());
        // The two layers of latents, and the classes.
        let layers =
            Layers { tables: (0..3).map(|s| drawn.table(s)).collect(), draws: self.draws, streams: streams.clone() };
        let settings = Value::Object(Identity::settings(self));
        let plan = Plan::new(&self.records, settings, format!("{} rate {rate:e} {}", Self::NAME, streams.name()));
        let batch = |step: u64| {
            let targets = Targets { weights: self.shares(classes, step, &streams), ..uniform_targets.clone() };
            Ok((sequences.clone(), targets))
        };
        let mut look = |network: &Network<f32>, _: u64, record: &mut Record| {
            self.look(network, &sequences, &uniform_targets, &layers, record);
            Ok(())
        };
        let mut record = train(&mut network, adam, &plan, &streams, context, &batch, &mut look)?;
        layers.chance(2, self.hidden, &mut record);
        let mut data = record.0;
        data.insert("sequences".into(), drawn.multiplicities().len().into());
        data.insert("floor".into(), store::number(drawn.least_loss()));
        Ok(data)
    }

    fn size(&self) -> String {
        format!("width {}, {} steps, {} seeds", self.width, self.records.last(), self.seeds)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
