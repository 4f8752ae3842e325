//! Comparison of given tokens with the theory: the mixture of Definition 1 fitted to them, every hypothesis of
//! Theorem 1 at the fitted values with its margin, the horizon of these very tokens, SNR, ranks, and controls.
//!
//! [`inspect`] takes one array, [`inspect_layers`] one after the other; `attnlab inspect` calls it with arrays from files,
//! and with the residual stream of a network ([`network`]).

mod controls;
mod fitting;
pub mod network;
mod power;
mod stages;

pub use fitting::{Fitting, Scale};
pub use power::{OfNetwork, PowerOptions};
pub use stages::Stages;

use crate::claims::Theorem1;
use crate::horizon::{HorizonReport, horizon_of_tokens};
use crate::quantities::{CLUSTERS, DELTA, DIM, ETA, TAU, TOKENS};
use crate::theory::Horizon as Law;
use crate::unroll::Data;
use attnlab_core::stats::Estimate;
use attnlab_lab::prelude::*;
use attnlab_lab::run::Silent;
use attnlab_lab::run::store::{as_number, number, series};
use attnlab_theory::attention::horizon::exact_updates;
use attnlab_theory::attention::streaming::Cpu;
use attnlab_theory::fit::{self, Fit, Options, Verdict, fit, fit_known, ticks};
use attnlab_theory::measure::{coding_rate, snr, stable_rank, unit_tokens};
use ndarray::{Array1, Array2, ArrayView2, Axis, CowArray, Ix2};
use serde_json::json;
use stages::Stage;

/// Precision ε of the coding rate of unit tokens, as Yu et al. (2020) use it.
pub const EPSILON: f64 = 0.5;

/// How arrays are inspected.
#[derive(Clone, Debug)]
pub struct How {
    /// η.
    pub eta: f64,
    /// τ.
    pub tau: f64,
    /// Options of the fit.
    pub options: Options,
    /// Flag: the tokens are divided by the fitted scale before the horizon.
    pub rescale: bool,
    /// Controls that are measured too.
    pub controls: Controls,
    /// How the power of the verdict is measured.
    pub power: PowerOptions,
    /// Bases and labels, if they are known: no fit of them then.
    pub known: Option<(Vec<Array2<f64>>, Vec<usize>)>,
}

/// Controls of an inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controls {
    /// None.
    None,
    /// SNR and horizon with the labels in random order.
    Labels,
    /// Those, and fits of two other arrays: every coordinate permuted over the tokens, and a Gaussian of the same
    /// second moments.
    All,
}

impl Default for How {
    /// Returns: η = 0.5, τ = 0.55, the default fit of tokens as given, all controls, no power.
    fn default() -> Self {
        let (options, power) = (Options::default(), PowerOptions::default());
        How { eta: 0.5, tau: 0.55, options, rescale: false, controls: Controls::All, power, known: None }
    }
}

impl How {
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// η not > 0, τ outside (0, 1].
    pub fn validate(&self) -> Result<()> {
        positive("eta", self.eta)?;
        require(self.tau > 0.0 && self.tau <= 1.0, "tau", self.tau, "must be a number in (0, 1]")
    }

    /// Refuses tokens Z (d, N) that cannot be inspected with these parameters, before anything is computed.
    ///
    /// # Errors
    /// As [`inspect`], but for what only the fit finds.
    pub fn check(&self, tokens: ArrayView2<f64>) -> Result<()> {
        self.validate()?;
        fit::check(tokens, &self.options)
    }
}

/// Returns the peak memory (bytes) of [`inspect`] for N tokens in d dimensions.
pub fn bytes(ambient: usize, tokens: usize, most_clusters: usize) -> u64 {
    let (d, n) = (ambient as u64, tokens as u64);
    // The tokens as given, centred, unit, permuted and redrawn, beside the fit; a head in f32.
    fit::bytes(ambient, tokens, most_clusters).saturating_add(memory::product(&[8, 5, d, n]))
}

