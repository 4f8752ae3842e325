//! Layers on the fast path: one head, all heads in coefficients, and the ambient form.

use super::exp::Exp;
use super::machine::Machine;
use super::problem::Problem;
use crate::attention::{Mhsa, Mssa, Nonlinearity};
use attnlab_core::error::{Result, require_shape};
use attnlab_core::linalg::{Threads, column_major, gemm, product};
use ndarray::{Array2, ArrayView2, s};
use rayon::prelude::*;

/// Result of a pass on the fast path.
#[derive(Clone, Debug, PartialEq)]
pub struct Streamed<T> {
    /// Attention output V φ(Mask(S)) (p, N) of one head, or the next tokens Z (d, N) of a layer.
    pub output: Array2<T>,
    /// Number of decisions of a discontinuous φ that rounding could have changed and that were therefore repeated from
    /// scores in f64: columns, or single entries for the hard threshold. Exact ties of hardmax count too.
    pub redecided: usize,
}

impl<T> Streamed<T> {
    /// Wraps the output of a continuous φ, which has no decisions to repeat.
    pub fn smooth(output: Array2<T>) -> Self {
        Streamed { output, redecided: 0 }
    }
}

impl Mssa {
    /// Computes Y φ(Mask(Yᵀ P(Y))) (p, N) from the coefficients Y = U_kᵀZ (p, N) of one head, in O(Np)
    /// memory and on every core. The result is the same to the bit for any number of threads.
    ///
    /// Floating-point operations for N tokens in p dimensions, unmasked: the scores are symmetric, so they cost N²p
    /// instead of 2N²p; softmax adds 2N²p for the product with Y and N² exponentials. Thresholded softmax with τ ≥ 1/64
    /// and hardmax keep so few weights that the second product is a gather: N²p, plus N² exponentials for thresholded
    /// softmax. A smaller τ takes a second pass over the scores. Linear attention is reassociated to (YYᵀ)Y, 4Np², if
    /// p < N. With the causal mask softmax costs 2N²p, half of each of the products. A φ without a pass over tiles is
    /// computed column by column in f64, which is slower ([`Problem::plain`]).
    ///
    /// In f32, every decision about a threshold or a maximum that lies within the rounding error of the
    /// scores is repeated from f64 scores, as in the plain definition.
    ///
    /// # Errors
    /// If τ is out of range.
    ///
    /// ```
    /// use attnlab_theory::attention::{Mssa, ThresholdedSoftmax};
    /// use ndarray::array;
    /// let y = array![[4.0_f32, 0.0], [0.0, 0.1]];
    /// let layer = Mssa::new(ThresholdedSoftmax { tau: 0.6 }, 0.5);
    /// // The first token attends to itself with weight 1 - e^-16; the second spreads its weight.
    /// assert_eq!(layer.stream_head(y.view())?.output, array![[0.6 * 4.0, 0.0], [0.0, 0.0]]);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn stream_head<T: Exp>(&self, y: ArrayView2<T>) -> Result<Streamed<T>> {
        self.phi.validate()?;
        let problem = Problem::tied(y, self.mask, self.normalise_queries);
        Ok(attend(&problem, &*self.phi))
    }

    /// Applies one layer in coefficients: Y_k <- Y_k + η · [`stream_head`](Self::stream_head)(Y_k) for
    /// every head (p_k, N). Returns the number of decisions that were repeated in f64.
    ///
    /// The update is exact for jointly orthonormal bases, U_kᵀU_l = δ_kl I: then U_lᵀ applied to Z + η
    /// Σ_k U_k H_k, with H_k = Y_k φ(Mask(Y_kᵀP(Y_k))), gives Y_l + η H_l, and H_l depends on Y_l alone.
    /// The heads therefore do not interact at any depth, and the part of Z outside all subspaces does not
    /// change. Other bases need [`stream`](Self::stream).
    ///
    /// # Errors
    /// If τ is out of range.
    pub fn apply_coefficients<T: Exp>(&self, heads: &mut [Array2<T>]) -> Result<usize> {
        self.phi.validate()?;
        let eta = T::of_f64(self.eta);
        let step = |y: &mut Array2<T>| {
            let head = self.stream_head(y.view())?;
            y.scaled_add(eta, &head.output);
            Ok(head.redecided)
        };
        // Heads run in parallel, so that the last tiles of one head do not leave cores idle.
        heads.par_iter_mut().map(step).sum()
    }

    /// Computes the next Z (d, N) from `tokens` (d, N) and `bases[k]` (d, p_k), for any bases. The result
    /// equals [`Mssa::apply`] up to rounding and takes O(Nd) memory.
    ///
    /// # Errors
    /// If shapes do not fit or τ is out of range.
    ///
    /// ```
    /// use attnlab_theory::attention::{Mssa, Softmax};
    /// use attnlab_core::rng::Streams;
    /// use attnlab_theory::sample::Mixture;
    /// let draw = Mixture::balanced(30, 2, 4, 0.1)?.draw(&Streams::new(1, "doc", 0, 0))?;
    /// let layer = Mssa::new(Softmax, 0.5);
    /// let fast = layer.stream(draw.tokens.view(), &draw.bases)?;
    /// let plain = layer.apply(draw.tokens.view(), &draw.bases)?;
    /// assert!((&fast.output - &plain).iter().all(|x| x.abs() < 1e-12));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn stream<T: Exp>(&self, tokens: ArrayView2<T>, bases: &[Array2<T>]) -> Result<Streamed<T>> {
        self.stream_with(tokens, bases, |y| self.stream_head(y))
    }

    /// Computes [`stream`](Self::stream) in f32 with the heads on `machine`; the products with the bases,
    /// a share of p/N of the work, run on the CPU.
    ///
    /// # Errors
    /// If shapes do not fit, τ is out of range, or the machine fails.
    ///
    /// ```
    /// use attnlab_theory::attention::streaming::Cpu;
    /// use attnlab_theory::attention::{Hardmax, Mssa};
    /// use ndarray::Array2;
    /// let (z, bases) = (ndarray::array![[1.0_f32], [2.0]], [Array2::eye(2)]);
    /// let layer = Mssa::new(Hardmax, 1.0); // one token attends to itself
    /// assert_eq!(layer.stream_on(&Cpu, z.view(), &bases)?.output, z * 2.0);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn stream_on(
        &self,
        machine: &dyn Machine,
        tokens: ArrayView2<f32>,
        bases: &[Array2<f32>],
    ) -> Result<Streamed<f32>> {
        self.stream_with(tokens, bases, |y| machine.stream_head(self, y))
    }

    fn stream_with<T: Exp>(
        &self,
        tokens: ArrayView2<T>,
        bases: &[Array2<T>],
        head: impl Fn(ArrayView2<T>) -> Result<Streamed<T>>,
    ) -> Result<Streamed<T>> {
        let mut next = column_major(tokens);
        let mut redecided = 0;
        for (k, u) in bases.iter().enumerate() {
            let expected = format!("(d, p) with d = {} as the tokens have", tokens.nrows());
            require_shape(u.nrows() == tokens.nrows(), format!("bases[{k}]"), u.dim(), expected)?;
            let head = head(product(u.t(), tokens).view())?;
            redecided += head.redecided;
            let eta = T::of_f64(self.eta);
            gemm(eta, u.view(), head.output.view(), true, next.view_mut(), Threads::All);
        }
        Ok(Streamed { output: next, redecided })
    }
}

