//! JoMA's layer, Eq. (1), and its training, Eq. (2), given one query m.
//!
//! $$ h_k = \varphi(w_k^\top f), \qquad f = U_C b + u_m, \qquad b = \sigma(z/T) \circ x / A $$
//!
//! with linear (σ = id, A = 1), exp (A = 1) or softmax attention (A the sum); T = 1 in the paper. Over
//! samples i of probability $\pi_i$, with $c_k = \pi_i\, g_k h'_k$ and $L = \partial b/\partial z$,
//!
//! $$ \dot w_k = \sum_i c_k f, \qquad \dot z = \sum_i L^\top U_C^\top \sum_k c_k w_k, \qquad
//!    L = \frac1T \{\operatorname{diag}(x),\; \operatorname{diag}(b),\; \operatorname{diag}(b) - bb^\top\}. $$
//!
//! The back-propagated gradient $g_k$ is [stationary](Backpropagated::Stationary), as Assumption 1 has it, or that
//! of the [cross-entropy](Backpropagated::CrossEntropy) of the h_k.
//!
//! # Where the invariants of Theorem 1 come from, and what breaks them
//!
//! Let $s_k = \mathbb E[g_k h'_k b]$, $\gamma_k = \mathbb E[g_k h'_k]$, $G = U_C^\top U_C$, $u = U_C^\top u_m$, and Z = z²/2
//! for linear attention, T z for the others. Then, with the last term for softmax alone,
//!
//! $$ \dot v_k = G s_k + u\gamma_k, \qquad
//!    \dot Z = \sum_k s_k \circ v_k - \sum_k \mathbb E[g_k h'_k bb^\top] v_k, $$
//!
//! so that Ẑ = ½ Σ_k (v_k² - |v_k|² b̄_0), b̄_0 the mean attention at the start, differs from Z by what
//! four terms add up to, each from an assumption of its own ([`Cause`]):
//!
//! $$ \frac{d}{dt}(Z - \hat Z) = -\sum_k P\,[(G - I)s_k]_{v_k} - \sum_k P\,[\gamma_k u]_{v_k}
//!    - \sum_k (\mathbb E[g_k h'_k bb^\top] - \bar b s_k^\top) v_k - (\bar b - \bar b_0) \sum_k s_k^\top v_k $$
//!
//! where $P\[y\]_v = y \circ v$, less $\bar b_0\, y^\top v$ for softmax. Neither a stationary gradient nor a homogeneous
//! activation is among them: for linear and exp attention the invariants hold under the true
//! cross-entropy and for any φ. [`account()`] integrates the terms along the flow.
//!
//! **Softmax.** Were b̄ constant, then $0 = \dot z^\top \dot{\bar b} = \mathbb E[\dot z^\top L \dot z]$ with L positive semi-definite and
//! null on constants alone, over the tokens of each sample; as Σ_l ż_l = 0 over every set of tokens that
//! samples connect, ż = 0. So the theorem's hypothesis for softmax holds only while attention rests.

mod account;
mod embeddings;
mod prediction;
mod salient;

pub use account::{Account, Cause, Form, Run, account};
pub use embeddings::Embeddings;
pub use prediction::{Agreement, Prediction};
pub use salient::{Feedback, Salient};

use crate::theory::Activation;
use attnlab_core::error::{self, Error, Result, require_shape};
use attnlab_core::linalg::normal_matrix;
use attnlab_core::rng::Streams;
use attnlab_theory::dynamics::flow::VectorField;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

/// The kinds of attention of Section 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Attention {
    /// Linear attention, b = z ∘ x / T.
    Linear,
    /// Exp attention, b = exp(z/T) ∘ x.
    Exp,
    /// Softmax attention, b = exp(z/T) ∘ x / (1ᵀ exp(z/T) ∘ x).
    Softmax,
}