/// Inspects named arrays, each (d, N), one after the other: the layers of a network, say. `show` receives the
/// findings of each as soon as they are there; of one that cannot be fitted they say why.
///
/// # Errors
/// As [`inspect`], with the name of the array, but for arrays that cannot be fitted beside others that can; what `show`
/// returns.
pub fn inspect_layers<N: std::fmt::Display>(
    layers: impl IntoIterator<Item = Result<(N, Array2<f64>)>>,
    how: &How,
    streams: &Streams,
    show: &mut dyn FnMut(N, Map<String, Value>) -> Result<()>,
) -> Result<()> {
    let (mut some_fitted, mut first_refusal) = (false, None);
    for (i, layer) in layers.into_iter().enumerate() {
        let (name, tokens) = layer?;
        let during = |e: Error| e.during(format!("array {name}"));
        let streams = streams.child("array", i as u64);
        let inspected = inspect_place(tokens.view(), how, &streams, Stages::silent()).map_err(during)?;
        some_fitted |= inspected.refusal.is_none();
        first_refusal = first_refusal.or(inspected.refusal.map(during));
        show(name, inspected.findings)?;
    }
    first_refusal.filter(|_| !some_fitted).map_or(Ok(()), Err)
}

/// Inspects tokens Z (d, N). The findings are named as `docs/inspect.md` says.
///
/// # Errors
/// Parameters out of range, too little memory, tokens, bases and labels that do not fit together, tokens that cannot be
/// fitted.
pub fn inspect(tokens: ArrayView2<f64>, how: &How, streams: &Streams) -> Result<Map<String, Value>> {
    inspect_place(tokens, how, streams, Stages::silent())?.fitted()
}

/// Findings of one inspection among several.
pub struct Inspected {
    /// The findings.
    pub findings: Map<String, Value>,
    /// The mean token (d,) that was subtracted, if one was.
    pub mean: Option<Array1<f64>>,
    /// The error of the fit, where there is none; the findings are then the verdict `undecided`, with it as the reason.
    pub refusal: Option<Error>,
}

impl Inspected {
    /// Returns the findings of a fit.
    ///
    /// # Errors
    /// The one for which there is no fit.
    pub fn fitted(self) -> Result<Map<String, Value>> {
        self.refusal.map_or(Ok(self.findings), Err)
    }
}

/// Inspects the tokens of one place among several: the others go on where these cannot be fitted.
///
/// # Errors
/// As [`inspect`], but for the last.
pub fn inspect_place(tokens: ArrayView2<f64>, how: &How, streams: &Streams, stages: Stages) -> Result<Inspected> {
    how.validate()?;
    let (d, n) = tokens.dim();
    let most_clusters = how.options.further.unwrap_or(0).max(how.options.most_clusters);
    memory::ensure("the fit", bytes(d, n, most_clusters))?;
    let stage = stages.fit("fit", ticks(&how.options));
    let mut fit = match fitted(tokens, how, &streams.child("fit", 0), &|| stage.step()) {
        Ok(fit) => fit,
        Err(refusal) => {
            let sizes = [("tokens".to_string(), json!(n)), ("ambient".to_string(), json!(d))];
            let findings = sizes.into_iter().chain(undecided(&refusal)).collect();
            return Ok(Inspected { findings, mean: None, refusal: Some(refusal) });
        }
    };
    let tested = fit.goodness.verdict;
    let from_draws = power::judged(tokens, &mut fit, how, &streams.child("power", 0), stages)?;
    let centred = centred(tokens, &fit);
    let tokens = centred.view();
    let mut data = measures(tokens, &fit)?;
    data.extend(from_draws.findings);
    let entry = |(h, low, high): (Hypothesis, f64, f64)| {
        let entry = json!({
            "printed": h.printed, "holds": h.holds, "margin": number(h.margin),
            "margin_low": number(low), "margin_high": number(high),
        });
        (h.name.to_string(), entry)
    };
    let hypotheses: Map<String, Value> = hypotheses(&fit, n, how)?.into_iter().map(entry).collect();
    data.insert("hypotheses".into(), hypotheses.into());
    let reached = horizon(tokens, &fit, &fit.labels, how)?;
    data.extend(horizon_interval(&reached, tested, &from_draws.ratios, how));
    data.extend(reached);
    if let Some(law) = law(&fit, how) {
        data.insert("law_theta".into(), series(&law));
    }
    if how.controls == Controls::All {
        let permuted = controls::permuted(tokens, &streams.child("permuted", 0));
        let stage = stages.fit("coordinates permuted", ticks(&how.options));
        data.insert("permuted".into(), control(&permuted, how, &streams.child("fit", 1), &stage)?);
        let gaussian = controls::gaussian(tokens, &streams.child("gaussian", 0))?;
        let stage = stages.fit("Gaussian", ticks(&how.options));
        data.insert("gaussian".into(), control(&gaussian, how, &streams.child("fit", 2), &stage)?);
    }
    if how.controls >= Controls::Labels {
        let labels = controls::shuffled(&fit.labels, &streams.child("labels", 0));
        let mut other = horizon(tokens, &fit, &labels, how)?;
        other.insert("snr".into(), series(&signal_to_noise(tokens, &fit, &labels)));
        data.insert("labels".into(), other.into());
    }
    Ok(Inspected { findings: data, mean: fit.mean, refusal: None })
}

