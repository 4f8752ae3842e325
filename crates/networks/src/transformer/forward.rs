//! The forward pass.

use super::Transformer;
use super::architecture::{HeadMaps, NormPlace, OutputHead, PositionEncoding, TransformerArchitecture};
use super::attention::{Attended, attend};
use super::parts::{Rotation, activate, add_affine, affine, each_token, multiply, normalise};
use super::predict::Prefix;
use super::recordings::{Recorded, RecordedLayer, Recordings};
use super::weights::{Block, NormWeights};
use attnlab_core::error::{Error, Result, require, require_shape};
use attnlab_core::linalg::{Threads, column_major};
use ndarray::{Array2, ArrayView2, Axis, ShapeBuilder, s};

/// Input of a forward pass: tokens, and for encoders segments and padding.
///
/// ```
/// use attnlab_networks::transformer::TokenInput;
/// let ids = [5, 7, 9];
/// let input = TokenInput { segments: Some(&[0, 0, 1]), ..TokenInput::from(&ids[..]) };
/// assert_eq!(input.ids.len(), 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokenInput<'a> {
    /// Ids of N tokens.
    pub ids: &'a [u32],
    /// Segment of every token; None: all 0.
    pub segments: Option<&'a [u32]>,
    /// Flags of the tokens that others may attend to, false for padding; None: all. For encoders only: in causal
    /// networks padding is to be cut off.
    pub mask: Option<&'a [bool]>,
}

impl<'a> From<&'a [u32]> for TokenInput<'a> {
    fn from(ids: &'a [u32]) -> Self {
        TokenInput { ids, segments: None, mask: None }
    }
}

impl<'a, const N: usize> From<&'a [u32; N]> for TokenInput<'a> {
    fn from(ids: &'a [u32; N]) -> Self {
        ids.as_slice().into()
    }
}

impl<'a> From<&'a Vec<u32>> for TokenInput<'a> {
    fn from(ids: &'a Vec<u32>) -> Self {
        ids.as_slice().into()
    }
}

