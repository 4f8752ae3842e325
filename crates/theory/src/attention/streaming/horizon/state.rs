//! State of the pass: O(J) numbers for every token.

use pulp::Simd;
use std::ops::Range;

/// Number J of nodes of the grid in θ.
pub const NODES: usize = 12;

/// Spacing h of the nodes in u = θ σ_j. In this unit all noise columns of the model are alike: given σ_j
/// = |e_j| the signal scores are θ s_ij = u g_i with g_i independent standard normals. Twelve steps reach
/// u = 7.2; the earliest columns break near u = 0.59 √(2 log N) ≈ 2.4 (4.6 at τ = 0.99), a typical one
/// near √(2 log n) ≈ 5. Steps of 0.75 would reach farther, but the error of the estimate would then reach
/// 1e-3 where the largest few keys begin to outweigh the others.
pub(super) const SPACING: f64 = 0.6;

/// State of a block of tokens: maxima for all of them, sums for the noise columns.
pub struct Tokens {
    /// Largest score with a key of C_k (for tokens of C_k: other than the token itself).
    pub top: Vec<f32>,
    /// Largest score with a key outside C_k.
    pub other: Vec<f32>,
    /// Noise columns: B = Σ e^s over the keys outside C_k.
    pub fixed: Vec<f64>,
    /// Noise columns: J sums Σ_{i∈C_k} exp(g h (s_i/σ - c)), g = 1..=J.
    pub sums: Vec<[f64; NODES]>,
    /// Factor h log2(e) / σ of the kernels.
    pub scale: Vec<f32>,
    /// Offset -h c log2(e) of the kernels.
    pub shift: Vec<f32>,
}

/// Node grid of one noise column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Length σ_j of the column.
    pub sigma: f64,
    /// Distance of the nodes in θ: node g is θ = g · step.
    pub step: f64,
    /// Centre c, the expected largest g_i; it keeps x^J within the range of f32.
    pub centre: f64,
}

impl Grid {
    /// Makes the grid of a column of length `sigma` with `keys` signal keys. Long columns get wider
    /// steps, so that at least eight nodes lie beyond θ = 1.
    pub fn new(sigma: f64, keys: usize) -> Self {
        let spacing = SPACING.max(sigma / 4.0);
        Grid { sigma, step: spacing / sigma, centre: (2.0 * (keys as f64).ln()).sqrt() }
    }

    /// Returns the two f32 factors of the kernels.
    fn factors(&self) -> (f32, f32) {
        let spacing = self.step * self.sigma * std::f64::consts::LOG2_E;
        ((spacing / self.sigma) as f32, (-spacing * self.centre) as f32)
    }

    /// Computes log Σ_i e^{θ s_i} at node g from the sum that the pass kept.
    pub fn log_sum(&self, g: usize, sum: f64) -> f64 {
        // The factors are those of the kernels, so that their rounding does not count as an error.
        let (_, shift) = self.factors();
        sum.ln() - g as f64 * f64::from(shift) * std::f64::consts::LN_2
    }

    /// Returns θ of node g, with the rounded factors of the kernels.
    pub fn node(&self, g: usize) -> f64 {
        let (scale, _) = self.factors();
        g as f64 * f64::from(scale) * std::f64::consts::LN_2
    }
}

impl Tokens {
    /// Makes the initial state of the tokens in `range`.
    pub(super) fn new(range: Range<usize>, grids: &[Option<Grid>]) -> Self {
        let n = range.len();
        let factors = grids[range].iter().map(|g| g.map_or((0.0, 0.0), |g| g.factors()));
        let (scale, shift) = factors.unzip();
        Tokens {
            top: vec![f32::NEG_INFINITY; n],
            other: vec![f32::NEG_INFINITY; n],
            fixed: vec![0.0; n],
            sums: vec![[0.0; NODES]; n],
            scale,
            shift,
        }
    }

    /// Adds a tile's power sums to column j.
    #[inline(always)]
    pub fn add_sums(&mut self, j: usize, sums: [f32; NODES]) {
        for (total, sum) in self.sums[j].iter_mut().zip(sums) {
            *total += f64::from(sum);
        }
    }

    /// Adds a tile's power sums and maxima to the columns from `start`, one per lane of a vector.
    #[inline(always)]
    pub fn add_lanes<S: Simd>(&mut self, start: usize, sums: [S::f32s; NODES], max: S::f32s) {
        for (g, sum) in sums.iter().enumerate() {
            for (lane, sum) in lanes::<S>(sum).iter().enumerate() {
                self.sums[start + lane][g] += f64::from(*sum);
            }
        }
        for (top, max) in self.top[start..].iter_mut().zip(lanes::<S>(&max)) {
            *top = top.max(*max);
        }
    }
}

/// Returns the numbers in a vector.
fn lanes<S: Simd>(vector: &S::f32s) -> &[f32] {
    pulp::bytemuck::cast_slice(std::slice::from_ref(vector))
}
