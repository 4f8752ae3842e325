//! Texts in windows of ids.

use crate::Tokenizer;
use crate::transformer::TransformerArchitecture;
use attnlab_core::error::{Result, require};

/// Ids of a text in windows of equal length, each with the special tokens that the tokenizer puts around a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    ids: Vec<u32>,
    window: usize,
    skip: usize,
}

impl Windows {
    /// Cuts the first ids of a text into windows of `window` ids, until they hold `tokens` of them. Of the residual
    /// stream the first `skip` columns of every window are left out: in many networks they are sinks of attention,
    /// a hundred times as long as others.
    ///
    /// # Errors
    /// A text that is shorter than one window; a window that is no longer than its special tokens and `skip`, or longer
    /// than the context of the network.
    pub fn of_text(
        text: &str,
        tokenizer: &Tokenizer,
        network: &TransformerArchitecture,
        [tokens, window, skip]: [usize; 3],
    ) -> Result<Self> {
        let (plain, around) = (tokenizer.encode_plain(text)?, tokenizer.encode("")?);
        // Special tokens before and after: those of the empty text, split where the text begins in its own ids.
        let whole = tokenizer.encode(text)?;
        let before = (0..=around.len()).find(|i| whole[*i..].starts_with(&plain));
        let (before, after) = around.split_at(before.unwrap_or(0));
        let allowed = format!("must be at most the context of the network, {}", network.context);
        require(window <= network.context, "window", window, allowed)?;
        let special = around.len();
        let least = special.saturating_add(skip).saturating_add(2);
        let allowed = format!(
            "must be at least {least}; {special} special tokens and skip = {skip} leave fewer than two of a window"
        );
        require(window >= least, "window", window, allowed)?;
        let room = window - special;
        let chunks = plain.chunks_exact(room).take(tokens.div_ceil(window).max(1));
        let ids: Vec<u32> = chunks.flat_map(|chunk| [before, chunk, after].concat()).collect();
        let allowed = format!("must have at least {room} tokens, one window; give a longer text or a smaller window");
        require(!ids.is_empty(), "text", format!("{} tokens", plain.len()), allowed)?;
        Ok(Windows { ids, window, skip })
    }

    /// Returns N, the number of tokens that are inspected.
    pub fn tokens(&self) -> usize {
        self.ids.len() / self.window * (self.window - self.skip)
    }

    /// Returns the ids, window after window.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Returns the number of tokens of a window, those that are left out of the residual stream among them.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Returns the ids of each window.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.ids.chunks_exact(self.window)
    }

    /// Returns the number of tokens that are left out at the start of every window.
    pub fn skip(&self) -> usize {
        self.skip
    }

    /// Returns the same windows with the ids in the order `order`, a permutation of their numbers.
    pub fn reordered(&self, order: &[usize]) -> Self {
        Windows { ids: order.iter().map(|i| self.ids[*i]).collect(), ..self.clone() }
    }
}
