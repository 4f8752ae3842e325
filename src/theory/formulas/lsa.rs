//! Closed forms of linear self-attention.

use super::Formula;
use crate::error::{Error, Result};
use crate::params::{Domain, Params, Schema, Spec};
use crate::theory::lsa::{Covariance, Moments, Risk, Target, Training, printed_risk, risk};
use ndarray::Array1;
use serde_json::{Value, json};

const NOTES: &str = "Lecture notes, second theorem, with Gamma_N^{-2} Lambda^k where Lambda^{-2} Lambda \
                     is printed, derived in attnlab::theory::lsa";

pub(super) fn formulas() -> Vec<Formula> {
    vec![
        Formula {
            id: "lsa.gamma_inverse",
            doc: "Gamma_N^{-1}, the limit of W^PV and W^KQ multiplied, row by row",
            source: "Lecture notes, first theorem (Zhang, Frei and Bartlett)",
            schema: || schema(vec![]),
            value: |p| {
                let inverse = training(p)?.gamma_inverse();
                let rows = inverse.rows().into_iter();
                Ok(rows
                    .map(|row| json!(row.to_vec()))
                    .collect::<Vec<_>>()
                    .into())
            },
        },
        Formula {
            id: "lsa.risk",
            doc: "test risk E(y_hat - y)^2 on M examples of y = <task, x> + noise",
            source: NOTES,
            schema: || schema(vec![examples(), task(), noise_var()]),
            value: |p| {
                let (training, moments) = linear(p)?;
                let found = risk(
                    &training,
                    training.covariance(),
                    &moments,
                    Some(p.usize("M")),
                );
                Ok(found.total().into())
            },
        },
        Formula {
            id: "lsa.risk_parts",
            doc: "the same in its parts: best linear predictor, 1/M term, 1/N^2 term",
            source: NOTES,
            schema: || schema(vec![examples(), task(), noise_var()]),
            value: |p| {
                let (training, moments) = linear(p)?;
                let examples = Some(p.usize("M"));
                Ok(parts(risk(
                    &training,
                    training.covariance(),
                    &moments,
                    examples,
                )))
            },
        },
        Formula {
            id: "lsa.risk_printed",
            doc: "the test risk as printed, with Lambda^{-2} Lambda throughout",
            source: "Lecture notes, second theorem, as printed",
            schema: || schema(vec![examples(), task(), noise_var()]),
            value: |p| {
                let (training, moments) = linear(p)?;
                Ok(printed_risk(&training, &moments, p.usize("M"))
                    .total()
                    .into())
            },
        },
        Formula {
            id: "lsa.shift",
            doc: "test risk under Lambda -> scale Lambda as M -> infinity, for y = <task, x>",
            source: "Lecture notes, remark on distribution shift, derived in attnlab::theory::lsa",
            schema: || schema(vec![task(), scale()]),
            value: |p| {
                let training = training(p)?;
                let test = training.covariance().scaled(p.f64("scale"))?;
                let moments = target(p, &training)?.moments(&test, 0.0);
                Ok(risk(&training, &test, &moments, None).bias.into())
            },
        },
        Formula {
            id: "lsa.minimum",
            doc: "least population loss, 1/2 tr Lambda (I - Gamma_N^{-1} Lambda)",
            source: "Lecture notes, first theorem, derived in attnlab::theory::lsa",
            schema: || schema(vec![]),
            value: |p| Ok(training(p)?.minimum().into()),
        },
    ]
}

/// Whole numbers up to here are exact in double precision.
const MOST: u64 = 1 << 53;

/// Λ, N and the noise in training, which every formula takes, and more.
fn schema(more: Vec<Spec>) -> Schema {
    let covariance = Domain::Matrix(&Domain::FINITE);
    let mut schema = vec![
        Spec::required(
            "covariance",
            covariance,
            "Lambda, of the inputs in training",
        ),
        Spec::required("N", Domain::Whole(1, MOST), "examples in a training prompt"),
        Spec::new(
            "train_noise_var",
            Domain::NON_NEGATIVE,
            0.0,
            "variance of the label noise in training; the notes have none",
        ),
    ];
    schema.extend(more);
    schema
}

fn examples() -> Spec {
    Spec::required("M", Domain::Whole(1, MOST), "examples in the test prompt")
}

fn task() -> Spec {
    let vector = Domain::Vector(&Domain::FINITE);
    Spec::required("task", vector, "a, the weights of the test task")
}

fn scale() -> Spec {
    Spec::required(
        "scale",
        Domain::POSITIVE,
        "c, factor on Lambda at test time",
    )
}

/// The notes' linear task has no noise: the one default here.
fn noise_var() -> Spec {
    let doc = "variance of the label noise at test time, on the query's label too";
    Spec::new("noise_var", Domain::NON_NEGATIVE, 0.0, doc)
}

fn training(p: &Params) -> Result<Training> {
    let covariance = Covariance::new(p.matrix("covariance"))?;
    Training::new(covariance, p.usize("N"), p.f64("train_noise_var"))
}

fn target(p: &Params, training: &Training) -> Result<Target> {
    let task = Array1::from(p.vector("task"));
    let target = Target::Linear { task };
    target.validate(training.dim())?;
    Ok(target)
}

fn linear(p: &Params) -> Result<(Training, Moments)> {
    let training = training(p)?;
    let moments = target(p, &training)?.moments(training.covariance(), p.f64("noise_var"));
    let finite = moments.products.iter().all(|x| x.is_finite());
    finite
        .then_some((training, moments))
        .ok_or_else(|| Error::Numerical("the moments of this task overflow".into()))
}

fn parts(found: Risk) -> Value {
    json!([found.best, found.variance, found.bias])
}
