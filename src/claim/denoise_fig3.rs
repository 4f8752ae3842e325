//! How many minima the energy has: Denoising, Fig. 3 at its printed parameters, and when it has one.

use super::denoise_setting::spec;
use super::*;
use crate::attention::memory::DenseMemory;
use crate::linalg::normal_matrix;
use crate::sample::denoising::{Denoising, Dimension, Family};
use crate::witness;

/// The number of minima of the energy (7) on contexts from a sphere.
#[derive(Clone, Copy, Debug)]
pub struct Valleys {
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Several, at the caption's parameters.
    Printed,
    /// One, where αβR² < 1.
    Convex,
    /// The mutant: several, all of them tokens.
    Tokens,
    /// The mutant: one, up to αβR² of ten times the parameter.
    TenTimes,
}

impl Valleys {
    /// As the caption of Fig. 3 describes it.
    pub const PRINTED: Self = Valleys {
        form: Form::Printed,
    };
    /// Where the energy is convex.
    pub const CONVEX: Self = Valleys { form: Form::Convex };

    fn of_figure(&self) -> bool {
        matches!(self.form, Form::Printed | Form::Tokens)
    }

    /// β at α = 1.
    fn beta(&self, params: &Params) -> f64 {
        let r2 = params.f64("R").powi(2);
        match self.form {
            Form::Convex => params.f64("strength") / r2,
            Form::TenTimes => 10.0 * params.f64("strength") / r2,
            _ => 1.0 / params.f64("sigma_z2"),
        }
    }
}

/// Starts of descent; each is some standard deviations of the tokens away.
const STARTS: usize = 40;

fn problem_of(params: &Params) -> Denoising {
    Denoising {
        family: Family::Sphere {
            dim: Dimension::Fixed(params.usize("d")),
            radius: params.f64("R"),
        },
        ambient: params.usize("n"),
        context: params.usize("L"),
        // Only the context is used.
        sigma_z2: 1.0,
    }
}

impl Claim for Valleys {
    fn card(&self) -> Card {
        let printed = Card {
            id: "denoise.fig3",
            paper: Paper::Denoising,
            equation: "Fig. 3, caption",
            title: "The energy of Fig. 3 has several minima at the printed parameters",
            statement: "The density of sampled context tokens sculpts the valleys of the energy landscape; \
                        iterating can converge to a distant minimum. Here $R = 1$, $\\sigma_Z^2 = 10$, $L = \
                        20$ and $\\alpha = 1$, $\\beta = 1/\\sigma_Z^2$. [Here: the energy has more than one \
                        minimum.]",
            kind: Kind::Existence,
            expected: VerdictKind::Refuted,
            corrected: Some(
                "For $\\alpha\\beta R^2 < 1$ the energy is strictly convex: $\\nabla^2\\mathcal{E} = \
                 \\frac1\\alpha I - \\beta\\,\\mathrm{Cov}_g(X)$, and no covariance of tokens of norm $R$ \
                 has an eigenvalue above $R^2$. At the caption's $0.1$ the only minimum lies near the \
                 mean of the context, and the loss of one step is that of predicting zero within 1 %. A ring of valleys \
                 as in the picture takes $\\sigma_Z^2$ near $0.1$ (experiment `denoise_landscape`).",
            ),
        };
        if self.of_figure() {
            return printed;
        }
        Card {
            id: "denoise.convex",
            equation: "Section 4, Eq. (7)",
            title: "The energy has one minimum where alpha beta R^2 < 1",
            statement: "Derived here: for tokens of norm at most $R$ and $\\alpha\\beta R^2 < 1$ the energy \
                        (7) is strictly convex, so that repeated steps forget the query.",
            kind: Kind::Identity,
            expected: VerdictKind::Supported,
            corrected: None,
            ..printed
        }
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        (self.form == Form::Printed).then_some(Discrepancy {
            printed: "The caption of Fig. 3 gives $\\sigma_Z^2 = 10$, $\\beta = 1/\\sigma_Z^2$ for a landscape \
                      with valleys along the circle and distant minima.",
            witness: "At these parameters every context drawn has a single minimum, near its mean, and one \
                      step is no better than predicting zero within 1 % (`denoise_landscape_loss`).",
            range: "$\\alpha\\beta R^2 < 1$, that is $\\sigma_Z^2 > R^2$ for $\\beta = 1/\\sigma_Z^2$.",
            correction: "Strictly convex there (`denoise.convex`). With $\\sigma_Z^2 = 0.1$, $\\beta = 10$, the \
                         landscape is the one described.",
        })
    }

    fn schema(&self) -> Schema {
        let mut all = vec![spec("n", 2), spec("d", 1), spec("R", 1.0), spec("L", 20)];
        if self.of_figure() {
            all.push(spec("sigma_z2", 10.0));
        } else {
            all.push(Spec::new(
                "strength",
                Domain::OPEN_UNIT,
                0.95,
                "αβR², at α = 1",
            ));
        }
        all
    }

    fn validate(&self, params: &Params) -> Result<()> {
        problem_of(params).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        problem_of(params).memory(STARTS)
    }

    /// Refuted only where the energy is convex; beyond, the number of minima is up to the context.
    fn expected(&self, params: &Params) -> VerdictKind {
        let beyond =
            self.form == Form::Printed && self.beta(params) * params.f64("R").powi(2) > 5.0;
        if beyond {
            return VerdictKind::Supported;
        }
        self.card().expected
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let prompt = problem_of(params).draw(streams)?;
        let memory = DenseMemory::new(prompt.context.view(), 1.0, self.beta(params))?;
        let far = normal_matrix(params.usize("n"), STARTS, &mut streams.part("starts", 0));
        let found = memory.minima_from((far * params.f64("R")).view())?;
        let minima = found.minima.len();
        let tokens = found.minima.iter().filter(|m| m.token.is_some()).count();
        let holds = match self.form {
            Form::Printed => minima > 1,
            Form::Tokens => minima > 1 && tokens == minima,
            Form::Convex | Form::TenTimes => minima == 1,
        };
        Ok(Outcome::Event {
            holds,
            witness: witness! {
                "minima" => minima,
                "of_them_tokens" => tokens,
                "lowest" => found.minima[0].state.to_vec(),
                "shared_by" => found.minima[0].shared_by,
            },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let form = |name, says, form| Mutant::new(name, says, Valleys { form });
        if self.of_figure() {
            return vec![form(
                "tokens",
                "several minima, each a context token",
                Form::Tokens,
            )];
        }
        vec![form(
            "ten-times",
            "one minimum up to alpha beta R^2 = 10",
            Form::TenTimes,
        )]
    }
}
