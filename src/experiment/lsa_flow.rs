//! Training linear self-attention: flow, limit, risk and shifts (lecture notes).

use super::Experiment;
use super::lsa_common::{cell, covariance, validate_condition, validate_counts, validate_times};
use super::settings::{self, Described};
use crate::error::{self, Error, Result};
use crate::figure::Figure;
use crate::params::Params;
use crate::rng::Streams;
use crate::run::{Row, memory};
use crate::theory::lsa::{Covariance, Law, Risk, Target, Training, risk_at_query};
use ndarray::Array1;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod parts;
mod pictures;

/// What can be shifted by a factor c: the covariance of examples and query, that of the query alone,
/// or the variance of the labels through the task.
const SHIFTS: [&str; 3] = ["covariance", "query", "task"];

/// A trained layer, and what it is tested on.
struct Test {
    training: Training,
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
        let law = |covariance, moments| Law {
            covariance,
            moments,
        };
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
    /// d.
    pub dim: usize,
    /// N in training, where not varied.
    pub context: usize,
    /// σ, scale of the theorem's initial weights.
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
    const ID: &'static str = "lsa_flow";
    const TITLE: &'static str = "Linear self-attention: flow, limit, risk in N and M, shifts";
    const SOURCE: &'static str = "Lecture notes: transformers and linear attention, both theorems (Zhang, Frei and Bartlett)";
}

impl LsaFlow {
    /// Training at N on the Λ of the risk experiment.
    fn risk_training(&self, n: usize) -> Result<Training> {
        Training::new(covariance(self.dim, self.risk_condition)?, n, 0.0)
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
            target: Target::Linear {
                task: Array1::from_elem(self.dim, size),
            },
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
    fn id(&self) -> &'static str {
        Self::ID
    }

    fn settings(&self) -> Map<String, Value> {
        settings::as_json(self)
    }

    fn validate(&self) -> Result<()> {
        settings::spread("trials", self.trials)?;
        if self.dim < 2 {
            return Err(Error::invalid("dim", self.dim, "a whole number >= 2"));
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
        for (name, list) in [
            ("conditions", &self.conditions),
            ("eta", &self.eta),
            ("shift", &self.shift),
        ] {
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
            let allowed = format!("a number above the largest eta, {first}");
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
        let mut add = |part: &str, values: &[(&str, Value)]| cells.push(cell(part, values));
        for condition in &self.conditions {
            add("flow", &[("condition", (*condition).into())]);
        }
        for eta in &self.eta {
            add("descent", &[("eta", (*eta).into())]);
        }
        for n in &self.contexts {
            add("limit", &[("N", (*n).into())]);
            for m in &self.examples {
                add("risk", &[("N", (*n).into()), ("M", (*m).into())]);
            }
        }
        for n in &self.shift_contexts {
            for what in SHIFTS {
                for c in &self.shift {
                    let values = [
                        ("what", what.into()),
                        ("N", (*n).into()),
                        ("c", (*c).into()),
                    ];
                    add("shift", &values);
                }
            }
        }
        for n in &self.softmax_contexts {
            add("softmax", &[("N", (*n).into())]);
        }
        Ok(cells)
    }

    fn trials(&self) -> u64 {
        self.trials
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        match cell.text("part") {
            "flow" => parts::flow(self, cell.f64("condition"), streams),
            "descent" => parts::descent(self, cell.f64("eta"), streams),
            "limit" => parts::limit(self, cell.usize("N"), streams),
            "risk" => {
                let test = self.test(cell.usize("N"), cell.usize("M"), "covariance", 1.0)?;
                parts::risk(self, &test, streams)
            }
            "shift" => {
                let (what, c) = (cell.text("what"), cell.f64("c"));
                let test = self.test(cell.usize("N"), self.context, what, c)?;
                parts::risk(self, &test, streams)
            }
            _ => parts::softmax(self, cell.usize("N"), streams),
        }
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
