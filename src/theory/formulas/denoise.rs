//! Closed forms of in-context denoising. All `sigma..2` are variances, losses are sums over components.

use super::Formula;
use crate::error::{Error, Result};
use crate::params::{Domain, Params, Schema, Spec};
use crate::theory::denoising::mixture::{Clusters, Weight, two_cluster_mmse};
use crate::theory::denoising::spherical::SphericalClusters;
use crate::theory::denoising::{bessel_ratio, linear, sphere};
use ndarray::Array1;
use serde_json::{Value, json};

/// What follows from Wick's theorem in `theory::denoising::linear`.
const LINEAR: &str =
    "Denoising Theorem 3.1, Eq. (3), derived in attnlab::theory::denoising::linear";

pub(super) fn formulas() -> Vec<Formula> {
    [linear_formulas(), sphere_formulas(), cluster_formulas()]
        .into_iter()
        .flatten()
        .collect()
}

fn linear_formulas() -> Vec<Formula> {
    vec![
        Formula {
            id: "denoise.linear_shrinkage",
            doc: "Bayes factor of P x~ on a subspace with equal variances",
            source: "Denoising Proposition 2, Eq. (A.1)",
            schema: || schema(&[SIGMA0, SIGMAZ]),
            value: |p| Ok(linear::shrinkage(p.f64("sigma0_2"), p.f64("sigma_z2")).into()),
        },
        Formula {
            id: "denoise.linear_mmse",
            doc: "Bayes loss on a subspace with equal variances",
            source: "Denoising Proposition 2, right side of Eq. (A.2)",
            schema: || schema(&[D, SIGMA0, SIGMAZ]),
            value: |p| Ok(linear::mmse(&equal(p), p.f64("sigma_z2")).into()),
        },
        Formula {
            id: "denoise.linear_gamma",
            doc: "the product alpha beta of least loss of linear attention at finite L",
            source: LINEAR,
            schema: || schema(&[D, L, SIGMA0, SIGMAZ]),
            value: |p| Ok(best_gamma(p).into()),
        },
        Formula {
            id: "denoise.linear_mse",
            doc: "loss of linear attention at gamma = alpha beta and finite L",
            source: LINEAR,
            schema: || {
                let mut all = schema(&[D, L, SIGMA0, SIGMAZ]);
                all.push(GAMMA(best_gamma));
                all
            },
            value: |p| {
                let (context, gamma) = (p.f64("L"), p.f64("gamma"));
                Ok(linear::attention_mse(&equal(p), context, p.f64("sigma_z2"), gamma).into())
            },
        },
        Formula {
            id: "denoise.linear_rate",
            doc: "L E|F_Lin - f_opt|^2 for Eq. (4), the same at every L",
            source: LINEAR,
            schema: || schema(&[D, SIGMA0, SIGMAZ]),
            value: |p| {
                let (s0, sz) = (p.f64("sigma0_2"), p.f64("sigma_z2"));
                Ok(linear::excess_rate(p.usize("d"), s0, sz).into())
            },
        },
        Formula {
            id: "denoise.linear_definite_from",
            doc: "context length from which the energy of linear attention is positive definite, large d",
            source: "Denoising Eq. (A.23), derived in attnlab::theory::denoising::linear",
            schema: || schema(&[D, SIGMA0, SIGMAZ]),
            value: |p| {
                let (s0, sz) = (p.f64("sigma0_2"), p.f64("sigma_z2"));
                Ok(linear::definite_from(p.usize("d"), s0, sz).into())
            },
        },
        Formula {
            id: "denoise.anisotropic_mmse",
            doc: "Bayes loss of a Gaussian on a subspace with these variances along it",
            source: "Denoising Proposition 2 along each axis",
            schema: || schema(&[VARIANCES_POSITIVE, SIGMAZ]),
            value: |p| Ok(linear::mmse(&p.vector("variances"), p.f64("sigma_z2")).into()),
        },
        Formula {
            id: "denoise.anisotropic_mse",
            doc: "loss of linear attention on a Gaussian with these variances, at finite L",
            source: LINEAR,
            schema: || {
                let mut all = schema(&[VARIANCES_POSITIVE, L, SIGMAZ]);
                all.push(GAMMA(|p| {
                    linear::best_gamma(&p.vector("variances"), p.f64("L"), p.f64("sigma_z2"))
                }));
                all
            },
            value: |p| {
                let (context, gamma) = (p.f64("L"), p.f64("gamma"));
                let variances = p.vector("variances");
                Ok(linear::attention_mse(&variances, context, p.f64("sigma_z2"), gamma).into())
            },
        },
    ]
}

