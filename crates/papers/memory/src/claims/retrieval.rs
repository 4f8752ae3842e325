//! Theorems 4 and 5: retrieval with one update, and its error.

use crate::patterns::with_query;
use crate::quantities::{AWAY, BETA, DIM, PATTERNS, RADIUS, length};
use attnlab_lab::prelude::*;
use attnlab_theory::attention::memory::DenseMemory;
use ndarray::{Array1, Axis};
use std::f64::consts::E;

/// A bound on a distance that one update, or all of them, leave.
#[derive(Serialize, Deserialize)]
pub struct Retrieval {
    distance: Distance,
    /// Factor of the bound; 1 but for mutants.
    factor: f64,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Distance {
    /// |f(ξ) − x_i*|.
    UpdateToFixedPoint,
    /// |f(ξ) − x_i|.
    UpdateToPattern,
    /// |x_i − x_i*|.
    PatternToFixedPoint,
}

/// Rounding of a distance relative to the length of the patterns, with the error of the fixed point.
const ROUNDING: f64 = 1e-11;

impl Retrieval {
    /// Theorem 4.
    pub const ONE_UPDATE: Self = Retrieval { distance: Distance::UpdateToFixedPoint, factor: 1.0 };
    /// The first bound of Theorem 5.
    pub const ERROR: Self = Retrieval { distance: Distance::UpdateToPattern, factor: 1.0 };
    /// Its second bound.
    pub const FIXED_POINT: Self = Retrieval { distance: Distance::PatternToFixedPoint, factor: 1.0 };

    /// Distance of the query from its pattern over M. The second bound of Theorem 5 is not about a query.
    fn away(&self, params: &Params) -> f64 {
        if self.distance == Distance::PatternToFixedPoint { 0.0 } else { params.get(AWAY) }
    }
}

fn norm(x: Array1<f64>) -> f64 {
    x.dot(&x).sqrt()
}

impl Claim for Retrieval {
    fn sheet(&self) -> &'static Sheet {
        match self.distance {
            Distance::UpdateToFixedPoint => sheet!("memory.theorem4"),
            Distance::UpdateToPattern => sheet!("memory.theorem5"),
            Distance::PatternToFixedPoint => sheet!("memory.theorem5_fixed_point"),
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = vec![
            DIM.within(Domain::Whole(2, 128)).or(8),
            PATTERNS.within(Domain::Whole(2, 300)).or(5),
            RADIUS.within(Domain::closed(0.1, 10.0)).or(1.0),
            BETA.within(Domain::closed(0.01, 100.0)).or(2.0),
        ];
        if self.distance != Distance::PatternToFixedPoint {
            schema.push(AWAY.within(Domain::left_open(0.0, 0.5)).or(0.02));
        }
        schema
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        // The size of the largest cosine of another pattern.
        let nearest = (params.real(PATTERNS).ln() / params.real(DIM)).sqrt();
        let strength = params.get(BETA) * length(params).powi(2);
        let margin = strength * (1.0 - nearest - 2.0 * self.away(params)) - (2.0 * params.real(PATTERNS)).ln();
        let printed = "sufficiently large separation [here: β M² (1 - √(log N/d) - 2|ξ - x_i|/M) >= log 2N, so that the \
                       bound is below 2M in most draws]";
        vec![Hypothesis::new("separation", printed, margin)]
    }

    fn seconds(&self, params: &Params) -> f64 {
        let d = params.real(DIM);
        1e-4 + 200.0 * d * params.real(PATTERNS) * 2e-9 + 10.0 * d.powi(3) * 1e-8
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, beta, length) = (params.get(PATTERNS), params.get(BETA), length(params));
        let (patterns, query) = with_query(params, self.away(params), streams)?;
        let pattern = patterns.column(0);
        let memory = DenseMemory::new(patterns.view(), 1.0, beta)?;
        let reached = memory.minima_from(pattern.insert_axis(Axis(1)))?;
        let fixed = &reached.minima[0].state;
        let next = memory.attend(query.view());
        let overlap = |j| pattern.dot(&pattern) - pattern.dot(&patterns.column(j));
        let separation = (1..n).map(overlap).fold(f64::INFINITY, f64::min);
        let others = (n - 1) as f64;
        let off = norm(fixed - &pattern);
        let far = norm(&query - &pattern).max(off);
        let weight = (-beta * (separation - 2.0 * far * length)).exp();
        let (lhs, bound) = match self.distance {
            Distance::UpdateToFixedPoint => {
                let jacobian = 2.0 * beta * n as f64 * length * length * others * weight;
                (norm(&next - fixed), jacobian * norm(&query - fixed))
            }
            Distance::UpdateToPattern => (norm(&next - &pattern), 2.0 * others * weight * length),
            Distance::PatternToFixedPoint => {
                let allowed = 1.0 / (2.0 * beta * length);
                if off > allowed {
                    let witness = witness! { "fixed_point_off_by" => off, "allowed" => allowed };
                    return Ok(Outcome::uninformative("fixed point farther than 1/(2βM)", witness));
                }
                (off, 2.0 * E * others * length * (-beta * separation).exp())
            }
        };
        let witness = witness! { "separation" => separation, "fixed_point_off_by" => off };
        if bound >= 2.0 * length {
            return Ok(Outcome::uninformative("the bound exceeds 2M", witness));
        }
        let (rhs, tol) = (self.factor * bound, ROUNDING * length);
        Ok(Outcome::Gap { lhs, rhs, tol, relation: Relation::AtMost, witness })
    }

    fn mutants(&self) -> Vec<Mutant> {
        variants(self)
    }
}
