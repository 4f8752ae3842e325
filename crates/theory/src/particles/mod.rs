//! Tokens as particles on the sphere $S^{d-1}$: self-attention in continuous depth.
//!
//! With directions $\theta_i = x_i/|x_i|$, masses $\alpha_j$ and scores $s_{ij} = \beta\,\theta_i^T B\,\theta_j$
//! the attention of token i is
//!
//! $$A_i = \sum_j w_{ij} V\theta_j,\qquad
//! w_{ij} = \frac{\alpha_j e^{s_{ij}}}{\sum_k \alpha_k e^{s_{ik}}}\ \text{(SA)},\qquad
//! w_{ij} = \frac{\alpha_j e^{s_{ij}}}{\sum_k \alpha_k}\ \text{(USA)},$$
//!
//! with sums over all tokens or, under the causal mask, over $j \le i$. With normalisation after the layer
//! (post-LN) the tokens move on the sphere, $\dot x_i = A_i - \langle\theta_i, A_i\rangle\theta_i$; with
//! normalisation before it (pre-LN) they move freely, $\dot x_i = A_i$. B = QᵀK and V are the identity unless set.
//!
//! Source of SA and USA: Geshkovski, Letrouit, Polyanskiy, Rigollet, *A mathematical perspective on transformers*
//! (arXiv 2312.10794); of the causal form: arXiv 2411.04990; of pre-LN: arXiv 2510.22026.
//!
//! [`Particles::velocity_plain`] is the definition term by term. [`Particles::velocity`] is the fast path: O(nd)
//! memory, every core, the same to the bit for any number of threads. [`Particles::flow`] makes it a
//! [`VectorField`] for [`Flow`](crate::dynamics::flow::Flow).

mod fast;
mod symmetric;

use crate::attention::Mask;
use crate::dynamics::flow::VectorField;
use crate::measure::unit_tokens;
use attnlab_core::error::{Error, Result, non_negative, positive, require, require_shape};
use ndarray::{Array1, Array2, ArrayView2};

/// Denominator of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalisation {
    /// Self-attention (SA): the softmax over the tokens.
    Softmax,
    /// Unnormalised self-attention (USA): the sum of the masses, n for equal ones.
    Uniform,
}

attnlab_core::named!(Normalisation, "model": Softmax = "sa", Uniform = "usa");

/// Place of the layer normalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerNorm {
    /// After the layer: the tokens stay on the sphere.
    Post,
    /// Before the layer: the tokens move in the whole space and are seen by their directions.
    Pre,
}

/// Law of motion of the tokens.
///
/// ```
/// use attnlab_theory::particles::{Normalisation, Particles};
/// use ndarray::array;
/// // Two orthogonal tokens at β = 0: each is drawn to the other with weight 1/2.
/// let law = Particles::new(0.0, Normalisation::Softmax);
/// let x = array![[1.0, 0.0], [0.0, 1.0]];
/// assert_eq!(law.velocity(x.view())?, array![[0.0, 0.5], [0.5, 0.0]]);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Particles {
    /// β, inverse temperature.
    pub beta: f64,
    /// Denominator of the weights.
    pub normalisation: Normalisation,
    /// Tokens that a token attends to.
    pub mask: Mask,
    /// Place of the layer normalisation.
    pub layer_norm: LayerNorm,
    /// α, masses (n,), non-negative; all 1 if None.
    pub masses: Option<Array1<f64>>,
    /// B = QᵀK (d, d) of the scores; the identity if None.
    pub query_key: Option<Array2<f64>>,
    /// V (d, d); the identity if None.
    pub value: Option<Array2<f64>>,
}

impl Particles {
    /// Makes the law without mask, masses and matrices, on the sphere.
    pub fn new(beta: f64, normalisation: Normalisation) -> Self {
        Particles {
            beta,
            normalisation,
            mask: Mask::None,
            layer_norm: LayerNorm::Post,
            masses: None,
            query_key: None,
            value: None,
        }
    }

