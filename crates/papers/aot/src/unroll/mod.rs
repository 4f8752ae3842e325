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
pub use data::{Data, Given, check, unknown_label};

use attnlab_core::format::number;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::Mssa;
use attnlab_theory::attention::streaming::{Exp, Machine, Streamed};
use attnlab_theory::measure::snr;
use attnlab_theory::measure::snr::{energy_by_cluster, snr_of_heads};
use attnlab_theory::sample::Mixture;
use ndarray::{Array2, ArrayView2, CowArray, Ix2};

/// One layer; in JSON null stands where the SNR is infinite or undefined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerSnr {
    /// Number of layers so far; 0 is the input.
    pub layer: u64,
    /// SNR (6) of every cluster; empty where the tokens have no labels.
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
    unroll_given(data.view(), layer, layers, machine, show)
}

/// [`unroll_with`] on tokens in memory of the caller; in f64 they are not copied.
///
/// # Errors
/// As [`unroll_with`].
pub fn unroll_given(
    given: Given,
    layer: &Mssa,
    layers: u64,
    machine: Option<&dyn Machine>,
    show: &mut dyn FnMut(&LayerSnr) -> Result<()>,
) -> Result<UnrollReport> {
    let (d, n) = given.tokens.dim();
    // Tokens before and after, coefficients and their update, the copies that the SNR takes: a
    // handful of (d, N) in f64.
    memory::ensure("a layer", (8 * 8 * d as u64).saturating_mul(n as u64))?;
    match machine {
        Some(machine) => {
            let bases: Vec<_> = given.bases.iter().map(|u| u.mapv(|x| x as f32)).collect();
            let start = CowArray::from(given.tokens.mapv(|x| x as f32));
            run(given, layer.eta, layers, start, |z| layer.stream_on(machine, z, &bases), show)
        }
        None => run(given, layer.eta, layers, CowArray::from(given.tokens), |z| layer.stream(z, given.bases), show),
    }
}

/// Computes the SNR (6) at layers 0..=L of every cluster of a draw with orthonormal bases, in coefficients: `snr[l][k]`.
///
/// # Errors
/// When the layer is refused, such as for τ out of range.
pub fn unroll_heads(mixture: &Mixture, layer: &Mssa, layers: usize, streams: &Streams) -> Result<Vec<Vec<f64>>> {
    let (labels, clusters) = (mixture.labels(), mixture.clusters());
    let mut heads: Vec<_> = (0..clusters).map(|k| mixture.head::<f64>(k, streams)).collect();
    let snr = |heads: &[Array2<f64>]| {
        snr_of_heads(&heads.iter().map(|y| energy_by_cluster(y.view(), &labels, clusters)).collect::<Vec<_>>())
    };
    let mut by_layer = vec![snr(&heads)];
    for _ in 0..layers {
        layer.apply_coefficients(&mut heads)?;
        by_layer.push(snr(&heads));
    }
    Ok(by_layer)
}

/// Arithmetic of the layers; the SNR is measured in f64.
trait Arithmetic: Exp {
    /// Least and largest entry (absolute values) of tokens: products of three, which scores times tokens are, neither
    /// overflow nor lose digits to underflow.
    const ENTRIES: (f64, f64);
    /// Advice where the tokens are outside.
    const ADVICE: &'static str;

    /// Returns tokens in f64; those in f64 are not copied.
    fn wide(tokens: ArrayView2<'_, Self>) -> CowArray<'_, f64, Ix2>;

    /// Returns the last tokens in f64.
    fn last(tokens: CowArray<'_, Self, Ix2>) -> Array2<f64>;
}

impl Arithmetic for f32 {
    const ENTRIES: (f64, f64) = (1e-11, 1e11);
    const ADVICE: &'static str = "Scale the tokens, or choose the precision f64";

    fn wide(tokens: ArrayView2<'_, f32>) -> CowArray<'_, f64, Ix2> {
        tokens.mapv(f64::from).into()
    }

    fn last(tokens: CowArray<'_, f32, Ix2>) -> Array2<f64> {
        tokens.mapv(f64::from)
    }
}

impl Arithmetic for f64 {
    const ENTRIES: (f64, f64) = (1e-90, 1e90);
    const ADVICE: &'static str = "Scale the tokens";

    fn wide(tokens: ArrayView2<'_, f64>) -> CowArray<'_, f64, Ix2> {
        tokens.into()
    }

    fn last(tokens: CowArray<'_, f64, Ix2>) -> Array2<f64> {
        tokens.into_owned()
    }
}

fn run<T: Arithmetic>(
    given: Given,
    eta: f64,
    layers: u64,
    start: CowArray<'_, T, Ix2>,
    step: impl Fn(ArrayView2<T>) -> Result<Streamed<T>>,
    show: &mut dyn FnMut(&LayerSnr) -> Result<()>,
) -> Result<UnrollReport> {
    ensure_scores::<T>(given.tokens)?;
    let mut by_layer = vec![];
    let mut z = start;
    for l in 0..=layers {
        let mut redecided = 0;
        if l > 0 {
            let next = step(z.view())?;
            (z, redecided) = (next.output.into(), next.redecided);
        }
        let wide = T::wide(z.view());
        ensure_bounded::<T>(wide.view(), l, eta)?;
        let snr = given.labels.map(|labels| snr(wide.view(), given.bases, labels));
        let at_layer = LayerSnr { layer: l, snr: snr.unwrap_or_default(), redecided };
        show(&at_layer)?;
        by_layer.push(at_layer);
    }
    Ok(UnrollReport { layers: by_layer, tokens: T::last(z) })
}

/// Refuses a token whose scores would leave the range of the arithmetic; a token of zeros has none.
fn ensure_scores<T: Arithmetic>(z: ArrayView2<f64>) -> Result<()> {
    let (least, most) = T::ENTRIES;
    for (i, token) in z.columns().into_iter().enumerate() {
        let largest = token.iter().fold(0.0, |largest, x| x.abs().max(largest));
        if largest != 0.0 && !(least..=most).contains(&largest) {
            let allowed = format!(
                "must be 0 or from {least:e} to {most:e}; products of three tokens leave the range of numbers. {}",
                T::ADVICE
            );
            return Err(Error::invalid(format!("largest entry of tokens[:, {i}]"), number(largest), allowed));
        }
    }
    Ok(())
}

fn ensure_bounded<T: Arithmetic>(z: ArrayView2<f64>, layer: u64, eta: f64) -> Result<()> {
    let most = T::ENTRIES.1;
    if z.iter().all(|x| x.abs() <= most) {
        return Ok(());
    }
    Err(Error::diverged(format!(
        "the tokens exceed {most:e} after layer {layer}: write fewer layers or a smaller eta than {}",
        number(eta)
    )))
}
