//! Long contexts: one layer on equiangular tokens at β = γ log n. Its exact cosine, the printed limits, and their rates.

use crate::quantities::{KAPPA, RHO, TOKENS, above, closed};
use crate::theory::long_context::{LongContext, Regime};
use attnlab_core::linalg::haar_basis;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::softmax_attention;
use ndarray::{Array1, Array2, s};

/// Tokens up to which a trial runs the layer itself; beyond, the exact cosine, which `cluster.layer_cosine` checks.
const RUN: usize = 300;

/// The layer of the parameters.
fn at(params: &Params) -> LongContext {
    let rho = params.get(RHO);
    LongContext { n: params.real(TOKENS), rho, gamma: params.get(KAPPA) / (1.0 - rho) }
}

fn parameters(most: u64, n: u64, kappa: f64) -> Schema {
    vec![
        TOKENS.within(Domain::Whole(2, most)).or(n),
        RHO.within(closed(0.05, 0.95)).or(0.5),
        KAPPA.within(above(0.0, 4.0)).or(kappa),
    ]
}

/// Cosine of the outputs of the layer for the first two tokens, by its definition: tokens
/// √ρ u_0 + √(1−ρ) u_i with a random orthonormal frame u.
fn cosine_of_layer(at: &LongContext, streams: &Streams) -> Result<f64> {
    let n = at.n as usize;
    let frame = haar_basis(n + 1, n + 1, &mut streams.part("frame", 0))?;
    let shared: Array1<f64> = &frame.column(0) * at.rho.sqrt();
    let mut tokens = frame.slice(s![.., 1..]).mapv(|x| x * (1.0 - at.rho).sqrt());
    for mut token in tokens.columns_mut() {
        token += &shared;
    }
    let one = Array2::eye(n + 1);
    let scores = &one * (at.gamma * at.n.ln());
    let output = |i: usize| softmax_attention(tokens.view(), one.view(), scores.view(), tokens.column(i));
    let (a, b) = (output(0), output(1));
    Ok(a.dot(&b) / (a.dot(&a) * b.dot(&b)).sqrt())
}

/// Number of trials: beyond [`RUN`] nothing is drawn, and every trial is the same.
fn draws(params: &Params) -> u64 {
    if params.get(TOKENS) > RUN { 1 } else { 8 }
}

/// Processor time (s) of a trial: the frame costs n³.
fn seconds_of(n: usize) -> f64 {
    if n > RUN { 0.0 } else { 4e-9 * (n as f64).powi(3) }
}

/// The exact cosine at finite n.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layer {
    /// The mutant: n for n − 1 in the denominator of the weights.
    one_more: bool,
    /// The mutant: a token does not attend to itself.
    no_self: bool,
}

/// Rounding of n terms, relative to outputs of length √ρ at least.
const ROUNDING: f64 = 1e-11;

impl Claim for Layer {
    fn sheet(&self) -> &'static Sheet {
        sheet!("cluster.layer_cosine")
    }

    fn schema(&self) -> Schema {
        parameters(RUN as u64, 40, 0.8)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        8
    }

    fn seconds(&self, params: &Params) -> f64 {
        seconds_of(params.get(TOKENS))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let at = at(params);
        let found = cosine_of_layer(&at, streams)?;
        let formula = match self {
            Layer { one_more: true, .. } => {
                LongContext { n: at.n + 1.0, gamma: at.gamma * at.n.ln() / (at.n + 1.0).ln(), ..at }.cosine()
            }
            // c = −1/(n − 1): the mean of the other tokens.
            Layer { no_self: true, .. } => {
                let c2 = (at.n - 1.0).powi(-2);
                let shared = (at.rho + (1.0 - at.rho) / at.n) * (1.0 - c2);
                1.0 - c2 * (1.0 - at.rho) / (c2 + shared)
            }
            _ => at.cosine(),
        };
        Ok(Outcome::Gap {
            lhs: found,
            rhs: formula,
            tol: ROUNDING,
            relation: Relation::Equal,
            witness: witness! { "cosine" => found, "formula" => formula },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![
            Mutant::new("one-more", Layer { one_more: true, ..*self }),
            Mutant::new("no-self", Layer { no_self: true, ..*self }),
        ]
    }
}

/// The three limits for n → ∞.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit {
    /// The mutant: the transition at γ = 2/(1 − ρ).
    twice: bool,
    /// The mutant: 2ρ/(1 + ρ) at the critical factor.
    two: bool,
}

