//! The remark after Theorem 4: the same for linear attention.

use super::joma_setting::equal;
use super::*;
use crate::dynamics::flow::{Flow, Method, VectorField, Watch};
use crate::theory::joma::convergence::linear_time;
use crate::witness;
use rand::RngExt;

/// How fast components converge under linear attention, from logits z(0) ≠ 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Theorem4Linear {
    rate: Rate,
}

/// The rate at which ln(1/δ) grows in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Rate {
    /// √(μ² + z(0)²).
    #[default]
    Logit,
    /// e^{μ²/2}, that of exp attention.
    Exp,
    /// |μ|, as for z(0) → 0.
    WithoutStart,
}

/// (μ - v) z and (μ - v) v for two components, by ℓ = ln(1/δ) and z: v and z move together, by the layer's
/// own equations, with no use of the invariant.
struct Joint([f64; 2]);

impl VectorField for Joint {
    fn dim(&self) -> usize {
        4
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        for (i, mu) in self.0.iter().enumerate() {
            let (l, z) = (x[2 * i], x[2 * i + 1]);
            // δ̇ = -v̇/μ = -δ z; ż = (μ - v) v = μ² δ (1 - δ).
            let gap = (-l).exp();
            (out[2 * i], out[2 * i + 1]) = (z, mu * mu * gap * (1.0 - gap));
        }
    }
}

impl Claim for Theorem4Linear {
    fn card(&self) -> Card {
        Card {
            id: "joma.theorem4_linear",
            paper: Paper::Joma,
            equation: "Remarks after Theorem 4",
            title: "Linear attention: components converge at the rates of their last logits",
            statement: "For linear attention, the ratio is different but the derivation is similar and \
                        simpler. (Carried out: with $z^2 = v^2 + z(0)^2$ of Theorem 1 (1), $\\dot v = (\\mu - \
                        v)\\circ z$ gives $\\frac{\\ln 1/\\delta_j + \\kappa_j}{\\ln 1/\\delta_k + \\kappa_k} = \
                        \\frac{s_j}{s_k}$ at any time, $s = \\sqrt{\\mu^2 + z(0)^2}$ and $\\kappa = \
                        \\ln\\frac{s z + \\mu v + z(0)^2}{(s + z(0)) z(0)}$ bounded.)",
            kind: Kind::Identity,
            expected: VerdictKind::Supported,
            corrected: Some(
                "The theorem's $v(0) = 0$ does not do: with $z(0) = 0$ too, linear attention rests at 0 \
                 (`joma.theorem1_linear`), so logits must start at some z(0) ≠ 0, which stays in the \
                 ratio. It is linear in μ, not exponential, for salient components.",
            ),
        }
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        40
    }

    fn trial(&self, _params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("theorem4", 0);
        let mut log_uniform = |low: f64, high: f64| low * (high / low).powf(rng.random());
        let mu = [log_uniform(0.3, 3.5), log_uniform(0.3, 3.5)];
        let z0 = [log_uniform(0.05, 1.0), log_uniform(0.05, 1.0)];
        let gap = log_uniform(0.2, 30.0);
        let field = Joint(mu);
        let start = [0.0, z0[0], 0.0, z0[1]];
        let event = |x: &[f64]| gap - x[2];
        // ln(1/δ) grows at least at the rate z(0).
        let until = [1.01 * gap / z0[1]];
        let flow = Flow::new(Method::Tsit45).within(1e-11);
        let path = flow.watched(&field, &start, &until, Watch::until(&event))?;
        let Some((t, x)) = path.event else {
            return Err(Error::Numerical("the gap was not reached".into()));
        };
        let rate = |i: usize| match self.rate {
            Rate::Logit => mu[i].hypot(z0[i]),
            Rate::Exp => (0.5 * mu[i] * mu[i]).exp(),
            Rate::WithoutStart => mu[i],
        };
        // ln(1/δ) + κ: the closed form's time times s.
        let grown = |i: usize| linear_time(x[2 * i], mu[i], z0[i]) * mu[i].hypot(z0[i]);
        let found = grown(0) / grown(1);
        Ok(equal(
            found / (rate(0) / rate(1)),
            1.0,
            // The integrator's tolerance over some hundred steps.
            1e-8,
            witness! {
                "mu" => mu, "z0" => z0, "t" => t, "ln_inverse_delta" => [x[0], x[2]],
                "z" => [x[1], x[3]], "ratio" => found, "said" => rate(0) / rate(1),
            },
        ))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let with = |rate| Theorem4Linear { rate };
        vec![
            Mutant::new("exp", "the ratio of exp attention", with(Rate::Exp)),
            Mutant::new(
                "without-start",
                "the ratio is |μ_j|/|μ_k|, whatever z(0)",
                with(Rate::WithoutStart),
            ),
        ]
    }
}
