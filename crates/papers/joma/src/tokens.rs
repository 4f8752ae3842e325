//! Token frequencies by class (JoMA, Figs. 2 and 3).

use crate::dynamics::{Attention, Backpropagated, Training};
use crate::theory::Activation;
use attnlab_core::error::{self, Result};
use attnlab_core::rng::Streams;
use ndarray::Array2;
use rand::RngExt;

/// Frequencies of tokens in one sample per class: some tokens may tell classes apart, others are common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassTokens {
    /// Tokens that may tell classes apart, the first ones.
    pub distinct: usize,
    /// Common tokens.
    pub common: usize,
    /// Number of classes.
    pub classes: usize,
    /// Some w²: those of class i are a bump exp(-(l - i D/K)²/w²), moving with the class. None: all are uniform.
    pub width2: Option<f64>,
}

impl ClassTokens {
    /// The setting of the authors' code: 10 distinct tokens, 10 common ones, 20 classes.
    pub fn of_figure_2(smooth: bool) -> Self {
        ClassTokens { distinct: 10, common: 10, classes: 20, width2: smooth.then_some(30.0) }
    }

    /// The frequencies x (M_C, K), of sum 1 per class.
    ///
    /// # Errors
    /// No tokens or classes, a width that is not positive.
    ///
    /// ```
    /// use attnlab_core::rng::Streams;
    /// use attnlab_joma::tokens::ClassTokens;
    /// let x = ClassTokens::of_figure_2(true).draw(&Streams::new(1, "doc", 0, 0))?;
    /// assert_eq!(x.dim(), (20, 20));
    /// assert!((x.column(3).sum() - 1.0).abs() < 1e-14);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn draw(&self, streams: &Streams) -> Result<Array2<f64>> {
        let tokens = self.distinct + self.common;
        error::at_least("tokens", tokens, 1)?;
        error::at_least("classes", self.classes, 1)?;
        let mut rng = streams.part("inputs", 0);
        let mut x = Array2::from_shape_simple_fn((tokens, self.classes), || {
            // As in the code; never 0, so that every sample has tokens.
            0.5 * (1.0 - rng.random::<f64>())
        });
        if let Some(width2) = self.width2 {
            error::positive("width2", width2)?;
            let (distinct, classes) = (self.distinct as f64, self.classes as f64);
            for ((l, i), x) in x.indexed_iter_mut() {
                if l < self.distinct {
                    let far = l as f64 - i as f64 / classes * distinct;
                    *x = (-far * far / width2).exp();
                }
            }
        }
        for mut column in x.columns_mut() {
            let sum = column.sum();
            column /= sum;
        }
        Ok(x)
    }

    /// Draws the layer of Figs. 2 and 3: softmax attention at a temperature, a linear node per class, cross-entropy.
    ///
    /// # Errors
    /// As [`ClassTokens::draw`]; a temperature that is not positive.
    pub fn layer(&self, temperature: f64, streams: &Streams) -> Result<Training> {
        let labels = Backpropagated::CrossEntropy((0..self.classes).collect());
        Training::uniform(Attention::Softmax, Activation::LINEAR, self.classes, self.draw(streams)?, labels)?
            .at_temperature(temperature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layer_gives_back_the_frequencies_by_token_and_class() {
        let tokens = ClassTokens { distinct: 3, ..ClassTokens::of_figure_2(true) };
        let streams = Streams::new(0, "test", 0, 0);
        let drawn = tokens.draw(&streams).unwrap();
        let layer = tokens.layer(1.0, &streams).unwrap();
        assert_eq!(layer.inputs(), drawn);
        assert_ne!(drawn.nrows(), drawn.ncols());
        assert!(layer.inputs().sum_axis(ndarray::Axis(0)).iter().all(|sum| (sum - 1.0).abs() < 1e-12));
    }
}
