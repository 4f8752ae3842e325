//! Clusters of equal variance and norm: Denoising, Proposition 4, (A.5) and (A.6).

use super::denoise_setting::{
    IDENTITY, accurate, average, clusters_by_definition, problem, same, spec,
};
use super::*;
use crate::sample::denoising::{Denoising, Family};
use crate::theory::denoising::Prior;
use crate::theory::denoising::mixture::{Clusters, equal_variances};
use crate::witness;
use ndarray::Array1;

/// What the mutants of both claims change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Variant {
    #[default]
    Printed,
    /// No residual term.
    NoResidual,
    /// Another temperature.
    Temperature,
    /// Without the hypothesis of equal norms.
    UnequalNorms,
}

fn clusters(params: &Params, sigma0_2: f64, variant: Variant, streams: &Streams) -> Result<Drawn> {
    let problem = problem_of(params, sigma0_2);
    let mut prior = problem.draw_prior(streams)?;
    if let (Prior::Clusters(c), Variant::UnequalNorms) = (&mut prior, variant) {
        let mut first = c.means.column_mut(0);
        first *= 0.5;
    }
    let (_, queries) = problem.draw_queries(&prior, 1, streams)?;
    let Prior::Clusters(clusters) = prior else {
        return Err(crate::Error::Numerical("the family has no clusters".into()));
    };
    Ok((clusters, queries.column(0).to_owned()))
}

type Drawn = (Clusters, Array1<f64>);

fn problem_of(params: &Params, sigma0_2: f64) -> Denoising {
    let k = params.usize("K");
    let family = Family::Clusters {
        weights: vec![1.0 / k as f64; k],
        variances: vec![sigma0_2; k],
        radius: params.f64("R"),
    };
    problem(family, params.usize("n"), params.f64("sigma_z2"))
}

/// (A.5) against the definition of the posterior mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prop4 {
    variant: Variant,
}

impl Claim for Prop4 {
    fn card(&self) -> Card {
        Card {
            id: "denoise.prop4",
            paper: Paper::Denoising,
            equation: "Proposition 4, Eq. (A.5)",
            title: "For equal clusters the Bayes optimum is a residual plus attention over centres",
            statement: "For $\\sigma_a = \\sigma_0$, $\\|\\mu_a\\| = R$: $f_{opt}(\\tilde X) = \
                        \\frac{\\sigma_0^2}{\\sigma_0^2 + \\sigma_Z^2}\\tilde X + \
                        \\frac{\\sigma_Z^2}{\\sigma_0^2 + \\sigma_Z^2} \\frac{\\sum_a w_a e^{\\langle \
                        \\mu_a, \\tilde X\\rangle/(\\sigma_0^2 + \\sigma_Z^2)} \\mu_a}{\\sum_a w_a \
                        e^{\\langle \\mu_a, \\tilde X\\rangle/(\\sigma_0^2 + \\sigma_Z^2)}}$.",
            kind: Kind::Identity,
            expected: VerdictKind::Supported,
            corrected: None,
        }
    }

