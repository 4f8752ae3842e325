//! Patterns of a memory: random ones, uniform on a sphere, and those of a user.

use crate::quantities::{AWAY, DIM, PATTERNS, RADIUS, length};
use attnlab_core::error::Result;
use attnlab_core::linalg::normal_matrix;
use attnlab_core::params::Params;
use attnlab_core::rng::{Generator, Streams};
use attnlab_lab::claim::{ArraySpec, Arrays};
use attnlab_theory::particles::directions;
use ndarray::{Array1, Array2, ArrayView2};

/// Draws patterns (d, N) of this length, uniform on their sphere.
///
/// # Errors
/// When a normal vector is zero, which has probability 0.
pub fn uniform(d: usize, n: usize, length: f64, rng: &mut Generator) -> Result<Array2<f64>> {
    Ok(directions(normal_matrix(d, n, rng).view())? * length)
}

/// Draws N patterns (d, N) of length M, and a query at the distance `away` M from the first.
///
/// # Errors
/// As [`uniform`].
pub fn with_query(params: &Params, away: f64, streams: &Streams) -> Result<(Array2<f64>, Array1<f64>)> {
    let (d, length) = (params.get(DIM), length(params));
    let patterns = uniform(d, params.get(PATTERNS), length, &mut streams.part("patterns", 0))?;
    let query = &patterns.column(0) + &uniform(d, 1, length * away, &mut streams.part("query", 0))?.column(0);
    Ok((patterns, query))
}

/// The patterns of a user.
pub const THE_PATTERNS: ArraySpec = ArraySpec::one(
    "patterns",
    "X (d, N): the patterns, such as the keys of a head, one per column",
    &[DIM.name, PATTERNS.name, RADIUS.name],
);

/// The queries of a user.
pub const THE_QUERIES: ArraySpec = ArraySpec::one(
    "queries",
    "ξ (d, Q): the queries, one per column; each is judged with the pattern whose bound is least",
    &[AWAY.name],
);

/// The states of a user that updates begin from.
pub const STATES: ArraySpec =
    ArraySpec { meaning: "ξ (d, Q): the states before an update, one per column", ..THE_QUERIES };

/// Returns the patterns (d, N) and queries (d, Q) of a user.
///
/// # Errors
/// One that is missing; columns of another length.
pub fn patterns_and_queries(arrays: &Arrays) -> Result<(ArrayView2<'_, f64>, ArrayView2<'_, f64>)> {
    let patterns = arrays.one("patterns")?;
    Ok((patterns, arrays.columns_like("queries", "patterns", patterns.nrows())?))
}

/// Computes M, the largest length of the patterns (d, N).
pub fn longest(patterns: ArrayView2<f64>) -> f64 {
    patterns.columns().into_iter().map(|x| x.dot(&x)).fold(0.0, f64::max).sqrt()
}
