//! The Gram matrix YᵀY in tiles, each computed once and passed to both of its sides.
//!
//! S = YᵀY is symmetric, so the tile S[I, J] serves the columns of J (with keys I) and, transposed, the
//! columns of I (with keys J), which saves half of the product. Two tiles that share a block must not run
//! at once, so tiles are scheduled like a round-robin tournament: in each round every block meets exactly
//! one other, and the rounds follow each other in a fixed order. Each block therefore receives its tiles
//! in the same order whatever the number of threads, and results agree to the bit.

use attnlab_core::linalg::{Real, Threads, gemm};
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder, s};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Partition of the columns 0..n into blocks of equal width (the last may be narrower).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Number n of columns.
    pub columns: usize,
    /// Width of a block.
    pub width: usize,
}

impl Blocks {
    /// Returns the number of blocks.
    pub fn count(&self) -> usize {
        self.columns.div_ceil(self.width)
    }

    /// Returns the columns of block `b`.
    pub fn range(&self, b: usize) -> Range<usize> {
        b * self.width..((b + 1) * self.width).min(self.columns)
    }

    /// Returns the rounds of the tournament: first every block with itself, then every pair exactly once,
    /// with no block twice in a round.
    pub fn rounds(&self) -> Vec<Vec<(usize, usize)>> {
        let count = self.count();
        let mut rounds = vec![(0..count).map(|b| (b, b)).collect::<Vec<_>>()];
        // The circle method needs an even number of players; `count` itself is then the bye.
        let players = count + count % 2;
        for round in 0..players.saturating_sub(1) {
            let mut pairs = vec![(players - 1, round)];
            for i in 1..players / 2 {
                let (a, b) = (round + i, round + players - 1 - i);
                pairs.push((a % (players - 1), b % (players - 1)));
            }
            let real = pairs.into_iter().filter(|(a, b)| *a < count && *b < count);
            rounds.push(real.map(|(a, b)| (a.min(b), a.max(b))).collect());
        }
        rounds
    }
}

/// One tile of the scores.
pub struct Tile<'a, T> {
    /// Index I of the block of the rows.
    pub row_block: usize,
    /// Index J ≥ I of the block of the columns.
    pub col_block: usize,
    /// Token indices of the rows.
    pub rows: Range<usize>,
    /// Token indices of the columns.
    pub cols: Range<usize>,
    /// Scores S[I, J] = Y_IᵀY_J (|I|, |J|), column-major and contiguous; the visitor may overwrite them.
    pub scores: ArrayViewMut2<'a, T>,
    /// Scratch memory for the visitor, as large as `scores`; its content is arbitrary.
    pub scratch: &'a mut [T],
}

/// Computes every tile of S = YᵀY with I ≤ J once and passes it to `visit`, with the state of the row
/// block and, off the diagonal, of the column block. On the diagonal the one state stands for both sides.
/// `tick` is called after each tile (for progress).
///
/// `y` is (p, N), preferably column-major; `states` must have one entry per block.
pub fn for_each_tile<T: Real, S: Send>(
    y: ArrayView2<T>,
    blocks: Blocks,
    states: &mut [S],
    visit: impl Fn(Tile<T>, &mut S, Option<&mut S>) + Sync,
    tick: impl Fn() + Sync,
) {
    // The rounds keep blocks apart, so these locks never wait; the compiler requires them.
    let states: Vec<Mutex<&mut S>> = states.iter_mut().map(Mutex::new).collect();
    // One pair of buffers per thread, allocated on first use.
    let buffers: Vec<_> = (0..rayon::current_num_threads()).map(|_| Mutex::new((Vec::new(), Vec::new()))).collect();
    for round in blocks.rounds() {
        round.par_iter().with_max_len(1).for_each(|&(i, j)| {
            let (rows, cols) = (blocks.range(i), blocks.range(j));
            let size = rows.len() * cols.len();
            let mut buffer = unpoisoned(&buffers[rayon::current_thread_index().unwrap_or(0)]);
            let (scores, scratch) = &mut *buffer;
            if scores.len() < size {
                scores.resize(blocks.width * blocks.width, T::zero());
                scratch.resize(blocks.width * blocks.width, T::zero());
            }
            let shape = (rows.len(), cols.len()).f();
            let mut scores =
                ArrayViewMut2::from_shape(shape, &mut scores[..size]).expect("a buffer of exactly this size");
            let (left, right) = (y.slice(s![.., rows.clone()]), y.slice(s![.., cols.clone()]));
            gemm(T::one(), left.t(), right, false, scores.view_mut(), Threads::One);
            let tile = Tile { row_block: i, col_block: j, rows, cols, scores, scratch: &mut scratch[..size] };
            let mut row_state = unpoisoned(&states[i]);
            if i == j {
                visit(tile, &mut row_state, None);
            } else {
                visit(tile, &mut row_state, Some(&mut unpoisoned(&states[j])));
            }
            tick();
        });
    }
}

fn unpoisoned<S>(state: &Mutex<S>) -> MutexGuard<'_, S> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_meets_once_and_no_block_twice_in_a_round() {
        for columns in 1..40 {
            let blocks = Blocks { columns, width: 3 };
            let mut met = std::collections::HashSet::new();
            for round in blocks.rounds() {
                let mut busy = std::collections::HashSet::new();
                for (i, j) in round {
                    assert!(met.insert((i, j)), "({i}, {j}) twice at {columns} columns");
                    assert!(busy.insert(i) && (i == j || busy.insert(j)));
                }
            }
            let count = blocks.count();
            assert_eq!(met.len(), count * (count + 1) / 2);
        }
    }
}
