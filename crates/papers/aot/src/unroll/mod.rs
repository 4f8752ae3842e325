//! The unrolled network on one's own tokens: the SNR (6) of every cluster, layer by layer.
//!
//! ```
//! use attnlab_aot::unroll::{Data, unroll};
//! use attnlab_core::rng::Streams;
//! use attnlab_theory::{attention::{Mssa, ThresholdedSoftmax}, sample::Mixture};
//! let draw = Mixture::balanced(60, 2, 40, 0.05)?.draw(&Streams::new(1, "doc", 0, 0))?;
//! let data = Data::new(draw.tokens, draw.bases, draw.labels)?;
//! let layer = Mssa::new(ThresholdedSoftmax { tau: 0.6 }, 0.5);
//! let report = unroll(&data, &layer, 3)?;
//! // Theorem 1: every layer multiplies the SNR by 1 + eta tau = 1.3.
//! let ratio = report.layers[3].snr[0] / report.layers[2].snr[0];
//! assert!((ratio - 1.3).abs() < 1e-9);
//! # Ok::<(), attnlab_core::Error>(())
//! ```

mod data;

pub use attnlab_networks::npy::write as write_tokens;
pub use data::Data;

use attnlab_core::error::{Error, Result};
use attnlab_lab::run::memory;
use attnlab_theory::attention::Mssa;
use attnlab_theory::attention::streaming::{Exp, Machine, Streamed};
use attnlab_theory::measure::snr;
use ndarray::Array2;
use serde::Serialize;

/// One layer; in JSON null stands where the SNR is infinite or undefined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerSnr {
    /// Number of layers so far; 0 is the input.
    pub layer: u64,
    /// SNR (6) of every cluster.
    pub snr: Vec<f64>,
    /// Decisions of a discontinuous φ that rounding could have changed, made again in f64.
    pub redecided: usize,
}

/// All layers of one network, and what is left of the tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct UnrollReport {
    /// Layers 0 ..= L.
    pub layers: Vec<LayerSnr>,
    /// Z (d, N) after the last layer.
    pub tokens: Array2<f64>,
}

/// Runs `layers` layers in f64 on the CPU; nothing of size (N, N) is ever in memory.
///
/// # Errors
/// When the layer refuses the data, the tokens leave the finite numbers, or there is too little memory.
pub fn unroll(data: &Data, layer: &Mssa, layers: u64) -> Result<UnrollReport> {
    unroll_with(data, layer, layers, None, &mut |_| Ok(()))
}

/// [`unroll`] with every layer shown to `show` as soon as it is there; on a `machine` in f32, without
/// one in f64 on the CPU.
///
/// # Errors
/// As [`unroll`], when the machine fails, and what `show` returns.
pub fn unroll_with(
    data: &Data,
    layer: &Mssa,
    layers: u64,
    machine: Option<&dyn Machine>,
    show: &mut dyn FnMut(&LayerSnr) -> Result<()>,
) -> Result<UnrollReport> {
    match machine {
        Some(machine) => {
            let step = |z: &Array2<f32>, bases: &[Array2<f32>]| layer.stream_on(machine, z.view(), bases);
            run(data, layer.eta, layers, step, show)
        }
        None => {
            let step = |z: &Array2<f64>, bases: &[Array2<f64>]| layer.stream(z.view(), bases);
            run(data, layer.eta, layers, step, show)
        }
    }
}

fn run<T: Exp>(
    data: &Data,
    eta: f64,
    layers: u64,
    step: impl Fn(&Array2<T>, &[Array2<T>]) -> Result<Streamed<T>>,
    show: &mut dyn FnMut(&LayerSnr) -> Result<()>,
) -> Result<UnrollReport> {
    let (d, n) = data.tokens.dim();
    // Tokens before and after, coefficients and their update, the copies that the SNR takes: a
    // handful of (d, N) in f64.
    memory::ensure("a layer", (8 * 8 * d as u64).saturating_mul(n as u64))?;
    let bases: Vec<_> = data.bases.iter().map(|u| u.mapv(T::of_f64)).collect();
    let mut by_layer = vec![];
    let mut z = data.tokens.mapv(T::of_f64);
    for l in 0..=layers {
        let mut redecided = 0;
        if l > 0 {
            let next = step(&z, &bases)?;
            (z, redecided) = (next.output, next.redecided);
        }
        let wide: Array2<f64> = z.mapv(T::as_f64);
        finite(&wide, l, eta)?;
        let at_layer = LayerSnr { layer: l, snr: snr(wide.view(), &data.bases, &data.labels), redecided };
        show(&at_layer)?;
        by_layer.push(at_layer);
    }
    Ok(UnrollReport { layers: by_layer, tokens: z.mapv(T::as_f64) })
}

fn finite(z: &Array2<f64>, layer: u64, eta: f64) -> Result<()> {
    if z.iter().all(|x| x.is_finite()) {
        return Ok(());
    }
    Err(Error::diverged(format!(
        "the tokens are no longer finite after layer {layer}: write fewer layers or a smaller eta \
         than {eta}"
    )))
}
