//! Read-out and cross-entropy.

use super::layout::LinearSlots;
use super::{Batch, linear};
use attnlab_core::linalg::Real;
use ndarray::{Array2, ArrayViewMut1, Axis, ShapeBuilder};
use rayon::prelude::*;

/// Classes that the network is asked for: at which columns, and with which weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets {
    /// Columns of the batch, each at most once.
    pub columns: Vec<usize>,
    /// The class at every column.
    pub classes: Vec<usize>,
    /// The weight of every column in the loss; they sum to 1 for a mean.
    pub weights: Vec<f64>,
}

impl Targets {
    /// Asks for one class at the last column of every sequence.
    pub fn last(batch: &Batch, classes: &[usize], weights: &[f64]) -> Self {
        Targets {
            columns: batch.spans.iter().map(|span| span.end - 1).collect(),
            classes: classes.to_vec(),
            weights: weights.to_vec(),
        }
    }

    /// Asks for the class at every column, with equal weights that sum to 1.
    pub fn every(classes: Vec<usize>) -> Self {
        let n = classes.len();
        Targets { columns: (0..n).collect(), classes, weights: vec![1.0 / n as f64; n] }
    }

    /// Chooses the columns that are asked for: (d, number of targets).
    fn chosen<T: Real>(&self, states: &Array2<T>) -> Array2<T> {
        let mut chosen = Array2::zeros((states.nrows(), self.columns.len()).f());
        for (mut column, t) in chosen.columns_mut().into_iter().zip(&self.columns) {
            column.assign(&states.column(*t));
        }
        chosen
    }

    /// Computes the scores of all classes at every target.
    pub(super) fn scores<T: Real>(&self, slots: LinearSlots, flat: &[T], states: &Array2<T>) -> Array2<T> {
        linear::forward(slots, flat, self.chosen(states).view())
    }

    /// Computes −ln P[class] at every target.
    pub(super) fn losses<T: Real>(&self, slots: LinearSlots, flat: &[T], states: &Array2<T>) -> Vec<f64> {
        let mut scores = self.scores(slots, flat, states);
        normalise(&mut scores, &self.classes)
    }

    /// Computes the weighted sum of −ln P[class].
    pub(super) fn weighted(&self, losses: &[f64]) -> f64 {
        losses.iter().zip(&self.weights).map(|(l, w)| l * w).sum()
    }

    /// Computes the loss, adds the derivatives by the read-out to `gradient`, and returns that by the states.
    pub(super) fn backward<T: Real>(
        &self,
        slots: LinearSlots,
        flat: &[T],
        states: &Array2<T>,
        gradient: &mut [T],
    ) -> (f64, Array2<T>) {
        let chosen = self.chosen(states);
        let mut scores = linear::forward(slots, flat, chosen.view());
        let losses = normalise(&mut scores, &self.classes);
        let weighed = self.classes.iter().zip(&self.weights);
        for (mut column, (class, weight)) in scores.columns_mut().into_iter().zip(weighed) {
            column[*class] -= T::one();
            let weight = T::of_f64(*weight);
            column.mapv_inplace(|g| g * weight);
        }
        let by_chosen = linear::backward(slots, flat, chosen.view(), scores.view(), gradient);
        let mut by_states = Array2::zeros(states.dim().f());
        for (column, t) in by_chosen.columns().into_iter().zip(&self.columns) {
            by_states.column_mut(*t).assign(&column);
        }
        (self.weighted(&losses), by_states)
    }
}

/// Turns every column of scores into probabilities and returns −ln P of its class.
fn normalise<T: Real>(scores: &mut Array2<T>, classes: &[usize]) -> Vec<f64> {
    scores
        .axis_iter_mut(Axis(1))
        .into_par_iter()
        .zip(classes)
        .map(|(mut column, class)| softmax(&mut column, *class))
        .collect()
}

fn softmax<T: Real>(column: &mut ArrayViewMut1<T>, class: usize) -> f64 {
    let largest = column.fold(T::neg_infinity(), |m, x| m.max(*x));
    let score = column[class] - largest;
    column.mapv_inplace(|x| (x - largest).exp());
    let sum = column.sum();
    column.mapv_inplace(|x| x / sum);
    sum.as_f64().ln() - score.as_f64()
}
