//! Long contexts: one layer on equiangular tokens at β = γ log n. Its exact cosine, the printed limits, and their rates.

use crate::quantities::{KAPPA, RHO, TOKENS};
use crate::theory::long_context::{LongContext, Regime};
use attnlab_core::linalg::haar_basis;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::softmax_attention;
use ndarray::{Array1, Array2, s};

/// Tokens up to which a trial runs the layer itself; beyond, the exact cosine, which `cluster.layer_cosine` checks.
const RUN: usize = 300;

fn layer(params: &Params) -> LongContext {
    let rho = params.get(RHO);
    LongContext { n: params.real(TOKENS), rho, gamma: params.get(KAPPA) / (1.0 - rho) }
}

fn parameters(most: u64, n: u64, kappa: f64) -> Schema {
    vec![
        TOKENS.within(Domain::Whole(2, most)).or(n),
        RHO.within(Domain::closed(0.05, 0.95)).or(0.5),
        KAPPA.within(Domain::left_open(0.0, 4.0)).or(kappa),
    ]
}

/// Computes the cosine of the outputs of the layer for the first two tokens, by its definition: tokens
/// √ρ u_0 + √(1−ρ) u_i with a random orthonormal frame u.
fn cosine_of_layer(layer: &LongContext, streams: &Streams) -> Result<f64> {
    let n = layer.n as usize;
    let frame = haar_basis(n + 1, n + 1, &mut streams.part("frame", 0))?;
    let shared: Array1<f64> = &frame.column(0) * layer.rho.sqrt();
    let mut tokens = frame.slice(s![.., 1..]).mapv(|x| x * (1.0 - layer.rho).sqrt());
    for mut token in tokens.columns_mut() {
        token += &shared;
    }
    let identity = Array2::eye(n + 1);
    let scores = &identity * (layer.gamma * layer.n.ln());
    let output = |i: usize| softmax_attention(tokens.view(), identity.view(), scores.view(), tokens.column(i));
    let (a, b) = (output(0), output(1));
    Ok(a.dot(&b) / (a.dot(&a) * b.dot(&b)).sqrt())
}

/// Returns `true` if no trial runs the layer.
fn long(params: &Params) -> bool {
    params.get(TOKENS) > RUN
}

/// Estimates the processor time (s) of a trial: the frame costs n³.
fn seconds_of(params: &Params) -> f64 {
    if long(params) { 0.0 } else { 4e-9 * params.real(TOKENS).powi(3) }
}

/// Defines the methods of [`Claim`] that the claims about n → ∞ share, from `outcome(layer, cosine)` with the cosine of a
/// layer that was run. Beyond [`RUN`] nothing is drawn and every trial is the same: the outcome without that cosine is a
/// probability of failure of 0 or 1, which decides against the promise of 0.
macro_rules! exact_beyond_run {
    () => {
        fn promise(&self, params: &Params) -> Promise {
            if long(params) { Promise::FailsAtMost(0.0) } else { Promise::Always }
        }

        fn computed(&self, params: &Params) -> Option<Computed> {
            let holds = || self.outcome(layer(params), None).holds() == Some(true);
            long(params).then(|| Computed {
                failure: if holds() { Bracket::NEVER } else { Bracket::SURELY },
                how: "the exact cosine of cluster.layer_cosine; nothing is drawn",
            })
        }

        fn default_trials(&self, params: &Params) -> u64 {
            if long(params) { 1 } else { 8 }
        }

        fn seconds(&self, params: &Params) -> f64 {
            seconds_of(params)
        }

        fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
            let layer = layer(params);
            let run = (!long(params)).then(|| cosine_of_layer(&layer, streams)).transpose()?;
            Ok(self.outcome(layer, run))
        }
    };
}

/// The exact cosine at finite n.
#[derive(Default, Serialize, Deserialize)]
pub struct LayerCosine {
    /// Added to n, at the same β.
    more: f64,
    /// Flag of a mutant: a token does not attend to itself.
    no_self: bool,
}

/// Rounding of n terms, relative to outputs of length √ρ at least.
const ROUNDING: f64 = 1e-11;

impl Claim for LayerCosine {
    from_sheet!("cluster.layer_cosine", trials = 8);

    fn schema(&self) -> Schema {
        parameters(RUN as u64, 40, 0.8)
    }