impl Attention {
    /// The scores b (M_C,) for the logits z and the input frequencies x, both (M_C,).
    pub fn scores(self, z: ArrayView1<f64>, x: ArrayView1<f64>, temperature: f64) -> Array1<f64> {
        match self {
            Attention::Linear => &z * &x / temperature,
            Attention::Exp => z.mapv(|z| (z / temperature).exp()) * x,
            Attention::Softmax => {
                let most = z.fold(f64::NEG_INFINITY, |m, z| m.max(*z));
                let b = z.mapv(|z| ((z - most) / temperature).exp()) * x;
                let sum = b.sum();
                b / sum
            }
        }
    }
}

/// The gradient $g_{h_k}\[i\]$ that reaches node k from above.
#[derive(Clone, Debug, PartialEq)]
pub enum Backpropagated {
    /// Fixed numbers (K, n): Assumption 1.
    Stationary(Array2<f64>),
    /// $1[y_i = k] - \operatorname{softmax}(h)_k$ with labels y from 0: ascent of minus the cross-entropy.
    CrossEntropy(Vec<usize>),
}

/// A field from its dimension and a function that writes the rate of a state.
pub(crate) struct ByRate<F>(pub usize, pub F);

impl<F: Fn(&[f64], &mut [f64])> VectorField for ByRate<F> {
    fn dim(&self) -> usize {
        self.0
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        (self.1)(x, out);
    }
}

/// A layer with its data: the field whose flow is training. The state is w_1, .., w_K, each (d,), then z (M_C,).
#[derive(Clone, Debug)]
pub struct Training {
    attention: Attention,
    activation: Activation,
    temperature: f64,
    embeddings: Embeddings,
    /// x, one sample per row here, (n, M_C).
    inputs: Array2<f64>,
    probabilities: Vec<f64>,
    gradient: Backpropagated,
    nodes: usize,
}

/// Contribution of a sample.
struct Sample {
    b: Array1<f64>,
    /// π g_k h'_k.
    c: Array1<f64>,
}

/// Largest distance of a sum of probabilities from 1: rounding.
const SUM: f64 = 1e-9;

