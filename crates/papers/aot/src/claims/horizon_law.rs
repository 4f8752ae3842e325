//! The depth horizon of AoT Theorem 1 follows the law of [`theory::horizon`](crate::theory::horizon).

use super::setting::{horizon_law, mixture, noisy_mixture_schema, seconds_of_scores};
use crate::quantities::*;
use crate::theory::Horizon;
use attnlab_core::stats::Estimate;
use attnlab_lab::prelude::*;
use attnlab_theory::measure::horizon_of_mixture;
use rayon::prelude::*;

/// θ_crit of full draws has the distribution function 1 - exp(-Λ).
#[derive(Default, Serialize, Deserialize)]
pub struct HorizonLaw {
    law: Law,
}

/// The Λ that is claimed.
#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Law {
    /// [`Horizon::lambda`].
    #[default]
    Sharp,
    /// [`Horizon::lambda_annealed`].
    Annealed,
    /// Λ for NK columns instead of N(K-1): the signal columns counted too.
    AllColumns,
    /// Λ for one noise column instead of all N(K-1).
    OneColumn,
    /// Noise of variance δ instead of δ².
    Variance,
    /// The threshold's odds inverted.
    Odds,
}

/// Points through which ln Λ is interpolated, by parabolas in ln θ: 24 per factor of three of θ_crit err by
/// less than 1e-3 in probability.
const KNOTS: usize = 24;
/// Most of these points in all.
const MOST_KNOTS: usize = 400;

/// Part of the tolerance that the dependence of the columns may take: the band of the trials takes half.
const DEPENDENCE: f64 = 0.4;

impl HorizonLaw {
    fn lambda(&self, law: &Horizon, theta: f64) -> f64 {
        match self.law {
            Law::Sharp => law.lambda(theta),
            Law::Annealed => law.lambda_annealed(theta),
            Law::AllColumns => law.lambda(theta) * law.tokens as f64 * law.clusters as f64 / law.noise_columns(),
            Law::OneColumn => law.lambda(theta) / law.noise_columns(),
            Law::Variance => Horizon { delta: law.delta.sqrt(), ..*law }.lambda(theta),
            Law::Odds => Horizon { tau: 1.0 - law.tau, ..*law }.lambda(theta),
        }
    }

    /// 1 - exp(-Λ) at every one of the increasing `thetas`.
    fn distribution(&self, law: &Horizon, thetas: &[f64]) -> Vec<f64> {
        let finite = thetas.iter().copied().filter(|t| t.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, 0.0_f64), |(a, b), t| (a.min(t), b.max(t)));
        if !low.is_finite() {
            return vec![self.ever(law); thetas.len()];
        }
        let factors = ((high / low).ln() / 3.0_f64.ln()).ceil().max(1.0);
        let count = (KNOTS * factors as usize).min(MOST_KNOTS);
        let step = (high / low).ln() / (count - 1) as f64;
        let knot = |i: usize| self.lambda(law, low * (step * i as f64).exp()).ln().max(-1e3);
        let knots: Vec<f64> = (0..count).into_par_iter().map(knot).collect();
        let value = |theta: &f64| {
            if !theta.is_finite() {
                return self.ever(law);
            }
            let place = if step > 0.0 { (theta / low).ln() / step } else { 0.0 };
            // Lagrange's parabola through the nearest knot and its neighbours.
            let i = (place.round() as usize).clamp(1, count - 2);
            let t = place - i as f64;
            let ln_lambda =
                0.5 * t * (t - 1.0) * knots[i - 1] + (1.0 - t * t) * knots[i] + 0.5 * t * (t + 1.0) * knots[i + 1];
            -(-ln_lambda.exp()).exp_m1()
        };
        thetas.iter().map(value).collect()
    }

    /// The probability that the pattern ever breaks: the left limit of the distribution at θ = ∞, which a draw
    /// that never breaks has.
    fn ever(&self, law: &Horizon) -> f64 {
        -(-self.lambda(law, law.clipped(f64::INFINITY))).exp_m1()
    }

    /// The largest difference between the distribution function of the sorted `thetas` and that of the law,
    /// over all θ. Both have an atom at θ = 1, where every draw that is broken from the start lies, and one at
    /// θ = ∞: they are compared there and just before.
    fn distance(&self, law: &Horizon, thetas: &[f64]) -> f64 {
        let n = thetas.len() as f64;
        let (mut most, mut below) = (0.0_f64, 0);
        for (theta, value) in thetas.iter().zip(self.distribution(law, thetas)) {
            if thetas[below] < *theta {
                below = thetas.partition_point(|t| t < theta);
            }
            let at_most = thetas.partition_point(|t| t <= theta);
            // The law has no atom in between, so its left limit is its value; at 1 it is 0, at ∞ the value is 1.
            let before = if *theta <= 1.0 { 0.0 } else { value };
            let up_to = if theta.is_finite() { value } else { 1.0 };
            most = most.max((before - below as f64 / n).abs());
            most = most.max((up_to - at_most as f64 / n).abs());
        }
        most
    }
}

