//! The depth horizon of AoT Theorem 1 follows the law of [`theory::horizon`](crate::theory::horizon).

use super::setting::{mixture, mixture_schema};
use crate::quantities::*;
use crate::theory::Horizon;
use attnlab_core::stats::Estimate;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::streaming::horizon::horizon_of_head;
use rayon::prelude::*;

/// θ_crit of full draws has the distribution function 1 - exp(-Λ).
#[derive(Clone, Copy, Debug, Default)]
pub struct HorizonLaw {
    law: Law,
}

/// The Λ that is claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Law {
    /// [`Horizon::lambda`].
    #[default]
    Sharp,
    /// [`Horizon::lambda_annealed`].
    Annealed,
    /// Λ for one noise column instead of all N(K-1).
    OneColumn,
    /// Noise of variance δ instead of δ².
    Variance,
    /// The threshold's odds inverted.
    Odds,
}

/// Points through which ln Λ is interpolated, by parabolas in ln θ: over the factor of two or three
/// that θ_crit spans, 24 of them err by less than 1e-3 in probability.
const KNOTS: usize = 24;

impl HorizonLaw {
    fn horizon(params: &Params) -> Result<Horizon> {
        Horizon::new(
            params.get(TOKENS),
            params.get(CLUSTERS),
            params.get(DIM),
            params.get(DELTA),
            params.get(TAU),
        )
    }

    fn lambda(&self, law: &Horizon, theta: f64) -> f64 {
        match self.law {
            Law::Sharp => law.lambda(theta),
            Law::Annealed => law.lambda_annealed(theta),
            Law::OneColumn => law.lambda(theta) / law.noise_columns(),
            Law::Variance => Horizon {
                delta: law.delta.sqrt(),
                ..*law
            }
            .lambda(theta),
            Law::Odds => Horizon {
                tau: 1.0 - law.tau,
                ..*law
            }
            .lambda(theta),
        }
    }

    /// 1 - exp(-Λ) at every one of the increasing `thetas`.
    fn distribution(&self, law: &Horizon, thetas: &[f64]) -> Vec<f64> {
        let finite = thetas.iter().copied().filter(|t| t.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, 0.0_f64), |(a, b), t| (a.min(t), b.max(t)));
        let step = (high / low).ln() / (KNOTS - 1) as f64;
        let knot = |i: usize| {
            self.lambda(law, low * (step * i as f64).exp())
                .ln()
                .max(-1e3)
        };
        let knots: Vec<f64> = (0..KNOTS).into_par_iter().map(knot).collect();
        let at = |theta: &f64| {
            if !theta.is_finite() {
                return 1.0;
            }
            let place = if step > 0.0 {
                (theta / low).ln() / step
            } else {
                0.0
            };
            // Lagrange's parabola through the nearest knot and its neighbours.
            let i = (place.round() as usize).clamp(1, KNOTS - 2);
            let t = place - i as f64;
            let ln_lambda = 0.5 * t * (t - 1.0) * knots[i - 1]
                + (1.0 - t * t) * knots[i]
                + 0.5 * t * (t + 1.0) * knots[i + 1];
            -(-ln_lambda.exp()).exp_m1()
        };
        thetas.iter().map(at).collect()
    }
}

