//! Power of a verdict, and the interval of the horizon, from the same draws.

use super::stages::{Stage, Stages};
use super::{How, report};
use attnlab_core::memo::Memo;
use attnlab_core::rng::hash;
use attnlab_core::stats::{mean, t_quantile};
use attnlab_lab::prelude::*;
use attnlab_lab::run::store::number;
use attnlab_theory::fit::power::{Plan, Power, Truth, judge, power, replicates, too_few, unfinished};
use attnlab_theory::fit::{self, Fit, Options, Verdict};
use attnlab_theory::sample::Draw;
use ndarray::{Array1, Array2, ArrayView2, Axis};
use std::sync::Arc;

/// Draws from which the horizon's interval is made where the power needs none.
const LEAST_DRAWS: u64 = 6;

/// How the power is measured.
#[derive(Clone, Debug, Default)]
pub struct PowerOptions {
    /// Draws at most; 0: the power is not measured.
    pub draws: u64,
    /// The network whose place is inspected; None for an array.
    pub network: Option<OfNetwork>,
}

/// The network whose place is inspected.
#[derive(Clone, Debug)]
pub struct OfNetwork {
    /// Number of heads and width of a head.
    pub heads: [usize; 2],
    /// Flag: the power against the fitted mixture is measured too. That against the sizes of the heads always is.
    pub of_fit: bool,
    /// Power that other places have measured, by truth and settings. A truth has streams of its own, so that it does not
    /// matter who measures.
    pub powers: Arc<Memo<String, Power>>,
    /// Streams that all places share.
    pub streams: Streams,
}

impl OfNetwork {
    /// Returns the K of the heads, which the fit to tokens (d, N) tries besides: none where no mixture of their size can
    /// be called consistent.
    pub fn further(&self, width: usize, tokens: usize) -> Option<usize> {
        let [heads, dim] = self.heads;
        (!too_few(tokens, heads.saturating_mul(dim).min(width))).then_some(heads)
    }

    /// Measures the power against a truth once for all places.
    fn power(&self, truth: &Truth, options: &Options, plan: Plan, stage: &Stage) -> Result<Power> {
        if truth.is_hopeless() {
            return Ok(Power::NONE);
        }
        let name = format!("{truth:?} {options:?} {}", plan.draws);
        let streams = self.streams.child("power", hash(name.as_bytes()));
        self.powers.value(name, || Ok(power(truth, options, plan, &streams, &|_, _| counted(stage))?.0))
    }
}

/// What the draws say about a fit.
#[derive(Default)]
pub(super) struct FromDraws {
    /// Findings of the row.
    pub findings: Map<String, Value>,
    /// Logarithms of the horizon with true bases over that with fitted ones, of every draw.
    pub ratios: Vec<f64>,
}

/// Measures the power behind the verdict of a fit to tokens (d, N), as given, and makes a rejection that it does not
/// carry undecided. A rejection that is certain needs no power, and none is measured.
///
/// # Errors
/// A number of draws that shows nothing; an eigenvalue iteration that does not converge.
pub(super) fn judged(
    tokens: ArrayView2<f64>,
    fit: &mut Fit,
    how: &How,
    streams: &Streams,
    stages: Stages,
) -> Result<FromDraws> {
    let (known, options) = (how.known.is_some(), &how.options);
    let mut doubts = vec![];
    if let Some(more) = unfinished(fit, options).filter(|_| !known) {
        let limit = options.most_clusters;
        doubts.push(format!("the search of K ended at its limit, {limit} clusters: try --most-clusters {more}"));
    }
    let mut from_draws = FromDraws::default();
    let (mut of_fit, mut of_heads) = (None, None);
    if how.power.draws > 0 && !fit.goodness.certain {
        let plan = Plan { draws: how.power.draws, at_once: at_once(tokens, options) };
        plan.validate(options.level)?;
        let truth = Truth::of_fit(fit, tokens, known, options);
        let heads = how.power.network.as_ref().and_then(|n| Truth::of_heads(n.heads, fit, tokens, options));
        let work = Work { fit, how, plan, streams, stages };
        if let Some(truth) = truth {
            of_fit = work.of_fit(&truth, &mut from_draws.ratios)?.map(|power| (truth, power));
        }
        if let Some((truth, network)) = heads.zip(how.power.network.as_ref()) {
            let (truth, stage) = (plain(&truth), stages.draws("power for the heads", plan, options.level));
            let power = network.power(&truth, options, plan, &stage)?;
            of_heads = Some((truth, power));
        }
    }
    let measured = of_fit.iter().chain(&of_heads);
    doubts.extend(measured.filter(|(_, power)| !power.is_enough()).map(|(truth, power)| power.words(truth)));
    judge(fit, doubts);
    from_draws.findings.extend(findings("power", of_fit.as_ref()));
    if how.power.network.is_some() {
        from_draws.findings.extend(findings("power_heads", of_heads.as_ref()));
    }
    Ok(from_draws)
}

