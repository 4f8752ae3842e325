//! Closed forms of in-context denoising. All `sigma..2` are variances, losses are sums over components.

use crate::quantities::{
    AMBIENT, ARGUMENT, AXIS_VARIANCES, CLUSTER_VARIANCE, CONCENTRATIONS, CONTEXT, DIM, GAMMA, MEANS, MOST_DIM,
    NOISE_VARIANCE, NORM, ORDER, QUERY, RADIUS, TOKEN_VARIANCE, VARIANCES, WEIGHT, WEIGHTS,
};
use crate::theory::mixture::{Clusters, Weight, two_cluster_mmse};
use crate::theory::spherical::SphericalClusters;
use crate::theory::{linear, sphere};
use attnlab_core::error::{Error, Result};
use attnlab_core::params::{Domain, Params, Schema, Spec};
use attnlab_core::special::bessel_ratio;
use attnlab_lab::formula::Formula;
use ndarray::Array1;
use serde_json::{Value, json};

/// Source of everything that Wick's theorem gives in [`linear`].
const LINEAR: &str = "Denoising Theorem 3.1, Eq. (3), derived in attnlab_denoising::theory::linear";

/// All closed forms of this room.
pub fn formulas() -> Vec<Formula> {
    vec![
        Formula {
            id: "denoise.linear_shrinkage",
            doc: "Bayes factor of P x~ on a subspace with equal variances",
            source: "Denoising Proposition 2, Eq. (A.1)",
            schema: || vec![TOKEN_VARIANCE.required(), NOISE_VARIANCE.required()],
            value: |p| Ok(linear::shrinkage(p.get(TOKEN_VARIANCE), p.get(NOISE_VARIANCE)).into()),
        },
        Formula {
            id: "denoise.linear_mmse",
            doc: "Bayes loss on a subspace with equal variances",
            source: "Denoising Proposition 2, right side of Eq. (A.2)",
            schema: subspace,
            value: |p| Ok(linear::mmse(&equal(p), p.get(NOISE_VARIANCE)).into()),
        },
        Formula {
            id: "denoise.linear_gamma",
            doc: "the product alpha beta of least loss of linear attention at finite L",
            source: LINEAR,
            schema: subspace_and_context,
            value: |p| Ok(best_gamma(p).into()),
        },
        Formula {
            id: "denoise.linear_mse",
            doc: "loss of linear attention at gamma = alpha beta and finite L",
            source: LINEAR,
            schema: || with_gamma(subspace_and_context(), best_gamma),
            value: |p| attention_mse(p, &equal(p)),
        },
        Formula {
            id: "denoise.linear_rate",
            doc: "L E|F_Lin - f_opt|^2 for Eq. (4), the same at every L",
            source: LINEAR,
            schema: subspace,
            value: |p| with_subspace(p, linear::excess_rate),
        },
        Formula {
            id: "denoise.linear_definite_from",
            doc: "context length from which the energy of linear attention is positive definite, large d",
            source: "Denoising Eq. (A.23), derived in attnlab_denoising::theory::linear",
            schema: subspace,
            value: |p| with_subspace(p, linear::definite_from),
        },
        Formula {
            id: "denoise.anisotropic_mmse",
            doc: "Bayes loss of a Gaussian on a subspace with these variances along it",
            source: "Denoising Proposition 2 along each axis",
            schema: || vec![AXIS_VARIANCES.required(), NOISE_VARIANCE.required()],
            value: |p| Ok(linear::mmse(&p.get(AXIS_VARIANCES), p.get(NOISE_VARIANCE)).into()),
        },
        Formula {
            id: "denoise.anisotropic_mse",
            doc: "loss of linear attention on a Gaussian with these variances, at finite L",
            source: LINEAR,
            schema: || {
                let parameters = vec![AXIS_VARIANCES.required(), context(), NOISE_VARIANCE.required()];
                with_gamma(parameters, |p| {
                    linear::best_gamma(&p.get(AXIS_VARIANCES), p.real(CONTEXT), p.get(NOISE_VARIANCE))
                })
            },
            value: |p| attention_mse(p, &p.get(AXIS_VARIANCES)),
        },
        Formula {
            id: "denoise.bessel_ratio",
            doc: "I_{order+1}(x) / I_order(x)",
            source: "Denoising Eq. (A.4), attnlab_core::special::bessel_ratio",
            schema: || vec![ORDER.required(), ARGUMENT.required()],
            value: |p| Ok(bessel_ratio(p.get(ORDER), p.get(ARGUMENT)).into()),
        },
        Formula {
            id: "denoise.sphere_shrinkage",
            doc: "Bayes coefficient of P x~ / |P x~| on a sphere, at |P x~| = norm",
            source: "Denoising Proposition 3, Eq. (A.4) with sigma_Z^2, as in Appendix C.2",
            schema: sphere_and_norm,
            value: |p| with_sphere(p, |d, r, s| sphere::shrinkage(d, r, s, p.get(NORM))),
        },
        Formula {
            id: "denoise.sphere_shrinkage_printed",
            doc: "the same with sigma_Z in the argument, as Eq. (A.4) prints it",
            source: "Denoising Proposition 3, Eq. (A.4) as printed",
            schema: sphere_and_norm,
            value: |p| with_sphere(p, |d, r, s| sphere::shrinkage_printed(d, r, s, p.get(NORM))),
        },
        Formula {
            id: "denoise.sphere_mmse",
            doc: "Bayes loss on a sphere, not divided by n",
            source: "Denoising Proposition 3, derived in attnlab_denoising::theory::sphere",
            schema: sphere_and_noise,
            value: |p| with_sphere(p, sphere::mmse),
        },
        Formula {
            id: "denoise.sphere_mse_printed",
            doc: "loss of Eq. (A.4) as printed, used as a predictor",
            source: "Denoising Proposition 3, Eq. (A.4) as printed",
            schema: sphere_and_noise,
            value: |p| {
                with_sphere(p, |d, r, s| sphere::loss_of(d, r, s, |norm| sphere::shrinkage_printed(d, r, s, norm)))
            },
        },
        Formula {
            id: "denoise.softmax_rate",
            doc: "the constant C in E|F_L - f_opt|^2 = C/L + o(1/L) for softmax attention on a sphere",
            source: "Denoising Theorem 3.2, Eq. (6), derived in attnlab_denoising::theory::sphere",
            schema: sphere_and_noise,
            value: |p| with_sphere(p, sphere::softmax_rate),
        },
        Formula {
            id: "denoise.sphere_linear_gamma",
            doc: "the product alpha beta of least loss of linear attention on a sphere at finite L",
            source: "Denoising Eq. (3), derived in attnlab_denoising::theory::sphere",
            schema: sphere_and_context,
            value: |p| Ok(best_sphere_gamma(p).into()),
        },
        Formula {
            id: "denoise.sphere_linear_mse",
            doc: "loss of linear attention on a sphere at gamma = alpha beta and finite L",
            source: "Denoising Eq. (3), derived in attnlab_denoising::theory::sphere",
            schema: || with_gamma(sphere_and_context(), best_sphere_gamma),
            value: |p| with_sphere(p, |d, r, s| sphere::linear_attention_mse(d, p.real(CONTEXT), r, s, p.get(GAMMA))),
        },
        Formula {
            id: "denoise.mixture_posterior",
            doc: "posterior mean of Gaussian clusters; means has one row per cluster",
            source: "Denoising Appendix C.3 with weights w_a (sigma_Z^2 + sigma_a^2)^{-n/2}",
            schema: clusters_and_query,
            value: |p| mixture(p, Weight::Corrected),
        },
        Formula {
            id: "denoise.mixture_posterior_printed",
            doc: "the same with the weights that Appendix C.3 prints",
            source: "Denoising Appendix C.3 as printed",
            schema: clusters_and_query,
            value: |p| mixture(p, Weight::Printed),
        },
        Formula {
            id: "denoise.two_cluster_mmse",
            doc: "Bayes loss of two clusters of equal variance at opposite points of norm R",
            source: "Denoising Proposition 1, derived in attnlab_denoising::theory::mixture",
            schema: || {
                let n = AMBIENT.within(Domain::Whole(1, MOST_DIM)).required();
                let reals = [RADIUS, WEIGHT, CLUSTER_VARIANCE, NOISE_VARIANCE].map(|q| q.required());
                [n].into_iter().chain(reals).collect()
            },
            value: |p| {
                let (s0, sz) = (p.get(CLUSTER_VARIANCE), p.get(NOISE_VARIANCE));
                let (n, r) = (p.get(AMBIENT), p.get(RADIUS));
                Ok(two_cluster_mmse(n, r, p.get(WEIGHT), s0, sz).into())
            },
        },
        Formula {
            id: "denoise.spherical_posterior",
            doc: "posterior mean of von Mises-Fisher clusters on a sphere; means has one unit row each",
            source: "derived in attnlab_denoising::theory::spherical",
            schema: || {
                vec![
                    MEANS.required(),
                    WEIGHTS.required(),
                    CONCENTRATIONS.required(),
                    RADIUS.required(),
                    NOISE_VARIANCE.required(),
                    QUERY.required(),
                ]
            },
            value: |p| {
                let clusters = SphericalClusters {
                    means: p.get(MEANS).reversed_axes(),
                    weights: p.get(WEIGHTS),
                    concentrations: p.get(CONCENTRATIONS),
                    radius: p.get(RADIUS),
                };
                let x = Array1::from(p.get(QUERY));
                Ok(json!(clusters.posterior_mean(x.view(), p.get(NOISE_VARIANCE))?.to_vec()))
            },
        },
    ]
}