impl Transformer {
    /// Runs the network on N tokens and returns what was asked for. The bits do not depend on the number of threads.
    ///
    /// # Errors
    /// No tokens, or more than the context; an id outside the vocabulary; segments or a mask that do not fit; records
    /// that the memory cannot hold ([`Error::Memory`], before anything is computed); logits of a network without
    /// them; numbers that leave the range of f32 ([`Error::Diverged`]).
    pub fn forward<'a>(&self, input: impl Into<TokenInput<'a>>, recordings: &Recordings) -> Result<Recorded> {
        let input = input.into();
        self.check(&input, 0)?;
        recordings.ensure(&self.architecture, input.ids.len(), false)?;
        let mut layers = vec![];
        let mut recorded = self.run(&input, recordings, &mut |layer| {
            layers.push(layer);
            Ok(())
        })?;
        recorded.layers = layers;
        Ok(recorded)
    }

    /// Runs the network as [`Transformer::forward`] does and hands over the records of each block as soon as it is
    /// done, so that one block's records are in memory at a time; the result has no layers.
    ///
    /// # Errors
    /// As [`Transformer::forward`], and those of `visit`, which end the pass.
    pub fn forward_each<'a>(
        &self,
        input: impl Into<TokenInput<'a>>,
        recordings: &Recordings,
        mut visit: impl FnMut(RecordedLayer) -> Result<()>,
    ) -> Result<Recorded> {
        let input = input.into();
        self.check(&input, 0)?;
        recordings.ensure(&self.architecture, input.ids.len(), true)?;
        self.run(&input, recordings, &mut visit)
    }

    fn run(
        &self,
        input: &TokenInput,
        recordings: &Recordings,
        visit: &mut dyn FnMut(RecordedLayer) -> Result<()>,
    ) -> Result<Recorded> {
        let mut recorded = Recorded::default();
        let x = self.hidden_states(input, Past::default(), recordings, &mut recorded, visit)?;
        if recordings.has("logits") {
            let mut logits = Array2::zeros((self.architecture.vocabulary, x.ncols()).f());
            multiply(1.0, self.unembedding()?, x.view(), false, logits.view_mut(), Threads::All);
            recorded.logits = Some(logits);
        }
        if recordings.has("residual") {
            recorded.last = Some(x);
        }
        Ok(recorded)
    }

    pub(super) fn check(&self, input: &TokenInput, before: usize) -> Result<()> {
        let a = &self.architecture;
        let n = input.ids.len();
        let most = a.context.saturating_sub(before);
        let allowed = format!("must be from 1 to {most} tokens, the context of the network");
        require(n > 0 && n + before <= a.context, "ids", format!("{n} tokens"), allowed)?;
        let beyond = |values: &[u32], most: usize| values.iter().position(|v| *v as usize >= most);
        if let Some(i) = beyond(input.ids, a.vocabulary) {
            let allowed = format!("must be less than the number of different tokens, {}", a.vocabulary);
            return Err(Error::invalid(format!("ids[{i}]"), input.ids[i], allowed));
        }
        if let Some(segments) = input.segments {
            require_shape(segments.len() == n, "segments", segments.len(), format!("{n}, one per token"))?;
            if let Some(i) = beyond(segments, a.segments) {
                let allowed = format!("must be less than the number of kinds, {}", a.segments);
                return Err(Error::invalid(format!("segments[{i}]"), segments[i], allowed));
            }
        }
        if let Some(mask) = input.mask {
            require_shape(mask.len() == n, "mask", mask.len(), format!("{n}, one per token"))?;
            let allowed = "must be absent in causal networks, and true somewhere in others. Cut padding off";
            require(!a.causal && mask.contains(&true), "mask", "given", allowed)?;
        }
        Ok(())
    }

    /// Runs embedding, blocks and the last norm, on tokens that may follow others.
    pub(super) fn hidden_states(
        &self,
        input: &TokenInput,
        mut past: Past,
        recordings: &Recordings,
        recorded: &mut Recorded,
        visit: &mut dyn FnMut(RecordedLayer) -> Result<()>,
    ) -> Result<Array2<f32>> {
        let a = &self.architecture;
        let first = past.before.map_or(0, Prefix::tokens);
        let mut x = self.embed(input, first);
        if recordings.has("residual") {
            recorded.embedding = Some(x.clone());
        }
        let rotation = match a.positions {
            PositionEncoding::Rotary { turned, base, pairs, scaling } => {
                let factors = self.weights.rotary_factors.as_deref();
                Some(Rotation::new(turned, base, pairs, scaling, factors, first..first + x.ncols()))
            }
            PositionEncoding::Learned { .. } | PositionEncoding::Absent => None,
        };
        for (layer, block) in self.weights.blocks.iter().enumerate() {
            let mut record = RecordedLayer { layer, ..RecordedLayer::default() };
            let how = How {
                a,
                rotation: rotation.as_ref(),
                mask: input.mask,
                before: past.before.map(|prefix| prefix.layer(layer)),
                keep: past.kept.is_some(),
            };
            let keys_values = run_block(&how, block, &mut x, recordings, &mut record);
            if let Some(kept) = &mut past.kept {
                kept.extend(keys_values);
            }
            if !x.iter().all(|x| x.is_finite()) {
                let message = format!("the residual stream after block {layer} leaves the range of f32");
                return Err(Error::diverged(message));
            }
            if recordings.has_in("residual", layer) {
                record.residual = Some(x.clone());
            }
            let empty = RecordedLayer { layer, ..RecordedLayer::default() };
            if record != empty {
                visit(record)?;
            }
        }
        if let Some(norm) = &self.weights.last_norm {
            normalise(&mut x, norm, a.norm, a.epsilon);
        }
        Ok(x)
    }

    fn embed(&self, input: &TokenInput, first: usize) -> Array2<f32> {
        let a = &self.architecture;
        let w = &self.weights;
        let mut x = Array2::zeros((a.width, input.ids.len()).f());
        each_token(&mut x, |t, column| {
            let mut add = |table: &Array2<f32>, row: usize| {
                for (x, y) in column.iter_mut().zip(table.row(row)) {
                    *x += y;
                }
            };
            add(&w.tokens, input.ids[t] as usize);
            if let Some(segments) = &w.segments {
                add(segments, input.segments.map_or(0, |s| s[t] as usize));
            }
            if let (Some(table), PositionEncoding::Learned { offset }) = (&w.positions, a.positions) {
                add(table, first + t + offset);
            }
        });
        if let Some(norm) = &w.embedding_norm {
            normalise(&mut x, norm, a.norm, a.epsilon);
        }
        x
    }

    /// The matrix (V, d) that turns states into logits.
    pub(super) fn unembedding(&self) -> Result<ArrayView2<'_, f32>> {
        match (self.architecture.output, &self.weights.output) {
            (OutputHead::Own, Some(output)) => Ok(output.view()),
            (OutputHead::Tied, _) => Ok(self.weights.tokens.view()),
            _ => {
                let path = self.path.display();
                let message = format!("{path} holds no language-model head, so that the network gives no logits");
                Err(Error::undefined(message))
            }
        }
    }
}

