//! Clusters on a sphere with a finite spread, a task beyond the paper: tokens $R u$ with
//! $u \sim \sum_a w_a\, \mathrm{vMF}(\mu_a, k_a)$, the von Mises-Fisher law with density proportional
//! to $e^{k_a \langle \mu_a, u\rangle}$ on the unit sphere of $\mathbb R^n$.
//!
//! The law lies on a sphere, so Theorem 3.2 covers it, and its posterior is a mixture of the same
//! family: the query tilts cluster $a$ to $v_a = k_a\mu_a + R\tilde x/\sigma_Z^2$, hence
//! $$\mathbb E[X|\tilde x] = R \sum_a p_a\, r_\nu(\|v_a\|) \frac{v_a}{\|v_a\|}, \qquad
//!   p_a \propto w_a \frac{M_\nu(\|v_a\|)}{M_\nu(k_a)}, \qquad \nu = \tfrac n2 - 1.$$
//! One cluster of concentration 0 is the uniform sphere of Proposition 3; $k_a \to \infty$ gives the points of (A.6).

use super::mixture::check_query;
use super::{Result, each, non_negative, per_cluster, positive, require_shape, softmax, weights};
use attnlab_core::error::Error;
use attnlab_core::special::{bessel_ratio, ln_scaled_sphere_mean};
use ndarray::{Array1, Array2, ArrayView1};

/// The clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct SphericalClusters {
    /// Unit directions $\mu_a$, columns of (n, K).
    pub means: Array2<f64>,
    /// Weights $w_a \ge 0$, summing to one.
    pub weights: Vec<f64>,
    /// Concentrations $k_a \ge 0$: the variance in each tangent direction is about $R^2/k_a$.
    pub concentrations: Vec<f64>,
    /// Radius $R > 0$.
    pub radius: f64,
}

impl SphericalClusters {
    /// Refuses what is no such mixture.
    ///
    /// # Errors
    /// Names the entry, its value and what is allowed.
    pub fn validate(&self) -> Result<()> {
        let (n, clusters) = self.means.dim();
        let expected = "at least one direction with at least two components";
        require_shape(clusters > 0 && n >= 2, "means", (n, clusters), expected)?;
        for (a, mean) in self.means.columns().into_iter().enumerate() {
            let norm = mean.dot(&mean).sqrt();
            // Normalising leaves a few rounding errors; written decimals leave ten digits.
            if norm.is_nan() || (norm - 1.0).abs() > 1e-9 {
                let allowed = "must be 1; these are directions. Divide each by its norm";
                return Err(Error::invalid(format!("norm of means[{a}]"), norm, allowed));
            }
        }
        per_cluster("weights", self.weights.len(), clusters)?;
        per_cluster("concentrations", self.concentrations.len(), clusters)?;
        each(non_negative, "concentrations", &self.concentrations)?;
        positive("R", self.radius)?;
        weights(&self.weights)
    }

    /// Order of the Bessel function in the denominator, $n/2 - 1$.
    pub fn order(&self) -> f64 {
        0.5 * self.means.nrows() as f64 - 1.0
    }

    /// $\mathbb E X = R \sum_a w_a\, r_\nu(k_a)\, \mu_a$.
    pub fn mean(&self) -> Array1<f64> {
        let length = |(w, k): (&f64, &f64)| self.radius * w * bessel_ratio(self.order(), *k);
        self.means.dot(&Array1::from_iter(self.weights.iter().zip(&self.concentrations).map(length)))
    }

    /// The posterior mean $\mathbb E[X | \tilde X = \tilde x]$.
    ///
    /// # Errors
    /// As [`SphericalClusters::validate`]; when the query has another length or is not finite; when
    /// `sigma_z2` is not positive.
    pub fn posterior_mean(&self, query: ArrayView1<f64>, sigma_z2: f64) -> Result<Array1<f64>> {
        self.validate()?;
        positive("sigma_z2", sigma_z2)?;
        check_query(query, self.means.nrows())?;
        let nu = self.order();
        let (mut tilted, mut p) = (vec![], vec![]);
        let tilt = &query * (self.radius / sigma_z2);
        for (a, mean) in self.means.columns().into_iter().enumerate() {
            let k = self.concentrations[a];
            let v = &mean * k + &tilt;
            let length = v.dot(&v).sqrt();
            // |v| - k for a unit mean, and the growth e^k apart from the means: nothing of size k cancels.
            let longer = if k == 0.0 { length } else { tilt.dot(&(&mean * (2.0 * k) + &tilt)) / (length + k) };
            let scaled = |kappa: f64| ln_scaled_sphere_mean(nu, kappa);
            p.push(self.weights[a].ln() + longer + scaled(length) - scaled(k));
            tilted.push((v, length));
        }
        softmax(&mut p);
        let mut mean = Array1::zeros(query.len());
        for (p, (v, length)) in p.iter().zip(&tilted) {
            if *length > 0.0 {
                mean.scaled_add(self.radius * p * bessel_ratio(nu, *length) / length, v);
            }
        }
        Ok(mean)
    }
}
