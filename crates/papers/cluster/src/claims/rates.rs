//! Rates of contraction to a point: t^{−2} with pre-LN, exponential with post-LN.

use crate::quantities::{BETA, DIM, MODEL, TOKENS, closed};
use crate::setting::{deficits, flow, mean, model, not_finite, seconds, uniform};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::Watch;
use attnlab_theory::particles::{LayerNorm, Normalisation, Particles, of_state, to_state};

/// The rate of 1 − ρ, the mean over pairs of tokens.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    layer_norm: LayerNorm,
    variant: Variant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Genuine,
    /// The mutant: the layer normalisation on the other side.
    OtherSide,
    /// The mutant: a rate smaller by a twentieth.
    Slower,
    /// The mutant: the rate of the other model.
    OtherModel,
}

impl Rate {
    /// 1 − ρ falls like t^{−2}.
    pub const PRE_LN: Self = Rate { layer_norm: LayerNorm::Pre, variant: Variant::Genuine };
    /// 1 − ρ falls like e^{−2t} (SA) or e^{−2e^β t} (USA).
    pub const POST_LN: Self = Rate { layer_norm: LayerNorm::Post, variant: Variant::Genuine };
}

/// Share of the rate by which it may differ: at times 100 and 1000 t_0 the offset of |x| = t + const moves the exponent of
/// t by 2 const/(100 t_0) at most, and at 1 − ρ = 1e-4 the next order moves the exponent by a share (1 + β)·1e-4.
const BAND: f64 = 0.03;

/// Mean of 1 − ρ at which the tokens count as close: a rate is measured from here on.
const CLOSE: f64 = 0.02;

/// Times of measurement of pre-LN in units of t_0, the time until tokens are close, 1 at least.
const LATE: [f64; 2] = [100.0, 1000.0];

impl Claim for Rate {
    fn sheet(&self) -> &'static Sheet {
        match self.layer_norm {
            LayerNorm::Pre => sheet!("cluster.pre_ln_rate"),
            LayerNorm::Post => sheet!("cluster.post_ln_rate"),
        }
    }

    fn schema(&self) -> Schema {
        vec![
            MODEL.or("sa"),
            TOKENS.within(Domain::Whole(2, 32)).or(6),
            DIM.within(Domain::Whole(2, 64)).or(12),
            BETA.within(closed(0.0, 3.0)).or(1.0),
        ]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let margin = params.real(DIM) - params.real(TOKENS);
        let printed = "d >= n, so that a hemisphere holds all tokens";
        vec![Hypothesis::new("one hemisphere", printed, margin)]
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        12
    }

    fn seconds(&self, params: &Params) -> f64 {
        seconds(400.0, params.get(TOKENS), params.get(DIM))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (model, beta) = (model(params)?, params.get(BETA));
        let (n, d) = (params.get(TOKENS), params.get(DIM));
        let start = uniform(d, n, &mut streams.part("tokens", 0))?;
        let side = match (self.variant, self.layer_norm) {
            (Variant::OtherSide, LayerNorm::Pre) => LayerNorm::Post,
            (Variant::OtherSide, LayerNorm::Post) => LayerNorm::Pre,
            (_, side) => side,
        };
        let field = Particles::new(beta, model).normalised(side).flow(n, d)?;
        let spread = |state: &[f64]| -> f64 {
            let tokens = of_state(state, n).and_then(|t| deficits(t.view()));
            tokens.map_or(f64::NAN, |all| mean(&all))
        };
        let close = |x: &[f64]| spread(x) - CLOSE;
        // Pre-LN of orthogonal tokens needs a time exponential in that of post-LN, which is below 2e^β + log n.
        let state = to_state(start.view());
        let found = match close(&state) > 0.0 {
            true => flow().watched(&field, &state, &[1e12], Watch::until(&close))?,
            false => flow().run(&field, &state, &[1e-9])?,
        };
        if found.event.is_none() && close(found.end()) > 0.0 {
            let seen = witness! { "mean_deficit" => spread(found.end()) };
            return Ok(Outcome::uninformative("the tokens are still apart at t = 1e12", seen));
        }
        let first = found.event.as_ref().map_or(0.0, |(t, _)| *t);
        let (value, promised, witness) = match self.layer_norm {
            LayerNorm::Pre => {
                let from = first.max(1.0);
                let times = LATE.map(|late| late * from - first);
                let path = flow().run(&field, found.end(), &times)?;
                let at: Vec<f64> = path.states.iter().map(|s| spread(s)).collect();
                let slope = (at[1] / at[0]).ln() / (LATE[1] / LATE[0]).ln();
                let seen = witness! { "t_0" => from, "deficits" => at, "exponent" => slope };
                (slope, -2.0, seen)
            }
            LayerNorm::Post => {
                let rate = self.exponential(model, beta);
                // From 1 − ρ = 2e-4 or so to 2e-5.
                let times = [4.6 / rate, 6.9 / rate];
                let path = flow().run(&field, found.end(), &times)?;
                let at: Vec<f64> = path.states.iter().map(|s| spread(s)).collect();
                let exponent = (at[0] / at[1]).ln() / (times[1] - times[0]);
                let seen = witness! { "deficits" => at, "exponent" => exponent };
                (exponent, rate, seen)
            }
        };
        if !value.is_finite() {
            return Ok(not_finite());
        }
        let promised = if self.variant == Variant::Slower { 0.95 * promised } else { promised };
        Ok(Outcome::Gap {
            lhs: value,
            rhs: promised,
            tol: BAND * f64::abs(promised),
            relation: Relation::Equal,
            witness,
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, variant| Mutant::new(name, Rate { variant, ..*self });
        let mut all = vec![variant("other-side", Variant::OtherSide), variant("slower", Variant::Slower)];
        if self.layer_norm == LayerNorm::Post {
            all.push(variant("other-model", Variant::OtherModel));
        }
        all
    }
}

impl Rate {
    fn exponential(&self, model: Normalisation, beta: f64) -> f64 {
        let softmax = (model == Normalisation::Softmax) != (self.variant == Variant::OtherModel);
        if softmax { 2.0 } else { 2.0 * beta.exp() }
    }
}
