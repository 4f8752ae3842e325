//! The test risk of the trained layer: the notes' second theorem, printed and corrected, its rates in
//! M and N, and covariate shift.

use super::limit::{ARRIVED, limit_of_flow};
use super::setting::{PER_SECOND, covariance, normal_task, theorem_start, training_schema, trials_of_ratio, validate};
use crate::prompts::{PromptTask, RegressionPrompts};
use crate::quantities::{CONDITION, CONTEXT, COVARIANCE_FACTOR, DIM, EXAMPLES, TARGET, TEST_NOISE, TEST_PROMPTS};
use crate::theory::{Covariance, LabelMoments, Link, Pretraining, Target, printed_risk, risk};
use attnlab_core::linalg::normal_matrix;
use attnlab_core::stats::log_log_slope;
use attnlab_lab::prelude::*;
use ndarray::{Array1, Array2, ArrayView1};

/// The target of a trial, by name, on a task of about unit variance.
fn target(params: &Params, test: &Covariance, streams: &Streams) -> Result<Target> {
    let d = test.dim();
    let task = normal_task(d, streams);
    let task = &task / task.dot(&test.matrix().dot(&task)).sqrt();
    match params.get(TARGET) {
        "linear" => Ok(Target::Linear { task }),
        "quadratic" => {
            let g = normal_matrix(d, d, &mut streams.part("form", 0));
            let form = (&g + &g.t()) / (2.0 * d as f64);
            Ok(Target::Quadratic { task, form })
        }
        name => {
            let link = Link::parse(name)?;
            Ok(Target::Index { task, link })
        }
    }
}

fn risk_schema(target: &'static str, factor: f64) -> Schema {
    let test = [
        EXAMPLES.within(Domain::Whole(1, 10_000_000)).or(30),
        TARGET.or(target),
        TEST_NOISE.or(0.5),
        COVARIANCE_FACTOR.or(factor),
        TEST_PROMPTS.or(4000),
    ];
    training_schema(5, 4.0, 20, test)
}

/// The time (s) of a trial that draws and multiplies M examples of d inputs per prompt.
fn seconds_of_prompts(params: &Params, examples: f64) -> f64 {
    params.real(TEST_PROMPTS) * examples * params.real(DIM).powi(2) / PER_SECOND
}

struct Trial {
    training: Pretraining,
    test: Covariance,
    target: Target,
    moments: LabelMoments,
}

impl Trial {
    fn new(params: &Params, streams: &Streams) -> Result<Self> {
        let training = Pretraining::new(covariance(params, streams)?, params.get(CONTEXT), 0.0)?;
        let test = training.covariance().scaled(params.get(COVARIANCE_FACTOR))?;
        let target = target(params, &test, streams)?;
        let moments = target.moments(&test, params.get(TEST_NOISE));
        Ok(Trial { training, test, target, moments })
    }

    /// a, the best linear predictor at test time.
    fn best(&self) -> Array1<f64> {
        self.test.with_values(&self.test.values().mapv(|l| 1.0 / l)).dot(&self.moments.correlation)
    }

    fn prompts(&self, m: usize, params: &Params) -> RegressionPrompts {
        RegressionPrompts {
            covariance: self.test.clone(),
            query: None,
            examples: m,
            task: PromptTask::Fixed(self.target.clone()),
            noise_var: params.get(TEST_NOISE),
        }
    }

    /// E(ŷ - y)² less that of the best linear predictor, of a layer with weights θ̂ = Γ⁻¹b̂: the mean over
    /// test prompts of ‖θ̂ - a‖², the query averaged exactly, of which only x ~ N(0, Λ_t) is used.
    fn excess_of_predictor(&self, m: usize, params: &Params, streams: &Streams) -> f64 {
        let prompts = self.prompts(m, params);
        let (gi, a) = (self.training.gamma_inverse(), self.best());
        let (mut rng, mut sum) = (streams.part("prompts", m as u64), 0.0);
        for _ in 0..params.get(TEST_PROMPTS) {
            let error: Array1<f64> = gi.dot(&prompts.draw_correlation(&self.target, &mut rng)) - &a;
            sum += error.dot(&self.test.matrix().dot(&error));
        }
        sum / params.real(TEST_PROMPTS)
    }