// Schemas. Nothing has a default but γ: a closed form is asked at parameters that one means.

/// L: every length that an f64 holds exactly.
fn context() -> Spec {
    CONTEXT.within(Domain::Whole(1, 1 << 53)).required()
}

fn subspace_dim() -> Spec {
    DIM.within(Domain::Whole(1, MOST_DIM)).meaning("dimension of the subspace").required()
}

fn subspace() -> Schema {
    vec![subspace_dim(), TOKEN_VARIANCE.required(), NOISE_VARIANCE.required()]
}

fn subspace_and_context() -> Schema {
    vec![subspace_dim(), context(), TOKEN_VARIANCE.required(), NOISE_VARIANCE.required()]
}

fn sphere_dim() -> Spec {
    let meaning = "dimension of the sphere (the circle has 1), which lies in d + 1 dimensions";
    DIM.within(Domain::Whole(0, MOST_DIM)).meaning(meaning).required()
}

fn sphere_and_noise() -> Schema {
    vec![sphere_dim(), RADIUS.required(), NOISE_VARIANCE.required()]
}

fn sphere_and_norm() -> Schema {
    vec![sphere_dim(), RADIUS.required(), NOISE_VARIANCE.required(), NORM.required()]
}

fn sphere_and_context() -> Schema {
    vec![sphere_dim(), context(), RADIUS.required(), NOISE_VARIANCE.required()]
}

