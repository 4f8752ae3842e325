//! Prompts for in-context denoising: a law of tokens drawn for the task, L clean tokens from it, and
//! one more that is corrupted. Denoising, Section 2 and Appendix B.2, and two tasks beyond it.
//!
//! Every part of a prompt has a stream of its own, so that a longer context begins with the tokens
//! of a shorter one, and the query is the same for both.

use crate::error::{Error, Result};
use crate::linalg::{Threads, gemm, haar_basis, normal_matrix};
use crate::rng::{Generator, Streams};
use crate::theory::denoising::mixture::Clusters;
use crate::theory::denoising::spherical::SphericalClusters;
use crate::theory::denoising::{Prior, non_negative, positive, weights};
use ndarray::{Array1, Array2, ArrayViewMut1, ShapeBuilder};
use rand::RngExt;
use rand_distr::{Beta, Distribution, StandardNormal};

/// The dimension d of a subspace or a sphere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// The same for every task.
    Fixed(usize),
    /// Drawn for every task, uniformly from low to high, both included.
    Drawn {
        /// Least dimension.
        low: usize,
        /// Largest dimension.
        high: usize,
    },
}

impl Dimension {
    /// The largest that can occur.
    pub fn largest(self) -> usize {
        match self {
            Dimension::Fixed(d) => d,
            Dimension::Drawn { high, .. } => high,
        }
    }
}

/// What is drawn anew for every task.
#[derive(Clone, Debug, PartialEq)]
pub enum Family {
    /// Case 1: isotropic Gaussian on a Haar-random subspace of dimension d < n.
    Subspace {
        /// d.
        dim: Dimension,
        /// $\sigma_0^2 > 0$.
        sigma0_2: f64,
    },
    /// Beyond the paper: Gaussian with these variances along the axes of a Haar-random frame.
    Anisotropic {
        /// $\lambda_1, .., \lambda_d > 0$, d < n.
        variances: Vec<f64>,
    },
    /// Case 2: uniform on the sphere of dimension d < n in a Haar-random subspace of dimension d + 1.
    Sphere {
        /// d.
        dim: Dimension,
        /// R > 0.
        radius: f64,
    },
    /// Case 3: Gaussian clusters around centres that are uniform on the sphere of radius R.
    Clusters {
        /// $w_a$, summing to one.
        weights: Vec<f64>,
        /// $\sigma_a^2 \ge 0$; 0 is a point.
        variances: Vec<f64>,
        /// R > 0.
        radius: f64,
    },
    /// Beyond the paper: von Mises-Fisher clusters on the sphere of radius R in all n dimensions,
    /// around uniform directions.
    SphericalClusters {
        /// $w_a$, summing to one.
        weights: Vec<f64>,
        /// Concentrations ≥ 0.
        concentrations: Vec<f64>,
        /// R > 0.
        radius: f64,
    },
}

/// A denoising problem: the family of tasks, and what every prompt of it looks like.
///
/// ```
/// use attnlab::{rng::Streams, sample::denoising::{Denoising, Dimension, Family}};
/// // Case 1 of Fig. 2.
/// let family = Family::Subspace { dim: Dimension::Fixed(8), sigma0_2: 2.0 };
/// let problem = Denoising { family, ambient: 16, context: 500, sigma_z2: 1.0 };
/// let prompt = problem.draw(&Streams::new(1, "doc", 0, 0))?;
/// assert_eq!(prompt.context.dim(), (16, 500)); // (n, L)
/// assert_eq!(prompt.query.len(), 16);
/// # Ok::<(), attnlab::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Denoising {
    /// What tasks are drawn from.
    pub family: Family,
    /// n, dimension of the tokens.
    pub ambient: usize,
    /// L ≥ 1, number of clean tokens. The authors' code counts the query in: its 500 is L = 499.
    pub context: usize,
    /// $\sigma_Z^2 > 0$, variance of the corruption per component.
    pub sigma_z2: f64,
}

/// One prompt with what only the experimenter knows.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The law of this task's tokens.
    pub prior: Prior,
    /// Clean tokens (n, L).
    pub context: Array2<f64>,
    /// The clean token behind the query (n,).
    pub target: Array1<f64>,
    /// The query $\tilde x$ = target + noise (n,).
    pub query: Array1<f64>,
}

impl Denoising {
    /// Refuses what cannot be drawn.
    ///
    /// # Errors
    /// Names the parameter, its value and what is allowed.
    pub fn validate(&self) -> Result<()> {
        if self.context == 0 {
            return Err(Error::invalid("L", 0, "a whole number >= 1"));
        }
        positive("sigma_z2", self.sigma_z2)?;
        if self.ambient == 0 {
            return Err(Error::invalid("n", 0, "a whole number >= 1"));
        }
        match &self.family {
            Family::Subspace { dim, sigma0_2 } => {
                self.validate_dim(*dim, 1)?;
                positive("sigma0_2", *sigma0_2)
            }
            Family::Anisotropic { variances } => {
                self.validate_dim(Dimension::Fixed(variances.len()), 1)?;
                let each = |(i, v): (usize, &f64)| positive(&format!("variances[{i}]"), *v);
                variances.iter().enumerate().try_for_each(each)
            }
            Family::Sphere { dim, radius } => {
                self.validate_dim(*dim, 0)?;
                positive("R", *radius)
            }
            Family::Clusters {
                weights: w,
                variances,
                radius,
            } => self.validate_clusters("variances", w, variances, *radius),
            Family::SphericalClusters {
                weights: w,
                concentrations,
                radius,
            } => {
                if self.ambient < 2 {
                    let allowed = "at least 2 for clusters on a sphere";
                    return Err(Error::invalid("n", self.ambient, allowed));
                }
                self.validate_clusters("concentrations", w, concentrations, *radius)
            }
        }
    }

