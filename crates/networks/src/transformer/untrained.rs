//! Networks of the same architecture before any training: the control beside every number of a trained one.

use super::Transformer;
use super::architecture::HeadMaps;
use super::weights::{Affine, Block, MlpWeights, NormWeights, Weights, back};
use attnlab_core::rng::{Generator, Streams};
use ndarray::Array2;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

impl Transformer {
    /// Returns a network of the same architecture as it is before training: entries of matrices and tables are
    /// independent normals of the family's standard deviation, gains are 1 and biases 0.
    ///
    /// ```
    /// use attnlab_core::rng::Streams;
    /// use attnlab_networks::Transformer;
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gpt2");
    /// let trained = Transformer::open(folder.as_ref())?;
    /// let control = trained.untrained(&Streams::new(1, "untrained", 0, 0));
    /// assert_eq!(control.architecture(), trained.architecture());
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn untrained(&self, streams: &Streams) -> Transformer {
        let w = &self.weights;
        let a = &self.architecture;
        let sigma = a.sigma as f32;
        let table = |name: &str, table: &Array2<f32>| drawn(table, sigma, &mut streams.part(name, 0));
        let block = |(layer, block): (usize, &Block)| {
            let mut rng = streams.part("block", layer as u64);
            let mut map = |map: &Affine| Affine {
                weight: drawn(&map.weight, sigma, &mut rng),
                bias: map.bias.as_ref().map(|b| vec![0.0; b.len()]),
            };
            let qkv = map(&block.qkv);
            let out = match a.form.maps {
                HeadMaps::Tied { eta } => back(&qkv, eta),
                HeadMaps::Separate | HeadMaps::Shared => map(&block.out),
            };
            let mlp =
                |mlp: &MlpWeights| MlpWeights { up: map(&mlp.up), down: map(&mlp.down), norm: neutral(&mlp.norm) };
            Block { qkv, out, mlp: block.mlp.as_ref().map(mlp), attention_norm: neutral(&block.attention_norm) }
        };
        Transformer {
            path: self.path.clone(),
            architecture: self.architecture.clone(),
            weights: Weights {
                tokens: table("tokens", &w.tokens),
                positions: w.positions.as_ref().map(|t| table("positions", t)),
                segments: w.segments.as_ref().map(|t| table("segments", t)),
                output: w.output.as_ref().map(|t| table("output", t)),
                embedding_norm: w.embedding_norm.as_ref().map(neutral),
                last_norm: w.last_norm.as_ref().map(neutral),
                // A part of the encoding of positions, not of the training.
                rotary_factors: w.rotary_factors.clone(),
                blocks: w.blocks.par_iter().enumerate().map(block).collect(),
            },
        }
    }
}

fn drawn(like: &Array2<f32>, sigma: f32, rng: &mut Generator) -> Array2<f32> {
    like.mapv(|_| sigma * Distribution::<f32>::sample(&StandardNormal, rng))
}

fn neutral(norm: &NormWeights) -> NormWeights {
    NormWeights { gain: vec![1.0; norm.gain.len()], bias: norm.bias.as_ref().map(|b| vec![0.0; b.len()]) }
}
