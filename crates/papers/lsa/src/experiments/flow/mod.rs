//! Training linear self-attention: flow, limit, risk and shifts (lecture notes).

use super::common::{cell, covariance, named, validate_condition, validate_counts, validate_times};
use crate::PAPERS;
use crate::quantities::{CONDITION, CONTEXT, ETA, EXAMPLES, PART, PARTS, SHIFT, SHIFTED, SHIFTS};
use crate::theory::{Covariance, Law, Pretraining, Risk, Target, risk_at_query};
use attnlab_core::error;
use attnlab_core::error::{Error, Result};
use attnlab_core::params::Params;
use attnlab_core::rng::Streams;
use attnlab_lab::claim::Source;
use attnlab_lab::experiment::Experiment;
use attnlab_lab::experiment::{Described, settings};
use attnlab_lab::figure::Figure;
use attnlab_lab::run::{Row, memory};
use ndarray::Array1;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod parts;
mod pictures;

/// A trained layer with the law that it is tested on.
struct Test {
    training: Pretraining,
    examples: Covariance,
    query: Covariance,
    target: Target,
    /// M.
    count: usize,
    noise_var: f64,
}

impl Test {
    /// The risk by the corrected formula, for M → ∞ where `infinite`.
    fn predicted(&self, infinite: bool) -> Risk {
        let moments = |covariance| self.target.moments(covariance, self.noise_var);
        let (examples, query) = (moments(&self.examples), moments(&self.query));
        let law = |covariance, moments| Law { covariance, moments };
        risk_at_query(
            &self.training,
            law(&self.examples, &examples),
            law(&self.query, &query),
            (!infinite).then_some(self.count),
        )
    }

    /// E y² of the query's label without noise.
    fn signal(&self) -> f64 {
        self.target.moments(&self.query, 0.0).square
    }
}

/// The lecture notes' two theorems in pictures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LsaFlow {
    /// Independent draws per cell.
    pub trials: u64,
    /// Dimension d of the inputs.
    pub dim: usize,
    /// Number N of examples in training, where not varied.
    pub context: usize,
    /// Scale σ of the theorem's initial weights.
    pub scale: f64,
    /// Condition numbers of Λ under the flow.
    pub conditions: Vec<f64>,
    /// Time of the flow.
    pub until: f64,
    /// Times at which it is shown.
    pub points: usize,
    /// Condition number of Λ under gradient descent.
    pub descent_condition: f64,
    /// Time of gradient descent, steps times step size.
    pub descent_until: f64,
    /// Step sizes.
    pub eta: Vec<f64>,
    /// Condition number of Λ in the risk and shift experiments.
    pub risk_condition: f64,
    /// Variance of the label noise at test time.
    pub noise_var: f64,
    /// Values of N in the risk experiment.
    pub contexts: Vec<usize>,
    /// Values of M.
    pub examples: Vec<usize>,
    /// Test prompts per draw.
    pub prompts: usize,
    /// Factors c on what is shifted.
    pub shift: Vec<f64>,
    /// Values of N in the shift experiment.
    pub shift_contexts: Vec<usize>,
    /// Values of N = M at which softmax attention is compared.
    pub softmax_contexts: Vec<usize>,
    /// Prompts on which it is fitted, and as many on which it is tested.
    pub softmax_prompts: usize,
}

impl Described for LsaFlow {
    const ID: &'static str = "lsa.flow";
    const NAME: &'static str = "lsa_flow";
    const TITLE: &'static str = "Linear self-attention: flow, limit, risk in N and M, shifts";
    const SOURCE: Source = Source { paper: &PAPERS[0], place: "both theorems (Zhang, Frei and Bartlett)" };
    const ALIASES: &'static [(&'static str, &'static str)] = &[(CONTEXT.name, "context")];
}

impl LsaFlow {
    /// Training at N on the Λ of the risk experiment.
    fn risk_training(&self, n: usize) -> Result<Pretraining> {
        Pretraining::new(covariance(self.dim, self.risk_condition)?, n, 0.0)
    }

    /// Tested on M = `count` examples, with `what` shifted by c. The task has equal weight on every
    /// axis and unit variance ⟨a, Λa⟩ = 1 without shift.
    fn test(&self, n: usize, count: usize, what: &str, c: f64) -> Result<Test> {
        let training = self.risk_training(n)?;
        let usual = training.covariance().clone();
        let size = usual.trace().powf(-0.5);
        let shifted = usual.scaled(c)?;
        let (examples, query, size) = match what {
            "covariance" => (shifted.clone(), shifted, size),
            "query" => (usual, shifted, size),
            "task" => (usual.clone(), usual, size * c.sqrt()),
            other => return Err(Error::unknown("shift", other, SHIFTS)),
        };
        Ok(Test {
            training,
            examples,
            query,
            target: Target::Linear { task: Array1::from_elem(self.dim, size) },
            count,
            noise_var: self.noise_var,
        })
    }

