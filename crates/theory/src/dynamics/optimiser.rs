//! Adam and gradient descent, and the schedule of the learning rate.

use attnlab_core::error::{Result, at_least, positive, require};
use attnlab_core::linalg::Real;

/// Rule that updates the weights from a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimiser {
    /// Adam (Kingma and Ba 2015) with $\beta_1 = .9$, $\beta_2 = .999$, $\epsilon = 10^{-8}$: the
    /// defaults, which the authors of Denoising use.
    Adam,
    /// Plain gradient descent.
    GradientDescent,
}

attnlab_core::named!(Optimiser, "optimiser": Adam = "adam", GradientDescent = "gradient-descent");

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// Settings of a training run: optimiser, learning rate, epochs, batches.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Number of passes over the training prompts.
    pub epochs: usize,
    /// Number of prompts per step; `None` takes all of them, in their order.
    pub batch: Option<usize>,
    /// Update rule.
    pub optimiser: Optimiser,
    /// Learning rate at the start.
    pub rate: f64,
    /// Shares of the epochs, in [0, 1], after which the rate is multiplied by `decay`.
    pub milestones: Vec<f64>,
    /// Factor on the learning rate at each milestone.
    pub decay: f64,
}

impl Recipe {
    /// Returns the settings of the authors of Denoising: Adam with learning rate .01 in batches of 80, multiplied by
    /// 0.1 after 80 % and again after 90 % of the epochs. The text of the paper states only Adam and the batch size.
    pub fn authors(epochs: usize) -> Self {
        Recipe {
            epochs,
            batch: Some(80),
            optimiser: Optimiser::Adam,
            rate: 0.01,
            milestones: vec![0.8, 0.9],
            decay: 0.1,
        }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::Error::Invalid) with the setting, its value and its range.
    pub fn validate(&self) -> Result<()> {
        at_least("epochs", self.epochs, 1)?;
        at_least("batch", self.batch.unwrap_or(1), 1)?;
        positive("rate", self.rate)?;
        positive("decay", self.decay)?;
        for share in &self.milestones {
            require((0.0..=1.0).contains(share), "milestones", share, "must be shares in [0, 1]")?;
        }
        Ok(())
    }

    /// Returns the learning rate of an epoch, counted from 0. A milestone is the epoch ⌊share · epochs⌋,
    /// rounded as in the authors' code.
    ///
    /// ```
    /// let recipe = attnlab_theory::dynamics::Recipe::authors(100);
    /// assert_eq!([79, 80, 99].map(|e| (recipe.rate_at(e) * 1e6).round()), [1e4, 1e3, 1e2]);
    /// ```
    pub fn rate_at(&self, epoch: usize) -> f64 {
        // In binary .29 · 100 is 28.999..; the slack of 1e-6 epochs corrects such products.
        let passed = |share: &&f64| epoch >= (**share * self.epochs as f64 + 1e-6).floor() as usize;
        let passed = self.milestones.iter().filter(passed).count();
        self.rate * self.decay.powi(passed as i32)
    }
}

/// State of the optimiser between steps.
pub(super) struct State<T> {
    optimiser: Optimiser,
    steps: i32,
    first: Vec<T>,
    second: Vec<T>,
}

impl<T: Real> State<T> {
    pub(super) fn new(optimiser: Optimiser, parameters: usize) -> Self {
        State { optimiser, steps: 0, first: vec![T::zero(); parameters], second: vec![T::zero(); parameters] }
    }

    /// Takes one step: updates `x` by its derivatives.
    pub(super) fn step(&mut self, rate: f64, x: &mut [T], derivatives: &[T]) {
        self.steps += 1;
        match self.optimiser {
            Optimiser::GradientDescent => {
                let rate = T::of_f64(rate);
                x.iter_mut().zip(derivatives).for_each(|(x, d)| *x -= rate * *d);
            }
            Optimiser::Adam => self.adam(rate, x, derivatives),
        }
    }

    fn adam(&mut self, rate: f64, x: &mut [T], derivatives: &[T]) {
        let [b1, b2, epsilon] = [BETA_1, BETA_2, EPSILON].map(T::of_f64);
        let step = T::of_f64(rate / (1.0 - BETA_1.powi(self.steps)));
        let root = T::of_f64((1.0 - BETA_2.powi(self.steps)).sqrt());
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((x, d), (m, v)) in x.iter_mut().zip(derivatives).zip(moments) {
            *m = b1 * *m + (T::one() - b1) * *d;
            *v = b2 * *v + (T::one() - b2) * *d * *d;
            // Through f64, which rounds to the same f32: `sqrt` itself is ambiguous here under the feature `lapack`.
            let size = T::of_f64(v.as_f64().sqrt());
            *x -= step * *m / (size / root + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// torch 2.9.1, double precision, Adam at .1 on x² + 3 y⁴ from (1, -.5):
    /// `x = torch.tensor([1., -.5], dtype=torch.float64, requires_grad=True)`, `o = torch.optim.Adam([x], lr=.1)`,
    /// three times `o.zero_grad(); (x[0]**2 + 3*x[1]**4).backward(); o.step(); print(x.tolist())`.
    #[test]
    fn adam_is_torch_s() {
        let mut state = State::new(Optimiser::Adam, 2);
        let mut x = [1.0_f64, -0.5];
        for expected in [
            [0.9000000005, -0.40000000066666663],
            [0.8004122286917927, -0.30643678265842844],
            [0.7015862729460302, -0.22275248036310694],
        ] {
            let slope = [2.0 * x[0], 12.0 * x[1].powi(3)];
            state.step(0.1, &mut x, &slope);
            for (value, expected) in x.iter().zip(expected) {
                assert!((value - expected).abs() < 1e-14, "{value} {expected}");
            }
        }
    }

    #[test]
    fn rates_fall_at_the_authors_epochs() {
        // int(.29 * 100) is 28 in Python, because .29 * 100 is 28.999999999999996: a millionth of an
        // epoch is added here, so that 29 % of 100 epochs are 29.
        let recipe = Recipe { milestones: vec![0.29], ..Recipe::authors(100) };
        let rates = [28, 29].map(|e| recipe.rate_at(e));
        assert_eq!(rates[0], 0.01);
        assert!((rates[1] - 0.001).abs() < 1e-18);
    }
}
