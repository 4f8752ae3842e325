//! Nonlinearities of other packages on a GPU: refused without a pass there, computed with one.

use super::passes::gpu;
use attnlab_core::linalg::normal_matrix;
use attnlab_core::rng::Streams;
use attnlab_theory::attention::streaming::Machine;
use attnlab_theory::attention::{GpuPass, Mask, Mssa, Nonlinearity};
use ndarray::Array2;

/// Sparsemax (Martins and Astudillo, ICML 2016), the projection onto the simplex: its plain definition
/// alone.
#[derive(Debug)]
struct Sparsemax;

impl Nonlinearity for Sparsemax {
    fn name(&self) -> &str {
        "sparsemax"
    }

    fn apply(&self, column: &mut [f64]) {
        let mut sorted = column.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let (mut sum, mut tau) = (0.0, f64::INFINITY);
        for (k, z) in sorted.iter().enumerate().filter(|(_, z)| z.is_finite()) {
            sum += z;
            let size = (k + 1) as f64;
            if 1.0 + size * z > sum {
                tau = (sum - 1.0) / size;
            }
        }
        column.iter_mut().for_each(|x| *x = (*x - tau).max(0.0));
    }
}

/// φ(x)_i = max(x_i, 0)² / Σ_j max(x_j, 0)² with its part for a GPU.
#[derive(Debug)]
struct SquaredRelu {
    weight: &'static str,
}

impl Nonlinearity for SquaredRelu {
    fn name(&self) -> &str {
        "squared-relu"
    }

    fn apply(&self, column: &mut [f64]) {
        column.iter_mut().for_each(|x| *x = x.max(0.0).powi(2));
        let sum: f64 = column.iter().sum();
        if sum > 0.0 {
            column.iter_mut().for_each(|x| *x /= sum);
        }
    }

    fn gpu(&self) -> Option<GpuPass> {
        Some(GpuPass::Entrywise { weight: self.weight.into(), normalise: true })
    }
}

const SQUARE: SquaredRelu = SquaredRelu {
    weight: "fn weight_root(x: f32) -> f32 { return max(x, 0.0); }
             fn weight(score: f32) -> f32 { return weight_root(score) * weight_root(score); }",
};

fn tokens(p: usize, n: usize) -> Array2<f32> {
    let mut rng = Streams::new(1, "gpu strangers", 0, 0).part("tokens", 0);
    (normal_matrix(p, n, &mut rng) * (2.0 / (p as f64).sqrt())).mapv(|x| x as f32)
}

#[test]
fn a_nonlinearity_without_a_pass_is_refused() {
    let Some(gpu) = gpu() else { return };
    let layer = Mssa::new(Sparsemax, 0.5);
    let y = tokens(7, 200);
    assert_eq!(
        gpu.stream_head(&layer, y.view()).unwrap_err().to_string(),
        "phi = sparsemax: must be a nonlinearity with a pass on the GPU; this one has none. Write \
         --backend cpu"
    );
    assert!(layer.stream_head(y.view()).is_ok());
}

#[test]
fn a_weight_in_wgsl_is_all_that_an_entrywise_one_needs() {
    let Some(gpu) = gpu() else { return };
    let y = tokens(21, 500);
    for mask in [Mask::None, Mask::Causal] {
        let layer = Mssa { mask, ..Mssa::new(SQUARE, 0.5) };
        let there = gpu.stream_head(&layer, y.view()).unwrap().output;
        // Column by column in f64.
        let here = layer.stream_head(y.view()).unwrap().output;
        let size = here.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
        let gap = (&there - &here).iter().fold(0.0_f32, |m, x| m.max(x.abs()));
        // A score of up to 10 errs by some roundings, a square relatively by twice that.
        assert!(gap < 1e-5 * size, "{mask:?}: {gap} of {size}");
    }
}

/// This test has its own device, since a device that failed once reports its error again.
#[test]
fn wgsl_that_does_not_compile_is_an_error() {
    let Some(gpu) = super::passes::open(&attnlab_gpu::Options::default()) else { return };
    let wrong = SquaredRelu { weight: "fn weight(score: f32) -> f32 { return scoree; }" };
    let refused = gpu.stream_head(&Mssa::new(wrong, 0.5), tokens(3, 20).view());
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("scoree"), "{text}");
}
