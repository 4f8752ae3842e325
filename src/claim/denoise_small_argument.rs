//! softmax for small arguments: Denoising, Lemma F.1 and Proposition F.2.

use super::denoise_setting::{exponent, problem, spec, value};
use super::*;
use crate::attention::{Phi, softmax_attention};
use crate::linalg::normal_matrix;
use crate::sample::denoising::{Denoising, Dimension, Family, Prompt};
use crate::witness;
use ndarray::{Array1, Array2, Axis};

/// The order of a remainder is measured at these arguments: small enough for the next order to move
/// it by less than a tenth of the band, large enough for rounding not to show (1e-15 against 1e-10
/// for softmax, 1e-11 against 1e-4 for attention, whose leading term is 1/ε).
const SMALL: [f64; 3] = [1e-3, 1e-4, 1e-5];

/// A measured order and the printed one agree within this; orders are whole numbers.
const ORDER_BAND: f64 = 0.05;

/// softmax(βv) to second order in β.
#[derive(Clone, Copy, Debug)]
pub struct LemmaF1 {
    /// Order that the remainder is said to have.
    order: f64,
    /// The mutant: without the mean of v.
    uncentred: bool,
}

impl Default for LemmaF1 {
    fn default() -> Self {
        LemmaF1 {
            order: 2.0,
            uncentred: false,
        }
    }
}

impl Claim for LemmaF1 {
    fn card(&self) -> Card {
        Card {
            id: "denoise.lemma_f1",
            paper: Paper::Denoising,
            equation: "Lemma F.1",
            title: "softmax for small arguments, with a remainder of second order",
            statement: "As $\\beta \\to 0$, $\\mathrm{softmax}(\\beta v) = \\frac1L(\\mathbb{1} + \\beta(v - \
                        \\bar v\\mathbb{1}) + O(\\beta^2))$.",
            kind: Kind::Law,
            expected: VerdictKind::Supported,
            corrected: None,
        }
    }

    fn schema(&self) -> Schema {
        vec![spec("L", 50)]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        at_least_three(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let length = params.usize("L");
        let v = normal_matrix(length, 1, &mut streams.part("v", 0));
        let v = v.column(0);
        let mean = if self.uncentred {
            0.0
        } else {
            v.sum() / length as f64
        };
        let remainder = |beta: &f64| {
            let mut p = v.mapv(|x| beta * x).to_vec();
            Phi::Softmax.apply(&mut p);
            let one = |(p, x): (&f64, &f64)| (p * length as f64 - 1.0 - beta * (x - mean)).powi(2);
            p.iter().zip(v).map(one).sum::<f64>().sqrt()
        };
        let errors: Vec<f64> = SMALL.iter().map(remainder).collect();
        Ok(value(
            exponent(&SMALL, &errors),
            witness! { "beta" => SMALL.to_vec(), "remainder" => errors },
        ))
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(self.order - ORDER_BAND, self.order + ORDER_BAND)
    }

    fn mutants(&self) -> Vec<Mutant> {
        let right = LemmaF1::default();
        vec![
            Mutant::new(
                "third",
                "the remainder is of third order",
                LemmaF1 {
                    order: 3.0,
                    ..right
                },
            ),
            Mutant::new(
                "uncentred",
                "the same without the mean of v",
                LemmaF1 {
                    uncentred: true,
                    ..right
                },
            ),
        ]
    }
}

/// Softmax attention contains linear attention: (A.18).
#[derive(Clone, Copy, Debug)]
pub struct PropF2 {
    /// Order that the remainder is said to have.
    order: f64,
    /// The mutant: without centring the keys.
    uncentred: bool,
}

impl Default for PropF2 {
    fn default() -> Self {
        PropF2 {
            order: 1.0,
            uncentred: false,
        }
    }
}

fn sphere(params: &Params) -> Denoising {
    let family = Family::Sphere {
        dim: Dimension::Fixed(params.usize("d")),
        radius: 1.0,
    };
    Denoising {
        context: params.usize("L"),
        // The noise only moves the query, for which the statement holds one by one.
        ..problem(family, params.usize("n"), 0.1)
    }
}

impl Claim for PropF2 {
    fn card(&self) -> Card {
        Card {
            id: "denoise.prop_f2",
            paper: Paper::Denoising,
            equation: "Proposition F.2, Eq. (A.18)",
            title: "Softmax attention contains linear attention, with a remainder of first order",
            statement: "As $\\epsilon \\to 0$, $F(E, (\\frac1\\epsilon W_{PV}, \\epsilon W_{KQ})) = \
                        \\frac1\\epsilon W_{PV}\\bar X + \\frac1L W_{PV} \\sum_t X_t (X_t - \\bar X)^T \
                        W_{KQ}\\tilde X + O(\\epsilon)$.",
            kind: Kind::Law,
            expected: VerdictKind::Supported,
            corrected: Some(
                "Holds; the remainder is $\\epsilon c + O(\\epsilon^2)$ (`denoise.prop_f2_coefficient`) with $c = \\frac{1}{2L} W_{PV} \
                 \\sum_t X_t[(v_t - \\bar v)^2 - \\frac1L\\sum_s (v_s - \\bar v)^2]$, $v_t = \\langle X_t, \
                 W_{KQ}\\tilde X\\rangle$.",
            ),
        }
    }

