//! The energy of dense associative memory: Denoising, Section 4, Eqs. (7) and (8).

use super::setting::{derivative, value};
use crate::prompts::{Denoising, Dimension, Family};
use crate::quantities::{
    ALPHA, AMBIENT, BETA, CONTEXT, DIM, NOISE_VARIANCE, QUERIES, RADIUS, RIVAL,
};
use crate::theory::Prior;
use attnlab_core::linalg::normal_matrix;
use attnlab_core::stats::{Estimate, mean};
use attnlab_lab::claim::verdict;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::memory::DenseMemory;
use attnlab_theory::attention::softmax_attention;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

/// One step of descent on (7) with γ = α is the attention layer (5).
#[derive(Clone, Copy, Debug, Default)]
pub struct OneStep {
    variant: Variant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Variant {
    #[default]
    Printed,
    /// Without 1/β before the logarithm.
    NoTemperature,
    /// ‖s‖²/α in place of ‖s‖²/(2α).
    NoHalf,
    /// Step size α/2.
    HalfStep,
}

/// The five-point rule is exact to about (0.02)^4 / 30 of the terms that it differentiates.
const DERIVATIVE: f64 = 1e-7;

impl Claim for OneStep {
    fn sheet(&self) -> &'static Sheet {
        sheet!("denoise.eq8")
    }

    fn schema(&self) -> Schema {
        vec![AMBIENT.or(8), CONTEXT.or(40), ALPHA.or(1.3), BETA.or(2.0)]
    }

    fn memory(&self, params: &Params) -> u64 {
        let (n, l) = (params.get(AMBIENT) as u64, params.get(CONTEXT) as u64);
        8 * n * (3 * l + 4 * n)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, alpha, beta) = (params.get(AMBIENT), params.get(ALPHA), params.get(BETA));
        let context = normal_matrix(n, params.get(CONTEXT), &mut streams.part("context", 0));
        let s = normal_matrix(n, 1, &mut streams.part("query", 0));
        let s = s.column(0);
        let norm2 = context.map_axis(Axis(0), |x| x.dot(&x));
        let longest = norm2.iter().copied().fold(0.0, f64::max).sqrt();
        // (7) as it is printed, at s + h e_i.
        let energy = |i: usize, h: f64| {
            let mut at = s.to_owned();
            at[i] += h;
            self.energy(context.view(), at.view(), alpha, beta)
        };
        // Scores change by 0.01 over this length.
        let h = 0.01 / (beta * longest).max(1.0);
        let slope = |i| derivative(|h| Array1::from(vec![energy(i, h)]), h)[0];
        let gamma = if self.variant == Variant::HalfStep {
            alpha / 2.0
        } else {
            alpha
        };
        let step = &s - &(Array1::from_iter((0..n).map(slope)) * gamma);
        let (w_pv, w_kq) = (Array2::eye(n) * alpha, Array2::eye(n) * beta);
        let layer = softmax_attention(context.view(), w_pv.view(), w_kq.view(), s);
        let gap = (&step - &layer).mapv(f64::abs).sum();
        let scale = s.mapv(f64::abs).sum() + alpha * longest;
        Ok(Outcome::Gap {
            lhs: gap / scale,
            rhs: 0.0,
            tol: DERIVATIVE,
            relation: Relation::Equal,
            witness: witness! { "step" => step.to_vec(), "layer" => layer.to_vec() },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, variant| Mutant::new(name, OneStep { variant });
        vec![
            variant("no-temperature", Variant::NoTemperature),
            variant("no-half", Variant::NoHalf),
            variant("half-step", Variant::HalfStep),
        ]
    }
}

impl OneStep {
    fn energy(&self, x: ArrayView2<f64>, s: ArrayView1<f64>, alpha: f64, beta: f64) -> f64 {
        let scores = x.t().dot(&s) * beta;
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log = largest + scores.mapv(|v| (v - largest).exp()).sum().ln();
        let square = s.dot(&s) / alpha;
        match self.variant {
            Variant::NoTemperature => square / 2.0 - log,
            Variant::NoHalf => square - log / beta,
            _ => square / 2.0 - log / beta,
        }
    }
}

/// The loss of one step against that of descent to the end, and of retrieving the nearest token.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneStepWins {
    rival: Rival,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Rival {
    /// The rival that the parameters name.
    #[default]
    Set,
    /// The mutant: the other way round.
    Reversed,
    /// The mutant: the Bayes optimum.
    Bayes,
}

fn problem_of(params: &Params) -> Denoising {
    Denoising {
        family: Family::Sphere {
            dim: Dimension::Fixed(params.get(DIM)),
            radius: params.get(RADIUS),
        },
        ambient: params.get(AMBIENT),
        context: params.get(CONTEXT),
        sigma_z2: params.get(NOISE_VARIANCE),
    }
}

impl Claim for OneStepWins {
    fn sheet(&self) -> &'static Sheet {
        sheet!("denoise.one_step_wins")
    }

