//! The training loop.

use super::gradient::{gradient_of, loss_of};
use super::kernels::Precision;
use super::optimiser::State;
use super::{Attention, Form, Prompts, Recipe, Weights};
use attnlab_core::error::{Error, Result, require};
use attnlab_core::rng::{Streams, shuffle};

/// Result of a training run.
#[derive(Clone, Debug, PartialEq)]
pub struct History<T> {
    /// Training loss per component, over all training prompts, at the start and after each epoch.
    pub train: Vec<f64>,
    /// Test loss per component, over all test prompts, at the start and after each epoch.
    pub test: Vec<f64>,
    /// Weights at the end.
    pub weights: Weights<T>,
}

impl<T> History<T> {
    /// Computes the change of the training loss during the last tenth of the epochs, relative to its last
    /// value. It is near 0 if the run has settled, whether at a good or a bad minimum.
    pub fn drift(&self) -> f64 {
        let last = self.train.len() - 1;
        let before = self.train[last - last.div_ceil(10).min(last)];
        (before - self.train[last]) / self.train[last]
    }
}

/// Largest ratio of the last training loss to the first for which a run is accepted. Stochastic steps
/// around an optimum that was also the start change the loss by a few per cent, not by a tenth.
const WORSE: f64 = 1.1;

/// Trains the layer from `start`, which must have the trained `form`.
///
/// The batches are those of [`order`], drawn anew for each epoch.
///
/// # Errors
/// If shapes or settings do not fit; if the loss becomes infinite or NaN (the message has the step and
/// the last finite loss); or if the run ends with a larger training loss than it began with, since its
/// numbers then say nothing about the layer.
///
/// ```
/// use attnlab_core::{linalg::normal_matrix, rng::Streams};
/// use attnlab_theory::dynamics::{Attention, Example, Form, Prompts, Recipe, Weights, loss, train};
/// // The query is the first token of the context with half of its length.
/// let (data, run) = (Streams::new(1, "doc", 0, 0), Streams::new(1, "doc", 0, 1));
/// let set = |name, count| {
///     let draw = |i| {
///         let context = normal_matrix(4, 100, &mut data.part(name, i));
///         let target = context.column(0).to_owned();
///         Ok(Example { query: &target * 0.5, target, context })
///     };
///     Prompts::<f32>::draw(count, &[Attention::Linear], draw, |_| Ok(()))
/// };
/// let ((prompts, _), (test, _)) = (set("train", 800)?, set("test", 200)?);
/// let form = Form::ScaledIdentity;
/// let start = Weights::uniform(4, form, &run);
/// let history = train(Attention::Linear, [&prompts, &test], &start, form, &Recipe::authors(60), &run)?;
/// let after = loss(Attention::Linear, &test, &history.weights)?;
/// assert!(after < 0.2 * loss(Attention::Linear, &test, &start)?);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn train<T: Precision>(
    attention: Attention,
    [prompts, test]: [&Prompts<T>; 2],
    start: &Weights<T>,
    form: Form,
    recipe: &Recipe,
    streams: &Streams,
) -> Result<History<T>> {
    recipe.validate()?;
    let sets = [prompts, test];
    for set in sets {
        set.check(attention)?;
        start.validate(set.ambient())?;
    }
    let batch = recipe.batch.unwrap_or(prompts.len());
    let allowed = format!("must be at most the {} training prompts", prompts.len());
    require(batch <= prompts.len(), "batch", batch, allowed)?;
    let mut weights = start.clone();
    let mut parameters = weights.parameters(form);
    let mut state = State::new(recipe.optimiser, parameters.len());
    let mut losses = Losses { attention, sets, recipe, losses: [vec![], vec![]], steps: 0, last: None };
    losses.measure(&weights)?;
    for epoch in 0..recipe.epochs {
        let rate = recipe.rate_at(epoch);
        let order = match recipe.batch {
            Some(_) => order(prompts.len(), streams, epoch as u64),
            None => (0..prompts.len()).collect(),
        };
        for which in order.chunks(batch) {
            let (loss, slope) = gradient_of(attention, prompts, &weights, which);
            losses.watch(loss)?;
            losses.steps += 1;
            state.step(rate, &mut parameters, &slope.derivatives(form));
            weights.set(form, &parameters);
        }
        losses.measure(&weights)?;
    }
    losses.finish(weights)
}

/// Draws the order in which an epoch takes the training prompts, uniform over all orders.
pub fn order(prompts: usize, streams: &Streams, epoch: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..prompts).collect();
    shuffle(&mut order, &mut streams.part("order", epoch));
    order
}

/// Losses so far, with checks.
struct Losses<'a, T> {
    attention: Attention,
    sets: [&'a Prompts<T>; 2],
    recipe: &'a Recipe,
    losses: [Vec<f64>; 2],
    steps: u64,
    /// Last finite loss, and the number of steps before it.
    last: Option<(f64, u64)>,
}

impl<T: Precision> Losses<'_, T> {
    /// Computes and checks the losses on all prompts.
    fn measure(&mut self, weights: &Weights<T>) -> Result<()> {
        for i in 0..2 {
            let loss = loss_of(self.attention, self.sets[i], weights);
            self.watch(loss)?;
            self.losses[i].push(loss);
        }
        Ok(())
    }

    /// Checks a loss on all prompts, or that of a batch before its step.
    fn watch(&mut self, loss: f64) -> Result<()> {
        if loss.is_finite() {
            self.last = Some((loss, self.steps));
            return Ok(());
        }
        let before = match self.last {
            Some((loss, steps)) => format!("the last finite loss was {loss:.6} after {steps} steps"),
            None => "no loss was finite".into(),
        };
        Err(Error::diverged(format!(
            "training diverged: the loss is {loss} after {} steps; {before}. Write a smaller rate \
             than {}",
            self.steps, self.recipe.rate
        )))
    }

    fn finish(self, weights: Weights<T>) -> Result<History<T>> {
        let [train, test] = self.losses;
        let (first, last) = (train[0], train[train.len() - 1]);
        if last > WORSE * first {
            return Err(Error::not_converged(format!(
                "training did not converge: after {} steps the training loss is {last:.6}, and it \
                 began at {first:.6}. Write a smaller rate than {}, or more epochs than {}",
                self.steps, self.recipe.rate, self.recipe.epochs
            )));
        }
        Ok(History { train, test, weights })
    }
}
