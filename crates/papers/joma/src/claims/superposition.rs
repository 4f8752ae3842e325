//! Eq. (60) and pattern superposition; the objective (9).

use super::setting::{at_most, equal, normal_state, random_layer, sizes};
use crate::dynamics::{Attention, Embeddings, Training};
use crate::quantities::{ACTIVATION, PATTERN_TOKENS};
use attnlab_core::linalg::haar_basis;
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method, VectorField};
use ndarray::{Array1, Array2, s};
use rand::RngExt;

/// One weight that holds two patterns, each behind its own query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Superposition {
    /// Whether it is the printed claim or a mutant of it, by the sheet that it bears.
    printed: bool,
    /// The sign of ξ in the weight.
    sign: f64,
    /// A mutant: embeddings that overlap.
    overlapping: bool,
}

impl Superposition {
    /// The weight with -ξ, as printed.
    pub const PRINTED: Self = Superposition {
        printed: true,
        sign: -1.0,
        overlapping: false,
    };
    /// The weight with +ξ, as Eq. (60) has it.
    pub const CORRECTED: Self = Superposition {
        printed: false,
        sign: 1.0,
        overlapping: false,
    };
}

/// The implicit bias as a share of the least response to a matching context.
const BIAS: f64 = -0.5;

impl Claim for Superposition {
    fn sheet(&self) -> &'static Sheet {
        match self.printed {
            true => sheet!("joma.superposition"),
            false => sheet!("joma.superposition_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        vec![PATTERN_TOKENS.or(12)]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let tokens = params.get(PATTERN_TOKENS);
        let third = tokens / 3;
        let mut rng = streams.part("patterns", 0);
        // Orthonormal embeddings of all tokens and both queries; or ones with inner products .6.
        let all: Array2<f64> = match self.overlapping {
            true => Embeddings::coherent(tokens + 2, 0.6, 0.0)?.context,
            false => haar_basis(tokens + 2, tokens + 2, &mut rng)?,
        };
        let mut w = Array1::<f64>::zeros(all.nrows());
        for i in 0..2 {
            let template: Vec<f64> = (0..third).map(|_| rng.random_range(0.5..1.5)).collect();
            // A context of the pattern responds with a mean of the template.
            let least = template.iter().copied().fold(f64::INFINITY, f64::min);
            for (l, v) in template.iter().enumerate() {
                w.scaled_add(*v, &all.column(i * third + l));
            }
            w.scaled_add(self.sign * BIAS * least, &all.column(tokens + i));
        }
        let mut context = |from: usize, to: usize| {
            let mut b = Array1::<f64>::zeros(all.nrows());
            let weights: Vec<f64> = (from..to).map(|_| rng.random::<f64>() + 0.01).collect();
            let sum: f64 = weights.iter().sum();
            for (l, x) in (from..to).zip(&weights) {
                b.scaled_add(x / sum, &all.column(l));
            }
            b
        };
        let (mut matching, mut unrelated) = (vec![], vec![]);
        for i in 0..2 {
            let query = all.column(tokens + i);
            matching.push(w.dot(&(context(i * third, (i + 1) * third) + query)));
            unrelated.push(w.dot(&(context(2 * third, tokens) + query)));
        }
        let holds = matching.iter().all(|a| *a > 0.0) && unrelated.iter().all(|a| *a < 0.0);
        Ok(Outcome::Event {
            holds,
            witness: witness! { "matching" => matching, "unrelated" => unrelated },
        })
    }

    fn mutants(&self) -> Vec<Mutant> {
        let wrong = Superposition {
            sign: -1.0,
            ..*self
        };
        let overlapping = Superposition {
            sign: 1.0,
            overlapping: true,
            ..*self
        };
        vec![
            Mutant::new("wrong-sign", wrong).drawn_as("joma.superposition"),
            Mutant::new("overlapping", overlapping).drawn_as("joma.superposition_corrected"),
        ]
    }
}

/// The weight of a node along training, Eq. (60).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Eq60 {
    /// The mutant: without the bias.
    without_bias: bool,
}

