//! Clusters of unequal variance: Denoising, Appendix C.3, as printed and corrected.

use super::denoise_setting::{accurate, clusters_by_definition, problem, same, spec};
use super::*;
use crate::sample::denoising::{Denoising, Family};
use crate::theory::denoising::Prior;
use crate::theory::denoising::mixture::{Clusters, Weight};
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

/// Whatever the schema lets through: how the weights' and variances' JSON is read.
const POSITIVE: Domain = Domain::POSITIVE;

fn problem_of(params: &Params) -> Denoising {
    let family = Family::Clusters {
        weights: params.vector("weights"),
        variances: params.vector("variances"),
        radius: params.f64("R"),
    };
    problem(family, params.usize("n"), params.f64("sigma_z2"))
}

impl Claim for UnequalClusters {
    fn card(&self) -> Card {
        let printed = Card {
            id: "denoise.clusters",
            paper: Paper::Denoising,
            equation: "Appendix C.3, third display",
            title: "Posterior mean of clusters of unequal variance, as printed",
            statement: "$\\mathbb{E}[X|\\tilde X] = \\sum_a \\omega_a \\frac{\\sigma_a^2\\tilde x + \
                        \\sigma_Z^2\\mu_a}{\\sigma_a^2 + \\sigma_Z^2} / \\sum_a \\omega_a$ with $\\omega_a \
                        = w_a \\left(\\frac{\\sigma_Z^2 + \\sigma_a^2}{\\sigma_a^2}\\right)^{n/2} \
                        \\exp\\left(-\\frac{\\|\\tilde x - \\mu_a\\|^2}{2(\\sigma_Z^2 + \\sigma_a^2)}\
                        \\right)$.",
            kind: Kind::Identity,
            expected: VerdictKind::Refuted,
            corrected: Some(
                "$\\omega_a = w_a (\\sigma_Z^2 + \\sigma_a^2)^{-n/2} \\exp(\\dots)$: the integral of \
                 $e^{-g_a}$ is proportional to $(\\sigma_Z^2\\sigma_a^2/(\\sigma_Z^2 + \
                 \\sigma_a^2))^{n/2}$, and $C_a$ cancels $\\sigma_a^n$. With equal variances both \
                 factors cancel, so (A.5) and (A.6) are not affected.",
            ),
        };
        if matches!(self.form, Form::Printed) {
            return printed;
        }
        Card {
            id: "denoise.clusters_corrected",
            title: "Posterior mean of clusters of unequal variance, with corrected weights",
            statement: "$\\mathbb{E}[X|\\tilde X] = \\sum_a \\omega_a \\frac{\\sigma_a^2\\tilde x + \
                        \\sigma_Z^2\\mu_a}{\\sigma_a^2 + \\sigma_Z^2} / \\sum_a \\omega_a$ with $\\omega_a \
                        = w_a (\\sigma_Z^2 + \\sigma_a^2)^{-n/2} \\exp\\left(-\\frac{\\|\\tilde x - \
                        \\mu_a\\|^2}{2(\\sigma_Z^2 + \\sigma_a^2)}\\right)$.",
            expected: VerdictKind::Supported,
            corrected: None,
            ..printed
        }
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        (self.form == Form::Printed).then_some(Discrepancy {
            printed: "Appendix C.3 weights cluster $a$ by $w_a ((\\sigma_Z^2 + \\sigma_a^2)/\\sigma_a^2)^{n/2} \
                      e^{\\dots}$. (The text after it says \"variances $\\sigma_a^2 = \\sigma_0$\", which is \
                      to be $\\sigma_0^2$.)",
            witness: "Three clusters in $\\mathbb{R}^3$ with variances 0.05, 0.2 and 0.5: the printed \
                      posterior mean differs from the integral that defines it, for every query drawn.",
            range: "Unequal variances. With equal ones the factor cancels, so (A.5) and (A.6) stand.",
            correction: "$w_a (\\sigma_Z^2 + \\sigma_a^2)^{-n/2} e^{\\dots}$: the Gaussian integral has the \
                         inverse power, and $C_a$ cancels the rest (`denoise.clusters_corrected`).",
        })
    }

    fn schema(&self) -> Schema {
        let domain = Domain::Vector(&POSITIVE);
        vec![
            // Few dimensions: in many, one cluster takes all the weight under either formula.
            spec("n", 3),
            spec("R", 1.0),
            Spec::new(
                "weights",
                domain,
                vec![0.2, 0.3, 0.5],
                "w_a, which sum to one",
            ),
            Spec::new(
                "variances",
                domain,
                vec![0.05, 0.2, 0.5],
                "σ_a², one per weight",
            ),
            spec("sigma_z2", 0.3),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let problem = problem_of(params);
        problem.validate()?;
        for (a, v) in params.vector("variances").iter().enumerate() {
            accurate(&problem, &format!("variances[{a}]"), *v)?;
        }
        accurate(&problem, "sigma_z2", problem.sigma_z2)
    }

    fn memory(&self, params: &Params) -> u64 {
        problem_of(params).memory(1)
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        let variances = params.vector("variances");
        if variances.iter().all(|v| *v == variances[0]) {
            return VerdictKind::Supported;
        }
        self.card().expected
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let s = params.f64("sigma_z2");
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
            return Err(crate::Error::Numerical("the family has no clusters".into()));
        };
        let definition = clusters_by_definition(c.means.view(), &c.weights, &c.variances, s, query);
        Ok(same(&self.posterior_mean(&c, query, s)?, &definition))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let form = |form| UnequalClusters { form };
        vec![
            Mutant::new("bare", "weights w_a exp(..) alone", form(Form::Bare)),
            Mutant::new(
                "inverse",
                "the inverse of the printed factor, without C_a",
                form(Form::Inverse),
            ),
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
