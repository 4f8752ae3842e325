//! The condition under which a softmax layer is a gradient: Denoising, Appendix H.2, (A.24) and (A.25),
//! the latter as printed and corrected.

use super::setting::derivative;
use crate::quantities::{AMBIENT, CONTEXT};
use attnlab_core::linalg::normal_matrix;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::memory::symmetry;
use attnlab_theory::attention::memory::symmetry::Symmetry;
use attnlab_theory::attention::{Nonlinearity, Softmax, softmax_attention};
use ndarray::{Array1, Array2, ArrayView2, Axis};

/// A context and a state of standard normals, and two weight matrices.
struct Drawn {
    context: Array2<f64>,
    state: Array1<f64>,
    /// Of order one: normals over √n.
    m: Array2<f64>,
    other: Array2<f64>,
}

fn draw(params: &Params, streams: &Streams) -> Drawn {
    let n = params.get(AMBIENT);
    let weights = |i| normal_matrix(n, n, &mut streams.part("weights", i)) / (n as f64).sqrt();
    let state = normal_matrix(n, 1, &mut streams.part("state", 0));
    Drawn {
        context: normal_matrix(n, params.get(CONTEXT), &mut streams.part("context", 0)),
        state: state.column(0).to_owned(),
        m: weights(0),
        other: weights(1),
    }
}

fn schema() -> Schema {
    vec![AMBIENT.or(5), CONTEXT.or(12)]
}

/// In one dimension every field is a gradient, and one token has no Jacobian.
fn validate(params: &Params) -> Result<()> {
    for quantity in [AMBIENT, CONTEXT] {
        if params.get(quantity) < 2 {
            return Err(Error::invalid(
                quantity.name,
                1,
                "must be a whole number >= 2",
            ));
        }
    }
    Ok(())
}

fn memory(params: &Params) -> u64 {
    let (n, l) = (params.get(AMBIENT) as u64, params.get(CONTEXT) as u64);
    8 * (n * (4 * l + 10 * n) + 2 * l * l)
}

/// The Jacobian of the layer by differences: knows nothing of (A.24).
fn numerical_jacobian(
    x: ArrayView2<f64>,
    w_pv: ArrayView2<f64>,
    w_kq: ArrayView2<f64>,
    state: &Array1<f64>,
) -> Array2<f64> {
    let n = state.len();
    let mut jacobian = Array2::zeros((n, n));
    for (i, mut column) in jacobian.columns_mut().into_iter().enumerate() {
        let along = |h: f64| {
            let mut s = state.clone();
            s[i] += h;
            softmax_attention(x, w_pv, w_kq, s.view())
        };
        // Scores of standard deviation √n change by about 0.01.
        column.assign(&derivative(along, 0.01 / (n as f64).sqrt()));
    }
    jacobian
}

/// (A.24) against the numerical derivative of the layer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Jacobian {
    /// The mutant: without g gᵀ.
    diagonal: bool,
    /// The mutant: W_KQᵀ on the right.
    transposed: bool,
}

/// The five-point rule with scores that change by about 0.01: some 1e-9, relative to the entries.
const DERIVATIVE: f64 = 1e-6;

