//! Exponentially tilted laws of tokens, and the length of context from which softmax attention is close to its limit.
//!
//! With $u_t = e^{\beta\langle X_t, q\rangle} / \mathbb E e^{\beta\langle X, q\rangle}$ softmax attention at the
//! query q is a ratio of two means, and its distance from a limit f is
//! $F_L - f = \overline{u(X - f)} / \bar u$. Its two leading orders in $1/L$ are moments of tilted laws: with
//! $T_k = \mathbb E\, u^k \|X - f\|^2$,
//! $$\mathbb E\|F_L - f\|^2 = \frac{T_2}{L}\Big(1 - 2\frac{T_3}{T_2 L} + O\big(\tfrac{\mathbb E u^2}{L}\big)\Big).$$

use super::mixture::check_query;
use super::spherical::SphericalClusters;
use super::{Prior, softmax, sphere};
use attnlab_core::error::Result;
use attnlab_core::special::ln_sphere_mean;
use ndarray::{Array1, ArrayView1};

/// A law of tokens with density proportional to $e^{\beta\langle x, q\rangle}$ relative to its prior.
#[derive(Clone, Debug, PartialEq)]
pub struct Tilt {
    /// $\ln\mathbb E\, e^{\beta\langle X, q\rangle}$ under the prior.
    pub ln_mass: f64,
    /// Mean (n,).
    pub mean: Array1<f64>,
    /// $\mathbb E\|X\|^2$.
    pub second: f64,
}

/// The two leading orders of the error of softmax attention at one query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asymptotics {
    /// $T_2$, the limit of $L\,\mathbb E\|F_L - f\|^2$; this and L* are infinite where β is beyond what differences of
    /// logarithms resolve.
    pub variance: f64,
    /// $L^* = T_3 / T_2$, a length: the error is $T_2 / L$ up to a share of about $2 L^* / L$.
    pub length: f64,
    /// $\mathbb E\|X - f\|^2 / \mathbb E\|X\|^2$ under the law tilted twice; below rounding where the softmax is
    /// saturated.
    pub spread: f64,
}

impl Prior {
    /// Computes the law tilted by $e^{\beta\langle x, q\rangle}$.
    ///
    /// # Errors
    /// As [`Prior::attention_limit`].
    ///
    /// ```
    /// use attnlab_denoising::theory::Prior;
    /// use ndarray::array;
    /// let line = Prior::Gaussian { basis: array![[1.0], [0.0]], variances: vec![2.0] };
    /// let tilt = line.tilt(array![3.0, 5.0].view(), 0.5)?;
    /// // E e^{1.5 x} = e^{2.25}; the mean moves by 2 * 1.5.
    /// assert_eq!((tilt.ln_mass, tilt.mean[0], tilt.second), (2.25, 3.0, 11.0));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn tilt(&self, query: ArrayView1<f64>, beta: f64) -> Result<Tilt> {
        let mean = self.attention_limit(query, beta)?;
        let norm = || {
            let projected = self.project(query);
            projected.dot(&projected).sqrt()
        };
        let (ln_mass, second) = match self {
            Prior::Gaussian { variances, .. } => {
                (0.5 * beta * mean.dot(&query), variances.iter().sum::<f64>() + mean.dot(&mean))
            }
            Prior::Sphere { basis, radius } => {
                (ln_sphere_mean(sphere::order(basis.ncols() - 1), beta.abs() * radius * norm()), radius * radius)
            }
            Prior::SphericalClusters(c) => (ln_mass(c, query, beta), c.radius * c.radius),
            Prior::Clusters(c) => {
                let norm2 = query.dot(&query);
                let (mut logs, mut seconds) = (vec![], vec![]);
                for (a, centre) in c.means.columns().into_iter().enumerate() {
                    let v = c.variances[a];
                    logs.push(c.weights[a].ln() + (beta * centre.dot(&query) + 0.5 * beta * beta * v * norm2));
                    let moved = &centre + &(&query * (beta * v));
                    seconds.push(moved.dot(&moved) + v * query.len() as f64);
                }
                let ln_mass = softmax(&mut logs);
                (ln_mass, logs.iter().zip(&seconds).map(|(p, s)| p * s).sum())
            }
        };
        Ok(Tilt { ln_mass, mean, second })
    }

    /// Computes the two leading orders of the error of softmax attention at inverse temperature β relative to
    /// `limit` (n,).
    ///
    /// # Errors
    /// As [`Prior::attention_limit`].
    pub fn asymptotics(&self, query: ArrayView1<f64>, beta: f64, limit: ArrayView1<f64>) -> Result<Asymptotics> {
        check_query(limit, query.len())?;
        let once = self.tilt(query, beta)?;
        // ln E u^k, and the mean of |X - f|^2 and of |X|^2 under the law tilted k times.
        let moment = |k: f64| -> Result<[f64; 3]> {
            let tilt = self.tilt(query, k * beta)?;
            let distance2 = tilt.second - 2.0 * tilt.mean.dot(&limit) + limit.dot(&limit);
            Ok([tilt.ln_mass - k * once.ln_mass, distance2.max(0.0), tilt.second])
        };
        let ([ln2, two, second], [ln3, three, _]) = (moment(2.0)?, moment(3.0)?);
        if once.ln_mass.abs() > MOST_LN_MASS {
            return Ok(Asymptotics { variance: f64::INFINITY, length: f64::INFINITY, spread: two / second });
        }
        Ok(Asymptotics { variance: ln2.exp() * two, length: (ln3 - ln2).exp() * three / two, spread: two / second })
    }
}

/// Largest logarithm of a mass whose multiples still have digits after their difference is taken: 1e-5 is lost.
const MOST_LN_MASS: f64 = 1e10;

/// $\ln \sum_a w_a M_\nu(\|k_a\mu_a + \beta R q\|) / M_\nu(k_a)$.
fn ln_mass(c: &SphericalClusters, query: ArrayView1<f64>, beta: f64) -> f64 {
    let nu = c.order();
    let log_weight = |(a, mean): (usize, ArrayView1<f64>)| {
        let k = c.concentrations[a];
        let v = &mean * k + &query * (beta * c.radius);
        c.weights[a].ln() + ln_sphere_mean(nu, v.dot(&v).sqrt()) - ln_sphere_mean(nu, k)
    };
    let mut logs: Vec<f64> = c.means.columns().into_iter().enumerate().map(log_weight).collect();
    softmax(&mut logs)
}
