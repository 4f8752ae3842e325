//! The basic clustering theorem: almost every start converges to one point.

use crate::quantities::{BETA, DIM, MODEL, TIME, TOKENS, above, closed};
use crate::setting::{model, seconds, settled, uniform, widest};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::VectorField;
use attnlab_theory::particles::{Normalisation, ParticleFlow, Particles, to_state};

/// Convergence to one point, judged by the theorem of the cone: once all tokens are within a right angle of each
/// other they contract to one point exponentially.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnePoint {
    variant: Variant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Variant {
    #[default]
    Genuine,
    /// The mutant: the sign of the velocity changed.
    Repelled,
    /// The mutant: the mean of the tokens taken off their attention.
    LessMean,
}

/// Speed below which tokens count as stationary: two clusters at inner product ρ move at e^{−β(1−ρ)} sin of their angle
/// at least, 3e-4 times the sine at β = 4.
const STATIONARY: f64 = 1e-8;

/// The flow of the tokens, or of a mutant.
struct Moving {
    flow: ParticleFlow,
    n: usize,
    variant: Variant,
}

impl VectorField for Moving {
    fn dim(&self) -> usize {
        self.flow.dim()
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        self.flow.rate(x, out);
        match self.variant {
            Variant::Genuine => {}
            Variant::Repelled => out.iter_mut().for_each(|v| *v = -*v),
            Variant::LessMean => {
                let mean: Vec<f64> =
                    x.chunks_exact(self.n).map(|row| row.iter().sum::<f64>() / self.n as f64).collect();
                for i in 0..self.n {
                    let token = |c: usize| x[c * self.n + i];
                    let square: f64 = (0..mean.len()).map(|c| token(c) * token(c)).sum();
                    let along = mean.iter().enumerate().map(|(c, m)| m * token(c)).sum::<f64>() / square;
                    for (c, m) in mean.iter().enumerate() {
                        out[c * self.n + i] -= m - along * token(c);
                    }
                }
            }
        }
    }
}

/// The time of a model in which rates are of order 1: e^{−β} of USA, whose clusters contract at 2e^β.
fn horizon(model: Normalisation, beta: f64, t: f64) -> f64 {
    match model {
        Normalisation::Softmax => t,
        Normalisation::Uniform => t * (-beta).exp(),
    }
}

impl Claim for OnePoint {
    fn sheet(&self) -> &'static Sheet {
        sheet!("cluster.one_point")
    }

    fn schema(&self) -> Schema {
        vec![
            MODEL.or("sa"),
            TOKENS.within(Domain::Whole(2, 64)).or(16),
            DIM.within(Domain::Whole(2, 64)).or(3),
            BETA.within(closed(0.0, 4.0)).or(1.0),
            TIME.within(above(0.0, 1e6)).or(1e5),
        ]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        // Two clusters on opposite sides meet in a time of order e^{2β}, later from a start close to a saddle.
        let needed = 300.0 * (2.0 * params.get(BETA)).exp();
        let printed = "t → ∞ [here: t >= 300 e^(2 beta)]";
        vec![Hypothesis::new("long time", printed, params.get(TIME) / needed - 1.0)]
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        // Of two tokens half the starts are within a right angle.
        32
    }

    fn least_trials(&self, _params: &Params) -> u64 {
        8
    }

    fn seconds(&self, params: &Params) -> f64 {
        let steps = 40.0 + 10.0 * (1.6 * params.get(BETA)).exp();
        seconds(steps, params.get(TOKENS), params.get(DIM))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (model, n, d) = (model(params)?, params.get(TOKENS), params.get(DIM));
        let beta = params.get(BETA);
        let start = uniform(d, n, &mut streams.part("tokens", 0))?;
        let field = Moving { flow: Particles::new(beta, model).flow(n, d)?, n, variant: self.variant };
        let state = to_state(start.view());
        if widest(&state, n) < 1.0 {
            let reason = "all tokens are within a right angle of each other at the start";
            return Ok(Outcome::uninformative(reason, Witness::new()));
        }
        let cone = |x: &[f64]| widest(x, n) - 1.0;
        let end = horizon(model, beta, params.get(TIME));
        let scale = match model {
            Normalisation::Softmax => 1.0,
            Normalisation::Uniform => beta.exp(),
        };
        let found = settled(&field, &state, end, STATIONARY * scale, &cone)?;
        let seen = witness! { "least_inner_product" => 1.0 - widest(&found.state, n) };
        Ok(found.outcome(end, seen))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, variant| Mutant::new(name, OnePoint { variant });
        vec![variant("repelled", Variant::Repelled), variant("less-mean", Variant::LessMean)]
    }
}
