//! The rate of limits in L, as claims measure it: the exponent of L in a mean squared distance.
//!
//! A limit holds query by query, and the squared distance of softmax attention from its limit need not have a
//! mean over queries: it is counted in units of its own variance, at the queries for which L is asymptotic.

use super::setting::*;
use attnlab_core::stats::log_log_slope_of_means;
use attnlab_lab::claim::verdict::judge_estimate;

/// Context lengths of a rate: L, 2L, .., 16L.
const DOUBLINGS: u32 = 5;

/// Largest distance of the exponent from -1: an estimate that does not converge has 0. The terms of order 1/L²
/// move it by .014 at most ([`LONG`]); the rest is for the interval.
const EXPONENT_BAND: f64 = 0.1;

/// The exponents of a mean that falls like 1/L.
pub const BAND: [f64; 2] = [-1.0 - EXPONENT_BAND, -1.0 + EXPONENT_BAND];

/// Least ratio of L to L* of [`Asymptotics`](crate::theory::Asymptotics): the share 2 L*/L of the next order is
/// then .04 at the shortest length and moves the exponent by less than .014.
const LONG: f64 = 50.0;

/// Least spread of [`Asymptotics`](crate::theory::Asymptotics): a distance of relative size √(1e-8 / 16 L) is far
/// above rounding for every L.
const RESOLVED: f64 = 1e-8;

/// Share of the queries that must be in the asymptotic regime.
const LEAST_SHARE: f64 = 0.05;

/// Tasks and queries per task behind that share: a standard deviation of .011 at a share of .05.
const PILOT: (u64, usize) = (20, 20);

/// The context lengths of a rate, each twice the one before.
pub fn lengths(shortest: usize) -> Vec<usize> {
    (0..DOUBLINGS).map(|doubling| shortest << doubling).collect()
}

/// The longest of them.
pub fn longest(shortest: usize) -> usize {
    shortest << (DOUBLINGS - 1)
}

/// The outcome of one trial: the mean squared distance at each of the [`lengths`].
pub fn outcome(shortest: usize, errors: &[f64]) -> Outcome {
    Outcome::Value {
        value: errors[0] * shortest as f64,
        witness: witness! { "L" => lengths(shortest), "error2" => errors },
    }
}

/// Judges whether the mean over trials falls like 1/L; an error with fewer than two trials, or outcomes of others.
pub fn judge(outcomes: &[Outcome], level: f64) -> Result<Judgement> {
    let series = |outcome: &Outcome, name: &str| -> Result<Vec<f64>> {
        let list = outcome.witness().get(name).and_then(Value::as_array);
        let numbers: Option<Vec<f64>> = list.and_then(|l| l.iter().map(Value::as_f64).collect());
        numbers.ok_or_else(|| Error::undefined(format!("a trial left no finite {name}")))
    };
    let errors: Result<Vec<_>> = outcomes.iter().map(|o| series(o, "error2")).collect();
    let lengths = outcomes.first().map_or(Ok(vec![]), |o| series(o, "L"))?;
    let exponent = log_log_slope_of_means(&lengths, &errors?, level)?;
    let [low, high] = BAND;
    let mut judgement = judge_estimate(low, high, exponent, outcomes.len());
    if let Verdict::Refuted { witness } = &mut judgement.verdict {
        *witness = witness! { "exponent_of_L" => exponent.value };
    }
    Ok(judgement)
}

/// Defines the methods of [`Claim`] that all claims about a rate share: the judgement by [`judge`], and the time of a
/// trial.
macro_rules! judged_by_exponent {
    () => {
        fn counts_events(&self, _params: &Params) -> bool {
            false
        }

        fn judge(&self, _params: &Params, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
            rate::judge(outcomes, level)
        }

        fn promised(&self, _params: &Params) -> String {
            let [low, high] = rate::BAND;
            format!("the mean squared distance falls like a power of L between {low} and {high}")
        }

        fn seconds(&self, params: &Params) -> f64 {
            // Drawing 16 L tokens and weighing them at all queries.
            let products = (params.real(QUERIES) + 10.0) * (params.real(AMBIENT) + 30.0);
            16.0 * params.real(CONTEXT) * products / PER_SECOND
        }
    };
}
pub(super) use judged_by_exponent;

/// Number of trials with which the exponent is decided with probability .99, for errors with `components`
/// effective components: a trial scatters by √(2 / components) at the longest context, the slope by .29 of
/// that, and (1.96 + 2.33) standard errors must fit into the band less .014, which asks for 412 trials of one
/// component; the shorter contexts take another 70 %.
pub fn trials(components: usize) -> u64 {
    (700.0 / components.max(1) as f64).ceil() as u64
}

/// The same for softmax attention: as many trials with a query in the asymptotic regime, and 100 at least.
pub fn softmax_trials(problem: &Denoising, beta: f64, params: &Params, components: usize) -> u64 {
    let share = share(problem, beta, params.get(CONTEXT)).unwrap_or(0.0);
    let informative = 1.0 - (1.0 - share.max(LEAST_SHARE)).powf(params.real(QUERIES));
    (trials(components).max(100) as f64 / informative).ceil() as u64
}

