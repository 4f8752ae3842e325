//! Closed forms with names, for `attnlab eval`.

use crate::quantities::{ANGLE, BETA, DELTA, DIM, GAMMA, MASS_I, MASS_J, MODE, MODEL, RESCALED, RHO, TIME, TOKENS};
use crate::setting::model;
use crate::theory::equiangular::Equiangular;
use crate::theory::long_context::LongContext;
use crate::theory::{caps, modes, pair};
use attnlab_core::error::Result;
use attnlab_core::params::{Domain, Params, Schema};
use attnlab_lab::formula::Formula;

/// Largest β of the equiangular laws: e^β is finite with room for sums.
const MOST_BETA: f64 = 600.0;

/// Returns all closed forms of this room.
pub fn formulas() -> Vec<Formula> {
    vec![
        Formula {
            id: "cluster.equiangular",
            doc: "common inner product at time t of tokens from an orthonormal start",
            source: "A mathematical perspective on transformers, Theorem 6.8",
            schema: equiangular,
            value: |p| Ok(law(p)?.inner_product(&[p.get(TIME)])?[0].into()),
        },
        Formula {
            id: "cluster.pre_ln",
            doc: "1 - rho(t) of tokens from an orthonormal start with pre-LN",
            source: "Normalization in attention dynamics, equiangular tokens",
            schema: equiangular,
            value: |p| Ok(law(p)?.pre_ln(&[p.get(TIME)])?[0].0.into()),
        },
        Formula {
            id: "cluster.deviation",
            doc: "limit of d times the mean squared deviation from cluster.equiangular, uniform tokens",
            source: "derived in attnlab_cluster::theory::equiangular",
            schema: equiangular,
            value: |p| Ok(law(p)?.deviation(&[p.get(TIME)])?[0].into()),
        },
        Formula {
            id: "cluster.pair_angle",
            doc: "angle of the closest pair at rescaled time s, dt = exp(beta (1 - cos angle(t))) ds",
            source: "The mean-field dynamics of transformers, Section 5, corrected in attnlab_cluster::theory::pair",
            schema: || {
                let mut schema = two_masses();
                schema.push(RESCALED.required());
                schema
            },
            value: |p| Ok(pair::angle(p.get(ANGLE), p.get(MASS_I), p.get(MASS_J), p.get(RESCALED)).into()),
        },
        Formula {
            id: "cluster.pair_duration",
            doc: "limit of the time to contact of the closest pair in units of exp(beta (1 - cos angle)) / beta",
            source: "derived in attnlab_cluster::theory::pair",
            schema: two_masses,
            value: |p| {
                let speed = pair::speed(p.get(MASS_I), p.get(MASS_J));
                Ok((1.0 / (speed * p.get(ANGLE).sin().powi(2))).into())
            },
        },
        Formula {
            id: "cluster.long_context",
            doc: "cosine of two outputs of an attention layer on equiangular tokens at beta = gamma log n",
            source: "Critical attention scaling in long-context transformers; exact at every n",
            schema: || {
                vec![
                    TOKENS.within(Domain::Whole(2, 1 << 53)).required(),
                    RHO.within(Domain::right_open(0.0, 1.0)).required(),
                    GAMMA.required(),
                ]
            },
            value: |p| {
                let layer = LongContext { n: p.real(TOKENS), rho: p.get(RHO), gamma: p.get(GAMMA) };
                Ok(layer.cosine().into())
            },
        },
        Formula {
            id: "cluster.mode_growth",
            doc: "growth rate of mode k of the uniform law on the circle",
            source: "Emergence of meta-stable clustering, circle; derived in attnlab_cluster::theory::modes",
            schema: || {
                let mut schema = on_circle();
                schema.push(MODE.within(Domain::Whole(1, 100_000)).required());
                schema
            },
            value: |p| Ok(modes::rate(model(p)?, p.get(BETA), p.get(MODE)).into()),
        },
        Formula {
            id: "cluster.fastest_mode",
            doc: "the mode of the uniform law on the circle that grows fastest, the same for both models",
            source: "Emergence of meta-stable clustering, circle; derived in attnlab_cluster::theory::modes",
            schema: on_circle,
            value: |p| Ok(modes::fastest(p.get(BETA)).into()),
        },
        Formula {
            id: "cluster.renyi_centres",
            doc: "mean number of strong Renyi centres of an infinite sequence of uniform tokens",
            source: "Clustering in causal attention masking, Lemma C.1",
            schema: || vec![DIM.within(Domain::Whole(2, 100_000)).required(), DELTA.required()],
            value: |p| Ok((1.0 / caps::share(p.get(DIM), p.get(DELTA))).into()),
        },
    ]
}

fn equiangular() -> Schema {
    vec![
        MODEL.or("sa"),
        TOKENS.within(Domain::Whole(2, 1 << 53)).required(),
        BETA.within(Domain::closed(0.0, MOST_BETA)).required(),
        TIME.required(),
    ]
}

fn two_masses() -> Schema {
    vec![ANGLE.required(), MASS_I.required(), MASS_J.required()]
}

fn on_circle() -> Schema {
    vec![BETA.within(Domain::left_open(0.0, 1e8)).required(), MODEL.or("sa")]
}

fn law(p: &Params) -> Result<Equiangular> {
    Ok(Equiangular { model: model(p)?, n: p.get(TOKENS), beta: p.get(BETA) })
}
