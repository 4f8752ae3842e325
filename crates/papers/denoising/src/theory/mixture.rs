//! Gaussian clusters: $p_X = \sum_a w_a\, \mathcal N(\mu_a, \sigma_a^2 I_n)$ (Proposition 4 and
//! Appendix C.3). A cluster of variance 0 is a point.

use super::{Result, each, non_negative, per_cluster, positive, require_shape, softmax, weights};
use attnlab_core::error::Error;
use attnlab_core::quadrature::integrate;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

/// The clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// Centres $\mu_a$, columns of (n, K).
    pub means: Array2<f64>,
    /// Weights $w_a \ge 0$, summing to one.
    pub weights: Vec<f64>,
    /// Variances $\sigma_a^2 \ge 0$.
    pub variances: Vec<f64>,
}

/// Formula for the weight of a cluster in the posterior.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// $w_a (\sigma_Z^2 + \sigma_a^2)^{-n/2} e^{-\|\tilde x - \mu_a\|^2 / 2(\sigma_Z^2 + \sigma_a^2)}$:
    /// $w_a$ times the density of $\tilde x$ under cluster $a$.
    Corrected,
    /// As Appendix C.3 prints it, with $((\sigma_Z^2 + \sigma_a^2) / \sigma_a^2)^{+n/2}$ in front: the
    /// inverse of the Gaussian integral, and without $C_a$.
    Printed,
}

impl Clusters {
    /// Refuses what is no mixture.
    ///
    /// # Errors
    /// Names the entry, its value and what is allowed.
    pub fn validate(&self) -> Result<()> {
        let (n, clusters) = self.means.dim();
        require_shape(n * clusters > 0, "means", (n, clusters), "at least one centre with at least one component")?;
        finite("means", &self.means)?;
        per_cluster("weights", self.weights.len(), clusters)?;
        per_cluster("variances", self.variances.len(), clusters)?;
        each(non_negative, "variances", &self.variances)?;
        weights(&self.weights)
    }

    /// Posterior weights of the clusters given the query.
    pub(crate) fn responsibilities(&self, query: ArrayView1<f64>, sigma_z2: f64, weight: Weight) -> Vec<f64> {
        let half = 0.5 * query.len() as f64;
        let prior = |a: usize| {
            let (total, variance) = (sigma_z2 + self.variances[a], self.variances[a]);
            let normaliser = match weight {
                Weight::Corrected => -half * total.ln(),
                Weight::Printed => half * (total / variance).ln(),
            };
            (total, self.weights[a].ln() + normaliser)
        };
        let clusters = 0..self.weights.len();
        let log_weight = |a: usize| prior(a).1 - 0.5 * distance2(query, self.means.column(a)) / prior(a).0;
        // Relative to the most probable cluster, with |x - μ_a|² less its |x - μ|² as a product: far from all clusters the
        // squares have lost what tells these apart.
        let most = clusters.clone().max_by(|a, b| log_weight(*a).total_cmp(&log_weight(*b))).unwrap_or(0);
        let (origin, (least, _)) = (self.means.column(most), prior(most));
        let distance = distance2(query, origin);
        let product = |((m, o), x): ((&f64, &f64), &f64)| {
            let (sum, apart) = (m + o, (m - x, o - x));
            let sum = if sum.abs() <= apart.0.abs() + apart.1.abs() { sum - 2.0 * x } else { apart.0 + apart.1 };
            (m - o) * sum
        };
        let relative = |a: usize| {
            let (total, log_prior) = prior(a);
            let farther: f64 = self.means.column(a).iter().zip(origin).zip(query).map(product).sum();
            let wider = if total == least { 0.0 } else { distance * ((least - total) / total / least) };
            log_prior - 0.5 * (farther / total + wider)
        };
        let mut logs: Vec<f64> = clusters.map(relative).collect();
        softmax(&mut logs);
        logs
    }

