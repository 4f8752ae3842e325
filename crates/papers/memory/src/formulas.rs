//! Closed forms with names, for `attnlab eval`.

use crate::quantities::{BETA, DIM, FAILURE, LAMBDA, RADIUS};
use crate::theory::ramsauer::Capacity;
use crate::theory::sphere;
use attnlab_core::params::Domain;
use attnlab_lab::formula::Formula;

/// Returns all closed forms of this room.
pub fn formulas() -> Vec<Formula> {
    vec![
        Formula {
            id: "memory.ramsauer_capacity",
            doc: "number of patterns that Theorem 3 promises, p^(1/2) c^((d - 1)/4)",
            source: "Hopfield networks is all you need, Theorem 3",
            schema: || {
                vec![
                    DIM.within(Domain::Whole(2, 1_000_000)).required(),
                    RADIUS.required(),
                    BETA.required(),
                    FAILURE.required(),
                ]
            },
            value: |p| {
                Ok(Capacity::new(p.get(DIM), p.get(RADIUS), p.get(BETA), p.get(FAILURE))?.ln_patterns.exp().into())
            },
        },
        Formula {
            id: "memory.alpha1",
            doc: "load (log N)/d at which a pattern on the sphere loses its weight for itself, as d → ∞",
            source: "The exponential capacity of dense associative memories, spherical patterns; derived in \
                     attnlab_memory::theory::sphere",
            schema: || vec![LAMBDA.required()],
            value: |p| Ok(sphere::threshold(p.get(LAMBDA)).into()),
        },
        Formula {
            id: "memory.others_weight",
            doc: "mean weight of another pattern on the sphere over the own one, E exp(lambda d (u - 1))",
            source: "derived in attnlab_memory::theory::sphere",
            schema: || {
                vec![
                    DIM.within(Domain::Whole(2, 10_000)).required(),
                    LAMBDA.within(Domain::left_open(0.0, 1000.0)).required(),
                ]
            },
            value: |p| Ok(sphere::ln_mean(p.get(DIM), p.get(LAMBDA) * p.real(DIM)).exp().into()),
        },
    ]
}