/// Multiplications that take as long as the search for θ_crit takes per score: 60 ns, measured.
const PER_SCORE: f64 = 2000.0;

impl Claim for HorizonLaw {
    from_sheet!("aot.horizon_law");

    fn schema(&self) -> Schema {
        let mut schema = noisy_mixture_schema(120, 2, 100);
        schema.push(TAU.within(Domain::OPEN_UNIT).or(0.55));
        // Λ itself is good to .003 in probability; that the number of broken columns is Poisson,
        // although they share the a_i, costs what `dependence` says, .01 at the defaults.
        schema.push(TOLERANCE.or(0.05));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        horizon_law(params).map(|_| ())
    }

    fn seconds(&self, params: &Params) -> f64 {
        seconds_of_scores(params, PER_SCORE)
    }

    /// The law counts noise columns that a signal token captures. Where other breaks are frequent
    /// the statement is about something else.
    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let others = horizon_law(params).map_or(f64::INFINITY, |law| law.other_breaks(1.0).total());
        vec![
            Hypothesis::new("captured columns", "expected breaks of other kinds <= 0.01", 0.01 - others),
            Hypothesis::new(
                "independent columns",
                "0.27 (exp(x^4 / 2p) / N + 1 / (N(K-1))) <= 0.4 tolerance, x^2 = 2 log(N^2 (K-1) / K)",
                DEPENDENCE * params.get(TOLERANCE) - dependence(params),
            ),
        ]
    }

    /// θ_crit of one draw: the least θ ≥ 1 at which some column of some head is outside (30).
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let horizon = horizon_of_mixture(&mixture(params)?, params.get(TAU), streams, || {})?;
        let (theta, head, column) = horizon.first().map_or((f64::INFINITY, 0, 0), |(k, b)| (b.theta, k, b.column));
        let witness = witness! { "theta" => theta, "head" => head, "column" => column };
        Ok(Outcome::Value { value: theta, witness })
    }

    /// Enough for a band of half the tolerance, .025: ln(2/.05)/(2·.025²) = 2951.
    fn default_trials(&self, _params: &Params) -> u64 {
        // The mutants are off by more than .15, which far fewer show.
        if self.law == Law::Sharp { 3000 } else { 600 }
    }

    fn promised(&self, params: &Params) -> String {
        let tolerance = params.get(TOLERANCE);
        format!("the distribution functions of θ and of the law differ by at most {tolerance} in probability")
    }

    /// A distribution is compared, not a probability.
    fn counts_events(&self, _params: &Params) -> bool {
        false
    }

    fn judge(&self, params: &Params, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
        let law = horizon_law(params)?;
        let theta = |outcome: &Outcome| match outcome {
            Outcome::Value { value, .. } => Some(*value),
            _ => None,
        };
        let mut thetas: Vec<f64> = outcomes.iter().filter_map(theta).collect();
        thetas.sort_by(f64::total_cmp);
        let mut judgement = judge_distance(self.distance(&law, &thetas), thetas.len(), params.get(TOLERANCE), level);
        if let Verdict::Refuted { witness } = &mut judgement.verdict {
            witness.insert("median_theta".into(), thetas[thetas.len() / 2].into());
        }
        Ok(judgement)
    }

    fn least_alpha(&self, params: &Params, judgement: &Judgement, trials: u64) -> Result<Option<f64>> {
        // The band of judge, solved for α: 2 exp(-2 n (distance - tolerance)²).
        let gap = judgement.estimate.value - params.get(TOLERANCE);
        let alpha = 2.0 * (-2.0 * trials as f64 * gap * gap).exp();
        Ok(Some(alpha.min(1.0)))
    }

    fn memory(&self, params: &Params) -> u64 {
        let n = params.get(TOKENS) as u64;
        memory::total(&[&[8, n, n], &[8, n, params.get(DIM) as u64]])
    }
}

