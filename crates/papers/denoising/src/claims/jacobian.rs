//! The condition under which a softmax layer is a gradient: Denoising, Appendix H.2, (A.24) and (A.25),
//! the latter as printed and corrected.

use super::setting::*;
use attnlab_core::linalg::frobenius2;
use attnlab_theory::attention::memory::symmetry::{self, Symmetry};

/// A context of standard normals, a state of length about one, and two weight matrices of order one, normals over √n:
/// scores are of order one for every n, so that the softmax is not saturated.
fn draw(params: &Params, streams: &Streams) -> (Array2<f64>, Array1<f64>, [Array2<f64>; 2]) {
    let n = params.get(AMBIENT);
    let root = (n as f64).sqrt();
    let weights = |i| normal_matrix(n, n, &mut streams.part("weights", i)) / root;
    let state = normal_matrix(n, 1, &mut streams.part("state", 0)) / root;
    let context = normal_matrix(n, params.get(CONTEXT), &mut streams.part("context", 0));
    (context, state.column(0).to_owned(), [weights(0), weights(1)])
}

/// Change of the largest score by which the layer is differentiated.
const SCORE_STEP: f64 = 0.01;

/// Relative error of the numerical Jacobian. Truncation: the fifth derivative of a softmax mean along a direction
/// is a joint cumulant, at most 16 v⁴ of the first where scores change by v per unit, so that the five-point rule
/// leaves 16 · (2 · 0.01)⁴ / 30 < 1e-7 of the larger entries. Rounding: 1e-16 of the layer over the step, which is
/// required to be less ([`ROUNDED`]).
const DERIVATIVE: f64 = 1e-6;

/// Largest rounding error of the numerical Jacobian relative to its norm: a tenth of [`DERIVATIVE`].
const ROUNDED: f64 = 1e-7;

/// The Jacobian of the layer by differences, which knows nothing of (A.24). In `Err` an uninformative trial with the
/// `weights` of this name: the Jacobian is lost in rounding, whose relative bound is 1 or more where the softmax is
/// saturated.
fn numerical_jacobian(
    weights: &str,
    x: ArrayView2<f64>,
    w_pv: ArrayView2<f64>,
    w_kq: ArrayView2<f64>,
    state: &Array1<f64>,
) -> Result<Array2<f64>, Outcome> {
    let n = state.len();
    let mut jacobian = Array2::zeros((n, n));
    let (slopes, values) = (x.t().dot(&w_kq), w_pv.dot(&x));
    let largest = |a: &mut dyn Iterator<Item = f64>| a.fold(0.0, |m: f64, v| m.max(v.abs()));
    let mut least_step = f64::INFINITY;
    for (i, mut column) in jacobian.columns_mut().into_iter().enumerate() {
        let along = |h: f64| {
            let mut s = state.clone();
            s[i] += h;
            softmax_attention(x, w_pv.view(), w_kq.view(), s.view())
        };
        let step = SCORE_STEP / largest(&mut slopes.column(i).iter().copied()).max(SCORE_STEP);
        least_step = least_step.min(step);
        column.assign(&derivative(along, step));
    }
    // Two roundings in each of n entries of n columns.
    let layer = largest(&mut values.iter().copied());
    let error = 2.0 * n as f64 * f64::EPSILON * layer / least_step;
    let rounding = error / frobenius2(jacobian.view()).sqrt();
    if rounding <= ROUNDED {
        return Ok(jacobian);
    }
    let witness = witness! { "weights" => weights, "relative_rounding_error" => rounding };
    Err(Outcome::uninformative("the softmax is saturated to rounding", witness))
}

/// (A.24) against the numerical derivative of the layer.
#[derive(Default, Serialize, Deserialize)]
pub struct Jacobian {
    /// Without g gᵀ.
    diagonal: bool,
    /// W_KQᵀ on the right.
    transposed: bool,
    /// Relative excess of the Jacobian.
    larger: f64,
}

impl Claim for Jacobian {
    from_sheet!("denoise.a24");

    /// In one dimension every field is a gradient, and one token has no Jacobian. Above the upper ends a check takes
    /// minutes: 24 n layers of n² + n L products in every trial.
    fn schema(&self) -> Schema {
        vec![AMBIENT.within(Domain::Whole(2, 100)).or(5), CONTEXT.within(Domain::Whole(2, 1000)).or(12)]
    }

    fn memory(&self, params: &Params) -> u64 {
        let (n, l) = (params.get(AMBIENT) as u64, params.get(CONTEXT) as u64);
        8 * (n * (4 * l + 10 * n) + 2 * l * l)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (x, state, [w_pv, w_kq]) = draw(params, streams);
        let numerical = match numerical_jacobian("random", x.view(), w_pv.view(), w_kq.view(), &state) {
            Ok(jacobian) => jacobian,
            Err(saturated) => return Ok(saturated),
        };
        let mut g = x.t().dot(&w_kq.dot(&state)).to_vec();
        Softmax.apply(&mut g);
        let g = Array1::from(g);
        let mut spread = Array2::from_diag(&g);
        if !self.diagonal {
            let column = g.view().insert_axis(Axis(1));
            spread -= &column.dot(&column.t());
        }
        let last = if self.transposed { w_kq.t() } else { w_kq.view() };
        let printed = w_pv.dot(&x).dot(&spread).dot(&x.t()).dot(&last) * (1.0 + self.larger);
        let apart = frobenius2((&printed - &numerical).view());
        let gap = (apart / frobenius2(numerical.view())).sqrt();
        Ok(Outcome::equal(gap, 0.0, DERIVATIVE, witness! { "relative_gap" => gap }))
    }
}

