//! The first instability of the uniform law on the circle: growth rates by Bessel functions, and the fastest mode.

use crate::quantities::{BETA, MODE, MODEL, TOKENS, closed};
use crate::setting::{model, seconds};
use crate::theory::modes;
use attnlab_lab::prelude::*;
use attnlab_theory::particles::{Normalisation, Particles};
use ndarray::Array2;
use rand::RngExt;
use std::f64::consts::TAU;

/// The growth rate of a mode.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    variant: Variant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Variant {
    #[default]
    Genuine,
    /// The mutant: the first power of k.
    FirstPower,
    /// The mutant: I_{k+1} for I_k.
    NextOrder,
    /// The mutant: without 1/I_0 (SA), with it (USA).
    OtherModel,
    /// The mutant: larger by 1/1000.
    Thousandth,
}

/// Step of the difference in radians over 1 + √β + k: its square is the relative error, with a factor of 1/6 of the third
/// derivative; rounding over it is 1e-11.
const STEP: f64 = 3e-5;

/// Relative error of the rate: that of the difference, and the lattice's in place of the uniform law, e^{−n²/(2β)} and less.
const TOLERANCE: f64 = 1e-6;

impl Claim for Growth {
    fn sheet(&self) -> &'static Sheet {
        sheet!("cluster.circle_modes")
    }

    fn schema(&self) -> Schema {
        vec![
            MODEL.or("sa"),
            BETA.within(closed(0.05, 200.0)).or(8.0),
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

    fn default_trials(&self, _params: &Params) -> u64 {
        8
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
            let at: Vec<f64> = (0..n).map(|j| place(j) + h * shape[j]).collect();
            let tokens = Array2::from_shape_fn((2, n), |(c, j)| if c == 0 { at[j].cos() } else { at[j].sin() });
            let v = law.velocity(tokens.view())?;
            Ok((0..n).map(|j| v[[1, j]] * at[j].cos() - v[[0, j]] * at[j].sin()).collect())
        };
        let (forth, back) = (angular(h)?, angular(-h)?);
        let slope = |j: usize| (forth[j] - back[j]) / (2.0 * h);
        let along: f64 = (0..n).map(|j| slope(j) * shape[j]).sum();
        let found = along / shape.iter().map(|s| s * s).sum::<f64>();
        let expected = match self.variant {
            Variant::Genuine => modes::rate(model, beta, k),
            Variant::FirstPower => modes::rate(model, beta, k) / k as f64,
            Variant::NextOrder => modes::rate(model, beta, k + 1) * (k as f64 / (k + 1) as f64).powi(2),
            Variant::OtherModel => {
                let other = match model {
                    Normalisation::Softmax => Normalisation::Uniform,
                    Normalisation::Uniform => Normalisation::Softmax,
                };
                modes::rate(other, beta, k)
            }
            Variant::Thousandth => 1.001 * modes::rate(model, beta, k),
        };
        Ok(Outcome::Gap {
            lhs: found / expected,
            rhs: 1.0,
            tol: TOLERANCE,
            relation: Relation::Equal,
            witness: witness! { "rate" => found, "formula" => expected },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let variant = |name, variant| Mutant::new(name, Growth { variant });
        vec![
            variant("first-power", Variant::FirstPower),
            variant("next-order", Variant::NextOrder),
            variant("other-model", Variant::OtherModel),
            variant("thousandth", Variant::Thousandth),
        ]
    }
}

/// The fastest mode.
#[derive(Clone, Copy, Debug)]
pub struct Fastest {
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Within 1 of √(2β).
    Printed,
    /// The mutant: within 1 of √β.
    Beta,
    /// The mutant: within 1/2 of √(2β).
    Half,
    /// k(k − 1) < 2β < k(k + 1) + 1/2.
    Sharp,
    /// The mutant: 2β < k(k + 1) + 1/4.
    Quarter,
}

impl Fastest {
    /// As printed.
    pub const PRINTED: Self = Fastest { form: Form::Printed };
    /// Sharper.
    pub const SHARP: Self = Fastest { form: Form::Sharp };
}

/// Factor over which β is drawn, log-uniformly, above the parameter.
const SPREAD: f64 = 10.0;

impl Claim for Fastest {
    fn sheet(&self) -> &'static Sheet {
        match self.form {
            Form::Sharp | Form::Quarter => sheet!("cluster.fastest_mode_sharp"),
            _ => sheet!("cluster.fastest_mode_near"),
        }
    }

    fn schema(&self) -> Schema {
        vec![BETA.within(closed(1e-3, 1e5)).or(1.0)]
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        200
    }

    fn seconds(&self, params: &Params) -> f64 {
        // A ratio takes about √(46 β) steps, and there are √(2β) of them.
        1e-7 * (1.0 + params.get(BETA) * SPREAD)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let draw: f64 = streams.part("beta", 0).random();
        let beta = params.get(BETA) * SPREAD.powf(draw);
        let mode = modes::fastest(beta) as f64;
        let near = |to: f64, by: f64| (mode - to).abs() < by;
        let sharp = |over: f64| mode * (mode - 1.0) < 2.0 * beta && 2.0 * beta < mode * (mode + 1.0) + over;
        let holds = match self.form {
            Form::Printed => near((2.0 * beta).sqrt(), 1.0),
            Form::Beta => near(beta.sqrt(), 1.0),
            Form::Half => near((2.0 * beta).sqrt(), 0.5),
            Form::Sharp => sharp(0.5),
            Form::Quarter => sharp(0.25),
        };
        Ok(Outcome::Event {
            holds,
            witness: witness! { "beta" => beta, "mode" => mode, "root_of_2_beta" => (2.0 * beta).sqrt() },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let form = |name, form| Mutant::new(name, Fastest { form });
        match self.form {
            Form::Sharp | Form::Quarter => vec![form("quarter", Form::Quarter).with(BETA, 3.0)],
            _ => vec![form("beta", Form::Beta).with(BETA, 10.0), form("half", Form::Half)],
        }
    }
}
