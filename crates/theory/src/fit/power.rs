//! Power of the test: the share of true mixtures of a size that the same procedure calls consistent.
//!
//! A test that rejects says something only if it could have said yes. Draws of a [`Truth`], a mixture that Definition 1
//! allows, as large as the given tokens and rounded as they are, go through the same procedure: the same search of K,
//! the same options, halves of their own. The draws come in batches until the exact interval of the share (Clopper and
//! Pearson) lies on one side of 1/2. With intervals at 95 % a batch has six draws: six of six have the interval
//! [0.54, 1]. Looking again after every batch up to 20 draws, a share of exactly 1/2 is taken for more in 4.3 % of cases.

use super::goodness::LEAST_RESIDUALS;
use super::input::bits;
use super::{Fit, Options, PATIENCE, Verdict, fit, fit_known};
use crate::sample::{Bases, Draw, Mixture};
use attnlab_core::error::{Result, require};
use attnlab_core::format::significant;
use attnlab_core::rng::Streams;
use attnlab_core::stats::{Estimate, binomial, trials_for_lower_bound};
use ndarray::{Array1, ArrayView2, Axis};
use rayon::prelude::*;
use std::fmt;
use std::ops::Range;

/// Share of true mixtures from which on a rejection counts.
pub const ENOUGH: f64 = 0.5;
/// δ of a mixture of equal clusters, in place of a fit that is no mixture.
pub const DELTA: f64 = 0.1;
/// Digits of δ in words.
const DIGITS: usize = 3;

/// A true mixture as it would lie in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The law.
    pub mixture: Mixture,
    /// Standard deviation of the signal.
    pub scale: f64,
    /// Mean token (d,), if the procedure estimates one.
    pub mean: Option<Array1<f64>>,
    /// Significant bits of the stored numbers.
    pub bits: u32,
    /// Flag: the procedure is told bases and labels.
    pub known: bool,
}

impl Truth {
    /// Returns the mixture that a fit to tokens (d, N) speaks of: the fitted one where it fills the dimensions that the
    /// tokens span; otherwise, since Definition 1 has no such tokens, as many equal clusters (at least two) as fill them,
    /// with δ = [`DELTA`]. None where there is no such mixture: fewer than two dimensions, or a cluster without tokens.
    pub fn of_fit(fit: &Fit, tokens: ArrayView2<f64>, known: bool, options: &Options) -> Option<Self> {
        let total: usize = fit.dims.iter().sum();
        let structured = total == fit.rank && (fit.dims.len() > 1 || total < fit.ambient);
        let mixture = match known || structured {
            // A single cluster has no noise.
            true => Mixture { delta: if fit.delta.value.is_nan() { 0.0 } else { fit.delta.value }, ..fit.mixture() },
            false => equal(tokens.ncols(), fit.dims.len().max(2), fit.rank, fit.ambient, DELTA)?,
        };
        mixture.validate().ok()?;
        Some(Truth { known, ..Self::like(mixture, fit, tokens, options) })
    }

    /// Returns `clusters` equal clusters in `dim` dimensions each, of all of the tokens (d, N) and with δ = [`DELTA`]; p
    /// is less where they need more than d dimensions. None where that leaves a cluster without tokens or dimensions.
    pub fn of_heads(
        [clusters, dim]: [usize; 2],
        fit: &Fit,
        tokens: ArrayView2<f64>,
        options: &Options,
    ) -> Option<Self> {
        let (d, n) = tokens.dim();
        let mixture = equal(n, clusters, d.min(clusters.checked_mul(dim)?), d, DELTA)?;
        Some(Self::like(mixture, fit, tokens, options))
    }

    /// A mixture with the scale, the mean and the rounding of the tokens. Where the scale must be 1, a true mixture has
    /// it.
    fn like(mixture: Mixture, fit: &Fit, tokens: ArrayView2<f64>, options: &Options) -> Self {
        let scale = if options.unit_scale { 1.0 } else { fit.scale.value };
        Truth { mixture, scale, mean: fit.mean.clone(), bits: bits(tokens), known: false }
    }

    /// Draws tokens as the law has them, with scale and mean, rounded.
    ///
    /// # Errors
    /// As [`Mixture::validate`].
    pub fn draw(&self, streams: &Streams) -> Result<Draw> {
        let mut draw = self.mixture.draw(streams)?;
        draw.tokens *= self.scale;
        if let Some(mean) = &self.mean {
            draw.tokens += &mean.view().insert_axis(Axis(1));
        }
        draw.tokens.mapv_inplace(|x| rounded(x, self.bits));
        Ok(draw)
    }

