//! Fit of the mixture of noisy low-rank Gaussians (AoT Definition 1, jointly orthonormal bases as in its
//! Eq. 7) to tokens, and a test that can say "not such a mixture".
//!
//! 1. *Support.* The tokens are written in the r dimensions that they span. Definition 1 has noise in the
//!    subspaces of the other clusters and nowhere else, so that r = Σ p_k.
//! 2. *Labels.* Half of the tokens, chosen at random, are clustered by their squared correlations
//!    ([`spectral`]), for every K up to a limit.
//! 3. *Subspaces.* Labels and jointly orthonormal bases are improved in turn; p_k is the number of eigenvalues
//!    of cluster k on the signal's side of the middle between the two Marchenko–Pastur bulks ([`model`]). K is
//!    that of the least BIC.
//! 4. *Test.* The other half is tested against the fitted mixture ([`goodness`]). [`power`](mod@power) measures whether
//!    the test could have accepted a true mixture.
//! 5. *Estimates.* δ, the scale and the bases are fitted again to all tokens from those labels on.
//!
//! The same tokens, options and streams give the same fit; the streams choose the halves. With N tokens in d
//! dimensions a fit takes O(Nd² + Kd³) operations a round, and [`bytes`] of memory. It needs
//! clusters of about three times as many tokens as dimensions; the result says what it could not decide.

mod centre;
mod draws;
pub mod goodness;
mod input;
pub mod model;
pub mod power;
mod report;
pub mod spectral;
mod wishart;

pub use input::bits;
pub use report::{Fit, Goodness, Verdict};

use crate::sample::Mixture;
use attnlab_core::error::{Error, Result, require, require_shape};
use attnlab_core::linalg::{frobenius2, orthonormality_defect, product};
use attnlab_core::rng::Streams;
use attnlab_core::stats::validate_level;
use centre::{centred, shift};
use draws::{Half, Tested};
use goodness::{Setting, TESTS};
use input::{SUPPORT, causes, rounding, support, support_of, validate};
use model::{FINE, Labelled, Model, ROUGH, alternate, at_bases, counts, subspaces};
use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};
use rand::seq::SliceRandom;
use report::Findings;
use wishart::{chi2_tail, sphericity};

/// Tokens that the first labels are found from; the others follow the subspaces.
const LANDMARKS: usize = 1200;
/// Tokens per dimension that K is found from, at most.
const ENOUGH: usize = 4;
/// Numbers of clusters beyond the best one that are tried before the search ends.
const PATIENCE: usize = 3;
/// Largest defect |BᵀB - I| of bases given by the caller: that of float32.
pub const DEFECT: f64 = 1e-5;

/// Tokens of a half per dimension of the support from which on BIC is believed: K where that by AIC is larger, and p_k
/// where they leave some of the support to no cluster.
const TOKENS_FOR_BIC: usize = 6;

/// Options of [`fit`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// K, if it is known.
    pub clusters: Option<usize>,
    /// Largest K that is tried where it is not known; the default is lowered to half the number of tokens.
    pub most_clusters: usize,
    /// A K that is tried besides, wherever the search ends, if there are twice as many tokens.
    pub further: Option<usize>,
    /// Confidence level of the intervals.
    pub level: f64,
    /// Level of the test: probability of rejecting a true mixture.
    pub alpha: f64,
    /// Flag: the signal's variance must be 1, as Definition 1 prints it. Otherwise it is any number.
    pub unit_scale: bool,
    /// Flag: the tokens have a mean of their own, which is estimated and subtracted; Definition 1 has mean 0.
    pub centre: bool,
    /// Unit roundoff of the type that the tokens were stored in (2^-8 bfloat16, 2^-11 float16, 2^-24 float32); 0 tells
    /// it from the bits of the numbers.
    pub roundoff: f64,
}

/// Largest K that is tried by default.
const MOST_CLUSTERS: usize = 16;

