//! The lecture notes' final recipe of a transformer block: the order of normalisation and addition.

use super::setting::PER_SECOND;
use crate::quantities::{HEADS, TOKEN_DIM, TOKENS};
use attnlab_core::linalg::{normal_matrix, product};
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Mask, Mhsa, Softmax};
use ndarray::{Array2, ArrayView2, Axis, s};

/// The block adds what its two stages compute to what it was given.
#[derive(Serialize, Deserialize)]
pub struct Residual {
    /// Flag: it is a variant of the printed statement, not of the corrected one.
    printed: bool,
    last: LastLine,
    /// Number by which the divisor of LayerNorm's variance falls short of D.
    lost: usize,
    /// Flag of a mutant: the rows of attention are normalised in place of its columns.
    rows: bool,
}

/// The last line of the recipe.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LastLine {
    /// ȳ + MLP(y).
    Printed,
    /// y + MLP(ȳ).
    Corrected,
    /// ȳ + MLP(ȳ).
    Normalised,
    /// MLP(ȳ).
    NoResidual,
}

impl Residual {
    /// As printed.
    pub const PRINTED: Self = Residual { printed: true, last: LastLine::Printed, lost: 0, rows: false };
    /// With the arguments in their places.
    pub const CORRECTED: Self = Residual { printed: false, last: LastLine::Corrected, ..Self::PRINTED };

    /// The output of a block that follows the recipe.
    fn output(&self, block: &Block, x: ArrayView2<f64>) -> Result<Array2<f64>> {
        let y = block.attend(x, layer_norm(x, self.lost).view())?;
        let normal = layer_norm(y.view(), self.lost);
        Ok(match self.last {
            LastLine::Printed => normal + block.mlp(y.view()),
            LastLine::Corrected => y + block.mlp(normal.view()),
            LastLine::Normalised => &normal + &block.mlp(normal.view()),
            LastLine::NoResidual => block.mlp(normal.view()),
        })
    }
}

/// Each column less its mean, over its standard deviation: the notes' display of LayerNorm, whose variance is
/// the sum of squares over D less `lost` = 0.
fn layer_norm(x: ArrayView2<f64>, lost: usize) -> Array2<f64> {
    let mut normal = x.to_owned();
    for mut column in normal.columns_mut() {
        let mean = column.sum() / column.len() as f64;
        column -= mean;
        let variance = column.dot(&column) / (column.len() - lost) as f64;
        column /= variance.sqrt();
    }
    normal
}

/// A block with random weights.
struct Block {
    attention: Mhsa,
    /// (H, D) and (D, H) of the two-layer MLP.
    layers: [Array2<f64>; 2],
}

impl Block {
    fn draw(dim: usize, heads: usize, streams: &Streams) -> Self {
        let width = dim.div_ceil(heads);
        let draw = |name, index, rows, columns: usize| {
            let mut rng = streams.part(name, index);
            normal_matrix(rows, columns, &mut rng) / (columns as f64).sqrt()
        };
        let maps =
            |name: &'static str| -> Vec<Array2<f64>> { (0..heads).map(|h| draw(name, h as u64, width, dim)).collect() };
        let attention = Mhsa {
            w_q: maps("queries"),
            w_k: maps("keys"),
            w_v: maps("values"),
            w_o: draw("output", 0, dim, width * heads),
            phi: Softmax.into(),
            eta: 1.0,
            scale: 1.0,
            mask: Mask::None,
        };
        // Four times as wide as the tokens, as is usual.
        let layers = [draw("mlp", 0, 4 * dim, dim), draw("mlp", 1, dim, 4 * dim)];
        Block { attention, layers }
    }

    /// x + MHSA(x̄) by the operator of this library, with its own residual taken off the normalised tokens.
    fn attend(&self, x: ArrayView2<f64>, normal: ArrayView2<f64>) -> Result<Array2<f64>> {
        Ok(self.attention.apply(normal)? - normal + x)
    }

