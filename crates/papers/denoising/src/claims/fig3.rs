//! The number of minima of the energy: Denoising, Fig. 3 at its printed parameters, and when it is one.

use super::setting::*;

/// The number of minima of the energy (7) on contexts from a sphere.
#[derive(PartialEq, Serialize, Deserialize)]
pub struct Valleys {
    /// Several, at the caption's parameters; otherwise one, where αβR² < 1.
    figure: bool,
    /// All of them are tokens.
    tokens: bool,
    /// Factor of αβR².
    strength: f64,
}

impl Valleys {
    /// As the caption of Fig. 3 describes it.
    pub const PRINTED: Self = Valleys { figure: true, tokens: false, strength: 1.0 };
    /// Where the energy is convex.
    pub const CONVEX: Self = Valleys { figure: false, ..Self::PRINTED };

    /// αβR².
    fn strength(&self, params: &Params) -> f64 {
        if self.figure {
            return self.strength * params.get(RADIUS).powi(2) / params.get(NOISE_VARIANCE);
        }
        self.strength * params.get(STRENGTH)
    }
}

/// Starts of descent; each is some standard deviations of the tokens away.
const STARTS: usize = 40;

/// Share of contexts with several minima that "valleys" is taken to mean.
const SOME: f64 = 0.05;

/// Least αβR²/(d + 1) at which contexts are taken to have valleys. The energy of infinitely many tokens has its
/// one minimum at 0 up to a ratio of 1, and a sphere of minima beyond, which the tokens break into several.
const BROKEN: f64 = 5.0;

/// Largest αβR²: rounding of the scores stays far below the curvature.
const STRONGEST: f64 = 1e6;

fn problem_of(params: &Params) -> Denoising {
    Denoising {
        family: Family::Sphere { dim: Dimension::Fixed(params.get(DIM)), radius: params.get(RADIUS) },
        ambient: params.get(AMBIENT),
        context: params.get(CONTEXT),
        // Only the context is used.
        sigma_z2: 1.0,
    }
}

impl Claim for Valleys {
    from_sheet!(self, if self.figure { sheet!("denoise.fig3") } else { sheet!("denoise.convex") });

    fn schema(&self) -> Schema {
        // Larger d and L take minutes: eigenvalues in d + 1 dimensions and L exponentials per step of descent.
        vec![
            AMBIENT.or(2),
            DIM.within(Domain::Whole(0, 30)).or(1),
            RADIUS.or(1.0),
            CONTEXT.within(Domain::Whole(1, 5000)).or(20),
            if self.figure { NOISE_VARIANCE.or(10.0) } else { STRENGTH.or(0.95) },
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        problem_of(params).validate()?;
        if !self.figure {
            return Ok(());
        }
        let r = params.get(RADIUS);
        let allowed = format!("must be at least {:e} with R = {r}; minima are not resolved below", r * r / STRONGEST);
        require(self.strength(params) <= STRONGEST, NOISE_VARIANCE.name, params.get(NOISE_VARIANCE), allowed)
    }

    fn memory(&self, params: &Params) -> u64 {
        // Descent runs in the d + 1 dimensions of the tokens: a Hessian, its eigenvectors and copies of the tokens.
        let m = params.get(DIM) as u64 + 1;
        let within = memory::total(&[&[64, m, m], &[32, m, params.get(CONTEXT) as u64]]);
        problem_of(params).memory(STARTS).saturating_add(within)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let (strength, dimensions) = (self.strength(params), params.real(DIM) + 1.0);
        // Convex, whatever the tokens: nothing is left open.
        if !self.figure || strength < 1.0 {
            return vec![];
        }
        vec![
            Hypothesis::new(
                "broken ring",
                "the density of tokens sculpts valleys [here, where the energy is not convex: \
                 alpha beta R^2 / (d + 1) - 5]",
                strength / dimensions - BROKEN,
            ),
            Hypothesis::new("two tokens", "L >= 2", params.real(CONTEXT) - 2.0),
        ]
    }

    fn promise(&self, _params: &Params) -> Promise {
        if self.figure { Promise::AtLeast(SOME) } else { Promise::Always }
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        // None of 100 leaves at most .036 of the contexts, below the share that is promised.
        if self.figure { 100 } else { 40 }
    }

    /// Refuted only where the energy is convex.
    fn expected(&self, params: &Params) -> VerdictKind {
        if *self == Self::PRINTED && self.strength(params) >= 1.0 {
            return VerdictKind::Supported;
        }
        self.sheet().expected
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let prompt = problem_of(params).draw(streams)?;
        let Prior::Sphere { basis, radius } = &prompt.prior else {
            return Err(Error::undefined("the family is no sphere"));
        };
        // The first step leads into the span of the tokens, and descent stays there: its coordinates suffice.
        let tokens = basis.t().dot(&prompt.context) / *radius;
        let far = normal_matrix(params.get(AMBIENT), STARTS, &mut streams.part("starts", 0));
        let memory = DenseMemory::new(tokens.view(), 1.0, self.strength(params))?;
        let valleys = memory.minima_from(basis.t().dot(&far).view())?;
        let minima = valleys.minima.len();
        let tokens = valleys.minima.iter().filter(|m| m.token.is_some()).count();
        let holds = if self.figure { minima > 1 && (!self.tokens || tokens == minima) } else { minima == 1 };
        Ok(Outcome::Event {
            holds,
            witness: witness! {
                "minima" => minima,
                "of_them_tokens" => tokens,
                "lowest" => (basis.dot(&valleys.minima[0].state) * *radius).to_vec(),
                "shared_by" => valleys.minima[0].shared_by,
            },
        })
    }
}