impl Default for Options {
    /// Returns: K from 1 to 16, intervals at 95 %, the test at 1 %, any scale.
    fn default() -> Self {
        Options {
            clusters: None,
            most_clusters: MOST_CLUSTERS,
            further: None,
            level: 0.95,
            alpha: 0.01,
            unit_scale: false,
            centre: false,
            roundoff: 0.0,
        }
    }
}

impl Options {
    /// Refuses options that do not suit the number of tokens.
    ///
    /// # Errors
    /// A level outside (0, 1), no cluster, or more clusters than half the tokens.
    pub fn validate(&self, tokens: usize) -> Result<()> {
        validate_level(self.level)?;
        require(self.alpha > 0.0 && self.alpha < 1.0, "alpha", self.alpha, "must be a number in (0, 1)")?;
        require((0.0..0.5).contains(&self.roundoff), "roundoff", self.roundoff, "must be a number in [0, 0.5)")?;
        let most = (tokens / 2).max(1);
        let (name, value) = match self.clusters {
            Some(k) => ("clusters", k),
            None if self.most_clusters == MOST_CLUSTERS => return Ok(()),
            None => ("most-clusters", self.most_clusters),
        };
        let allowed = format!("must be a whole number from 1 to {most}, half the number of tokens");
        require((1..=most).contains(&value), name, value, allowed)
    }

    /// The numbers of clusters to try.
    fn range(&self) -> std::ops::RangeInclusive<usize> {
        match self.clusters {
            Some(k) => k..=k,
            None => 1..=self.most_clusters,
        }
    }

    /// The K that is tried besides, of so many tokens.
    fn further(&self, tokens: usize) -> Option<usize> {
        self.further.filter(|k| self.clusters.is_none() && (1..=tokens).contains(k))
    }
}

/// Returns the peak memory of [`fit`] in bytes.
pub fn bytes(ambient: usize, tokens: usize, most_clusters: usize) -> u64 {
    let (d, n, k) = (ambient as u64, tokens as u64, most_clusters as u64);
    let rank = d.min(n);
    let marks = n.min(LANDMARKS as u64);
    // Tokens in the support, both halves, one cluster with its coordinates; scatters and their eigenvectors.
    let numbers = [[5, d, n], [2 * k + 10, rank, rank], [4, marks, marks], [1, k, n]];
    let product = |xs: [u64; 3]| xs.iter().fold(8_u64, |product, x| product.saturating_mul(*x));
    numbers.into_iter().fold(0_u64, |sum, xs| sum.saturating_add(product(xs)))
}

/// Returns the largest number of times that [`fit`] calls its `tick`.
pub fn ticks(options: &Options) -> u64 {
    let search = options.range().count() as u64 + u64::from(options.further.is_some());
    // The mean is found from a search of its own.
    (1 + u64::from(options.centre)) * search + 2
}

