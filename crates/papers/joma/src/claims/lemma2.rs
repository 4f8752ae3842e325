//! Lemma 2: the rate of a node under uniform attention, against the layer on drawn inputs.

use super::setting::activation;
use crate::dynamics::{Attention, Backpropagated, Training};
use crate::quantities::{ACTIVATION, DRAWN_INPUTS, INPUT_DIM, LENGTH};
use crate::theory::{Activation, Isotropic, Radial};
use attnlab_core::linalg::normal_matrix;
use attnlab_core::rng::Generator;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::VectorField;
use ndarray::{Array1, Array2};
use rand::RngExt;

/// The rate (42), (43) of a node on a mixture, printed and corrected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lemma2 {
    /// The claim whose sheet it bears: for a mutant, the one that it belongs to.
    claim: Says,
    says: Says,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    Printed,
    Corrected,
    /// The mutant: without the term along the weight.
    NoSecond,
}

impl Lemma2 {
    const fn genuine(says: Says) -> Self {
        Lemma2 { claim: says, says }
    }
    /// Eqs. (42), (43) as printed.
    pub const PRINTED: Self = Self::genuine(Says::Printed);
    /// Eqs. (42), (43) with Lemma 1 corrected.
    pub const CORRECTED: Self = Self::genuine(Says::Corrected);
}

/// Number of components of the mixture.
const COMPONENTS: usize = 3;
/// Relative distance of the mean from the law that counts as agreement: five times the standard error
/// of all trials at the defaults.
const TOLERANCE: f64 = 0.02;

/// A mixture, a node and its state.
struct Case {
    law: Isotropic,
    centres: Array2<f64>,
    /// P[c = j] and g in component j.
    shares: Vec<f64>,
    gradients: Vec<f64>,
    v: Array1<f64>,
    xi: f64,
}

impl Case {
    fn draw(dim: usize, size: f64, rng: &mut Generator) -> Result<Self> {
        let radial = match rng.random_range(0..3) {
            0 => Radial::Gaussian,
            1 => Radial::Ball,
            // With a finite variance, so that averages of drawn inputs converge.
            _ => Radial::Student { nu: 5.0 },
        };
        let weights: Vec<f64> = (0..COMPONENTS).map(|_| 0.2 + rng.random::<f64>()).collect();
        let sum: f64 = weights.iter().sum();
        let direction = normal_matrix(dim, 1, rng).column(0).to_owned();
        let length = direction.dot(&direction).sqrt();
        Ok(Case {
            law: Isotropic::new(radial, dim)?,
            centres: normal_matrix(dim, COMPONENTS, rng),
            shares: weights.iter().map(|w| w / sum).collect(),
            gradients: (0..COMPONENTS).map(|_| 0.5 + rng.random::<f64>()).collect(),
            v: direction * (size / length),
            xi: rng.random_range(-1.0..1.0),
        })
    }

    /// One input of component j.
    fn input(&self, j: usize, rng: &mut Generator) -> Array1<f64> {
        let n = self.law.dim();
        let x = normal_matrix(n, 1, rng).column(0).to_owned();
        let scale = match self.law.radial() {
            Radial::Gaussian => 1.0,
            Radial::Student { nu } => {
                // ν is whole here: χ² as a sum of squares.
                let normals = normal_matrix(nu as usize, 1, rng);
                (nu / normals.iter().map(|x| x * x).sum::<f64>()).sqrt()
            }
            Radial::Ball => rng.random::<f64>().powf(1.0 / n as f64) / x.dot(&x).sqrt(),
        };
        x * scale + self.centres.column(j)
    }
}

