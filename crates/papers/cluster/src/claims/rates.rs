//! Rates of contraction to a point: t^{−2} with pre-LN, exponential with post-LN.

use crate::quantities::{BETA, DIM, MODEL, TOKENS};
use crate::setting::{deficits, flow, model, not_finite, other, seconds, uniform};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::Watch;
use attnlab_theory::particles::{LayerNorm, Normalisation, Particles, of_state, to_state};

/// The rate of 1 − ρ, the mean over pairs of tokens.
#[derive(Serialize, Deserialize)]
pub struct Rate {
    /// Flag: it is the claim of pre-LN or a mutant of it, by the sheet that it bears.
    pre_ln: bool,
    /// Flag of a mutant: the tokens move with the layer normalisation on the other side.
    other_side: bool,
    /// Flag of a mutant: the rate of the other model.
    other_model: bool,
    /// Factor of the rate.
    factor: f64,
}

impl Rate {
    /// 1 − ρ falls like e^{−2t} (SA) or e^{−2e^β t} (USA).
    pub const POST_LN: Self = Rate { pre_ln: false, other_side: false, other_model: false, factor: 1.0 };
    /// 1 − ρ falls like t^{−2}.
    pub const PRE_LN: Self = Rate { pre_ln: true, ..Self::POST_LN };

    /// Computes the claimed exponent: of t with pre-LN, of e^{−t} with post-LN.
    fn exponent(&self, model: Normalisation, beta: f64) -> f64 {
        let model = if self.other_model { other(model) } else { model };
        let exponent = match (self.pre_ln, model) {
            (true, _) => -2.0,
            (false, Normalisation::Softmax) => 2.0,
            (false, Normalisation::Uniform) => 2.0 * beta.exp(),
        };
        self.factor * exponent
    }
}

/// Share of the rate by which it may differ: at times 100 and 1000 t_0 the offset of |x| = t + const moves the exponent of
/// t by 2 const/(100 t_0) at most, and at 1 − ρ = 1e-4 the next order moves the exponent by a share (1 + β)·1e-4.
const BAND: f64 = 0.03;

/// Mean of 1 − ρ at which the tokens count as close: a rate is measured from here on.
const CLOSE: f64 = 0.02;

/// Times of measurement of pre-LN in units of t_0, the time until tokens are close, 1 at least.
const LATE: [f64; 2] = [100.0, 1000.0];

/// e-folds of 1 − ρ between which a rate of post-LN is measured: from 2e-4 or so to 2e-5.
const FALLEN: [f64; 2] = [4.6, 6.9];

impl Claim for Rate {
    from_sheet!(
        self,
        if self.pre_ln { sheet!("cluster.pre_ln_rate") } else { sheet!("cluster.post_ln_rate") },
        trials = 12
    );

    fn schema(&self) -> Schema {
        vec![
            MODEL.or("sa"),
            TOKENS.within(Domain::Whole(2, 32)).or(6),
            DIM.within(Domain::Whole(2, 64)).or(12),
            BETA.within(Domain::closed(0.0, 3.0)).or(1.0),
        ]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let margin = params.real(DIM) - params.real(TOKENS);
        vec![Hypothesis::new("one hemisphere", "d >= n, so that a hemisphere holds all tokens", margin)]
    }

    fn seconds(&self, params: &Params) -> f64 {
        seconds(400.0, params.get(TOKENS), params.get(DIM))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (model, beta) = (model(params)?, params.get(BETA));
        let (n, d) = (params.get(TOKENS), params.get(DIM));
        let start = uniform(d, n, &mut streams.part("tokens", 0))?;
        let side = if self.pre_ln == self.other_side { LayerNorm::Post } else { LayerNorm::Pre };
        let field = Particles::new(beta, model).normalised(side).flow(n, d)?;
        let spread = |state: &[f64]| -> f64 {
            let pairs = of_state(state, n).and_then(|tokens| deficits(tokens.view()));
            pairs.map_or(f64::NAN, |deficits| deficits.iter().sum::<f64>() / deficits.len() as f64)
        };
        let close = |x: &[f64]| spread(x) - CLOSE;
        let (mut state, mut reached) = (to_state(start.view()), 0.0);
        if close(&state) > 0.0 {
            // Pre-LN of orthogonal tokens needs a time exponential in that of post-LN, which is below 2e^β + log n.
            let path = flow().watched(&field, &state, &[1e12], Watch::until(&close))?;
            let Some((t, there)) = path.event else {
                let witness = witness! { "mean_deficit" => spread(path.end()) };
                return Ok(Outcome::uninformative("the tokens are still apart at t = 1e12", witness));
            };
            (state, reached) = (there, t);
        }
        let claimed = self.exponent(model, beta);
        let (times, clock) = match self.pre_ln {
            true => {
                let first = reached.max(1.0);
                (LATE.map(|late| late * first - reached), LATE.map(f64::ln))
            }
            false => {
                let times = FALLEN.map(|e_folds| e_folds / claimed);
                (times, times.map(|t| -t))
            }
        };
        let deficits: Vec<f64> = flow().run(&field, &state, &times)?.states.iter().map(|state| spread(state)).collect();
        let exponent = (deficits[1] / deficits[0]).ln() / (clock[1] - clock[0]);
        if !exponent.is_finite() {
            return Ok(not_finite());
        }
        let witness = witness! { "reached" => reached, "deficits" => deficits, "exponent" => exponent };
        Ok(Outcome::equal(exponent, claimed, BAND * claimed.abs(), witness))
    }
}
