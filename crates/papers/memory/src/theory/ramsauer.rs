//! Theorem 3 of *Hopfield networks is all you need*: the number of patterns that are stored.

use attnlab_core::error::{Error, Result, at_least, positive, require};

/// The promise of the theorem,
/// $$ a = \tfrac{2}{d-1}\big(1 + \ln(2\beta K^2 p (d-1))\big), \quad b = \tfrac25 K^2\beta, \quad
///    c = b / W_0(e^{a + \ln b}), \quad N \ge \sqrt p\, c^{(d-1)/4}. $$
///
/// Since $W_0(x)e^{W_0(x)} = x$ it is $N = (2e\beta M^2)^{-1/2} e^{(d-1)W/4}$ with $W = W_0(b e^a)$ and $M = K\sqrt{d-1}$.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// ln c.
    pub ln_c: f64,
    /// ln(√p c^{(d−1)/4}).
    pub ln_patterns: f64,
    /// ln c − ln (2/√p)^{4/(d−1)}, which the theorem requires to be ≥ 0.
    pub margin: f64,
}

impl Capacity {
    /// Computes the promise for patterns of length K√(d−1) in d dimensions.
    ///
    /// # Errors
    /// If d < 2, K, β or p is not a finite number > 0, or βK²p(d − 1) overflows or is 0.
    ///
    /// ```
    /// use attnlab_memory::theory::ramsauer::Capacity;
    /// // The examples beside the theorem: c >= 3.1546 and c >= 1.3718.
    /// let first = Capacity::new(20, 3.0, 1.0, 0.001)?;
    /// assert!((3.1546..3.1547).contains(&first.ln_c.exp()));
    /// let second = Capacity::new(75, 1.0, 1.0, 0.001)?;
    /// assert!((1.3718..1.3719).contains(&second.ln_c.exp()));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new(d: usize, k: f64, beta: f64, p: f64) -> Result<Self> {
        at_least("d", d, 2)?;
        for (name, value) in [("K", k), ("beta", beta), ("p", p)] {
            positive(name, value)?;
        }
        let dims = (d - 1) as f64;
        let a = 2.0 / dims * (1.0 + (2.0 * beta * k * k * p * dims).ln());
        let ln_b = (0.4 * k * k * beta).ln();
        require((a + ln_b).is_finite(), "K", k, "must be such that beta K^2 p (d - 1) neither overflows nor is 0")?;
        let ln_c = ln_b - ln_lambert(a + ln_b)?;
        let ln_patterns = 0.5 * p.ln() + 0.25 * dims * ln_c;
        let margin = ln_c - 4.0 / dims * (2.0_f64.ln() - 0.5 * p.ln());
        Ok(Capacity { ln_c, ln_patterns, margin })
    }

    /// Returns the least whole number that the theorem promises, as a number.
    pub fn patterns(&self) -> f64 {
        // Rounding, some 1e-16 times the logarithm, must not add a pattern.
        let n = self.ln_patterns.exp();
        (n - 1e-12 * n).ceil().max(1.0)
    }
}

/// Computes ln W₀(e^s): the v with e^v + v = s.
fn ln_lambert(s: f64) -> Result<f64> {
    // e^v + v is convex and rising: Newton's method falls to the root from any start above it.
    let mut v = if s > 1.0 { s.ln() } else { s };
    for _ in 0..100 {
        let step = (v.exp() + v - s) / (v.exp() + 1.0);
        v -= step;
        if step.abs() <= 4.0 * f64::EPSILON * v.abs().max(1.0) {
            return Ok(v);
        }
    }
    Err(Error::not_converged(format!("ln W(exp({s}))")))
}