impl Claim for Eq60 {
    fn sheet(&self) -> &'static Sheet {
        sheet!("joma.eq60")
    }

    fn schema(&self) -> Schema {
        let mut schema = sizes();
        schema.push(ACTIVATION.or("softplus"));
        schema
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        10
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let training = random_layer(Attention::Softmax, params, "cross-entropy", streams)?;
        // More dimensions than embeddings, in directions of their own.
        let tokens = training.tokens();
        let all = haar_basis(tokens + 4, tokens + 1, &mut streams.part("embeddings", 0))?;
        let training = training.with_embeddings(Embeddings {
            context: all.slice(s![.., ..tokens]).to_owned(),
            query: all.column(tokens).to_owned(),
        })?;
        let field = WithBias(&training);
        let start = normal_state(training.dim(), 0.5, streams);
        let mut from = start.clone();
        from.resize(field.dim(), 0.0);
        let path = Flow::new(Method::Tsit45).run(&field, &from, &[3.0])?;
        let end = &path.end()[..training.dim()];
        let bias = &path.end()[training.dim()..];
        let moved = training.weights(end) - training.weights(&start);
        let d = tokens + 4;
        let (mut off, mut size) = (0.0_f64, 0.0_f64);
        for k in 0..training.nodes() {
            let node = |x: &[f64]| Array1::from(x[k * d..(k + 1) * d].to_vec());
            let change = node(end) - node(&start);
            let Embeddings { context, query } = training.embeddings();
            let mut said = context.dot(&moved.column(k));
            if !self.without_bias {
                said.scaled_add(bias[k], query);
            }
            off = off.max((&change - &said).fold(0.0, |m, x: &f64| m.max(x.abs())));
            size = size.max(change.dot(&change).sqrt());
        }
        Ok(equal(
            off / size,
            0.0,
            // The integrator's tolerance over some hundred steps.
            1e-8,
            witness! { "moved" => size, "xi" => bias, "steps" => path.steps },
        ))
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![Mutant::new("without-bias", Eq60 { without_bias: true })]
    }
}

/// The training with ξ_k behind its state.
struct WithBias<'a>(&'a Training);

impl VectorField for WithBias<'_> {
    fn dim(&self) -> usize {
        self.0.dim() + self.0.nodes()
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let (t, size) = (self.0, self.0.dim());
        t.rate(&x[..size], &mut out[..size]);
        let arriving = t.gradients(&x[..size]) * t.slopes(&x[..size]);
        let xi = arriving.dot(&Array1::from(t.probabilities().to_vec()));
        out[size..].copy_from_slice(&xi.to_vec());
    }
}

/// The dynamics (2) as the gradient of the objective (9).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Eq9 {
    /// The mutant: the gradient g of the cross-entropy, which moves, in (9).
    moving: bool,
}

impl Claim for Eq9 {
    fn sheet(&self) -> &'static Sheet {
        sheet!("joma.eq9")
    }

    fn schema(&self) -> Schema {
        let mut schema = sizes();
        schema.push(ACTIVATION.or("softplus"));
        schema
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        12
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let mut rng = streams.part("attention", 0);
        let kinds = [Attention::Linear, Attention::Exp, Attention::Softmax];
        let attention = kinds[rng.random_range(0..3)];
        let gradient = if self.moving {
            "cross-entropy"
        } else {
            "stationary"
        };
        let training = random_layer(attention, params, gradient, streams)?;
        let state = normal_state(training.dim(), 1.0, streams);
        let mut rate = vec![0.0; training.dim()];
        training.rate(&state, &mut rate);
        let objective = |x: &[f64]| match self.moving {
            false => training.objective(x),
            true => {
                let product = training.gradients(x) * training.outputs(x);
                product
                    .sum_axis(ndarray::Axis(0))
                    .dot(&Array1::from(training.probabilities().to_vec()))
            }
        };
        let h = 1e-3;
        let (mut off, mut size) = (0.0_f64, 0.0_f64);
        for i in 0..state.len() {
            let at = |j: f64| {
                let mut x = state.clone();
                x[i] += j * h;
                objective(&x)
            };
            let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
            off = off.max((slope - rate[i]).abs());
            size = size.max(rate[i].abs());
        }
        let witness = witness! { "attention" => format!("{attention:?}"), "largest_rate" => size };
        // h^4 times fifth derivatives.
        Ok(at_most(off / size, 1e-8, 0.0, witness))
    }

    fn mutants(&self) -> Vec<Mutant> {
        vec![Mutant::new("moving", Eq9 { moving: true })]
    }
}
