//! Softmax attention over Gaussian tokens is linear attention at every temperature: Denoising,
//! Section 3.1 and Appendix F, where it is said of small arguments only.

use super::rate::{self, longest};
use super::setting::problem;
use crate::prompts::{Denoising, Dimension, Family};
use crate::quantities::{AMBIENT, BETA, CONTEXT, DIM, NOISE_VARIANCE, QUERIES, TOKEN_VARIANCE};
use attnlab_lab::prelude::*;
use ndarray::Array2;

/// The limit $\beta\sigma_0^2 P\tilde x$ of softmax attention over Gaussian tokens.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyBeta {
    /// The mutant: the exponentials expanded to second order in β.
    expanded: bool,
    /// The mutant: σ_0² P x̃, whatever β.
    without_beta: bool,
}

fn subspace(params: &Params, context: usize) -> Denoising {
    let family = Family::Subspace {
        dim: Dimension::Fixed(params.get(DIM)),
        sigma0_2: params.get(TOKEN_VARIANCE),
    };
    Denoising {
        context,
        ..problem(family, params.get(AMBIENT), params.get(NOISE_VARIANCE))
    }
}

impl Claim for AnyBeta {
    fn sheet(&self) -> &'static Sheet {
        sheet!("denoise.softmax_any_beta")
    }

    fn schema(&self) -> Schema {
        vec![
            AMBIENT.or(6),
            DIM.or(2),
            TOKEN_VARIANCE.or(2.0),
            NOISE_VARIANCE.or(1.0),
            // Scores of standard deviation 0.5 at a typical query; beyond 0.2 the squared error has
            // no variance, beyond 0.29 its mean no 1/L rate.
            BETA.or(0.15),
            CONTEXT.or(600),
            QUERIES.or(8),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        subspace(params, 1).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        subspace(params, longest(params.get(CONTEXT))).memory(params.get(QUERIES))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let beta = params.get(BETA);
        let shortest = params.get(CONTEXT);
        let problem = subspace(params, longest(shortest));
        let prompt = problem.draw(streams)?;
        let (_, queries) = problem.draw_queries(&prompt.prior, params.get(QUERIES), streams)?;
        let mut limits = Array2::zeros(queries.dim());
        for (query, mut limit) in queries.columns().into_iter().zip(limits.columns_mut()) {
            let mut exact = prompt.prior.attention_limit(query, beta)?;
            if self.expanded {
                // With v = beta <X, x~>: E[X (1 + v + v^2/2)] / E[1 + v + v^2/2], where odd moments
                // vanish and E v^2 = beta^2 sigma_0^2 |P x~|^2.
                let spread = beta * exact.dot(&query);
                exact /= 1.0 + 0.5 * spread;
            }
            if self.without_beta {
                exact /= beta;
            }
            limit.assign(&exact);
        }
        let context = prompt.context.view();
        let errors = rate::softmax_errors(context, (1.0, beta), queries.view(), limits.view());
        Ok(rate::outcome(shortest, &errors))
    }

    fn counts_events(&self, _params: &Params) -> bool {
        false
    }

    fn judge(&self, _params: &Params, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
        rate::judge(outcomes, level)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        // An interval of .055 on either side.
        100
    }

    fn mutants(&self) -> Vec<Mutant> {
        let right = AnyBeta::default();
        vec![
            Mutant::new(
                "expanded",
                AnyBeta {
                    expanded: true,
                    ..right
                },
            ),
            Mutant::new(
                "without-beta",
                AnyBeta {
                    without_beta: true,
                    ..right
                },
            ),
        ]
    }
}