fn sphere_formulas() -> Vec<Formula> {
    vec![
        Formula {
            id: "denoise.bessel_ratio",
            doc: "I_{order+1}(x) / I_order(x)",
            source: "Denoising Eq. (A.4), attnlab::theory::denoising::bessel_ratio",
            schema: || schema(&[ORDER, ARGUMENT]),
            value: |p| Ok(bessel_ratio(p.f64("order"), p.f64("x")).into()),
        },
        Formula {
            id: "denoise.sphere_shrinkage",
            doc: "Bayes coefficient of P x~ / |P x~| on a sphere, at |P x~| = norm",
            source: "Denoising Proposition 3, Eq. (A.4) with sigma_Z^2, as in Appendix C.2",
            schema: || schema(&[SPHERE_D, R, SIGMAZ, NORM]),
            value: |p| with_sphere(p, |d, r, s| sphere::shrinkage(d, r, s, p.f64("norm"))),
        },
        Formula {
            id: "denoise.sphere_shrinkage_printed",
            doc: "the same with sigma_Z in the argument, as Eq. (A.4) prints it",
            source: "Denoising Proposition 3, Eq. (A.4) as printed",
            schema: || schema(&[SPHERE_D, R, SIGMAZ, NORM]),
            value: |p| {
                with_sphere(p, |d, r, s| {
                    sphere::shrinkage_printed(d, r, s, p.f64("norm"))
                })
            },
        },
        Formula {
            id: "denoise.sphere_mmse",
            doc: "Bayes loss on a sphere, not divided by n",
            source: "Denoising Proposition 3, derived in attnlab::theory::denoising::sphere",
            schema: || schema(&[SPHERE_D, R, SIGMAZ]),
            value: |p| with_sphere(p, sphere::mmse),
        },
        Formula {
            id: "denoise.sphere_mse_printed",
            doc: "loss of Eq. (A.4) as printed, used as a predictor",
            source: "Denoising Proposition 3, Eq. (A.4) as printed",
            schema: || schema(&[SPHERE_D, R, SIGMAZ]),
            value: |p| {
                with_sphere(p, |d, r, s| {
                    sphere::loss_of(d, r, s, |norm| sphere::shrinkage_printed(d, r, s, norm))
                })
            },
        },
        Formula {
            id: "denoise.softmax_rate",
            doc: "the constant C in E|F_L - f_opt|^2 = C/L + o(1/L) for softmax attention on a sphere",
            source: "Denoising Theorem 3.2, Eq. (6), derived in attnlab::theory::denoising::sphere",
            schema: || schema(&[SPHERE_D, R, SIGMAZ]),
            value: |p| with_sphere(p, sphere::softmax_rate),
        },
        Formula {
            id: "denoise.sphere_linear_gamma",
            doc: "the product alpha beta of least loss of linear attention on a sphere at finite L",
            source: "Denoising Eq. (3), derived in attnlab::theory::denoising::sphere",
            schema: || schema(&[SPHERE_D, L, R, SIGMAZ]),
            value: |p| with_sphere(p, |d, r, s| sphere::best_linear_gamma(d, p.f64("L"), r, s)),
        },
        Formula {
            id: "denoise.sphere_linear_mse",
            doc: "loss of linear attention on a sphere at gamma = alpha beta and finite L",
            source: "Denoising Eq. (3), derived in attnlab::theory::denoising::sphere",
            schema: || {
                let mut all = schema(&[SPHERE_D, L, R, SIGMAZ]);
                all.push(GAMMA(|p| {
                    let (d, r, s) = (p.usize("d"), p.f64("R"), p.f64("sigma_z2"));
                    sphere::best_linear_gamma(d, p.f64("L"), r, s)
                }));
                all
            },
            value: |p| {
                let (context, gamma) = (p.f64("L"), p.f64("gamma"));
                with_sphere(p, |d, r, s| {
                    sphere::linear_attention_mse(d, context, r, s, gamma)
                })
            },
        },
    ]
}

fn cluster_formulas() -> Vec<Formula> {
    vec![
        Formula {
            id: "denoise.mixture_posterior",
            doc: "posterior mean of Gaussian clusters; means has one row per cluster",
            source: "Denoising Appendix C.3 with weights w_a (sigma_Z^2 + sigma_a^2)^{-n/2}",
            schema: || schema(&[MEANS, WEIGHTS, VARIANCES, SIGMAZ, QUERY]),
            value: |p| mixture(p, Weight::Corrected),
        },
        Formula {
            id: "denoise.mixture_posterior_printed",
            doc: "the same with the weights that Appendix C.3 prints",
            source: "Denoising Appendix C.3 as printed",
            schema: || schema(&[MEANS, WEIGHTS, VARIANCES, SIGMAZ, QUERY]),
            value: |p| mixture(p, Weight::Printed),
        },
        Formula {
            id: "denoise.two_cluster_mmse",
            doc: "Bayes loss of two clusters of equal variance at opposite points of norm R",
            source: "Denoising Proposition 1, derived in attnlab::theory::denoising::mixture",
            schema: || schema(&[N, R, WEIGHT, SIGMA0_OR_ZERO, SIGMAZ]),
            value: |p| {
                let (s0, sz) = (p.f64("sigma0_2"), p.f64("sigma_z2"));
                let (n, r) = (p.usize("n"), p.f64("R"));
                Ok(two_cluster_mmse(n, r, p.f64("weight"), s0, sz).into())
            },
        },
        Formula {
            id: "denoise.spherical_posterior",
            doc: "posterior mean of von Mises-Fisher clusters on a sphere; means has one unit row each",
            source: "derived in attnlab::theory::denoising::spherical",
            schema: || schema(&[MEANS, WEIGHTS, CONCENTRATIONS, R, SIGMAZ, QUERY]),
            value: |p| {
                let clusters = SphericalClusters {
                    means: p.matrix("means").reversed_axes(),
                    weights: p.vector("weights"),
                    concentrations: p.vector("concentrations"),
                    radius: p.f64("R"),
                };
                let x = Array1::from(p.vector("x"));
                Ok(json!(
                    clusters
                        .posterior_mean(x.view(), p.f64("sigma_z2"))?
                        .to_vec()
                ))
            },
        },
    ]
}