impl Claim for HorizonLaw {
    fn sheet(&self) -> &'static Sheet {
        sheet!("aot.horizon_law")
    }

    fn schema(&self) -> Schema {
        let mut schema = mixture_schema(120, 2, 100);
        schema.push(TAU.within(Domain::OPEN_UNIT).or(0.55));
        // Λ itself is good to .003 in probability; that the number of broken columns is Poisson,
        // although they share the a_i, was seen to cost about .01 at 200 tokens and less above.
        schema.push(TOLERANCE.or(0.05));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        Self::horizon(params).map(|_| ())
    }

    /// The law counts noise columns that a signal token captures. Where other breaks are frequent
    /// the statement is about something else.
    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let others =
            Self::horizon(params).map_or(f64::INFINITY, |law| law.other_breaks(1.0).total());
        vec![Hypothesis::new(
            "captured columns",
            "expected breaks of other kinds <= 0.01",
            0.01 - others,
        )]
    }

    /// θ_crit of one draw: the least θ ≥ 1 at which some column of some head is outside (30).
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mixture = mixture(params)?;
        let mut first = (f64::INFINITY, 0, 0);
        for k in 0..mixture.clusters() {
            let y = mixture.head::<f32>(k, streams);
            let head = horizon_of_head(y.view(), mixture.cluster(k), params.get(TAU), || {})?;
            if let Some(b) = head.first
                && b.theta < first.0
            {
                first = (b.theta, k, b.column);
            }
        }
        Ok(Outcome::Value {
            value: first.0,
            witness: witness! { "theta" => first.0, "head" => first.1, "column" => first.2 },
        })
    }

    /// Enough for a band of half the tolerance, .025: ln(2/.05)/(2·.025²) = 2951.
    fn default_trials(&self, _params: &Params) -> u64 {
        // The mutants are off by more than .15, which far fewer show.
        if self.law == Law::Sharp { 3000 } else { 600 }
    }

    /// A distribution is compared, not a probability.
    fn counts_events(&self, _params: &Params) -> bool {
        false
    }

    /// The Kolmogorov-Smirnov distance D between the draws' and the law's distribution functions
    /// estimates that between the true one and the law's. By the Dvoretzky-Kiefer-Wolfowitz
    /// inequality (Massart's constant) the two differ by at most $\sqrt{\ln(2/\alpha)/(2n)}$ with
    /// confidence 1 - α, whatever the true distribution.
    fn judge(&self, params: &Params, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
        let law = Self::horizon(params)?;
        let mut thetas: Vec<f64> = outcomes.iter().filter_map(value).collect();
        thetas.sort_by(f64::total_cmp);
        let n = thetas.len() as f64;
        let distance = self
            .distribution(&law, &thetas)
            .iter()
            .enumerate()
            .map(|(i, f)| (f - i as f64 / n).max((i + 1) as f64 / n - f))
            .fold(0.0, f64::max);
        let ln_tail = (2.0 / (1.0 - level)).ln();
        let band = (ln_tail / (2.0 * n)).sqrt();
        let estimate = Estimate {
            value: distance,
            low: (distance - band).max(0.0),
            high: (distance + band).min(1.0),
            level,
        };
        let tolerance = params.get(TOLERANCE);
        let verdict = if estimate.low > tolerance {
            Verdict::Refuted {
                witness: witness! {
                    "distance" => distance, "band" => band, "median_theta" => thetas[thetas.len() / 2],
                },
            }
        } else if estimate.high < tolerance {
            Verdict::Supported
        } else {
            let needed = (ln_tail / (2.0 * (distance - tolerance).powi(2))).ceil();
            let trials_needed = needed.is_finite().then_some(needed as u64);
            Verdict::Inconclusive { trials_needed }
        };
        Ok(Judgement {
            verdict,
            estimate,
            failures: 0,
        })
    }

    fn least_alpha(
        &self,
        params: &Params,
        judgement: &Judgement,
        trials: u64,
    ) -> Result<Option<f64>> {
        // The band of judge, solved for α: 2 exp(-2 n (distance - tolerance)²).
        let gap = judgement.estimate.value - params.get(TOLERANCE);
        let alpha = 2.0 * (-2.0 * trials as f64 * gap * gap).exp();
        Ok(match judgement.verdict {
            Verdict::Supported | Verdict::Refuted { .. } => Some(alpha.min(1.0)),
            _ => None,
        })
    }

    fn memory(&self, params: &Params) -> u64 {
        let n = params.get(TOKENS) as u64;
        8 * n * (n + params.get(DIM) as u64)
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, law| Mutant::new(name, HorizonLaw { law });
        vec![
            variant("annealed", Law::Annealed).with(TAU, 0.9),
            variant("one-column", Law::OneColumn),
            variant("variance", Law::Variance),
            variant("odds", Law::Odds),
        ]
    }
}

fn value(outcome: &Outcome) -> Option<f64> {
    match outcome {
        Outcome::Value { value, .. } => Some(*value),
        _ => None,
    }
}