    /// The same excess by the layer itself, with the weights at the end of the flow: the mean over test
    /// prompts and [`QUERIES`] queries of (ŷ - ⟨a, x⟩)², which is that of (ŷ - y)² less the least one,
    /// because y - ⟨a, x⟩ is uncorrelated to x.
    fn excess_of_layer(&self, m: usize, params: &Params, streams: &Streams) -> Result<f64> {
        let start = theorem_start(&self.training, 0.1, streams)?;
        let end = limit_of_flow(&self.training, &start, ARRIVED)?.within(ARRIVED)?;
        let weights = end.weights.rotated(self.training.covariance().axes().t());
        let (prompts, a) = (self.prompts(m, params), self.best());
        let (mut rng, mut sum) = (streams.part("prompts", m as u64), 0.0);
        for _ in 0..params.get(TEST_PROMPTS) {
            let (examples, queries) = prompts.draw_queries(&self.target, QUERIES, &mut rng);
            let predictions = weights.predictions(examples.view(), queries.view(), m as f64);
            let off = |(x, y): (ArrayView1<f64>, &f64)| (y - a.dot(&x)).powi(2);
            sum += queries.columns().into_iter().zip(&predictions).map(off).sum::<f64>();
        }
        Ok(sum / (QUERIES as f64 * params.real(TEST_PROMPTS)))
    }
}

/// Queries per test prompt. The variance of a prompt's mean over them is at most 1 + 2/8 times its variance
/// over the examples alone.
const QUERIES: usize = 8;

/// The risk formula, without shift or under Λ → cΛ.
#[derive(Serialize, Deserialize)]
pub struct RiskFormula {
    /// The statement whose sheet it bears: for a mutant, the one that it belongs to.
    statement: Statement,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Statement {
    Printed,
    Corrected,
    Shift,
}

/// The formula that is claimed for the excess risk.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// With Λ⁻²Λ, as printed.
    Printed,
    /// With Γ⁻²Λᵏ.
    Corrected,
    /// The corrected one without the 1/M term.
    NoVariance,
    /// The corrected one without the 1/N² terms.
    NoBias,
    /// The corrected one with E[y²xxᵀ] for Σ, its covariance.
    SecondMoment,
    /// The corrected one with tr Λ for 2 tr Λ in the 1/N² term.
    CrossOnce,
    /// The one without shift, under shift.
    NoShift,
}

impl RiskFormula {
    /// As printed.
    pub const PRINTED: Self = RiskFormula { statement: Statement::Printed, form: Form::Printed };
    /// Corrected.
    pub const CORRECTED: Self = RiskFormula { statement: Statement::Corrected, form: Form::Corrected };
    /// The derived law under shift.
    pub const SHIFT: Self = RiskFormula { statement: Statement::Shift, form: Form::Corrected };

    fn excess(&self, trial: &Trial, m: usize) -> f64 {
        let Trial { training, test, moments, .. } = trial;
        let corrected = risk(training, test, moments, Some(m));
        match self.form {
            Form::Printed => printed_risk(training, moments, m).excess(),
            Form::Corrected => corrected.excess(),
            Form::NoVariance => corrected.bias,
            Form::NoBias => corrected.variance,
            Form::CrossOnce => corrected.excess() - cross(training, moments),
            Form::SecondMoment => {
                let r = &moments.correlation;
                let outer = Array2::from_shape_fn((r.len(), r.len()), |(i, j)| r[i] * r[j]);
                let moments = LabelMoments { products: &moments.products + &outer, ..moments.clone() };
                risk(training, test, &moments, Some(m)).excess()
            }
            Form::NoShift => {
                let scale = test.trace() / training.covariance().trace();
                let moments = LabelMoments {
                    correlation: &moments.correlation / scale,
                    products: &moments.products / (scale * scale),
                    ..moments.clone()
                };
                risk(training, training.covariance(), &moments, Some(m)).excess()
            }
        }
    }
}

impl Claim for RiskFormula {
    from_sheet!(
        self,
        match self.statement {
            Statement::Printed => sheet!("lsa.risk_printed"),
            Statement::Corrected => sheet!("lsa.risk"),
            Statement::Shift => sheet!("lsa.shift"),
        }
    );

    fn schema(&self) -> Schema {
        if self.statement == Statement::Shift { risk_schema("linear", 2.0) } else { risk_schema("quadratic", 1.0) }
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn seconds(&self, params: &Params) -> f64 {
        seconds_of_prompts(params, params.real(EXAMPLES))
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        if self.statement == Statement::Shift { vec![] } else { no_shift(params) }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let trial = Trial::new(params, streams)?;
        let m = params.get(EXAMPLES);
        let measured = trial.excess_of_layer(m, params, streams)?;
        let claimed = self.excess(&trial, m);
        Ok(Outcome::Value {
            value: measured / claimed,
            witness: witness! {
                "measured_excess" => measured, "claimed_excess" => claimed,
                "best_linear" => risk(&trial.training, &trial.test, &trial.moments, None).best,
            },
        })
    }

    /// 1 within 1 %: three times the Monte Carlo error at the defaults.
    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(0.99, 1.01)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        trials_of_ratio(params.get(EXAMPLES))
    }
}