    /// Bytes that drawing a prompt with this many queries holds at its peak.
    pub fn memory(&self, queries: usize) -> u64 {
        let frame = match &self.family {
            Family::Subspace { dim, .. } => dim.largest(),
            Family::Sphere { dim, .. } => dim.largest().saturating_add(1),
            Family::Anisotropic { variances } => variances.len(),
            Family::Clusters { weights, .. } | Family::SphericalClusters { weights, .. } => {
                weights.len()
            }
        };
        // A frame beside the normals and the factorisation that it comes from; tokens beside their
        // coefficients; targets, noise and queries.
        let columns = 4 * frame as u64 + 2 * self.context as u64 + 4 * queries as u64;
        columns.saturating_mul(8 * self.ambient as u64)
    }

    fn validate_dim(&self, dim: Dimension, least: usize) -> Result<()> {
        let (low, high) = match dim {
            Dimension::Fixed(d) => (d, d),
            Dimension::Drawn { low, high } => (low, high),
        };
        if low > high {
            let allowed = format!("at most the largest dimension, {high}");
            return Err(Error::invalid("least d", low, allowed));
        }
        let n = self.ambient;
        for d in [low, high] {
            if d < least || d >= n {
                // At d = n a subspace is the whole space and a sphere does not fit in.
                let allowed = format!("a whole number >= {least} and < n = {n}");
                return Err(Error::invalid("d", d, allowed));
            }
        }
        Ok(())
    }

    fn validate_clusters(&self, name: &str, w: &[f64], spread: &[f64], radius: f64) -> Result<()> {
        if w.is_empty() || w.len() != spread.len() {
            let expected = format!("one entry per weight ({}, at least 1)", w.len());
            return Err(Error::shape(name, spread.len(), expected));
        }
        for (a, v) in spread.iter().enumerate() {
            non_negative(&format!("{name}[{a}]"), *v)?;
        }
        positive("R", radius)?;
        weights(w)
    }

    /// The task of a trial: its law of tokens.
    ///
    /// # Errors
    /// As [`Denoising::validate`].
    pub fn draw_prior(&self, streams: &Streams) -> Result<Prior> {
        self.validate()?;
        let n = self.ambient;
        let mut rng = streams.part("task", 0);
        let dimension = |dim: Dimension| match dim {
            Dimension::Fixed(d) => d,
            Dimension::Drawn { low, high } => streams.part("dimension", 0).random_range(low..=high),
        };
        Ok(match &self.family {
            Family::Subspace { dim, sigma0_2 } => {
                let d = dimension(*dim);
                Prior::Gaussian {
                    basis: haar_basis(n, d, &mut rng)?,
                    variances: vec![*sigma0_2; d],
                }
            }
            Family::Anisotropic { variances } => Prior::Gaussian {
                basis: haar_basis(n, variances.len(), &mut rng)?,
                variances: variances.clone(),
            },
            Family::Sphere { dim, radius } => Prior::Sphere {
                basis: haar_basis(n, dimension(*dim) + 1, &mut rng)?,
                radius: *radius,
            },
            Family::Clusters {
                weights,
                variances,
                radius,
            } => Prior::Clusters(Clusters {
                means: directions(n, weights.len(), &mut rng) * *radius,
                weights: weights.clone(),
                variances: variances.clone(),
            }),
            Family::SphericalClusters {
                weights,
                concentrations,
                radius,
            } => Prior::SphericalClusters(SphericalClusters {
                means: directions(n, weights.len(), &mut rng),
                weights: weights.clone(),
                concentrations: concentrations.clone(),
                radius: *radius,
            }),
        })
    }

    /// The prompt of a trial.
    ///
    /// # Errors
    /// As [`Denoising::validate`].
    pub fn draw(&self, streams: &Streams) -> Result<Prompt> {
        let prior = self.draw_prior(streams)?;
        let context = draw_tokens(&prior, self.context, &mut streams.part("context", 0))?;
        let (targets, queries) = self.draw_queries(&prior, 1, streams)?;
        Ok(Prompt {
            prior,
            context,
            target: targets.column(0).to_owned(),
            query: queries.column(0).to_owned(),
        })
    }

    /// `count` queries of a trial: clean tokens and their corrupted forms, both (n, count). The first
    /// is the prompt's.
    ///
    /// # Errors
    /// As [`draw_tokens`].
    pub fn draw_queries(
        &self,
        prior: &Prior,
        count: usize,
        streams: &Streams,
    ) -> Result<(Array2<f64>, Array2<f64>)> {
        let targets = draw_tokens(prior, count, &mut streams.part("query", 0))?;
        let noise = normal_matrix(prior.ambient(), count, &mut streams.part("noise", 0));
        let queries = &targets + noise * self.sigma_z2.sqrt();
        Ok((targets, queries))
    }
}

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
    let (u, c) = (basis.view(), coefficients.view());
    gemm(1.0, u, c, false, tokens.view_mut(), Threads::One);
}

/// Independent uniform unit vectors, columns of (n, count).
fn directions(n: usize, count: usize, rng: &mut Generator) -> Array2<f64> {
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
    let beta = Beta::new(0.5 * m, 0.5 * m)
        .map_err(|e| Error::Numerical(format!("Beta({m}/2, {m}/2): {e}")))?;
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