    /// Decides whether hardly a draw can be called consistent: see [`too_few`].
    pub fn is_hopeless(&self) -> bool {
        !self.known && too_few(self.mixture.tokens(), self.mixture.dims.iter().sum())
    }
}

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |xs: &[usize]| match (xs.iter().min(), xs.iter().max()) {
            (Some(low), Some(high)) if low < high => format!("{low} to {high}"),
            (low, _) => low.map_or(String::new(), ToString::to_string),
        };
        let Mixture { counts, dims, delta, .. } = &self.mixture;
        let (p, n, delta) = (range(dims), range(counts), significant(*delta, DIGITS));
        write!(f, "K = {}, p = {p}, N_k = {n}, delta = {delta}", dims.len())
    }
}

/// Decides whether so many tokens of a mixture with r = Σ p_k are hardly called consistent: the fitted subspaces must fill
/// all r dimensions, or else the noise has directions of the signal, and the half that the test takes must have p_k
/// tokens of every cluster, and some more. Where the first half shows fewer dimensions a test may still pass by chance.
pub fn too_few(tokens: usize, dims: usize) -> bool {
    tokens - tokens / 2 < dims + LEAST_RESIDUALS
}

/// Equal clusters that fill `rank` dimensions, as nearly as whole numbers allow.
fn equal(tokens: usize, clusters: usize, rank: usize, ambient: usize, delta: f64) -> Option<Mixture> {
    let share = |total: usize| (0..clusters).map(|k| (total + k) / clusters).rev().collect::<Vec<_>>();
    let mixture = Mixture { counts: share(tokens), dims: share(rank), ambient, delta, bases: Bases::Orthonormal };
    mixture.validate().ok().map(|()| mixture)
}

/// The nearest number with so many significant bits (Veltkamp's splitting); numbers above 1e300 stay.
fn rounded(x: f64, bits: u32) -> f64 {
    if bits >= 53 || x.abs() > 1e300 {
        return x;
    }
    let spread = x * (2.0_f64.powi(53 - bits as i32) + 1.0);
    spread - (spread - x)
}

/// Work on the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Draws at most.
    pub draws: u64,
    /// Draws that are fitted at the same time, for the sake of memory. The results do not depend on it.
    pub at_once: usize,
}

impl Plan {
    /// Refuses numbers of draws that cannot show a power of one half at the level of the intervals.
    ///
    /// # Errors
    /// Too few draws; a level outside (0, 1).
    pub fn validate(&self, level: f64) -> Result<()> {
        attnlab_core::stats::validate_level(level)?;
        let least = Self::batch(level);
        let allowed = format!(
            "must be 0, which measures no power, or at least {least}; fewer draws cannot show a power of one half"
        );
        require(self.draws >= least, "power-draws", self.draws, allowed)
    }

    /// Returns the draws of a batch, after each of which the work may end: as many as show a share above one half if all
    /// are consistent.
    pub fn batch(level: f64) -> u64 {
        trials_for_lower_bound(ENOUGH, level).unwrap_or(u64::MAX)
    }
}

/// Share of draws that are called consistent.
///
/// [too few]: too_few
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// The share with its exact interval; 0 without draws where the tokens are [too few].
    pub share: Estimate,
    /// Draws that were called consistent.
    pub consistent: u64,
    /// Draws.
    pub draws: u64,
}

impl Power {
    /// The power against a truth that [is hopeless](Truth::is_hopeless): 0, without a draw.
    pub const NONE: Power =
        Power { share: Estimate { value: 0.0, low: 0.0, high: 0.0, level: 1.0 }, consistent: 0, draws: 0 };

    /// Decides whether the power is shown to be above one half.
    pub fn is_enough(&self) -> bool {
        self.share.low > ENOUGH
    }

    /// Says in words how many true mixtures would be called consistent.
    pub fn words(&self, truth: &Truth) -> String {
        match self.draws {
            0 => format!(
                "true mixtures of {truth} are hardly called consistent: half of their tokens are too few for a test"
            ),
            n => format!("{} of {n} true mixtures of {truth} would be called consistent", self.consistent),
        }
    }
}

/// One draw after the procedure.
pub struct Replicate<T> {
    /// Flag: it was called consistent.
    pub consistent: bool,
    /// Observation of the draw and its fit; None where the fit was refused.
    pub observed: Option<T>,
}

