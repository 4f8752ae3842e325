//! The depth horizon of AoT Theorem 1 follows the law of [`theory::horizon`](crate::theory::horizon).

use super::aot_setting::{mixture, mixture_schema};
use super::*;
use crate::attention::streaming::horizon::horizon_of_head;
use crate::stats::Estimate;
use crate::theory::Horizon;
use crate::witness;
use rayon::prelude::*;

/// θ_crit of full draws has the distribution function 1 - exp(-Λ).
#[derive(Clone, Copy, Debug, Default)]
pub struct HorizonLaw {
    law: Law,
}

/// Which Λ is claimed.
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
            params.usize("tokens"),
            params.usize("clusters"),
            params.usize("dim"),
            params.f64("delta"),
            params.f64("tau"),
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
    fn card(&self) -> Card {
        Card {
            id: "aot.horizon_law",
            paper: Paper::Aot2024,
            equation: "Theorem 1, pattern (30)",
            title: "The depth to which (30) holds follows exp(-Λ(θ))",
            statement: "$\\varphi(M_1) = \\mathrm{BlkDiag}(\\tau I, 0, .., 0), .., \\varphi(M_K) = \
                        \\mathrm{BlkDiag}(0, 0, .., \\tau I)$ for $\\theta \\ge 1$ (30). As a law: \
                        no column of a noise token is captured at $\\theta$ with probability \
                        $e^{-\\Lambda(\\theta)}$, within the given tolerance for every θ.",
            kind: Kind::Law,
            expected: VerdictKind::Supported,
            corrected: Some(
                "For every realisation (30) fails from some finite θ on. That θ has the law \
                 `aot.horizon_lambda`, and $\\theta \\delta \\sqrt p \\to (2 - \\sqrt 2) \
                 \\sqrt{\\log N}$ for large N.",
            ),
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = mixture_schema(120, 2, 100);
        schema.push(Spec::new(
            "tau",
            Domain::OPEN_UNIT,
            0.55,
            "τ, threshold of φ",
        ));
        // Λ itself is good to .003 in probability; that the number of broken columns is Poisson,
        // although they share the a_i, was seen to cost about .01 at 200 tokens and less above.
        let doc = "largest difference in probability, over all θ, that still agrees with the law";
        schema.push(Spec::new("tolerance", Domain::OPEN_UNIT, 0.05, doc));
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
            let head = horizon_of_head(y.view(), mixture.cluster(k), params.f64("tau"), || {})?;
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
        let tolerance = params.f64("tolerance");
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
        let gap = judgement.estimate.value - params.f64("tolerance");
        let alpha = 2.0 * (-2.0 * trials as f64 * gap * gap).exp();
        Ok(match judgement.verdict {
            Verdict::Supported | Verdict::Refuted { .. } => Some(alpha.min(1.0)),
            _ => None,
        })
    }

    fn memory(&self, params: &Params) -> u64 {
        let n = params.usize("tokens") as u64;
        8 * n * (n + params.usize("dim") as u64)
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, says, law| Mutant::new(name, says, HorizonLaw { law });
        vec![
            variant(
                "annealed",
                "the sum of exponentials is its mean, at τ = .9",
                Law::Annealed,
            )
            .at("tau", 0.9),
            variant(
                "one-column",
                "Λ counts one column, not N(K-1)",
                Law::OneColumn,
            ),
            variant(
                "variance",
                "the noise has variance δ, not δ²",
                Law::Variance,
            ),
            variant("odds", "a weight above 1 - τ breaks the pattern", Law::Odds),
        ]
    }
}

fn value(outcome: &Outcome) -> Option<f64> {
    match outcome {
        Outcome::Value { value, .. } => Some(*value),
        _ => None,
    }
}