/// Counts a draw of which nothing is observed.
fn counted(stage: &Stage) -> Result<()> {
    stage.step();
    Ok(())
}

/// The findings of a power; null where it was not measured.
fn findings(name: &str, measured: Option<&(Truth, Power)>) -> Map<String, Value> {
    let of = |of: fn(&(Truth, Power)) -> Value| measured.map_or(Value::Null, of);
    let named = [
        ("", of(|(_, p)| number(p.share.value))),
        ("_low", of(|(_, p)| number(p.share.low))),
        ("_high", of(|(_, p)| number(p.share.high))),
        ("_draws", of(|(_, p)| p.draws.into())),
        ("_of", of(|(truth, _)| truth.to_string().into())),
    ];
    named.into_iter().map(|(end, value)| (format!("{name}{end}"), value)).collect()
}

/// The work on the mixture of a fit.
struct Work<'a> {
    fit: &'a Fit,
    how: &'a How,
    plan: Plan,
    streams: &'a Streams,
    stages: Stages<'a>,
}

impl Work<'_> {
    /// The power against the mixture of the fit; where the fit is not rejected, the horizon of every draw too. For a place
    /// of a network None, where it is not asked for, and where the verdict does not depend on it.
    fn of_fit(&self, truth: &Truth, ratios: &mut Vec<f64>) -> Result<Option<Power>> {
        let options = &self.how.options;
        let verdict = self.fit.goodness.verdict;
        let stage = self.stages.draws("power", self.plan, options.level);
        let ratio = |draw: &Draw, fitted: &Fit| {
            let ratio = self.ratio(truth, draw, fitted);
            stage.step();
            Ok(ratio)
        };
        let finite = |ratios: Vec<f64>| ratios.into_iter().filter(|r| !r.is_nan());
        if let Some(network) = &self.how.power.network
            && verdict != Verdict::Consistent
        {
            let needed = network.of_fit && (verdict == Verdict::NotSuchAMixture || truth.is_hopeless());
            let measure = || network.power(&plain(truth), options, self.plan, &stage);
            return needed.then(measure).transpose();
        }
        let hopeless = verdict != Verdict::Consistent && truth.is_hopeless();
        if verdict == Verdict::NotSuchAMixture || truth.known {
            let draws = || Ok(power(truth, options, self.plan, self.streams, &|_, _| counted(&stage))?.0);
            return if hopeless { Ok(Some(Power::NONE)) } else { draws().map(Some) };
        }
        if hopeless {
            // The bases of a fit with this K still have an error.
            let options = Options { clusters: Some(truth.mixture.clusters()), ..*options };
            let replicates = replicates(truth, &options, (0..LEAST_DRAWS, self.plan.at_once), self.streams, &ratio)?;
            ratios.extend(finite(replicates.into_iter().filter_map(|r| r.observed).collect()));
            return Ok(Some(Power::NONE));
        }
        let (power, observed) = power(truth, options, self.plan, self.streams, &ratio)?;
        ratios.extend(finite(observed));
        Ok(Some(power))
    }

    /// The logarithm of the horizon with the true mean, scale and bases over that with the fitted ones; NaN where a
    /// cluster of the fit has no tokens.
    fn ratio(&self, truth: &Truth, draw: &Draw, fitted: &Fit) -> f64 {
        let scale = |scale: f64| if self.how.rescale { scale } else { 1.0 };
        let of = |mean: &Option<Array1<f64>>, scale: f64, bases: &[Array2<f64>], labels: &[usize]| {
            let tokens = match mean {
                Some(mean) => &draw.tokens - &mean.view().insert_axis(Axis(1)),
                None => draw.tokens.clone(),
            };
            let theta = report(tokens / scale, bases, labels, self.how)?.theta_crit;
            Ok::<f64, Error>(theta.unwrap_or(f64::INFINITY))
        };
        let exact = of(&truth.mean, scale(truth.scale), &draw.bases, &draw.labels);
        let fitted = of(&fitted.mean, scale(fitted.scale.value), &fitted.bases, &fitted.labels);
        match (exact, fitted) {
            (Ok(exact), Ok(fitted)) if exact == fitted => 0.0,
            (Ok(exact), Ok(fitted)) => (exact / fitted).ln(),
            _ => f64::NAN,
        }
    }
}

