//! Clusters of unequal variance: Denoising, Appendix C.3, as printed and corrected.

use super::setting::{accurate, clusters_by_definition, problem, same};
use crate::prompts::{Denoising, Family};
use crate::quantities::{AMBIENT, NOISE_VARIANCE, RADIUS, VARIANCES, WEIGHTS};
use crate::theory::Prior;
use crate::theory::mixture::{Clusters, Weight};
use attnlab_lab::prelude::*;
use ndarray::{Array1, ArrayView1};
use rand::RngExt;

/// The general posterior mean of Appendix C.3 against its definition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnequalClusters {
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Printed,
    Corrected,
    /// The mutant: no factor in front of the exponential.
    Bare,
    /// The mutant: the inverse of the printed factor, which forgets C_a.
    Inverse,
}

impl UnequalClusters {
    /// As printed.
    pub const PRINTED: Self = UnequalClusters {
        form: Form::Printed,
    };
    /// With weights $w_a(\sigma_Z^2 + \sigma_a^2)^{-n/2}$.
    pub const CORRECTED: Self = UnequalClusters {
        form: Form::Corrected,
    };
}

fn problem_of(params: &Params) -> Denoising {
    let family = Family::Clusters {
        weights: params.get(WEIGHTS),
        variances: params.get(VARIANCES),
        radius: params.get(RADIUS),
    };
    problem(family, params.get(AMBIENT), params.get(NOISE_VARIANCE))
}

impl Claim for UnequalClusters {
    fn sheet(&self) -> &'static Sheet {
        match self.form {
            Form::Printed => sheet!("denoise.clusters"),
            _ => sheet!("denoise.clusters_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        let positive = Domain::Vector(&Domain::POSITIVE);
        vec![
            // Few dimensions: in many, one cluster takes all the weight under either formula.
            AMBIENT.or(3),
            RADIUS.or(1.0),
            WEIGHTS.within(positive).or(vec![0.2, 0.3, 0.5]),
            VARIANCES.within(positive).or(vec![0.05, 0.2, 0.5]),
            NOISE_VARIANCE.or(0.3),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let problem = problem_of(params);
        problem.validate()?;
        for (a, v) in params.get(VARIANCES).iter().enumerate() {
            accurate(&problem, &format!("variances[{a}]"), *v)?;
        }
        accurate(&problem, "sigma_z2", problem.sigma_z2)
    }

    fn memory(&self, params: &Params) -> u64 {
        problem_of(params).memory(1)
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        let variances = params.get(VARIANCES);
        if variances.iter().all(|v| *v == variances[0]) {
            return VerdictKind::Supported;
        }
        self.sheet().expected
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let s = params.get(NOISE_VARIANCE);
        let problem = problem_of(params);
        let mut prior = problem.draw_prior(streams)?;
        if let Prior::Clusters(c) = &mut prior {
            // The display does not need equal norms.
            let mut rng = streams.part("norms", 0);
            for mut mean in c.means.columns_mut() {
                mean *= rng.random_range(0.5..1.5);
            }
        }
        let (_, queries) = problem.draw_queries(&prior, 1, streams)?;
        let query = queries.column(0);
        let Prior::Clusters(c) = prior else {
            return Err(Error::undefined("the family has no clusters"));
        };
        let definition = clusters_by_definition(c.means.view(), &c.weights, &c.variances, s, query);
        Ok(same(&self.posterior_mean(&c, query, s)?, &definition))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let form = |form| UnequalClusters { form };
        vec![
            Mutant::new("bare", form(Form::Bare)),
            Mutant::new("inverse", form(Form::Inverse)),
        ]
    }
}

impl UnequalClusters {
    fn posterior_mean(&self, c: &Clusters, query: ArrayView1<f64>, s: f64) -> Result<Array1<f64>> {
        let half = 0.5 * query.len() as f64;
        let scaled = |factor: &dyn Fn(f64) -> f64| {
            // The library's two formulas with other weights: w_a is multiplied by the change.
            let one = |(w, v): (&f64, &f64)| w * factor(*v);
            let mut weights: Vec<f64> = c.weights.iter().zip(&c.variances).map(one).collect();
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|w| *w /= sum);
            let mutant = Clusters {
                weights,
                ..c.clone()
            };
            mutant.posterior_mean(query, s, Weight::Corrected)
        };
        match self.form {
            Form::Printed => c.posterior_mean(query, s, Weight::Printed),
            Form::Corrected => c.posterior_mean(query, s, Weight::Corrected),
            Form::Bare => scaled(&|v| (s + v).powf(half)),
            Form::Inverse => scaled(&|v| v.powf(half)),
        }
    }
}
