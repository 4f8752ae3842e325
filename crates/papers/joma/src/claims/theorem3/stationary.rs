//! Lemma 4, Eq. (54): what stationary points satisfy.

use super::{AtCritical, Statement};
use crate::claims::setting::*;

/// The condition Σ_j a_j F = 0 at a stationary point.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Stationary {
    /// Flag: it is the printed claim, on the field (42) as printed, and not that on the layer's field.
    printed: bool,
    /// Factor of ∫θ_1 in F; the mutant: near 1.
    factor: f64,
}

impl Stationary {
    /// Eq. (54) for the field (42), (43) as printed.
    pub const PRINTED: AtCritical<Self> = AtCritical(Stationary { printed: true, factor: 1.0 });
    /// Eq. (54) at ρ for the layer's field.
    pub const CORRECTED: AtCritical<Self> = AtCritical(Stationary { printed: false, factor: 1.0 });

    /// The function F(r) = θ_2(0) + ∫_0^r θ_1 of Lemma 3, by its definition.
    fn f(self, point: &CriticalPoint, r: f64) -> f64 {
        let (law, c) = (&point.law, point.slopes);
        let (from, to) = (r.min(0.0), r.max(0.0));
        let integral = integrate(|x| law.theta1(c, x), from, to, 0.5, QUADRATURE);
        law.theta2(c, 0.0) + self.factor * if r < 0.0 { -integral } else { integral }
    }
}

/// The field in closed form; the state is (v, ξ).
struct Closed {
    point: CriticalPoint,
    printed: bool,
}

impl VectorField for Closed {
    fn dim(&self) -> usize {
        3
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let point = &self.point;
        let (v, xi) = if self.printed { point.field_printed(&x[..2], x[2]) } else { point.field(&x[..2], x[2]) };
        out[..2].copy_from_slice(&v);
        out[2] = xi;
    }
}

/// Relative accuracy of F by quadrature.
const QUADRATURE: f64 = 1e-11;
/// Accuracy of the sum relative to its terms: of rest, 1e-9 by the integrator's tolerance or Newton's method, times
/// condition numbers of up to some hundred.
const TOLERANCE: f64 = 1e-6;
/// Largest rate at a point that counts as stationary, relative to that at the start.
const AT_REST: f64 = 1e-9;

impl Statement for Stationary {
    fn sheet(self) -> &'static Sheet {
        if self.printed { sheet!("joma.lemma4") } else { sheet!("joma.lemma4_corrected") }
    }

    fn outcome_at(self, point: CriticalPoint, _params: &Params) -> Result<Outcome> {
        // The printed field has the same pair of r at |μ| = 1.
        let length = if self.printed { 1.0 } else { point.length };
        let field = Closed { point: CriticalPoint { length, ..point }, printed: self.printed };
        // The layer's field attracts; the printed one has saddles, which Newton's method finds.
        let end = if self.printed { root(&field, [1.03, 0.02, 0.99 * field.point.bias()])? } else { at_rest(&field)? };
        let point = field.point;
        let length = f64::hypot(end[0], end[1]);
        let scale = if self.printed { 1.0 } else { length };
        let r = [end[0] * point.distance() + end[2], end[2]].map(|r| r / scale);
        let (first, second) = (self.f(&point, r[0]), point.weight * self.f(&point, r[1]));
        let mut rate = [0.0; 3];
        field.rate(&end, &mut rate);
        let witness = witness! {
            "terms" => [first, second], "end" => end, "length" => length, "r" => r, "rate" => rate,
        };
        Ok(Outcome::equal((first - second) / first, 0.0, TOLERANCE, witness))
    }
}

/// The state at which the flow of the layer's field comes to rest.
fn at_rest(field: &Closed) -> Result<[f64; 3]> {
    let point = &field.point;
    let start = [1.2 * point.length, 0.2 * point.length, 0.9 * point.bias()];
    let betas = point.betas();
    let slowest = betas.one.min(betas.one + betas.two * point.length.powi(2));
    // 40 lifetimes of the slower mode at μ; rates grow as the ray shortens by at most a half.
    let until = 80.0 / slowest;
    let path = Flow::new(Method::Bdf).run(field, &start, &[until])?;
    let end = path.end();
    Ok([end[0], end[1], end[2]])
}

/// A stationary point by Newton's method with differences for the Jacobian.
fn root(field: &Closed, start: [f64; 3]) -> Result<[f64; 3]> {
    let rate = |x: &[f64; 3]| {
        let mut out = [0.0; 3];
        field.rate(x, &mut out);
        out
    };
    let norm = |x: &[f64; 3]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let (mut x, first) = (start, norm(&rate(&start)));
    for _ in 0..60 {
        let here = rate(&x);
        if norm(&here) <= AT_REST * first {
            return Ok(x);
        }
        let mut jacobian = [[0.0; 3]; 3];
        for j in 0..3 {
            let shifted = |h: f64| {
                let mut y = x;
                y[j] += h;
                rate(&y)
            };
            let h = 1e-5 * norm(&x);
            let (forth, back) = (shifted(h), shifted(-h));
            for i in 0..3 {
                jacobian[i][j] = (forth[i] - back[i]) / (2.0 * h);
            }
        }
        let step = solve(jacobian, here);
        // Half steps where a whole one leaves the neighbourhood.
        let damping = (0.2 * norm(&x) / norm(&step).max(f64::MIN_POSITIVE)).min(1.0);
        for (x, s) in x.iter_mut().zip(step) {
            *x -= damping * s;
        }
    }
    Err(Error::not_converged("Newton's method found no stationary point of the printed field"))
}

/// The solution of a 3 × 3 system by Cramer's rule.
fn solve(a: [[f64; 3]; 3], b: [f64; 3]) -> [f64; 3] {
    let det = |m: &[[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let whole = det(&a);
    std::array::from_fn(|j| {
        let mut with = a;
        for (row, b) in with.iter_mut().zip(b) {
            row[j] = b;
        }
        det(&with) / whole
    })
}