/// tr(Λ)/N² ‖a‖² in the norm of Γ⁻²Λ², half of the middle one of the 1/N² terms.
fn cross(training: &Pretraining, moments: &LabelMoments) -> f64 {
    let lambda = training.covariance();
    let (n, axes) = (training.context() as f64, lambda.axes());
    // Λa = r, so that aᵀΓ⁻²Λ²a = rᵀΓ⁻²r.
    let r = axes.t().dot(&moments.correlation) / training.gamma();
    lambda.trace() * r.dot(&r) / (n * n)
}

fn no_shift(params: &Params) -> Vec<Hypothesis> {
    let off = (params.get(COVARIANCE_FACTOR) - 1.0).abs();
    vec![Hypothesis::new("no shift", "x ~ N(0, Λ) at test time as in training (scale = 1)", 0.0 - off)]
}

/// tr Λ / λ_min + 1 over N at the smallest N of the slope over N, or less: the slope is off its limit by at
/// most twice that.
const FAR: f64 = 0.01;

/// The largest M of the slope over M.
const MOST_EXAMPLES: usize = 160;

/// The smallest N of the slope over N, for any Λ drawn.
fn first_context(params: &Params) -> usize {
    ((params.real(DIM) * params.get(CONDITION) + 1.0) / FAR).ceil() as usize
}

/// The slopes of the excess risk: -1 in M, -2 in N.
#[derive(Serialize, Deserialize)]
pub struct Rate {
    /// Over N, of the network that the flow leads to; else over M.
    over_n: bool,
    slope: f64,
}

impl Rate {
    /// 1/M.
    pub const IN_M: Self = Rate { over_n: false, slope: -1.0 };
    /// 1/N².
    pub const IN_N: Self = Rate { over_n: true, slope: -2.0 };

    /// Half-width of the band.
    fn tolerance(&self) -> f64 {
        if self.over_n { 0.03 } else { 0.02 }
    }

    /// Excess risk against M at N → ∞ (Γ = Λ to one part in 10⁹), measured.
    fn against_m(params: &Params, streams: &Streams) -> Result<(Vec<f64>, Vec<f64>)> {
        let mut trial = Trial::new(params, streams)?;
        trial.training = Pretraining::new(trial.training.covariance().clone(), 1_000_000_000, 0.0)?;
        let sizes = [10, 20, 40, 80, MOST_EXAMPLES];
        let excess = sizes.map(|m| trial.excess_of_predictor(m, params, streams));
        Ok((sizes.map(|m| m as f64).to_vec(), excess.to_vec()))
    }

    /// Excess risk at M → ∞ against N, of the weights at the end of the flow.
    fn against_n(params: &Params, streams: &Streams) -> Result<(Vec<f64>, Vec<f64>)> {
        let trial = Trial::new(params, streams)?;
        let lambda = trial.training.covariance();
        let task = normal_task(lambda.dim(), streams);
        let first = first_context(params);
        let sizes = [first, 3 * first, 10 * first, 30 * first];
        let mut excess = vec![];
        for n in sizes {
            let training = Pretraining::new(lambda.clone(), n, 0.0)?;
            let start = theorem_start(&training, 0.1, streams)?;
            // The bias is (λ + tr Λ)/(Nγ) > 1/N in each direction: a thousandth of it at most.
            let near = 1e-3 / n as f64;
            let end = limit_of_flow(&training, &start, near)?.within(near)?.weights.rotated(lambda.axes().t());
            // b̂ → Λa, and ŷ = b̂ᵀAx.
            let error = end.product().t().dot(&lambda.matrix().dot(&task)) - &task;
            excess.push(error.dot(&lambda.matrix().dot(&error)));
        }
        Ok((sizes.map(|n| n as f64).to_vec(), excess))
    }
}

impl Claim for Rate {
    from_sheet!(self, if self.over_n { sheet!("lsa.rate_n") } else { sheet!("lsa.rate_m") });

    fn schema(&self) -> Schema {
        risk_schema("linear", 1.0)
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn seconds(&self, params: &Params) -> f64 {
        if self.over_n { 0.0 } else { seconds_of_prompts(params, MOST_EXAMPLES as f64) }
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        no_shift(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let measured = if self.over_n { Rate::against_n } else { Rate::against_m };
        let (sizes, excess) = measured(params, streams)?;
        let slope = log_log_slope(&sizes, &excess, 0.95)?;
        Ok(Outcome::Value {
            value: slope.value,
            witness: witness! { "sizes" => sizes, "excess" => excess, "slope" => slope.value },
        })
    }

    /// Over M the law is exact and the interval is Monte Carlo's alone, 0.003 wide at the defaults. Over N the
    /// local slope is off -2 by at most 2(tr Λ/λ_min + 1)/N, at most 0.02 ([`FAR`]) at the smallest N.
    fn promise(&self, _params: &Params) -> Promise {
        let tolerance = self.tolerance();
        Promise::MeanIn(self.slope - tolerance, self.slope + tolerance)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        if self.over_n { 6 } else { 20 }
    }
}
