//! The remark after Theorem 2: where softmax attention has the same invariant.
//!
//! With A[i] the same for all samples, $\dot v = \Delta \circ e^z / A(t)$; with b̄ of equal entries, (17) gives
//! $z_l = v_l^2/2 - \|v\|^2/(2M_C)$, so that $\dot v_l = \Delta_l e^{v_l^2/2}$ times a factor that all tokens share.

use super::setting::*;
use super::theorem2::largest_place;
use ndarray::Array1;
use std::f64::consts::SQRT_2;

/// The invariant of Theorem 2 along (11) and (17) for a linear activation.
#[derive(Serialize, Deserialize)]
pub struct Theorem2Softmax {
    /// Scale of v in erf(v/scale).
    scale: f64,
    /// Relative excess of one entry of b̄ over the others; a mutant's is not 0.
    excess: f64,
}

impl Theorem2Softmax {
    /// The remark, with the invariant as derived.
    pub const PRINTED: Self = Theorem2Softmax { scale: SQRT_2, excess: 0.0 };
}

/// Weight of the winner at which the invariant is read: erf(2/√2) = .954.
const READ_AT: f64 = 2.0;
/// Time by which the winner is there: its rate is at least 1 where the hypotheses hold and the largest |Δ| is 1.
const UNTIL: f64 = 20.0;
/// Accuracy of erf(v/√2) along the flow, in which errors do not grow: 1e-12 over some hundred steps.
const TOLERANCE: f64 = 1e-9;

/// The flow of (v, z) for one node: v by (11), z by (17) with the mean attention of the hypothesis or its own.
struct Remark {
    /// x, (M_C, n), and g/n of every sample.
    x: Array2<f64>,
    gradient: Array1<f64>,
    /// Flag: all samples share A, the mean of their own.
    common: bool,
    /// b̄ where it is fixed.
    mean: Option<Array1<f64>>,
}

impl VectorField for Remark {
    fn dim(&self) -> usize {
        2 * self.x.nrows()
    }

    fn rate(&self, state: &[f64], out: &mut [f64]) {
        let (m, n) = self.x.dim();
        let (v, z) = state.split_at(m);
        let e = Array1::from_iter(z.iter().map(|z| z.exp()));
        let mut normalizers = self.x.t().dot(&e);
        if self.common {
            let mean = normalizers.sum() / n as f64;
            normalizers.fill(mean);
        }
        let v_rate = self.x.dot(&(&self.gradient / &normalizers)) * &e;
        let mean = match &self.mean {
            Some(mean) => mean.clone(),
            None => self.x.dot(&normalizers.mapv(|a| 1.0 / (a * n as f64))) * &e,
        };
        let inner: f64 = v_rate.iter().zip(v).map(|(rate, v)| rate * v).sum();
        for l in 0..m {
            out[l] = v_rate[l];
            out[m + l] = v_rate[l] * v[l] - mean[l] * inner;
        }
    }
}

impl Claim for Theorem2Softmax {
    from_sheet!("joma.theorem2_softmax", trials = 20);

    fn schema(&self) -> Schema {
        let tokens = TOKENS.within(Domain::Whole(2, 200)).or(6);
        vec![tokens, SAMPLES.or(9), NORMALIZER.or("common"), MEAN_ATTENTION.or("equal")]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        affordable(params, &[SAMPLES], MOST_OF_NODE)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let common = params.get(NORMALIZER) == "common" || params.get(SAMPLES) == 1;
        let equal = params.get(MEAN_ATTENTION) == "equal";
        vec![
            met("constant normalization", "A[i] remains constant across samples", common),
            met("equal mean attention", "all elements of b_m are the same", equal),
        ]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (tokens, samples) = (params.get(TOKENS), params.get(SAMPLES));
        let x = inputs(tokens, samples, streams);
        let g = normal_matrix(1, samples, &mut streams.part("gradient", 0));
        let mut gradient = g.row(0).mapv(|g| g / samples as f64);
        let delta = x.dot(&gradient);
        let largest = delta.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
        gradient /= largest;
        let delta = (delta / largest).to_vec();
        let equal_mean = || {
            let mut mean = Array1::from_elem(tokens, 1.0 / tokens as f64);
            mean[0] *= 1.0 + self.excess;
            mean
        };
        let mean = (params.get(MEAN_ATTENTION) == "equal").then(equal_mean);
        let field = Remark { x, gradient, common: params.get(NORMALIZER) == "common", mean };
        let event = |x: &[f64]| READ_AT - x[..tokens].iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let flow = Flow::new(Method::Tsit45).within(1e-12);
        let path = flow.watched(&field, &vec![0.0; field.dim()], &[UNTIL], Watch::until(&event))?;
        let (time, end) = match &path.event {
            Some((time, state)) => (*time, state.clone()),
            None => (UNTIL, path.end().to_vec()),
        };
        let winner = largest_place(&delta);
        let quantity = |l: usize| libm::erf(end[l] / self.scale);
        // The invariant times Δ_l, so that tokens of next to no gradient do not divide by it.
        let off = |l: usize| (quantity(l) / quantity(winner) - delta[l] / delta[winner]).abs();
        let off = (0..tokens).map(off).fold(0.0, f64::max);
        Ok(Outcome::equal(off, 0.0, TOLERANCE, witness! { "time" => time, "v" => &end[..tokens], "gradient" => delta }))
    }
}