/// Fits the mixture to tokens Z (d, N) and tests it. `tick` is called at most [`ticks`] times.
///
/// # Errors
/// Tokens that are not finite, all zero or fewer than 4; options out of range; an eigenvalue iteration that
/// does not converge.
///
/// ```
/// use attnlab_core::rng::Streams;
/// use attnlab_theory::fit::{Options, Verdict, fit};
/// use attnlab_theory::sample::Mixture;
/// let draw = Mixture::balanced(600, 2, 12, 0.1)?.draw(&Streams::new(1, "doc", 0, 0))?;
/// let fit = fit(draw.tokens.view(), &Options::default(), &Streams::new(2, "doc", 0, 0), &|| {})?;
/// assert_eq!(fit.dims, [12, 12]);
/// assert!((fit.delta.value / 0.1 - 1.0).abs() < 0.05);
/// assert_eq!(fit.goodness.verdict, Verdict::Consistent);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn fit(tokens: ArrayView2<f64>, options: &Options, streams: &Streams, tick: &dyn Fn()) -> Result<Fit> {
    check(tokens, options)?;
    let (causes, rounding) = (causes(tokens), rounding(tokens, options.roundoff));
    let setting = Setting { centre: options.centre, rounding: rounding.variance };
    let (tokens, mean) = centred(tokens, options.centre);
    let tokens = tokens.view();
    let support = support(tokens, rounding)?;
    let mut x = product(support.t(), tokens);
    let mut order: Vec<usize> = (0..x.ncols()).collect();
    order.shuffle(&mut streams.part("halves", 0));
    let shift = match options.centre {
        true => shift(&mut x, &order, options, tick).map_err(|e| causes.explain(e))?,
        false => Array1::zeros(x.nrows()),
    };
    let (first, second) = order.split_at(order.len() / 2);
    let (train, held) = (x.select(Axis(1), first), x.select(Axis(1), second));
    let searched = search(train.view(), options, tick).map_err(|e| causes.explain(e))?;
    let Searched { mut best, criteria, impossible, larger } = searched;
    let clusters = best.model.dims.len();
    let fills = clusters == 1 && is_isotropic(held.view(), options);
    if fills {
        best = one_cluster(train.view());
    }
    let (held_labels, wrong) = best.model.assign(held.view());
    let fitted = counts(&best.labels, clusters);
    tick();
    let mut labels = vec![0; x.ncols()];
    for (i, k) in order.iter().zip(best.labels.iter().chain(&held_labels)) {
        labels[*i] = *k;
    }
    let whole = if fills { one_cluster(x.view()) } else { refit(x.view(), labels, &best.model)? };
    let half = Half {
        model: &best.model,
        fitted: &fitted,
        held: held.view(),
        labels: &held_labels,
        wrong,
        setting,
        alpha: options.alpha,
    };
    let mut tested = half.test(&whole.model, streams)?;
    if let Some(k) = larger.filter(|_| held.ncols() < TOKENS_FOR_BIC * held.nrows()) {
        tested.doubt = Some(format!("K is uncertain: {clusters} by BIC, {k} by AIC"));
    }
    tick();
    Ok(report::fit(Findings {
        support: &support,
        tokens: x.view(),
        half: &best.model,
        whole,
        criteria,
        impossible,
        tested,
        causes,
        options,
        named: false,
        mean: mean.map(|mean| mean + support.dot(&shift)),
    }))
}

/// Fits δ and the scale to tokens Z (d, N) with known bases and labels, and tests the mixture on all of them.
///
/// # Errors
/// As [`fit`]; bases that are not jointly orthonormal; labels without a basis.
pub fn fit_known(tokens: ArrayView2<f64>, bases: &[Array2<f64>], labels: &[usize], options: &Options) -> Result<Fit> {
    check(tokens, options)?;
    let (causes, rounding) = (causes(tokens), rounding(tokens, options.roundoff));
    let setting = Setting { centre: options.centre, rounding: rounding.variance };
    let (tokens, mean) = centred(tokens, options.centre);
    let tokens = tokens.view();
    let defect = orthonormality_defect(bases);
    let allowed = format!("must be at most {DEFECT:.0e}; the mixture has jointly orthonormal bases");
    let orthonormal = !bases.is_empty() && defect <= DEFECT;
    require(orthonormal, "|B'B - I| of the bases", format!("{defect:.1e}"), allowed)?;
    let fits = labels.len() == tokens.ncols() && labels.iter().all(|k| *k < bases.len());
    require_shape(fits, "labels", labels.len(), format!("one whole number below {} per token", bases.len()))?;
    let views: Vec<_> = bases.iter().map(|u| u.view()).collect();
    let joined =
        concatenate(Axis(1), &views).map_err(|e| Error::shape("bases", e.to_string(), "matrices with d rows each"))?;
    require_shape(joined.nrows() == tokens.nrows(), "bases", joined.dim(), "as many rows as the tokens")?;
    // The subspaces, and whatever the tokens have outside all of them.
    let rest = &tokens - &product(joined.view(), product(joined.t(), tokens).view());
    let outside = support_of(rest.view(), SUPPORT * SUPPORT * frobenius2(tokens), rounding)?;
    let total = joined.ncols();
    let frame = concatenate(Axis(1), &[joined.view(), outside.view()]).map_err(|e| Error::undefined(e.to_string()))?;
    let mut x = product(frame.t(), tokens);
    let rank = frame.ncols();
    let dims: Vec<usize> = bases.iter().map(Array2::ncols).collect();
    let leading = Array2::from_shape_fn((rank, total), |(i, j)| f64::from(u8::from(i == j)));
    let known = Model::without_levels(dims, leading);
    let mut whole = at_bases(x.view(), labels.to_vec(), known);
    let mut shift = Array1::zeros(rank);
    if options.centre {
        // The first levels hold what the mean of all tokens leaves of the signal; the second do not.
        for _ in 0..2 {
            let mean = whole.model.mean(x.view(), labels);
            x -= &mean.view().insert_axis(Axis(1));
            shift += &mean;
            whole = at_bases(x.view(), labels.to_vec(), whole.model);
        }
    }
    let tests = match counts(labels, bases.len()).contains(&0) {
        // A cluster without tokens leaves nothing to test it on.
        true => goodness::untested(),
        false => goodness::tests(&whole.model, x.view(), labels, &vec![usize::MAX / 4; bases.len()], setting)?,
    };
    let half = whole.model.clone();
    Ok(report::fit(Findings {
        support: &frame,
        tokens: x.view(),
        half: &half,
        criteria: vec![(bases.len(), whole.criterion)],
        impossible: vec![],
        tested: Tested { tests, calibrated: None, doubt: None },
        causes,
        options,
        named: true,
        mean: mean.map(|mean| mean + frame.dot(&shift)),
        whole,
    }))
}