/// The same mixture about 0 in units of its signal: all places of a network share it. In f32 neither makes a difference
/// to the fit, whose residual streams are at most some thousand times as far from 0 as they are wide.
fn plain(truth: &Truth) -> Truth {
    Truth { scale: 1.0, mean: None, ..truth.clone() }
}

/// Fits that the memory holds beside this one.
fn at_once(tokens: ArrayView2<f64>, options: &Options) -> usize {
    let (d, n) = tokens.dim();
    let each = fit::bytes(d, n, options.most_clusters).max(1);
    let room = memory::available().map_or(1, |room| room / 2 / each);
    rayon::current_num_threads().min(usize::try_from(room).unwrap_or(usize::MAX)).max(1)
}

/// The interval of a horizon with true bases: prediction of one more logarithm from those of the draws (Student), times
/// the horizon with fitted ones. None from fewer than two draws.
pub(super) fn interval(theta: f64, ratios: &[f64], level: f64) -> Option<[f64; 2]> {
    let n = ratios.len() as f64;
    if ratios.len() < 2 || !theta.is_finite() {
        return None;
    }
    if ratios.iter().any(|r| r.is_infinite()) {
        // One of the two horizons is infinite: the draws bound nothing on that side.
        let side = |sign: f64, bound: f64| if ratios.contains(&(sign * f64::INFINITY)) { bound } else { theta };
        return Some([side(-1.0, 1.0), side(1.0, f64::INFINITY)]);
    }
    let middle = mean(ratios, level).ok()?.value;
    let variance = ratios.iter().map(|r| (r - middle).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t_quantile(n - 1.0, 0.5 + 0.5 * level).ok()? * (variance * (1.0 + n.recip())).sqrt();
    // No horizon is below 1, the first layer.
    Some([-half, half].map(|step| (theta * (middle + step).exp()).max(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation of log .8, log .9, 0, log 1.1 by Python; quantile .975 of Student's law with 3 degrees
    /// of freedom, 3.182446, from a table.
    #[test]
    fn an_interval_predicts_one_more_draw() {
        let [low, high] = interval(4.0, &[0.8_f64, 0.9, 1.0, 1.1].map(f64::ln), 0.95).unwrap();
        let (middle, spread) = (-0.058_298_47_f64, 0.137_092_51_f64);
        let half = 3.182_446_305 * spread * 1.25_f64.sqrt();
        assert!((low / (4.0 * (middle - half).exp()) - 1.0).abs() < 1e-6, "{low}");
        assert!((high / (4.0 * (middle + half).exp()) - 1.0).abs() < 1e-6, "{high}");
        assert_eq!(interval(4.0, &[0.0], 0.95), None);
        assert_eq!(interval(4.0, &[0.0, f64::INFINITY], 0.95), Some([4.0, f64::INFINITY]));
    }
}
