//! Equiangular tokens: $\langle x_i, x_j\rangle = \gamma$ for all $i \ne j$.
//!
//! With $a = e^{\beta}/Z$, $b = e^{\beta\gamma}/Z$ and $Z = e^\beta + (n-1)e^{\beta\gamma}$ (SA) or $Z = n$ (USA),
//! $\gamma' = 2b(1-\gamma)((n-1)\gamma + 1)$. The variable $u = -\ln(1-\gamma)$ has a bounded rate, so that $1 - \gamma$
//! is exact to a relative error however close to 1 γ is.

use attnlab_core::error::Result;
use attnlab_theory::dynamics::flow::{Flow, Method, Path, VectorField};
use attnlab_theory::particles::Normalisation;

/// Tokens at equal angles under one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equiangular {
    /// Model, SA or USA.
    pub model: Normalisation,
    /// n, number of tokens, at least 2.
    pub n: usize,
    /// β, inverse temperature.
    pub beta: f64,
}

/// Tolerance per step of the one-dimensional flows: their global error stays below 1e-10.
const TOLERANCE: f64 = 1e-13;

impl Equiangular {
    /// Computes the weights a of a token for itself and b for each other one, at inner product γ.
    pub fn weights(&self, gamma: f64) -> (f64, f64) {
        let others = (self.n - 1) as f64;
        // Relative to e^β, so that nothing overflows.
        let falling = (self.beta * (gamma - 1.0)).exp();
        match self.model {
            Normalisation::Softmax => {
                let z = 1.0 + others * falling;
                (1.0 / z, falling / z)
            }
            Normalisation::Uniform => {
                let a = self.beta.exp() / self.n as f64;
                (a, a * falling)
            }
        }
    }

    /// Computes (n − 1)γ + 1.
    fn spread(&self, gamma: f64) -> f64 {
        (self.n - 1) as f64 * gamma + 1.0
    }

    /// Computes the rate of u = −ln(1 − γ).
    fn rate(&self, gamma: f64) -> f64 {
        2.0 * self.weights(gamma).1 * self.spread(gamma)
    }

    /// Computes the rate of |x| of pre-LN tokens: ⟨θ_i, A_i⟩ = a + (n − 1) b γ.
    fn radial(&self, gamma: f64) -> f64 {
        let (a, b) = self.weights(gamma);
        a + (self.n - 1) as f64 * b * gamma
    }

    /// Computes γ(t) from an orthonormal start, at ascending times > 0.
    ///
    /// # Errors
    /// When the flow cannot be integrated.
    pub fn inner_product(&self, times: &[f64]) -> Result<Vec<f64>> {
        let path = run(|gamma, _| [self.rate(gamma)], [0.0], times)?;
        Ok(path.states.iter().map(|s: &Vec<f64>| -(-s[0]).exp_m1()).collect())
    }

