//! Attention of all heads between the two projections of a layer: one operation on the CPU, a graph of
//! primitive operations on other devices.

mod fused;
mod graph;
mod kernel;
#[cfg(test)]
mod tests;

use super::config::{AttentionForm, ModelConfig, Positions};
use super::device::ComputeDevice;
use burn::tensor::Tensor;
use graph::Tables;
use std::sync::Arc;

/// Base of the rotations and of the sinusoids.
pub(super) const ROTARY: f64 = 10_000.0;

/// Attention of all heads, for one number of tokens. All layers of a network share it.
pub(super) struct Attention {
    settings: Arc<HeadSettings>,
    /// Mask and rotations as tensors, for devices without the fused operation.
    tables: Option<Tables>,
}

/// Form of the heads of a layer. φ is softmax.
#[derive(Debug)]
struct HeadSettings {
    /// Number of heads.
    heads: usize,
    /// Flag: queries, keys and values have one projection, so that tokens come as (batch, tokens, d);
    /// otherwise they lie side by side, (batch, tokens, 3d).
    shared: bool,
    /// Flag: queries are scaled to unit length.
    normalise_queries: bool,
    /// Factor of the scores.
    scale: f64,
    /// Mask: of n keys, the number that query i sees, from the first on. It must not fall with i. A query
    /// that sees none has weights, output and derivatives 0.
    visible: fn(usize, usize) -> usize,
    rotation: Option<Rotation>,
}

/// Rotations of queries and keys by their positions: pair (j, j + p/2) turns by position · base^(-2j/p).
#[derive(Debug)]
struct Rotation {
    /// cos and sin, (tokens, p/2) each, row by row.
    cos: Vec<f64>,
    sin: Vec<f64>,
}

impl HeadSettings {
    fn new(config: &ModelConfig, tokens: usize) -> Self {
        let root = 1.0 / (config.head_dim() as f64).sqrt();
        let (shared, normalise_queries, scaled) = match config.attention {
            AttentionForm::MssaTied { normalise_queries, scaled, .. }
            | AttentionForm::Mssa { normalise_queries, scaled } => (true, normalise_queries, scaled),
            AttentionForm::Mhsa => (false, false, true),
        };
        let rotary = config.positions == Positions::Rotary;
        HeadSettings {
            heads: config.heads,
            shared,
            normalise_queries,
            scale: if scaled { root } else { 1.0 },
            visible: if config.causal { |i, _| i + 1 } else { |_, n| n },
            rotation: rotary.then(|| Rotation::new(tokens, config.head_dim())),
        }
    }

    /// Returns the number of matrices that lie side by side in the projected tokens.
    fn parts(&self) -> usize {
        if self.shared { 1 } else { 3 }
    }
}

impl Rotation {
    fn new(tokens: usize, p: usize) -> Self {
        let half = p / 2;
        let angle = |i: usize| {
            let (position, j) = (i / half, i % half);
            position as f64 * ROTARY.powf(-2.0 * j as f64 / p as f64)
        };
        let table = |f: fn(f64) -> f64| (0..tokens * half).map(|i| f(angle(i))).collect();
        Rotation { cos: table(f64::cos), sin: table(f64::sin) }
    }

    /// Turns a row by the angles of its position, or back.
    #[inline(always)]
    fn turn<T: attnlab_core::linalg::Real>(&self, position: usize, row: &mut [T], back: bool) {
        let half = row.len() / 2;
        let (low, high) = row.split_at_mut(half);
        let angles = position * half..(position + 1) * half;
        let angles = self.cos[angles.clone()].iter().zip(&self.sin[angles]);
        for ((low, high), (cos, sin)) in low.iter_mut().zip(high).zip(angles) {
            let sin = if back { -*sin } else { *sin };
            let (cos, sin) = (T::of_f64(*cos), T::of_f64(sin));
            (*low, *high) = (*low * cos - *high * sin, *high * cos + *low * sin);
        }
    }
}

impl Attention {
    pub(super) fn new(config: &ModelConfig, device: &ComputeDevice, tokens: usize) -> Self {
        let settings = HeadSettings::new(config, tokens);
        let tables = (!device.fuses).then(|| Tables::new(&settings, device, tokens, config));
        Attention { settings: Arc::new(settings), tables }
    }

    /// Computes the outputs of the heads side by side (batch, tokens, d) from the projected tokens.
    pub(super) fn heads(&self, projected: Tensor<3>) -> Tensor<3> {
        match &self.tables {
            None => fused::heads(projected, &self.settings),
            Some(tables) => graph::heads(projected, &self.settings, tables),
        }
    }

    /// Computes the weights (batch, head, query, key), for recordings: derivatives do not pass.
    pub(super) fn weights(&self, projected: Tensor<3>) -> Tensor<4> {
        match &self.tables {
            None => fused::weights(projected, &self.settings),
            Some(tables) => graph::weights(projected, &self.settings, tables),
        }
    }
}