/// Findings of the search for K.
struct Searched {
    /// The model of the least criterion.
    best: Labelled,
    /// Every K that was fitted, and its criterion.
    criteria: Vec<(usize, f64)>,
    /// Every K that the tokens do not allow, and why.
    impossible: Vec<(usize, String)>,
    /// K by Akaike's criterion where that is larger.
    larger: Option<usize>,
}

/// Searches the best model over the numbers of clusters.
fn search(train: ArrayView2<f64>, options: &Options, tick: &dyn Fn()) -> Result<Searched> {
    let range = options.range();
    let landmarks = train.ncols().min(LANDMARKS);
    let further = options.further(landmarks);
    let most = further.unwrap_or(0).max((*range.end()).min(train.ncols()));
    let embedding = spectral::embedding(train.slice(s![.., ..landmarks]), most)?;
    // Enough tokens for the spectra of the clusters.
    let enough = train.ncols().min(landmarks.max(ENOUGH * train.nrows()));
    let some = train.slice(s![.., ..enough]);
    let mut best: Option<Labelled> = None;
    let (mut criteria, mut impossible) = (vec![], vec![]);
    let (mut ended, mut most_lenient) = (false, (f64::INFINITY, 1));
    for clusters in range.clone().chain(further.filter(|k| !range.contains(k))) {
        if ended && further != Some(clusters) {
            continue;
        }
        let labelled = if clusters > train.ncols() {
            None
        } else {
            let marks = if clusters == 1 { vec![0; landmarks] } else { spectral::labels(embedding.view(), clusters) };
            from_landmarks(some, marks, clusters)?
        };
        tick();
        let Some(labelled) = labelled else {
            impossible.push((clusters, why_impossible(clusters, train)));
            continue;
        };
        criteria.push((clusters, labelled.criterion));
        let lenient = labelled.criterion - labelled.parameters * ((enough as f64).ln() - 2.0);
        if lenient < most_lenient.0 {
            most_lenient = (lenient, clusters);
        }
        if best.as_ref().is_none_or(|b| labelled.criterion < b.criterion) {
            best = Some(labelled);
        } else if best.as_ref().is_some_and(|b| clusters >= b.model.dims.len() + PATIENCE) {
            ended = true;
        }
    }
    let Some(best) = best else {
        // A single cluster is always possible: K was given.
        let (clusters, why) = impossible.pop().unwrap_or_default();
        return Err(Error::invalid("clusters", clusters, format!("must leave tokens in every cluster; {why}")));
    };
    let (labels, _) = best.model.assign(train);
    let fine = alternate(train, labels.clone(), best.model.dims.len(), FINE)?;
    let fine = fine.unwrap_or_else(|| at_bases(train, labels, best.model));
    let larger = (most_lenient.1 > fine.model.dims.len()).then_some(most_lenient.1);
    Ok(Searched { best: fine, criteria, impossible, larger })
}

