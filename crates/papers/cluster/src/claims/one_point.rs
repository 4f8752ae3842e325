//! The basic clustering theorem: almost every start converges to one point.

use crate::quantities::{BETA, DIM, MODEL, TIME, TOKENS};
use crate::setting::{model, seconds, settled, uniform, widest};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::VectorField;
use attnlab_theory::particles::{Normalisation, ParticleFlow, Particles, to_state};

/// Convergence to one point, judged by the theorem of the cone: once all tokens are within a right angle of each
/// other they contract to one point exponentially.
#[derive(Serialize, Deserialize)]
pub struct OnePoint {
    /// Factor of the velocities.
    sign: f64,
    /// Factor of the mean of the tokens that is taken off their attention.
    less_mean: f64,
}

impl OnePoint {
    /// The tokens as they move.
    pub const PRINTED: Self = OnePoint { sign: 1.0, less_mean: 0.0 };
}

/// Speed below which tokens count as stationary: two clusters at inner product ρ move at e^{−β(1−ρ)} sin of their angle
/// at least, 3e-4 times the sine at β = 4.
const STATIONARY: f64 = 1e-8;

/// The flow of the tokens, with the factors of [`OnePoint`].
struct Moving<'a> {
    flow: ParticleFlow,
    n: usize,
    claim: &'a OnePoint,
}

impl VectorField for Moving<'_> {
    fn dim(&self) -> usize {
        self.flow.dim()
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        self.flow.rate(x, out);
        out.iter_mut().for_each(|v| *v *= self.claim.sign);
        if self.claim.less_mean == 0.0 {
            return;
        }
        let n = self.n;
        let mean: Vec<f64> = x.chunks_exact(n).map(|row| row.iter().sum::<f64>() / n as f64).collect();
        for i in 0..n {
            let token = |c: usize| x[c * n + i];
            let square: f64 = (0..mean.len()).map(|c| token(c) * token(c)).sum();
            let along = mean.iter().enumerate().map(|(c, m)| m * token(c)).sum::<f64>() / square;
            for (c, m) in mean.iter().enumerate() {
                out[c * n + i] -= self.claim.less_mean * (m - along * token(c));
            }
        }
    }
}

impl Claim for OnePoint {
    // Of two tokens half the starts are within a right angle.
    from_sheet!("cluster.one_point", trials = 32, least_trials = 8);

    fn schema(&self) -> Schema {
        vec![
            MODEL.or("sa"),
            TOKENS.within(Domain::Whole(2, 64)).or(16),
            DIM.within(Domain::Whole(2, 64)).or(3),
            BETA.within(Domain::closed(0.0, 4.0)).or(1.0),
            TIME.within(Domain::left_open(0.0, 1e6)).or(1e5),
        ]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        // Two clusters on opposite sides meet in a time of order e^{2β}, later from a start close to a saddle.
        let needed = 300.0 * (2.0 * params.get(BETA)).exp();
        vec![Hypothesis::new("long time", "t → ∞ [here: t >= 300 e^(2 beta)]", params.get(TIME) / needed - 1.0)]
    }

    fn seconds(&self, params: &Params) -> f64 {
        seconds(40.0 + 10.0 * (1.6 * params.get(BETA)).exp(), params.get(TOKENS), params.get(DIM))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (model, n, d) = (model(params)?, params.get(TOKENS), params.get(DIM));
        let beta = params.get(BETA);
        let start = uniform(d, n, &mut streams.part("tokens", 0))?;
        let field = Moving { flow: Particles::new(beta, model).flow(n, d)?, n, claim: self };
        let state = to_state(start.view());
        if widest(&state, n) < 1.0 {
            let reason = "all tokens are within a right angle of each other at the start";
            return Ok(Outcome::uninformative(reason, Witness::new()));
        }
        let cone = |x: &[f64]| widest(x, n) - 1.0;
        // The clusters of USA contract at 2e^β: its rates are e^β times as large.
        let (end, slow) = match model {
            Normalisation::Softmax => (params.get(TIME), STATIONARY),
            Normalisation::Uniform => (params.get(TIME) * (-beta).exp(), STATIONARY * beta.exp()),
        };
        let run = settled(&field, &state, end, slow, &cone)?;
        Ok(run.outcome(end, witness! { "least_inner_product" => 1.0 - widest(&run.state, n) }))
    }
}
