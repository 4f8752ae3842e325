//! Softmax attention of all heads, a tile of queries at a time.

use super::architecture::TransformerArchitecture;
use super::parts::multiply;
use attnlab_core::linalg::Threads;
use attnlab_theory::attention::streaming::{at_full_width, exp_shifted, largest};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, ShapeBuilder, s};
use rayon::prelude::*;

/// Queries of a tile. Causal attention computes on average half a tile of scores in vain.
pub(super) const TILE: usize = 128;

/// Added to the square of a query's length, as in training, so that zeros stay zeros.
const LEAST_SQUARE: f64 = 1e-20;

/// Output of attention: (heads · p, N), and per head (N, N) what was asked for.
pub(super) struct Attended {
    pub(super) outputs: Array2<f32>,
    pub(super) scores: Vec<Array2<f32>>,
    pub(super) weights: Vec<Array2<f32>>,
}

/// A head's work on a tile of queries.
struct Task<'a> {
    head: usize,
    /// First query of the tile.
    start: usize,
    output: ArrayViewMut2<'a, f32>,
    scores: Option<ArrayViewMut2<'a, f32>>,
    weights: Option<ArrayViewMut2<'a, f32>>,
}

/// Computes attention of the last n of N tokens from their queries (heads · p, n) and from the keys and values of all N
/// (2 · kv_heads · p, N), each rotated already. Every entry is computed by one thread in the same order of operations,
/// whatever the number of threads. Scores and weights are recorded for n = N alone.
pub(super) fn attend(
    queries: ArrayView2<f32>,
    keys_values: ArrayView2<f32>,
    a: &TransformerArchitecture,
    mask: Option<&[bool]>,
    record_scores: bool,
    record_weights: bool,
) -> Attended {
    let n = queries.ncols();
    let square = |wanted: bool, fill: f32| -> Vec<Array2<f32>> {
        let heads = if wanted { a.heads } else { 0 };
        (0..heads).map(|_| Array2::from_elem((n, n).f(), fill)).collect()
    };
    let mut attended = Attended {
        outputs: Array2::zeros((a.heads * a.head_dim, n).f()),
        scores: square(record_scores, f32::NEG_INFINITY),
        weights: square(record_weights, 0.0),
    };
    let mut tasks: Vec<Task> = vec![];
    for (tile, mut rest) in attended.outputs.axis_chunks_iter_mut(Axis(1), TILE).enumerate() {
        for head in 0..a.heads {
            let (output, others) = rest.split_at(Axis(0), a.head_dim);
            rest = others;
            tasks.push(Task { head, start: tile * TILE, output, scores: None, weights: None });
        }
    }
    for (head, scores) in attended.scores.iter_mut().enumerate() {
        for (tile, view) in scores.axis_chunks_iter_mut(Axis(1), TILE).enumerate() {
            tasks[tile * a.heads + head].scores = Some(view);
        }
    }
    for (head, weights) in attended.weights.iter_mut().enumerate() {
        for (tile, view) in weights.axis_chunks_iter_mut(Axis(1), TILE).enumerate() {
            tasks[tile * a.heads + head].weights = Some(view);
        }
    }
    // The long tiles of causal attention first.
    tasks.reverse();
    tasks
        .into_par_iter()
        .with_max_len(1)
        .for_each_init(Vec::new, |scratch, task| work(queries, keys_values, a, mask, task, scratch));
    attended
}

fn work(
    queries: ArrayView2<f32>,
    keys_values: ArrayView2<f32>,
    a: &TransformerArchitecture,
    mask: Option<&[bool]>,
    mut task: Task<'_>,
    scratch: &mut Vec<f32>,
) {
    let p = a.head_dim;
    let columns = task.output.ncols();
    let (start, end) = (task.start, task.start + columns);
    // Tokens before the first query.
    let past = keys_values.ncols() - queries.ncols();
    // Keys that some query of the tile sees.
    let visible_keys = if a.causal { past + end } else { keys_values.ncols() };
    let group = task.head / (a.heads / a.kv_heads);
    let rows = |first: usize| first * p..(first + 1) * p;
    let queries = queries.slice(s![rows(task.head), start..end]);
    let keys = keys_values.slice(s![rows(group), ..visible_keys]);
    let values = keys_values.slice(s![rows(a.kv_heads + group), ..visible_keys]);
    scratch.resize(visible_keys * columns, 0.0);
    let Ok(mut tile) = ArrayViewMut2::from_shape((visible_keys, columns).f(), &mut scratch[..]) else { return };
    let scale = if a.form.scaled { 1.0 / (p as f32).sqrt() } else { 1.0 };
    let unit = a.form.unit_queries.then(|| of_unit_length(queries));
    multiply(scale, keys.t(), unit.as_ref().map_or(queries, |unit| unit.view()), false, tile.view_mut(), Threads::One);
    for (j, mut column) in tile.columns_mut().into_iter().enumerate() {
        let Some(column) = column.as_slice_mut() else { continue };
        let visible = if a.causal { past + start + j + 1 } else { visible_keys };
        let (column, hidden) = column.split_at_mut(visible);
        for (x, attended) in column.iter_mut().zip(mask.unwrap_or_default()) {
            if !attended {
                *x = f32::NEG_INFINITY;
            }
        }
        record(&mut task.scores, j, column);
        at_full_width(
            #[inline(always)]
            || softmax(column),
        );
        hidden.fill(0.0);
        record(&mut task.weights, j, column);
    }
    multiply(1.0, values, tile.view(), false, task.output, Threads::One);
}

/// Copies column j of a tile to where it is recorded, if it is.
fn record(to: &mut Option<ArrayViewMut2<f32>>, j: usize, column: &[f32]) {
    if let Some(to) = to {
        to.column_mut(j).iter_mut().zip(column).for_each(|(to, from)| *to = *from);
    }
}

/// Scales every column to length 1; a column of zeros stays.
fn of_unit_length(queries: ArrayView2<f32>) -> Array2<f32> {
    let mut unit = queries.to_owned();
    for mut column in unit.columns_mut() {
        let square: f64 = column.iter().map(|x| f64::from(*x).powi(2)).sum();
        let scale = 1.0 / (square + LEAST_SQUARE).sqrt();
        column.mapv_inplace(|x| (scale * f64::from(x)) as f32);
    }
    unit
}

#[inline(always)]
fn softmax(x: &mut [f32]) {
    let scale = 1.0 / exp_shifted(x, largest(x));
    for x in x {
        *x *= scale;
    }
}
