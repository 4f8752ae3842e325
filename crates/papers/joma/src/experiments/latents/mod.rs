//! JoMA Table 1 as its text describes it: hidden units against the latents of noisy trees, on sequences that the
//! network has never seen.

use crate::PAPERS;
use crate::alignment::Layers;
use crate::network::{Adam, Architecture, Batch, Network, Plan, Record, Records, Start, Targets, train};
use crate::quantities::{CLASSES, LABEL_WORDS, LABELS, LATENTS_0, LATENTS_1, LEARNING_RATE, RHO};
use crate::theory::tree::{Parent, Tree};
use crate::tree::TreeDraw;
use attnlab_lab::prelude::*;
use ndarray::{Array2, s};
use rand::RngExt;
use rand::seq::{SliceRandom, index::sample};

mod pictures;

settings! {
    /// Table 1 on noisy trees and fresh sequences.
    #[experiment("joma.latents", rows = "joma_latents",
        title = "Latents of noisy trees against hidden units, on held-out sequences")]
    #[source(&PAPERS[0], "Table 1, Definition 2")]
    pub struct JomaLatents {
        pub seeds: u64 = spread,
        pub classes: Vec<usize> = whole(2..),
        pub latents: Vec<[usize; 2]> = whole(1..),
        pub rho: Vec<f64> = within("[-1, 1]"),
        pub rates: Vec<f64> = positive,
        pub labels: Vec<String> = words_with_first("labels", &LABEL_WORDS),
        pub children: usize = whole(1..),
        pub leaves: usize = whole(1..),
        pub length: usize = whole(2..),
        pub order: String = word("order", &["random", "ascending"]),
        pub width: usize,
        pub hidden: usize,
        pub blocks: usize = whole(2..),
        pub batch: usize = whole(1..),
        pub decay: f64 = non_negative,
        pub records: Records = Records::ascend,
        pub held_out: usize = whole(3..),
        pub draws: u64 = whole(1..),
    }
}

/// Draws of one sequence before the length is given up as too small.
const MOST_DRAWS: u64 = 1000;
/// Sequences that pass through the network together when it is measured.
const CHUNK: usize = 250;

/// A drawn tree with its sequences.
struct NoisyTree<'a> {
    settings: &'a JomaLatents,
    tree: Tree,
    /// N_1 and N_0.
    sizes: [usize; 2],
}

/// Drawn sequences.
struct Drawn {
    batch: Batch,
    classes: Vec<usize>,
    /// Latents that are on: (latent, sequence), bottom layer, then top layer.
    tables: [Vec<Vec<bool>>; 2],
    /// Number of draws that were too long.
    redrawn: u64,
}

impl<'a> NoisyTree<'a> {
    /// Draws the tree: which top latents are on in a class; every other edge has correlation ρ.
    fn new(settings: &'a JomaLatents, cell: &Params, streams: &Streams) -> Result<Self> {
        let mut rng = streams.part("tree", 0);
        let (top, bottom) = (cell.get(LATENTS_1), cell.get(LATENTS_0));
        let (classes, rho) = (cell.get(CLASSES), cell.get(RHO));
        // Top latents that are on in every class.
        let on: Vec<Vec<usize>> = (0..classes).map(|_| sample(&mut rng, top, settings.children).into_vec()).collect();
        let zero =
            |latent: usize| -> Vec<f64> { on.iter().map(|on| f64::from(u8::from(!on.contains(&latent)))).collect() };
        let mut parents: Vec<Parent> = (0..top).map(|latent| Parent::Class { zero: zero(latent) }).collect();
        parents.extend((0..bottom).map(|i| Parent::Latent { index: i % top, rho }));
        parents.extend((0..settings.leaves).map(|i| Parent::Latent { index: top + i % bottom, rho }));
        Ok(NoisyTree { settings, tree: Tree::new(vec![1.0 / classes as f64; classes], parents)?, sizes: [top, bottom] })
    }

    /// Draws `count` sequences.
    fn draw(&self, count: usize, streams: &Streams) -> Result<Drawn> {
        let [top, bottom] = self.sizes;
        let mut drawn = Drawn {
            batch: Batch::default(),
            classes: vec![],
            tables: [vec![vec![]; bottom], vec![vec![]; top]],
            redrawn: 0,
        };
        for i in 0..count as u64 {
            let streams = streams.child("sequence", i);
            let mut attempt = 0;
            let (draw, mut tokens) = loop {
                let draw = TreeDraw::new(&self.tree, &streams.child("draw", attempt));
                let leaves = draw.values[top + bottom..].iter().enumerate();
                let tokens: Vec<usize> = leaves.filter(|(_, on)| **on).map(|(l, _)| l).collect();
                if !tokens.is_empty() && tokens.len() < self.settings.length {
                    break (draw, tokens);
                }
                attempt += 1;
                let allowed = "must be larger; nearly all sequences of this tree are longer";
                require(attempt < MOST_DRAWS, "length", self.settings.length, allowed)?;
            };
            drawn.redrawn += attempt;
            if self.settings.order == "random" {
                tokens.shuffle(&mut streams.part("order", 0));
            }
            let padding = self.settings.length - tokens.len();
            tokens.insert(0, self.settings.leaves);
            drawn.batch.push(&tokens, padding as f64);
            drawn.classes.push(draw.class);
            let (upper, lower) = draw.values[..top + bottom].split_at(top);
            for (table, values) in drawn.tables.iter_mut().zip([lower, upper]) {
                table.iter_mut().zip(values).for_each(|(row, on)| row.push(*on));
            }
        }
        Ok(drawn)
    }
}

impl JomaLatents {
    fn architecture(&self, classes: usize) -> Architecture {
        Architecture::latents(self.leaves + 1, self.width, self.hidden, self.blocks, classes)
    }

