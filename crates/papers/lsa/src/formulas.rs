//! Closed forms of linear self-attention.

use crate::quantities::{CONTEXT, COVARIANCE, COVARIANCE_FACTOR, EXAMPLES, FORMULA_TRAINING_NOISE, TASK, TEST_NOISE};
use crate::theory::{Covariance, LabelMoments, Pretraining, Risk, Target, printed_risk, risk};
use attnlab_core::error::{Error, Result};
use attnlab_core::params::{Params, Schema, Spec};
use attnlab_lab::formula::Formula;
use ndarray::Array1;
use serde_json::json;

const NOTES: &str = "Lecture notes, second theorem, with Gamma_N^{-2} Lambda^k where Lambda^{-2} Lambda \
                     is printed, derived in attnlab_lsa::theory";

/// All closed forms of this room.
pub fn formulas() -> Vec<Formula> {
    vec![
        Formula {
            id: "lsa.gamma_inverse",
            doc: "Gamma_N^{-1}, the limit of W^PV and W^KQ multiplied, row by row",
            source: "Lecture notes, first theorem (Zhang, Frei and Bartlett)",
            schema: || schema(vec![]),
            value: |p| {
                let inverse = training(p)?.gamma_inverse();
                Ok(inverse.rows().into_iter().map(|row| json!(row.to_vec())).collect::<Vec<_>>().into())
            },
        },
        Formula {
            id: "lsa.risk",
            doc: "test risk E(y_hat - y)^2 on M examples of y = <task, x> + noise",
            source: NOTES,
            schema: risk_schema,
            value: |p| {
                let (training, moments) = linear(p)?;
                Ok(risk(&training, training.covariance(), &moments, Some(p.get(EXAMPLES))).total().into())
            },
        },
        Formula {
            id: "lsa.risk_parts",
            doc: "the same in its parts: best linear predictor, 1/M term, 1/N^2 term",
            source: NOTES,
            schema: risk_schema,
            value: |p| {
                let (training, moments) = linear(p)?;
                let Risk { best, variance, bias } =
                    risk(&training, training.covariance(), &moments, Some(p.get(EXAMPLES)));
                Ok(json!([best, variance, bias]))
            },
        },
        Formula {
            id: "lsa.risk_printed",
            doc: "the test risk as printed, with Lambda^{-2} Lambda throughout",
            source: "Lecture notes, second theorem, as printed",
            schema: risk_schema,
            value: |p| {
                let (training, moments) = linear(p)?;
                Ok(printed_risk(&training, &moments, p.get(EXAMPLES)).total().into())
            },
        },
        Formula {
            id: "lsa.shift",
            doc: "test risk under Lambda -> scale Lambda as M -> infinity, for y = <task, x>",
            source: "Lecture notes, remark on distribution shift, derived in attnlab_lsa::theory",
            schema: || schema(vec![TASK.required(), COVARIANCE_FACTOR.required()]),
            value: |p| {
                let training = training(p)?;
                let test = training.covariance().scaled(p.get(COVARIANCE_FACTOR))?;
                Ok(risk(&training, &test, &target(p, &training)?.moments(&test, 0.0), None).bias.into())
            },
        },
        Formula {
            id: "lsa.minimum",
            doc: "least population loss, 1/2 tr Lambda (I - Gamma_N^{-1} Lambda)",
            source: "Lecture notes, first theorem, derived in attnlab_lsa::theory",
            schema: || schema(vec![]),
            value: |p| Ok(training(p)?.minimum().into()),
        },
    ]
}

/// The parameters Λ, N and noise in training, which every formula takes, and `more`.
fn schema(more: Vec<Spec>) -> Schema {
    let mut schema = vec![COVARIANCE.required(), CONTEXT.required(), FORMULA_TRAINING_NOISE.or(0.0)];
    schema.extend(more);
    schema
}

/// The parameters of a test risk. The notes' linear task has no noise: the one default here.
fn risk_schema() -> Schema {
    let noise = TEST_NOISE.meaning("variance of the label noise at test time, on the query's label too").or(0.0);
    schema(vec![EXAMPLES.required(), TASK.required(), noise])
}

fn training(p: &Params) -> Result<Pretraining> {
    Pretraining::new(Covariance::new(p.get(COVARIANCE))?, p.get(CONTEXT), p.get(FORMULA_TRAINING_NOISE))
}

fn target(p: &Params, training: &Pretraining) -> Result<Target> {
    let task = Array1::from(p.get(TASK));
    let target = Target::Linear { task };
    target.validate(training.dim())?;
    Ok(target)
}

fn linear(p: &Params) -> Result<(Pretraining, LabelMoments)> {
    let training = training(p)?;
    let moments = target(p, &training)?.moments(training.covariance(), p.get(TEST_NOISE));
    let finite = moments.products.iter().all(|x| x.is_finite());
    finite.then_some((training, moments)).ok_or_else(|| Error::undefined("the moments of this task overflow"))
}
