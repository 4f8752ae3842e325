//! Softmax attention over Gaussian tokens is linear attention at every temperature: Denoising,
//! Section 3.1 and Appendix F, where it is said of small arguments only.

use super::denoise_rate::{self as rate, longest};
use super::denoise_setting::{problem, spec};
use super::*;
use crate::sample::denoising::{Denoising, Dimension, Family};
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
        dim: Dimension::Fixed(params.usize("d")),
        sigma0_2: params.f64("sigma0_2"),
    };
    Denoising {
        context,
        ..problem(family, params.usize("n"), params.f64("sigma_z2"))
    }
}

impl Claim for AnyBeta {
    fn card(&self) -> Card {
        Card {
            id: "denoise.softmax_any_beta",
            paper: Paper::Denoising,
            equation: "Sections 3.1 and F.3, beyond the small-argument expansion",
            title: "Over Gaussian tokens softmax attention is linear attention at every temperature",
            statement: "Derived here: for $p_X = \\mathcal{N}(0, \\sigma_0^2 P)$ and every $\\beta$, \
                        $X\\,\\mathrm{softmax}(\\beta X^T\\tilde x) \\to \\beta\\sigma_0^2 P\\tilde x$ as \
                        $L \\to \\infty$: the Gaussian tilted by $e^{\\beta\\langle x, \\tilde x\\rangle}$ \
                        is the Gaussian moved by $\\beta\\sigma_0^2 P\\tilde x$.",
            kind: Kind::Law,
            expected: VerdictKind::Supported,
            corrected: Some(
                "The paper explains that softmax attention solves the linear case by small arguments \
                 (Section F.3, $\\beta \\approx 0.194$). No smallness is needed: every pair with \
                 $\\alpha\\beta = 1/(\\sigma_0^2 + \\sigma_Z^2)$ is optimal as $L \\to \\infty$. What \
                 small $\\beta$ buys is the constant of the $1/L$ error, which grows like \
                 $e^{\\beta^2\\sigma_0^2\\|P\\tilde x\\|^2}$ and has a finite mean over queries only for \
                 $\\beta^2 < 1/(2\\sigma_0^2(\\sigma_0^2 + \\sigma_Z^2))$, $\\beta < 0.289$ at the paper's \
                 $\\sigma_0^2 = 2$, $\\sigma_Z^2 = 1$.",
            ),
        }
    }

    fn schema(&self) -> Schema {
        vec![
            spec("n", 6),
            spec("d", 2),
            spec("sigma0_2", 2.0),
            spec("sigma_z2", 1.0),
            // Scores of standard deviation 0.5 at a typical query; beyond 0.2 the squared error has
            // no variance, beyond 0.29 its mean no 1/L rate.
            spec("beta", 0.15),
            spec("L", 600),
            spec("queries", 8),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        subspace(params, 1).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        subspace(params, longest(params.usize("L"))).memory(params.usize("queries"))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let beta = params.f64("beta");
        let shortest = params.usize("L");
        let problem = subspace(params, longest(shortest));
        let prompt = problem.draw(streams)?;
        let (_, queries) = problem.draw_queries(&prompt.prior, params.usize("queries"), streams)?;
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
                "the exponentials expanded to second order",
                AnyBeta {
                    expanded: true,
                    ..right
                },
            ),
            Mutant::new(
                "without-beta",
                "the limit sigma_0^2 P x~ at every beta",
                AnyBeta {
                    without_beta: true,
                    ..right
                },
            ),
        ]
    }
}
