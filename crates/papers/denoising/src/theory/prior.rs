//! The law of the clean tokens of one task, with its Bayes-optimal predictor.

use super::mixture::{Clusters, Weight, check_query};
use super::spherical::SphericalClusters;
use super::{Result, each, linear, positive, require, require_shape, sphere};
use attnlab_core::linalg::orthonormality_defect;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

/// Law $p_X$ of the tokens of one prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Prior {
    /// $X = Uc$ with $c_i \sim \mathcal N(0, \lambda_i)$: the paper's linear case when all
    /// $\lambda_i = \sigma_0^2$, an anisotropic Gaussian on a subspace otherwise.
    Gaussian {
        /// Orthonormal basis $U$ (n, d).
        basis: Array2<f64>,
        /// Variances $\lambda_i > 0$ along its columns.
        variances: Vec<f64>,
    },
    /// Uniform on the sphere of radius $R$ in the span of the basis.
    Sphere {
        /// Orthonormal basis (n, d + 1).
        basis: Array2<f64>,
        /// Radius $R > 0$.
        radius: f64,
    },
    /// Gaussian clusters.
    Clusters(Clusters),
    /// Clusters on the sphere of radius $R$ in $\mathbb R^n$.
    SphericalClusters(SphericalClusters),
}

impl Prior {
    /// Refuses what is no law of tokens.
    ///
    /// # Errors
    /// Names the entry, its value and what is allowed.
    pub fn validate(&self) -> Result<()> {
        match self {
            Prior::Gaussian { basis, variances } => {
                let expected = format!("one variance per column of the basis ({})", basis.ncols());
                require_shape(variances.len() == basis.ncols(), "variances", variances.len(), expected)?;
                each(positive, "variances", variances)?;
                orthonormal(basis)
            }
            Prior::Sphere { basis, radius } => {
                positive("R", *radius)?;
                orthonormal(basis)
            }
            Prior::Clusters(clusters) => clusters.validate(),
            Prior::SphericalClusters(clusters) => clusters.validate(),
        }
    }

    /// n, the number of components of a token.
    pub fn ambient(&self) -> usize {
        match self {
            Prior::Gaussian { basis, .. } | Prior::Sphere { basis, .. } => basis.nrows(),
            Prior::Clusters(clusters) => clusters.means.nrows(),
            Prior::SphericalClusters(clusters) => clusters.means.nrows(),
        }
    }

    /// Dimension of the least subspace known to hold every token: d, d + 1, or n for clusters.
    pub fn rank(&self) -> usize {
        match self {
            Prior::Gaussian { basis, .. } | Prior::Sphere { basis, .. } => basis.ncols(),
            _ => self.ambient(),
        }
    }

    /// $\mathbb E X$.
    pub fn mean(&self) -> Array1<f64> {
        match self {
            Prior::Gaussian { .. } | Prior::Sphere { .. } => Array1::zeros(self.ambient()),
            Prior::Clusters(c) => c.means.dot(&ArrayView1::from(&c.weights)),
            Prior::SphericalClusters(c) => c.mean(),
        }
    }

    /// $\mathbb E\|X\|^2$: the loss of predicting zero.
    pub fn second_moment(&self) -> f64 {
        match self {
            Prior::Gaussian { variances, .. } => variances.iter().sum(),
            Prior::Sphere { radius, .. } => radius * radius,
            Prior::SphericalClusters(c) => c.radius * c.radius,
            Prior::Clusters(c) => {
                let n = c.means.nrows() as f64;
                let moment = |(a, mu): (usize, ArrayView1<f64>)| c.weights[a] * (mu.dot(&mu) + n * c.variances[a]);
                c.means.columns().into_iter().enumerate().map(moment).sum()
            }
        }
    }

    /// $P\tilde x$, the projection onto the subspace of the task; the query itself for clusters, which fill the space.
    pub fn project(&self, query: ArrayView1<f64>) -> Array1<f64> {
        match self {
            Prior::Gaussian { basis, .. } | Prior::Sphere { basis, .. } => basis.dot(&basis.t().dot(&query)),
            _ => query.to_owned(),
        }
    }

    /// [`Prior::project`] for queries in columns (n, M).
    pub fn project_all(&self, queries: ArrayView2<f64>) -> Array2<f64> {
        match self {
            Prior::Gaussian { basis, .. } | Prior::Sphere { basis, .. } => basis.dot(&basis.t().dot(&queries)),
            _ => queries.to_owned(),
        }
    }

