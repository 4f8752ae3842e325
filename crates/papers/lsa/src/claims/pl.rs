//! The Polyak-Łojasiewicz inequality: notes, proof ingredient 2, printed and corrected.

use super::limit::Limit;
use super::setting::{covariance, dense_start, theorem_start, training_schema, validate};
use crate::dynamics::{Reduced, from_scale};
use crate::quantities::{CONTEXT, SCALE, WEIGHTS};
use crate::theory::{LsaWeights, Pretraining};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Method, Watch};

/// ‖∇L‖² ≥ c (L - min L)^p with some c > 0 as printed, or with the derived c.
#[derive(Serialize, Deserialize)]
pub struct Pl {
    /// Flag: it is the printed claim or a mutant of it, by the sheet that it bears.
    printed: bool,
    /// p, the power of L - min L.
    power: f64,
    /// Factor of c. At d = 1 the derivation loses a factor 2.
    factor: f64,
    /// Flag of a mutant: c has the largest eigenvalues at the limit in place of the smallest.
    largest: bool,
}

/// Scales of random weights, over `scale`. An inequality with some c > 0 at all weights leaves a ratio that
/// does not depend on the scale in the end.
const SCALES: [f64; 6] = [1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5];

/// Least exponent of the ratio in the scale at which it has no positive bound: 0 where the loss gap decides,
/// 2 near a stationary point that is no global minimum.
const VANISHING: f64 = 1.0;

/// Share of the first loss gap at which the flow is left. There the entries of uBΓ - I are of size 1e-8, and
/// rounding changes the ratio of both sides by less than [`TOLERANCE`].
const ROUNDING: f64 = 1e-16;

/// Relative rounding of ‖∇L‖² and L - min L where uBΓ - I has entries of 1e-8: 2ε/1e-8 each.
const TOLERANCE: f64 = 1e-6;

impl Pl {
    /// With the square, as printed: along the flow, or at random weights.
    pub const PRINTED: Self = Pl { printed: true, power: 2.0, factor: 1.0, largest: false };
    /// With the first power, along the flow.
    pub const DERIVED: Self = Pl { printed: false, power: 1.0, ..Self::PRINTED };

    /// Returns `true` if it is said of random weights, not of those along the flow.
    fn of_random_weights(&self, params: &Params) -> bool {
        self.printed && params.get(WEIGHTS) != "flow"
    }

    /// At random dense weights of shrinking scale: the exponent with which the ratio of both sides falls.
    fn anywhere(&self, training: &Pretraining, scale: f64, streams: &Streams) -> Result<Outcome> {
        let ratio = |share: &f64| {
            let weights = dense_start(training.dim(), scale * share, streams);
            training.gradient(&weights).norm2() / training.excess(&weights).powf(self.power)
        };
        let ratios: Vec<f64> = SCALES.iter().map(ratio).collect();
        // Of the last step, where the first terms in the scale are left.
        let fall = (ratios[SCALES.len() - 2] / ratios[SCALES.len() - 1]).log10();
        if !fall.is_finite() {
            return Err(Error::undefined("the gradient underflows at the smallest weights"));
        }
        Ok(Outcome::Event {
            holds: fall < VANISHING,
            witness: witness! {
                "exponent_of_the_ratio_in_the_scale" => fall, "ratio_at_scales_shrinking_tenfold" => ratios,
                "ratio_at_weights_0" => training.gradient(&LsaWeights::zeros(training.dim())).norm2(),
                "loss_gap_at_weights_0" => training.excess(&LsaWeights::zeros(training.dim())),
            },
        })
    }

    /// Compares c with the least ‖∇L‖² / (L - min L)^power along the flow, both for losses over their first gap,
    /// with c from [`Pretraining::pl_constant`]: the inequality with the first power gives the one with the square, as
    /// the gap falls.
    ///
    /// # Errors
    /// Where there is no such constant.
    fn along_the_flow(&self, training: &Pretraining, start: &LsaWeights) -> Result<Outcome> {
        let flow = Reduced::new(training, start);
        let (Some(flow), Some(derived)) = (flow, training.pl_constant(start)) else {
            let problem = "the start is no better than predicting 0 in double precision: there is no constant";
            return Err(Error::undefined(problem));
        };
        let first = training.excess(start);
        let c = if self.largest { largest(training, start) } else { self.factor * derived };
        let (mut least, mut place) = (f64::INFINITY, 0.0);
        let mut look = |_: f64, x: &[f64]| {
            let weights = flow.weights(x);
            let gap = training.excess(&weights) / first;
            let ratio = training.gradient(&weights).norm2() / (first * gap.powf(self.power));
            if gap > ROUNDING && ratio < least {
                (least, place) = (ratio, gap);
            }
        };
        let done = |x: &[f64]| training.excess(&flow.weights(x)) / first - ROUNDING;
        let watch = Watch { event: Some(&done), step: Some(&mut look), conserved: None };
        let (until, from) = (-ROUNDING.ln() / derived, flow.start());
        let path = from_scale(Method::Bdf, &from).watched(&flow, &from, &[until], watch)?;
        Ok(Outcome::at_most(
            c,
            least,
            TOLERANCE * c,
            witness! {
                "c" => c, "least_ratio_along_the_flow" => least, "at_share_of_the_first_gap" => place,
                "steps" => path.steps,
            },
        ))
    }
}

impl Claim for Pl {
    from_sheet!(self, if self.printed { sheet!("lsa.pl_printed") } else { sheet!("lsa.pl") }, trials = 10);

    fn schema(&self) -> Schema {
        let (dim, condition, context) = if self.printed { (5, 10.0, 10) } else { (10, 100.0, 20) };
        let weights = self.printed.then(|| WEIGHTS.or("flow"));
        training_schema(dim, condition, context, [SCALE.or(0.1)].into_iter().chain(weights))
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        if self.of_random_weights(params) { vec![] } else { Limit::PRINTED.hypotheses(params) }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Pretraining::new(covariance(params, streams)?, params.get(CONTEXT), 0.0)?;
        let scale = params.get(SCALE);
        if self.of_random_weights(params) {
            return self.anywhere(&training, scale, streams);
        }
        self.along_the_flow(&training, &theorem_start(&training, scale, streams)?)
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        if self.of_random_weights(params) { VerdictKind::Refuted } else { VerdictKind::Supported }
    }
}

/// 2u²λ_max(λγ)_max at the limit of the flow.
fn largest(training: &Pretraining, start: &LsaWeights) -> f64 {
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let lambda = training.covariance().values();
    let products = most(&mut lambda.iter().zip(training.gamma()).map(|(l, g)| l * g));
    let u = training.limit(start.conserved()).u;
    2.0 * u * u * most(&mut lambda.iter().copied()) * products
}