    fn seconds(&self, params: &Params) -> f64 {
        seconds_of(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let layer = layer(params);
        let cosine = cosine_of_layer(&layer, streams)?;
        let n = layer.n + self.more;
        let formula = if self.no_self {
            // c = −1/(n − 1): the mean of the other tokens.
            let c2 = (n - 1.0).powi(-2);
            let shared = (layer.rho + (1.0 - layer.rho) / n) * (1.0 - c2);
            1.0 - c2 * (1.0 - layer.rho) / (c2 + shared)
        } else {
            LongContext { n, gamma: layer.gamma * layer.n.ln() / n.ln(), ..layer }.cosine()
        };
        Ok(Outcome::equal(cosine, formula, ROUNDING, witness! { "cosine" => cosine, "formula" => formula }))
    }
}

/// The three limits for n → ∞.
#[derive(Serialize, Deserialize)]
pub struct Limit {
    /// γ(1 − ρ) at the transition.
    transition: f64,
    /// a of the limit aρ/(1 + (a − 1)ρ) at the transition.
    critical: f64,
}

impl Limit {
    /// The transition at γ = 1/(1 − ρ), with the limit 4ρ/(1 + 3ρ).
    pub const PRINTED: Self = Limit { transition: 1.0, critical: 4.0 };

    fn limit(&self, layer: LongContext) -> f64 {
        let moved = LongContext { gamma: layer.gamma / self.transition, ..layer };
        match moved.regime() {
            Regime::Critical => self.critical * layer.rho / (1.0 + (self.critical - 1.0) * layer.rho),
            _ => moved.limit(),
        }
    }

    fn outcome(&self, layer: LongContext, run: Option<f64>) -> Outcome {
        let (cosine, limit) = (run.unwrap_or_else(|| layer.cosine()), self.limit(layer));
        Outcome::equal(cosine, limit, NEAR.1, witness! { "cosine" => cosine, "limit" => limit })
    }
}

/// Distance from the limit at which n counts as large, and the distance allowed there: the law of the distance with terms of
/// relative size 1/2 at most.
const NEAR: (f64, f64) = (0.01, 0.015);

/// Largest share of the terms beyond the law.
const REST: f64 = 0.5;

impl Claim for Limit {
    from_sheet!("cluster.critical_scaling");

    fn schema(&self) -> Schema {
        parameters(1 << 53, 10_000, 0.4)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let layer = layer(params);
        let printed = "n → ∞ at fixed γ, ρ in (0, 1) [here: the law of cluster.critical_rate is .01 at most, the rest of \
                       it a half]";
        vec![Hypothesis::new("long context", printed, (1.0 - layer.law() / NEAR.0).min(1.0 - layer.rest() / REST))]
    }

    exact_beyond_run!();
}

/// The rates in n.
#[derive(Serialize, Deserialize)]
pub struct Law {
    /// Power of n^{−(1−κ)} below the critical factor.
    power: f64,
    /// Power of 1/ρ below it.
    inverse: f64,
    /// Factor of the law.
    factor: f64,
}

impl Law {
    /// The leading orders.
    pub const DERIVED: Self = Law { power: 2.0, inverse: 1.0, factor: 1.0 };

    fn law(&self, layer: &LongContext) -> f64 {
        let law = self.factor * layer.law();
        match layer.regime() {
            Regime::Below => {
                law * layer.n.powf((2.0 - self.power) * (1.0 - layer.kappa())) * layer.rho.powf(1.0 - self.inverse)
            }
            _ => law,
        }
    }

    fn outcome(&self, layer: LongContext, run: Option<f64>) -> Outcome {
        let distance = run.map_or_else(|| layer.distance(), |cosine| (cosine - layer.limit()).abs());
        let law = self.law(&layer);
        Outcome::Gap {
            lhs: distance / law,
            rhs: 1.0,
            // Where the layer is run, its cosine is known to ROUNDING; 1e-4 is far above the rounding of both sides, where
            // `rest` is below it.
            tol: layer.rest() + ROUNDING / layer.law() + 1e-4,
            relation: Relation::Equal,
            witness: witness! { "distance" => distance, "law" => law },
        }
    }
}

impl Claim for Law {
    from_sheet!("cluster.critical_rate");

    fn schema(&self) -> Schema {
        parameters(1 << 53, 1_000_000, 0.6)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let layer = layer(params);
        let printed =
            "n → ∞ [here: the terms beyond the law are a share of .1 at most, and the distance is above 1e-10]";
        vec![Hypothesis::new("long context", printed, (1.0 - layer.rest() / 0.1).min(layer.law() / 1e-10 - 1.0))]
    }

    exact_beyond_run!();
}
