//! The part of a nonlinearity that a GPU reads: plain data, so that no nonlinearity depends on a GPU
//! library and the GPU crate knows no nonlinearity by name.

/// The pass by which a GPU computes V φ(Mask(S)) of one head from its scores s_ij.
#[derive(Clone, Debug, PartialEq)]
pub enum GpuPass {
    /// Softmax of each column: a running maximum, a sum, and weights relative to the maximum.
    Softmax,
    /// A weight that depends on its own score alone.
    Entrywise {
        /// WGSL text of `fn weight(score: f32) -> f32`. Other names in it must begin with `weight_`, since
        /// the shader around it has names of its own. Masked scores get weight 0, whatever it returns.
        weight: String,
        /// Whether each column is divided by the sum of its weights; a sum of 0 leaves zeros.
        normalise: bool,
    },
    /// One weight for every score above a cut, 0 for the others. Scores within rounding of the cut are
    /// decided in f64.
    ScoreAbove {
        /// The cut.
        cut: f64,
        /// The weight.
        value: f64,
    },
    /// One weight for every entry whose softmax weight is above a cut, 0 for the others. Entries within
    /// rounding of the cut are decided by the plain definition.
    WeightAbove {
        /// The cut, > 0.
        cut: f64,
        /// The weight.
        value: f64,
    },
    /// Weight 1 on the largest score. Columns whose two largest scores are within rounding are decided
    /// by the plain definition.
    Largest,
}

impl GpuPass {
    /// Tells whether the pass ends in decisions, so that scores may be computed in half precision: doubtful
    /// decisions are made again in f64 and the result does not depend on it.
    pub fn decides(&self) -> bool {
        match self {
            GpuPass::Softmax | GpuPass::Entrywise { .. } => false,
            GpuPass::ScoreAbove { .. } | GpuPass::WeightAbove { .. } | GpuPass::Largest => true,
        }
    }
}
