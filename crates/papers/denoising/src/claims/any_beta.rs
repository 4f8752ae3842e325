//! Softmax attention over Gaussian tokens is linear attention at every temperature: Denoising,
//! Section 3.1 and Appendix F, where it is said of small arguments only.

use super::rate::{self, longest};
use super::setting::*;

/// The limit $\beta\sigma_0^2 P\tilde x$ of softmax attention over Gaussian tokens.
#[derive(Default, Serialize, Deserialize)]
pub struct AnyBeta {
    /// The exponentials expanded to second order in β.
    expanded: bool,
    /// σ_0² P x̃, whatever β.
    without_beta: bool,
    /// Relative excess of the limit.
    larger: f64,
}

impl AnyBeta {
    /// Factor of the limit, at a query where the scores have the variance `spread`.
    fn factor(&self, beta: f64, spread: f64) -> f64 {
        if self.expanded {
            // With v = β⟨X, x̃⟩: E[X (1 + v + v²/2)] / E[1 + v + v²/2], where odd moments vanish and
            // E v² = β² σ_0² |P x̃|².
            return 1.0 / (1.0 + 0.5 * spread);
        }
        if self.without_beta { 1.0 / beta } else { 1.0 + self.larger }
    }
}

impl Claim for AnyBeta {
    from_sheet!("denoise.softmax_any_beta");

    fn schema(&self) -> Schema {
        vec![
            AMBIENT.or(6),
            DIM.or(2),
            TOKEN_VARIANCE.or(2.0),
            NOISE_VARIANCE.or(1.0),
            // Scores of standard deviation 0.5 at a typical query. The mean of the squared error over queries
            // has no 1/L rate beyond 0.29; errors in units of their own variance have one at every beta.
            BETA.or(0.15),
            CONTEXT.or(600),
            QUERIES.or(8),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        subspace_problem(params, 1).validate()
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        vec![rate::regime(&subspace_problem(params, 1), params.get(BETA), params.get(CONTEXT))]
    }

    fn memory(&self, params: &Params) -> u64 {
        subspace_problem(params, longest(params.get(CONTEXT))).memory(params.get(QUERIES))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (beta, shortest) = (params.get(BETA), params.get(CONTEXT));
        let problem = subspace_problem(params, longest(shortest));
        let prompt = problem.draw(streams)?;
        let (_, queries) = problem.draw_queries(&prompt.prior, params.get(QUERIES), streams)?;
        let exact = rate::limits(&prompt.prior, beta, &queries)?;
        let Some(mut kept) = rate::asymptotic(&prompt.prior, beta, &queries, &exact, shortest)? else {
            return Ok(rate::too_short());
        };
        for (query, mut limit) in kept.queries.columns().into_iter().zip(kept.limits.columns_mut()) {
            limit *= self.factor(beta, beta * limit.dot(&query));
        }
        let errors = rate::softmax_errors(prompt.context.view(), (1.0, beta), &kept);
        Ok(rate::outcome(shortest, &errors))
    }

    rate::judged_by_exponent!();

    fn default_trials(&self, params: &Params) -> u64 {
        rate::softmax_trials(&subspace_problem(params, 1), params.get(BETA), params, params.get(DIM))
    }
}