    /// The posterior mean $\mathbb E[X | \tilde X = \tilde x]$ with either weight:
    /// $\sum_a p_a (\sigma_a^2 \tilde x + \sigma_Z^2 \mu_a) / (\sigma_a^2 + \sigma_Z^2)$.
    ///
    /// # Errors
    /// As [`Clusters::validate`]; when the query has another length or is not finite; when `sigma_z2` is not positive;
    /// for the printed weight also when a variance is 0, where it is infinite.
    ///
    /// ```
    /// use attnlab_denoising::theory::mixture::{Clusters, Weight};
    /// use ndarray::{array, Array1};
    /// // Two points at +-1 and unit noise: tanh.
    /// let clusters = Clusters {
    ///     means: array![[1.0, -1.0]],
    ///     weights: vec![0.5, 0.5],
    ///     variances: vec![0.0, 0.0],
    /// };
    /// let query = Array1::from(vec![0.7]);
    /// let mean = clusters.posterior_mean(query.view(), 1.0, Weight::Corrected)?;
    /// // Some twenty operations on numbers up to 2, each rounded by half an ε of them.
    /// assert!((mean[0] - 0.7_f64.tanh()).abs() < 20.0 * f64::EPSILON);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn posterior_mean(&self, query: ArrayView1<f64>, sigma_z2: f64, weight: Weight) -> Result<Array1<f64>> {
        self.validate()?;
        positive("sigma_z2", sigma_z2)?;
        check_query(query, self.means.nrows())?;
        if weight == Weight::Printed {
            each(positive, "variances", &self.variances)?;
        }
        let p = self.responsibilities(query, sigma_z2, weight);
        let mut mean = Array1::zeros(query.len());
        for (a, centre) in self.means.columns().into_iter().enumerate() {
            let variance = self.variances[a];
            let total = variance + sigma_z2;
            mean.scaled_add(p[a] * variance / total, &query);
            mean.scaled_add(p[a] * sigma_z2 / total, &centre);
        }
        Ok(mean)
    }

    /// The mean of the mixture tilted by $e^{\beta\langle x, q\rangle}$:
    /// $\sum_a p_a (\mu_a + \beta\sigma_a^2 q)$ with
    /// $p_a \propto w_a e^{\beta\langle\mu_a, q\rangle + \beta^2\sigma_a^2\|q\|^2/2}$.
    pub(super) fn tilted_mean(&self, query: ArrayView1<f64>, beta: f64) -> Result<Array1<f64>> {
        self.validate()?;
        let norm2 = query.dot(&query);
        let log_weight = |(a, mean): (usize, ArrayView1<f64>)| {
            self.weights[a].ln() + beta * mean.dot(&query) + 0.5 * beta * beta * self.variances[a] * norm2
        };
        let mut p: Vec<f64> = self.means.columns().into_iter().enumerate().map(log_weight).collect();
        softmax(&mut p);
        let variance: f64 = p.iter().zip(&self.variances).map(|(p, v)| p * v).sum();
        Ok(self.means.dot(&Array1::from(p)) + &query * (beta * variance))
    }
}

/// (A.5), for clusters of equal variance $\sigma_0^2$ and equal norm: the shrunk query plus softmax
/// attention over the centres with inverse temperature $1/(\sigma_0^2 + \sigma_Z^2)$. With
/// `sigma0_2` = 0 this is (A.6). The norms are *not* checked: that they must be equal is a
/// hypothesis of the statement.
pub fn equal_variances(
    means: ArrayView2<f64>,
    weights: &[f64],
    sigma0_2: f64,
    sigma_z2: f64,
    query: ArrayView1<f64>,
) -> Array1<f64> {
    let total = sigma0_2 + sigma_z2;
    let log_weight = |(a, mean): (usize, ArrayView1<f64>)| weights[a].ln() + mean.dot(&query) / total;
    let mut p: Vec<f64> = means.columns().into_iter().enumerate().map(log_weight).collect();
    softmax(&mut p);
    let centre = means.dot(&Array1::from(p));
    &query * (sigma0_2 / total) + centre * (sigma_z2 / total)
}