/// (A.25) as the condition for a gradient: for several kinds of weights, it must hold exactly where
/// the Jacobian is symmetric.
#[derive(Serialize, Deserialize)]
pub struct Condition {
    form: Form,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// The mutant: the corrected condition up to a hundredth of the length of its sides.
    Loose,
}

impl Condition {
    /// As printed.
    pub const PRINTED: Self = Condition { form: Form::Printed };
    /// With its transposes where $J = J^T$ has them.
    pub const CORRECTED: Self = Condition { form: Form::Corrected };

    /// The distance of weights from the condition: 0 where it holds.
    fn defect(&self, symmetry: &Symmetry, pv: ArrayView2<f64>, kq: ArrayView2<f64>) -> f64 {
        match self.form {
            Form::Printed => symmetry.printed,
            Form::Corrected => symmetry.jacobian,
            Form::Loose => (symmetry.jacobian - 0.01).max(0.0),
            Form::Equal => (&pv - &kq).mapv(f64::abs).sum(),
            Form::Product => symmetry::asymmetry(pv.dot(&kq).view()),
            Form::Symmetric => symmetry::asymmetry(pv) + symmetry::asymmetry(kq),
        }
    }
}

/// Share of unrelated weights in the nearly adjoint ones: far above the error of a numerical Jacobian, and no gradient.
const NEARLY: f64 = 1e-3;

/// Kinds of weights (W_PV, W_KQ), gradients and others.
fn kinds(m: &Array2<f64>, other: &Array2<f64>) -> Vec<(&'static str, Array2<f64>, Array2<f64>)> {
    let identity = Array2::eye(m.nrows());
    let even = |a: &Array2<f64>| a + &a.t();
    let transposed = m.t().to_owned();
    vec![
        ("scaled identities", &identity * 1.5, &identity * 0.7),
        ("W_KQ = c W_PV^T", m.clone(), &transposed * 0.6),
        ("W_KQ = W_PV", m.clone(), m.clone()),
        ("unrelated", m.clone(), other.clone()),
        ("both symmetric", even(m), even(other)),
        ("nearly W_KQ = c W_PV^T", m.clone(), &transposed * 0.6 + other * NEARLY),
        ("symmetric product", m.clone(), transposed.dot(m).dot(&transposed)),
    ]
}

/// Defect of a condition on Y up to which it holds: products of (n, n) matrices of order one leave n rounding
/// errors, 1e-13. Where it fails, it fails by a share of order one, as the symmetry of the numerical Jacobian does,
/// which holds up to [`DERIVATIVE`].
const ROUNDING: f64 = 1e-9;

/// Defect of a condition below which it neither holds nor fails: ten times [`DERIVATIVE`].
const NEITHER: f64 = 1e-5;

impl Claim for Condition {
    from_sheet!(
        self,
        match self.form {
            Form::Printed => sheet!("denoise.a25"),
            _ => sheet!("denoise.a25_corrected"),
        }
    );

    fn schema(&self) -> Schema {
        Jacobian::default().schema()
    }

    fn memory(&self, params: &Params) -> u64 {
        Jacobian::default().memory(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (x, state, [m, other]) = draw(params, streams);
        let mut contradictions = Witness::new();
        for (name, pv, kq) in kinds(&m, &other) {
            let numerical = match numerical_jacobian(name, x.view(), pv.view(), kq.view(), &state) {
                Ok(jacobian) => jacobian,
                Err(saturated) => return Ok(saturated),
            };
            let asymmetry = symmetry::asymmetry(numerical.view());
            let symmetry = symmetry::test(x.view(), pv.view(), kq.view(), state.view())?;
            let defect = self.defect(&symmetry, pv.view(), kq.view());
            if defect > ROUNDING && defect < NEITHER {
                let witness = witness! { "weights" => name, "defect_of_the_condition" => defect };
                let reason = "the condition fails by less than the numerical Jacobian tells";
                return Ok(Outcome::uninformative(reason, witness));
            }
            if (asymmetry <= DERIVATIVE) != (defect <= ROUNDING) {
                let entry = witness! {
                    "asymmetry_of_the_numerical_jacobian" => asymmetry,
                    "defect_of_the_condition" => defect,
                };
                contradictions.insert(name.into(), entry.into());
            }
        }
        Ok(Outcome::Event { holds: contradictions.is_empty(), witness: contradictions })
    }
}
