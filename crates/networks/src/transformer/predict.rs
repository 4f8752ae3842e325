//! Predictions of the next token: losses, or any other reading of the logits, with the work on a common beginning of
//! several sequences done once.

use super::Transformer;
use super::forward::{Past, TokenInput};
use super::parts::{multiply, sum};
use super::recordings::{Recorded, Recordings};
use attnlab_core::error::{Result, require};
use attnlab_core::linalg::Threads;
use attnlab_theory::attention::streaming::{Exp, at_full_width, largest};
use ndarray::{Array2, ArrayView2, Axis, ShapeBuilder, s};
use rayon::prelude::*;
use std::ops::Range;

/// Tokens whose logits are computed at a time.
pub(super) const LOGIT_TILE: usize = 128;

/// Keys and values of the tokens with which several sequences begin, per block.
#[derive(Clone, Debug)]
pub struct Prefix {
    layers: Vec<Array2<f32>>,
    tokens: usize,
}

impl Prefix {
    /// Returns the number of tokens.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Keys and values (2 · kv_heads · p, tokens) of a block.
    pub(super) fn layer(&self, layer: usize) -> ArrayView2<'_, f32> {
        self.layers[layer].view()
    }
}

/// Computes the loss (nats) of a token, −log of its probability under these logits (V).
///
/// Exponentials are in f32 and their sum is in f64: a sum in f32 loses the small terms of a large vocabulary, some 1e-5
/// of 5·10⁴. Of the exact loss of the same logits remain |x − max| 2⁻²⁴ for the rounding of each difference and 2⁻²² for each
/// exponential, both weighted by the probabilities and of either sign: below 1e-6 in all while probable tokens are
/// within e^-12 of the most probable one.
///
/// ```
/// use attnlab_networks::transformer::log_loss;
/// assert!((log_loss(&[0.5; 4], 2) - 4.0_f64.ln()).abs() < 1e-12);
/// ```
///
/// # Panics
/// For a token that is not below V.
pub fn log_loss(logits: &[f32], token: u32) -> f64 {
    let logit = logits[token as usize];
    at_full_width(
        #[inline(always)]
        || {
            let max = largest(logits);
            let exponentials = sum(
                logits,
                #[inline(always)]
                |x| f64::from(f32::exp_lane(x - max)),
            );
            exponentials.ln() + f64::from(max) - f64::from(logit)
        },
    )
}

impl Transformer {
    /// Computes the losses (nats) of N tokens: entry t is −log of the probability of token t + 1 after tokens 0 to t,
    /// N − 1 in all.
    ///
    /// # Errors
    /// As [`Transformer::forward`]; a network that does not predict the next token; fewer than two tokens.
    pub fn losses(&self, ids: &[u32]) -> Result<Vec<f64>> {
        self.ensure_predicts()?;
        let allowed = "must be at least 2 tokens; the first has no loss";
        require(ids.len() >= 2, "ids", format!("{} tokens", ids.len()), allowed)?;
        self.predict(ids, 0..ids.len() - 1, |t, logits| log_loss(logits, ids[t + 1]))
    }

    /// Calls `read` with t and the logits (V) of the token after tokens 0 to t, for every t of `positions`, and returns
    /// its results in order. It may overwrite the logits; calls run in parallel.
    ///
    /// ```
    /// use attnlab_networks::Transformer;
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/llama");
    /// let network = Transformer::open(folder.as_ref())?;
    /// let ids = [1, 5, 3];
    /// let first = |t: usize, logits: &mut [f32]| logits.iter().all(|x| *x <= logits[ids[t + 1] as usize]);
    /// println!("predicted greedily: {:?}", network.predict(&ids, 0..2, first)?);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Transformer::forward`]; a network that does not predict the next token; positions beyond the tokens.
    pub fn predict<T: Send>(
        &self,
        ids: &[u32],
        positions: Range<usize>,
        read: impl Fn(usize, &mut [f32]) -> T + Sync,
    ) -> Result<Vec<T>> {
        self.predicted(None, ids, positions, &read)
    }

    /// Computes the part of [`Transformer::predict`] that sequences share which begin with these tokens; of none it is
    /// empty.
    ///
    /// # Errors
    /// As [`Transformer::predict`].
    pub fn prefix(&self, ids: &[u32]) -> Result<Prefix> {
        self.ensure_predicts()?;
        let a = self.architecture();
        if ids.is_empty() {
            let none = Array2::zeros((2 * a.kv_heads * a.head_dim, 0).f());
            return Ok(Prefix { layers: vec![none; a.layers], tokens: 0 });
        }
        let mut layers = vec![];
        self.states(&ids.into(), Past { before: None, kept: Some(&mut layers) })?;
        Ok(Prefix { layers, tokens: ids.len() })
    }

    /// Predicts as [`Transformer::predict`] does on the tokens of `prefix` and `ids` after them; t counts from the first
    /// of `ids`. The logits agree with those of the whole sequence up to rounding.
    ///
    /// # Errors
    /// As [`Transformer::predict`].
    ///
    /// # Panics
    /// With a prefix of another network.
    pub fn predict_after<T: Send>(
        &self,
        prefix: &Prefix,
        ids: &[u32],
        positions: Range<usize>,
        read: impl Fn(usize, &mut [f32]) -> T + Sync,
    ) -> Result<Vec<T>> {
        self.predicted(Some(prefix), ids, positions, &read)
    }

    fn predicted<T: Send>(
        &self,
        before: Option<&Prefix>,
        ids: &[u32],
        positions: Range<usize>,
        read: &(impl Fn(usize, &mut [f32]) -> T + Sync),
    ) -> Result<Vec<T>> {
        self.ensure_predicts()?;
        let allowed = format!("must be within the {} tokens", ids.len());
        require(positions.end <= ids.len(), "positions", format!("{positions:?}"), allowed)?;
        let past = Past { before, kept: None };
        // No token sees those after it: they would be computed in vain.
        let x = self.states(&ids[..positions.end].into(), past)?;
        let table = self.unembedding()?;
        let mut read_all = vec![];
        let mut first = positions.start;
        for columns in x.slice(s![.., positions]).axis_chunks_iter(Axis(1), LOGIT_TILE) {
            let mut logits = Array2::zeros((table.nrows(), columns.ncols()).f());
            multiply(1.0, table, columns, false, logits.view_mut(), Threads::All);
            let numbers = logits.as_slice_memory_order_mut().unwrap_or_default();
            let tile = numbers.par_chunks_exact_mut(table.nrows()).enumerate();
            read_all.par_extend(tile.map(|(t, logits)| read(first + t, logits)));
            first += columns.ncols();
        }
        Ok(read_all)
    }

    /// Computes the states (d, N) after the last norm, of which the logits are made.
    fn states(&self, input: &TokenInput, past: Past) -> Result<Array2<f32>> {
        let tokens = past.before.map_or(0, Prefix::tokens);
        self.check(input, tokens)?;
        let none = Recordings::none();
        none.ensure(self.architecture(), tokens + input.ids.len(), false)?;
        self.hidden_states(input, past, &none, &mut Recorded::default(), &mut |_| Ok(()))
    }

    fn ensure_predicts(&self) -> Result<()> {
        let allowed = "must be a causal network; this family does not predict the next token";
        require(self.architecture.causal, "network", self.architecture.family, allowed)
    }
}