/// Bayes loss of two points or clusters of equal variance at $\pm\mu$ with $\|\mu\| = R$ in
/// $\mathbb R^n$ and weights $w$, $1 - w$, by quadrature along $\mu$:
/// $n s + (\sigma_Z^2/(\sigma_0^2+\sigma_Z^2))^2\, \mathbb E\,\mathrm{Var}(\pm R | \tilde x)$ with
/// $s = \sigma_0^2\sigma_Z^2/(\sigma_0^2+\sigma_Z^2)$.
///
/// ```
/// use attnlab_denoising::theory::mixture::two_cluster_mmse;
/// use attnlab_denoising::theory::sphere;
/// // Two equally likely points are the sphere of dimension 0.
/// let points = two_cluster_mmse(16, 1.0, 0.5, 0.0, 0.1);
/// assert!((points - sphere::mmse(0, 1.0, 0.1)).abs() < 1e-12);
/// ```
pub fn two_cluster_mmse(n: usize, radius: f64, weight: f64, sigma0_2: f64, sigma_z2: f64) -> f64 {
    let total = sigma0_2 + sigma_z2;
    let lambda = radius / total.sqrt();
    let other = 1.0 - weight;
    // Var(+-R | y) = 4 R^2 p (1 - p); its mean is the integral of w f_+ (1-w) f_- / (w f_+ + (1-w) f_-)
    // times 4 R^2, in units t of sqrt(total).
    let density = |t: f64| {
        let (up, down) = ((-0.5 * (t - lambda).powi(2)).exp(), (-0.5 * (t + lambda).powi(2)).exp());
        // The product of both over their sum, without underflow.
        let (up, down) = (weight * up, other * down);
        let (least, most) = (up.min(down), up.max(down));
        if most == 0.0 { 0.0 } else { least * (most / (up + down)) }
    };
    // The integrand is at most exp(-(t² + λ²)/2)/4, so that nothing is left beyond 40.
    let reach = (lambda + 14.0).min(40.0);
    let overlap = integrate(density, -reach, reach, 0.5, 1e-13) / (2.0 * std::f64::consts::PI).sqrt();
    n as f64 * sigma0_2 * sigma_z2 / total + (sigma_z2 / total).powi(2) * 4.0 * radius * radius * overlap
}

/// Computes $\|a - b\|^2$.
pub(crate) fn distance2(a: ArrayView1<f64>, b: ArrayView1<f64>) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum()
}

/// Refuses a query of the wrong length or with entries that are not finite.
pub(super) fn check_query(query: ArrayView1<f64>, n: usize) -> Result<()> {
    require_shape(query.len() == n, "x", query.len(), format!("the n = {n} components of the tokens"))?;
    finite("x", query)
}

fn finite<'a>(name: &str, numbers: impl IntoIterator<Item = &'a f64>) -> Result<()> {
    match numbers.into_iter().find(|x| !x.is_finite()) {
        Some(bad) => Err(Error::invalid(name, bad, "must be finite numbers only")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// The nearest centre is a point with next to no noise, which has no weight; the other two have .3 e^{-.7²/2} and
    /// .5 e^{-2.3²/2}.
    #[test]
    fn a_near_cluster_without_weight_costs_no_digits() {
        let clusters =
            Clusters { means: array![[0.0, 1.0, -2.0]], weights: vec![0.2, 0.3, 0.5], variances: vec![0.0, 1.0, 1.0] };
        let (right, left) = (0.3 * (-0.245_f64).exp(), 0.5 * (-2.645_f64).exp());
        for sigma_z2 in [1e-20, 1e-15] {
            let p = clusters.responsibilities(array![0.3].view(), sigma_z2, Weight::Corrected);
            assert!(p[0] == 0.0 && (p[1] - right / (right + left)).abs() < 1e-13, "{p:?}");
        }
    }
}
