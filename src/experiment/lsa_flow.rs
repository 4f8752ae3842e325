//! Training linear self-attention: flow, limit, risk, shift and failing starts (lecture notes).

use super::Experiment;
use super::settings::{self, Described};
use crate::error::{Error, Result};
use crate::figure::Figure;
use crate::params::Params;
use crate::rng::Streams;
use crate::run::Row;
use crate::theory::lsa::{Covariance, Target, Training};
use ndarray::Array1;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod parts;
mod pictures;

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
    /// Factors c on the test covariance.
    pub shift: Vec<f64>,
    /// Values of N in the shift experiment.
    pub shift_contexts: Vec<usize>,
    /// Values of N = M at which softmax attention is compared.
    pub softmax_contexts: Vec<usize>,
    /// Prompts on which it is fitted, and as many on which it is tested.
    pub softmax_prompts: usize,
    /// d of the dense starts.
    pub start_dim: usize,
    /// Their values of N.
    pub start_contexts: Vec<usize>,
    /// Standard deviations of their weights.
    pub start_scales: Vec<f64>,
    /// Dense starts per draw.
    pub starts: usize,
}

impl Described for LsaFlow {
    const ID: &'static str = "lsa_flow";
    const TITLE: &'static str =
        "Linear self-attention: flow, limit, risk in N and M, shift, failures";
    const SOURCE: &'static str = "Lecture notes: transformers and linear attention, both theorems (Zhang, Frei and Bartlett)";
}

impl LsaFlow {
    /// Λ with eigenvalues log-spaced from 1 to 1/condition. The axes do not matter: flow and risk
    /// are the same in all.
    fn covariance(d: usize, condition: f64) -> Result<Covariance> {
        let last = d.saturating_sub(1).max(1) as f64;
        let value = |i: usize| condition.powf(-(i as f64) / last);
        Covariance::diagonal(&(0..d).map(value).collect::<Vec<_>>())
    }

    /// Training at N on the Λ of the risk experiment.
    fn risk_training(&self, n: usize) -> Result<Training> {
        Training::new(Self::covariance(self.dim, self.risk_condition)?, n, 0.0)
    }

    /// The test task: equal weight on every axis, unit variance ⟨a, Λa⟩ = 1.
    fn task(&self) -> Result<Target> {
        let trace = Self::covariance(self.dim, self.risk_condition)?.trace();
        let task = Array1::from_elem(self.dim, trace.powf(-0.5));
        Ok(Target::Linear { task })
    }

    /// The times at which the flow is shown.
    fn times(&self) -> Vec<f64> {
        let (first, last) = (0.1_f64, (self.points - 1) as f64);
        let at = |i: usize| first * (self.until / first).powf(i as f64 / last);
        let mut times: Vec<f64> = (0..self.points - 1).map(at).collect();
        times.push(self.until);
        times
    }

    /// The same for gradient descent, from the largest step size on.
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
        if self.trials < 2 {
            let allowed = "at least 2: bands and bars are their spread";
            return Err(Error::invalid("trials", self.trials, allowed));
        }
        let least_two = [
            ("dim", self.dim),
            ("points", self.points),
            ("start_dim", self.start_dim),
        ];
        if let Some((name, value)) = least_two.iter().find(|(_, x)| *x < 2) {
            return Err(Error::invalid(*name, value, "a whole number >= 2"));
        }
        let counts = [
            ("context", self.context),
            ("prompts", self.prompts),
            ("softmax_prompts", self.softmax_prompts),
            ("starts", self.starts),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, x)| *x == 0) {
            return Err(Error::invalid(*name, 0, "a whole number >= 1"));
        }
        for (name, list) in [
            ("contexts", &self.contexts),
            ("examples", &self.examples),
            ("shift_contexts", &self.shift_contexts),
            ("softmax_contexts", &self.softmax_contexts),
            ("start_contexts", &self.start_contexts),
        ] {
            let list: Vec<f64> = list.iter().map(|n| *n as f64).collect();
            settings::positive(name, &list)?;
        }
        for (name, list) in [
            ("conditions", &self.conditions),
            ("eta", &self.eta),
            ("shift", &self.shift),
            ("start_scales", &self.start_scales),
        ] {
            settings::positive(name, list)?;
        }
        for (name, x) in [("scale", self.scale), ("until", self.until)] {
            settings::positive(name, &[x])?;
        }
        settings::positive("descent_until", &[self.descent_until])?;
        let fixed = [self.descent_condition, self.risk_condition];
        if let Some(c) = self.conditions.iter().chain(&fixed).find(|c| **c < 1.0) {
            return Err(Error::invalid("condition number", c, "a number >= 1"));
        }
        if self.until <= 0.1 {
            return Err(Error::invalid("until", self.until, "a number > 0.1"));
        }
        let first = self.eta.iter().copied().fold(0.0, f64::max);
        if self.descent_until <= first {
            let allowed = format!("a number above the largest eta, {first}");
            return Err(Error::invalid("descent_until", self.descent_until, allowed));
        }
        if !(self.noise_var >= 0.0 && self.noise_var.is_finite()) {
            return Err(Error::invalid(
                "noise_var",
                self.noise_var,
                "a finite number >= 0",
            ));
        }
        Ok(())
    }

    /// One "part" each: "flow", "descent", "risk", "limit" (M → ∞), "shift", "softmax", "starts".
    fn cells(&self) -> Result<Vec<Params>> {
        let mut cells = vec![];
        let mut add = |part: &str, values: &[(&str, Value)]| {
            let head = ("part".to_string(), Value::from(part));
            let rest = values
                .iter()
                .map(|(name, value)| (name.to_string(), value.clone()));
            cells.push(std::iter::once(head).chain(rest).collect());
        };
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
            for c in &self.shift {
                add("shift", &[("N", (*n).into()), ("shift", (*c).into())]);
            }
        }
        for n in &self.softmax_contexts {
            add("softmax", &[("N", (*n).into())]);
        }
        for scale in &self.start_scales {
            for n in &self.start_contexts {
                add("starts", &[("N", (*n).into()), ("scale", (*scale).into())]);
            }
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
            "risk" => parts::risk(self, cell.usize("N"), cell.usize("M"), 1.0, streams),
            "shift" => parts::risk(
                self,
                cell.usize("N"),
                self.context,
                cell.f64("shift"),
                streams,
            ),
            "softmax" => parts::softmax(self, cell.usize("N"), streams),
            _ => parts::starts(self, cell.usize("N"), cell.f64("scale"), streams),
        }
    }

    fn figures(&self, rows: &[Row]) -> Result<Vec<Figure>> {
        pictures::figures(self, rows)
    }
}