impl Claim for Lemma2 {
    fn sheet(&self) -> &'static Sheet {
        match self.claim {
            Says::Printed => sheet!("joma.lemma2"),
            _ => sheet!("joma.lemma2_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        vec![
            INPUT_DIM.or(4),
            DRAWN_INPUTS.or(4000),
            LENGTH.or(2.0),
            ACTIVATION.or("relu"),
        ]
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        // At |v| = 1 print and correction are the same.
        if self.says == Says::Printed && params.get(LENGTH) == 1.0 {
            return VerdictKind::Supported;
        }
        self.sheet().expected
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        match self.says {
            Says::Printed => vec![],
            // The general θ_i depend on |v| too; the corrected statement is that of homogeneous φ.
            _ => vec![super::lemma1::homogeneous(params)],
        }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (dim, samples) = (params.get(INPUT_DIM), params.get(DRAWN_INPUTS));
        let phi = activation(params)?;
        let mut rng = streams.part("mixture", 0);
        let size = params.get(LENGTH);
        let mut case = Case::draw(dim, size, &mut rng)?;
        // A node that hardly any input reaches has no rate to compare; the truth says which.
        for _ in 0..100 {
            if Self::CORRECTED
                .law(&case, phi)
                .iter()
                .map(|a| a * a)
                .sum::<f64>()
                > 0.01
            {
                break;
            }
            case = Case::draw(dim, size, &mut rng)?;
        }
        let mut rng = streams.part("inputs", 0);
        let (mut x, mut g) = (Array2::zeros((dim, samples)), Array2::zeros((1, samples)));
        for (i, mut column) in x.columns_mut().into_iter().enumerate() {
            let (mut u, mut j) = (rng.random::<f64>(), 0);
            while j + 1 < COMPONENTS && u >= case.shares[j] {
                u -= case.shares[j];
                j += 1;
            }
            column.assign(&case.input(j, &mut rng));
            g[[0, i]] = case.gradients[j];
        }
        // Linear attention with z = 1 is uniform attention: b = x.
        let gradient = Backpropagated::Stationary(g);
        let equal = vec![1.0 / samples as f64; samples];
        let layer = Training::new(Attention::Linear, phi, 1, x, equal, gradient)?;
        let mut state = case.v.to_vec();
        state.push(case.xi);
        state.resize(layer.dim(), 1.0);
        let mut rate = vec![0.0; layer.dim()];
        layer.rate(&state, &mut rate);
        // Off by how much, along the true rate and in its units.
        let (said, truth) = (self.law(&case, phi), Self::CORRECTED.law(&case, phi));
        let dot = |a: &[f64]| a.iter().zip(&truth).map(|(a, t)| a * t).sum::<f64>();
        let value = 1.0 + (dot(&rate[..=dim]) - dot(&said)) / dot(&truth);
        Ok(Outcome::Value {
            value,
            witness: witness! {
                "law" => format!("{:?}", case.law.radial()), "measured" => rate[..=dim], "said" => said,
            },
        })
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(1.0 - TOLERANCE, 1.0 + TOLERANCE)
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        60
    }

    fn memory(&self, params: &Params) -> u64 {
        // Inputs twice, and every sample's scores.
        40 * params.get(INPUT_DIM) as u64 * params.get(DRAWN_INPUTS) as u64
    }

    fn mutants(&self) -> Vec<Mutant> {
        let without = Lemma2 {
            says: Says::NoSecond,
            ..*self
        };
        vec![Mutant::new("no-second-term", without).drawn_as("joma.lemma2_corrected")]
    }
}

impl Lemma2 {
    /// The rate (v̇, ξ̇) as claimed, (dim + 1,).
    fn law(&self, case: &Case, phi: Activation) -> Vec<f64> {
        let length = case.v.dot(&case.v).sqrt();
        let mut said = vec![0.0; case.v.len() + 1];
        for j in 0..COMPONENTS {
            let centre = case.centres.column(j);
            let r = case.v.dot(&centre) + case.xi;
            let a = case.gradients[j] * case.shares[j];
            let (one, two) = match self.says {
                Says::Printed => {
                    let (one, two) = case.law.thetas(phi, r, 1.0);
                    (one / length, two / length.powi(2))
                }
                Says::NoSecond => (case.law.thetas(phi, r, length).0, 0.0),
                Says::Corrected => case.law.thetas(phi, r, length),
            };
            for ((s, x), v) in said.iter_mut().zip(&centre).zip(&case.v) {
                *s += a * (one * x + two * v / length);
            }
            said[case.v.len()] += a * one;
        }
        said
    }
}
