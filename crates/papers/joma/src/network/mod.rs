//! Post-norm transformers of JoMA's experiments, with derivatives written out.
//!
//! Table 1 and Figures 6 to 8 train decoders of one head: embeddings, blocks of causal attention and a ReLU layer with
//! layer normalisation after each, and a linear read-out. Here they are plain matrix products, for two reasons. Table
//! 1's data are a few distinct sequences, whose padding is one column with a multiplicity ([`Span::repeats`]): the same
//! network at a fraction of the cost. And the default build, which has no framework for training, can then run the
//! experiments.
//!
//! Hidden states of a batch are the columns of one matrix (d, T) over all sequences, T their total length. All
//! parameters are one flat vector ([`Layout`] says which part is which matrix), so that the optimiser, the norm
//! of the gradient and a copy of the start are loops over one slice.
//!
//! ```
//! use attnlab_core::rng::Streams;
//! use attnlab_joma::network::{Architecture, Batch, Network, Start, Targets};
//!
//! let streams = Streams::new(1, "doc", 0, 0);
//! let network = Network::<f64>::new(Architecture::latents(100, 16, 32, 1, 5), Start::FanIn, &streams)?;
//! let batch = Batch::new(&[vec![3, 14, 15], vec![9, 2, 6, 5]]);
//! let targets = Targets::last(&batch, &[0, 1], &[0.5, 0.5]);
//! let (loss, gradient) = network.loss_and_gradient(&batch, &targets, None);
//! assert!(loss > 0.0 && gradient.len() == network.parameters().len());
//! # Ok::<(), attnlab_core::Error>(())
//! ```

mod adam;
mod attention;
mod block;
mod dropout;
mod layout;
mod linear;
mod norm;
mod readout;
mod records;
mod start;
mod training;

pub use adam::{Adam, clip};
pub use dropout::Dropout;
pub use layout::{BlockSlots, Layout, Slot};
pub use readout::Targets;
pub use records::{Record, Records};
pub use start::Start;
pub use training::{Batches, Look, Plan, train};

use attnlab_core::error::{self, Result};
use attnlab_core::linalg::Real;
use attnlab_core::rng::Streams;
use attnlab_lab::run::memory;
use block::BlockPass;
use ndarray::{Array2, ArrayView2, ShapeBuilder, s};
use serde::{Deserialize, Serialize};

/// Sizes and parts of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Architecture {
    /// M, number of different tokens.
    pub vocabulary: usize,
    /// d, width of the hidden states.
    pub width: usize,
    /// Number of hidden units of every block.
    pub hidden: usize,
    /// Number of blocks.
    pub blocks: usize,
    /// Number of classes of the read-out.
    pub outputs: usize,
    /// Flag: attention has biases and an output projection.
    pub projection: bool,
    /// Flag: embeddings are multiplied by √d, and sinusoidal positions are added.
    pub positions: bool,
    /// Flag: hidden units are linear, not ReLU.
    pub linear: bool,
}

impl Architecture {
    /// Returns the decoder of Table 1: no positions, attention without biases and output projection.
    pub const fn latents(vocabulary: usize, width: usize, hidden: usize, blocks: usize, outputs: usize) -> Self {
        Architecture { vocabulary, width, hidden, blocks, outputs, projection: false, positions: false, linear: false }
    }

    /// Returns the language model of Figures 6 and 8, whose hidden layers are as wide as its states.
    pub const fn text(vocabulary: usize, width: usize, blocks: usize) -> Self {
        let plain = Self::latents(vocabulary, width, width, blocks, vocabulary);
        Architecture { projection: true, positions: true, ..plain }
    }

    /// Refuses a network without width, units, blocks or classes.
    ///
    /// # Errors
    /// Names the size.
    pub fn validate(&self) -> Result<()> {
        for (name, value, least) in [
            ("vocabulary", self.vocabulary, 1),
            ("width", self.width, 1),
            ("hidden", self.hidden, 1),
            ("blocks", self.blocks, 1),
            ("outputs", self.outputs, 2),
        ] {
            error::at_least(name, value, least)?;
        }
        Ok(())
    }