    fn schema(&self) -> Schema {
        vec![
            RIVAL.or("minimum"),
            AMBIENT.or(2),
            DIM.or(1),
            RADIUS.or(1.0),
            CONTEXT.or(20),
            NOISE_VARIANCE.or(10.0),
            QUERIES.or(4),
        ]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        problem_of(params).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        problem_of(params).memory(params.get(QUERIES))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (problem, s) = (problem_of(params), params.get(NOISE_VARIANCE));
        let prompt = problem.draw(streams)?;
        let count = params.get(QUERIES);
        let (targets, queries) = problem.draw_queries(&prompt.prior, count, streams)?;
        let memory = DenseMemory::new(prompt.context.view(), 1.0, 1.0 / s)?;
        let (mut one, mut rival) = (0.0, 0.0);
        for (target, query) in targets.columns().into_iter().zip(queries.columns()) {
            let loss = |x: &Array1<f64>| (x - &target).mapv(|v| v * v).sum();
            one += loss(&memory.attend(query)) / count as f64;
            rival += loss(&self.answer(params, &memory, &prompt.prior, query)?) / count as f64;
        }
        let sign = if self.rival == Rival::Reversed {
            -1.0
        } else {
            1.0
        };
        Ok(value(
            sign * (rival - one),
            witness! { "loss_of_one_step" => one, "loss_of_the_other" => rival },
        ))
    }

    /// The mean of the paired differences is not negative.
    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(0.0, f64::INFINITY)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        // At the defaults a difference of .05 with a standard deviation of about .25.
        1000
    }

    /// The means of both losses beside the difference, since one trial says nothing of them.
    fn judge(&self, params: &Params, outcomes: &[Outcome], level: f64) -> Result<Judgement> {
        let mut found = verdict::judge(self.promise(params), outcomes, level)?;
        if let Verdict::Refuted { witness } = &mut found.verdict {
            for name in ["loss_of_one_step", "loss_of_the_other"] {
                let Estimate { low, high, .. } = mean_of(name, outcomes, level)?;
                witness.insert(name.into(), serde_json::json!([low, high]));
            }
        }
        Ok(found)
    }

    fn mutants(&self) -> Vec<Mutant> {
        let rival = |name, rival| Mutant::new(name, OneStepWins { rival });
        vec![
            rival("reversed", Rival::Reversed),
            rival("bayes", Rival::Bayes),
        ]
    }
}

fn mean_of(name: &str, outcomes: &[Outcome], level: f64) -> Result<Estimate> {
    let one = |o: &Outcome| o.witness().get(name).and_then(serde_json::Value::as_f64);
    let values: Vec<f64> = outcomes.iter().filter_map(one).collect();
    mean(&values, level)
}

impl OneStepWins {
    fn answer(
        &self,
        params: &Params,
        memory: &DenseMemory,
        prior: &Prior,
        query: ArrayView1<f64>,
    ) -> Result<Array1<f64>> {
        if self.rival == Rival::Bayes {
            return prior.posterior_mean(query, params.get(NOISE_VARIANCE));
        }
        if params.get(RIVAL) == "nearest-token" {
            return Ok(nearest(memory.context(), query));
        }
        let start = query.to_owned().insert_axis(Axis(1));
        let mut found = memory.minima_from(start.view())?;
        Ok(found.minima.swap_remove(0).state)
    }
}

fn nearest(context: ArrayView2<f64>, query: ArrayView1<f64>) -> Array1<f64> {
    let distance2 = |t: usize| (&context.column(t) - &query).mapv(|v| v * v).sum();
    let best = (0..context.ncols()).min_by(|a, b| distance2(*a).total_cmp(&distance2(*b)));
    context.column(best.unwrap_or(0)).to_owned()
}
