//! Random patterns, uniform on a sphere.

use crate::quantities::{DIM, PATTERNS, length};
use attnlab_core::error::Result;
use attnlab_core::linalg::normal_matrix;
use attnlab_core::params::Params;
use attnlab_core::rng::{Generator, Streams};
use attnlab_theory::particles::directions;
use ndarray::{Array1, Array2};

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
    let aside = uniform(d, 1, length * away, &mut streams.part("query", 0))?;
    let query = &patterns.column(0) + &aside.column(0);
    Ok((patterns, query))
}
