//! One softmax attention layer on equiangular tokens, $\langle x_i, x_j\rangle = \rho$, at β = γ log n.
//!
//! With $\kappa = \gamma(1-\rho)$ and $c = (1 - n^{-\kappa})/(1 + (n-1)n^{-\kappa})$, the weight of a token for itself less
//! that for another one, the output is $c x_i + \frac{1-c}{n}\sum_k x_k$ and
//!
//! $$1 - \cos = \frac{c^2(1-\rho)}{c^2 + (\rho + (1-\rho)/n)(1 - c^2)}.$$

/// Attention layer on n tokens with inner products ρ, at β = γ log n.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongContext {
    /// n, number of tokens; real, so that limits can be taken.
    pub n: f64,
    /// ρ, inner product of two tokens.
    pub rho: f64,
    /// γ, factor of log n.
    pub gamma: f64,
}

/// Side of the critical factor γ = 1/(1 − ρ).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// γ < 1/(1 − ρ): the outputs become parallel.
    Below,
    /// γ = 1/(1 − ρ).
    Critical,
    /// γ > 1/(1 − ρ): the outputs are the inputs.
    Above,
}

/// Distance of κ from 1 that counts as 0: rounding of γ(1 − ρ).
const EQUAL: f64 = 1e-12;

impl LongContext {
    /// Computes κ = γ(1 − ρ).
    pub fn kappa(&self) -> f64 {
        self.gamma * (1.0 - self.rho)
    }

    /// Returns the regime of γ.
    pub fn regime(&self) -> Regime {
        let over = self.kappa() - 1.0;
        if over.abs() <= EQUAL {
            Regime::Critical
        } else if over < 0.0 {
            Regime::Below
        } else {
            Regime::Above
        }
    }

    /// Computes c and 1 − c, each to full relative precision.
    fn excess(&self) -> (f64, f64) {
        let log = self.kappa() * self.n.ln();
        let falling = (-log).exp();
        let z = 1.0 + (self.n - 1.0) * falling;
        (-(-log).exp_m1() / z, self.n * falling / z)
    }

    /// Computes (ρ + (1 − ρ)/n)(1 − c²).
    fn shared(&self) -> f64 {
        let (c, rest) = self.excess();
        (self.rho + (1.0 - self.rho) / self.n) * rest * (1.0 + c)
    }

    /// Computes 1 − cos of two outputs.
    pub fn deficit(&self) -> f64 {
        let (c, _) = self.excess();
        c * c * (1.0 - self.rho) / (c * c + self.shared())
    }

    /// Computes the cosine of two outputs less ρ.
    pub fn over_input(&self) -> f64 {
        let (c, _) = self.excess();
        self.shared() * (1.0 - self.rho) / (c * c + self.shared())
    }

    /// Computes the cosine of two outputs.
    ///
    /// ```
    /// use attnlab_cluster::theory::long_context::LongContext;
    /// // At the critical γ and ρ = 1/2 the limit is 4/5.
    /// let critical = LongContext { n: 1e12, rho: 0.5, gamma: 2.0 };
    /// assert!((critical.cosine() - 0.8).abs() < 1e-11);
    /// ```
    pub fn cosine(&self) -> f64 {
        let (c, _) = self.excess();
        (c * c * self.rho + self.shared()) / (c * c + self.shared())
    }

    /// Computes the printed limit for n → ∞.
    pub fn limit(&self) -> f64 {
        match self.regime() {
            Regime::Below => 1.0,
            Regime::Critical => 4.0 * self.rho / (1.0 + 3.0 * self.rho),
            Regime::Above => self.rho,
        }
    }

    /// Computes the distance |cos − limit|, without cancellation.
    pub fn distance(&self) -> f64 {
        match self.regime() {
            Regime::Below => self.deficit(),
            Regime::Critical => {
                // κ = 1 in the cosine: with e = 1/n, c = (1 − e)/(2 − e), and the limit taken off.
                let (rho, e) = (self.rho, 1.0 / self.n);
                let top = (1.0 - rho) * e * (3.0 + rho - e * (2.0 + rho));
                let limit = 1.0 + 3.0 * rho;
                top / (limit * (limit + e * (1.0 - 5.0 * rho) - e * e * (1.0 - 2.0 * rho)))
            }
            Regime::Above => self.over_input(),
        }
    }

