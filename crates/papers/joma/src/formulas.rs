//! Closed forms of JoMA with names. None has defaults: a closed form is asked at parameters that one means.

use crate::quantities::{
    ANCESTOR_HEIGHT, CHILD_ZERO, CLASS_PROBABILITIES, DELTA, DEPTH, RHO, SHARE, TARGET, TIME,
};
use crate::theory::{convergence, linear, tree};
use attnlab_core::error::{Error, Result};
use attnlab_core::params::{Params, Schema};
use attnlab_lab::formula::Formula;
use serde_json::Value;

/// The closed forms of this room, in the order of the paper.
pub fn formulas() -> Vec<Formula> {
    vec![
        Formula {
            id: "joma.theorem2",
            doc: "v(t) from zero: linear activation, exp attention, A = 1",
            source: "JoMA Theorem 2, Eq. (3) integrated: sqrt(2) erfinv(sqrt(2/pi) gradient t)",
            schema: || vec![DELTA.required(), TIME.required()],
            value: |p| Ok(linear::weights(&p.get(DELTA), p.get(TIME))?.into()),
        },
        Formula {
            id: "joma.blow_up",
            doc: "time at which the largest component of v blows up",
            source: "JoMA Theorem 2, Eq. (3) integrated: sqrt(pi/2) / max |gradient|",
            schema: || vec![DELTA.required()],
            value: |p| Ok(linear::blow_up(&p.get(DELTA)).into()),
        },
        Formula {
            id: "joma.f",
            doc: "time at which a component with target mu has come to the share r of it",
            source: "JoMA Eq. (79)",
            schema: || vec![TARGET.required(), SHARE.required()],
            value: |p| Ok(convergence::time_to(p.get(SHARE), p.get(TARGET)).into()),
        },
        Formula {
            id: "joma.log_inverse_gap",
            doc: "ln 1/delta(t), delta = 1 - v/mu, of a component with target mu",
            source: "JoMA Eq. (6) from v = 0: the root of Eq. (79) = t",
            schema: || vec![TARGET.required(), TIME.required()],
            value: |p| log_inverse_gap(p.get(TARGET), p.get(TIME)),
        },
        Formula {
            id: "joma.tree_cooccurrence",
            doc: "P[y_l = 1 | y_m = 1] of two tokens by the height of their common latent ancestor",
            source: "JoMA Theorem 5 with rho_0 = 2 p.p_0 - 1",
            schema: tree_schema,
            value: |p| cooccurrence(p, tree::cooccurrence),
        },
        Formula {
            id: "joma.tree_cooccurrence_printed",
            doc: "the same as printed, with a probability in place of a correlation",
            source: "JoMA Theorem 5 with rho_0 = p.p_0",
            schema: tree_schema,
            value: |p| cooccurrence(p, tree::cooccurrence_printed),
        },
    ]
}

fn tree_schema() -> Schema {
    vec![
        RHO.required(),
        DEPTH.required(),
        ANCESTOR_HEIGHT.required(),
        CLASS_PROBABILITIES.required(),
        CHILD_ZERO.required(),
    ]
}

fn log_inverse_gap(mu: f64, t: f64) -> Result<Value> {
    let found = convergence::log_inverse_gap(mu, t);
    if !found.is_finite() {
        let message = format!(
            "ln 1/delta at mu = {mu} and t = {t} is beyond the largest number: it grows like \
             e^(mu^2/2) t; choose a smaller mu or t"
        );
        return Err(Error::undefined(message));
    }
    Ok(found.into())
}

type Cooccurrence = fn(f64, u32, u32, &[f64], &[f64]) -> Result<f64>;

fn cooccurrence(p: &Params, closed_form: Cooccurrence) -> Result<Value> {
    // At most 2^20 by their domains.
    let (depth, height) = (p.get(DEPTH) as u32, p.get(ANCESTOR_HEIGHT) as u32);
    let (classes, zero) = (p.get(CLASS_PROBABILITIES), p.get(CHILD_ZERO));
    let found = closed_form(p.get(RHO), depth, height, &classes, &zero)?;
    if found.is_nan() {
        let message =
            "token m never appears, P[y_m = 1] = 0: there is no probability given that it does";
        return Err(Error::undefined(message));
    }
    Ok(found.into())
}