type Entry = (&'static str, Domain, &'static str);
/// Largest dimension: the Bessel ratio is tested up to order 50 000.
const MOST_DIM: u64 = 100_000;
const D: Entry = ("d", Domain::Whole(1, MOST_DIM), "dimension of the subspace");
const N: Entry = ("n", Domain::Whole(1, MOST_DIM), "dimension of the tokens");
const SPHERE_D: Entry = (
    "d",
    Domain::Whole(0, MOST_DIM),
    "dimension of the sphere (the circle has 1), which lies in d + 1 dimensions",
);
const L: Entry = ("L", Domain::Whole(1, 1 << 53), "number of clean tokens");
const R: Entry = ("R", Domain::POSITIVE, "radius");
const SIGMA0: Entry = (
    "sigma0_2",
    Domain::POSITIVE,
    "variance of the tokens per component",
);
const SIGMA0_OR_ZERO: Entry = ("sigma0_2", Domain::NON_NEGATIVE, "variance of each cluster");
const SIGMAZ: Entry = (
    "sigma_z2",
    Domain::POSITIVE,
    "variance of the noise per component",
);
const NORM: Entry = (
    "norm",
    Domain::NON_NEGATIVE,
    "|P x~|, length of the projected query",
);
const ORDER: Entry = (
    "order",
    Domain::Number {
        low: -0.5,
        low_in: true,
        high: 0.5 * MOST_DIM as f64,
        high_in: true,
    },
    "order of the denominator",
);
const ARGUMENT: Entry = (
    "x",
    Domain::Number {
        low: 0.0,
        low_in: true,
        // The recurrence takes sqrt(46 x) steps where the expansion does not serve yet.
        high: 1e12,
        high_in: true,
    },
    "argument",
);
const ANY: Domain = Domain::FINITE;
const AT_LEAST_ZERO: Domain = Domain::NON_NEGATIVE;
const ABOVE_ZERO: Domain = Domain::POSITIVE;
const MEANS: Entry = (
    "means",
    Domain::Matrix(&ANY),
    "centres, one row per cluster",
);
const WEIGHTS: Entry = (
    "weights",
    Domain::Vector(&AT_LEAST_ZERO),
    "one per cluster, sum 1",
);
const WEIGHT: Entry = ("weight", Domain::OPEN_UNIT, "weight of the first cluster");
const VARIANCES: Entry = (
    "variances",
    Domain::Vector(&AT_LEAST_ZERO),
    "one per cluster",
);
const VARIANCES_POSITIVE: Entry = (
    "variances",
    Domain::Vector(&ABOVE_ZERO),
    "of the tokens along each axis of the subspace",
);
const CONCENTRATIONS: Entry = (
    "concentrations",
    Domain::Vector(&AT_LEAST_ZERO),
    "one per cluster: the tangent variance is about R^2 / concentration",
);
const QUERY: Entry = ("x", Domain::Vector(&ANY), "the query x~");

/// γ, by default the best one.
const GAMMA: fn(fn(&Params) -> f64) -> Spec = |best| {
    let doc = "product alpha beta of the attention weights";
    Spec::derived(
        "gamma",
        Domain::FINITE,
        "the best gamma at this L",
        best,
        doc,
    )
};

/// No defaults: a closed form is asked at parameters that one means.
fn schema(entries: &[Entry]) -> Schema {
    let required = |&(name, domain, doc): &Entry| Spec::required(name, domain, doc);
    entries.iter().map(required).collect()
}

fn equal(p: &Params) -> Vec<f64> {
    vec![p.f64("sigma0_2"); p.usize("d")]
}

fn best_gamma(p: &Params) -> f64 {
    linear::best_gamma(&equal(p), p.f64("L"), p.f64("sigma_z2"))
}

fn with_sphere(p: &Params, f: impl Fn(usize, f64, f64) -> f64) -> Result<Value> {
    Ok(f(p.usize("d"), p.f64("R"), p.f64("sigma_z2")).into())
}

fn mixture(p: &Params, weight: Weight) -> Result<Value> {
    let clusters = Clusters {
        means: p.matrix("means").reversed_axes(),
        weights: p.vector("weights"),
        variances: p.vector("variances"),
    };
    let x = Array1::from(p.vector("x"));
    let mean = clusters.posterior_mean(x.view(), p.f64("sigma_z2"), weight)?;
    if mean.iter().any(|m| !m.is_finite()) {
        let message = "the posterior is not finite at these parameters";
        return Err(Error::Numerical(message.into()));
    }
    Ok(json!(mean.to_vec()))
}