    /// Computes the leading order of [`distance`](Self::distance) for n → ∞ at ρ > 0: $\frac{1-\rho}\rho n^{-2(1-\kappa)}$ below
    /// the critical factor, $\frac{(1-\rho)(3+\rho)}{(1+3\rho)^2} n^{-1}$ at it, $2\rho(1-\rho) n^{-(\kappa-1)}$ above.
    pub fn law(&self) -> f64 {
        let (rho, kappa) = (self.rho, self.kappa());
        match self.regime() {
            Regime::Below => (1.0 - rho) / rho * self.n.powf(-2.0 * (1.0 - kappa)),
            Regime::Critical => (1.0 - rho) * (3.0 + rho) / (1.0 + 3.0 * rho).powi(2) / self.n,
            Regime::Above => 2.0 * rho * (1.0 - rho) * self.n.powf(-(kappa - 1.0)),
        }
    }

    /// Computes the relative size of the terms that [`law`](Self::law) leaves out: n^{−κ} and n^{−(1−κ)} below, n^{−(κ−1)} above,
    /// 1/(ρn) on both sides.
    pub fn rest(&self) -> f64 {
        let kappa = self.kappa();
        let mean = 1.0 / (self.rho * self.n);
        let weights = match self.regime() {
            Regime::Below => {
                // c² against 1 − c² = 1, with the factor 1/ρ; 1 − n^{−κ} twice; n^κ against n in z.
                let c = self.n.powf(kappa - 1.0);
                2.0 * self.n.powf(-kappa) + 2.0 * c + c * c / self.rho
            }
            Regime::Critical => 4.0 / self.n,
            Regime::Above => 4.0 * self.n.powf(-(kappa - 1.0)) * (1.0 + self.rho),
        };
        mean + weights
    }
}

/// Returns the factor γ at which a token's weight for itself goes from 0 to 1, for N uniform tokens in d = δ log N
/// dimensions as N → ∞.
///
/// The other tokens have N E e^{βu} with the density (1 − u²)^{d/2} of u = ⟨x_i, x_j⟩: its logarithm over log N is the
/// largest $1 + \frac\delta2\ln(1 - u^2) + \gamma u$, at γ = δu/(1 − u²). The token itself has γ. Both are equal where
/// $\frac u{1+u} - \frac12\ln(1 - u^2) = \frac1\delta$.
///
/// ```
/// use attnlab_cluster::theory::long_context::transition;
/// // u = 1/2 at 1/δ = 1/3 + ln(4/3)/2.
/// let delta = 1.0 / (1.0 / 3.0 + 0.5 * (4.0_f64 / 3.0).ln());
/// assert!((transition(delta) - 2.0 / 3.0 * delta).abs() < 1e-14);
/// ```
pub fn transition(delta: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    // Halvings until u is exact to rounding for δ up to 1000.
    for _ in 0..64 {
        let u = 0.5 * (low + high);
        let reached = u / (1.0 + u) - 0.5 * (-u * u).ln_1p() > delta.recip();
        if reached { high = u } else { low = u }
    }
    delta * low / (1.0 - low * low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At small n, where nothing cancels, against the cosine itself.
    #[test]
    fn the_distance_is_that_of_the_cosine() {
        for (rho, kappa) in [(0.3, 0.7), (0.1, 1.0), (0.6, 1.0), (0.9, 1.0), (0.4, 1.4)] {
            for n in [2.0, 7.0, 40.0] {
                let gamma = kappa / (1.0 - rho);
                let layer = LongContext { n, rho, gamma };
                let plain = (layer.cosine() - layer.limit()).abs();
                assert!((layer.distance() / plain - 1.0).abs() < 1e-12, "{layer:?}");
            }
        }
    }

    #[test]
    fn the_laws_are_the_leading_orders() {
        for (rho, gamma, n) in [(0.3, 0.8, 1e14), (0.6, 2.5, 1e13), (0.2, 2.2, 1e12), (0.5, 2.0, 1e5)] {
            let layer = LongContext { n, rho, gamma };
            let ratio = layer.distance() / layer.law();
            assert!((ratio - 1.0).abs() <= layer.rest(), "{layer:?}: {ratio} {}", layer.rest());
        }
    }
}