    /// Estimates the memory of a training in f32, in bytes: parameters, gradient and two moments, some twenty
    /// activations of every one of `columns` tokens, and the scores of `targets` of them.
    pub fn memory(&self, columns: usize, targets: usize) -> u64 {
        let parameters = Layout::of(self).len as u64;
        let units = (self.width + self.hidden) as u64;
        memory::product(&[4, 4, parameters])
            .saturating_add(memory::product(&[4, 20, columns as u64, self.blocks as u64, units]))
            .saturating_add(memory::product(&[4, 3, targets as u64, self.outputs as u64]))
    }
}

/// Columns of one sequence in a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// First column.
    pub start: usize,
    /// One past the last column.
    pub end: usize,
    /// Number of equal columns that the first one stands for. Without positions, k equal tokens at the beginning of a
    /// sequence have equal hidden states under a causal mask, so one column with weight k is the same function.
    pub repeats: f64,
}

/// Sequences that pass through the network together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Tokens of all sequences, one after the other.
    pub tokens: Vec<usize>,
    /// The sequences.
    pub spans: Vec<Span>,
}

impl Batch {
    /// Creates a batch of sequences.
    pub fn new(sequences: &[Vec<usize>]) -> Self {
        let mut batch = Batch::default();
        for sequence in sequences {
            batch.push(sequence, 1.0);
        }
        batch
    }

    /// Adds a sequence whose first token stands for `repeats` of its kind.
    pub fn push(&mut self, sequence: &[usize], repeats: f64) {
        let start = self.tokens.len();
        self.tokens.extend(sequence);
        self.spans.push(Span { start, end: self.tokens.len(), repeats });
    }
}

/// A network: sizes and parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Network<T> {
    architecture: Architecture,
    layout: Layout,
    parameters: Vec<T>,
}

/// Activations of one pass through a network.
pub struct Pass<T> {
    embedded: Array2<T>,
    mask: Option<Array2<T>>,
    blocks: Vec<BlockPass<T>>,
}

impl<T: Real> Pass<T> {
    /// Returns the hidden units of block `b` after their activation: (hidden, T).
    pub fn hidden(&self, b: usize) -> ArrayView2<'_, T> {
        self.blocks[b].hidden()
    }

    /// Returns the largest value of every hidden unit of block `b` over every sequence: (hidden, sequences).
    pub fn largest(&self, b: usize, batch: &Batch) -> Array2<T> {
        let hidden = self.hidden(b);
        Array2::from_shape_fn((hidden.nrows(), batch.spans.len()), |(k, n)| {
            let span = batch.spans[n];
            (span.start..span.end).map(|t| hidden[[k, t]]).fold(T::neg_infinity(), T::max)
        })
    }

    /// Returns the attention weights of block `b` in every sequence, each (n, n): (i, j) is that of key i for query j.
    pub fn attention(&self, b: usize) -> impl Iterator<Item = ArrayView2<'_, T>> {
        self.blocks[b].attention()
    }

    fn last(&self) -> &Array2<T> {
        self.blocks.last().map_or(&self.embedded, |block| block.output())
    }
}

impl<T: Real> Network<T> {
    /// Creates a network with random parameters.
    ///
    /// # Errors
    /// When a size is too small.
    pub fn new(architecture: Architecture, start: Start, streams: &Streams) -> Result<Self> {
        architecture.validate()?;
        let layout = Layout::of(&architecture);
        let mut parameters = vec![T::zero(); layout.len];
        start.fill(&architecture, &layout, &mut parameters, streams);
        Ok(Network { architecture, layout, parameters })
    }

    /// Returns the sizes.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Returns which part of the parameters is which matrix.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns all parameters.
    pub fn parameters(&self) -> &[T] {
        &self.parameters
    }

    /// Returns all parameters, to be changed.
    pub fn parameters_mut(&mut self) -> &mut [T] {
        &mut self.parameters
    }

