//! The Polyak-Łojasiewicz inequality: notes, proof ingredient 2, printed and corrected.

use super::lsa_setting::{
    covariance, dense_start, scale_spec, theorem_start, training_schema, validate,
};
use super::*;
use crate::dynamics::flow::{Flow, Method, Watch};
use crate::dynamics::lsa::Reduced;
use crate::theory::lsa::{Training, Weights};
use crate::witness;

/// ‖∇L‖² ≥ c (L - min L)² for all weights, as printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlPrinted {
    /// The variant with the first power, for all weights too.
    first_power: bool,
}

impl Claim for PlPrinted {
    fn card(&self) -> Card {
        Card {
            id: "lsa.pl_printed",
            paper: Paper::Notes,
            equation: "first theorem, proof ingredient 2",
            title: "A gradient bound with the squared loss gap, at any weights",
            statement: "Establish PL-inequality: $\\|\\nabla L(u)\\|^2 \\ge c\\,(L(u) - \\min_u L(u))^2$ for \
                        some $c > 0$.",
            kind: Kind::Bound,
            expected: VerdictKind::Refuted,
            corrected: Some(
                "The inequality of that name has the first power, and it holds along the flow from \
                 suitable weights, not at all weights: `lsa.pl`.",
            ),
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = training_schema(5, 10.0, 10);
        schema.push(scale_spec(0.1));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Training::new(covariance(params, streams)?, params.usize("N"), 0.0)?;
        let scale = params.f64("scale");
        let power = if self.first_power { 1 } else { 2 };
        let ratio = |weights: &Weights| {
            let gap = training.excess(weights).powi(power);
            training.gradient(weights).norm2() / gap
        };
        // Towards the origin along a line; a ratio without a positive bound refutes every c.
        let shrunk = |k: i32| dense_start(training.dim(), scale * 0.1_f64.powi(k), streams);
        let ratios: Vec<f64> = (0..6).map(|k| ratio(&shrunk(k))).collect();
        let origin = ratio(&Weights::zeros(training.dim()));
        Ok(Outcome::Event {
            holds: origin > 0.0,
            witness: witness! {
                "ratio_at_weights_0" => origin,
                "ratio_at_scales_shrinking_tenfold" => ratios,
                "loss_gap_at_weights_0" => training.excess(&Weights::zeros(training.dim())),
            },
        })
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        Some(Discrepancy {
            printed: "The loss gap is squared, and the inequality is stated for every u.",
            witness: "At weights 0 the gradient vanishes and the loss is $\\frac12 tr\\Lambda$, above its \
                      minimum: no $c > 0$ will do. `check lsa.pl_printed` prints the ratio of the two \
                      sides on the way there, which falls a hundredfold for each tenfold step.",
            range: "At weights 0 and at every other stationary point that is no global minimum, for \
                    every Λ and N. Along a trajectory that converges the squared form holds, but it is \
                    weaker than the first power where the gap is below 1 and would give a rate of 1/t \
                    only.",
            correction: "`lsa.pl`: $\\|\\nabla L\\|^2 \\ge c\\,(L - \\min L)$ along the flow from $v = c = 0$ and a \
                         start better than predicting 0, with $c = 2u_{min}^2\\lambda_{min}(\\lambda\\gamma)_{min}$ and \
                         $u_{min}$ from the conserved quantity.",
        })
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        4
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![Mutant::new(
            "first-power-everywhere",
            "the first power, at any weights",
            PlPrinted { first_power: true },
        )]
    }
}

/// ‖∇L‖² ≥ c (L - min L) along the flow, with the derived c.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pl {
    form: Form,
}

/// What is claimed.
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
    fn card(&self) -> Card {
        Card {
            id: "lsa.pl",
            paper: Paper::Notes,
            equation: "first theorem, proof ingredient 2, corrected",
            title: "The Polyak-Łojasiewicz inequality along the flow, with an explicit constant",
            statement: "Establish PL-inequality: $\\|\\nabla L(u)\\|^2 \\ge c\\,(L(u) - \\min_u L(u))$ for some \
                        $c > 0$ (first power, along the flow; $c = 2u_{min}^2\\lambda_{min}(\\lambda\\gamma)_{min}$, \
                        derived in `theory::lsa`).",
            kind: Kind::Bound,
            expected: VerdictKind::Supported,
            corrected: None,
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = training_schema(10, 100.0, 20);
        schema.push(scale_spec(0.1));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        super::lsa_limit::Limit::default().hypotheses(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = Training::new(covariance(params, streams)?, params.usize("N"), 0.0)?;
        let start = theorem_start(&training, params.f64("scale"), streams)?;
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
                "with the largest eigenvalues in c, and the u of the limit",
                Pl {
                    form: Form::Largest,
                },
            ),
            Mutant::new(
                "square-root",
                "with the square root of the loss gap, which would end the flow in finite time",
                Pl { form: Form::Root },
            ),
        ]
    }
}

/// 2u²λ_max(λγ)_max at the limit of the flow.
fn largest(training: &Training, start: &Weights) -> f64 {
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let lambda = training.covariance().values();
    let products = most(&mut lambda.iter().zip(training.gamma()).map(|(l, g)| l * g));
    let u = training.limit(start.conserved()).u;
    2.0 * u * u * most(&mut lambda.iter().copied()) * products
}
