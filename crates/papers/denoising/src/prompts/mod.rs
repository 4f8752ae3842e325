//! Prompts for in-context denoising: a law of tokens drawn for the task, L clean tokens from it, and
//! one more that is corrupted. Denoising, Section 2 and Appendix B.2, and two tasks beyond it.
//!
//! Every part of a prompt has a stream of its own, so that a longer context begins with the tokens
//! of a shorter one, and the query is the same for both.

use crate::theory::mixture::Clusters;
use crate::theory::spherical::SphericalClusters;
use crate::theory::{Prior, each, non_negative, positive, require, require_shape, weights};
use attnlab_core::error::{Result, at_least};
use attnlab_core::linalg::{haar_basis, normal_matrix};
use attnlab_core::rng::Streams;
use attnlab_theory::dynamics::Example;
use ndarray::{Array1, Array2};
use rand::RngExt;

mod tokens;

use tokens::directions;
pub use tokens::draw_tokens;

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
        let (Dimension::Fixed(largest) | Dimension::Drawn { high: largest, .. }) = self;
        largest
    }
}

/// Family of tasks: the part of a problem that is drawn anew for every task.
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

impl Family {
    /// K clusters of equal weight 1/K and of this variance.
    pub fn balanced(clusters: usize, variance: f64, radius: f64) -> Self {
        let weights = vec![1.0 / clusters as f64; clusters];
        Family::Clusters { weights, variances: vec![variance; clusters], radius }
    }
}

/// A denoising problem: the family of tasks, and what every prompt of it looks like.
///
/// ```
/// use attnlab_core::rng::Streams;
/// use attnlab_denoising::prompts::{Denoising, Dimension, Family};
/// // Case 1 of Fig. 2.
/// let family = Family::Subspace { dim: Dimension::Fixed(8), sigma0_2: 2.0 };
/// let problem = Denoising { family, ambient: 16, context: 500, sigma_z2: 1.0 };
/// let prompt = problem.draw(&Streams::new(1, "doc", 0, 0))?;
/// assert_eq!(prompt.context.dim(), (16, 500)); // (n, L)
/// assert_eq!(prompt.query.len(), 16);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Denoising {
    /// Family of the tasks.
    pub family: Family,
    /// n, dimension of the tokens.
    pub ambient: usize,
    /// L ≥ 1, number of clean tokens. The authors' code counts the query in: its 500 is L = 499.
    pub context: usize,
    /// $\sigma_Z^2 > 0$, variance of the corruption per component.
    pub sigma_z2: f64,
}

/// One prompt, with its law and its clean token, which only the experimenter knows.
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

impl From<Prompt> for Example {
    fn from(prompt: Prompt) -> Example {
        Example { context: prompt.context, query: prompt.query, target: prompt.target }
    }
}

impl Denoising {
    /// Refuses what cannot be drawn.
    ///
    /// # Errors
    /// Names the parameter, its value and what is allowed.
    pub fn validate(&self) -> Result<()> {
        at_least("L", self.context, 1)?;
        positive("sigma_z2", self.sigma_z2)?;
        at_least("n", self.ambient, 1)?;
        match &self.family {
            Family::Subspace { dim, sigma0_2 } => {
                self.validate_dim(*dim, 1)?;
                positive("sigma0_2", *sigma0_2)
            }
            Family::Anisotropic { variances } => {
                self.validate_dim(Dimension::Fixed(variances.len()), 1)?;
                each(positive, "variances", variances)
            }
            Family::Sphere { dim, radius } => {
                self.validate_dim(*dim, 0)?;
                positive("R", *radius)
            }
            Family::Clusters { weights: w, variances, radius } => {
                self.validate_clusters("variances", w, variances, *radius)
            }
            Family::SphericalClusters { weights: w, concentrations, radius } => {
                require(self.ambient >= 2, "n", self.ambient, "must be at least 2 for clusters on a sphere")?;
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
            Family::Clusters { weights, .. } | Family::SphericalClusters { weights, .. } => weights.len(),
        };
        // A frame beside the normals and the factorisation that it comes from; tokens beside their
        // coefficients; targets, noise and queries.
        let times = |few: u64, count: usize| few.saturating_mul(count as u64);
        let columns = times(4, frame).saturating_add(times(2, self.context)).saturating_add(times(4, queries));
        columns.saturating_mul(8 * self.ambient as u64)
    }

    fn validate_dim(&self, dim: Dimension, least: usize) -> Result<()> {
        let (Dimension::Fixed(low) | Dimension::Drawn { low, .. }) = dim;
        let high = dim.largest();
        require(low <= high, "least d", low, format!("must be at most the largest dimension, {high}"))?;
        let n = self.ambient;
        // At d = n a subspace is the whole space and a sphere does not fit in.
        let fits = |d: usize| {
            require((least..n).contains(&d), "d", d, format!("must be a whole number >= {least} and < n = {n}"))
        };
        [low, high].into_iter().try_for_each(fits)
    }

    fn validate_clusters(&self, name: &str, w: &[f64], spread: &[f64], radius: f64) -> Result<()> {
        let expected = format!("one entry per weight ({}, at least 1)", w.len());
        require_shape(!w.is_empty() && w.len() == spread.len(), name, spread.len(), expected)?;
        each(non_negative, name, spread)?;
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
                Prior::Gaussian { basis: haar_basis(n, d, &mut rng)?, variances: vec![*sigma0_2; d] }
            }
            Family::Anisotropic { variances } => {
                Prior::Gaussian { basis: haar_basis(n, variances.len(), &mut rng)?, variances: variances.clone() }
            }
            Family::Sphere { dim, radius } => {
                Prior::Sphere { basis: haar_basis(n, dimension(*dim) + 1, &mut rng)?, radius: *radius }
            }
            Family::Clusters { weights, variances, radius } => Prior::Clusters(Clusters {
                means: directions(n, weights.len(), &mut rng) * *radius,
                weights: weights.clone(),
                variances: variances.clone(),
            }),
            Family::SphericalClusters { weights, concentrations, radius } => {
                Prior::SphericalClusters(SphericalClusters {
                    means: directions(n, weights.len(), &mut rng),
                    weights: weights.clone(),
                    concentrations: concentrations.clone(),
                    radius: *radius,
                })
            }
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
        Ok(Prompt { prior, context, target: targets.column(0).to_owned(), query: queries.column(0).to_owned() })
    }

    /// `count` queries of a trial: clean tokens and their corrupted forms, both (n, count). The first is the prompt's.
    ///
    /// # Errors
    /// As [`draw_tokens`].
    pub fn draw_queries(&self, prior: &Prior, count: usize, streams: &Streams) -> Result<(Array2<f64>, Array2<f64>)> {
        let targets = draw_tokens(prior, count, &mut streams.part("query", 0))?;
        let noise = normal_matrix(prior.ambient(), count, &mut streams.part("noise", 0));
        let queries = &targets + noise * self.sigma_z2.sqrt();
        Ok((targets, queries))
    }
}