    fn schema(&self) -> Schema {
        vec![spec("n", 16), spec("d", 8), spec("L", 50)]
    }

    fn validate(&self, params: &Params) -> Result<()> {
        at_least_three(params)?;
        sphere(params).validate()
    }

    fn memory(&self, params: &Params) -> u64 {
        attention_memory(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let expansion = Expansion::draw(params, streams, self.uncentred)?;
        let remainder = |e: &f64| norm(&expansion.remainder(*e));
        let errors: Vec<f64> = SMALL.iter().map(remainder).collect();
        Ok(value(
            exponent(&SMALL, &errors),
            witness! { "epsilon" => SMALL.to_vec(), "remainder" => errors },
        ))
    }

    fn promise(&self, _params: &Params) -> Promise {
        Promise::MeanIn(self.order - ORDER_BAND, self.order + ORDER_BAND)
    }

    fn mutants(&self) -> Vec<Mutant> {
        let right = PropF2::default();
        vec![
            Mutant::new(
                "second",
                "the remainder is of second order",
                PropF2 {
                    order: 2.0,
                    ..right
                },
            ),
            Mutant::new(
                "uncentred",
                "X_t X_t^T in place of X_t (X_t - mean)^T",
                PropF2 {
                    uncentred: true,
                    ..right
                },
            ),
        ]
    }
}

/// The constant of that remainder.
#[derive(Clone, Copy, Debug, Default)]
pub struct PropF2Coefficient {
    /// The mutant: without the factor 1/2.
    whole: bool,
    /// The mutant: without subtracting the mean square.
    uncentred: bool,
}

/// Where the coefficient is read off: the next order is 1e-4 of it, up to constants.
const EPSILON: f64 = 1e-4;
/// Those constants, the ratio of the third to the second cumulant of the scores, are below 100.
const COEFFICIENT_BAND: f64 = 0.01;

impl Claim for PropF2Coefficient {
    fn card(&self) -> Card {
        Card {
            id: "denoise.prop_f2_coefficient",
            paper: Paper::Denoising,
            equation: "Proposition F.2, Eq. (A.18), the remainder",
            title: "The remainder between softmax and linear attention, with its constant",
            statement: "Derived here: the $O(\\epsilon)$ of (A.18) is $\\epsilon c + O(\\epsilon^2)$ with \
                        $c = \\frac{1}{2L} W_{PV} \\sum_t X_t[(v_t - \\bar v)^2 - \\frac1L\\sum_s (v_s - \
                        \\bar v)^2]$, $v_t = \\langle X_t, W_{KQ}\\tilde X\\rangle$.",
            kind: Kind::Law,
            expected: VerdictKind::Supported,
            corrected: None,
        }
    }

