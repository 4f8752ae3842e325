//! The Polyak-Łojasiewicz inequality: notes, proof ingredient 2, printed and corrected.

use super::setting::{covariance, dense_start, theorem_start, training_schema, validate};
use crate::dynamics::Reduced;
use crate::quantities::{CONTEXT, SCALE};
use crate::theory::{LsaWeights, Pretraining};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method, Watch};

/// ‖∇L‖² ≥ c (L - min L)² as printed, read as for all weights.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlPrinted {
    /// The variant with the first power, for all weights too.
    first_power: bool,
}

impl Claim for PlPrinted {
    fn sheet(&self) -> &'static Sheet {
        sheet!("lsa.pl_printed")
    }

    fn schema(&self) -> Schema {
        let mut schema = training_schema(5, 10.0, 10);
        schema.push(SCALE.or(0.1));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Pretraining::new(covariance(params, streams)?, params.get(CONTEXT), 0.0)?;
        let scale = params.get(SCALE);
        let power = if self.first_power { 1 } else { 2 };
        let ratio = |weights: &LsaWeights| {
            let gap = training.excess(weights).powi(power);
            training.gradient(weights).norm2() / gap
        };
        // Towards the origin along a line; a ratio without a positive bound refutes every c.
        let shrunk = |k: i32| dense_start(training.dim(), scale * 0.1_f64.powi(k), streams);
        let ratios: Vec<f64> = (0..6).map(|k| ratio(&shrunk(k))).collect();
        let origin = ratio(&LsaWeights::zeros(training.dim()));
        Ok(Outcome::Event {
            holds: origin > 0.0,
            witness: witness! {
                "ratio_at_weights_0" => origin,
                "ratio_at_scales_shrinking_tenfold" => ratios,
                "loss_gap_at_weights_0" => training.excess(&LsaWeights::zeros(training.dim())),
            },
        })
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        4
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![Mutant::new(
            "first-power-everywhere",
            PlPrinted { first_power: true },
        )]
    }
}

/// ‖∇L‖² ≥ c (L - min L) along the flow, with the derived c.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pl {
    form: Form,
}

/// The inequality that is claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Form {
    /// The derived constant.
    #[default]
    Derived,
    /// With the largest eigenvalues at the limit in place of the smallest.
    Largest,
    /// The square root of the loss gap.
    Root,
}

/// Below this share of the first loss gap, rounding of the difference uB - Γ⁻¹ shows.
const ROUNDING: f64 = 1e-20;

impl Claim for Pl {
    fn sheet(&self) -> &'static Sheet {
        sheet!("lsa.pl")
    }

    fn schema(&self) -> Schema {
        let mut schema = training_schema(10, 100.0, 20);
        schema.push(SCALE.or(0.1));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        super::limit::Limit::default().hypotheses(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Pretraining::new(covariance(params, streams)?, params.get(CONTEXT), 0.0)?;
        let start = theorem_start(&training, params.get(SCALE), streams)?;
        let flow = Reduced::new(&training, &start);
        let (Some(flow), Some(derived)) = (flow, training.pl_constant(&start)) else {
            // Beyond the hypothesis there is no constant to check.
            return Ok(Outcome::Event {
                holds: false,
                witness: witness! { "why" => "the start is no better than predicting 0" },
            });
        };
        let first = training.excess(&start);
        let (c, power) = match self.form {
            Form::Derived => (derived, 1.0),
            Form::Largest => (largest(&training, &start), 1.0),
            Form::Root => (derived, 0.5),
        };
        let (mut least, mut at) = (f64::INFINITY, 0.0);
        let mut look = |_: f64, x: &[f64]| {
            let weights = flow.weights(x);
            let gap = training.excess(&weights) / first;
            let ratio = training.gradient(&weights).norm2() / (first * gap.powf(power));
            if gap > ROUNDING && ratio < least {
                (least, at) = (ratio, gap);
            }
        };
        let done = |x: &[f64]| training.excess(&flow.weights(x)) / first - ROUNDING;
        let watch = Watch {
            event: Some(&done),
            step: Some(&mut look),
            conserved: None,
        };
        let until = -ROUNDING.ln() / derived;
        let path = Flow::new(Method::Bdf).watched(&flow, &flow.start(), &[until], watch)?;
        Ok(Outcome::Gap {
            lhs: c,
            rhs: least,
            // Rounding of gradient and gap.
            tol: 1e-9 * c,
            relation: Relation::AtMost,
            witness: witness! {
                "c" => c,
                "least_ratio_along_the_flow" => least,
                "at_share_of_the_first_gap" => at,
                "steps" => path.steps,
            },
        })
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        10
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![
            Mutant::new(
                "largest-eigenvalues",
                Pl {
                    form: Form::Largest,
                },
            ),
            Mutant::new("square-root", Pl { form: Form::Root }),
        ]
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