    /// Sets the mask.
    pub fn masked(mut self, mask: Mask) -> Self {
        self.mask = mask;
        self
    }

    /// Sets the place of the layer normalisation.
    pub fn normalised(mut self, layer_norm: LayerNorm) -> Self {
        self.layer_norm = layer_norm;
        self
    }

    /// Sets the masses (n,).
    pub fn weighted(mut self, masses: Array1<f64>) -> Self {
        self.masses = Some(masses);
        self
    }

    /// Refuses a law that does not fit n tokens in d dimensions.
    ///
    /// # Errors
    /// β that is not finite; masses of another number, negative, or of sum 0; matrices of another shape.
    pub fn validate(&self, n: usize, d: usize) -> Result<()> {
        require(self.beta.is_finite(), "beta", self.beta, "must be a finite number")?;
        require_shape(n > 0 && d > 0, "tokens", (d, n), "at least one token and one dimension")?;
        if let Some(masses) = &self.masses {
            require_shape(masses.len() == n, "masses", masses.len(), format!("{n}, one per token"))?;
            for (j, mass) in masses.iter().enumerate() {
                non_negative(&format!("masses[{j}]"), *mass)?;
            }
            positive("sum of masses", masses.sum())?;
            let allowed = "must be > 0 for the first token under the causal mask; it attends to itself alone";
            require(self.mask == Mask::None || masses[0] > 0.0, "masses[0]", 0.0, allowed)?;
        }
        for (name, matrix) in [("query_key", &self.query_key), ("value", &self.value)] {
            if let Some(matrix) = matrix {
                require_shape(matrix.dim() == (d, d), name, matrix.dim(), format!("({d}, {d})"))?;
            }
        }
        Ok(())
    }

    /// Returns the number of tokens, of n, that token i attends to; they are the first ones.
    fn visible(&self, i: usize, n: usize) -> usize {
        match self.mask {
            Mask::None => n,
            Mask::Causal => i + 1,
        }
    }

    /// Returns the mass of token j.
    fn mass(&self, j: usize) -> f64 {
        self.masses.as_ref().map_or(1.0, |m| m[j])
    }

    /// Computes the weights $w_{ij}$ of token i over all tokens, by their definition (n,); 0 for masked ones.
    /// `directions` (d, n) has unit columns.
    pub fn weights(&self, directions: ArrayView2<f64>, i: usize) -> Array1<f64> {
        let n = directions.ncols();
        let visible = self.visible(i, n);
        let query = match &self.query_key {
            Some(b) => b.t().dot(&directions.column(i)),
            None => directions.column(i).to_owned(),
        };
        let scores: Vec<f64> = (0..visible).map(|j| self.beta * query.dot(&directions.column(j))).collect();
        let shift = match self.normalisation {
            // The largest score of a token that has a mass, so that the weights are never all 0.
            Normalisation::Softmax => {
                let massive = (0..visible).filter(|j| self.mass(*j) > 0.0);
                massive.map(|j| scores[j]).fold(f64::NEG_INFINITY, f64::max)
            }
            Normalisation::Uniform => 0.0,
        };
        let mut weights = Array1::zeros(n);
        for (j, s) in scores.iter().enumerate() {
            let mass = self.mass(j);
            weights[j] = if mass > 0.0 { mass * (s - shift).exp() } else { 0.0 };
        }
        let total: f64 = match self.normalisation {
            Normalisation::Softmax => weights.sum(),
            Normalisation::Uniform => (0..visible).map(|j| self.mass(j)).sum(),
        };
        weights / total
    }

    /// Computes the velocities (d, n) of tokens (d, n) term by term in O(n²d), the reference for
    /// [`velocity`](Self::velocity).
    ///
    /// # Errors
    /// As [`validate`](Self::validate); a token that is zero.
    pub fn velocity_plain(&self, tokens: ArrayView2<f64>) -> Result<Array2<f64>> {
        let (d, n) = tokens.dim();
        self.validate(n, d)?;
        let directions = directions(tokens)?;
        let mut out = Array2::zeros((d, n));
        for i in 0..n {
            let mut weights = self.weights(directions.view(), i);
            if self.moves_without_itself() {
                weights[i] = 0.0;
            }
            let mut attention = directions.dot(&weights);
            if let Some(value) = &self.value {
                attention = value.dot(&attention);
            }
            if self.layer_norm == LayerNorm::Post {
                let direction = directions.column(i);
                let along = direction.dot(&attention);
                attention -= &(&direction * along);
            }
            out.column_mut(i).assign(&attention);
        }
        Ok(out)
    }