/// Why the tokens (r, N) of the search do not form so many clusters.
fn why_impossible(clusters: usize, train: ArrayView2<f64>) -> String {
    let (rank, tokens) = train.dim();
    match (clusters > tokens, clusters > rank) {
        (true, _) => format!("the search has {tokens} tokens"),
        (_, true) => format!("the tokens span {rank} dimensions, and every cluster needs one"),
        _ => "the tokens do not form so many, and a cluster is left without any".into(),
    }
}

/// Decides whether tokens (r, N) are isotropic in their support, as those of a single cluster are: it has no noise, so that
/// p = r. BIC finds a smaller p in one of some hundred small samples; it is believed where this test, at its share of
/// the level, rejects p = r.
fn is_isotropic(tokens: ArrayView2<f64>, options: &Options) -> bool {
    let (tokens, _) = centred(tokens, options.centre);
    let scatter = product(tokens.view(), tokens.t());
    let freedom = tokens.ncols() as f64 - f64::from(u8::from(options.centre));
    let (x, f) = sphericity(scatter.diag().sum(), frobenius2(scatter.view()), tokens.nrows() as f64, freedom);
    chi2_tail(f, x) > options.alpha / (TESTS.len() + 1) as f64
}

/// The model of one cluster that fills the support.
fn one_cluster(tokens: ArrayView2<f64>) -> Labelled {
    let rank = tokens.nrows();
    at_bases(tokens, vec![0; tokens.ncols()], Model::without_levels(vec![rank], Array2::eye(rank)))
}

/// A rough model of tokens, of which the first ones have labels.
fn from_landmarks(tokens: ArrayView2<f64>, marks: Vec<usize>, clusters: usize) -> Result<Option<Labelled>> {
    let landmarks = marks.len();
    match alternate(tokens.slice(s![.., ..landmarks]), marks, clusters, ROUGH)? {
        Some(start) if landmarks < tokens.ncols() => {
            let (labels, _) = start.model.assign(tokens);
            alternate(tokens, labels, clusters, ROUGH)
        }
        start => Ok(start),
    }
}

/// The fit to all tokens, from the labels of the halves on.
fn refit(tokens: ArrayView2<f64>, labels: Vec<usize>, half: &Model) -> Result<Labelled> {
    let clusters = half.dims.len();
    if let Some(labelled) = alternate(tokens, labels.clone(), clusters, FINE)? {
        return Ok(labelled);
    }
    let model = subspaces(tokens, &labels, clusters, (Some(half), FINE))?.unwrap_or_else(|| half.clone());
    Ok(at_bases(tokens, labels, model))
}

/// Refuses tokens Z (d, N) and options that [`fit`] refuses, before anything is computed.
///
/// # Errors
/// As [`fit`], but for the eigenvalue iteration.
pub fn check(tokens: ArrayView2<f64>, options: &Options) -> Result<()> {
    validate(tokens)?;
    options.validate(tokens.ncols())
}

impl Fit {
    /// Returns the law of Definition 1 at the fitted values.
    pub fn mixture(&self) -> Mixture {
        Mixture {
            counts: self.counts.clone(),
            dims: self.dims.clone(),
            ambient: self.ambient,
            delta: self.delta.value,
            bases: crate::sample::Bases::Orthonormal,
        }
    }
}
