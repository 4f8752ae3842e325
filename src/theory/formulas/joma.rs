//! Closed forms of JoMA.

use super::Formula;
use crate::params::{Domain, Params, Schema, Spec};
use crate::theory::joma::{convergence, linear, tree};
use serde_json::Value;

pub(super) fn formulas() -> Vec<Formula> {
    vec![
        Formula {
            id: "joma.theorem2",
            doc: "v(t) from zero: linear activation, exp attention, A = 1",
            source: "JoMA Theorem 2, Eq. (3) integrated: sqrt(2) erfinv(sqrt(2/pi) gradient t)",
            schema: || schema(&[GRADIENT, TIME]),
            value: |p| Ok(linear::weights(&p.vector("gradient"), p.f64("t"))?.into()),
        },
        Formula {
            id: "joma.blow_up",
            doc: "time at which the largest component of v blows up",
            source: "JoMA Theorem 2, Eq. (3) integrated: sqrt(pi/2) / max |gradient|",
            schema: || schema(&[GRADIENT]),
            value: |p| Ok(linear::blow_up(&p.vector("gradient")).into()),
        },
        Formula {
            id: "joma.f",
            doc: "time at which a component with target mu has come to the share r of it",
            source: "JoMA Eq. (79)",
            schema: || schema(&[MU, SHARE]),
            value: |p| Ok(convergence::time_to(p.f64("r"), p.f64("mu")).into()),
        },
        Formula {
            id: "joma.log_inverse_gap",
            doc: "ln 1/delta(t), delta = 1 - v/mu, of a component with target mu",
            source: "JoMA Eq. (6) from v = 0: the root of Eq. (79) = t",
            schema: || schema(&[MU, TIME]),
            value: |p| Ok(convergence::log_inverse_gap(p.f64("mu"), p.f64("t")).into()),
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

type Entry = (&'static str, Domain, &'static str);
const ANY: Domain = Domain::FINITE;
const UNIT: Domain = Domain::Number {
    low: 0.0,
    low_in: true,
    high: 1.0,
    high_in: true,
};
const GRADIENT: Entry = (
    "gradient",
    Domain::Vector(&ANY),
    "Delta_l = E[g x_l], constant by Assumption 1",
);
const TIME: Entry = ("t", Domain::NON_NEGATIVE, "time of the gradient flow");
const MU: Entry = ("mu", ANY, "target of the component");
const SHARE: Entry = (
    "r",
    Domain::Number {
        low: 0.0,
        low_in: true,
        high: 1.0,
        high_in: false,
    },
    "v / mu",
);

/// No defaults: a closed form is asked at parameters that one means.
fn schema(entries: &[Entry]) -> Schema {
    let required = |&(name, domain, doc): &Entry| Spec::required(name, domain, doc);
    entries.iter().map(required).collect()
}

fn tree_schema() -> Schema {
    let rho = Domain::Number {
        low: -1.0,
        low_in: true,
        high: 1.0,
        high_in: true,
    };
    schema(&[
        ("rho", rho, "correlation along every edge"),
        (
            "depth",
            Domain::Whole(1, MOST),
            "L, depth of the tokens under the class label",
        ),
        (
            "ancestor_depth",
            Domain::Whole(0, MOST),
            "H, height of the common latent ancestor above the two tokens",
        ),
        ("class_probabilities", Domain::Vector(&UNIT), "P[y_0 = k]"),
        (
            "child_zero_given_class",
            Domain::Vector(&UNIT),
            "P[y = 0 | y_0 = k] of the child of the root",
        ),
    ])
}

/// A depth beyond it is no tree that one could hold.
const MOST: u64 = 1 << 20;

type Cooccurrence = fn(f64, u32, u32, &[f64], &[f64]) -> crate::error::Result<f64>;

fn cooccurrence(p: &Params, of: Cooccurrence) -> crate::error::Result<Value> {
    let depth = |name| p.usize(name) as u32; // at most MOST
    let (classes, zero) = (
        p.vector("class_probabilities"),
        p.vector("child_zero_given_class"),
    );
    let value = of(
        p.f64("rho"),
        depth("depth"),
        depth("ancestor_depth"),
        &classes,
        &zero,
    )?;
    Ok(value.into())
}
