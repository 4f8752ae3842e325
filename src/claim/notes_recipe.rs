//! The lecture notes' final recipe of a transformer block: what is normalised and what is added.

use super::*;
use crate::attention::{Mask, Mhsa, Phi};
use crate::linalg::{normal_matrix, product};
use crate::witness;
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
            phi: Phi::Softmax,
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
    fn card(&self) -> Card {
        let printed = self.printed;
        Card {
            id: if printed {
                "notes.residual"
            } else {
                "notes.residual_corrected"
            },
            paper: Paper::Notes,
            equation: if printed {
                "residual connection and final recipe"
            } else {
                "residual connection and final recipe, corrected"
            },
            title: if printed {
                "The block of the final recipe adds to its input, as printed"
            } else {
                "The block with y + MLP(LayerNorm(y)) adds to its input"
            },
            statement: if printed {
                "We parameterize $x^{(m)} = x^{(m-1)} + res_\\theta(x^{(m-1)})$, just learning $x^{(m)} - \
                 x^{(m-1)}$. Final recipe: $x^{(m-1)} \\mapsto LayerNorm(x^{(m-1)}) = \\bar x^{(m-1)} \\mapsto \
                 y^{(m)} = x^{(m-1)} + MHSA(\\bar x^{(m-1)}) \\mapsto \\bar y^{(m)} = LayerNorm(y^{(m)}) \
                 \\mapsto x^{(m)} = \\bar y^{(m)} + MLP(y^{(m)})$."
            } else {
                "$x^{(m)} - x^{(m-1)} = MHSA(\\bar x^{(m-1)}) + MLP(\\bar y^{(m)})$ with the last line $x^{(m)} \
                 = y^{(m)} + MLP(\\bar y^{(m)})$."
            },
            kind: Kind::Identity,
            expected: if printed {
                VerdictKind::Refuted
            } else {
                VerdictKind::Supported
            },
            corrected: printed
                .then_some("$x^{(m)} = y^{(m)} + MLP(\\bar y^{(m)})$: `notes.residual_corrected`."),
        }
    }

    fn schema(&self) -> Schema {
        vec![
            Spec::new("tokens", Domain::Whole(1, 10_000), 6, "N, number of tokens"),
            Spec::new(
                "dim",
                Domain::Whole(2, 4096),
                8,
                "D, dimension of the tokens",
            ),
            Spec::new("heads", Domain::Whole(1, 64), 2, "H, number of heads"),
        ]
    }

    fn memory(&self, params: &Params) -> u64 {
        let (n, d) = (params.usize("tokens") as u64, params.usize("dim") as u64);
        8 * (3 * n * n + 20 * n * d + 13 * d * d)
    }

    /// The difference between x^(m) - x^(m-1) and what the stages compute, which says whether the
    /// block learns the difference: with weights 0 it is the identity only then.
    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, d) = (params.usize("tokens"), params.usize("dim"));
        let block = Block::draw(d, params.usize("heads"), streams);
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

    fn discrepancy(&self) -> Option<Discrepancy> {
        self.printed.then_some(Discrepancy {
            printed: "$\\bar y^{(m)}$ and $y^{(m)}$ have changed places in the last line: the residual is \
                      taken of the normalised tokens, and the MLP reads the unnormalised ones.",
            witness: "`check notes.residual` prints the norm of what the block adds beside MHSA and MLP: \
                      as large as the tokens themselves. With both stages 0 the printed block maps x to \
                      LayerNorm(x), not to x.",
            range: "Every block whose y is not normalised already.",
            correction: "`notes.residual_corrected`. (The display of LayerNorm has no ε either: a token \
                         with equal entries is divided by 0.)",
        })
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        10
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, says, form| Mutant::new(name, says, Residual { form, ..*self });
        vec![
            variant("normalised", "with ȳ + MLP(ȳ)", Form::Normalised),
            variant("no-residual", "with MLP(ȳ) alone", Form::NoResidual),
        ]
    }
}
