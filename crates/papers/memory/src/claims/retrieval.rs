//! Theorems 4 and 5: retrieval with one update, and its error.

use crate::patterns::{THE_PATTERNS, THE_QUERIES, longest, patterns_and_queries, with_query};
use crate::quantities::{AWAY, BETA, DIM, PATTERNS, RADIUS, length};
use attnlab_lab::prelude::*;
use attnlab_theory::attention::memory::DenseMemory;
use ndarray::{Array1, ArrayView1, ArrayView2, Axis};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
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

/// Updates of a user's pattern before Newton's method: where they shrink by a third each, 75 reach 1e-13.
const UPDATES: usize = 100;

/// Reason of a trial whose bound says less than that states are in the ball of radius M.
const TOO_WEAK: &str = "the bound exceeds 2M";

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
    from_sheet!(
        self,
        match self.distance {
            Distance::UpdateToFixedPoint => sheet!("memory.theorem4"),
            Distance::UpdateToPattern => sheet!("memory.theorem5"),
            Distance::PatternToFixedPoint => sheet!("memory.theorem5_fixed_point"),
        }
    );

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
        let (patterns, query) = with_query(params, self.away(params), streams)?;
        let memory = DenseMemory::new(patterns.view(), 1.0, params.get(BETA))?;
        self.bounded(&memory, (0, &fixed_point(&memory, 0)?), query.view(), length(params))
    }

    fn takes(&self) -> &'static [ArraySpec] {
        match self.distance {
            Distance::PatternToFixedPoint => const { &[THE_PATTERNS] },
            _ => const { &[THE_PATTERNS, THE_QUERIES] },
        }
    }

    fn on(&self, params: &Params, arrays: &Arrays) -> Result<Vec<Outcome>> {
        let patterns = arrays.one("patterns")?;
        let (memory, length) = (DenseMemory::new(patterns, 1.0, params.get(BETA))?, longest(patterns));
        let of_itself = self.distance == Distance::PatternToFixedPoint;
        let queries = if of_itself { patterns } else { patterns_and_queries(arrays)?.1 };
        if patterns.ncols() == 1 {
            let alone = || Outcome::uninformative("there is one pattern only", Witness::new());
            return Ok(queries.columns().into_iter().map(|_| alone()).collect());
        }
        let separations = separations(patterns);
        let mut fixed_points = BTreeMap::new();
        let mut case = |(i, query): (usize, ArrayView1<f64>)| {
            let index = if of_itself { i } else { least_bound(patterns, &separations, query, length) };
            let least = params.get(BETA) * (separations[index] - 2.0 * norm(&query - &patterns.column(index)) * length);
            // The fixed point can only weaken the bound of Theorem 5, and takes d³ operations.
            if self.distance == Distance::UpdateToPattern && (patterns.ncols() as f64 - 1.0).ln() >= least {
                let witness = witness! { "separation" => separations[index], "pattern" => index };
                return Ok(Outcome::uninformative(TOO_WEAK, witness));
            }
            let fixed = match fixed_points.entry(index) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(fixed_point_of_user(&memory, index, length)?),
            };
            Ok(self.bounded(&memory, (index, fixed), query, length)?.noting("pattern", index))
        };
        let cases = queries.columns().into_iter().enumerate().map(|query| match case(query) {
            Err(error @ Error::Diverged(_)) => Ok(Outcome::uninformative(error.to_string(), Witness::new())),
            Err(error) if error.is_numerical() => Ok(Outcome::failed(&error)),
            case => case,
        });
        cases.collect()
    }
}

/// Computes the fixed point that updates reach from a pattern, by Newton's method at the end.
fn fixed_point(memory: &DenseMemory, index: usize) -> Result<Array1<f64>> {
    Ok(memory.minima_from(memory.context().column(index).insert_axis(Axis(1)))?.minima[0].state.clone())
}

/// Computes it by updates alone where they converge fast: Newton's method takes d³ operations.
///
/// Steps that shrink by nine tenths at least leave an error of ten times the last one: 1e-12 M, of the 1e-11 M that count.
fn fixed_point_of_user(memory: &DenseMemory, index: usize, length: f64) -> Result<Array1<f64>> {
    let mut state = memory.context().column(index).to_owned();
    let mut before = f64::INFINITY;
    for _ in 0..UPDATES {
        let next = memory.attend(state.view());
        let moved = norm(&next - &state);
        state = next;
        if moved <= 1e-13 * length && moved <= 0.9 * before {
            return Ok(state);
        }
        before = moved;
    }
    fixed_point(memory, index)
}

/// Computes the separation Δ_i = x_i·x_i − max x_i·x_j, j ≠ i, of every pattern.
fn separations(patterns: ArrayView2<f64>) -> Vec<f64> {
    let separation = |(i, x): (usize, ArrayView1<f64>)| {
        let products = patterns.t().dot(&x);
        let others = products.iter().enumerate().filter(|(j, _)| *j != i);
        products[i] - others.map(|(_, p)| *p).fold(f64::NEG_INFINITY, f64::max)
    };
    patterns.columns().into_iter().enumerate().map(separation).collect()
}

/// Returns the pattern with the largest Δ_i − 2|ξ − x_i|M, on which the bounds for a query depend.
fn least_bound(patterns: ArrayView2<f64>, separations: &[f64], query: ArrayView1<f64>, length: f64) -> usize {
    let distance = |x: ArrayView1<f64>| query.iter().zip(x).map(|(q, x)| (q - x).powi(2)).sum::<f64>().sqrt();
    let margins = patterns.columns().into_iter().zip(separations).map(|(x, d)| d - 2.0 * distance(x) * length);
    margins.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(i, _)| i)
}

impl Retrieval {
    /// Compares the distance with its bound for a query of a pattern with its fixed point; no pattern is longer than M.
    fn bounded(
        &self,
        memory: &DenseMemory,
        (index, fixed): (usize, &Array1<f64>),
        query: ArrayView1<f64>,
        length: f64,
    ) -> Result<Outcome> {
        let (patterns, beta) = (memory.context(), memory.beta());
        let (n, pattern) = (patterns.ncols(), patterns.column(index));
        let next = memory.attend(query);
        let overlap = |j| pattern.dot(&pattern) - pattern.dot(&patterns.column(j));
        let separation = (0..n).filter(|j| *j != index).map(overlap).fold(f64::INFINITY, f64::min);
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
            return Ok(Outcome::uninformative(TOO_WEAK, witness));
        }
        let (rhs, tol) = (self.factor * bound, ROUNDING * length);
        Ok(Outcome::at_most(lhs, rhs, tol, witness))
    }
}
