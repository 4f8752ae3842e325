//! The depth horizon of [`crate::attention::horizon`] at about the cost of one layer: one pass over the
//! Gram tiles in f32, O(Np) memory, results independent of the number of threads.
//!
//! The pass keeps, for every noise column, the maxima of its scores, the constant part of its denominator and
//! Σ_i e^{θ s_i} at twelve values of θ; `brackets` computes from them rigorous bounds and an estimate of the column's
//! first break, rounding errors included. Every column that may be the first is then decided again from its scores in
//! f64, so that the first break of the head, with its column, key and weight, is exact for the given coefficients.
//! Signal columns keep the pattern by a wide margin or are decided in f64 too.

mod brackets;
mod exact;
mod kernels;
mod state;

pub use exact::{Blockwise, horizon_of_columns, weight_of_column};
pub use state::NODES;

use super::{Blocks, Tile, for_each_tile};
use crate::attention::horizon::{Bracket, Break, HeadHorizon, earlier, plain, validate};
use attnlab_core::error::{Result, require};
use brackets::{Context, SUMS};
use kernels::Rect;
use ndarray::ArrayView2;
use rayon::prelude::*;
use state::{Grid, Tokens};
use std::ops::Range;

/// Tokens per block: a tile of 256 x 256 f32 is 256 KB and stays in the second-level cache.
const WIDTH: usize = 256;

/// Largest number of tokens for which the plain definition is used: it is as fast there, and exact.
const SMALL: usize = 512;

/// Number of columns decided in f64 at a time.
const BATCH: usize = 64;

/// Inverse of the largest share of columns that are decided in f64 because the bounds say nothing about
/// them: at 2Np operations each, 1/16 of the columns cost an eighth of the pass.
const OPEN_SHARE: usize = 16;

/// Inverse of the share of columns that a coarse pass may leave to f64. A larger share would take the CPU
/// longer, at 2Np operations per column, than a fine pass on the machine of the coarse one.
const COARSE_SHARE: usize = 1024;

/// Computes the first break of every column of one head from `y` (p, N), the coefficients U_kᵀZ of the
/// draw; `own` are the tokens of cluster k. `tick` is called [`ticks`]`(N)` times.
///
/// `first` is exact for these coefficients, and the bounds in `theta` always hold. For Gaussian noise
/// columns that break while |e_j| θ ≤ 5 the value is accurate to 1e-3 (typically 1e-6), up to 7 to 2e-3;
/// beyond that the upper bound is infinite and the value an extrapolation.
///
/// # Errors
/// If τ is outside (0, 1], `own` is not a range of tokens, or a coefficient is not finite.
///
/// ```
/// use attnlab_theory::attention::streaming::horizon::horizon_of_head;
/// use attnlab_core::rng::Streams;
/// use attnlab_theory::sample::Mixture;
/// let mixture = Mixture::balanced(2000, 2, 100, 0.06)?;
/// let y = mixture.head::<f32>(0, &Streams::new(1, "doc", 0, 0));
/// let head = horizon_of_head(y.view(), mixture.cluster(0), 0.55, || {})?;
/// let first = head.first.unwrap();
/// assert!(head.theta[first.column].low == first.theta && first.column >= 1000);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn horizon_of_head(y: ArrayView2<f32>, own: Range<usize>, tau: f64, tick: impl Fn() + Sync) -> Result<HeadHorizon> {
    let small = || (0..ticks(y.ncols())).for_each(|_| tick());
    horizon_with(y, own, tau, small, |pass, _| Ok(pass.on_the_cpu(&tick)))
}

/// Computes [`horizon_of_head`] with the given `pass` over the scores, which must return [`Seen`]. `small` is called
/// instead if the tokens are few enough for the plain definition. If the scores of a pass are coarse and its bounds
/// leave more columns open than another pass would cost, `pass` is called again with `true` for finer scores.
///
/// # Errors
/// As [`horizon_of_head`], or if `pass` fails.
pub fn horizon_with(
    y: ArrayView2<f32>,
    own: Range<usize>,
    tau: f64,
    small: impl FnOnce(),
    pass: impl Fn(&Pass, bool) -> Result<Seen>,
) -> Result<HeadHorizon> {
    validate(y.ncols(), &own, tau)?;
    if y.ncols() <= SMALL {
        let head = plain(y.mapv(f64::from).view(), own, tau);
        small();
        return head;
    }
    let task = Pass::new(y, own)?;
    let result = pass(&task, false)?;
    let mut theta = task.brackets(tau, &result);
    if result.coarse && contenders(&theta) > BATCH.max(theta.len() / COARSE_SHARE) {
        theta = task.brackets(tau, &pass(&task, true)?);
    }
    Ok(settle(task.y, task.own, tau, theta))
}

