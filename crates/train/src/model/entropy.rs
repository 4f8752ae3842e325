//! Cross-entropy over a vocabulary, in pieces that fit into one buffer binding of a GPU.

use super::config::Input;
use super::parameters::Model;
use attnlab_core::error::{Error, Result};
use burn::tensor::{Int, Tensor, activation};

/// Largest size of a piece in bytes: the default limit of wgpu for one binding, 128 MiB.
const PIECE: usize = 128 << 20;

/// Computes the mean cross-entropy (nats) of the next tokens `targets` (batch, tokens) under the scores that
/// `hidden` (batch, tokens, width) gives. No buffer is larger than 128 MiB: at a vocabulary of 50 304
/// the scores of 667 tokens are made at a time.
///
/// # Errors
/// [`Error::Invalid`] for a network without a table of tokens.
pub fn cross_entropy(model: &Model, hidden: Tensor<3>, targets: Tensor<2, Int>) -> Result<Tensor<1>> {
    let vocabulary = match model.config().input {
        Input::Tokens { vocabulary } => vocabulary,
        other => {
            let requirement = "must be tokens; the scores of the next token need their table";
            return Err(Error::invalid("input", format!("{other:?}"), requirement));
        }
    };
    // Numbers of four bytes; f64 is for small tests alone.
    Ok(piecewise(model, hidden, targets, (PIECE / 4 / vocabulary).max(1)))
}

/// Computes the cross-entropy in pieces of `most` rows.
pub(super) fn piecewise(model: &Model, hidden: Tensor<3>, targets: Tensor<2, Int>, most: usize) -> Tensor<1> {
    let [batch, n, d] = hidden.dims();
    let rows = batch * n;
    let (hidden, targets) = (hidden.reshape([rows, d]), targets.reshape([rows, 1]));
    let piece = |start: usize| {
        let count = most.min(rows - start);
        let scores = model.logits(hidden.clone().narrow(0, start, count));
        activation::log_softmax(scores, 1).gather(1, targets.clone().narrow(0, start, count)).sum()
    };
    let mut sums = (0..rows).step_by(most).map(piece);
    // There is at least one token, hence one piece.
    let first = sums.next().unwrap_or_else(|| hidden.clone().sum());
    sums.fold(first, |a, b| a + b).mul_scalar(-1.0 / rows as f64)
}
