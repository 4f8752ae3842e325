//! Independent tokens of a law.

use crate::theory::Prior;
use crate::theory::spherical::SphericalClusters;
use attnlab_core::error::{Error, Result};
use attnlab_core::linalg::{Threads, gemm, normal_matrix};
use attnlab_core::rng::Generator;
use ndarray::{Array1, Array2, ArrayViewMut1, ShapeBuilder};
use rand::RngExt;
use rand_distr::{Beta, Distribution, StandardNormal};

/// `count` independent tokens of a law, as columns (n, count).
///
/// # Errors
/// As [`Prior::validate`].
pub fn draw_tokens(prior: &Prior, count: usize, rng: &mut Generator) -> Result<Array2<f64>> {
    prior.validate()?;
    let n = prior.ambient();
    let mut tokens = Array2::zeros((n, count).f());
    match prior {
        Prior::Gaussian { basis, variances } => {
            let mut c = normal_matrix(basis.ncols(), count, rng);
            for (mut row, v) in c.rows_mut().into_iter().zip(variances) {
                row *= v.sqrt();
            }
            embed(basis, &c, &mut tokens);
        }
        Prior::Sphere { basis, radius } => {
            let c = directions(basis.ncols(), count, rng) * *radius;
            embed(basis, &c, &mut tokens);
        }
        Prior::Clusters(clusters) => {
            for mut token in tokens.columns_mut() {
                let a = choose(&clusters.weights, rng);
                let scale = clusters.variances[a].sqrt();
                for (x, mean) in token.iter_mut().zip(clusters.means.column(a)) {
                    let g: f64 = StandardNormal.sample(rng);
                    *x = mean + scale * g;
                }
            }
        }
        Prior::SphericalClusters(clusters) => {
            for token in tokens.columns_mut() {
                von_mises_fisher(clusters, choose(&clusters.weights, rng), token, rng)?;
            }
        }
    }
    Ok(tokens)
}

/// One thread: trials run in parallel one level up.
fn embed(basis: &Array2<f64>, coefficients: &Array2<f64>, tokens: &mut Array2<f64>) {
    gemm(1.0, basis.view(), coefficients.view(), false, tokens.view_mut(), Threads::One);
}

/// Independent uniform unit vectors, columns of (n, count).
pub(super) fn directions(n: usize, count: usize, rng: &mut Generator) -> Array2<f64> {
    let mut g = normal_matrix(n, count, rng);
    for mut column in g.columns_mut() {
        let norm = column.dot(&column).sqrt();
        column /= norm;
    }
    g
}

fn choose(weights: &[f64], rng: &mut Generator) -> usize {
    let mut left: f64 = rng.random();
    for (a, w) in weights.iter().enumerate() {
        left -= w;
        if left < 0.0 {
            return a;
        }
    }
    // Rounding may leave a remainder: the last cluster that has any weight takes it.
    weights.iter().rposition(|w| *w > 0.0).unwrap_or(0)
}

/// A token of cluster `a`: $R(w\mu + \sqrt{1-w^2}\, t)$ with t uniform in the tangent space and w by
/// the rejection of Wood, "Simulation of the von Mises Fisher distribution" (1994).
fn von_mises_fisher(
    clusters: &SphericalClusters,
    a: usize,
    mut token: ArrayViewMut1<f64>,
    rng: &mut Generator,
) -> Result<()> {
    let (mean, k) = (clusters.means.column(a), clusters.concentrations[a]);
    let m = mean.len() as f64 - 1.0;
    // b as a sum instead of Wood's difference: no cancellation when k is large.
    let b = m / (2.0 * k + (2.0 * k).hypot(m));
    let x0 = (1.0 - b) / (1.0 + b);
    let envelope = k * x0 + m * (4.0 * b / (1.0 + b).powi(2)).ln();
    let beta = Beta::new(0.5 * m, 0.5 * m).map_err(|e| Error::undefined(format!("Beta({m}/2, {m}/2): {e}")))?;
    // 1 - w, the distance to the pole, keeps its digits when w is close to 1.
    let gap = loop {
        let z: f64 = beta.sample(rng);
        let gap = 2.0 * b * z / (1.0 - (1.0 - b) * z);
        let w = 1.0 - gap;
        let u: f64 = rng.random();
        if k * w + m * (1.0 - x0 * w).ln() - envelope >= u.ln() {
            break gap;
        }
    };
    let mut tangent = Array1::from_shape_simple_fn(mean.len(), || StandardNormal.sample(rng));
    let along: f64 = mean.dot(&tangent);
    tangent.scaled_add(-along, &mean);
    let norm = tangent.dot(&tangent).sqrt();
    let across = (gap * (2.0 - gap)).sqrt() / norm;
    for (i, x) in token.iter_mut().enumerate() {
        *x = clusters.radius * ((1.0 - gap) * mean[i] + across * tangent[i]);
    }
    Ok(())
}