/// Returns the number of times that [`horizon_of_head`] calls its `tick` for N tokens.
pub fn ticks(tokens: usize) -> u64 {
    let blocks = tokens.div_ceil(WIDTH) as u64;
    blocks * (blocks + 1) / 2
}

/// Computes the length of every column, in f64.
fn lengths(y: ArrayView2<f32>) -> Result<Vec<f64>> {
    let columns = y.columns();
    let length = |column: ndarray::ArrayView1<f32>| column.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    let mut lengths = vec![0.0; y.ncols()];
    let columns: Vec<_> = columns.into_iter().collect();
    columns.into_par_iter().map(length).collect_into_vec(&mut lengths);
    require(lengths.iter().all(|l| l.is_finite()), "y", "NaN or infinite", "must be finite numbers")?;
    Ok(lengths)
}

/// Input of the pass over all scores of one head.
pub struct Pass<'a> {
    /// Coefficients Y (p, N).
    pub y: ArrayView2<'a, f32>,
    /// Tokens of C_k.
    pub own: Range<usize>,
    lengths: Vec<f64>,
    /// Node grid of every noise column of positive length.
    grids: Vec<Option<Grid>>,
}

/// Result of a pass.
pub struct Seen {
    /// States of the tokens, in blocks of `width` (the last may be shorter).
    pub blocks: Vec<Tokens>,
    /// Number of tokens per block.
    pub width: usize,
    /// Rounding constant γ: a score <y_i, y_j> errs by at most γ |y_i||y_j|.
    pub gamma: f64,
    /// Bound on the error of the logarithm of a sum, for exact scores.
    pub sums: f64,
    /// Flag: the same machine has a pass with a smaller γ.
    pub coarse: bool,
}

impl<'a> Pass<'a> {
    fn new(y: ArrayView2<'a, f32>, own: Range<usize>) -> Result<Self> {
        let lengths = lengths(y)?;
        let grid = |j: usize| {
            let noise = !own.contains(&j) && lengths[j] > 0.0;
            noise.then(|| Grid::new(lengths[j], own.len()))
        };
        let grids = (0..y.ncols()).map(grid).collect();
        Ok(Pass { y, own, lengths, grids })
    }

    /// Returns the initial state of the tokens in `range`.
    pub fn unseen(&self, range: Range<usize>) -> Tokens {
        Tokens::new(range, &self.grids)
    }

    /// Runs the pass on all cores of the CPU.
    fn on_the_cpu(&self, tick: impl Fn() + Sync) -> Seen {
        let blocks = Blocks { columns: self.y.ncols(), width: WIDTH };
        let mut states: Vec<_> = (0..blocks.count()).map(|b| self.unseen(blocks.range(b))).collect();
        let visit = |tile: Tile<f32>, rows: &mut Tokens, cols: Option<&mut Tokens>| {
            visit(tile, &self.own, rows, cols);
        };
        for_each_tile(self.y, blocks, &mut states, visit, tick);
        Seen {
            blocks: states,
            width: WIDTH,
            // The unit roundoff of f32 is EPSILON / 2.
            gamma: gamma(self.y.nrows(), f64::from(f32::EPSILON) / 2.0),
            sums: SUMS,
            coarse: false,
        }
    }

    /// Computes bounds for every column from the result of the pass.
    fn brackets(&self, tau: f64, result: &Seen) -> Vec<Bracket> {
        let n = self.y.ncols();
        let longest = |signal: bool| {
            let of = |(j, l): (usize, &f64)| (self.own.contains(&j) == signal).then_some(*l);
            self.lengths.iter().enumerate().filter_map(of).fold(0.0, f64::max)
        };
        let context = Context {
            tau,
            signals: self.own.len(),
            noises: n - self.own.len(),
            gamma: result.gamma,
            sums: result.sums,
            longest_signal: longest(true),
            longest_noise: longest(false),
        };
        let bracket = |j: usize| {
            let (tokens, local) = (&result.blocks[j / result.width], j % result.width);
            match &self.grids[j] {
                Some(grid) => context.noise(tokens, local, grid),
                None if self.own.contains(&j) => context.signal(tokens, local, self.lengths[j]),
                None => context.zero_column(),
            }
        };
        (0..n).into_par_iter().map(bracket).collect()
    }
}

/// Computes γ_p = p u / (1 - p u) for the unit roundoff u.
pub fn gamma(p: usize, roundoff: f64) -> f64 {
    let pu = p as f64 * roundoff;
    pu / (1.0 - pu)
}

