//! The first instability of the uniform law on the circle: growth rates by Bessel functions, and the fastest mode.

use crate::quantities::{BETA, MODE, MODEL, TOKENS};
use crate::setting::{model, other, seconds};
use crate::theory::modes;
use attnlab_lab::prelude::*;
use attnlab_theory::particles::{Normalisation, Particles};
use ndarray::Array2;
use rand::RngExt;
use std::f64::consts::TAU;

/// The growth rate of a mode.
#[derive(Serialize, Deserialize)]
pub struct Growth {
    /// Power of k.
    power: i32,
    /// Added to the order k of the Bessel function.
    more: usize,
    /// Flag of a mutant: without 1/I_0 (SA), with it (USA).
    other_model: bool,
    /// Factor of the rate.
    factor: f64,
}

impl Growth {
    /// k² I_k(β)/β, over I_0(β) for SA.
    pub const DERIVED: Self = Growth { power: 2, more: 0, other_model: false, factor: 1.0 };

    /// Computes the claimed rate of mode k.
    fn rate(&self, model: Normalisation, beta: f64, k: usize) -> f64 {
        let model = if self.other_model { other(model) } else { model };
        let order = k + self.more;
        let bessel = modes::rate(model, beta, order) / (order as f64).powi(2);
        self.factor * bessel * (k as f64).powi(self.power)
    }
}

/// Step of the difference in radians over 1 + √β + k: its square is the relative error, with a factor of 1/6 of the third
/// derivative; rounding over it is 1e-11.
const STEP: f64 = 3e-5;

/// Relative error of the rate: that of the difference, and the lattice's in place of the uniform law, e^{−n²/(2β)} and less.
const TOLERANCE: f64 = 1e-6;

impl Claim for Growth {
    from_sheet!("cluster.circle_modes", trials = 8);

    fn schema(&self) -> Schema {
        vec![
            MODEL.or("sa"),
            BETA.within(Domain::closed(0.05, 200.0)).or(8.0),
            MODE.within(Domain::Whole(1, 60)).or(4),
            TOKENS.within(Domain::Whole(3, 4000)).or(400),
        ]
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let (beta, k) = (params.get(BETA), params.real(MODE));
        let needed = 4.0 * k + 12.0 * beta.sqrt() + 12.0;
        let rate = modes::rate(Normalisation::Softmax, beta, params.get(MODE));
        vec![
            Hypothesis::new("many tokens", "n → ∞ [here: n >= 4k + 12 √beta + 12]", params.real(TOKENS) / needed - 1.0),
            Hypothesis::new("a rate above rounding", "[here: the rate of SA is above 1e-4]", rate / 1e-4 - 1.0),
        ]
    }

    fn seconds(&self, params: &Params) -> f64 {
        seconds(0.5, params.get(TOKENS), 2)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (model, beta) = (model(params)?, params.get(BETA));
        let (n, k) = (params.get(TOKENS), params.get(MODE));
        let phase = TAU * streams.part("phase", 0).random::<f64>();
        let place = |j: usize| TAU * j as f64 / n as f64;
        let shape: Vec<f64> = (0..n).map(|j| (k as f64 * place(j) + phase).sin()).collect();
        let h = STEP / (1.0 + beta.sqrt() + k as f64);
        let law = Particles::new(beta, model);
        // Angular velocities of tokens at their places plus h times the shape.
        let angular = |h: f64| -> Result<Vec<f64>> {
            let angles: Vec<f64> = (0..n).map(|j| place(j) + h * shape[j]).collect();
            let tokens = Array2::from_shape_fn((2, n), |(c, j)| if c == 0 { angles[j].cos() } else { angles[j].sin() });
            let v = law.velocity(tokens.view())?;
            Ok((0..n).map(|j| v[[1, j]] * angles[j].cos() - v[[0, j]] * angles[j].sin()).collect())
        };
        let (forth, back) = (angular(h)?, angular(-h)?);
        let slope = |j: usize| (forth[j] - back[j]) / (2.0 * h);
        let along: f64 = (0..n).map(|j| slope(j) * shape[j]).sum();
        let rate = along / shape.iter().map(|s| s * s).sum::<f64>();
        let claimed = self.rate(model, beta, k);
        Ok(Outcome::equal(rate / claimed, 1.0, TOLERANCE, witness! { "rate" => rate, "formula" => claimed }))
    }
}

/// The fastest mode.
#[derive(Serialize, Deserialize)]
pub struct Fastest {
    /// Flag: it is the sharper claim or a mutant of it, by the sheet that it bears.
    sharp: bool,
    /// a of |k − √(aβ)| < `within`.
    scale: f64,
    within: f64,
    /// Excess of 2β over k(k + 1), in the sharper form.
    excess: f64,
}

impl Fastest {
    /// Within 1 of √(2β).
    pub const NEAR: Self = Fastest { sharp: false, scale: 2.0, within: 1.0, excess: 0.5 };
    /// k(k − 1) < 2β < k(k + 1) + 1/2.
    pub const SHARP: Self = Fastest { sharp: true, ..Self::NEAR };
}

/// Factor over which β is drawn, log-uniformly, above the parameter.
const SPREAD: f64 = 10.0;

impl Claim for Fastest {
    from_sheet!(
        self,
        if self.sharp { sheet!("cluster.fastest_mode_sharp") } else { sheet!("cluster.fastest_mode_near") },
        trials = 200
    );

    fn schema(&self) -> Schema {
        vec![BETA.within(Domain::closed(1e-3, 1e5)).or(1.0)]
    }

    fn seconds(&self, params: &Params) -> f64 {
        // A ratio takes about √(46 β) steps, and there are √(2β) of them.
        1e-7 * (1.0 + params.get(BETA) * SPREAD)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let draw: f64 = streams.part("beta", 0).random();
        let beta = params.get(BETA) * SPREAD.powf(draw);
        let mode = modes::fastest(beta) as f64;
        let holds = match self.sharp {
            true => mode * (mode - 1.0) < 2.0 * beta && 2.0 * beta < mode * (mode + 1.0) + self.excess,
            false => (mode - (self.scale * beta).sqrt()).abs() < self.within,
        };
        Ok(Outcome::Event {
            holds,
            witness: witness! { "beta" => beta, "mode" => mode, "root_of_2_beta" => (2.0 * beta).sqrt() },
        })
    }
}