/// Distance from the limit at which n counts as large, and the distance allowed there: the law of the distance with terms of
/// relative size 1/2 at most.
const NEAR: (f64, f64) = (0.01, 0.015);

/// Largest share of the terms beyond the law.
const REST: f64 = 0.5;

impl Claim for Limit {
    fn sheet(&self) -> &'static Sheet {
        sheet!("cluster.critical_scaling")
    }

    fn schema(&self) -> Schema {
        parameters(1 << 53, 10_000, 0.4)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let at = at(params);
        let printed = "n → ∞ at fixed γ, ρ in (0, 1) [here: the law of cluster.critical_rate is .01 at most, the rest of \
                       it a half]";
        let margin = (1.0 - at.law() / NEAR.0).min(1.0 - at.rest() / REST);
        vec![Hypothesis::new("long context", printed, margin)]
    }

    fn default_trials(&self, params: &Params) -> u64 {
        draws(params)
    }

    fn seconds(&self, params: &Params) -> f64 {
        seconds_of(params.get(TOKENS))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let at = at(params);
        let found = match params.get(TOKENS) {
            n if n <= RUN => cosine_of_layer(&at, streams)?,
            _ => at.cosine(),
        };
        let limit = match self {
            Limit { twice: true, .. } => LongContext { gamma: 0.5 * at.gamma, ..at }.limit(),
            Limit { two: true, .. } if at.regime() == Regime::Critical => 2.0 * at.rho / (1.0 + at.rho),
            _ => at.limit(),
        };
        Ok(Outcome::Gap {
            lhs: found,
            rhs: limit,
            tol: NEAR.1,
            relation: Relation::Equal,
            witness: witness! { "cosine" => found, "limit" => limit },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![
            Mutant::new("twice", Limit { twice: true, ..*self }).with(KAPPA, 1.6),
            Mutant::new("two", Limit { two: true, ..*self }).with(KAPPA, 1.0),
        ]
    }
}

/// The rates in n.
#[derive(Clone, Copy, Debug, Default)]
pub struct Law {
    variant: Variant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Variant {
    #[default]
    Genuine,
    /// The mutant: the first power of the weight, n^{−(1−κ)}, below the critical factor.
    FirstPower,
    /// The mutant: without 1/ρ below it.
    NoRho,
    /// The mutant: half the constant above it.
    Half,
    /// The mutant: larger by a fifth at it.
    Fifth,
}

impl Claim for Law {
    fn sheet(&self) -> &'static Sheet {
        sheet!("cluster.critical_rate")
    }

    fn schema(&self) -> Schema {
        parameters(1 << 53, 1_000_000, 0.6)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let at = at(params);
        let printed =
            "n → ∞ [here: the terms beyond the law are a share of .1 at most, and the distance is above 1e-10]";
        let margin = (1.0 - at.rest() / 0.1).min(at.law() / 1e-10 - 1.0);
        vec![Hypothesis::new("long context", printed, margin)]
    }

    fn default_trials(&self, params: &Params) -> u64 {
        draws(params)
    }

    fn seconds(&self, params: &Params) -> f64 {
        seconds_of(params.get(TOKENS))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let at = at(params);
        let found = match params.get(TOKENS) {
            n if n <= RUN => (cosine_of_layer(&at, streams)? - at.limit()).abs(),
            _ => at.distance(),
        };
        let law = at.law();
        let law = match (self.variant, at.regime()) {
            (Variant::FirstPower, Regime::Below) => law * at.n.powf(1.0 - at.kappa()),
            (Variant::NoRho, Regime::Below) => law * at.rho,
            (Variant::Half, Regime::Above) => 0.5 * law,
            (Variant::Fifth, Regime::Critical) => 1.2 * law,
            _ => law,
        };
        Ok(Outcome::Gap {
            lhs: found / law,
            rhs: 1.0,
            // Where the layer is run, its cosine is known to ROUNDING.
            tol: at.rest() + ROUNDING / at.law() + 1e-4,
            relation: Relation::Equal,
            witness: witness! { "distance" => found, "law" => law },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, variant| Mutant::new(name, Law { variant });
        vec![
            variant("first-power", Variant::FirstPower),
            variant("no-rho", Variant::NoRho),
            variant("half", Variant::Half).with(KAPPA, 1.5),
            variant("fifth", Variant::Fifth).with(KAPPA, 1.0),
        ]
    }
}
