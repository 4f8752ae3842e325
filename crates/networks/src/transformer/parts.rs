//! Parts of a block that work token by token: affine maps, normalisations, nonlinearities, rotations.

use super::architecture::{MlpKind, NormKind, RotaryPairs, RotaryScaling, TransformerArchitecture};
use super::weights::{Affine, NormWeights};
use attnlab_core::linalg::{Threads, gemm};
use attnlab_theory::attention::streaming::{Exp, LANES, at_full_width, fold_lanes};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, ShapeBuilder};
use rayon::prelude::*;
use std::ops::Range;

#[cfg(test)]
thread_local! {
    /// Floating-point operations of the products that this thread began, two per multiplication and addition.
    pub(super) static EXECUTED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Computes Y = s A B, or Y + s A B with `add`: every product of a forward pass goes through here.
pub(super) fn multiply(
    s: f32,
    a: ArrayView2<f32>,
    b: ArrayView2<f32>,
    add: bool,
    y: ArrayViewMut2<f32>,
    threads: Threads,
) {
    #[cfg(test)]
    EXECUTED.with(|c| c.set(c.get() + 2 * (a.nrows() * a.ncols() * b.ncols()) as u64));
    gemm(s, a, b, add, y, threads);
}

/// Numbers that a task of a parallel loop handles at least: some microseconds of work.
const LEAST_TASK: usize = 1 << 14;

/// Calls `work` with the number and the column of every token of a column-major matrix (rows, N), in parallel.
pub(super) fn each_token(x: &mut Array2<f32>, work: impl Fn(usize, &mut [f32]) + Sync + Send) {
    let rows = x.nrows().max(1);
    if let Some(numbers) = x.as_slice_memory_order_mut() {
        let columns = numbers.par_chunks_mut(rows).with_min_len(LEAST_TASK.div_ceil(rows));
        columns.enumerate().for_each(|(i, column)| work(i, column));
    }
}

/// Computes W X + b (out, N), column-major.
pub(super) fn affine(map: &Affine, x: ArrayView2<f32>) -> Array2<f32> {
    let mut y = Array2::zeros((map.weight.nrows(), x.ncols()).f());
    add_affine(map, x, &mut y, map.bias.is_some());
    y
}

/// Adds W X + b to Y, or replaces Y = 0 by W X if there is nothing to `add` to.
pub(super) fn add_affine(map: &Affine, x: ArrayView2<f32>, y: &mut Array2<f32>, add: bool) {
    if let Some(bias) = &map.bias {
        each_token(y, |_, column| {
            for (y, b) in column.iter_mut().zip(bias) {
                *y += b;
            }
        });
    }
    multiply(1.0, map.weight.view(), x, add, y.view_mut(), Threads::All);
}

/// Normalises every token in place: LayerNorm or RMSNorm with the variance in f64, then gain and bias.
pub(super) fn normalise(x: &mut Array2<f32>, norm: &NormWeights, kind: NormKind, epsilon: f64) {
    let (gain, bias) = (&norm.gain[..], norm.bias.as_deref());
    each_token(x, |_, column| {
        at_full_width(
            #[inline(always)]
            || normalise_token(column, gain, bias, kind, epsilon),
        );
    });
}

#[inline(always)]
fn normalise_token(x: &mut [f32], gain: &[f32], bias: Option<&[f32]>, kind: NormKind, epsilon: f64) {
    let d = x.len() as f64;
    let mean = if kind == NormKind::Layer { sum(x, f64::from) / d } else { 0.0 };
    let variance = sum(x, |x| (f64::from(x) - mean) * (f64::from(x) - mean)) / d;
    let scale = 1.0 / (variance + epsilon).sqrt();
    let (mean, scale) = (mean as f32, scale as f32);
    for (x, g) in x.iter_mut().zip(gain) {
        *x = (*x - mean) * scale * g;
    }
    for (x, b) in x.iter_mut().zip(bias.unwrap_or_default()) {
        *x += b;
    }
}

/// Adds f(x_i) in f64, in a fixed order of lanes.
#[inline(always)]
pub(super) fn sum(x: &[f32], f: impl Fn(f32) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] += f(chunk[l]);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane += f(*x);
    }
    fold_lanes(lanes)
}

