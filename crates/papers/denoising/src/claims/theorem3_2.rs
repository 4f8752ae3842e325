//! Softmax attention for laws on a sphere: Denoising, Theorem 3.2, and its rate.

use super::rate::{self, longest};
use super::setting::value;
use crate::prompts::{Denoising, Dimension, Family, Prompt};
use crate::quantities::{AMBIENT, CONTEXT, DIM, LAW, NOISE_VARIANCE, QUERIES, RADIUS};
use crate::theory::{Prior, sphere};
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Nonlinearity, Softmax};
use ndarray::{Array2, ArrayView1};

fn problem_of(params: &Params, law: &str, context: usize) -> Denoising {
    let radius = params.get(RADIUS);
    // Unequal weights and, for the clusters, unequal spreads: nothing in the theorem needs symmetry.
    let weights = vec![0.2, 0.3, 0.5];
    let family = match law {
        "sphere" => Family::Sphere {
            dim: Dimension::Fixed(params.get(DIM)),
            radius,
        },
        "points" => Family::Clusters {
            weights,
            variances: vec![0.0; 3],
            radius,
        },
        "thick" => Family::Clusters {
            weights,
            variances: vec![0.1 * radius * radius; 3],
            radius,
        },
        _ => Family::SphericalClusters {
            weights,
            concentrations: vec![2.0, 5.0, 20.0],
            radius,
        },
    };
    Denoising {
        family,
        ambient: params.get(AMBIENT),
        context,
        sigma_z2: params.get(NOISE_VARIANCE),
    }
}

fn optimum(prior: &Prior, queries: &Array2<f64>, sigma_z2: f64) -> Result<Array2<f64>> {
    let mut best = Array2::zeros(queries.dim());
    for (query, mut column) in queries.columns().into_iter().zip(best.columns_mut()) {
        column.assign(&prior.posterior_mean(query, sigma_z2)?);
    }
    Ok(best)
}

/// (6) converges to the Bayes optimum for three laws on spheres.
#[derive(Clone, Copy, Debug, Default)]
pub struct Theorem32 {
    variant: Variant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Variant {
    #[default]
    Printed,
    /// β = 1/σ_Z.
    Deviation,
    /// α = 0.9.
    Scaled,
    /// Clusters with a variance in all directions: not on a sphere.
    Thick,
}

impl Claim for Theorem32 {
    fn sheet(&self) -> &'static Sheet {
        sheet!("denoise.theorem3_2")
    }