/// Keys and values of tokens: those before the input, and where those of the input are kept, per block.
#[derive(Default)]
pub(super) struct Past<'a> {
    pub(super) before: Option<&'a Prefix>,
    pub(super) kept: Option<&'a mut Vec<Array2<f32>>>,
}

/// Circumstances of a block's run.
struct How<'a> {
    a: &'a TransformerArchitecture,
    rotation: Option<&'a Rotation>,
    mask: Option<&'a [bool]>,
    /// Keys and values of the tokens before.
    before: Option<ArrayView2<'a, f32>>,
    /// Flag: keys and values of the tokens are returned.
    keep: bool,
}

/// Puts the columns of two matrices side by side, column-major.
fn side_by_side(left: ArrayView2<f32>, right: ArrayView2<f32>) -> Array2<f32> {
    let mut joined = Array2::zeros((left.nrows(), left.ncols() + right.ncols()).f());
    joined.slice_mut(s![.., ..left.ncols()]).assign(&left);
    joined.slice_mut(s![.., left.ncols()..]).assign(&right);
    joined
}

/// Puts a matrix under itself twice: queries, keys and values of one map.
fn three_times(x: ArrayView2<f32>) -> Array2<f32> {
    let mut stacked = Array2::zeros((3 * x.nrows(), x.ncols()).f());
    for mut part in stacked.axis_chunks_iter_mut(Axis(0), x.nrows()) {
        part.assign(&x);
    }
    stacked
}

/// Runs a block on the residual stream x (d, N). Returns the tokens' keys and values (2 · kv_heads · p, N) if asked to.
fn run_block(
    how: &How,
    block: &Block,
    x: &mut Array2<f32>,
    recordings: &Recordings,
    record: &mut RecordedLayer,
) -> Option<Array2<f32>> {
    let a = how.a;
    let wanted = |name: &str| recordings.has_in(name, record.layer);
    let [inputs, scores, weights, outputs, hidden] = ["inputs", "scores", "weights", "outputs", "hidden"].map(wanted);
    let before = a.place == NormPlace::Before;
    let norm = |x: &mut Array2<f32>, w: &NormWeights| normalise(x, w, a.norm, a.epsilon);
    let normed = |x: &Array2<f32>, w: &NormWeights| {
        let mut y = x.clone();
        if before {
            norm(&mut y, w);
        }
        y
    };
    let y = normed(x, &block.attention_norm);
    let mut qkv = affine(&block.qkv, y.view());
    if a.form.maps != HeadMaps::Separate {
        qkv = three_times(qkv.view());
    }
    if let Some(rotation) = how.rotation {
        rotation.turn(&mut qkv, a);
    }
    if inputs {
        record.inputs = Some(y);
    }
    let (queries, new) = qkv.view().split_at(Axis(0), a.heads * a.head_dim);
    let joined = how.before.map(|before| side_by_side(before, new));
    let keys_values = joined.as_ref().map_or(new, |joined| joined.view());
    let Attended { outputs: heads, scores, weights } = attend(queries, keys_values, a, how.mask, scores, weights);
    let returned = how.keep.then(|| side_by_side(new.slice(s![.., ..0]), new));
    drop(qkv);
    record.scores = scores;
    record.weights = weights;
    // In the parallel form the MLP reads the residual from before attention.
    let mlp_input = block.mlp.as_ref().filter(|_| a.parallel).map(|mlp| normed(x, &mlp.norm));
    add_affine(&block.out, heads.view(), x, true);
    if outputs {
        record.outputs = heads.axis_chunks_iter(Axis(0), a.head_dim).map(column_major).collect();
    }
    if !before {
        norm(x, &block.attention_norm);
    }
    let Some(mlp) = &block.mlp else { return returned };
    let y = mlp_input.unwrap_or_else(|| normed(x, &mlp.norm));
    let h = activate(affine(&mlp.up, y.view()), a.mlp);
    add_affine(&mlp.down, h.view(), x, true);
    if hidden {
        record.hidden = Some(h);
    }
    if !before {
        norm(x, &mlp.norm);
    }
    returned
}