    fn schema(&self) -> Schema {
        vec![
            spec("n", 16),
            spec("K", 8),
            spec("R", 1.0),
            spec("sigma0_2", 0.02),
            spec("sigma_z2", 0.1),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let problem = problem_of(params, params.f64("sigma0_2"));
        problem.validate()?;
        accurate(&problem, "sigma0_2", params.f64("sigma0_2"))?;
        accurate(&problem, "sigma_z2", problem.sigma_z2)
    }

    fn memory(&self, params: &Params) -> u64 {
        problem_of(params, 0.0).memory(1)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (s0, sz) = (params.f64("sigma0_2"), params.f64("sigma_z2"));
        let (c, query) = clusters(params, s0, self.variant, streams)?;
        let (means, x) = (c.means.view(), query.view());
        let mut found = equal_variances(means, &c.weights, s0, sz, x);
        match self.variant {
            Variant::NoResidual => found = found - &query * (s0 / (s0 + sz)),
            Variant::Temperature => {
                // The attention part of (A.6), with the residual of (A.5).
                let attention = equal_variances(means, &c.weights, 0.0, sz, x);
                found = &query * (s0 / (s0 + sz)) + attention * (sz / (s0 + sz));
            }
            _ => {}
        }
        Ok(same(
            &found,
            &clusters_by_definition(means, &c.weights, &c.variances, sz, x),
        ))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |variant| Prop4 { variant };
        vec![
            Mutant::new(
                "no-residual",
                "without the first term",
                variant(Variant::NoResidual),
            ),
            Mutant::new(
                "temperature",
                "attention at sigma_Z^2 instead of sigma_0^2 + sigma_Z^2",
                variant(Variant::Temperature),
            ),
            Mutant::new(
                "unequal-norms",
                "one centre at half the radius: the hypothesis of equal norms is needed",
                variant(Variant::UnequalNorms),
            ),
        ]
    }
}

/// (A.6): the posterior mean of points, and the limit of (A.5).
#[derive(Clone, Copy, Debug, Default)]
pub struct Prop4Limit {
    variant: Variant,
}

impl Claim for Prop4Limit {
    fn card(&self) -> Card {
        Card {
            id: "denoise.prop4_limit",
            paper: Paper::Denoising,
            equation: "Proposition 4, Eq. (A.6)",
            title: "For points of equal norm the Bayes optimum is attention over them",
            statement: "If $\\sigma_0 \\to 0$: $f_{opt}(\\tilde X) = \\frac{\\sum_a w_a e^{\\langle \\mu_a, \
                        \\tilde X\\rangle/\\sigma_Z^2} \\mu_a}{\\sum_a w_a e^{\\langle \\mu_a, \\tilde X\
                        \\rangle/\\sigma_Z^2}}$.",
            kind: Kind::Identity,
            expected: VerdictKind::Supported,
            corrected: None,
        }
    }

    fn schema(&self) -> Schema {
        vec![
            spec("n", 16),
            spec("K", 8),
            spec("R", 1.0),
            spec("sigma_z2", 0.1),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let problem = problem_of(params, 0.0);
        problem.validate()?;
        accurate(&problem, "sigma_z2", problem.sigma_z2)
    }

    fn memory(&self, params: &Params) -> u64 {
        problem_of(params, 0.0).memory(1)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let sz = params.f64("sigma_z2");
        let (c, query) = clusters(params, 0.0, self.variant, streams)?;
        let (means, x) = (c.means.view(), query.view());
        let width = if self.variant == Variant::Temperature {
            sz.sqrt()
        } else {
            sz
        };
        let found = equal_variances(means, &c.weights, 0.0, width, x);
        // By definition: points weighted by the density of the noise that leads from them to x~.
        let mut logs = vec![];
        let mut points = vec![];
        for (mu, w) in means.columns().into_iter().zip(&c.weights) {
            let distance = &query - &mu;
            logs.push(w.ln() - distance.dot(&distance) / (2.0 * sz));
            points.push(mu.to_owned());
        }
        let definition = average(&logs, &points);
        let Outcome::Gap { lhs: gap, .. } = same(&found, &definition) else {
            return Ok(same(&found, &definition));
        };
        // The limit: (A.5) approaches it in proportion to sigma_0^2.
        let error = |s0: f64| {
            let near = equal_variances(means, &c.weights, s0, sz, x) - &found;
            near.dot(&near).sqrt()
        };
        let order = (error(1e-6 * sz) / error(1e-7 * sz)).log10();
        Ok(Outcome::Event {
            // The order is 1 up to 1e-6 of a second-order term and 1e-9 of rounding.
            holds: gap <= IDENTITY && (order - 1.0).abs() <= 0.01,
            witness: witness! { "relative_gap" => gap, "order_in_sigma0_2" => order },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |variant| Prop4Limit { variant };
        vec![
            Mutant::new(
                "temperature",
                "sigma_Z instead of sigma_Z^2",
                variant(Variant::Temperature),
            ),
            Mutant::new(
                "unequal-norms",
                "one centre at half the radius: the hypothesis of equal norms is needed",
                variant(Variant::UnequalNorms),
            ),
        ]
    }
}
