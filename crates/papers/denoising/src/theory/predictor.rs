//! The predictors that a denoiser is compared with, and their expected losses.

use super::Prior;
use attnlab_core::error::{Result, at_least, require_shape};
use ndarray::{Array1, ArrayView1, ArrayView2};

/// A prediction of the clean query from the prompt, or, for the last three, with the task known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predictor {
    /// Zero.
    Zero,
    /// The query as it is, the last token of the prompt: loss $n\sigma_Z^2$.
    Query,
    /// The last clean token, $X_L$.
    LastToken,
    /// The mean of the clean tokens.
    ContextMean,
    /// $P\tilde x$.
    Projection,
    /// $c P\tilde x$ with the best constant, $c = s / (s + m\sigma_Z^2)$ for $s = \mathbb E\|X\|^2$ and
    /// a subspace of dimension $m$: the best predictor that is linear and isotropic there.
    ShrunkProjection,
    /// The posterior mean.
    Bayes,
}

// From the least to the most that they know.
attnlab_core::named!(Predictor, "predictor": Zero = "zero", Query = "query", LastToken = "last-token",
    ContextMean = "context-mean", Projection = "projection", ShrunkProjection = "shrunk-projection", Bayes = "bayes");

impl Predictor {
    /// The prediction for a prompt: clean tokens (n, L) and the query (n,).
    ///
    /// # Errors
    /// As [`Prior::posterior_mean`]; when there is no clean token or shapes differ.
    ///
    /// ```
    /// use attnlab_denoising::theory::{Predictor, Prior};
    /// use ndarray::{array, Array1};
    /// let line = Prior::Gaussian { basis: array![[1.0], [0.0]], variances: vec![2.0] };
    /// let (context, query) = (array![[1.0, 3.0], [0.0, 0.0]], Array1::from(vec![3.0, 5.0]));
    /// let mean = Predictor::ContextMean.predict(&line, context.view(), query.view(), 1.0)?;
    /// assert_eq!(mean, array![2.0, 0.0]);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn predict(
        self,
        prior: &Prior,
        context: ArrayView2<f64>,
        query: ArrayView1<f64>,
        sigma_z2: f64,
    ) -> Result<Array1<f64>> {
        let (n, tokens) = context.dim();
        at_least("L", tokens, 1)?;
        let expected = format!("tokens and query of n = {} components", prior.ambient());
        require_shape([n, query.len()] == [prior.ambient(); 2], "prompt", (n, query.len()), expected)?;
        Ok(match self {
            Predictor::Zero => Array1::zeros(n),
            Predictor::Query => query.to_owned(),
            Predictor::LastToken => context.column(tokens - 1).to_owned(),
            Predictor::ContextMean => context.sum_axis(ndarray::Axis(1)) / tokens as f64,
            Predictor::Projection => prior.project(query),
            Predictor::ShrunkProjection => prior.project(query) * shrink(prior, sigma_z2),
            Predictor::Bayes => return prior.posterior_mean(query, sigma_z2),
        })
    }

    /// Expected loss with `context` clean tokens, where a closed form or a quadrature gives it: None
    /// for the Bayes optimum of clusters in general position.
    pub fn loss(self, prior: &Prior, context: f64, sigma_z2: f64) -> Option<f64> {
        let (second, rank) = (prior.second_moment(), prior.rank() as f64);
        let mean = prior.mean();
        let variance = second - mean.dot(&mean);
        Some(match self {
            Predictor::Zero => second,
            Predictor::Query => prior.ambient() as f64 * sigma_z2,
            Predictor::LastToken => 2.0 * variance,
            Predictor::ContextMean => variance * (1.0 + 1.0 / context),
            Predictor::Projection => rank * sigma_z2,
            Predictor::ShrunkProjection => rank * sigma_z2 * shrink(prior, sigma_z2),
            Predictor::Bayes => return prior.bayes_loss(sigma_z2),
        })
    }
}

fn shrink(prior: &Prior, sigma_z2: f64) -> f64 {
    let second = prior.second_moment();
    second / (second + prior.rank() as f64 * sigma_z2)
}
