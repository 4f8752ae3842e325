//! Theorem 6.9: uniform tokens in high dimension follow the equiangular curve. As printed, at the start, and as a law.

use crate::quantities::{BETA, DIM, MODEL, TIME, TOKENS};
use crate::setting::{flow, model, seconds, uniform};
use crate::theory::caps;
use crate::theory::equiangular::Equiangular;
use attnlab_core::linalg::symmetric_eigen;
use attnlab_lab::prelude::*;
use attnlab_theory::particles::{Normalisation, Particles, cosines, of_state, to_state};
use ndarray::{Array2, Axis};

/// The probability of the theorem.
#[derive(Serialize, Deserialize)]
pub struct Concentration {
    /// Flag: at t = 0 alone, with probability at least 1 − n(n − 1)/d², by the sheet that it bears.
    at_start: bool,
    /// Factor of √(log d/d).
    factor: f64,
    /// Flag of a mutant: with probability at least 9/10 within √(log d/d) at all times.
    no_constants: bool,
}

impl Concentration {
    /// With probability at least 1 − 2n²d^{−1/64} within 2c(β)^{nt}√(log d/d), as printed.
    pub const PRINTED: Self = Concentration { at_start: false, factor: 2.0, no_constants: false };
    /// At the start.
    pub const START: Self = Concentration { at_start: true, ..Self::PRINTED };

    fn bound(&self, params: &Params, t: f64) -> f64 {
        let d = params.real(DIM);
        let scale = (d.ln() / d).sqrt();
        if self.no_constants {
            return scale;
        }
        let growth = match self.at_start {
            true => 1.0,
            false => (10.0 * params.get(BETA).max(1.0) * params.real(TOKENS) * t).exp(),
        };
        self.factor * growth * scale
    }
}

/// Computes the largest distance of an inner product from `gamma`.
fn farthest(tokens: &Array2<f64>, gamma: f64) -> Result<f64> {
    let gram = cosines(tokens.view())?;
    Ok(gram.indexed_iter().filter(|((i, j), _)| i != j).map(|(_, g)| (g - gamma).abs()).fold(0.0, f64::max))
}

impl Claim for Concentration {
    from_sheet!(self, if self.at_start { sheet!("cluster.theorem6_9_start") } else { sheet!("cluster.theorem6_9") });

    fn schema(&self) -> Schema {
        let (n, d) = (TOKENS.within(Domain::Whole(2, 64)).or(8), DIM.within(Domain::Whole(2, 2048)).or(128));
        if self.at_start {
            return vec![n, d];
        }
        vec![n, d, BETA.within(Domain::closed(0.0, 6.0)).or(1.0), TIME.within(Domain::left_open(0.0, 100.0)).or(2.0)]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let (n, d) = (params.real(TOKENS), params.real(DIM));
        match self.at_start {
            false => vec![],
            true => vec![Hypothesis::new("high dimension", "d^2 > n(n-1)", d * d / (n * (n - 1.0)) - 1.001)],
        }
    }

    fn promise(&self, params: &Params) -> Promise {
        let (n, d) = (params.real(TOKENS), params.real(DIM));
        match (self.at_start, self.no_constants) {
            (true, _) => Promise::FailsAtMost(n * (n - 1.0) / (d * d)),
            (false, true) => Promise::AtLeast(0.9),
            (false, false) => Promise::AtLeast(1.0 - 2.0 * n * n * d.powf(-1.0 / 64.0)),
        }
    }

    fn computed(&self, params: &Params) -> Option<Computed> {
        if !self.at_start {
            return None;
        }
        let n = params.real(TOKENS);
        let pair = caps::beyond(params.get(DIM), self.bound(params, 0.0));
        Some(Computed {
            // Relative rounding of the incomplete beta function.
            failure: Bracket::new(pair, 0.5 * n * (n - 1.0) * pair).widened(1e-9),
            how: "the share of two caps for one pair, a union bound over all pairs",
        })
    }

    fn default_trials(&self, params: &Params) -> u64 {
        match self.at_start {
            true if params.get(DIM) * params.get(TOKENS) <= 10_000 => 400,
            true => 100,
            false => 40,
        }
    }

    fn seconds(&self, params: &Params) -> f64 {
        let steps = if self.at_start { 1.0 } else { 60.0 + 4.0 * params.get(TIME) };
        seconds(steps, params.get(TOKENS), params.get(DIM))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (n, d) = (params.get(TOKENS), params.get(DIM));
        let start = uniform(d, n, &mut streams.part("tokens", 0))?;
        let mut deviations = vec![(0.0, farthest(&start, 0.0)?)];
        if !self.at_start {
            let (beta, end) = (params.get(BETA), params.get(TIME));
            let law = Equiangular { model: Normalisation::Softmax, n, beta };
            let times = [0.25 * end, 0.5 * end, end];
            let field = Particles::new(beta, law.model).flow(n, d)?;
            let path = flow().within(1e-7).run(&field, &to_state(start.view()), &times)?;
            for ((state, deficit), t) in path.states.iter().zip(law.deficit(&times)?).zip(times) {
                deviations.push((t, farthest(&of_state(state, n)?, 1.0 - deficit)?));
            }
        }
        let broken = deviations.iter().find(|(t, gap): &&(f64, f64)| *gap > self.bound(params, *t));
        let (t, gap) = *broken.unwrap_or(&deviations[0]);
        Ok(Outcome::Event {
            holds: broken.is_none(),
            witness: witness! { "t" => t, "largest_deviation" => gap, "bound" => self.bound(params, t) },
        })
    }
}