/// Queries (n, M) for which L is asymptotic, with their limits (n, M) and the limits of L times the mean squared
/// distance.
pub struct Kept {
    pub queries: Array2<f64>,
    pub limits: Array2<f64>,
    pub variances: Vec<f64>,
}

/// Keeps the queries for which L is asymptotic at inverse temperature β; None if there is none.
pub fn asymptotic(
    prior: &Prior,
    beta: f64,
    queries: &Array2<f64>,
    limits: &Array2<f64>,
    shortest: usize,
) -> Result<Option<Kept>> {
    let (mut indices, mut variances) = (vec![], vec![]);
    for (i, (query, limit)) in queries.columns().into_iter().zip(limits.columns()).enumerate() {
        let asymptotics = prior.asymptotics(query, beta, limit)?;
        let long = shortest as f64 >= LONG * asymptotics.length;
        if long && asymptotics.spread >= RESOLVED && asymptotics.variance.is_finite() {
            indices.push(i);
            variances.push(asymptotics.variance);
        }
    }
    if indices.is_empty() {
        return Ok(None);
    }
    Ok(Some(Kept { queries: queries.select(Axis(1), &indices), limits: limits.select(Axis(1), &indices), variances }))
}

/// The outcome of a trial without a query in the asymptotic regime.
pub fn too_short() -> Outcome {
    let reason = "L is not asymptotic at any query, or the softmax is saturated to rounding";
    Outcome::uninformative(reason, Witness::new())
}

/// The hypothesis that L is in the asymptotic regime at inverse temperature β.
pub fn regime(problem: &Denoising, beta: f64, shortest: usize) -> Hypothesis {
    let share = share(problem, beta, shortest).unwrap_or(0.0);
    let printed = "L large [here: L >= 50 L*(query) for a twentieth of the queries, where 2 L*/L is the share of \
                   the next order]";
    Hypothesis::new("asymptotic regime", printed, share - LEAST_SHARE)
}

/// Share of queries, drawn without contexts, for which L is asymptotic.
fn share(problem: &Denoising, beta: f64, shortest: usize) -> Result<f64> {
    let (mut tasks, each) = PILOT;
    let mut problem = problem.clone();
    let mut queries = each;
    if let Family::Subspace { dim, .. } | Family::Sphere { dim, .. } = &problem.family {
        // Only the length of the projected query counts: one task, in the least space that holds it.
        problem.ambient = dim.largest() + 1;
        (tasks, queries) = (1, each * tasks as usize);
    }
    let mut count = 0;
    for task in 0..tasks {
        let streams = Streams::new(0, "denoise.pilot", 0, task);
        let prior = problem.draw_prior(&streams)?;
        let (_, drawn) = problem.draw_queries(&prior, queries, &streams)?;
        let limits = limits(&prior, beta, &drawn)?;
        let kept = asymptotic(&prior, beta, &drawn, &limits, shortest)?;
        count += kept.map_or(0, |kept| kept.variances.len());
    }
    Ok(count as f64 / (tasks as usize * queries) as f64)
}

/// Limits of softmax attention at `queries` (n, M).
pub fn limits(prior: &Prior, beta: f64, queries: &Array2<f64>) -> Result<Array2<f64>> {
    let mut limits = Array2::zeros(queries.dim());
    for (query, mut limit) in queries.columns().into_iter().zip(limits.columns_mut()) {
        limit.assign(&prior.attention_limit(query, beta)?);
    }
    Ok(limits)
}

/// The mean squared distance of softmax attention $\alpha X\,\mathrm{softmax}(\beta X^T\tilde x)$ from its limits at
/// the kept queries, for each of the [`lengths`] whose longest is that of the context (n, 16 L): over all disjoint
/// contexts of that length in it, in units of the queries' variances. The exponentials are shared.
pub fn softmax_errors(context: ArrayView2<f64>, (alpha, beta): (f64, f64), kept: &Kept) -> Vec<f64> {
    let Kept { queries, limits, variances } = kept;
    let mut errors = vec![0.0; DOUBLINGS as usize];
    let shortest = context.ncols() >> (DOUBLINGS - 1);
    let columns = queries.columns().into_iter().zip(limits.columns());
    for ((query, limit), variance) in columns.zip(variances) {
        let mut parts = Part::of_blocks(context, beta, query, shortest);
        for error in &mut errors {
            let share = 1.0 / (variance * (queries.ncols() * parts.len()) as f64);
            for part in &parts {
                let distance = &part.weighted * (alpha / part.sum) - limit;
                *error += share * distance.dot(&distance);
            }
            parts = parts.chunks_exact(2).map(|pair| pair[0].with(&pair[1])).collect();
        }
    }
    errors
}

