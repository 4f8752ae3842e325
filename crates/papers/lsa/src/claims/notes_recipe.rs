//! The lecture notes' final recipe of a transformer block: the order of normalisation and addition.

use crate::quantities::{HEADS, TOKEN_DIM, TOKENS};
use attnlab_core::linalg::{normal_matrix, product};
use attnlab_lab::prelude::*;
use attnlab_theory::attention::{Mask, Mhsa, Softmax};
use ndarray::{Array2, ArrayView2, Axis};

/// The block adds what its two stages compute to what it was given.
#[derive(Clone, Copy, Debug)]
pub struct Residual {
    form: Form,
    /// Whether it is a variant of the printed statement, not of the corrected one.
    printed: bool,
}

/// The last line of the recipe.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
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
    pub const PRINTED: Residual = Residual {
        form: Form::Printed,
        printed: true,
    };
    /// With the arguments in their places.
    pub const CORRECTED: Residual = Residual {
        form: Form::Corrected,
        printed: false,
    };
}

/// Each column less its mean, over its standard deviation: the notes' display of LayerNorm.
fn layer_norm(x: ArrayView2<f64>) -> Array2<f64> {
    let mut normal = x.to_owned();
    for mut column in normal.columns_mut() {
        let mean = column.sum() / column.len() as f64;
        column -= mean;
        let variance = column.dot(&column) / column.len() as f64;
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
        let maps = |name: &'static str| -> Vec<Array2<f64>> {
            let one = |h| draw(name, h as u64, width, dim);
            (0..heads).map(one).collect()
        };
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

    /// MHSA(x), without the residual that the operator adds.
    fn mhsa(&self, x: ArrayView2<f64>) -> Result<Array2<f64>> {
        Ok(self.attention.apply(x)? - x)
    }

    fn mlp(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let hidden = product(self.layers[0].view(), x).mapv(|h| h.max(0.0));
        product(self.layers[1].view(), hidden.view())
    }
}

impl Claim for Residual {
    fn sheet(&self) -> &'static Sheet {
        match self.printed {
            true => sheet!("notes.residual"),
            false => sheet!("notes.residual_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        vec![
            TOKENS.within(Domain::Whole(1, 10_000)).or(6),
            TOKEN_DIM.within(Domain::Whole(2, 4096)).or(8),
            HEADS.or(2),
        ]
    }

    fn memory(&self, params: &Params) -> u64 {
        let (n, d) = (params.get(TOKENS) as u64, params.get(TOKEN_DIM) as u64);
        8 * (3 * n * n + 20 * n * d + 13 * d * d)
    }

    /// The difference between x^(m) - x^(m-1) and what the stages compute, which says whether the
    /// block learns the difference: with weights 0 it is the identity only then.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, d) = (params.get(TOKENS), params.get(TOKEN_DIM));
        let block = Block::draw(d, params.get(HEADS), streams);
        // Tokens that are not normalised already: of scale 3 and mean 1.
        let x = normal_matrix(d, n, &mut streams.part("tokens", 0)) * 3.0 + 1.0;
        let attended = block.mhsa(layer_norm(x.view()).view())?;
        let y = &x + &attended;
        let normal = layer_norm(y.view());
        let argument = if self.form == Form::Printed {
            &y
        } else {
            &normal
        };
        let refined = block.mlp(argument.view());
        let next = match self.form {
            Form::Corrected => &y + &refined,
            Form::Printed | Form::Normalised => &normal + &refined,
            Form::NoResidual => refined.clone(),
        };
        let off = next - &x - &attended - &refined;
        let norm = |a: &Array2<f64>| a.iter().map(|x| x * x).sum::<f64>().sqrt();
        let deviation = normal.var_axis(Axis(0), 0.0).mapv(|v| (v - 1.0).abs());
        Ok(Outcome::Gap {
            lhs: norm(&off) / norm(&x),
            rhs: 0.0,
            // Four additions of numbers of the size of x.
            tol: 1e-14,
            relation: Relation::Equal,
            witness: witness! {
                "norm_of_x" => norm(&x),
                "norm_of_what_is_added_beside_the_stages" => norm(&off),
                "variance_of_a_normalised_token_less_1" => deviation.iter().fold(0.0_f64, |m, v| m.max(*v)),
            },
        })
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        10
    }

    fn mutants(&self) -> Vec<Mutant> {
        let with = |form| Residual { form, ..*self };
        vec![
            Mutant::new("normalised", with(Form::Normalised)),
            Mutant::new("no-residual", with(Form::NoResidual)),
        ]
    }
}
