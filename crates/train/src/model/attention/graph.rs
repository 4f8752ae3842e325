//! Attention as a graph of burn's primitive operations: for every device, and the reference of the fused operation.

use super::kernel::TINY;
use super::{HeadSettings, ROTARY};
use crate::model::config::ModelConfig;
use crate::model::device::ComputeDevice;
use burn::tensor::{Tensor, activation};

/// Score of a masked token. Its weight is exactly 0, in f32 too, and unlike -∞ it gives no NaN when multiplied by zero.
const HIDDEN: f64 = -1e9;

/// Mask and rotations on the device.
pub(super) struct Tables {
    /// Mask (1, 1, query, key): 0 where the query sees the key. Every query sees at least one.
    mask: Option<Tensor<4>>,
    /// cos and sin of the rotations, (1, 1, tokens, p) each.
    rotation: Option<(Tensor<4>, Tensor<4>)>,
}

impl Tables {
    pub(super) fn new(settings: &HeadSettings, device: &ComputeDevice, n: usize, config: &ModelConfig) -> Self {
        let mask = config.causal.then(|| {
            let hidden = |i: usize| if i % n < (settings.visible)(i / n, n) { 0.0 } else { HIDDEN };
            device.tensor((0..n * n).map(hidden).collect(), [1, 1, n, n])
        });
        let p = config.head_dim();
        let rotation = settings.rotation.as_ref().map(|_| {
            // Pair j of p/2 turns by position · base^(-2j/p); the pairs are (j, j + p/2).
            let angle = |i: usize| {
                let (position, j) = (i / p, (i % p) % (p / 2));
                position as f64 * ROTARY.powf(-2.0 * j as f64 / p as f64)
            };
            let table = |f: fn(f64) -> f64| device.tensor((0..n * p).map(|i| f(angle(i))).collect(), [1, 1, n, p]);
            (table(f64::cos), table(f64::sin))
        });
        Tables { mask, rotation }
    }

    /// Rotates queries or keys (batch, head, tokens, p).
    fn turn(&self, y: Tensor<4>) -> Tensor<4> {
        let Some((cos, sin)) = &self.rotation else { return y };
        let [_, _, _, p] = y.dims();
        let (low, high) = (y.clone().narrow(3, 0, p / 2), y.clone().narrow(3, p / 2, p / 2));
        y * cos.clone() + Tensor::cat(vec![high.neg(), low], 3) * sin.clone()
    }
}

pub(super) fn heads(projected: Tensor<3>, settings: &HeadSettings, tables: &Tables) -> Tensor<3> {
    let (query, key, value) = split(projected, settings);
    join(weights_of(query, key, settings, tables).matmul(value))
}

pub(super) fn weights(projected: Tensor<3>, settings: &HeadSettings, tables: &Tables) -> Tensor<4> {
    let (query, key, _) = split(projected, settings);
    weights_of(query, key, settings, tables)
}

fn weights_of(query: Tensor<4>, key: Tensor<4>, settings: &HeadSettings, tables: &Tables) -> Tensor<4> {
    let query = if settings.normalise_queries { unit_length(query) } else { query };
    let mut scores = tables.turn(query).matmul(tables.turn(key).transpose());
    if settings.scale != 1.0 {
        scores = scores.mul_scalar(settings.scale);
    }
    if let Some(mask) = &tables.mask {
        scores = scores + mask.clone();
    }
    activation::softmax(scores, 3)
}

/// Splits the projected tokens into queries, keys and values (batch, head, tokens, p).
fn split(projected: Tensor<3>, settings: &HeadSettings) -> (Tensor<4>, Tensor<4>, Tensor<4>) {
    let [batch, n, width] = projected.dims();
    let d = width / settings.parts();
    let heads = |y: Tensor<3>| y.reshape([batch, n, settings.heads, d / settings.heads]).swap_dims(1, 2);
    if settings.shared {
        let y = heads(projected);
        return (y.clone(), y.clone(), y);
    }
    let part = |i: usize| heads(projected.clone().narrow(2, i * d, d));
    (part(0), part(1), part(2))
}

/// Joins heads (batch, head, tokens, p) to (batch, tokens, d).
fn join(heads: Tensor<4>) -> Tensor<3> {
    let [batch, count, n, p] = heads.dims();
    heads.swap_dims(1, 2).reshape([batch, n, count * p])
}

/// Scales every row to length 1.
fn unit_length(y: Tensor<4>) -> Tensor<4> {
    let square = y.clone().square().sum_dim(3);
    y / square.add_scalar(TINY).sqrt()
}
