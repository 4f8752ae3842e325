//! The loss of softmax attention with scaled identities, $W_{PV} = \alpha I$, $W_{KQ} = \beta I$, over
//! a set of prompts: the landscape of Denoising Fig. 6.
//!
//! With $v_\beta = X\,\mathrm{softmax}(\beta X^T\tilde x)$ the loss is a quadratic in α, $\alpha^2\,\mathbb
//! E\|v_\beta\|^2 - 2\alpha\,\mathbb E\langle v_\beta, x\rangle + \mathbb E\|x\|^2$, so that three means per β give a
//! whole column of the landscape; and the scores $X^T\tilde x$ are the same for every β.

use crate::prompts::Prompt;
use attnlab_core::error::{Result, at_least, require};

/// Prompts with their scores.
#[derive(Clone, Debug)]
pub struct ScaleLandscape {
    prompts: Vec<Prompt>,
    /// $X^T\tilde x$ of every prompt; empty for contexts without end.
    scores: Vec<Vec<f64>>,
}

/// Means over the prompts at one β.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// β.
    pub beta: f64,
    /// $\mathbb E\|v_\beta\|^2$.
    pub square: f64,
    /// $\mathbb E\langle v_\beta, x\rangle$.
    pub cross: f64,
    /// $\mathbb E\|x\|^2$.
    pub target: f64,
}

impl Moments {
    /// The mean loss at α, summed over components.
    pub fn loss(&self, alpha: f64) -> f64 {
        (alpha * self.square - 2.0 * self.cross) * alpha + self.target
    }

    /// The α of least loss.
    pub fn best_alpha(&self) -> f64 {
        self.cross / self.square
    }
}

/// The lowest point of the landscape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleMinimum {
    /// α.
    pub alpha: f64,
    /// β.
    pub beta: f64,
    /// Mean loss there, summed over components.
    pub loss: f64,
}

/// β tried before the search narrows: with neighbours a factor of 1.2 apart over two decades, closer
/// than any two valleys that were seen.
const TRIED: usize = 25;