    fn schema(&self) -> Schema {
        PropF2::default().schema()
    }

    fn validate(&self, params: &Params) -> Result<()> {
        PropF2::default().validate(params)
    }

    fn memory(&self, params: &Params) -> u64 {
        attention_memory(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let expansion = Expansion::draw(params, streams, false)?;
        let mut coefficient = expansion.coefficient(self.uncentred);
        if self.whole {
            coefficient *= 2.0;
        }
        let found = expansion.remainder(EPSILON) / EPSILON;
        let gap = norm(&(&found - &coefficient)) / norm(&coefficient);
        Ok(Outcome::Gap {
            lhs: gap,
            rhs: 0.0,
            tol: COEFFICIENT_BAND,
            relation: Relation::Equal,
            witness: witness! {
                "relative_gap" => gap,
                "remainder_over_epsilon" => found.to_vec(),
                "coefficient" => coefficient.to_vec(),
            },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let right = PropF2Coefficient::default();
        vec![
            Mutant::new(
                "whole",
                "1/L in place of 1/(2L)",
                PropF2Coefficient {
                    whole: true,
                    ..right
                },
            ),
            Mutant::new(
                "uncentred",
                "without the mean of the squares",
                PropF2Coefficient {
                    uncentred: true,
                    ..right
                },
            ),
        ]
    }
}

/// A prompt with weights, and what (A.18) says of it.
struct Expansion {
    prompt: Prompt,
    w_pv: Array2<f64>,
    w_kq: Array2<f64>,
    /// $W_{PV}\bar X$.
    mean: Array1<f64>,
    /// The second term of (A.18).
    first: Array1<f64>,
    /// $v_t - \bar v$.
    centred: Array1<f64>,
}

impl Expansion {
    fn draw(params: &Params, streams: &Streams, uncentred: bool) -> Result<Self> {
        let (n, length) = (params.usize("n"), params.usize("L") as f64);
        let prompt = sphere(params).draw(streams)?;
        let x = &prompt.context;
        let w_pv = normal_matrix(n, n, &mut streams.part("w_pv", 0));
        let w_kq = normal_matrix(n, n, &mut streams.part("w_kq", 0));
        let v = x.t().dot(&w_kq.dot(&prompt.query));
        let centre = v.sum() / length;
        let centred = v.mapv(|v| v - centre);
        let weights = if uncentred { &v } else { &centred };
        Ok(Expansion {
            mean: w_pv.dot(&x.sum_axis(Axis(1))) / length,
            first: w_pv.dot(&x.dot(weights)) / length,
            prompt,
            w_pv,
            w_kq,
            centred,
        })
    }

    /// What (A.18) leaves out at ε.
    fn remainder(&self, epsilon: f64) -> Array1<f64> {
        let (pv, kq) = (&self.w_pv / epsilon, &self.w_kq * epsilon);
        let (x, query) = (self.prompt.context.view(), self.prompt.query.view());
        let exact = softmax_attention(x, pv.view(), kq.view(), query);
        exact - &self.mean / epsilon - &self.first
    }

    /// c.
    fn coefficient(&self, uncentred: bool) -> Array1<f64> {
        let length = self.centred.len() as f64;
        let mut spread = self.centred.mapv(|v| v * v);
        if !uncentred {
            spread -= spread.sum() / length;
        }
        self.w_pv.dot(&self.prompt.context.dot(&spread)) / (2.0 * length)
    }
}

fn attention_memory(params: &Params) -> u64 {
    sphere(params).memory(1) + 32 * (params.usize("n") as u64).pow(2)
}

fn norm(v: &Array1<f64>) -> f64 {
    v.dot(v).sqrt()
}

/// With one token softmax is constant, and with two it is odd in β: the second order vanishes.
fn at_least_three(params: &Params) -> Result<()> {
    if params.usize("L") >= 3 {
        return Ok(());
    }
    let allowed = "at least 3: for two tokens the terms of second order vanish";
    Err(crate::Error::invalid("L", params.usize("L"), allowed))
}