    /// Computes 1 − γ(t) from an orthonormal start, at ascending times > 0.
    ///
    /// # Errors
    /// When the flow cannot be integrated.
    ///
    /// ```
    /// use attnlab_cluster::theory::equiangular::Equiangular;
    /// use attnlab_theory::particles::Normalisation;
    /// // n = 2, β = 0: γ' = 1 − γ², so γ = tanh t.
    /// let pair = Equiangular { model: Normalisation::Softmax, n: 2, beta: 0.0 };
    /// assert!((1.0 - pair.deficit(&[0.7])?[0] - 0.7_f64.tanh()).abs() < 1e-11);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn deficit(&self, times: &[f64]) -> Result<Vec<f64>> {
        let path = run(|gamma, _| [self.rate(gamma)], [0.0], times)?;
        Ok(path.states.iter().map(|s: &Vec<f64>| (-s[0]).exp()).collect())
    }

    /// Computes the time at which 1 − γ falls to `deficit`.
    ///
    /// # Errors
    /// When the flow cannot be integrated.
    pub fn time_to(&self, deficit: f64) -> Result<f64> {
        // t = ∫ du / rate(u), as the flow of t over u.
        Ok(run(|gamma, _| [1.0, 1.0 / self.rate(gamma)], [0.0, 0.0], &[-deficit.ln()])?.end()[1])
    }

    /// Computes 1 − γ and the common length r of pre-LN tokens from an orthonormal start, at ascending times > 0:
    /// γ' is divided by r, and r' = a + (n − 1) b γ.
    ///
    /// # Errors
    /// When the flow cannot be integrated.
    pub fn pre_ln(&self, times: &[f64]) -> Result<Vec<(f64, f64)>> {
        let path = run(|gamma, x| [self.rate(gamma) / x[1], self.radial(gamma)], [0.0, 1.0], times)?;
        Ok(path.states.iter().map(|s: &Vec<f64>| ((-s[0]).exp(), s[1])).collect())
    }

    /// Computes the factors by which small deviations of the inner products from γ grow until each of the times, by
    /// the symmetry of the deviation δ_ij: all equal; u_i + u_j with Σ u_i = 0; all row sums 0.
    ///
    /// To first order $\dot\delta_{ij} = 2p\,\delta_{ij} + q(r_i + r_j)$ with the row sums r of δ,
    /// $p = b(\beta(1-\gamma) - 1 - (n-1)\gamma)$ and $q = b(1-\gamma)(1 + \beta\gamma) - \beta b^2(1-\gamma)((n-1)\gamma + 1)$,
    /// the last term for SA alone. The rates are $2p + 2(n-1)q$, $2p + (n-2)q$ and $2p$.
    ///
    /// # Errors
    /// When the flow cannot be integrated.
    pub fn growth(&self, times: &[f64]) -> Result<Vec<[f64; 3]>> {
        let rates = |gamma: f64, _: &[f64]| {
            let [common, rows, rest] = self.growth_rates(gamma);
            [self.rate(gamma), common, rows, rest]
        };
        let path = run(rates, [0.0; 4], times)?;
        Ok(path.states.iter().map(|s: &Vec<f64>| [s[1].exp(), s[2].exp(), s[3].exp()]).collect())
    }

    /// Computes V(t), the limit of d times the mean squared deviation of the inner products from γ(t) for n tokens drawn
    /// uniformly on S^{d−1}, d → ∞: the inner products at the start are uncorrelated with variance 1/d.
    ///
    /// # Errors
    /// As [`growth`](Self::growth).
    pub fn deviation(&self, times: &[f64]) -> Result<Vec<f64>> {
        let n = self.n as f64;
        let mean = |[common, rows, rest]: &[f64; 3]| {
            if self.n == 2 {
                return common * common;
            }
            let sum = common * common + (n - 1.0) * rows * rows + 0.5 * n * (n - 3.0) * rest * rest;
            sum / (0.5 * n * (n - 1.0))
        };
        Ok(self.growth(times)?.iter().map(mean).collect())
    }

    /// Computes the rates of the three symmetries of a deviation at γ.
    fn growth_rates(&self, gamma: f64) -> [f64; 3] {
        let (n, b, beta) = (self.n as f64, self.weights(gamma).1, self.beta);
        let deficit = 1.0 - gamma;
        let p = b * (beta * deficit - self.spread(gamma));
        let mut q = b * deficit * (1.0 + beta * gamma);
        if self.model == Normalisation::Softmax {
            q -= beta * b * b * deficit * self.spread(gamma);
        }
        [2.0 * p + 2.0 * (n - 1.0) * q, 2.0 * p + (n - 2.0) * q, 2.0 * p]
    }
}

/// Integrates a state x whose first coordinate is u, from its rate at γ and x.
fn run<const N: usize>(rate: impl Fn(f64, &[f64]) -> [f64; N], start: [f64; N], times: &[f64]) -> Result<Path> {
    Flow::new(Method::Tsit45).within(TOLERANCE).run(&Along::<_, N>(rate), &start, times)
}

/// The field of [`run`].
struct Along<F, const N: usize>(F);

impl<F: Fn(f64, &[f64]) -> [f64; N], const N: usize> VectorField for Along<F, N> {
    fn dim(&self) -> usize {
        N
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        // γ from u, without cancellation at u = 0.
        out.copy_from_slice(&(self.0)(-(-x[0]).exp_m1(), x));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deviation that keeps all inner products equal is a shift of γ: its rate is the derivative of γ'.
    #[test]
    fn the_first_rate_is_a_derivative() {
        for model in Normalisation::ALL {
            for (n, beta, gamma) in [(2, 0.0, 0.3), (7, 2.5, 0.1), (30, 6.0, 0.8)] {
                let law = Equiangular { model, n, beta };
                let speed = |g: f64| (1.0 - g) * law.rate(g);
                let h = 1e-6;
                let slope = (speed(gamma + h) - speed(gamma - h)) / (2.0 * h);
                let rate = law.growth_rates(gamma)[0];
                assert!((rate - slope).abs() < 1e-7 * (1.0 + slope.abs()), "{law:?}: {rate} {slope}");
            }
        }
    }

    #[test]
    fn times_and_deficits_are_inverse() {
        for model in Normalisation::ALL {
            let law = Equiangular { model, n: 12, beta: 3.0 };
            let deficit = law.deficit(&[law.time_to(1e-4).unwrap()]).unwrap()[0];
            assert!((deficit / 1e-4 - 1.0).abs() < 1e-8, "{deficit}");
        }
    }
}
