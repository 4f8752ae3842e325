//! Work and memory of a forward pass, by formula.

use super::architecture::{HeadMaps, MlpKind, OutputHead, TransformerArchitecture};
use super::attention::TILE;
use attnlab_lab::run::memory::product;

/// Floating-point operations of the products of a forward pass of N tokens, two per multiplication and addition. What is
/// done number by number (norms, softmax, nonlinearities, biases) is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardCost {
    /// Linear maps of the blocks: 2 N (weights of the blocks' matrices).
    pub maps: u64,
    /// Attention over the pairs that a query may attend to: 4 p · heads · N (N + 1)/2 per block in a causal network,
    /// 4 p · heads · N² in others.
    pub attention: u64,
    /// Attention as [`Transformer`](super::Transformer) computes it, in tiles of 128 queries.
    pub attention_executed: u64,
    /// Logits of one token: 2 V d; 0 for a network without logits.
    pub logits_of_a_token: u64,
}

impl TransformerArchitecture {
    /// Computes the operations of a forward pass of `tokens` tokens.
    ///
    /// ```
    /// use attnlab_networks::transformer::TransformerArchitecture;
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/llama");
    /// let cost = TransformerArchitecture::of_network(folder.as_ref())?.forward_cost(100);
    /// assert!(cost.attention <= cost.attention_executed);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn forward_cost(&self, tokens: usize) -> ForwardCost {
        let n = tokens as u64;
        let per_pair = product(&[4, self.head_dim as u64, self.heads as u64, self.layers as u64]);
        let tiles = (0..tokens).step_by(TILE).map(|start| {
            let columns = TILE.min(tokens - start);
            (if self.causal { start + columns } else { tokens } * columns) as u64
        });
        let pairs = if self.causal { product(&[n, n + 1]) / 2 } else { product(&[n, n]) };
        ForwardCost {
            maps: product(&[2, n, self.entries_of_blocks()]),
            attention: product(&[per_pair, pairs]),
            attention_executed: product(&[per_pair, tiles.fold(0, u64::saturating_add)]),
            logits_of_a_token: match self.output {
                OutputHead::Absent => 0,
                _ => product(&[2, self.vocabulary as u64, self.width as u64]),
            },
        }
    }

    /// Entries of the matrices that a forward pass multiplies by, over all blocks.
    fn entries_of_blocks(&self) -> u64 {
        let (d, h, p) = (self.width as u64, self.hidden as u64, self.head_dim as u64);
        let heads = match self.form.maps {
            HeadMaps::Separate => 2 * (self.heads + self.kv_heads) as u64,
            HeadMaps::Shared | HeadMaps::Tied { .. } => 2 * self.heads as u64,
        };
        let maps = 2 + u64::from(self.mlp == MlpKind::SwiGlu);
        let with_mlp = self.attention_only_from.unwrap_or(self.layers) as u64;
        product(&[self.layers as u64, heads, p, d]).saturating_add(product(&[with_mlp, maps, d, h]))
    }

    /// Computes the bytes of the numbers (f32) that a forward pass of `tokens` tokens holds at its peak, beside the
    /// weights: residual stream, normalised input, queries, keys, values and outputs of the heads, or the hidden layer of
    /// the MLP, and the logits of 128 tokens.
    pub fn activation_bytes(&self, tokens: usize) -> u64 {
        let heads = self.heads * self.head_dim;
        let attention = 2 * self.width + 2 * heads + 2 * self.kv_heads * self.head_dim;
        let layers_of_mlp = if self.mlp == MlpKind::SwiGlu { 3 } else { 1 };
        let mlp = 3 * self.width + heads + layers_of_mlp * self.hidden;
        let logits = product(&[self.vocabulary as u64, tokens.min(super::predict::LOGIT_TILE) as u64]);
        let states = product(&[attention.max(mlp) as u64, tokens as u64]);
        product(&[4, states.saturating_add(logits)])
    }
}

#[cfg(test)]
mod tests {
    use super::super::parts::EXECUTED;
    use super::super::{Transformer, TransformerArchitecture};
    use std::path::PathBuf;

    fn data(name: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
    }

    /// Counts the products that a pass executes, on threads of its own.
    fn executed(work: impl Fn() + Sync) -> u64 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let count = || -> u64 { pool.broadcast(|_| EXECUTED.get()).iter().sum() };
        let before = count();
        pool.install(&work);
        count() - before
    }

    #[test]
    fn the_formula_is_what_is_executed() {
        for name in ["llama", "gpt2", "gpt-neox", "opt", "llama-tied"] {
            let network = Transformer::open(&data(name)).unwrap();
            let a = network.architecture();
            let n = a.context.min(300);
            let ids: Vec<u32> = (0..n as u32).map(|i| i % a.vocabulary as u32).collect();
            let cost = a.forward_cost(n);
            let operations = executed(|| drop(network.losses(&ids).unwrap()));
            // The last token predicts nothing and is left out.
            let less = a.forward_cost(n - 1);
            let expected = less.maps + less.attention_executed + (n as u64 - 1) * less.logits_of_a_token;
            assert_eq!(operations, expected, "{name}");
            assert!(cost.maps > less.maps && cost.attention <= cost.attention_executed);
        }
    }

    /// AoT 2024, Table 3: 16 sequences of 1024 tokens through GPT-2 Base and Medium take 2785 and 9898 GFLOPS. These are
    /// the linear maps and the logits of each sequence's last token (nanoGPT without targets), without attention's
    /// products; the table of 50304 tokens is nanoGPT's.
    #[test]
    fn printed_operations_are_those_of_the_linear_maps() {
        let small = TransformerArchitecture::of_network(&data("gpt2")).unwrap();
        for (layers, width, printed) in [(12, 768, 2785.0), (24, 1024, 9898.0)] {
            let a = TransformerArchitecture {
                layers,
                width,
                vocabulary: 50_304,
                heads: width / 64,
                kv_heads: width / 64,
                head_dim: 64,
                hidden: 4 * width,
                ..small.clone()
            };
            let cost = a.forward_cost(1024);
            let linear = 16.0 * (cost.maps + cost.logits_of_a_token) as f64 / 1e9;
            assert!((linear - printed).abs() < 1.0, "{linear} {printed}");
            let with_attention = 16.0 * (cost.maps + cost.attention) as f64 / 1e9;
            assert!(with_attention > printed + 100.0, "{with_attention}");
        }
    }
}
