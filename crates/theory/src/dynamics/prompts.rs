//! Data sets of prompts, packed for training.

use super::Attention;
use super::kernels::{View, WIDTH, packed_len};
use attnlab_core::error::{Error, Result, require, require_shape};
use attnlab_core::linalg::{Real, Threads, gemm};
use ndarray::{Array1, Array2, ArrayView2, ShapeBuilder};
use rayon::prelude::*;

/// Data set of N prompts with contexts of equal length, for linear attention, softmax attention, or both.
#[derive(Clone, Debug)]
pub struct Prompts<T> {
    /// Second moment $\hat\Sigma$ of each context, n² values each; empty without linear attention.
    moments: Vec<T>,
    /// Packed tokens of each context; empty without softmax attention.
    tokens: Vec<T>,
    /// Context length L.
    context: usize,
    /// Queries (n, N).
    pub(super) queries: Array2<T>,
    /// Clean tokens behind the queries (n, N).
    pub(super) targets: Array2<T>,
}

/// One prompt: the input of a layer and its target.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Tokens that the query attends to, X (n, L).
    pub context: Array2<f64>,
    /// Query q (n,).
    pub query: Array1<f64>,
    /// Target x (n,): the clean token.
    pub target: Array1<f64>,
}

impl<T: Real> Prompts<T> {
    /// Draws `count` prompts in parallel and packs each at once. `note` receives every prompt in full
    /// precision before it is packed, and its results are returned with the prompts.
    ///
    /// # Errors
    /// As `draw` and `note`, or if `count` is 0, no attention is given, or the prompts differ in shape.
    ///
    /// ```
    /// use attnlab_core::{linalg::normal_matrix, rng::Streams};
    /// use attnlab_theory::dynamics::{Attention, Example, Prompts};
    /// // Clean tokens, and as query the first of them with half of its length.
    /// let data = Streams::new(1, "doc", 0, 0);
    /// let draw = |i| {
    ///     let context = normal_matrix(6, 50, &mut data.part("context", i));
    ///     let target = context.column(0).to_owned();
    ///     Ok(Example { query: &target * 0.5, target, context })
    /// };
    /// // The loss of predicting zero, beside the prompts.
    /// let zero = |p: &Example| Ok(p.target.dot(&p.target) / 6.0);
    /// let (prompts, zero) = Prompts::<f32>::draw(40, &Attention::ALL, draw, zero)?;
    /// assert_eq!((prompts.len(), prompts.ambient(), prompts.context()), (40, 6, 50));
    /// assert_eq!(zero.len(), 40);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn draw<P: Into<Example>, N: Send>(
        count: usize,
        attention: &[Attention],
        draw: impl Fn(u64) -> Result<P> + Sync,
        note: impl Fn(&P) -> Result<N> + Sync,
    ) -> Result<(Self, Vec<N>)> {
        Self::packed(count, attention, |i| {
            let prompt = draw(i)?;
            let noted = note(&prompt)?;
            Ok((prompt.into(), noted))
        })
    }

    /// Packs existing prompts.
    ///
    /// # Errors
    /// If there are no prompts, no attention is given, or the prompts differ in shape.
    pub fn new(attention: &[Attention], examples: &[Example]) -> Result<Self> {
        let example = |i: u64| Ok((examples[i as usize].clone(), ()));
        Ok(Self::packed(examples.len(), attention, example)?.0)
    }

    fn packed<N: Send>(
        count: usize,
        attention: &[Attention],
        draw: impl Fn(u64) -> Result<(Example, N)> + Sync,
    ) -> Result<(Self, Vec<N>)> {
        require(count > 0, "number of prompts", count, "must be at least one prompt")?;
        require(!attention.is_empty(), "attention", "[]", "must be at least one of linear, softmax")?;
        let (n, context) = draw(0)?.0.context.dim();
        let keep = |kind, size: usize| {
            let size = if attention.contains(&kind) { size } else { 0 };
            vec![T::zero(); size * count]
        };
        let (moment_len, tokens_len) = (n * n, packed_len(n, context));
        let mut moments = keep(Attention::Linear, moment_len);
        let mut tokens = keep(Attention::Softmax, tokens_len);
        let mut queries = vec![T::zero(); n * count];
        let mut targets = vec![T::zero(); n * count];
        // One slot of each list per prompt; a list that is not stored has empty slots.
        let slots = slots(&mut moments, moment_len, count)
            .into_par_iter()
            .zip(slots(&mut tokens, tokens_len, count))
            .zip(queries.par_chunks_mut(n))
            .zip(targets.par_chunks_mut(n));
        let pack = |(i, (((moment, tokens), query), target)): (usize, Slots<T>)| -> Result<N> {
            let (prompt, noted) = draw(i as u64)?;
            let expected = format!("({n}, {context}), as the first prompt");
            require_shape(prompt.context.dim() == (n, context), "context", prompt.context.dim(), expected)?;
            if !moment.is_empty() {
                second_moment(prompt.context.view(), moment);
            }
            if !tokens.is_empty() {
                pack_tokens(prompt.context.view(), tokens);
            }
            for (to, from) in [(query, &prompt.query), (target, &prompt.target)] {
                to.iter_mut().zip(from).for_each(|(to, x)| *to = T::of_f64(*x));
            }
            Ok(noted)
        };
        let notes: Result<Vec<N>> = slots.enumerate().map(pack).collect();
        let columns = |data: Vec<T>| {
            Array2::from_shape_vec((n, count).f(), data).map_err(|e| Error::undefined(format!("prompts: {e}")))
        };
        let prompts = Prompts { moments, tokens, context, queries: columns(queries)?, targets: columns(targets)? };
        Ok((prompts, notes?))
    }

    /// Returns N, the number of prompts.
    pub fn len(&self) -> usize {
        self.queries.ncols()
    }

    /// Returns `false`: there is at least one prompt.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns n, the number of components of a token.
    pub fn ambient(&self) -> usize {
        self.queries.nrows()
    }

    /// Returns L, the number of clean tokens in a context.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Returns the queries (n, N).
    pub fn queries(&self) -> ArrayView2<'_, T> {
        self.queries.view()
    }

    /// Returns the clean tokens behind the queries (n, N).
    pub fn targets(&self) -> ArrayView2<'_, T> {
        self.targets.view()
    }

    /// Returns the memory of `count` prompts, in bytes.
    pub fn bytes(n: usize, context: usize, count: usize, attention: &[Attention]) -> u64 {
        let of = |kind, size: usize| if attention.contains(&kind) { size } else { 0 };
        let each = of(Attention::Linear, n * n) + of(Attention::Softmax, packed_len(n, context));
        (count as u64).saturating_mul((each + 2 * n) as u64).saturating_mul(size_of::<T>() as u64)
    }

    /// Estimates the number of multiplications of one prompt, forward and backward.
    pub(super) fn work(&self, attention: Attention) -> usize {
        let n = self.ambient();
        match attention {
            Attention::Linear => 4 * n * n,
            Attention::Softmax => 4 * packed_len(n, self.context) + 2 * n * n,
        }
    }

    /// Checks that the prompts were drawn for this attention.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they were not.
    pub(super) fn check(&self, attention: Attention) -> Result<()> {
        let stored = match attention {
            Attention::Linear => &self.moments,
            Attention::Softmax => &self.tokens,
        };
        let allowed = "must be one that the prompts were drawn for. Draw them for this one too";
        require(!stored.is_empty(), "attention", attention.name(), allowed)
    }

    pub(super) fn view(&self, attention: Attention, i: usize) -> View<'_, T> {
        let n = self.ambient();
        match attention {
            Attention::Linear => View::Moment(&self.moments[i * n * n..][..n * n]),
            Attention::Softmax => {
                let len = packed_len(n, self.context);
                View::Tokens(&self.tokens[i * len..][..len], self.context)
            }
        }
    }
}