/// The verdict on tokens without a fit, and why there is none.
fn undecided(refusal: &Error) -> [(String, Value); 2] {
    [("verdict".into(), json!(Verdict::Undecided)), ("reasons".into(), json!([refusal.to_string()]))]
}

/// The fit, or that of δ alone where bases and labels are known. A fit that leaves a cluster without tokens is refused: the
/// horizon needs them.
fn fitted(tokens: ArrayView2<f64>, how: &How, streams: &Streams, tick: &dyn Fn()) -> Result<Fit> {
    if let Some((bases, labels)) = &how.known {
        return fit_known(tokens, bases, labels, &how.options);
    }
    let fit = fit(tokens, &how.options, streams, tick)?;
    let allowed = "must leave tokens in every cluster; the fit to all tokens leaves one without any";
    require(!fit.counts.contains(&0), "clusters", fit.dims.len(), allowed)?;
    Ok(fit)
}

/// The tokens without the mean of the fit, if it has one.
fn centred<'a>(tokens: ArrayView2<'a, f64>, fit: &Fit) -> CowArray<'a, f64, Ix2> {
    match &fit.mean {
        Some(mean) => (&tokens - &mean.view().insert_axis(Axis(1))).into(),
        None => tokens.into(),
    }
}

/// Fit and measures of a control; where it cannot be fitted, why.
fn control(tokens: &Array2<f64>, how: &How, streams: &Streams, stage: &Stage) -> Result<Value> {
    let fit = match fitted(tokens.view(), how, streams, &|| stage.step()) {
        Ok(fit) => fit,
        Err(refusal) => return Ok(Map::from_iter(undecided(&refusal)).into()),
    };
    let tokens = centred(tokens.view(), &fit);
    let mut data = measures(tokens.view(), &fit)?;
    data.extend(horizon(tokens.view(), &fit, &fit.labels, how)?);
    Ok(data.into())
}

/// The fit in numbers, and the measures of tokens.
fn measures(tokens: ArrayView2<f64>, fit: &Fit) -> Result<Map<String, Value>> {
    let whole = |xs: &[usize]| Value::from(xs.to_vec());
    let unit = unit_tokens(tokens);
    let good = &fit.goodness;
    let tests = good.tests.iter().map(|t| (t.name.to_string(), t.p_value.map_or(Value::Null, number)));
    let named = [
        ("tokens", fit.labels.len().into()),
        ("ambient", fit.ambient.into()),
        ("rank", fit.rank.into()),
        ("clusters", fit.dims.len().into()),
        ("dims", whole(&fit.dims)),
        ("dims_of_half", whole(&fit.dims_of_half)),
        ("counts", whole(&fit.counts)),
        ("tilt", series(&fit.tilt)),
        ("wrong_labels", number(fit.wrong_labels)),
        ("clusters_tried", whole(&fit.criteria.iter().map(|c| c.0).collect::<Vec<_>>())),
        ("criterion", series(&fit.criteria.iter().map(|c| c.1).collect::<Vec<_>>())),
        ("verdict", json!(good.verdict)),
        ("reasons", json!(good.reasons)),
        ("p_value", good.p_value.map_or(Value::Null, number)),
        ("by_draws", good.by_draws.into()),
        ("tests", Value::Object(tests.collect())),
        ("snr", series(&signal_to_noise(tokens, fit, &fit.labels))),
        ("snr_law", series(&snr_law(fit))),
        ("stable_rank", number(stable_rank(tokens)?)),
        ("coding_rate", number(coding_rate(unit.view(), EPSILON)?)),
        ("mean_cosine", number(mean_cosine(unit.view()))),
    ];
    let mut data: Map<String, Value> = Map::new();
    insert(&mut data, "delta", &fit.delta);
    insert(&mut data, "scale", &fit.scale);
    data.extend(named.map(|(name, value)| (name.to_string(), value)));
    if !fit.impossible.is_empty() {
        data.insert("clusters_impossible".into(), json!(impossible(fit)));
    }
    Ok(data)
}