impl Mhsa {
    /// Computes the next Z (d, N) on the fast path. The result equals [`Mhsa::apply`] up to rounding and
    /// takes O(N(d + p)) memory. The scores KᵀQ have no symmetry, so softmax costs 4N²p per head.
    ///
    /// # Errors
    /// If shapes do not fit or τ is out of range.
    ///
    /// ```
    /// use attnlab_theory::attention::{Mhsa, Softmax};
    /// use ndarray::{Array2, array};
    /// let layer = Mhsa::tied(&[Array2::eye(2)], Softmax, 1.0)?;
    /// let z = array![[1.0_f32], [2.0]]; // one token attends to itself
    /// assert_eq!(layer.stream(z.view())?.output, array![[2.0], [4.0]]);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn stream<T: Exp>(&self, tokens: ArrayView2<T>) -> Result<Streamed<T>> {
        self.phi.validate()?;
        self.check_shapes(tokens.nrows())?;
        let mut next = column_major(tokens);
        let (mut redecided, mut start) = (0, 0);
        for k in 0..self.w_q.len() {
            let project = |w: &Array2<f64>| product(w.mapv(T::of_f64).view(), tokens);
            let [q, keys, v] = [&self.w_q[k], &self.w_k[k], &self.w_v[k]].map(project);
            let views = [q.view(), keys.view(), v.view()];
            let head = attend(&Problem::separate(views, self.mask, self.scale), &*self.phi);
            redecided += head.redecided;
            let stop = start + v.nrows();
            let w_o = self.w_o.slice(s![.., start..stop]).mapv(T::of_f64);
            let eta = T::of_f64(self.eta);
            gemm(eta, w_o.view(), head.output.view(), true, next.view_mut(), Threads::All);
            start = stop;
        }
        Ok(Streamed { output: next, redecided })
    }
}

/// Computes V φ(Mask(S)): over tiles if φ has such a pass, otherwise column by column.
fn attend<T: Exp>(problem: &Problem<T>, phi: &dyn Nonlinearity) -> Streamed<T> {
    match phi.streaming() {
        Some(pass) => T::attend(pass, problem),
        None => problem.plain(phi),
    }
}