    /// The cell without rate and labels, whose streams they share.
    fn data_cell(cell: &Params) -> u64 {
        let sizes = [CLASSES, LATENTS_0, LATENTS_1].map(|size| size.is(cell.get(size)));
        Params::from_iter(sizes.into_iter().chain([RHO.is(cell.get(RHO))])).cell()
    }

    /// Largest value of every unit of every block over each held-out sequence, and the mean loss and accuracy.
    fn measure(&self, network: &Network<f32>, held: &Drawn) -> (Vec<Array2<f32>>, f64, f64) {
        let count = held.classes.len();
        let mut units = vec![Array2::zeros((self.hidden, count)); self.blocks];
        let (mut loss, mut right) = (0.0, 0.0);
        for from in (0..count).step_by(CHUNK) {
            let to = (from + CHUNK).min(count);
            let mut part = Batch::default();
            for span in &held.batch.spans[from..to] {
                part.push(&held.batch.tokens[span.start..span.end], span.repeats);
            }
            let targets = Targets::last(&part, &held.classes[from..to], &vec![1.0 / count as f64; to - from]);
            let pass = network.pass(&part, None);
            loss += network.losses_of(&pass, &targets).iter().sum::<f64>() / count as f64;
            let scores = network.scores_of(&pass, &targets);
            for (column, class) in scores.columns().into_iter().zip(&held.classes[from..to]) {
                right += f64::from(u8::from(column.iter().all(|x| *x <= column[*class]))) / count as f64;
            }
            for (b, units) in units.iter_mut().enumerate() {
                units.slice_mut(s![.., from..to]).assign(&pass.largest(b, &part));
            }
        }
        (units, loss, right)
    }
}

impl Experiment for JomaLatents {
    fn validate(&self) -> Result<()> {
        for [bottom, top] in &self.latents {
            require(self.children <= *top, "children", self.children, format!("must be at most N_1 = {top}"))?;
            let allowed = format!("must be pairs [N_0, N_1] with N_1 <= N_0 <= leaves = {}, as in a tree", self.leaves);
            require(top <= bottom && *bottom <= self.leaves, "latents", format!("[{bottom}, {top}]"), allowed)?;
        }
        self.classes.iter().try_for_each(|c| self.architecture(*c).validate())
    }

    fn cells(&self) -> Result<Vec<Params>> {
        let settings = iproduct!(&self.labels, &self.rates, &self.classes, &self.latents, &self.rho);
        let cells = settings.map(|(labels, rate, classes, [bottom, top], rho)| {
            let sizes = [CLASSES.is(*classes), LATENTS_0.is(*bottom), LATENTS_1.is(*top)].into_iter();
            let others = [RHO.is(*rho), LEARNING_RATE.is(*rate), LABELS.is(labels.as_str())];
            Params::from_iter(sizes.chain(others))
        });
        Ok(cells.collect())
    }

    fn memory(&self, cell: &Params) -> u64 {
        let sequences = self.batch.max(CHUNK);
        self.architecture(cell.get(CLASSES))
            .memory(self.length * sequences, sequences)
            .saturating_add(memory::product(&[12, self.held_out, self.hidden, self.blocks + 2].map(|n| n as u64)))
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        self.trial_at(cell, streams, &TrialContext::none())
    }

    /// The series at the recorded steps, on held-out sequences: "loss", "accuracy"; "corr_s_b", NCorr of layer s of
    /// the latents (0: bottom) with block b, and "permuted_s" for b = s. "noise_s"; "constant_s", the number of
    /// latents that never vary; "redrawn", the share of draws that were too long.
    fn trial_at(&self, cell: &Params, streams: &Streams, context: &TrialContext) -> Result<Map<String, Value>> {
        let streams = streams.of_cell(Self::data_cell(cell));
        let classes = cell.get(CLASSES);
        let source = NoisyTree::new(self, cell, &streams)?;
        let held = source.draw(self.held_out, &streams.child("held-out", 0))?;
        let mut network = Network::<f32>::new(self.architecture(classes), Start::FanIn, &streams)?;
        let rate = cell.get(LEARNING_RATE);
        let adam = Adam::new(rate, self.decay, network.parameters().len());
        let labels = cell.get(LABELS);
        let settings = Value::Object(Identity::settings(self));
        let plan =
            Plan::new(&self.records, settings, format!("{} rate {rate:e} {labels} {}", Self::NAME, streams.name()));
        let layers = Layers { tables: held.tables.to_vec(), draws: self.draws, streams: streams.clone() };
        let batch = |step: u64| {
            let streams = streams.child("batch", step);
            let drawn = source.draw(self.batch, &streams)?;
            let mut asked = drawn.classes;
            if labels == "random" {
                let mut rng = streams.part("labels", 0);
                asked.iter_mut().for_each(|class| *class = rng.random_range(0..classes));
            }
            let targets = Targets::last(&drawn.batch, &asked, &vec![1.0 / self.batch as f64; self.batch]);
            Ok((drawn.batch, targets))
        };
        let mut look = |network: &Network<f32>, _: u64, record: &mut Record| {
            let (units, loss, accuracy) = self.measure(network, &held);
            record.push("loss", loss);
            record.push("accuracy", accuracy);
            layers.score(&units, record);
            Ok(())
        };
        let mut record = train(&mut network, adam, &plan, &streams, context, &batch, &mut look)?;
        layers.chance(2, self.hidden, &mut record);
        let mut data = record.0;
        let redrawn = held.redrawn as f64;
        data.insert("redrawn".into(), store::number(redrawn / (redrawn + self.held_out as f64)));
        Ok(data)
    }

    fn size(&self) -> String {
        format!("width {}, {} steps, {} seeds", self.width, self.records.last(), self.seeds)
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
