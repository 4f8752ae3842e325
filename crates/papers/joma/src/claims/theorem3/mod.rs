//! Theorem 3 and Lemma 4: critical points of the nonlinear dynamics and what is near them; a file per statement.

pub mod condition;
pub mod convex;
pub mod definite;
pub mod existence;
pub mod lambda;
pub mod limits;
pub mod linearised;
mod printed_field;
pub mod range;
pub mod rates;
pub mod signs;
pub mod slope;
pub mod stable;
pub mod stationary;
mod upper;

use super::lemma1::homogeneous;
use crate::claims::setting::*;
use serde::de::DeserializeOwned;
use std::ops;

/// Trials of every claim here: some tenths of a second each.
const TRIALS: u64 = 12;

/// A statement on every critical point.
pub trait Statement: Copy + Send + Sync + Serialize + DeserializeOwned + 'static {
    /// Returns the sheet.
    fn sheet(self) -> &'static Sheet;

    /// Judges a critical point.
    fn outcome_at(self, point: CriticalPoint, params: &Params) -> Result<Outcome>;

    /// Returns the hypotheses beyond those of every critical point.
    fn more_hypotheses(self, _params: &Params) -> Vec<Hypothesis> {
        vec![]
    }
}

/// The claim that a statement holds at random critical points.
#[derive(Serialize, Deserialize)]
pub struct AtCritical<S>(S);

impl<S: Statement> Claim for AtCritical<S> {
    from_sheet!(self, self.0.sheet(), trials = TRIALS);

    fn schema(&self) -> Schema {
        schema()
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let mut hypotheses = hypotheses(params);
        hypotheses.extend(self.0.more_hypotheses(params));
        hypotheses
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        draw(params, streams)?.map_or_else(|| Ok(none()), |point| self.0.outcome_at(point, params))
    }
}

/// The parameter n.
fn dim() -> Spec {
    DIM.meaning("dimension of the inputs' law").or(3)
}

fn generator(streams: &Streams) -> Generator {
    streams.part("critical", 0)
}

/// The parameters of a random critical point.
fn schema() -> Schema {
    vec![dim(), LAW.or("student"), ACTIVATION.or("relu")]
}

/// The hypotheses of statements on critical points: a homogeneous activation, and a law that has some.
fn hypotheses(params: &Params) -> Vec<Hypothesis> {
    let exists = match params.get(ACTIVATION) {
        "linear" => false,
        "absolute" => true,
        _ => params.get(LAW) == "student",
    };
    let printed = "there is a critical point: none for linear φ, nor for ReLU and log-concave laws";
    vec![homogeneous(params), met("critical point", printed, exists)]
}

/// A random critical point, if there is one with the ρ_- that was drawn.
fn draw(params: &Params, streams: &Streams) -> Result<Option<CriticalPoint>> {
    let mut rng = generator(streams);
    let slopes = activation(params)?.slopes().unwrap_or((0.0, 1.0));
    let (nu, minus) = falling(params.get(ACTIVATION));
    let nu = rng.random_range(nu);
    let radial = match params.get(LAW) {
        "gaussian" => Radial::Gaussian,
        "ball" => Radial::Ball,
        _ => Radial::Student { nu },
    };
    let (minus, length) = (rng.random_range(minus), rng.random_range(0.4..2.5));
    Ok(CriticalPoint::new(Isotropic::new(radial, params.get(DIM))?, slopes, minus, length).ok())
}

/// Rates of (v along μ, v across, ξ) in the layer's field, x̄_+ on the first axis, with θ_1, θ_2 = `thetas`(r, |v|).
fn layer_rate(point: &CriticalPoint, thetas: impl Fn(f64, f64) -> (f64, f64), x: [f64; 3]) -> [f64; 3] {
    let length = f64::hypot(x[0], x[1]);
    let (theta1, theta2) = thetas(x[0] * point.distance() + x[2], length);
    let (theta1_m, theta2_m) = thetas(x[2], length);
    let along = (theta2 - point.weight * theta2_m) / length;
    [theta1 * point.distance() + along * x[0], along * x[1], theta1 - point.weight * theta1_m]
}

/// The derivative of `rate` by coordinate `axis` at `x`, by five-point differences of step `h`.
fn derivative<const N: usize, const M: usize>(
    rate: impl Fn([f64; N]) -> [f64; M],
    x: [f64; N],
    axis: usize,
    h: f64,
) -> [f64; M] {
    let shifted = |i: f64| {
        let mut x = x;
        x[axis] += i * h;
        rate(x)
    };
    let (a, b, c, d) = (shifted(1.0), shifted(-1.0), shifted(2.0), shifted(-2.0));
    std::array::from_fn(|i| (8.0 * (a[i] - b[i]) - (c[i] - d[i])) / (12.0 * h))
}

/// The outcome of a trial that finds no critical point.
fn none() -> Outcome {
    Outcome::uninformative("no critical point", Witness::new())
}

/// Degrees of freedom of Student's law and values of ρ_- for which F/θ_1 falls, so that there is a ρ_+.
fn falling(activation: &str) -> (ops::Range<f64>, ops::Range<f64>) {
    match activation {
        // Slope 0.1 below 0: at ν = 1.5 it falls from -0.73 to -0.16, for heavier tails on more; nearer to
        // ν = 1, where the mean of |t| diverges, the definition's quadrature loses its digits.
        "leaky-relu" => (1.4..1.5, -0.65..-0.25),
        // From 0 to 1.1 for the Gaussian, 1.27 for ν = 3; for the ball to about half its radius.
        "absolute" => (1.5..4.0, 0.1..0.4),
        _ => (1.5..4.0, -6.0..-3.0),
    }
}
