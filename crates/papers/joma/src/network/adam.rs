//! Adam and the clipping of gradients.

use attnlab_core::linalg::Real;
use rayon::prelude::*;

/// Entries that one task updates or sums. Sums of squares by such blocks do not depend on the number of threads.
const BLOCK: usize = 1 << 14;

/// Adam (Kingma, Ba 2015) with β = (.9, .999) and ε = 1e-8, weight decay added to the gradient, as in PyTorch's.
#[derive(Clone, Debug)]
pub struct Adam<T> {
    /// Learning rate.
    pub rate: f64,
    /// Weight decay.
    pub decay: f64,
    steps: i32,
    first: Vec<T>,
    second: Vec<T>,
}

impl<T: Real> Adam<T> {
    /// Creates the optimiser for this number of parameters.
    pub fn new(rate: f64, decay: f64, parameters: usize) -> Self {
        Adam { rate, decay, steps: 0, first: vec![T::zero(); parameters], second: vec![T::zero(); parameters] }
    }

    /// Sets both moments and the count of steps to zero.
    pub fn reset(&mut self) {
        self.steps = 0;
        self.first.fill(T::zero());
        self.second.fill(T::zero());
    }

    /// Returns the number of steps since the start or the last reset, and both moments.
    pub fn state(&self) -> (i32, [&[T]; 2]) {
        (self.steps, [&self.first, &self.second])
    }

    /// Sets the number of steps and both moments.
    pub fn restore(&mut self, steps: i32, [first, second]: [Vec<T>; 2]) {
        self.steps = steps;
        self.first = first;
        self.second = second;
    }

    /// Changes the parameters by one step.
    pub fn step(&mut self, parameters: &mut [T], gradient: &[T]) {
        self.steps = self.steps.saturating_add(1);
        let (beta1, beta2) = (0.9, 0.999);
        let correction1 = 1.0 - f64::powi(beta1, self.steps);
        let correction2 = 1.0 - f64::powi(beta2, self.steps);
        let step = T::of_f64(self.rate / correction1);
        let root = T::of_f64(correction2.sqrt());
        let (decay, epsilon) = (T::of_f64(self.decay), T::of_f64(1e-8));
        let (b1, b2) = (T::of_f64(beta1), T::of_f64(beta2));
        let (c1, c2) = (T::one() - b1, T::one() - b2);
        parameters
            .par_chunks_mut(BLOCK)
            .zip(gradient.par_chunks(BLOCK))
            .zip(self.first.par_chunks_mut(BLOCK))
            .zip(self.second.par_chunks_mut(BLOCK))
            .for_each(|(((parameters, gradient), first), second)| {
                for ((x, g), (m, v)) in parameters.iter_mut().zip(gradient).zip(first.iter_mut().zip(second)) {
                    let g = *g + decay * *x;
                    *m = b1 * *m + c1 * g;
                    *v = b2 * *v + c2 * g * g;
                    *x -= step * *m / (v.sqrt() / root + epsilon);
                }
            });
    }
}

/// Scales a gradient down to the Euclidean norm `most`, if it is longer, and returns its norm before.
pub fn clip<T: Real>(gradient: &mut [T], most: f64) -> f64 {
    let sums: Vec<f64> =
        gradient.par_chunks(BLOCK).map(|block| block.iter().map(|g| g.as_f64().powi(2)).sum()).collect();
    let norm = sums.iter().sum::<f64>().sqrt();
    if norm > most {
        let scale = T::of_f64(most / norm);
        gradient.par_iter_mut().for_each(|g| *g *= scale);
    }
    norm
}