    /// Returns `true` if the attention of a token to itself does not move it: P_x x = 0. The term is then left out, since
    /// between clusters the other terms are e^{−β(1−ρ)} of it and would be lost in its rounding.
    fn moves_without_itself(&self) -> bool {
        self.layer_norm == LayerNorm::Post && self.value.is_none()
    }

    /// Computes the velocities (d, n) of tokens (d, n) on the fast path: scores, exponentials and weighted sums in
    /// one pass over blocks of tokens that stay in the cache, on every core. A velocity depends on neither the
    /// blocks of other tokens nor the number of threads, to the bit.
    ///
    /// # Errors
    /// As [`velocity_plain`](Self::velocity_plain).
    pub fn velocity(&self, tokens: ArrayView2<f64>) -> Result<Array2<f64>> {
        let (d, n) = tokens.dim();
        self.validate(n, d)?;
        let tokens = to_state(tokens);
        nonzero(&tokens, n)?;
        let mut out = vec![0.0; n * d];
        fast::velocity(self, &tokens, n, &mut out);
        of_state(&out, n)
    }

    /// Makes the flow of n tokens in d dimensions. Its coordinates are those of tokens (d, n) row by row, as
    /// [`to_state`] writes them.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn flow(&self, n: usize, d: usize) -> Result<ParticleFlow> {
        self.validate(n, d)?;
        Ok(ParticleFlow { law: self.clone(), n, d })
    }
}

/// Motion of n tokens in d dimensions as a vector field. A state in which a token is zero has no velocity: the
/// field is NaN there, and the integration fails.
#[derive(Clone, Debug)]
pub struct ParticleFlow {
    law: Particles,
    n: usize,
    d: usize,
}

impl VectorField for ParticleFlow {
    fn dim(&self) -> usize {
        self.n * self.d
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        fast::velocity(&self.law, x, self.n, out);
    }
}

/// Writes tokens (d, n) as the state of a [`ParticleFlow`].
pub fn to_state(tokens: ArrayView2<f64>) -> Vec<f64> {
    tokens.iter().copied().collect()
}

/// Reads the tokens (d, n) from a state.
///
/// # Errors
/// When the state has another length than n d for a whole d.
pub fn of_state(state: &[f64], n: usize) -> Result<Array2<f64>> {
    let d = state.len().checked_div(n).unwrap_or(0);
    Array2::from_shape_vec((d, n), state.to_vec())
        .map_err(|_| Error::shape("state", state.len(), format!("a multiple of {n} tokens")))
}

/// Computes the directions (d, n) of tokens (d, n).
///
/// # Errors
/// A token that is zero or not finite.
pub fn directions(tokens: ArrayView2<f64>) -> Result<Array2<f64>> {
    nonzero(&to_state(tokens), tokens.ncols())?;
    Ok(unit_tokens(tokens))
}

/// Refuses a token without direction.
fn nonzero(tokens: &[f64], n: usize) -> Result<()> {
    let lengths = fast::lengths(tokens, n);
    match lengths.iter().position(|l| !(*l > 0.0 && l.is_finite())) {
        None => Ok(()),
        Some(i) => Err(Error::invalid(format!("length of token {i}"), lengths[i], "must be finite and > 0")),
    }
}

/// Computes the inner products of the directions (n, n) of tokens (d, n).
///
/// # Errors
/// As [`directions`].
pub fn cosines(tokens: ArrayView2<f64>) -> Result<Array2<f64>> {
    let directions = directions(tokens)?;
    Ok(directions.t().dot(&directions))
}
