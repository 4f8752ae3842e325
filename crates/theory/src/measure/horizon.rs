//! Depth horizon of AoT Theorem 1 on a draw of the mixture. See [`crate::attention::horizon`] for its
//! definition and [`crate::attention::streaming::horizon`] for the method.

use crate::attention::horizon::{Break, Horizon};
use crate::attention::streaming::horizon::Blockwise;
use crate::attention::streaming::{Cpu, Machine};
use crate::sample::{Bases, Mixture};
use attnlab_core::error::{Result, require};
use attnlab_core::rng::Streams;
use ndarray::Array2;
use std::ops::Range;

/// Computes the horizon of a draw head by head, so that the coefficients of only one head are in memory
/// at a time: 4Np bytes and a few hundred bytes per token. The coefficients are those of
/// [`Mixture::head`] in f32. `tick` is called [`horizon_ticks`] times.
///
/// # Errors
/// If τ is outside (0, 1], or the bases are not jointly orthonormal: the coefficients of a head then
/// differ from the latent ones, and the induction behind the horizon fails.
///
/// ```
/// use attnlab_theory::measure::horizon_of_mixture;
/// use attnlab_core::rng::Streams;
/// use attnlab_theory::sample::Mixture;
/// let mixture = Mixture::balanced(2000, 2, 100, 0.06)?;
/// let horizon = horizon_of_mixture(&mixture, 0.55, &Streams::new(1, "doc", 0, 0), || {})?;
/// let (head, first) = horizon.first().unwrap();
/// assert!(!mixture.cluster(head).contains(&first.column)); // a noise column is captured
/// assert!(horizon.exact_updates(0.5, 0.55).unwrap() < 8);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn horizon_of_mixture(mixture: &Mixture, tau: f64, streams: &Streams, tick: impl Fn() + Sync) -> Result<Horizon> {
    horizon_of_mixture_on(&Cpu, mixture, tau, streams, &tick)
}

/// Computes [`horizon_of_mixture`] with the passes on `machine`. The first break of every head is the
/// same to the bit on all machines.
///
/// # Errors
/// As [`horizon_of_mixture`], or if the machine fails.
pub fn horizon_of_mixture_on(
    machine: &dyn Machine,
    mixture: &Mixture,
    tau: f64,
    streams: &Streams,
    tick: &(dyn Fn() + Sync),
) -> Result<Horizon> {
    require_orthonormal(mixture)?;
    let head = |k| machine.horizon_of_head(mixture.head::<f32>(k, streams).view(), mixture.cluster(k), tau, tick);
    let heads = (0..mixture.clusters()).map(head).collect::<Result<_>>()?;
    Ok(Horizon { heads })
}

/// Returns the number of times that [`horizon_of_mixture`] calls its `tick`.
pub fn horizon_ticks(mixture: &Mixture) -> u64 {
    horizon_ticks_on(&Cpu, mixture)
}

/// Returns the number of times that [`horizon_of_mixture_on`] calls its `tick`.
pub fn horizon_ticks_on(machine: &dyn Machine, mixture: &Mixture) -> u64 {
    mixture.dims.iter().map(|p| machine.ticks(*p, mixture.tokens())).sum()
}

/// Computes the first break of selected columns of head `head` in a draw of `mixture` (the coefficients
/// of [`horizon_of_mixture`]), `None` for those that never break. Each column takes 2Np floating-point
/// operations, and no head is kept in memory: blocks of tokens are drawn when they are needed. At N = 200
/// 000, p = 1300 a few hundred columns take seconds.
///
/// # Errors
/// If a column is not a token, τ is outside (0, 1], or the bases are not jointly orthonormal.
///
/// ```
/// use attnlab_theory::measure::sampled_columns;
/// use attnlab_core::rng::Streams;
/// use attnlab_theory::sample::Mixture;
/// let mixture = Mixture::balanced(2000, 2, 100, 0.06)?;
/// let breaks = sampled_columns(&mixture, 0, &[1000, 1500], 0.55, &Streams::new(1, "doc", 0, 0))?;
/// assert!(breaks.iter().flatten().all(|b| b.theta > 1.0 && b.row < 1000));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn sampled_columns(
    mixture: &Mixture,
    head: usize,
    columns: &[usize],
    tau: f64,
    streams: &Streams,
) -> Result<Vec<Option<Break>>> {
    let cluster = checked_head(mixture, head, columns)?;
    require(tau > 0.0 && tau <= 1.0, "tau", tau, "must be a number in (0, 1]")?;
    Ok(drawn(mixture, head, streams).first_breaks(&cluster, columns, tau))
}

/// Computes, in f64, the softmax weight that column `column` of head `head` gives to key `row` at θ in a
/// draw of `mixture`. It checks a witness independently of the pass that found it.
///
/// # Errors
/// As [`sampled_columns`].
pub fn weight_in_draw(
    mixture: &Mixture,
    head: usize,
    (column, row): (usize, usize),
    theta: f64,
    streams: &Streams,
) -> Result<f64> {
    let cluster = checked_head(mixture, head, &[column, row])?;
    Ok(drawn(mixture, head, streams).weight(&cluster, column, row, theta))
}

/// Draws the coefficients of a head block by block, rounded to f32 as in the pass.
fn drawn<'a>(
    mixture: &'a Mixture,
    head: usize,
    streams: &'a Streams,
) -> Blockwise<impl Fn(usize) -> Array2<f64> + Sync + 'a> {
    Blockwise {
        tokens: mixture.tokens(),
        width: Mixture::BLOCK,
        block: move |b| mixture.head_block::<f32>(head, b, streams).mapv(f64::from),
    }
}

/// Returns the tokens of cluster `head`, after checking bases, head and columns.
fn checked_head(mixture: &Mixture, head: usize, columns: &[usize]) -> Result<Range<usize>> {
    require_orthonormal(mixture)?;
    let below = |name: &str, value: usize, (bound, end): (&str, usize)| {
        require(value < end, name, value, format!("must be a whole number below {bound} = {end}"))
    };
    below("head", head, ("clusters", mixture.clusters()))?;
    columns.iter().try_for_each(|j| below("column", *j, ("tokens", mixture.tokens())))?;
    Ok(mixture.cluster(head))
}

fn require_orthonormal(mixture: &Mixture) -> Result<()> {
    mixture.validate()?;
    let allowed = "must be Orthonormal; the horizon is defined for jointly orthonormal bases";
    require(mixture.bases == Bases::Orthonormal, "bases", format!("{:?}", mixture.bases), allowed)
}