fn clusters_and_query() -> Schema {
    vec![MEANS.required(), WEIGHTS.required(), VARIANCES.required(), NOISE_VARIANCE.required(), QUERY.required()]
}

/// The same with γ, by default the best one.
fn with_gamma(mut schema: Schema, best: fn(&Params) -> f64) -> Schema {
    schema.push(GAMMA.or_from("the best gamma at this L", best));
    schema
}

fn equal(p: &Params) -> Vec<f64> {
    vec![p.get(TOKEN_VARIANCE); p.get(DIM)]
}

fn best_gamma(p: &Params) -> f64 {
    linear::best_gamma(&equal(p), p.real(CONTEXT), p.get(NOISE_VARIANCE))
}

fn best_sphere_gamma(p: &Params) -> f64 {
    sphere::best_linear_gamma(p.get(DIM), p.real(CONTEXT), p.get(RADIUS), p.get(NOISE_VARIANCE))
}

fn attention_mse(p: &Params, variances: &[f64]) -> Result<Value> {
    Ok(linear::attention_mse(variances, p.real(CONTEXT), p.get(NOISE_VARIANCE), p.get(GAMMA)).into())
}

fn with_subspace(p: &Params, f: impl Fn(usize, f64, f64) -> f64) -> Result<Value> {
    Ok(f(p.get(DIM), p.get(TOKEN_VARIANCE), p.get(NOISE_VARIANCE)).into())
}

fn with_sphere(p: &Params, f: impl Fn(usize, f64, f64) -> f64) -> Result<Value> {
    Ok(f(p.get(DIM), p.get(RADIUS), p.get(NOISE_VARIANCE)).into())
}

fn mixture(p: &Params, weight: Weight) -> Result<Value> {
    let clusters =
        Clusters { means: p.get(MEANS).reversed_axes(), weights: p.get(WEIGHTS), variances: p.get(VARIANCES) };
    let x = Array1::from(p.get(QUERY));
    let mean = clusters.posterior_mean(x.view(), p.get(NOISE_VARIANCE), weight)?;
    if mean.iter().any(|m| !m.is_finite()) {
        return Err(Error::undefined("the posterior is not finite at these parameters"));
    }
    Ok(json!(mean.to_vec()))
}