/// Every K that the tokens do not allow and why, in a sentence for each reason: "6 to 16: the tokens span 5 dimensions ..".
fn impossible(fit: &Fit) -> Vec<String> {
    let range = |part: &[(usize, String)]| match part {
        [(k, why)] => format!("{k}: {why}"),
        [(first, why), .., (last, _)] => format!("{first} to {last}: {why}"),
        [] => String::new(),
    };
    fit.impossible.chunk_by(|a, b| b.0 == a.0 + 1 && a.1 == b.1).map(range).collect()
}

/// Adds an estimate as NAME, NAME_low and NAME_high.
fn insert(data: &mut Map<String, Value>, name: &str, estimate: &Estimate) {
    let ends = [("", estimate.value), ("_low", estimate.low), ("_high", estimate.high)];
    data.extend(ends.map(|(end, x)| (format!("{name}{end}"), number(x))));
}

/// The SNR (6) of every cluster; NaN where nothing is outside the subspaces but rounding.
fn signal_to_noise(tokens: ArrayView2<f64>, fit: &Fit, labels: &[usize]) -> Vec<f64> {
    if fit.delta.value.is_nan() { vec![f64::NAN; fit.dims.len()] } else { snr(tokens, &fit.bases, labels) }
}

/// √(p_k / Σ_{l≠k} p_l) / δ: the SNR (6) of a large cluster of Definition 1.
fn snr_law(fit: &Fit) -> Vec<f64> {
    let total: usize = fit.dims.iter().sum();
    fit.dims.iter().map(|p| (*p as f64 / (total - p) as f64).sqrt() / fit.delta.value).collect()
}

/// The mean of ⟨u_i, u_j⟩ over i ≠ j for unit tokens.
fn mean_cosine(unit: ArrayView2<f64>) -> f64 {
    let n = unit.ncols() as f64;
    let sum = unit.sum_axis(Axis(1));
    let lengths: f64 = unit.iter().map(|x| x * x).sum();
    (sum.dot(&sum) - lengths) / (n * (n - 1.0))
}

/// Every hypothesis of Theorem 1 at the fitted values, with the margins at the ends of δ's interval. The theorem
/// has one p: the least margin over the smallest and the largest p_k is taken.
fn hypotheses(fit: &Fit, tokens: usize, how: &How) -> Result<Vec<(Hypothesis, f64, f64)>> {
    let theorem = Theorem1::default();
    let of_theorem = |p: usize, delta: f64| -> Result<Vec<Hypothesis>> {
        let sizes = [(TOKENS, tokens), (CLUSTERS, fit.dims.len()), (DIM, p)].map(|(q, n)| (q.name, json!(n)));
        let numbers = [(DELTA, delta), (ETA, how.eta), (TAU, how.tau)].map(|(q, x)| (q.name, json!(x)));
        let set = sizes.into_iter().chain(numbers).map(|(name, value)| (name.to_string(), value));
        Ok(theorem.hypotheses(&Params::resolve(&theorem.schema(), &set.collect())?))
    };
    let ends = [fit.dims.iter().min(), fit.dims.iter().max()];
    let [least, most] = ends.map(|p| p.copied().unwrap_or(1));
    let worst = |delta: f64| -> Result<Vec<Hypothesis>> {
        let pairs = of_theorem(least, delta)?.into_iter().zip(of_theorem(most, delta)?);
        Ok(pairs.map(|(a, b)| if b.margin < a.margin { b } else { a }).collect())
    };
    // A single cluster has no noise in the theorem's sense.
    let noise = |delta: f64| if delta.is_nan() { 0.0 } else { delta };
    let [value, low, high] = [fit.delta.value, fit.delta.low, fit.delta.high].map(noise);
    let (middle, low, high) = (worst(value)?, worst(low)?, worst(high)?);
    let ends = low.into_iter().zip(high);
    let entry =
        |(h, (a, b)): (Hypothesis, (Hypothesis, Hypothesis))| (h, a.margin.min(b.margin), a.margin.max(b.margin));
    Ok(middle.into_iter().zip(ends).map(entry).collect())
}

