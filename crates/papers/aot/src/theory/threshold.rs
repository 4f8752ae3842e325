//! The hard threshold on raw scores: the first layer of AoT (3) with
//! $\varphi(x)_i = \tau 1\{x_i > \tau\}$, without a softmax before it.

use super::chi_average;
use attnlab_core::error::{Result, positive, require};
use attnlab_core::special::{ln_normal_density, ln_normal_tail};

/// The factor by which the first layer with the hard threshold at τ on raw scores multiplies the SNR (6) of every
/// cluster, in the mean of its squared energies: balanced clusters, p dimensions each, noise δ, step η.
///
/// A token with coefficients y, |y| = r, in one head has the scores $r g_i$ with the n signal tokens of that head and
/// $\delta r h_m$ with the others, g and h independent standard normals, and $r^2$ with itself. Every score above τ
/// adds $\eta\tau$ times its token. Of m tokens of standard deviation s per coordinate those chosen have, with
/// $t = \tau/(s r)$, along y the mean $m s \phi(t)$ in sum and the variance $m s^2 (t\phi(t) + Q(t) - \phi(t)^2)$, and
/// across y the variance $m s^2 Q(t)$ in each of $p - 1$ directions. Hence, exactly,
///
/// $$ \mathbb E |y'|^2 = \Big(r + \eta\tau \big(r 1\{r^2 > \tau\} + \sum_s m s \phi(t)\big)\Big)^2
///    + \eta^2\tau^2 \sum_s m s^2 \big(t\phi(t) + (p Q(t) - \phi(t)^2)\big), $$
///
/// summed over the two kinds of tokens and averaged over $r = \chi_p$ in the token's own head and
/// $r = \delta\chi_p$ in the others. The ratio of the two averages is the squared factor; fluctuations
/// of the energies of a cluster, of relative order $1/\sqrt{Np}$, are left out.
///
/// # Errors
/// When N is not a multiple of K, a parameter is not positive, or a cluster has fewer than two tokens.
///
/// ```
/// // tau = 0.55 keeps about every second token in every column: noise grows like the signal.
/// let factor = attnlab_aot::theory::threshold::first_layer([600, 2, 120], 0.1, 0.5, 0.55)?;
/// assert!(factor < 0.2);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn first_layer([tokens, clusters, dim]: [usize; 3], delta: f64, eta: f64, tau: f64) -> Result<f64> {
    let balanced = clusters >= 2 && tokens.is_multiple_of(clusters) && tokens / clusters >= 2;
    require(balanced, "tokens", tokens, "must be a multiple of clusters >= 2, at least two tokens in each")?;
    for (name, value) in [("delta", delta), ("eta", eta), ("tau", tau), ("dim", dim as f64)] {
        positive(name, value)?;
    }
    let (n, others) = (tokens / clusters, tokens - tokens / clusters);
    let layer = Layer { delta, rate: eta * tau, tau, dim: dim as f64 };
    let signal = layer.average(1.0, |r| layer.energy(r, n - 1, others));
    let noise = layer.average(delta, |r| layer.energy(r, n, others - 1));
    Ok((signal / noise).sqrt() * delta)
}

/// One layer with the hard threshold.
struct Layer {
    delta: f64,
    /// ητ.
    rate: f64,
    tau: f64,
    dim: f64,
}

impl Layer {
    /// $\mathbb E |y'|^2$ of a token with |y| = r that sees `signal` and `noise` other tokens.
    fn energy(&self, r: f64, signal: usize, noise: usize) -> f64 {
        let self_term = if r * r > self.tau { r } else { 0.0 };
        let (mut along, mut spread) = (self_term, 0.0);
        for (m, s) in [(signal as f64, 1.0), (noise as f64, self.delta)] {
            let t = self.tau / (s * r);
            let (density, tail) = (ln_normal_density(t).exp(), ln_normal_tail(t).exp());
            along += m * s * density;
            spread += m * s * s * (t * density + self.dim * tail - density * density);
        }
        (r + self.rate * along).powi(2) + self.rate * self.rate * spread
    }

    /// The average over r = scale · χ_p.
    fn average(&self, scale: f64, f: impl Fn(f64) -> f64) -> f64 {
        // The self term begins at √τ; a score is τ times a standard normal where r is τ or τ/δ.
        chi_average(self.dim, scale, self.tau / self.delta.max(1.0), Some(self.tau.sqrt()), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use attnlab_core::special::chi_tail;

    /// Without other tokens $\mathbb E |y'|^2 = \mathbb E r^2 (1 + \eta\tau\,1\{r^2 > \tau\})^2$, and
    /// $\mathbb E r^2 1\{r^2 > \tau\} = p\, P(\chi^2_{p+2} > \tau)$.
    #[test]
    fn the_self_term_begins_at_its_place() {
        for dim in [1.0, 4.0, 30.0] {
            for i in 1..200_u32 {
                let (tau, delta) = (0.03 * f64::from(i), 0.7);
                let layer = Layer { delta, rate: 0.5 * tau, tau, dim };
                let added = (1.0 + layer.rate).powi(2) - 1.0;
                let exact = dim * (1.0 + added * chi_tail(dim + 2.0, tau.sqrt()));
                let average = layer.average(1.0, |r| layer.energy(r, 0, 0));
                assert!((average / exact - 1.0).abs() < 1e-8, "{dim} {tau}: {average} {exact}");
            }
        }
    }

    /// For p = 1 the mean of φ(τ/r) is $2\int_0^\infty \phi(r)\phi(\tau/r)\,dr = e^{-\tau}/\sqrt{2\pi}$.
    #[test]
    fn a_small_threshold_is_seen() {
        for tau in [3.0, 1e-2, 1e-4, 1e-6] {
            let layer = Layer { delta: 1.0, rate: 1.0, tau, dim: 1.0 };
            let exact = (ln_normal_density(0.0) - tau).exp();
            let average = layer.average(1.0, |r| ln_normal_density(tau / r).exp());
            assert!((average / exact - 1.0).abs() < 1e-8, "{tau}: {average} {exact}");
        }
    }
}