impl ScaleLandscape {
    /// The landscape of prompts with their contexts.
    ///
    /// # Errors
    /// When there is no prompt.
    ///
    /// ```
    /// use attnlab_denoising::scales::ScaleLandscape;
    /// use attnlab_core::rng::Streams;
    /// use attnlab_denoising::prompts::{Denoising, Dimension, Family};
    /// let family = Family::Sphere { dim: Dimension::Fixed(1), radius: 1.0 };
    /// let problem = Denoising { family, ambient: 2, context: 50, sigma_z2: 0.5 };
    /// let prompts = (0..100).map(|i| problem.draw(&Streams::new(0, "doc", 0, i)));
    /// let landscape = ScaleLandscape::new(prompts.collect::<Result<_, _>>()?)?;
    /// let moments = landscape.moments(2.0)?;
    /// // Moments and losses are two ways to the same number.
    /// let losses = landscape.losses(0.7, 2.0)?;
    /// assert!((moments.loss(0.7) - losses.iter().sum::<f64>() / 100.0).abs() < 1e-14);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new(prompts: Vec<Prompt>) -> Result<Self> {
        let scores = prompts.iter().map(|p| p.context.t().dot(&p.query).to_vec()).collect();
        Self::checked(prompts, scores)
    }

    /// The landscape of the same tasks and queries with infinitely many tokens in every context: the
    /// [limit of attention](crate::theory::Prior::attention_limit).
    ///
    /// # Errors
    /// When there is no prompt.
    pub fn of_limit(prompts: Vec<Prompt>) -> Result<Self> {
        Self::checked(prompts, vec![])
    }

    fn checked(prompts: Vec<Prompt>, scores: Vec<Vec<f64>>) -> Result<Self> {
        at_least("prompts", prompts.len(), 1)?;
        Ok(ScaleLandscape { prompts, scores })
    }

    /// The means at β, which may be negative.
    ///
    /// # Errors
    /// When β is not finite.
    pub fn moments(&self, beta: f64) -> Result<Moments> {
        let (mut square, mut cross, mut target) = (0.0, 0.0, 0.0);
        for i in 0..self.prompts.len() {
            let (v, x) = (self.attend(i, beta)?, &self.prompts[i].target);
            square += v.iter().map(|v| v * v).sum::<f64>();
            cross += v.iter().zip(x).map(|(v, x)| v * x).sum::<f64>();
            target += x.dot(x);
        }
        let n = self.prompts.len() as f64;
        Ok(Moments { beta, square: square / n, cross: cross / n, target: target / n })
    }

    /// The loss of every prompt at (α, β), summed over components: for paired comparisons.
    ///
    /// # Errors
    /// When β is not finite.
    pub fn losses(&self, alpha: f64, beta: f64) -> Result<Vec<f64>> {
        let loss = |i: usize| {
            let v = self.attend(i, beta)?;
            let error = |(v, x): (&f64, &f64)| (alpha * v - x).powi(2);
            Ok(v.iter().zip(&self.prompts[i].target).map(error).sum())
        };
        (0..self.prompts.len()).map(loss).collect()
    }

    /// The lowest point with β in [low, high], α free, to about 1e-3 of β.
    ///
    /// # Errors
    /// Unless 0 < low < high.
    pub fn minimum(&self, low: f64, high: f64) -> Result<ScaleMinimum> {
        let ends = low > 0.0 && low < high && high.is_finite();
        require(ends, "beta", format!("{low}..{high}"), "must be two ends with 0 < low < high")?;
        let valley = |log: f64| -> Result<(f64, Moments)> {
            let moments = self.moments(log.exp())?;
            Ok((moments.loss(moments.best_alpha()), moments))
        };
        let (first, last) = (low.ln(), high.ln());
        let step = (last - first) / (TRIED - 1) as f64;
        let mut best = (f64::INFINITY, 0);
        for i in 0..TRIED {
            let (loss, _) = valley(first + step * i as f64)?;
            if loss < best.0 {
                best = (loss, i);
            }
        }
        let centre = first + step * best.1 as f64;
        let (mut a, mut b) = ((centre - step).max(first), (centre + step).min(last));
        // Golden section: each round keeps .618 of the bracket.
        let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
        let (mut c, mut d) = (b - golden * (b - a), a + golden * (b - a));
        let (mut at_c, mut at_d) = (valley(c)?.0, valley(d)?.0);
        while b - a > 1e-3 {
            if at_c < at_d {
                (b, d, at_d) = (d, c, at_c);
                c = b - golden * (b - a);
                at_c = valley(c)?.0;
            } else {
                (a, c, at_c) = (c, d, at_d);
                d = a + golden * (b - a);
                at_d = valley(d)?.0;
            }
        }
        let (loss, moments) = valley(0.5 * (a + b))?;
        Ok(ScaleMinimum { alpha: moments.best_alpha(), beta: moments.beta, loss })
    }

    /// $v_\beta$ of one prompt.
    fn attend(&self, i: usize, beta: f64) -> Result<Vec<f64>> {
        let prompt = &self.prompts[i];
        let Some(scores) = self.scores.get(i) else {
            return Ok(prompt.prior.attention_limit(prompt.query.view(), beta)?.to_vec());
        };
        require(beta.is_finite(), "beta", beta, "must be a finite number")?;
        let largest = scores.iter().fold(f64::NEG_INFINITY, |m, s| f64::max(m, beta * s));
        let (mut sum, mut v) = (0.0, vec![0.0; prompt.query.len()]);
        for (score, token) in scores.iter().zip(prompt.context.columns()) {
            let w = (beta * score - largest).exp();
            sum += w;
            // Tokens lie one after the other in memory: this is the inner loop of the landscape.
            if let Some(token) = token.as_slice() {
                v.iter_mut().zip(token).for_each(|(v, x)| *v += w * x);
            } else {
                v.iter_mut().zip(token).for_each(|(v, x)| *v += w * x);
            }
        }
        v.iter_mut().for_each(|v| *v /= sum);
        Ok(v)
    }
}