/// The horizon of given tokens (d, N), bases and labels.
fn report(tokens: Array2<f64>, bases: &[Array2<f64>], labels: &[usize], how: &How) -> Result<HorizonReport> {
    let data = Data::new(tokens, bases.to_vec(), labels.to_vec())?;
    horizon_of_tokens(&Cpu, &data, how.eta, how.tau, &Silent)
}

/// The subspaces that the horizon is of, after the verdict of the test alone, and an interval of the horizon with the true
/// ones; without draws there is none.
fn horizon_interval(reached: &Map<String, Value>, tested: Verdict, ratios: &[f64], how: &How) -> [(String, Value); 5] {
    let of = match (&how.known, tested) {
        (Some(_), _) => "known subspaces",
        (None, Verdict::Consistent) => "fitted subspaces",
        (None, Verdict::NotSuchAMixture) => "fitted subspaces, which do not fit the tokens",
        (None, Verdict::Undecided) => "fitted subspaces, which nothing has tested",
    };
    let theta = reached.get("theta_crit").and_then(as_number);
    let ends = theta.and_then(|theta| power::interval(theta, ratios, how.options.level));
    let updates = |theta: f64| exact_updates(theta, how.eta, how.tau).map_or(f64::INFINITY, |u| u as f64);
    let end = |i: usize, of: &dyn Fn(f64) -> f64| ends.map_or(Value::Null, |ends| number(of(ends[i])));
    [
        ("horizon_of", of.into()),
        ("theta_crit_low", end(0, &|theta| theta)),
        ("theta_crit_high", end(1, &|theta| theta)),
        ("exact_updates_low", end(0, &updates)),
        ("exact_updates_high", end(1, &updates)),
    ]
    .map(|(name, value)| (name.to_string(), value))
}

/// The horizon of the tokens with the fitted or known bases.
fn horizon(tokens: ArrayView2<f64>, fit: &Fit, labels: &[usize], how: &How) -> Result<Map<String, Value>> {
    let scale = if how.rescale { fit.scale.value } else { 1.0 };
    let report = report(&tokens / scale, &fit.bases, labels, how)?;
    let theta = report.theta_crit.unwrap_or(f64::INFINITY);
    let updates = report.exact_updates.map_or(f64::INFINITY, |u| u as f64);
    let named = [("theta_crit", number(theta)), ("exact_updates", number(updates)), ("witness", json!(report.witness))];
    Ok(named.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

/// θ by which 5, 50 and 95 % of draws of the theorem's mixture have broken; None where the clusters differ in
/// dimension, which the law does not have.
fn law(fit: &Fit, how: &How) -> Option<[f64; 3]> {
    let (clusters, p) = (fit.dims.len(), *fit.dims.first()?);
    let equal = fit.dims.iter().all(|q| *q == p);
    let tokens = fit.labels.len() / clusters * clusters;
    let law = Law::new(tokens, clusters, p, fit.delta.value, how.tau).ok().filter(|_| equal)?;
    let theta = |probability| law.theta(probability).ok();
    Some([theta(0.05)?, theta(0.5)?, theta(0.95)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_that_cannot_be_fitted_says_why() {
        let (how, streams) = (How::default(), Streams::new(1, "test", 0, 0));
        let refused = control(&Array2::zeros((4, 16)), &how, &streams, &Stages::silent().fit("permuted", 1)).unwrap();
        assert_eq!(refused, json!({"verdict": "undecided", "reasons": ["tokens = 0: must not all be zero"]}));
    }
}