/// Applies the nonlinearity to the input of the hidden layer; of SwiGLU's (2h, N) remain (h, N).
pub(super) fn activate(mut x: Array2<f32>, kind: MlpKind) -> Array2<f32> {
    match kind {
        MlpKind::Relu => each_token(&mut x, |_, x| x.iter_mut().for_each(|x| *x = x.max(0.0))),
        MlpKind::Gelu => each_token(&mut x, |_, x| x.iter_mut().for_each(|x| *x = gelu(*x))),
        MlpKind::GeluTanh => each_token(&mut x, |_, x| {
            at_full_width(
                #[inline(always)]
                || x.iter_mut().for_each(|x| *x = gelu_tanh(*x)),
            );
        }),
        MlpKind::SwiGlu => {
            let hidden = x.nrows() / 2;
            let mut y = Array2::zeros((hidden, x.ncols()).f());
            if let Some(x) = x.as_slice_memory_order() {
                each_token(&mut y, |i, y| {
                    let (gate, up) = x[2 * hidden * i..2 * hidden * (i + 1)].split_at(hidden);
                    at_full_width(
                        #[inline(always)]
                        || {
                            for ((y, g), u) in y.iter_mut().zip(gate).zip(up) {
                                *y = g / (1.0 + f32::exp_lane(-g)) * u;
                            }
                        },
                    );
                });
            }
            return y;
        }
    }
    x
}

/// x Φ(x).
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + libm::erff(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// x (1 + tanh u) / 2 with u = √(2/π) (x + 0.044715 x³), by (1 + tanh u)/2 = 1/(1 + e^(-2u)).
#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    // 2 √(2/π).
    const SLOPE: f32 = 1.595_769;
    x / (1.0 + f32::exp_lane(-SLOPE * (x + 0.044_715 * x * x * x)))
}

/// Angles of a rotary encoding: cosines and sines, r/2 per token.
pub(super) struct Rotation {
    pub(super) turned: usize,
    pub(super) pairs: RotaryPairs,
    pub(super) cos: Vec<f32>,
    pub(super) sin: Vec<f32>,
}

impl Rotation {
    /// Computes the angles of a range of positions in f64. The frequencies are scaled, and divided by `factors` (r/2)
    /// where there are some.
    pub(super) fn new(
        turned: usize,
        base: f64,
        pairs: RotaryPairs,
        scaling: RotaryScaling,
        factors: Option<&[f32]>,
        positions: Range<usize>,
    ) -> Self {
        let mut frequencies: Vec<f64> =
            (0..turned / 2).map(|i| scaled(base.powf(-2.0 * i as f64 / turned as f64), scaling)).collect();
        for (frequency, factor) in frequencies.iter_mut().zip(factors.unwrap_or_default()) {
            *frequency /= f64::from(*factor);
        }
        let angles = positions.flat_map(|t| frequencies.iter().map(move |f| f * t as f64));
        let (sin, cos) = angles.map(f64::sin_cos).map(|(s, c)| (s as f32, c as f32)).unzip();
        Rotation { turned, pairs, cos, sin }
    }

    /// Turns queries and keys in the columns of (queries; keys; values).
    pub(super) fn turn(&self, qkv: &mut Array2<f32>, a: &TransformerArchitecture) {
        let half = self.turned / 2;
        each_token(qkv, |token, column| {
            let [cos, sin] = [&self.cos, &self.sin].map(|angles| &angles[token * half..(token + 1) * half]);
            for head in column.chunks_mut(a.head_dim).take(a.heads + a.kv_heads) {
                let head = &mut head[..self.turned];
                match self.pairs {
                    RotaryPairs::Halves => {
                        let (x, y) = head.split_at_mut(half);
                        for i in 0..half {
                            (x[i], y[i]) = (x[i] * cos[i] - y[i] * sin[i], y[i] * cos[i] + x[i] * sin[i]);
                        }
                    }
                    RotaryPairs::Neighbours => {
                        for (i, pair) in head.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                            let [x, y] = *pair;
                            *pair = [x * cos[i] - y * sin[i], y * cos[i] + x * sin[i]];
                        }
                    }
                }
            }
        });
    }
}

/// The frequency (radians per token) after scaling.
fn scaled(frequency: f64, scaling: RotaryScaling) -> f64 {
    match scaling {
        RotaryScaling::None => frequency,
        RotaryScaling::Linear { factor } => frequency / factor,
        RotaryScaling::Llama3 { factor, low, high, original_context } => {
            let turns = original_context * frequency / std::f64::consts::TAU;
            let share = ((turns - low) / (high - low)).clamp(0.0, 1.0);
            (1.0 - share) * frequency / factor + share * frequency
        }
    }
}