    /// Σ_h U_p,h U_v,h X A_h token by token, as the notes display it: entry (n, n') of A_h is
    /// exp⟨k_n, q_n'⟩ over its sum over n, or over n' where `rows`.
    fn displayed(&self, x: ArrayView2<f64>, rows: bool) -> Array2<f64> {
        let layer = &self.attention;
        let mut sum = Array2::zeros(x.dim());
        let mut start = 0;
        for ((keys, queries), values) in layer.w_k.iter().zip(&layer.w_q).zip(&layer.w_v) {
            let mut a = keys.dot(&x).t().dot(&queries.dot(&x)).mapv(f64::exp);
            for mut line in a.lanes_mut(Axis(usize::from(rows))) {
                line /= line.sum();
            }
            let stop = start + values.nrows();
            sum += &layer.w_o.slice(s![.., start..stop]).dot(&values.dot(&x).dot(&a));
            start = stop;
        }
        sum
    }

    fn mlp(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let hidden = product(self.layers[0].view(), x).mapv(|h| h.max(0.0));
        product(self.layers[1].view(), hidden.view())
    }
}

/// Multiple of ε that bounds the rounding of a block relative to the norms of its tokens and stages: sums over
/// the scores of all tokens, and scores of size ln(1/ε) whose error the exponential turns into a relative one.
fn rounding(tokens: usize, dim: usize) -> f64 {
    64.0 * (tokens + dim) as f64 * f64::EPSILON
}

impl Claim for Residual {
    from_sheet!(
        self,
        if self.printed { sheet!("notes.residual") } else { sheet!("notes.residual_corrected") },
        trials = 10
    );

    fn schema(&self) -> Schema {
        vec![TOKENS.within(Domain::Whole(1, 10_000)).or(6), TOKEN_DIM.within(Domain::Whole(2, 4096)).or(8), HEADS.or(2)]
    }

    fn seconds(&self, params: &Params) -> f64 {
        let (n, d) = (params.real(TOKENS), params.real(TOKEN_DIM));
        n * (4.0 * n * d + 24.0 * d * d) / PER_SECOND
    }

    fn memory(&self, params: &Params) -> u64 {
        let (n, d) = (params.get(TOKENS) as u64, params.get(TOKEN_DIM) as u64);
        memory::total(&[&[24, n, n], &[160, n, d], &[104, d, d]])
    }

    /// x^(m) - x^(m-1) of the block against the two stages. The block runs through this library's attention
    /// operator with its residual; MHSA is computed once more from the notes' display, and each stage reads what
    /// the recipe hands to it.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, d) = (params.get(TOKENS), params.get(TOKEN_DIM));
        let block = Block::draw(d, params.get(HEADS), streams);
        // Tokens that are not normalised already: of scale 3 and mean 1.
        let x = normal_matrix(d, n, &mut streams.part("tokens", 0)) * 3.0 + 1.0;
        let next = self.output(&block, x.view())?;
        let attended = block.displayed(layer_norm(x.view(), 0).view(), self.rows);
        let y = &x + &attended;
        let normal = layer_norm(y.view(), 0);
        let argument = if self.last == LastLine::Printed { &y } else { &normal };
        let refined = block.mlp(argument.view());
        let off = next - &x - &attended - &refined;
        let norm = |a: &Array2<f64>| a.iter().map(|x| x * x).sum::<f64>().sqrt();
        let deviation = normal.var_axis(Axis(0), 0.0).mapv(|v| (v - 1.0).abs());
        let size = norm(&x) + norm(&attended) + norm(&refined);
        let witness = witness! {
            "norm_of_x" => norm(&x), "norm_of_what_is_added_beside_the_stages" => norm(&off),
            "variance_of_a_normalised_token_less_1" => deviation.iter().fold(0.0_f64, |m, v| m.max(*v)),
        };
        Ok(Outcome::equal(norm(&off) / size, 0.0, rounding(n, d), witness))
    }
}