/// Runs the procedure on draws with the numbers `draws`, and `observe` on each with its fit. A draw is a pure function of
/// the truth, the streams and its number.
///
/// # Errors
/// As [`Truth::draw`]; those of `observe`. A draw that the fit refuses is not called consistent.
pub fn replicates<T: Send>(
    truth: &Truth,
    options: &Options,
    (draws, at_once): (Range<u64>, usize),
    streams: &Streams,
    observe: &(dyn Fn(&Draw, &Fit) -> Result<T> + Sync),
) -> Result<Vec<Replicate<T>>> {
    let replicate = |i: &u64| -> Result<Replicate<T>> {
        let streams = streams.child("draw", *i);
        let draw = truth.draw(&streams)?;
        let fitted = match truth.known {
            true => fit_known(draw.tokens.view(), &draw.bases, &draw.labels, options),
            false => fit(draw.tokens.view(), options, &streams.child("fit", 0), &|| {}),
        };
        let Ok(fitted) = fitted else { return Ok(Replicate { consistent: false, observed: None }) };
        let consistent = fitted.goodness.verdict == Verdict::Consistent;
        Ok(Replicate { consistent, observed: Some(observe(&draw, &fitted)?) })
    };
    let numbers: Vec<u64> = draws.collect();
    let mut replicates = vec![];
    for some in numbers.chunks(at_once.max(1)) {
        replicates.extend(some.par_iter().map(replicate).collect::<Result<Vec<_>>>()?);
    }
    Ok(replicates)
}

/// Measures the power against `truth`: batches of draws until the interval at `options.level` lies on one side of
/// [`ENOUGH`]. Beside it what `observe` found in every draw.
///
/// # Errors
/// As [`Plan::validate`] and [`replicates`].
///
/// ```
/// use attnlab_core::rng::Streams;
/// use attnlab_theory::fit::power::{Plan, Truth, power};
/// use attnlab_theory::fit::{Options, fit};
/// use attnlab_theory::sample::Mixture;
/// let streams = Streams::new(1, "doc", 0, 0);
/// let tokens = Mixture::balanced(200, 2, 8, 0.1)?.draw(&streams)?.tokens;
/// let options = Options { clusters: Some(2), ..Options::default() };
/// let fit = fit(tokens.view(), &options, &streams, &|| {})?;
/// let truth = Truth::of_fit(&fit, tokens.view(), false, &options).unwrap();
/// let plan = Plan { draws: 20, at_once: 2 };
/// let (power, _) = power(&truth, &options, plan, &streams, &|_, _| Ok(()))?;
/// assert!(power.is_enough());
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn power<T: Send>(
    truth: &Truth,
    options: &Options,
    plan: Plan,
    streams: &Streams,
    observe: &(dyn Fn(&Draw, &Fit) -> Result<T> + Sync),
) -> Result<(Power, Vec<T>)> {
    plan.validate(options.level)?;
    let batch = Plan::batch(options.level);
    let mut replicates_so_far = vec![];
    loop {
        let before = replicates_so_far.len() as u64;
        let until = (before + batch).min(plan.draws);
        replicates_so_far.extend(replicates(truth, options, (before..until, plan.at_once), streams, observe)?);
        let consistent = replicates_so_far.iter().filter(|r: &&Replicate<T>| r.consistent).count() as u64;
        let share = binomial(consistent, until, options.level)?;
        if share.low > ENOUGH || share.high < ENOUGH || until == plan.draws {
            let observed = replicates_so_far.into_iter().filter_map(|r| r.observed).collect();
            return Ok((Power { share, consistent, draws: until }, observed));
        }
    }
}

/// Returns the number of clusters up to which the search should go on, where it ended at its limit. None where it ended
/// because more clusters were worse, where K is known, and where the tokens allow no more.
pub fn unfinished(fit: &Fit, options: &Options) -> Option<usize> {
    let (best, limit) = (fit.dims.len(), options.most_clusters);
    let possible = fit.rank.min(fit.labels.len() / 2);
    let unfinished = options.clusters.is_none() && best + PATIENCE > limit && limit < possible;
    unfinished.then(|| (2 * limit).max(best + PATIENCE).min(possible))
}

/// Makes a rejection `undecided` where there are doubts about it, unless it is certain, and puts them before its reasons.
pub fn judge(fit: &mut Fit, doubts: Vec<String>) {
    let goodness = &mut fit.goodness;
    if goodness.verdict == Verdict::NotSuchAMixture && !goodness.certain && !doubts.is_empty() {
        goodness.verdict = Verdict::Undecided;
        goodness.reasons = doubts.into_iter().chain(std::mem::take(&mut goodness.reasons)).collect();
    }
}
