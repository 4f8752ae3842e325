//! Subspaces: Denoising, Proposition 2, (A.1) and (A.2), as printed and corrected.

use super::setting::{problem, same, value};
use crate::prompts::{Denoising, Dimension, Family};
use crate::quantities::{AMBIENT, DIM, NOISE_VARIANCE, QUERIES, TOKEN_VARIANCE};
use crate::theory::{Prior, linear};
use attnlab_core::linalg::symmetric_eigen;
use attnlab_lab::prelude::*;
use ndarray::{Array1, Array2};

fn subspace(params: &Params) -> Denoising {
    let family = Family::Subspace {
        dim: Dimension::Fixed(params.get(DIM)),
        sigma0_2: params.get(TOKEN_VARIANCE),
    };
    problem(family, params.get(AMBIENT), params.get(NOISE_VARIANCE))
}

/// (A.1) against the conditional mean of jointly normal vectors in all n dimensions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prop2Mean {
    /// The mutant: P x̃ without the factor.
    unshrunk: bool,
    /// The mutant: σ_Z²/(σ_0² + σ_Z²), which is the same only when the two are equal.
    exchanged: bool,
}

impl Claim for Prop2Mean {
    fn sheet(&self) -> &'static Sheet {
        sheet!("denoise.prop2_mean")
    }

    fn schema(&self) -> Schema {
        vec![
            AMBIENT.or(16),
            DIM.or(8),
            TOKEN_VARIANCE.or(2.0),
            NOISE_VARIANCE.or(1.0),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        subspace(params).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        // The covariance in all n dimensions, and its eigenvectors.
        let n = params.get(AMBIENT) as u64;
        subspace(params).memory(1) + 8 * 6 * n * n
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (s0, sz) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE));
        let prompt = subspace(params).draw(streams)?;
        let projected = prompt.prior.project(prompt.query.view());
        let factor = match self {
            Prop2Mean { unshrunk: true, .. } => 1.0,
            Prop2Mean {
                exchanged: true, ..
            } => linear::shrinkage(sz, s0),
            _ => linear::shrinkage(s0, sz),
        };
        Ok(same(
            &(projected * factor),
            &conditional_mean(&prompt.prior, sz, &prompt.query)?,
        ))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let right = Prop2Mean::default();
        vec![
            Mutant::new(
                "unshrunk",
                Prop2Mean {
                    unshrunk: true,
                    ..right
                },
            ),
            Mutant::new(
                "exchanged",
                Prop2Mean {
                    exchanged: true,
                    ..right
                },
            ),
        ]
    }
}

/// $\Sigma(\Sigma + \sigma_Z^2 I)^{-1}\tilde x$ with $\Sigma$ the (n, n) covariance of the tokens: knows
/// nothing of projections.
fn conditional_mean(prior: &Prior, sigma_z2: f64, query: &Array1<f64>) -> Result<Array1<f64>> {
    let mut covariance = Array2::zeros((query.len(), query.len()));
    if let Prior::Gaussian { basis, variances } = prior {
        for (column, v) in basis.columns().into_iter().zip(variances) {
            for ((i, j), entry) in covariance.indexed_iter_mut() {
                *entry += v * column[i] * column[j];
            }
        }
    }
    let mut total = covariance.clone();
    total.diag_mut().mapv_inplace(|x| x + sigma_z2);
    let (values, vectors) = symmetric_eigen(total.view())?;
    let c = vectors.t().dot(query) / Array1::from_iter(values.iter().copied());
    Ok(covariance.dot(&vectors.dot(&c)))
}

/// (A.2): the loss of P x̃ as printed, of the shrunk projection as corrected.
#[derive(Clone, Copy, Debug)]
pub struct Prop2Loss {
    shrunk: bool,
    /// The mutant: n in place of d.
    ambient: bool,
}

impl Prop2Loss {
    /// The left side that the paper prints, without the factor.
    pub const PRINTED: Self = Prop2Loss {
        shrunk: false,
        ambient: false,
    };
    /// The left side that its proof computes.
    pub const CORRECTED: Self = Prop2Loss {
        shrunk: true,
        ambient: false,
    };
}

/// A printed value and a mean agree when the interval of their ratio lies within this of 1: small
/// against the factor 1.5 between the two left sides, and large against the 0.3 % that the default
/// number of draws resolves.
const BAND: f64 = 0.01;

impl Claim for Prop2Loss {
    fn sheet(&self) -> &'static Sheet {
        match self.shrunk {
            false => sheet!("denoise.prop2_loss"),
            true => sheet!("denoise.prop2_loss_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        vec![
            AMBIENT.or(16),
            DIM.or(8),
            TOKEN_VARIANCE.or(2.0),
            NOISE_VARIANCE.or(1.0),
            QUERIES.or(500),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        subspace(params).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        subspace(params).memory(params.get(QUERIES))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (s0, sz) = (params.get(TOKEN_VARIANCE), params.get(NOISE_VARIANCE));
        let count = params.get(QUERIES);
        let problem = subspace(params);
        let prior = problem.draw_prior(streams)?;
        let (targets, queries) = problem.draw_queries(&prior, count, streams)?;
        let factor = if self.shrunk {
            linear::shrinkage(s0, sz)
        } else {
            1.0
        };
        let mut loss = 0.0;
        for (x, query) in targets.columns().into_iter().zip(queries.columns()) {
            let error = prior.project(query) * factor - x;
            loss += error.dot(&error);
        }
        let d = params.get(if self.ambient { AMBIENT } else { DIM });
        let printed = linear::mmse(&vec![s0; d], sz);
        let mean = loss / count as f64;
        Ok(value(
            mean / printed,
            witness! { "mean_loss" => mean, "right_side" => printed },
        ))
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(1.0 - BAND, 1.0 + BAND)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        // 200 x 500 draws of a chi-squared law with 8 degrees: 0.3 % at 95 %.
        200
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![Mutant::new(
            "ambient",
            Prop2Loss {
                ambient: true,
                ..*self
            },
        )]
    }
}