/// The two sums of softmax attention over some tokens, up to a factor of e^`largest`.
struct Part {
    largest: f64,
    sum: f64,
    weighted: Array1<f64>,
}

impl Part {
    /// The sums over consecutive blocks of `length` tokens.
    fn of_blocks(context: ArrayView2<f64>, beta: f64, query: ArrayView1<f64>, length: usize) -> Vec<Part> {
        let scores = context.t().dot(&query) * beta;
        let block = |(tokens, scores): (ArrayView2<f64>, ArrayView1<f64>)| {
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights = scores.mapv(|v| (v - largest).exp());
            Part { largest, sum: weights.sum(), weighted: tokens.dot(&weights) }
        };
        let tokens = context.axis_chunks_iter(Axis(1), length);
        tokens.zip(scores.axis_chunks_iter(Axis(0), length)).map(block).collect()
    }

    /// The sums over both.
    fn with(&self, other: &Part) -> Part {
        let largest = self.largest.max(other.largest);
        let (a, b) = ((self.largest - largest).exp(), (other.largest - largest).exp());
        Part { largest, sum: a * self.sum + b * other.sum, weighted: &self.weighted * a + &other.weighted * b }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use attnlab_core::stats::binomial;
    use ndarray::s;
    use rayon::prelude::*;

    /// Against the plain layer on every disjoint context.
    #[test]
    fn blocks_are_contexts() {
        let streams = Streams::new(3, "denoise_rate", 0, 0);
        let draw = |name, count| normal_matrix(3, count, &mut streams.part(name, 0));
        let (context, queries, limits) = (draw("context", 96), draw("queries", 2), draw("limits", 2));
        let kept = Kept { queries, limits, variances: vec![2.0, 0.5] };
        let errors = softmax_errors(context.view(), (0.9, 4.0), &kept);
        let (w_pv, w_kq) = (Array2::eye(3) * 0.9, Array2::eye(3) * 4.0);
        for (length, error) in lengths(6).into_iter().zip(errors) {
            let mut plain = vec![];
            for (i, variance) in kept.variances.iter().enumerate() {
                let (query, limit) = (kept.queries.column(i), kept.limits.column(i));
                for start in (0..96).step_by(length) {
                    let x = context.slice(s![.., start..start + length]);
                    let d = softmax_attention(x, w_pv.view(), w_kq.view(), query) - limit;
                    plain.push(d.dot(&d) / variance);
                }
            }
            let plain = plain.iter().sum::<f64>() / plain.len() as f64;
            assert!((error / plain - 1.0).abs() < 1e-12, "{length}: {error} {plain}");
        }
    }

    /// Errors of nested contexts with one effective component whose mean falls like L to the power −1 + `above`: at the
    /// ends of the band each verdict is given in at most half of α, up to chance: 500 checks each, standard error .007.
    /// In its middle and well outside the check decides, with the number of trials that [`trials`] gives.
    #[test]
    fn the_exponent_is_judged_at_its_level() {
        const CHECKS: u64 = 500;
        let drawn = |above: f64, check: u64| -> Vec<Outcome> {
            let mut rng = Streams::new(14, "denoise_rate", 1, check).part("errors", 0);
            let blocks = 1 << (DOUBLINGS - 1);
            let trial = |_| {
                let sums: Array2<f64> = normal_matrix(blocks, 1, &mut rng);
                let error = |doubling: u32| {
                    let size = 1_usize << doubling;
                    let mean2 = |block: ArrayView1<f64>| (block.sum() / size as f64).powi(2);
                    let sum: f64 = sums.column(0).exact_chunks(size).into_iter().map(mean2).sum();
                    sum * size as f64 / blocks as f64 * (size as f64).powf(above)
                };
                outcome(10, &(0..DOUBLINGS).map(error).collect::<Vec<_>>())
            };
            (0..trials(1)).map(trial).collect()
        };
        let verdicts = |above: f64| -> Vec<VerdictKind> {
            let given = |check| judge(&drawn(above, check), 0.95).unwrap().verdict.kind();
            (0..CHECKS).into_par_iter().map(given).collect()
        };
        let share = |verdicts: &[VerdictKind], kind: VerdictKind| {
            let hits = verdicts.iter().filter(|given| **given == kind).count() as u64;
            binomial(hits, CHECKS, 1.0 - 2e-6).unwrap()
        };
        for above in [-EXPONENT_BAND, EXPONENT_BAND] {
            let verdicts = verdicts(above);
            for kind in [VerdictKind::Supported, VerdictKind::Refuted] {
                let share = share(&verdicts, kind);
                println!("{kind:?} at {above}: {share:?}");
                assert!(share.low <= 0.025, "{kind:?} at {above}: {share:?}");
            }
        }
        assert!(share(&verdicts(0.0), VerdictKind::Supported).high > 0.99);
        assert!(share(&verdicts(0.3), VerdictKind::Refuted).high > 0.99);
    }
}