impl Training {
    /// A layer of `nodes` nodes under orthonormal embeddings and temperature 1, on samples with input
    /// frequencies `inputs` (M_C, n) and these probabilities given the query.
    ///
    /// # Errors
    /// No nodes; frequencies that are not finite, or under softmax negative or all 0; probabilities that
    /// do not sum to one; a gradient or labels of another shape.
    ///
    /// ```
    /// use attnlab_theory::dynamics::flow::{Flow, Method};
    /// use attnlab_joma::dynamics::{Attention, Backpropagated, Training};
    /// use attnlab_joma::theory::{Activation, linear};
    /// use ndarray::array;
    /// // Two tokens, one sample each, exp attention: Theorem 2 with Δ = (1, 1/2).
    /// let gradient = Backpropagated::Stationary(array![[2.0, 1.0]]);
    /// let x = array![[1.0, 0.0], [0.0, 1.0]];
    /// let layer = Training::new(Attention::Exp, Activation::LINEAR, 1, x, vec![0.5, 0.5], gradient)?;
    /// let path = Flow::new(Method::Tsit45).run(&layer, &layer.zero(), &[1.0])?;
    /// let v = layer.weights(path.end());
    /// let exact = linear::weights(&[1.0, 0.5], 1.0)?;
    /// assert!((v[[0, 0]] - exact[0]).abs() < 1e-8 && (v[[1, 0]] - exact[1]).abs() < 1e-8);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new(
        attention: Attention,
        activation: Activation,
        nodes: usize,
        inputs: Array2<f64>,
        probabilities: Vec<f64>,
        gradient: Backpropagated,
    ) -> Result<Self> {
        let (tokens, samples) = inputs.dim();
        error::at_least("nodes", nodes, 1)?;
        for (i, x) in inputs.columns().into_iter().enumerate() {
            // The lemmas on isotropic inputs have negative ones; weights of a softmax have no sign.
            let least = if attention == Attention::Softmax { 0.0 } else { f64::NEG_INFINITY };
            if let Some(bad) = x.iter().find(|x| !(**x >= least && x.is_finite())) {
                let name = format!("input frequency of sample {i}");
                return Err(Error::invalid(name, bad, "must be a finite number, >= 0 for softmax"));
            }
            if attention == Attention::Softmax && x.sum() == 0.0 {
                let name = format!("input frequencies of sample {i}");
                return Err(Error::invalid(name, "all 0", "must hold at least one token"));
            }
        }
        let fits = probabilities.len() == samples && samples > 0 && tokens > 0;
        let expected = format!("one per sample, {samples} of them, at least one");
        require_shape(fits, "probabilities", [probabilities.len()], expected)?;
        let sum: f64 = probabilities.iter().sum();
        if probabilities.iter().any(|p| *p < 0.0) || sum.is_nan() || (sum - 1.0).abs() > SUM {
            let allowed = format!("must be numbers >= 0 that sum to 1, not to {sum}");
            return Err(Error::invalid("probabilities", format!("{probabilities:?}"), allowed));
        }
        match &gradient {
            Backpropagated::Stationary(g) => {
                let expected = format!("({nodes}, {samples}): node by sample");
                require_shape(g.dim() == (nodes, samples), "gradient", g.dim(), expected)?;
            }
            Backpropagated::CrossEntropy(y) => {
                require_shape(y.len() == samples, "labels", [y.len()], format!("one per sample, {samples} of them"))?;
                if let Some(bad) = y.iter().find(|y| **y >= nodes) {
                    return Err(Error::invalid("label", bad, format!("must be a node, a whole number below {nodes}")));
                }
            }
        }
        let embeddings = Embeddings::orthonormal(tokens);
        let inputs = inputs.t().as_standard_layout().to_owned();
        Ok(Training { attention, activation, temperature: 1.0, embeddings, inputs, probabilities, gradient, nodes })
    }

    /// Makes the layer of [`Training::new`] on samples that are equally likely.
    ///
    /// # Errors
    /// As [`Training::new`].
    pub fn uniform(
        attention: Attention,
        activation: Activation,
        nodes: usize,
        inputs: Array2<f64>,
        gradient: Backpropagated,
    ) -> Result<Self> {
        let samples = inputs.ncols();
        Self::new(attention, activation, nodes, inputs, vec![1.0 / samples as f64; samples], gradient)
    }

    /// The same layer with other embeddings.
    ///
    /// # Errors
    /// Embeddings for another number of tokens, or of two dimensions.
    pub fn with_embeddings(mut self, embeddings: Embeddings) -> Result<Self> {
        let (d, tokens) = embeddings.context.dim();
        let fits = tokens == self.tokens() && embeddings.query.len() == d && d > 0;
        require_shape(fits, "embeddings", (d, tokens), format!("(d, {}) and a query of dimension d", self.tokens()))?;
        self.embeddings = embeddings;
        Ok(self)
    }

    /// The same layer at another temperature T > 0 of the attention.
    ///
    /// # Errors
    /// A temperature that is not positive.
    pub fn at_temperature(mut self, temperature: f64) -> Result<Self> {
        error::positive("temperature", temperature)?;
        self.temperature = temperature;
        Ok(self)
    }

    /// The number of contextual tokens, M_C.
    pub fn tokens(&self) -> usize {
        self.inputs.ncols()
    }

    /// The number of nodes, K.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The embeddings.
    pub fn embeddings(&self) -> &Embeddings {
        &self.embeddings
    }

    /// Returns `true` if φ has no kink.
    pub fn smooth(&self) -> bool {
        self.activation.slopes().is_none_or(|(minus, plus)| minus == plus)
    }

    /// The steps of a flow that a trial can afford: 2000, which smooth flows never need, and fewer for large layers.
    pub fn affordable_steps(&self) -> usize {
        let work = self.inputs.len() * self.nodes;
        (800_000 / work.max(1)).clamp(200, 2000)
    }

    /// Returns the frequencies x of the tokens: (M_C, n).
    pub fn inputs(&self) -> ArrayView2<'_, f64> {
        // Kept sample by sample.
        self.inputs.t()
    }

    /// The zero state.
    pub fn zero(&self) -> Vec<f64> {
        vec![0.0; self.dim()]
    }

    /// Draws a state with independent normal weights and logits of standard deviation `scale`.
    pub fn normal_start(&self, scale: f64, streams: &Streams) -> Vec<f64> {
        (normal_matrix(1, self.dim(), &mut streams.part("weights", 0)) * scale).into_raw_vec_and_offset().0
    }

    /// Draws a [`normal_start`](Training::normal_start) under orthonormal embeddings, with the absolute value of every
    /// bias: a rectifier that is off for all samples never learns.
    pub fn rectified_start(&self, scale: f64, streams: &Streams) -> Vec<f64> {
        let (mut start, tokens) = (self.normal_start(scale, streams), self.tokens());
        for row in start.chunks_mut(tokens + 1).take(self.nodes) {
            row[tokens] = row[tokens].abs();
        }
        start
    }

    fn width(&self) -> usize {
        self.embeddings.query.len()
    }

    /// W of a state, one node per row, (K, d).
    fn rows<'a>(&self, state: &'a [f64]) -> ArrayView2<'a, f64> {
        let (k, d) = (self.nodes, self.width());
        let of = ArrayView2::from_shape((k, d), &state[..k * d]);
        // The slice has k·d entries.
        of.unwrap_or_else(|_| unreachable!("a state of {k} x {d} weights"))
    }

    /// The logits z of a state, (M_C,).
    pub fn logits<'a>(&self, state: &'a [f64]) -> ArrayView1<'a, f64> {
        let from = self.nodes * self.width();
        ArrayView1::from(&state[from..from + self.tokens()])
    }

    /// The weights $v_k = U_C^\top w_k$ of a state, one node per column, (M_C, K).
    pub fn weights(&self, state: &[f64]) -> Array2<f64> {
        self.embeddings.context.t().dot(&self.rows(state).t())
    }

    /// The biases $u_m^\top w_k$ of a state, (K,).
    pub fn biases(&self, state: &[f64]) -> Array1<f64> {
        self.rows(state).dot(&self.embeddings.query)
    }

    /// The scores b of sample i, (M_C,).
    pub fn scores(&self, state: &[f64], i: usize) -> Array1<f64> {
        self.attention.scores(self.logits(state), self.inputs.row(i), self.temperature)
    }

    /// The mean scores b̄ = E b, (M_C,).
    pub fn mean_scores(&self, state: &[f64]) -> Array1<f64> {
        let mut mean = Array1::zeros(self.tokens());
        for (i, p) in self.probabilities.iter().enumerate() {
            mean.scaled_add(*p, &self.scores(state, i));
        }
        mean
    }

    /// The potential Z, (M_C,): z²/2 for linear attention, T z for the others.
    pub fn potential(&self, state: &[f64]) -> Array1<f64> {
        let z = self.logits(state);
        if self.attention == Attention::Linear { z.mapv(|z| 0.5 * z * z) } else { &z * self.temperature }
    }

    /// The outputs h of all nodes on all samples, (K, n).
    pub fn outputs(&self, state: &[f64]) -> Array2<f64> {
        self.inner(state).mapv(|a| self.activation.value(a))
    }

    /// The gradients g that reach all nodes on all samples, (K, n).
    pub fn gradients(&self, state: &[f64]) -> Array2<f64> {
        let mut gradients = self.inner(state);
        for (i, mut column) in gradients.columns_mut().into_iter().enumerate() {
            let incoming = self.incoming(i, &column.to_owned());
            column.assign(&incoming);
        }
        gradients
    }

    /// The slopes h' of all nodes on all samples, (K, n).
    pub fn slopes(&self, state: &[f64]) -> Array2<f64> {
        self.inner(state).mapv(|a| self.activation.slope(a))
    }

    /// The probabilities of the samples.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// wᵀf of all nodes on all samples, (K, n).
    fn inner(&self, state: &[f64]) -> Array2<f64> {
        let (v, bias) = (self.weights(state), self.biases(state));
        let mut inner = Array2::zeros((self.nodes, self.probabilities.len()));
        for (i, mut column) in inner.columns_mut().into_iter().enumerate() {
            column.assign(&(v.t().dot(&self.scores(state, i)) + &bias));
        }
        inner
    }

    /// The contribution of every sample at V = `weights` and u_mᵀw = `biases`.
    fn samples(&self, state: &[f64]) -> Vec<Sample> {
        let (v, bias) = (self.weights(state), self.biases(state));
        let sample = |(i, p): (usize, &f64)| {
            let b = self.scores(state, i);
            let inner = v.t().dot(&b) + &bias;
            Sample { b, c: inner.mapv(|a| p * self.activation.slope(a)) * self.incoming(i, &inner) }
        };
        self.probabilities.iter().enumerate().map(sample).collect()
    }

    /// g_k of sample i.
    fn incoming(&self, i: usize, inner: &Array1<f64>) -> Array1<f64> {
        match &self.gradient {
            Backpropagated::Stationary(g) => g.column(i).to_owned(),
            Backpropagated::CrossEntropy(labels) => {
                let h = inner.mapv(|a| self.activation.value(a));
                let most = h.fold(f64::NEG_INFINITY, |m, h| m.max(*h));
                let e = h.mapv(|h| (h - most).exp());
                let mut g = &e / -e.sum();
                g[labels[i]] += 1.0;
                g
            }
        }
    }

    /// The objective of (2): $\mathbb E\sum_k g_k h_k$ of (9) if stationary, else minus the cross-entropy.
    pub fn objective(&self, state: &[f64]) -> f64 {
        let outputs = self.outputs(state);
        let term = |(i, p): (usize, &f64)| {
            let h = outputs.column(i);
            p * match &self.gradient {
                Backpropagated::Stationary(g) => g.column(i).dot(&h),
                Backpropagated::CrossEntropy(labels) => {
                    let most = h.fold(f64::NEG_INFINITY, |m, h| m.max(*h));
                    h[labels[i]] - most - h.mapv(|h| (h - most).exp()).sum().ln()
                }
            }
        };
        self.probabilities.iter().enumerate().map(term).sum()
    }
}