impl Claim for Jacobian {
    fn sheet(&self) -> &'static Sheet {
        sheet!("denoise.a24")
    }

    fn schema(&self) -> Schema {
        schema()
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn memory(&self, params: &Params) -> u64 {
        memory(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let Drawn {
            context: x,
            state,
            m: w_pv,
            other: w_kq,
        } = draw(params, streams);
        let numerical = numerical_jacobian(x.view(), w_pv.view(), w_kq.view(), &state);
        let mut g = x.t().dot(&w_kq.dot(&state)).to_vec();
        Softmax.apply(&mut g);
        let g = Array1::from(g);
        let mut spread = Array2::from_diag(&g);
        if !self.diagonal {
            let column = g.view().insert_axis(Axis(1));
            spread -= &column.dot(&column.t());
        }
        let last = if self.transposed {
            w_kq.t()
        } else {
            w_kq.view()
        };
        let printed = w_pv.dot(&x).dot(&spread).dot(&x.t()).dot(&last);
        let norm = |a: &Array2<f64>| a.mapv(|v| v * v).sum().sqrt();
        let gap = norm(&(&printed - &numerical)) / norm(&numerical);
        Ok(Outcome::Gap {
            lhs: gap,
            rhs: 0.0,
            tol: DERIVATIVE,
            relation: Relation::Equal,
            witness: witness! { "relative_gap" => gap },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let right = Jacobian::default();
        vec![
            Mutant::new(
                "diagonal",
                Jacobian {
                    diagonal: true,
                    ..right
                },
            ),
            Mutant::new(
                "transposed",
                Jacobian {
                    transposed: true,
                    ..right
                },
            ),
        ]
    }
}

/// (A.25) as the condition for a gradient: for several kinds of weights, it must hold exactly where
/// the Jacobian is symmetric.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// $W_{PV} Y W_{KQ}^T = W_{KQ} Y W_{PV}^T$.
    Printed,
    /// $W_{PV} Y W_{KQ} = W_{KQ}^T Y W_{PV}^T$.
    Corrected,
    /// The mutant: equal weights.
    Equal,
    /// The mutant: a symmetric product of the weights.
    Product,
    /// The mutant: symmetric weights.
    Symmetric,
}

impl Condition {
    /// As printed.
    pub const PRINTED: Self = Condition {
        form: Form::Printed,
    };
    /// With its transposes where $J = J^T$ has them.
    pub const CORRECTED: Self = Condition {
        form: Form::Corrected,
    };

    /// The distance of weights from the condition: 0 where it holds.
    fn defect(&self, found: &Symmetry, pv: ArrayView2<f64>, kq: ArrayView2<f64>) -> f64 {
        match self.form {
            Form::Printed => found.printed,
            Form::Corrected => found.jacobian,
            Form::Equal => (&pv - &kq).mapv(f64::abs).sum(),
            Form::Product => symmetry::asymmetry(pv.dot(&kq).view()),
            Form::Symmetric => symmetry::asymmetry(pv) + symmetry::asymmetry(kq),
        }
    }
}

/// Kinds of weights (W_PV, W_KQ), gradients and others.
fn kinds(m: &Array2<f64>, other: &Array2<f64>) -> Vec<(&'static str, Array2<f64>, Array2<f64>)> {
    let one = Array2::eye(m.nrows());
    let even = |a: &Array2<f64>| a + &a.t();
    let transposed = m.t().to_owned();
    vec![
        ("scaled identities", &one * 1.5, &one * 0.7),
        ("W_KQ = c W_PV^T", m.clone(), &transposed * 0.6),
        ("W_KQ = W_PV", m.clone(), m.clone()),
        ("unrelated", m.clone(), other.clone()),
        ("both symmetric", even(m), even(other)),
        (
            "symmetric product",
            m.clone(),
            transposed.dot(m).dot(&transposed),
        ),
    ]
}

/// A condition on Y holds to rounding or fails by a share of order one; so does the symmetry of the
/// numerical Jacobian, up to [`DERIVATIVE`]. Anything between is neither.
const ROUNDING: f64 = 1e-9;

impl Claim for Condition {
    fn sheet(&self) -> &'static Sheet {
        match self.form {
            Form::Printed => sheet!("denoise.a25"),
            _ => sheet!("denoise.a25_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        schema()
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn memory(&self, params: &Params) -> u64 {
        memory(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let drawn = draw(params, streams);
        let (x, state) = (drawn.context.view(), &drawn.state);
        let mut seen = Witness::new();
        let mut holds = true;
        for (name, pv, kq) in kinds(&drawn.m, &drawn.other) {
            let jacobian = numerical_jacobian(x, pv.view(), kq.view(), state);
            let asymmetry = symmetry::asymmetry(jacobian.view());
            let found = symmetry::test(x, pv.view(), kq.view(), state.view())?;
            let defect = self.defect(&found, pv.view(), kq.view());
            let (gradient, condition) = (asymmetry <= DERIVATIVE, defect <= ROUNDING);
            if gradient != condition {
                holds = false;
                let entry = witness! {
                    "asymmetry_of_the_numerical_jacobian" => asymmetry,
                    "defect_of_the_condition" => defect,
                };
                seen.insert(name.into(), entry.into());
            }
        }
        Ok(Outcome::Event {
            holds,
            witness: seen,
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let form = |name, form| Mutant::new(name, Condition { form });
        vec![
            form("equal", Form::Equal),
            form("product", Form::Product),
            form("symmetric", Form::Symmetric),
        ]
    }
}