    /// The Bayes-optimal prediction $\mathbb E[X | \tilde X = \tilde x]$.
    ///
    /// # Errors
    /// As [`Prior::validate`]; when the query has another length or is not finite; when `sigma_z2` is not positive.
    ///
    /// ```
    /// use attnlab_denoising::theory::Prior;
    /// use ndarray::{array, Array1};
    /// let line = Prior::Gaussian { basis: array![[1.0], [0.0]], variances: vec![2.0] };
    /// let query = Array1::from(vec![3.0, 5.0]);
    /// assert_eq!(line.posterior_mean(query.view(), 1.0)?, array![2.0, 0.0]); // (A.1)
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn posterior_mean(&self, query: ArrayView1<f64>, sigma_z2: f64) -> Result<Array1<f64>> {
        positive("sigma_z2", sigma_z2)?;
        check_query(query, self.ambient())?;
        match self {
            Prior::Gaussian { basis, variances } => {
                self.validate()?;
                let mut c = basis.t().dot(&query);
                c.iter_mut().zip(variances).for_each(|(c, v)| *c *= linear::shrinkage(*v, sigma_z2));
                Ok(basis.dot(&c))
            }
            Prior::Sphere { basis, radius } => {
                self.validate()?;
                let c = basis.t().dot(&query);
                let norm = c.dot(&c).sqrt();
                if norm == 0.0 {
                    return Ok(Array1::zeros(query.len()));
                }
                let length = sphere::shrinkage(basis.ncols() - 1, *radius, sigma_z2, norm);
                Ok(basis.dot(&c) * (length / norm))
            }
            Prior::Clusters(clusters) => clusters.posterior_mean(query, sigma_z2, Weight::Corrected),
            Prior::SphericalClusters(clusters) => clusters.posterior_mean(query, sigma_z2),
        }
    }

    /// [`Prior::posterior_mean`] for queries in columns (n, M).
    ///
    /// # Errors
    /// As there.
    pub fn posterior_means(&self, queries: ArrayView2<f64>, sigma_z2: f64) -> Result<Array2<f64>> {
        let mut means = Array2::zeros(queries.dim());
        for (query, mut mean) in queries.columns().into_iter().zip(means.columns_mut()) {
            mean.assign(&self.posterior_mean(query, sigma_z2)?);
        }
        Ok(means)
    }

    /// The limit of softmax attention $X\,\mathrm{softmax}(\beta X^T\tilde x)$ as $L \to \infty$: the
    /// mean of $p_X$ tilted by $e^{\beta\langle x, \tilde x\rangle}$.
    ///
    /// On a sphere with $\beta = 1/\sigma_Z^2$ this is the posterior mean (Theorem 3.2). For Gaussian
    /// tokens it is $\beta\Sigma\tilde x$ at *every* β: softmax attention then is linear attention,
    /// not only for small arguments. For Gaussian clusters it is attention over the centres plus
    /// $\beta\sigma_a^2\tilde x$, which makes the residual of (A.5) without a skip connection.
    ///
    /// # Errors
    /// As [`Prior::validate`]; when the query has another length or is not finite, or β is not.
    ///
    /// ```
    /// use attnlab_denoising::theory::Prior;
    /// use ndarray::{array, Array1};
    /// let line = Prior::Gaussian { basis: array![[1.0], [0.0]], variances: vec![2.0] };
    /// let query = Array1::from(vec![3.0, 5.0]);
    /// assert_eq!(line.attention_limit(query.view(), 0.5)?, array![3.0, 0.0]);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn attention_limit(&self, query: ArrayView1<f64>, beta: f64) -> Result<Array1<f64>> {
        require(beta.is_finite(), "beta", beta, "must be a finite number")?;
        check_query(query, self.ambient())?;
        match self {
            Prior::Gaussian { basis, variances } => {
                self.validate()?;
                Ok(basis.dot(&(basis.t().dot(&query) * ArrayView1::from(variances) * beta)))
            }
            Prior::Clusters(clusters) => clusters.tilted_mean(query, beta),
            _ if beta == 0.0 => Ok(self.mean()),
            // The tilt is that of a posterior, of which |x| is no part on a sphere.
            _ => self.posterior_mean((&query * beta.signum()).view(), 1.0 / beta.abs()),
        }
    }

    /// The Bayes loss $\mathbb E\,\mathrm{tr\,Cov}(X|\tilde X)$, where a closed form or a quadrature
    /// gives it: None for clusters in general position.
    pub fn bayes_loss(&self, sigma_z2: f64) -> Option<f64> {
        match self {
            Prior::Gaussian { variances, .. } => Some(linear::mmse(variances, sigma_z2)),
            Prior::Sphere { basis, radius } => Some(sphere::mmse(basis.ncols() - 1, *radius, sigma_z2)),
            _ => None,
        }
    }
}

fn orthonormal(basis: &Array2<f64>) -> Result<()> {
    let (n, d) = basis.dim();
    require_shape((1..=n).contains(&d), "basis", basis.dim(), "(n, d) with 1 <= d <= n")?;
    let defect = orthonormality_defect(std::slice::from_ref(basis));
    let allowed = "must be at most 1e-9; the columns must be orthonormal. Take the Q of a QR decomposition";
    // QR leaves some n rounding errors; a basis written with ten digits is accepted.
    require(defect <= 1e-9, "largest entry of |U^T U - I|", defect, allowed)
}