    /// Computes all activations of a batch.
    ///
    /// # Panics
    /// If a token is not in the vocabulary.
    pub fn pass(&self, batch: &Batch, mut dropout: Option<&mut Dropout>) -> Pass<T> {
        let mut embedded = self.embed(batch);
        let mask = dropout.as_deref_mut().map(|d| d.apply(&mut embedded));
        let mut blocks: Vec<BlockPass<T>> = Vec::with_capacity(self.layout.blocks.len());
        for slots in &self.layout.blocks {
            let input = blocks.last().map_or(&embedded, |block| block.output());
            let (flat, linear) = (&self.parameters, self.architecture.linear);
            blocks.push(BlockPass::forward(slots, flat, input, &batch.spans, linear, dropout.as_deref_mut()));
        }
        Pass { embedded, mask, blocks }
    }

    /// Computes the weighted cross-entropy of the targets from a pass.
    pub fn loss_of(&self, pass: &Pass<T>, targets: &Targets) -> f64 {
        targets.weighted(&self.losses_of(pass, targets))
    }

    /// Computes the cross-entropy of every target from a pass.
    pub fn losses_of(&self, pass: &Pass<T>, targets: &Targets) -> Vec<f64> {
        targets.losses(self.layout.readout, &self.parameters, pass.last())
    }

    /// Computes the scores of all classes at every target from a pass: (outputs, number of targets).
    pub fn scores_of(&self, pass: &Pass<T>, targets: &Targets) -> Array2<T> {
        targets.scores(self.layout.readout, &self.parameters, pass.last())
    }

    /// Computes the weighted cross-entropy and its gradient, in the order of [`Network::parameters`].
    pub fn loss_and_gradient(&self, batch: &Batch, targets: &Targets, dropout: Option<&mut Dropout>) -> (f64, Vec<T>) {
        let pass = self.pass(batch, dropout);
        let mut gradient = vec![T::zero(); self.parameters.len()];
        let (loss, mut upstream) = targets.backward(self.layout.readout, &self.parameters, pass.last(), &mut gradient);
        for (b, slots) in self.layout.blocks.iter().enumerate().rev() {
            let input = if b == 0 { &pass.embedded } else { pass.blocks[b - 1].output() };
            upstream = pass.blocks[b].backward(slots, &self.parameters, input, &batch.spans, upstream, &mut gradient);
        }
        if let Some(mask) = &pass.mask {
            upstream *= mask;
        }
        let scale = self.embedding_scale();
        let mut rows = self.layout.embedding.of_mut(&mut gradient);
        for (column, token) in upstream.columns().into_iter().zip(&batch.tokens) {
            rows.column_mut(*token).scaled_add(scale, &column);
        }
        (loss, gradient)
    }

    fn embedding_scale(&self) -> T {
        if self.architecture.positions { T::of_f64((self.architecture.width as f64).sqrt()) } else { T::one() }
    }

    /// Computes the embeddings of the tokens, with positions where the network has them: (d, T).
    fn embed(&self, batch: &Batch) -> Array2<T> {
        let d = self.architecture.width;
        let table = self.layout.embedding.of(&self.parameters);
        let scale = self.embedding_scale();
        let mut states = Array2::zeros((d, batch.tokens.len()).f());
        for (mut column, token) in states.columns_mut().into_iter().zip(&batch.tokens) {
            column.assign(&table.column(*token));
            column.mapv_inplace(|x| x * scale);
        }
        if self.architecture.positions {
            let longest = batch.spans.iter().map(|span| span.end - span.start).max().unwrap_or(0);
            let code = |(i, place)| T::of_f64(position(i, place, d));
            let codes = Array2::from_shape_fn((d, longest).f(), code);
            for span in &batch.spans {
                let mut states = states.slice_mut(s![.., span.start..span.end]);
                states += &codes.slice(s![.., ..span.end - span.start]);
            }
        }
        states
    }
}

/// Computes coordinate `i` of the sinusoidal position code of a place, from 0, at width `d`:
/// sin(place · 10000^{-2k/d}) for i = 2k and the cosine for i = 2k + 1.
pub fn position(i: usize, place: usize, d: usize) -> f64 {
    let k = i / 2;
    let angle = place as f64 * 10_000_f64.powf(-2.0 * k as f64 / d as f64);
    if i.is_multiple_of(2) { angle.sin() } else { angle.cos() }
}
