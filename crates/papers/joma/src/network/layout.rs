//! Places of the matrices in the flat vector of parameters.

use super::Architecture;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder};

/// Place of one matrix, column by column. A vector is a matrix of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    start: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
}

impl Slot {
    /// Returns the entries in `flat`.
    pub fn slice<'a, T>(&self, flat: &'a [T]) -> &'a [T] {
        &flat[self.start..][..self.rows * self.columns]
    }

    /// Returns the entries in `flat`, to be changed.
    pub fn slice_mut<'a, T>(&self, flat: &'a mut [T]) -> &'a mut [T] {
        &mut flat[self.start..][..self.rows * self.columns]
    }

    /// Returns the matrix in `flat`: (rows, columns).
    #[expect(clippy::expect_used, reason = "the slice has rows * columns entries")]
    pub fn of<'a, T>(&self, flat: &'a [T]) -> ArrayView2<'a, T> {
        ArrayView2::from_shape((self.rows, self.columns).f(), self.slice(flat))
            .expect("a slot has as many entries as its shape")
    }

    /// Returns the matrix in `flat`, to be changed.
    #[expect(clippy::expect_used, reason = "the slice has rows * columns entries")]
    pub fn of_mut<'a, T>(&self, flat: &'a mut [T]) -> ArrayViewMut2<'a, T> {
        let shape = (self.rows, self.columns).f();
        ArrayViewMut2::from_shape(shape, self.slice_mut(flat)).expect("a slot has as many entries as its shape")
    }
}

/// A linear map: its matrix (out, in) and its bias (out, 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearSlots {
    /// The matrix.
    pub weight: Slot,
    /// The bias.
    pub bias: Option<Slot>,
}

/// A layer normalisation: gain and shift, each (d, 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NormSlots {
    /// The gain.
    pub gain: Slot,
    /// The shift.
    pub shift: Slot,
}

/// Parameters of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSlots {
    /// Queries, (d, d).
    pub query: LinearSlots,
    /// Keys, (d, d).
    pub key: LinearSlots,
    /// Values, (d, d).
    pub value: LinearSlots,
    /// Output projection, (d, d).
    pub projection: Option<LinearSlots>,
    /// Normalisation after attention.
    pub norm1: NormSlots,
    /// W_1, the map into the hidden units: (hidden, d).
    pub lower: LinearSlots,
    /// W_2, the map out of them: (d, hidden).
    pub upper: LinearSlots,
    /// Normalisation after the hidden units.
    pub norm2: NormSlots,
}

/// Places of all parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Embeddings as columns: (d, M).
    pub embedding: Slot,
    /// The blocks, from the input on.
    pub blocks: Vec<BlockSlots>,
    /// Read-out: (outputs, d).
    pub readout: LinearSlots,
    /// Number of parameters.
    pub(super) len: usize,
}

impl Layout {
    /// Returns the places for a network of these sizes.
    pub fn of(sizes: &Architecture) -> Self {
        let mut next = Next(0);
        let (d, hidden) = (sizes.width, sizes.hidden);
        let embedding = next.slot(d, sizes.vocabulary);
        let blocks = (0..sizes.blocks)
            .map(|_| BlockSlots {
                query: next.linear(d, d, sizes.projection),
                key: next.linear(d, d, sizes.projection),
                value: next.linear(d, d, sizes.projection),
                projection: sizes.projection.then(|| next.linear(d, d, true)),
                norm1: next.norm(d),
                lower: next.linear(hidden, d, true),
                upper: next.linear(d, hidden, true),
                norm2: next.norm(d),
            })
            .collect();
        Layout { embedding, blocks, readout: next.linear(sizes.outputs, d, true), len: next.0 }
    }
}

/// The first place that is free.
struct Next(usize);

impl Next {
    fn slot(&mut self, rows: usize, columns: usize) -> Slot {
        let start = self.0;
        self.0 += rows * columns;
        Slot { start, rows, columns }
    }

    fn linear(&mut self, rows: usize, columns: usize, bias: bool) -> LinearSlots {
        LinearSlots { weight: self.slot(rows, columns), bias: bias.then(|| self.slot(rows, 1)) }
    }

    fn norm(&mut self, rows: usize) -> NormSlots {
        NormSlots { gain: self.slot(rows, 1), shift: self.slot(rows, 1) }
    }
}