impl VectorField for Training {
    fn dim(&self) -> usize {
        self.nodes * self.width() + self.tokens()
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let v = self.weights(x);
        let mut sums = Array2::<f64>::zeros((self.nodes, self.tokens()));
        let mut totals = Array1::<f64>::zeros(self.nodes);
        let mut z_rate = Array1::<f64>::zeros(self.tokens());
        for (i, Sample { b, c }) in self.samples(x).into_iter().enumerate() {
            for (mut row, c) in sums.rows_mut().into_iter().zip(&c) {
                row.scaled_add(*c, &b);
            }
            totals += &c;
            let back = v.dot(&c);
            match self.attention {
                Attention::Linear => z_rate += &(&self.inputs.row(i) * &back),
                Attention::Exp => z_rate += &(&b * &back),
                Attention::Softmax => {
                    let mean = b.dot(&back);
                    z_rate += &(&b * &(back - mean));
                }
            }
        }
        let (d, Embeddings { context, query }) = (self.width(), &self.embeddings);
        for k in 0..self.nodes {
            let rate = context.dot(&sums.row(k)) + query * totals[k];
            out[k * d..(k + 1) * d].copy_from_slice(&rate.to_vec());
        }
        for (out, rate) in out[self.nodes * d..].iter_mut().zip(&z_rate) {
            *out = rate / self.temperature;
        }
    }
}
