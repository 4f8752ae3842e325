//! Description of a nonlinearity for a GPU. It is plain data, so that nonlinearities do not depend on a
//! GPU library and the GPU crate does not depend on single nonlinearities.

/// Pass by which a GPU computes V φ(Mask(S)) of one head from its scores s_ij.
#[derive(Clone, Debug, PartialEq)]
pub enum GpuPass {
    /// Softmax of each column, by a running maximum and a sum of weights relative to it.
    Softmax,
    /// Weights that each depend on one score only.
    Entrywise {
        /// WGSL source of `fn weight(score: f32) -> f32`. Its other names must begin with `weight_`, so that they do
        /// not clash with names of the surrounding shader. Masked scores get weight 0 regardless of it.
        weight: String,
        /// Flag: each column is divided by the sum of its weights; a column of sum 0 stays zero.
        normalise: bool,
    },
    /// One weight for every score above a cut, 0 for the others. Scores within rounding of the cut are decided in f64.
    ScoreAbove {
        /// Cut on the score.
        cut: f64,
        /// Weight of the scores above it.
        value: f64,
    },
    /// One weight for every entry whose softmax weight is above a cut, 0 for the others. Entries within
    /// rounding of the cut are decided by the plain definition.
    WeightAbove {
        /// Cut on the softmax weight, > 0.
        cut: f64,
        /// Weight of the entries above it.
        value: f64,
    },
    /// Weight 1 on the largest score. Columns whose two largest scores are within rounding are decided
    /// by the plain definition.
    Largest,
}

impl GpuPass {
    /// Returns `true` for a pass that ends in decisions. Its scores may be computed in half precision:
    /// doubtful decisions are repeated in f64, so that the result does not depend on the precision.
    pub fn decides(&self) -> bool {
        match self {
            GpuPass::Softmax | GpuPass::Entrywise { .. } => false,
            GpuPass::ScoreAbove { .. } | GpuPass::WeightAbove { .. } | GpuPass::Largest => true,
        }
    }
}
