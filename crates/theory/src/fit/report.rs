//! Findings of a fit, with their uncertainty.

use super::Options;
use super::draws::Tested;
use super::goodness::{Test, unit_scale};
use super::input::Causes;
use super::model::{Labelled, Model, counts};
use attnlab_core::linalg::product;
use attnlab_core::stats::{Estimate, t_quantile};
use ndarray::{Array1, Array2, ArrayView2, s};
use serde::Serialize;

/// Judgement of tokens as a draw of the mixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No test rejects the mixture.
    Consistent,
    /// Not such a mixture.
    NotSuchAMixture,
    /// The tokens are too few to say, or a rejection is not to be trusted for the reasons given, such as
    /// [its power](super::power::judge).
    Undecided,
}

/// Judgement of the fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Goodness {
    /// The verdict at `alpha`.
    pub verdict: Verdict,
    /// Flag: rejected for what no draw of the mixture has, whatever the test can see.
    pub certain: bool,
    /// Reasons, one sentence each.
    pub reasons: Vec<String>,
    /// The tests.
    pub tests: Vec<Test>,
    /// p-value of all tests together: Bonferroni's, or that by draws of the fitted mixture where tokens are few or
    /// clusters overlap. None where nothing could be tested.
    pub p_value: Option<f64>,
    /// Flag: the p-value is by draws.
    pub by_draws: bool,
    /// Level of the test.
    pub alpha: f64,
}

/// A fitted mixture.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// d.
    pub ambient: usize,
    /// r, number of dimensions that the tokens span.
    pub rank: usize,
    /// p_k. Clusters are in descending order of p_k, then of N_k, unless the caller named them.
    pub dims: Vec<usize>,
    /// p_k from the half of the tokens that the test did not see: where they differ, p_k is uncertain.
    pub dims_of_half: Vec<usize>,
    /// N_k.
    pub counts: Vec<usize>,
    /// δ, the ratio of the standard deviations of noise and signal; NaN where nothing is outside the subspaces.
    pub delta: Estimate,
    /// Standard deviation of the signal, which Definition 1 sets to 1.
    pub scale: Estimate,
    /// Root mean square of the sine of the angle between a fitted and a true direction of U_k.
    pub tilt: Vec<f64>,
    /// Expected number of wrong labels.
    pub wrong_labels: f64,
    /// BIC of every K that was tried.
    pub criteria: Vec<(usize, f64)>,
    /// Every K of the search that the tokens do not allow, and why.
    pub impossible: Vec<(usize, String)>,
    /// The test.
    pub goodness: Goodness,
    /// Mean token (d,) that was estimated and subtracted; None unless that was asked for.
    #[serde(skip)]
    pub mean: Option<Array1<f64>>,
    /// U_k (d, p_k).
    #[serde(skip)]
    pub bases: Vec<Array2<f64>>,
    /// Cluster of each token.
    #[serde(skip)]
    pub labels: Vec<usize>,
}

/// The findings of a fit, in the coordinates of the support.
pub(super) struct Findings<'a> {
    pub support: &'a Array2<f64>,
    pub tokens: ArrayView2<'a, f64>,
    pub half: &'a Model,
    pub whole: Labelled,
    pub criteria: Vec<(usize, f64)>,
    pub impossible: Vec<(usize, String)>,
    pub tested: Tested,
    pub causes: Causes,
    pub options: &'a Options,
    /// Flag: the caller numbered the clusters.
    pub named: bool,
    /// The mean that was subtracted.
    pub mean: Option<Array1<f64>>,
}

/// The smallest p-value; None where nothing could be tested.
pub(super) fn smallest(tests: &[Test]) -> Option<f64> {
    tests.iter().filter_map(|t| t.p_value).reduce(f64::min)
}

/// Puts the findings together.
pub(super) fn fit(findings: Findings) -> Fit {
    let model = &findings.whole.model;
    let clusters = model.dims.len();
    let counted = counts(&findings.whole.labels, clusters);
    let mut order: Vec<usize> = (0..clusters).collect();
    if !findings.named {
        order.sort_by_key(|k| std::cmp::Reverse((model.dims[*k], counted[*k])));
    }
    let mut place = vec![0; clusters];
    order.iter().enumerate().for_each(|(new, old)| place[*old] = new);
    let pick = |values: &[usize]| order.iter().map(|k| values[*k]).collect::<Vec<_>>();
    let (_, wrong_labels) = model.assign(findings.tokens);
    let ratio = model.noise / model.signal;
    let delta = match (model.freedom[1] > 0.0, model.is_noisy()) {
        (false, _) => Estimate::computed(f64::NAN, 0.0),
        (true, true) => ratio_estimate(ratio, model.freedom, findings.options.level),
        (true, false) => Estimate::computed(0.0, 0.0),
    };
    let scale = ratio_estimate(model.signal, [model.freedom[0], f64::INFINITY], findings.options.level);
    let basis = |k: &usize| product(findings.support.view(), model.frame.slice(s![.., model.columns(*k)]));
    Fit {
        ambient: findings.support.nrows(),
        rank: findings.support.ncols(),
        dims: pick(&model.dims),
        dims_of_half: pick(&findings.half.dims),
        counts: pick(&counted),
        delta,
        scale,
        tilt: order.iter().map(|k| tilt(model, &counted, *k)).collect(),
        wrong_labels,
        criteria: findings.criteria.clone(),
        impossible: findings.impossible.clone(),
        goodness: goodness(&findings),
        mean: findings.mean.clone(),
        bases: order.iter().map(basis).collect(),
        labels: findings.whole.labels.iter().map(|k| place[*k]).collect(),
    }
}