    fn schema(&self) -> Schema {
        vec![
            LAW.or("sphere"),
            AMBIENT.or(6),
            DIM.or(2),
            RADIUS.or(1.0),
            CONTEXT.or(400),
            NOISE_VARIANCE.or(0.5),
            QUERIES.or(16),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        problem_of(params, params.get(LAW), 1).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        let length = longest(params.get(CONTEXT));
        problem_of(params, params.get(LAW), length).memory(params.get(QUERIES))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let s = params.get(NOISE_VARIANCE);
        let law = match self.variant {
            Variant::Thick => "thick",
            _ => params.get(LAW),
        };
        let beta = if self.variant == Variant::Deviation {
            1.0 / s.sqrt()
        } else {
            1.0 / s
        };
        let alpha = if self.variant == Variant::Scaled {
            0.9
        } else {
            1.0
        };
        let shortest = params.get(CONTEXT);
        let problem = problem_of(params, law, longest(shortest));
        let prompt = problem.draw(streams)?;
        let (_, queries) = problem.draw_queries(&prompt.prior, params.get(QUERIES), streams)?;
        let best = optimum(&prompt.prior, &queries, s)?;
        let context = prompt.context.view();
        let errors = rate::softmax_errors(context, (alpha, beta), queries.view(), best.view());
        Ok(rate::outcome(shortest, &errors))
    }

    fn counts_events(&self, _params: &Params) -> bool {
        false
    }

    fn judge(&self, _params: &Params, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
        rate::judge(outcomes, level)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        // An interval of .025 on either side for spheres, of .06 for points.
        150
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |variant| Theorem32 { variant };
        vec![
            Mutant::new("deviation", variant(Variant::Deviation)),
            Mutant::new("scaled", variant(Variant::Scaled)),
            Mutant::new("thick", variant(Variant::Thick)),
        ]
    }
}

/// The squared error of (6) at one query, with its part across the projected query replaced by the
/// mean of that part given all components along it (Rao-Blackwell): the same expectation with less
/// scatter. Across, the tokens are independent and symmetric, so only their own squares stay,
/// $\sum_t w_t^2 (R^2 - u_t^2)$ with $u_t$ the component along and $w_t$ the softmax weight.
fn across_averaged(prompt: &Prompt, query: ArrayView1<f64>, best: ArrayView1<f64>, s: f64) -> f64 {
    let projected = prompt.prior.project(query);
    let direction = &projected / projected.dot(&projected).sqrt();
    let mut weights = (prompt.context.t().dot(&query) / s).to_vec();
    Softmax.apply(&mut weights);
    let (mut along, mut across) = (-best.dot(&direction), 0.0);
    for (w, token) in weights.iter().zip(prompt.context.columns()) {
        let u = token.dot(&direction);
        along += w * u;
        across += w * w * (token.dot(&token) - u * u);
    }
    along * along + across
}

/// The constant of that rate on a sphere, by the delta method.
#[derive(Clone, Copy, Debug, Default)]
pub struct Theorem32Rate {
    /// The mutant: the posterior variance, as if L tokens were L draws from the posterior.
    posterior: bool,
    /// The mutant: the constant of a sphere of one dimension more.
    dimension: bool,
}

/// Mean of L error² / C: the interval must lie within this of 1. At the default L the next order
/// moves it by less than a third of this, and the default budget resolves half.
const RATE_BAND: f64 = 0.06;

impl Claim for Theorem32Rate {
    fn sheet(&self) -> &'static Sheet {
        sheet!("denoise.theorem3_2_rate")
    }

    fn schema(&self) -> Schema {
        vec![
            AMBIENT.or(2),
            DIM.or(1),
            RADIUS.or(1.0),
            CONTEXT.or(1000),
            NOISE_VARIANCE.or(0.5),
            QUERIES.or(10),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        problem_of(params, "sphere", 1).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        problem_of(params, "sphere", params.get(CONTEXT)).memory(params.get(QUERIES))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (s, length) = (params.get(NOISE_VARIANCE), params.get(CONTEXT));
        let problem = problem_of(params, "sphere", length);
        let prompt = problem.draw(streams)?;
        let (_, queries) = problem.draw_queries(&prompt.prior, params.get(QUERIES), streams)?;
        let best = optimum(&prompt.prior, &queries, s)?;
        let mut error2 = 0.0;
        for (query, best) in queries.columns().into_iter().zip(best.columns()) {
            error2 += across_averaged(&prompt, query, best, s) / queries.ncols() as f64;
        }
        Ok(value(
            length as f64 * error2,
            witness! { "L_times_error2" => length as f64 * error2 },
        ))
    }

    fn promise(&self, params: &Params) -> Promise {
        let (d, r, s) = (
            params.get(DIM),
            params.get(RADIUS),
            params.get(NOISE_VARIANCE),
        );
        let constant = match self {
            Theorem32Rate {
                posterior: true, ..
            } => sphere::mmse(d, r, s),
            Theorem32Rate {
                dimension: true, ..
            } => sphere::softmax_rate(d + 1, r, s),
            _ => sphere::softmax_rate(d, r, s),
        };
        Promise::MeanIn((1.0 - RATE_BAND) * constant, (1.0 + RATE_BAND) * constant)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        // One trial's value has a standard deviation of about .2 of its mean: 2 % at 95 %.
        500
    }

    fn mutants(&self) -> Vec<Mutant> {
        let right = Theorem32Rate::default();
        vec![
            Mutant::new(
                "posterior",
                Theorem32Rate {
                    posterior: true,
                    ..right
                },
            ),
            Mutant::new(
                "dimension",
                Theorem32Rate {
                    dimension: true,
                    ..right
                },
            ),
        ]
    }
}
