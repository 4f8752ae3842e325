//! One post-norm block: x ← LN(x + attention(x)), then x ← LN(x + W_2 σ(W_1 x + b_1) + b_2).

use super::attention::AttentionPass;
use super::layout::BlockSlots;
use super::norm::NormPass;
use super::{Dropout, Span, linear};
use attnlab_core::linalg::Real;
use ndarray::{Array2, ArrayView2};

/// Activations of a block that its derivative needs.
pub struct BlockPass<T> {
    attention: AttentionPass<T>,
    mixed: Array2<T>,
    norm1: NormPass<T>,
    /// Hidden units after their activation.
    hidden: Array2<T>,
    /// Hidden units after dropout; None where they are `hidden`.
    dropped: Option<Array2<T>>,
    linear: bool,
    norm2: NormPass<T>,
    /// Dropout of the attention, of the hidden units, and of the map out of them.
    masks: Option<[Array2<T>; 3]>,
}

impl<T: Real> BlockPass<T> {
    /// Computes the block for the states `x` (d, T).
    pub fn forward(
        slots: &BlockSlots,
        flat: &[T],
        x: &Array2<T>,
        spans: &[Span],
        linear_units: bool,
        mut dropout: Option<&mut Dropout>,
    ) -> Self {
        let [query, key, value] = [slots.query, slots.key, slots.value].map(|map| linear::forward(map, flat, x.view()));
        let (attention, mixed) = AttentionPass::forward(query, key, value, spans, dropout.as_deref_mut());
        let mut update = slots.projection.map_or_else(|| mixed.clone(), |map| linear::forward(map, flat, mixed.view()));
        let attention_mask = dropout.as_deref_mut().map(|d| d.apply(&mut update));
        update += x;
        let norm1 = NormPass::forward(slots.norm1, flat, update);
        let mut hidden = linear::forward(slots.lower, flat, norm1.output.view());
        if !linear_units {
            hidden.mapv_inplace(|u| u.max(T::zero()));
        }
        let hidden_mask: Option<Array2<T>> = dropout.as_deref_mut().map(|d| d.mask(hidden.dim()));
        let dropped = hidden_mask.as_ref().map(|mask| &hidden * mask);
        let mut update = linear::forward(slots.upper, flat, dropped.as_ref().unwrap_or(&hidden).view());
        let upper_mask = dropout.map(|d| d.apply(&mut update));
        update += &norm1.output;
        let norm2 = NormPass::forward(slots.norm2, flat, update);
        let masks = match (attention_mask, hidden_mask, upper_mask) {
            (Some(attention), Some(hidden), Some(upper)) => Some([attention, hidden, upper]),
            _ => None,
        };
        BlockPass { attention, mixed, norm1, hidden, dropped, linear: linear_units, norm2, masks }
    }

    /// Returns the states after the block, (d, T).
    pub fn output(&self) -> &Array2<T> {
        &self.norm2.output
    }

    /// Returns the hidden units, (hidden, T).
    pub fn hidden(&self) -> ArrayView2<'_, T> {
        self.hidden.view()
    }

    /// Returns the attention weights of every sequence.
    pub fn attention(&self) -> impl Iterator<Item = ArrayView2<'_, T>> {
        self.attention.weights()
    }

    /// Adds the derivatives by the parameters to `gradient`, and returns that by the input `x`.
    pub fn backward(
        &self,
        slots: &BlockSlots,
        flat: &[T],
        x: &Array2<T>,
        spans: &[Span],
        upstream: Array2<T>,
        gradient: &mut [T],
    ) -> Array2<T> {
        // d(norm1 + upper): the first summand takes it as it is.
        let sum = self.norm2.backward(slots.norm2, flat, upstream, gradient);
        let masked = self.masks.as_ref().map(|[.., upper]| &sum * upper);
        let upper = masked.as_ref().unwrap_or(&sum);
        let input = self.dropped.as_ref().unwrap_or(&self.hidden);
        let mut units = linear::backward(slots.upper, flat, input.view(), upper.view(), gradient);
        if let Some([_, hidden, _]) = &self.masks {
            units *= hidden;
        }
        if !self.linear {
            units.zip_mut_with(&self.hidden, |g, u| *g = if *u <= T::zero() { T::zero() } else { *g });
        }
        let mut middle = sum;
        let (input, units) = (self.norm1.output.view(), units.view());
        linear::backward_into(slots.lower, flat, input, units, gradient, &mut middle);
        let sum = self.norm1.backward(slots.norm1, flat, middle, gradient);
        let mut update = self.masks.as_ref().map_or_else(|| sum.clone(), |[attention, ..]| &sum * attention);
        if let Some(map) = slots.projection {
            update = linear::backward(map, flat, self.mixed.view(), update.view(), gradient);
        }
        let derivatives = self.attention.backward(spans, update.view());
        let mut dx = sum;
        for (map, derivative) in [slots.query, slots.key, slots.value].into_iter().zip(derivatives) {
            linear::backward_into(map, flat, x.view(), derivative.view(), gradient, &mut dx);
        }
        dx
    }
}