/// Judges the Kolmogorov-Smirnov distance between the distribution functions of n draws and of a law, which estimates that
/// between the true one and the law's. By the Dvoretzky-Kiefer-Wolfowitz inequality (Massart's constant) the two differ
/// by at most $\sqrt{\ln(2/\alpha)/(2n)}$ with confidence 1 - α, whatever the true distribution.
fn judge_distance(distance: f64, n: usize, tolerance: f64, level: f64) -> Judgement {
    let ln_tail = (2.0 / (1.0 - level)).ln();
    let band = (ln_tail / (2.0 * n as f64)).sqrt();
    let estimate =
        Estimate { value: distance, low: (distance - band).max(0.0), high: (distance + band).min(1.0), level };
    let verdict = if estimate.low > tolerance {
        Verdict::Refuted { witness: witness! { "distance" => distance, "band" => band } }
    } else if estimate.high < tolerance {
        Verdict::Supported
    } else {
        let needed = (ln_tail / (2.0 * (distance - tolerance).powi(2))).ceil();
        Verdict::Inconclusive { trials_needed: needed.is_finite().then_some(needed as u64) }
    };
    Judgement { verdict, estimate, failures: 0 }
}

/// The error of the Poisson law of the number F of broken columns, in probability.
///
/// Two columns of a head at an angle of cosine ρ ~ N(0, 1/p) break through the same key with probability
/// $n Q(x)^2 \mathbb E e^{\rho x^2} = n Q(x)^2 e^{x^4/2p}$ where independent ones do with $n^2 Q(x)^2$; with the
/// share 1/K of pairs in one head $\mathbb E F(F-1)$ is larger than $\Lambda^2$ by $e^{x^4/2p}/N$ of itself, and smaller by
/// 1/(N(K-1)), since a column breaks once. To first order $\mathbb P(F = 0)$ moves by
/// $\Lambda^2 e^{-\Lambda}/2 \le 2 e^{-2} = 0.27$ of that. x: the score at which some of the
/// $N^2(K-1)/K$ in-cluster scores is expected.
fn dependence(params: &Params) -> f64 {
    let [n, k, p] = [TOKENS, CLUSTERS, DIM].map(|q| params.real(q));
    let x2 = 2.0 * (n * n * (k - 1.0) / k).ln();
    0.27 * ((0.5 * x2 * x2 / p).exp() / n + 1.0 / (n * (k - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use attnlab_core::stats::binomial;
    use rand::RngExt;

    /// Distance of the draws' distribution function from the uniform law's, by its definition at every jump.
    fn distance_from_uniform(draws: &mut [f64]) -> f64 {
        draws.sort_by(f64::total_cmp);
        let n = draws.len() as f64;
        let distance = |(i, u): (usize, &f64)| (u - i as f64 / n).max((i + 1) as f64 / n - u);
        draws.iter().enumerate().map(distance).fold(0.0, f64::max)
    }

    /// Draws whose distribution function is the law's plus `apart`, up to 1. At the tolerance, where no verdict is
    /// warranted, each is given in at most half of α of the checks (4000 checks, standard error .0025); at a distance of 0
    /// and of three tolerances the check decides.
    #[test]
    fn distributions_are_judged_at_their_level() {
        const CHECKS: u64 = 4000;
        const TOLERANCE: f64 = 0.05;
        let verdicts = |apart: f64, trials: usize, checks: u64| -> Vec<VerdictKind> {
            let given = |check| {
                let mut rng = Streams::new(14, "horizon_law", trials as u64, check).part("theta", 0);
                let draw = |_| (rng.random::<f64>() - apart).max(0.0);
                let distance = distance_from_uniform(&mut (0..trials).map(draw).collect::<Vec<_>>());
                judge_distance(distance, trials, TOLERANCE, 0.95).verdict.kind()
            };
            (0..checks).into_par_iter().map(given).collect()
        };
        let share = |verdicts: &[VerdictKind], kind: VerdictKind| {
            let hits = verdicts.iter().filter(|given| **given == kind).count() as u64;
            binomial(hits, verdicts.len() as u64, 1.0 - 2e-6).unwrap()
        };
        for trials in [200, 600] {
            let verdicts = verdicts(TOLERANCE, trials, CHECKS);
            for kind in [VerdictKind::Supported, VerdictKind::Refuted] {
                let share = share(&verdicts, kind);
                println!("{kind:?} by {trials}: {share:?}");
                assert!(share.low <= 0.025, "{kind:?} by {trials}: {share:?}");
            }
        }
        assert!(share(&verdicts(0.0, 3000, CHECKS / 4), VerdictKind::Supported).low > 0.9);
        assert!(share(&verdicts(3.0 * TOLERANCE, 600, CHECKS), VerdictKind::Refuted).low > 0.99);
    }
}
