//! Theorem 6.8: from an orthonormal start all inner products equal γ(t).

use crate::quantities::{BETA, MODEL, TIME, TOKENS};
use crate::setting::{flow, model, other, seconds};
use crate::theory::equiangular::Equiangular;
use attnlab_core::linalg::haar_basis;
use attnlab_lab::prelude::*;
use attnlab_theory::particles::{Particles, cosines, of_state, to_state};

/// The particles against the one-dimensional equation.
#[derive(Serialize, Deserialize)]
pub struct Reduction {
    /// Added to n in the equation.
    more: usize,
    /// Factor of β in the equation.
    hotter: f64,
    /// Flag of a mutant: the equation of the other model.
    swapped: bool,
}

impl Reduction {
    /// The equation as printed.
    pub const PRINTED: Self = Reduction { more: 0, hotter: 1.0, swapped: false };
}

/// The integrator keeps 1e-10 per step. By [`Equiangular::growth`] deviations grow at β = 8 by a factor of at most 7.8e3 (USA,
/// n = 64) along the curve, 42 in the row sums and 22 beside them.
const TOLERANCE: f64 = 1e-6;

/// 1 − γ at which a trial ends: later all inner products are 1 to within it.
const CLOSED: f64 = 1e-6;

impl Claim for Reduction {
    from_sheet!("cluster.theorem6_8", trials = 8);

    fn schema(&self) -> Schema {
        vec![
            MODEL.or("sa"),
            TOKENS.within(Domain::Whole(2, 64)).or(8),
            BETA.within(Domain::closed(0.0, 8.0)).or(2.0),
            TIME.within(Domain::left_open(0.0, 1e6)).or(5.0),
        ]
    }

    fn seconds(&self, params: &Params) -> f64 {
        let n = params.get(TOKENS);
        seconds(400.0, n, n)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (model, n, beta) = (model(params)?, params.get(TOKENS), params.get(BETA));
        let end = params.get(TIME).min(Equiangular { model, n, beta }.time_to(CLOSED)?);
        let times = [0.25 * end, 0.5 * end, end];
        let frame = haar_basis(n, n, &mut streams.part("frame", 0))?;
        let path = flow().run(&Particles::new(beta, model).flow(n, n)?, &to_state(frame.view()), &times)?;
        let equation = Equiangular {
            model: if self.swapped { other(model) } else { model },
            n: n + self.more,
            beta: self.hotter * beta,
        };
        let deficits = equation.deficit(&times)?;
        let mut worst = (0.0_f64, 0.0, 0.0);
        for (state, deficit) in path.states.iter().zip(&deficits) {
            let gram = cosines(of_state(state, n)?.view())?;
            for ((i, j), g) in gram.indexed_iter().filter(|((i, j), _)| i != j) {
                let gap = (g - (1.0 - deficit)).abs();
                if gap > worst.0 || gap.is_nan() {
                    worst = (gap, gram[[i, j]], 1.0 - deficit);
                }
            }
        }
        Ok(Outcome::equal(worst.1, worst.2, TOLERANCE, witness! { "inner_product" => worst.1, "gamma" => worst.2 }))
    }
}
