//! Theorems 4 and 5: retrieval with one update, and its error.

use crate::quantities::{AWAY, BETA, DIM, PATTERNS, RADIUS, above, closed};
use crate::theory::stored::uniform;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::memory::DenseMemory;

/// A bound on what one update, or all of them, leave of the distance to a pattern.
#[derive(Clone, Copy, Debug)]
pub struct Retrieval {
    form: Form,
    /// The bound is multiplied by it; 1 but for the near mutants.
    factor: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// |f(ξ) − x_i*| by the Jacobian.
    OneUpdate,
    /// |f(ξ) − x_i|.
    Error,
    /// |x_i − x_i*|.
    FixedPoint,
}

/// Rounding of a distance relative to the length of the patterns, with what the fixed point is off by.
const ROUNDING: f64 = 1e-11;

impl Retrieval {
    /// Theorem 4.
    pub const ONE_UPDATE: Self = Self::of(Form::OneUpdate);
    /// The first bound of Theorem 5.
    pub const ERROR: Self = Self::of(Form::Error);
    /// Its second bound.
    pub const FIXED_POINT: Self = Self::of(Form::FixedPoint);

    /// Distance of the query over M; Theorem 5's second bound has no query of its own.
    fn away(&self, params: &Params) -> f64 {
        match self.form {
            Form::FixedPoint => 0.0,
            _ => params.get(AWAY),
        }
    }

    const fn of(form: Form) -> Self {
        Retrieval { form, factor: 1.0 }
    }
}

impl Claim for Retrieval {
    fn sheet(&self) -> &'static Sheet {
        match self.form {
            Form::OneUpdate => sheet!("memory.theorem4"),
            Form::Error => sheet!("memory.theorem5"),
            Form::FixedPoint => sheet!("memory.theorem5_fixed_point"),
        }
    }

    fn schema(&self) -> Schema {
        let mut all = vec![
            DIM.within(Domain::Whole(2, 128)).or(8),
            PATTERNS.within(Domain::Whole(2, 300)).or(5),
            RADIUS.within(closed(0.1, 10.0)).or(1.0),
            BETA.within(closed(0.01, 100.0)).or(2.0),
        ];
        if self.form != Form::FixedPoint {
            all.push(AWAY.within(above(0.0, 0.5)).or(0.02));
        }
        all
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        // A typical largest cosine of another pattern.
        let (d, n) = (params.real(DIM), params.real(PATTERNS));
        let nearest = (n.ln() / d).sqrt();
        let heat = params.get(BETA) * params.get(RADIUS).powi(2) * (d - 1.0);
        let least = heat * (1.0 - nearest - 2.0 * self.away(params)) - (2.0 * n).ln();
        let printed = "sufficiently large separation [here: β M² (1 - √(log N/d) - 2|ξ - x_i|/M) >= log 2N]";
        vec![Hypothesis::new("separation", printed, least)]
    }

    fn seconds(&self, params: &Params) -> f64 {
        let d = params.real(DIM);
        1e-4 + 200.0 * d * params.real(PATTERNS) * 2e-9 + 10.0 * d.powi(3) * 1e-8
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (d, n, beta) = (params.get(DIM), params.get(PATTERNS), params.get(BETA));
        let length = params.get(RADIUS) * ((d - 1) as f64).sqrt();
        let patterns = uniform(d, n, length, &mut streams.part("patterns", 0))?;
        let aside = uniform(d, 1, length * self.away(params), &mut streams.part("query", 0))?;
        let own = patterns.column(0);
        let query = &own + &aside.column(0);
        let memory = DenseMemory::new(patterns.view(), 1.0, beta)?;
        let found = memory.minima_from(own.to_owned().insert_axis(ndarray::Axis(1)).view())?;
        let fixed = &found.minima[0].state;
        let norm = |x: &ndarray::Array1<f64>| x.dot(x).sqrt();
        let (query_off, fixed_off) = (norm(&(&query - &own)), norm(&(fixed - &own)));
        let separation = (1..n).map(|j| own.dot(&own) - own.dot(&patterns.column(j))).fold(f64::INFINITY, f64::min);
        let others = (n - 1) as f64;
        let far = query_off.max(fixed_off);
        let weight = (-beta * (separation - 2.0 * far * length)).exp();
        let next = memory.attend(query.view());
        let (lhs, rhs) = match self.form {
            Form::OneUpdate => {
                let jacobian = 2.0 * beta * n as f64 * length * length * others * weight;
                let before = norm(&(&query - fixed));
                (norm(&(&next - fixed)), self.factor * jacobian * before)
            }
            Form::Error => (norm(&(&next - &own)), self.factor * 2.0 * others * weight * length),
            Form::FixedPoint => {
                let near = 1.0 / (2.0 * beta * length);
                if fixed_off > near {
                    let seen = witness! { "fixed_point_off_by" => fixed_off, "allowed" => near };
                    return Ok(Outcome::uninformative("fixed point farther than 1/(2βM)", seen));
                }
                let bound = 2.0 * std::f64::consts::E * others * length;
                (fixed_off, self.factor * bound * (-beta * separation).exp())
            }
        };
        let seen = witness! { "separation" => separation, "fixed_point_off_by" => fixed_off };
        // All states lie in the ball of the patterns: a larger bound says nothing.
        if rhs >= self.factor * 2.0 * length {
            return Ok(Outcome::uninformative("the bound exceeds 2M", seen));
        }
        Ok(Outcome::Gap { lhs, rhs, tol: ROUNDING * length, relation: Relation::AtMost, witness: seen })
    }

    fn mutants(&self) -> Vec<Mutant> {
        // Two patterns nearly opposite to each other in the plane come close to the bounds.
        let near = |name, factor| {
            let mutant =
                Mutant::new(name, Retrieval { factor, ..*self }).with(PATTERNS, 2).with(DIM, 2).with(RADIUS, 1.0);
            match self.form {
                Form::FixedPoint => mutant,
                _ => mutant.with(AWAY, 0.01),
            }
        };
        match self.form {
            Form::OneUpdate => vec![near("quarter", 0.25)],
            Form::Error => vec![near("half", 0.5)],
            Form::FixedPoint => vec![near("tenth", 0.1)],
        }
    }
}
