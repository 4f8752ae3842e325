//! The test on half of the tokens, calibrated by draws where the laws of its statistics are not those of large samples.
//!
//! Where a cluster has few tokens a dimension, the bases and p_k of the first half are off by more than the test's
//! regressions remove; where clusters overlap, labels are wrong. Both are reproduced by draws of the mixture fitted to
//! all tokens: one half of each draw is fitted from its true labels on, with K, and the other half is tested.

use super::TOKENS_FOR_BIC;
use super::goodness::{self, TESTS, Test};
use super::model::{Model, ROUGH, alternate, counts};
use super::report;
use attnlab_core::error::Result;
use attnlab_core::linalg::{normal_matrix, product};
use attnlab_core::rng::Streams;
use ndarray::{Array2, ArrayView2, s};

/// Draws at most.
const REPLICATES: u64 = 199;
/// Draws as extreme as the tokens after which no more are needed (Besag and Clifford, 1991): p is this over their number.
const ENOUGH: u64 = 10;
/// Expected number of wrong labels among the held-out tokens above which the test is calibrated by draws.
const OVERLAP: f64 = 0.5;
/// Tokens per dimension and cluster in each half below which it is.
const TOKENS_PER_DIMENSION: usize = 3;
/// Largest r for which draws are affordable: one takes about 100 K r³ operations.
const LARGEST_RANK: usize = 192;

/// A half of the tokens, tested against the model of the other.
pub(super) struct Half<'a> {
    pub(super) model: &'a Model,
    /// Tokens of each cluster that the model was fitted to.
    pub(super) fitted: &'a [usize],
    pub(super) held: ArrayView2<'a, f64>,
    pub(super) labels: &'a [usize],
    /// Expected number of wrong labels.
    pub(super) wrong: f64,
    pub(super) setting: goodness::Setting,
    /// Level at which a rejection is looked at more closely.
    pub(super) alpha: f64,
}

/// Findings of the test.
#[derive(Clone, Debug)]
pub(super) struct Tested {
    pub(super) tests: Vec<Test>,
    /// p-value by draws.
    pub(super) calibrated: Option<f64>,
    /// Reason for which a rejection is not to be trusted.
    pub(super) doubt: Option<String>,
}

impl Half<'_> {
    /// Tests the half. `whole` is the model of all tokens, whose mixture draws are taken from where they are needed.
    pub(super) fn test(&self, whole: &Model, streams: &Streams) -> Result<Tested> {
        let tests = goodness::tests(self.model, self.held, self.labels, self.fitted, self.setting)?;
        let plain = |doubt| Tested { tests: tests.clone(), calibrated: None, doubt };
        let Some(statistic) = statistic(self.model, &tests) else { return Ok(plain(None)) };
        let held = counts(self.labels, self.model.dims.len());
        let Some(cause) = self.unsure(whole, &held) else { return Ok(plain(None)) };
        let (rank, total) = (whole.frame.nrows(), whole.frame.ncols());
        let tested = tests.iter().filter(|t| t.p_value.is_some()).count() as f64;
        if total < rank {
            // Not Definition 1, unless p_k of so few tokens are wrong: no mixture to draw from.
            return Ok(plain((self.held.ncols() < TOKENS_FOR_BIC * rank).then_some(cause)));
        }
        if statistic * tested > self.alpha {
            return Ok(plain(None));
        }
        if rank > LARGEST_RANK {
            let doubt = format!("{cause}, and draws that tell how far tests go wrong then need r <= {LARGEST_RANK}");
            return Ok(plain(Some(doubt)));
        }
        let (mut as_extreme, mut draws) = (0, 0);
        while draws < REPLICATES && as_extreme < ENOUGH {
            let small = self.replicate(whole, &held, &streams.child("replicate", draws))?;
            as_extreme += u64::from(small.is_none_or(|p| p <= statistic));
            draws += 1;
        }
        let added = u64::from(as_extreme < ENOUGH);
        let p_value = (added + as_extreme) as f64 / (added + draws) as f64;
        Ok(Tested { tests, calibrated: Some(p_value), doubt: None })
    }

    /// Why the laws of large samples are not those of the tests here.
    fn unsure(&self, whole: &Model, held: &[usize]) -> Option<String> {
        let dims = &self.model.dims;
        let few = |counts: &[usize]| dims.iter().zip(counts).any(|(p, n)| *n < TOKENS_PER_DIMENSION * p);
        if few(held) || few(self.fitted) {
            return Some(format!("fewer than {TOKENS_PER_DIMENSION} tokens a dimension and cluster in a half"));
        }
        if *dims != whole.dims {
            return Some(format!("half of the tokens has p_k = {dims:?} and all have {:?}", whole.dims));
        }
        (dims.len() > 1 && self.wrong > OVERLAP).then(|| "clusters overlap".to_string())
    }

    /// The statistic of one draw.
    fn replicate(&self, whole: &Model, held: &[usize], streams: &Streams) -> Result<Option<f64>> {
        let (tokens, labels) = draw(whole, self.fitted, &streams.child("fitted", 0));
        let Some(fitted) = alternate(tokens.view(), labels, whole.dims.len(), ROUGH)? else { return Ok(None) };
        let (others, _) = draw(whole, held, &streams.child("held", 0));
        let (labels, _) = fitted.model.assign(others.view());
        let fit_counts = counts(&fitted.labels, whole.dims.len());
        let tests = goodness::tests(&fitted.model, others.view(), &labels, &fit_counts, self.setting)?;
        Ok(statistic(&fitted.model, &tests))
    }
}

/// The smallest p-value; 0 where the subspaces do not fill the support, which Definition 1 has them do.
fn statistic(model: &Model, tests: &[Test]) -> Option<f64> {
    debug_assert!(tests.len() == TESTS.len());
    let smallest = report::smallest(tests)?;
    Some(if model.frame.ncols() < model.frame.nrows() { 0.0 } else { smallest })
}

/// Tokens of the mixture with these numbers in its clusters, and their labels.
fn draw(model: &Model, counts: &[usize], streams: &Streams) -> (Array2<f64>, Vec<usize>) {
    let rank = model.frame.nrows();
    let (mut parts, mut labels) = (vec![], vec![]);
    for (k, count) in counts.iter().enumerate() {
        let e = normal_matrix(rank, *count, &mut streams.part("tokens", k as u64));
        let basis = model.frame.slice(s![.., model.columns(k)]);
        let along = product(basis, product(basis.t(), e.view()).view());
        let (s, n) = (model.signal.sqrt(), model.noise.sqrt());
        parts.push(&e * n + &along * (s - n));
        labels.extend(std::iter::repeat_n(k, *count));
    }
    let views: Vec<_> = parts.iter().map(|x| x.view()).collect();
    // The parts have the same number of rows.
    (ndarray::concatenate(ndarray::Axis(1), &views).unwrap_or_default(), labels)
}