/// The square root of a ratio of variances: log-normal interval, exact to the skewness of log χ², which is
/// below 1 % of the width from 100 degrees of freedom on.
fn ratio_estimate(ratio: f64, freedom: [f64; 2], level: f64) -> Estimate {
    let spread = 0.5 * freedom.iter().map(|f| 2.0 / f.max(1.0)).sum::<f64>().sqrt();
    let least = freedom[0].min(freedom[1]).clamp(1.0, 1e9);
    // The level has been validated, and the freedom is positive.
    let quantile = t_quantile(least, 0.5 + 0.5 * level).unwrap_or(f64::INFINITY);
    let value = ratio.sqrt();
    Estimate { value, low: value * (-quantile * spread).exp(), high: value * (quantile * spread).exp(), level }
}

/// δ² Σ_l p_l/(N_k + N_l), and all of N_k for directions outside all subspaces, as a root.
fn tilt(model: &Model, counts: &[usize], k: usize) -> f64 {
    let outside = (model.frame.nrows() - model.frame.ncols()) as f64;
    let others: f64 = (0..counts.len())
        .filter(|l| *l != k)
        .map(|l| model.dims[l] as f64 / (counts[k] + counts[l]).max(1) as f64)
        .sum();
    let ratio = model.noise / model.signal;
    (ratio * (others + outside / counts[k].max(1) as f64)).sqrt().min(1.0)
}

fn goodness(findings: &Findings) -> Goodness {
    let (model, options, tested) = (findings.half, findings.options, &findings.tested);
    let (rank, ambient) = (findings.support.ncols(), findings.support.nrows());
    let total: usize = findings.whole.model.dims.iter().sum();
    let mut tests = tested.tests.clone();
    if options.unit_scale {
        tests.push(Test { name: "signal variance 1", p_value: Some(unit_scale(model)) });
    }
    let mut reasons = vec![];
    if model.dims.len() == 1 && total == ambient {
        reasons.push(format!("one cluster of dimension p = d = {ambient}: the tokens have no low-rank structure"));
    }
    if total < rank {
        reasons.push(format!(
            "the tokens span {rank} dimensions and the subspaces {total}: Definition 1 has no noise outside them"
        ));
    }
    let p_value = p_value(tested, &tests, options, unit_scale(model));
    if p_value.is_some_and(|p| p <= options.alpha) {
        reasons.push(failure(&tests));
    }
    let Causes { repeats, outlier } = findings.causes.clone();
    let certain = repeats.is_some();
    let verdict = match (p_value, reasons.is_empty()) {
        _ if certain => Verdict::NotSuchAMixture,
        (None, _) => {
            reasons = vec!["too few tokens for a test: every cluster needs at least p_k + 8 of the tested ones".into()];
            Verdict::Undecided
        }
        (_, true) if outlier.is_some() => Verdict::Undecided,
        (_, true) => Verdict::Consistent,
        (_, false) if tested.doubt.is_some() => {
            reasons.extend(tested.doubt.clone());
            Verdict::Undecided
        }
        (_, false) => Verdict::NotSuchAMixture,
    };
    if verdict != Verdict::Consistent {
        // The cause in the tokens comes first.
        reasons.splice(0..0, repeats.into_iter().chain(outlier));
    }
    let by_draws = tested.calibrated.is_some();
    Goodness { verdict, certain, reasons, tests, p_value, by_draws, alpha: options.alpha }
}

/// Bonferroni's p-value over the tests; draws calibrate all of them but that of the scale, which makes two.
fn p_value(tested: &Tested, tests: &[Test], options: &Options, unit_scale: f64) -> Option<f64> {
    smallest(&tested.tests)?;
    let count = tests.iter().filter(|t| t.p_value.is_some()).count() as f64;
    let p = match (tested.calibrated, options.unit_scale) {
        (None, _) => count * smallest(tests)?,
        (Some(p), false) => p,
        (Some(p), true) => 2.0 * p.min(unit_scale),
    };
    Some(p.min(1.0))
}

/// The sentence that names the failing test.
fn failure(tests: &[Test]) -> String {
    let least = smallest(tests).unwrap_or(1.0);
    let failing: Vec<&str> = tests.iter().filter(|t| t.p_value == Some(least)).map(|t| t.name).collect();
    // Tails below the range of f64 are 0.
    let shown = if least < 1e-300 { "p < 1e-300".to_string() } else { format!("p = {least:.1e}") };
    format!("test failed: {} ({shown})", failing.join(", "))
}
