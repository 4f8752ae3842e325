//! The number of minima of the energy: Denoising, Fig. 3 at its printed parameters, and when it is one.

use crate::prompts::{Denoising, Dimension, Family};
use crate::quantities::{AMBIENT, CONTEXT, DIM, NOISE_VARIANCE, RADIUS, STRENGTH};
use attnlab_core::linalg::normal_matrix;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::memory::DenseMemory;

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
        let r2 = params.get(RADIUS).powi(2);
        match self.form {
            Form::Convex => params.get(STRENGTH) / r2,
            Form::TenTimes => 10.0 * params.get(STRENGTH) / r2,
            _ => 1.0 / params.get(NOISE_VARIANCE),
        }
    }
}

/// Starts of descent; each is some standard deviations of the tokens away.
const STARTS: usize = 40;

fn problem_of(params: &Params) -> Denoising {
    Denoising {
        family: Family::Sphere {
            dim: Dimension::Fixed(params.get(DIM)),
            radius: params.get(RADIUS),
        },
        ambient: params.get(AMBIENT),
        context: params.get(CONTEXT),
        // Only the context is used.
        sigma_z2: 1.0,
    }
}

impl Claim for Valleys {
    fn sheet(&self) -> &'static Sheet {
        if self.of_figure() {
            return sheet!("denoise.fig3");
        }
        sheet!("denoise.convex")
    }

    fn schema(&self) -> Schema {
        let mut all = vec![AMBIENT.or(2), DIM.or(1), RADIUS.or(1.0), CONTEXT.or(20)];
        if self.of_figure() {
            all.push(NOISE_VARIANCE.or(10.0));
        } else {
            all.push(STRENGTH.or(0.95));
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
            self.form == Form::Printed && self.beta(params) * params.get(RADIUS).powi(2) > 5.0;
        if beyond {
            return VerdictKind::Supported;
        }
        self.sheet().expected
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let prompt = problem_of(params).draw(streams)?;
        let memory = DenseMemory::new(prompt.context.view(), 1.0, self.beta(params))?;
        let far = normal_matrix(params.get(AMBIENT), STARTS, &mut streams.part("starts", 0));
        let found = memory.minima_from((far * params.get(RADIUS)).view())?;
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
        let form = |name, form| Mutant::new(name, Valleys { form });
        if self.of_figure() {
            return vec![form("tokens", Form::Tokens)];
        }
        vec![form("ten-times", Form::TenTimes)]
    }
}