    /// The times at which gradient descent is shown, from the largest step size on.
    fn descent_times(&self) -> Vec<f64> {
        let first = self.eta.iter().copied().fold(0.0, f64::max);
        let at = |i: usize| first * (self.descent_until / first).powf(f64::from(i as u32) / 39.0);
        (0..40).map(at).collect()
    }
}

impl Experiment for LsaFlow {
    fn validate(&self) -> Result<()> {
        settings::spread("trials", self.trials)?;
        if self.dim < 2 {
            return Err(Error::invalid("dim", self.dim, "must be a whole number >= 2"));
        }
        validate_times(self.until, self.points)?;
        validate_counts(&[
            ("context", self.context),
            ("prompts", self.prompts),
            ("softmax_prompts", self.softmax_prompts),
        ])?;
        for (name, list) in [
            ("contexts", &self.contexts),
            ("examples", &self.examples),
            ("shift_contexts", &self.shift_contexts),
            ("softmax_contexts", &self.softmax_contexts),
        ] {
            let list: Vec<f64> = list.iter().map(|n| *n as f64).collect();
            settings::positive(name, &list)?;
        }
        for (name, list) in [("conditions", &self.conditions), ("eta", &self.eta), ("shift", &self.shift)] {
            settings::positive(name, list)?;
        }
        error::positive("scale", self.scale)?;
        error::positive("descent_until", self.descent_until)?;
        for c in &self.conditions {
            validate_condition("conditions", *c)?;
        }
        validate_condition("descent_condition", self.descent_condition)?;
        validate_condition("risk_condition", self.risk_condition)?;
        let first = self.eta.iter().copied().fold(0.0, f64::max);
        if self.descent_until <= first {
            let allowed = format!("must be a number above the largest eta, {first}");
            return Err(Error::invalid("descent_until", self.descent_until, allowed));
        }
        error::non_negative("noise_var", self.noise_var)
    }

    fn memory(&self, _cell: &Params) -> u64 {
        // Λ, its root, Γ and their inverses; the state of the flow with the stages of a step.
        let d = self.dim as u64;
        memory::product(&[8, 32, d, d])
    }

    /// One "part" each: "flow", "descent", "risk", "limit" (M → ∞), "shift", "softmax".
    fn cells(&self) -> Result<Vec<Params>> {
        let mut cells = vec![];
        for condition in &self.conditions {
            cells.push(cell("flow", [CONDITION.is(*condition)]));
        }
        for eta in &self.eta {
            cells.push(cell("descent", [ETA.is(*eta)]));
        }
        for n in &self.contexts {
            cells.push(cell("limit", [CONTEXT.is(*n)]));
            for m in &self.examples {
                cells.push(cell("risk", [CONTEXT.is(*n), EXAMPLES.is(*m)]));
            }
        }
        for n in &self.shift_contexts {
            for what in SHIFTS {
                for c in &self.shift {
                    let values = [SHIFTED.is(what), CONTEXT.is(*n), SHIFT.is(*c)];
                    cells.push(cell("shift", values));
                }
            }
        }
        for n in &self.softmax_contexts {
            cells.push(cell("softmax", [CONTEXT.is(*n)]));
        }
        Ok(cells)
    }

    fn trials(&self) -> u64 {
        self.trials
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let found = match cell.get(PART) {
            "flow" => parts::flow(self, cell.get(CONDITION), streams),
            "descent" => parts::descent(self, cell.get(ETA), streams),
            "limit" => parts::limit(self, cell.get(CONTEXT), streams),
            "risk" => {
                let (n, m) = (cell.get(CONTEXT), cell.get(EXAMPLES));
                parts::risk(self, &self.test(n, m, "covariance", 1.0)?, streams)
            }
            "shift" => {
                let (n, what, c) = (cell.get(CONTEXT), cell.get(SHIFTED), cell.get(SHIFT));
                parts::risk(self, &self.test(n, self.context, what, c)?, streams)
            }
            "softmax" => parts::softmax(self, cell.get(CONTEXT), streams),
            other => Err(Error::unknown("part", other, PARTS)),
        };
        let settings = [
            ("dim", self.dim as f64),
            ("context", self.context as f64),
            ("scale", self.scale),
            ("until", self.until),
            ("descent_condition", self.descent_condition),
            ("descent_until", self.descent_until),
            ("risk_condition", self.risk_condition),
        ];
        found.map_err(|error| named(error, Self::NAME, cell, &settings))
    }

    fn size(&self) -> String {
        format!(
            "*d* = {}, {} prompts, {} draws; *N* = {} where it is not on an axis",
            self.dim, self.prompts, self.trials, self.context
        )
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
