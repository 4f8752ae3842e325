//! Networks of MSSA layers, with a probe that receives Z before the first and after every layer.

use super::Mssa;
use attnlab_core::error::Result;
use ndarray::{Array2, ArrayView2};

/// Runs `layers` MSSA layers and passes every Z^(l) (d, N), l = 0 ..= layers, to `probe`; returns the last.
///
/// `bases(l)` returns the U_k^(l) of layer l: the same for all layers in AoT Eq. (3), different ones in Eq. (5).
///
/// # Errors
/// As [`Mssa::apply`].
///
/// ```
/// use attnlab_theory::attention::{Mssa, ThresholdedSoftmax, unroll};
/// use attnlab_theory::measure::snr;
/// use attnlab_core::rng::Streams;
/// use attnlab_theory::sample::Mixture;
/// let draw = Mixture::balanced(60, 2, 40, 0.05)?.draw(&Streams::new(1, "doc", 0, 0))?;
/// let layer = Mssa::new(ThresholdedSoftmax { tau: 0.55 }, 0.5);
/// let mut snrs = vec![];
/// unroll(draw.tokens.view(), &layer, 2, |_| &draw.bases, |_, z| {
///     snrs.push(snr(z.view(), &draw.bases, &draw.labels)[0]);
/// })?;
/// assert!((snrs[1] / snrs[0] - 1.275).abs() < 1e-12); // 1 + eta tau: Theorem 1, Eq. (8)
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn unroll<'a>(
    tokens: ArrayView2<f64>,
    layer: &Mssa,
    layers: usize,
    bases: impl Fn(usize) -> &'a Vec<Array2<f64>>,
    mut probe: impl FnMut(usize, &Array2<f64>),
) -> Result<Array2<f64>> {
    let mut z = tokens.to_owned();
    probe(0, &z);
    for l in 0..layers {
        z = layer.apply(z.view(), bases(l))?;
        probe(l + 1, &z);
    }
    Ok(z)
}