/// The mean squared deviation as a law.
#[derive(Serialize, Deserialize)]
pub struct Deviation {
    /// Flag of a mutant: deviations neither grow nor shrink.
    constant: bool,
    /// Flag of a mutant: the row sums of the deviations count like the rest.
    no_rows: bool,
    /// Factor of V(t).
    factor: f64,
}

impl Deviation {
    /// V(t)/d.
    pub const DERIVED: Self = Deviation { constant: false, no_rows: false, factor: 1.0 };
}

/// Share by which the mean over draws may differ from V/d: see the sheet.
const BAND: f64 = 0.15;

/// 1 − γ at which a trial ends: later deviations are of the size of the integrator's errors.
const CLOSED: f64 = 1e-3;

/// Largest size of the deviations relative to the scale over which the motion changes: its square is the size of the next
/// order.
const SMALL: f64 = 0.1;

/// Least d over n²(1 + β)².
const HIGH: f64 = 2.0;

impl Claim for Deviation {
    from_sheet!("cluster.deviation_law");

    fn schema(&self) -> Schema {
        vec![
            MODEL.or("sa"),
            TOKENS.within(Domain::Whole(2, 24)).or(6),
            BETA.within(Domain::closed(0.0, 3.0)).or(1.0),
            TIME.within(Domain::left_open(0.0, 20.0)).or(1.5),
            DIM.within(Domain::Whole(2, 8192)).or(1000),
        ]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let (n, beta) = (params.real(TOKENS), params.get(BETA));
        let needed = HIGH * (n * (1.0 + beta)).powi(2);
        let printed = "d large [here: d >= 2 n^2 (1 + beta)^2]";
        let share = self.share(params).unwrap_or(f64::INFINITY);
        vec![
            Hypothesis::new("high dimension", printed, params.real(DIM) / needed - 1.0),
            Hypothesis::new(
                "small deviations",
                "[here: (V/d)^(1/2) (1 + beta (1 - gamma)) is a tenth of 1 - gamma at most]",
                SMALL - share,
            ),
        ]
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(1.0 - BAND, 1.0 + BAND)
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // 4.4 standard errors are to fit into three quarters of the band.
        let needed = (4.4 / (0.75 * BAND)).powi(2);
        (needed * self.scatter(params).unwrap_or(2.0)).ceil().max(100.0) as u64
    }

    fn seconds(&self, params: &Params) -> f64 {
        2e-4 + seconds(30.0, params.get(TOKENS), params.get(TOKENS))
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (law, t) = self.law(params)?;
        let (n, d) = (law.n, params.get(DIM));
        // The motion stays in the span of the tokens.
        let start = coordinates(&uniform(d, n, &mut streams.part("tokens", 0))?)?;
        let field = Particles::new(law.beta, law.model).flow(n, n)?;
        let path = flow().within(1e-9).run(&field, &to_state(start.view()), &[t])?;
        let gamma = 1.0 - law.deficit(&[t])?[0];
        let gram = cosines(of_state(path.end(), n)?.view())?;
        let sum: f64 = gram.indexed_iter().filter(|((i, j), _)| i < j).map(|(_, g)| (g - gamma).powi(2)).sum();
        let mean = sum / (0.5 * (n * (n - 1)) as f64);
        let value = d as f64 * mean / self.variance(&law, t)?;
        Ok(Outcome::Value { value, witness: witness! { "mean_squared_deviation" => mean, "gamma" => gamma } })
    }
}

impl Deviation {
    /// Returns the law of the parameters, and the time at which a trial ends.
    fn law(&self, params: &Params) -> Result<(Equiangular, f64)> {
        let law = Equiangular { model: model(params)?, n: params.get(TOKENS), beta: params.get(BETA) };
        Ok((law, params.get(TIME).min(law.time_to(CLOSED)?)))
    }

    /// Computes the size of the deviations relative to the scale over which the motion changes.
    fn share(&self, params: &Params) -> Result<f64> {
        let (law, t) = self.law(params)?;
        let deficit = law.deficit(&[t])?[0];
        let deviation = (law.deviation(&[t])?[0] / params.real(DIM)).sqrt();
        Ok(deviation * (1.0 + law.beta * deficit) / deficit)
    }

    /// Computes the relative variance of the mean square over pairs: 2 Σ m g⁴/(Σ m g²)² over the three symmetries of
    /// multiplicity m.
    fn scatter(&self, params: &Params) -> Result<f64> {
        let (law, t) = self.law(params)?;
        let n = law.n as f64;
        let [common, rows, rest] = law.growth(&[t])?[0];
        if law.n == 2 {
            return Ok(2.0);
        }
        let modes = [(1.0, common), (n - 1.0, rows), (0.5 * n * (n - 3.0), rest)];
        let sum = |power: i32| modes.iter().map(|(m, g): &(f64, f64)| m * g.powi(power)).sum::<f64>();
        Ok(2.0 * sum(4) / sum(2).powi(2))
    }

    /// Computes the claimed V(t).
    fn variance(&self, law: &Equiangular, t: f64) -> Result<f64> {
        if self.constant {
            return Ok(1.0);
        }
        if self.no_rows {
            let [_, _, rest] = law.growth(&[t])?[0];
            return Ok(rest * rest);
        }
        Ok(self.factor * law.deviation(&[t])?[0])
    }
}

/// Computes coordinates (n, n) of n tokens (d, n) in their span: the square root of their Gram matrix.
fn coordinates(tokens: &Array2<f64>) -> Result<Array2<f64>> {
    let (values, axes) = symmetric_eigen(tokens.t().dot(tokens).view())?;
    // An eigenvalue 0 may round to a negative one.
    let roots = values.mapv(|v| v.max(0.0).sqrt());
    Ok(axes.t().to_owned() * &roots.insert_axis(Axis(1)))
}