type Slots<'a, T> = (((&'a mut [T], &'a mut [T]), &'a mut [T]), &'a mut [T]);

/// Splits a list into `count` slots of `len` values, or into empty ones if nothing is stored.
fn slots<T>(values: &mut [T], len: usize, count: usize) -> Vec<&mut [T]> {
    if values.is_empty() { (0..count).map(|_| &mut [][..]).collect() } else { values.chunks_exact_mut(len).collect() }
}

/// Computes $\hat\Sigma = \frac1L X X^T$, column-major, summed in f64.
fn second_moment<T: Real>(context: ArrayView2<f64>, moment: &mut [T]) {
    let (n, tokens) = context.dim();
    let mut sum = Array2::zeros((n, n).f());
    let scale = 1.0 / tokens as f64;
    // One thread, because prompts are drawn in parallel.
    gemm(scale, context, context.t(), false, sum.view_mut(), Threads::One);
    for ((i, j), x) in sum.indexed_iter() {
        moment[i + n * j] = T::of_f64(*x);
    }
}

/// Packs tokens into blocks of [`WIDTH`], components first; the rest of the last block stays zero.
fn pack_tokens<T: Real>(context: ArrayView2<f64>, packed: &mut [T]) {
    let n = context.nrows();
    for (t, token) in context.columns().into_iter().enumerate() {
        let block = &mut packed[t / WIDTH * n * WIDTH..][..n * WIDTH];
        for (i, x) in token.iter().enumerate() {
            block[i * WIDTH + t % WIDTH] = T::of_f64(*x);
        }
    }
}