/// Passes the rectangles of one tile to the kernels.
fn visit(mut tile: Tile<f32>, own: &Range<usize>, rows: &mut Tokens, cols: Option<&mut Tokens>) {
    let mut sides = match cols {
        Some(cols) => (Some(rows), cols),
        None => {
            // A token is not among the keys of its own maxima; noise tokens count themselves in B.
            for i in 0..tile.rows.len() {
                if own.contains(&(tile.rows.start + i)) {
                    tile.scores[[i, i]] = f32::NEG_INFINITY;
                }
            }
            (None, rows)
        }
    };
    let arch = pulp::Arch::new();
    for (rows, rows_signal) in segments(&tile.rows, own) {
        for (cols, cols_signal) in segments(&tile.cols, own) {
            arch.dispatch(Rect {
                scores: tile.scores.view(),
                rows: rows.clone(),
                cols,
                rows_signal,
                cols_signal,
                row_tokens: sides.0.as_deref_mut(),
                col_tokens: &mut *sides.1,
            });
        }
    }
}

/// Cuts `range` at the ends of `own`: local ranges, each with a flag for lying in `own`.
fn segments(range: &Range<usize>, own: &Range<usize>) -> Vec<(Range<usize>, bool)> {
    let cut = |x: usize| x.clamp(range.start, range.end) - range.start;
    let (start, end) = (cut(own.start), cut(own.end));
    let parts = [(0..start, false), (start..end, true), (end..range.len(), false)];
    parts.into_iter().filter(|(part, _)| !part.is_empty()).collect()
}

/// Counts the columns that may be the first to break.
fn contenders(theta: &[Bracket]) -> usize {
    let least_high = theta.iter().map(|b| b.high).fold(f64::INFINITY, f64::min);
    let possible = |b: &&Bracket| b.low <= least_high && b.low < f64::INFINITY;
    theta.iter().filter(possible).count()
}

/// Decides in f64 the columns about which the bounds say nothing, and every column that may be the first.
fn settle(y: ArrayView2<f32>, own: Range<usize>, tau: f64, theta: Vec<Bracket>) -> HeadHorizon {
    let open = |b: &Bracket| b.low == 1.0 && b.high == f64::INFINITY;
    let open: Vec<_> = (0..theta.len()).filter(|j| open(&theta[*j])).collect();
    let least_high = theta.iter().map(|b| b.high).fold(f64::INFINITY, f64::min);
    let mut settling = Settling { y, own, tau, decided: vec![false; theta.len()], theta, first: None };
    settling.decide(&open[..open.len().min(settling.theta.len() / OPEN_SHARE)]);

    // The others follow in the order of their lower bounds, until none can come before the first break.
    let theta = &settling.theta;
    let mut queue: Vec<_> = (0..theta.len())
        .filter(|j| theta[*j].low < f64::INFINITY && !settling.decided[*j])
        .map(|j| (theta[j].low, j))
        .collect();
    queue.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut rest = &queue[..];
    loop {
        let may_be_first = |(low, j): &&(f64, usize)| settling.first.is_none_or(|b| (*low, *j) < (b.theta, b.column));
        // All columns below the least upper bound are decided together; if that bound is weak, a few at a time.
        let likely = rest.iter().take_while(|(low, _)| *low <= least_high).count();
        let batch = rest.iter().take(likely.clamp(4, BATCH)).take_while(may_be_first);
        let batch: Vec<_> = batch.map(|(_, j)| *j).collect();
        if batch.is_empty() {
            break;
        }
        rest = &rest[batch.len()..];
        settling.decide(&batch);
    }
    HeadHorizon {
        redecided: settling.decided.iter().filter(|d| **d).count(),
        theta: settling.theta,
        first: settling.first,
    }
}

/// Bounds that are being replaced by exact values until the first break is exact.
struct Settling<'a> {
    y: ArrayView2<'a, f32>,
    own: Range<usize>,
    tau: f64,
    theta: Vec<Bracket>,
    decided: Vec<bool>,
    first: Option<Break>,
}

impl Settling<'_> {
    /// Replaces the bounds of `columns` by exact values.
    fn decide(&mut self, columns: &[usize]) {
        let breaks = horizon_of_columns(self.y, &self.own, columns, self.tau);
        for (j, first_break) in columns.iter().zip(breaks) {
            self.theta[*j] = Bracket::of_break(first_break);
            self.decided[*j] = true;
            self.first = [self.first, first_break].into_iter().flatten().reduce(earlier);
        }
    }
}
