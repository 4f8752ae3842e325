//! Training linear self-attention: flow, limit, risk and shifts (lecture notes).

use super::common::{cell, condition, covariance, named, time};
use crate::PAPERS;
use crate::quantities::{CONDITION, CONTEXT, ETA, EXAMPLES, PART, PARTS, SHIFT, SHIFTED, SHIFTS};
use crate::theory::{Covariance, Law, Pretraining, Risk, Target, risk_at_query};
use attnlab_lab::prelude::*;
use ndarray::Array1;

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

settings! {
    /// The lecture notes' two theorems in pictures.
    #[experiment("lsa.flow", rows = "lsa_flow",
        title = "Linear self-attention: flow, limit, risk in N and M, shifts")]
    #[source(&PAPERS[0], "both theorems (Zhang, Frei and Bartlett)")]
    #[alias(CONTEXT.name, "context")]
    pub struct LsaFlow {
        pub trials: u64 = spread,
        pub dim: usize = whole(2..),
        pub context: usize = whole(1..),
        pub scale: f64 = positive,
        pub conditions: Vec<f64> = condition,
        pub until: f64 = time,
        pub points: usize = whole(2..),
        pub descent_condition: f64 = condition,
        pub descent_until: f64 = positive,
        pub eta: Vec<f64> = positive,
        pub risk_condition: f64 = condition,
        pub noise_var: f64 = non_negative,
        pub contexts: Vec<usize> = whole(1..),
        pub examples: Vec<usize> = whole(1..),
        pub prompts: usize = whole(1..),
        pub shift: Vec<f64> = positive,
        pub shift_contexts: Vec<usize> = whole(1..),
        pub softmax_contexts: Vec<usize> = whole(1..),
        pub softmax_prompts: usize = whole(1..),
    }
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
        (0..40).map(|i: usize| first * (self.descent_until / first).powf(f64::from(i as u32) / 39.0)).collect()
    }
}

impl Experiment for LsaFlow {
    fn validate(&self) -> Result<()> {
        let first = self.eta.iter().copied().fold(0.0, f64::max);
        let allowed = format!("must be a number above the largest eta, {first}");
        require(self.descent_until > first, "descent_until", self.descent_until, allowed)
    }

    fn memory(&self, _cell: &Params) -> u64 {
        // Λ, its root, Γ and their inverses; the state of the flow with the stages of a step.
        let d = self.dim as u64;
        memory::product(&[8, 32, d, d])
    }

    /// One "part" each: "flow", "descent", "risk", "limit" (M → ∞), "shift", "softmax".
    fn cells(&self) -> Result<Vec<Params>> {
        let mut cells = vec![];
        cells.extend(self.conditions.iter().map(|condition| cell("flow", [CONDITION.is(*condition)])));
        cells.extend(self.eta.iter().map(|eta| cell("descent", [ETA.is(*eta)])));
        for n in &self.contexts {
            cells.push(cell("limit", [CONTEXT.is(*n)]));
            cells.extend(self.examples.iter().map(|m| cell("risk", [CONTEXT.is(*n), EXAMPLES.is(*m)])));
        }
        for (n, what, c) in iproduct!(&self.shift_contexts, SHIFTS, &self.shift) {
            cells.push(cell("shift", [SHIFTED.is(what), CONTEXT.is(*n), SHIFT.is(*c)]));
        }
        cells.extend(self.softmax_contexts.iter().map(|n| cell("softmax", [CONTEXT.is(*n)])));
        Ok(cells)
    }

    fn trial(&self, cell: &Params, streams: &Streams) -> Result<Map<String, Value>> {
        let data = match cell.get(PART) {
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
        data.map_err(|error| named(error, Self::NAME, cell, &settings))
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
