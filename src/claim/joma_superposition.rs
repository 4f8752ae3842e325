//! Eq. (60) and pattern superposition; the objective (9).

use super::joma_setting::{activation_spec, at_most, equal, normal_state, random_layer, sizes};
use super::*;
use crate::dynamics::flow::{Flow, Method, VectorField};
use crate::dynamics::joma::{Attention, Embeddings, Training};
use crate::linalg::haar_basis;
use crate::witness;
use ndarray::{Array1, Array2, s};
use rand::RngExt;

/// One weight that holds two patterns, each behind its own query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Superposition {
    corrected: bool,
    /// A mutant: embeddings that overlap.
    overlapping: bool,
}

impl Superposition {
    /// With -ξ, as printed.
    pub const PRINTED: Self = Superposition {
        corrected: false,
        overlapping: false,
    };
    /// With +ξ, as Eq. (60) has it.
    pub const CORRECTED: Self = Superposition {
        corrected: true,
        ..Self::PRINTED
    };
}

/// The implicit bias as a share of the least response to a matching context.
const BIAS: f64 = -0.5;

impl Claim for Superposition {
    fn card(&self) -> Card {
        let printed = Card {
            id: "joma.superposition",
            paper: Paper::Joma,
            equation: "Section E.4, pattern superposition, after Eq. (60)",
            title: "One weight can match two patterns, as printed",
            statement: "If $w = v_{m_1} - \\xi_{m_1}u_{m_1} + v_{m_2} - \\xi_{m_2}u_{m_2}$, then it can match both \
                        pattern 1 and pattern 2 (with the negative biases $\\xi^* < 0$ of Eq. 60: the node is \
                        active for query $m_i$ and a context of pattern i, and inactive for query $m_i$ and an \
                        unrelated context).",
            kind: Kind::Existence,
            expected: VerdictKind::Refuted,
            corrected: Some(
                "With $+\\xi$, as (60) has it (`joma.superposition_corrected`). The node does not tell which of \
                 the two patterns stands behind which query: for query $m_1$ a context of pattern 2 activates \
                 it too.",
            ),
        };
        if !self.corrected {
            return printed;
        }
        Card {
            id: "joma.superposition_corrected",
            title: "One weight can match two patterns",
            statement: "If $w = v_{m_1} + \\xi_{m_1}u_{m_1} + v_{m_2} + \\xi_{m_2}u_{m_2}$ with $\\xi < 0$, the node \
                        is active for query $m_i$ and a context of pattern i, and inactive for query $m_i$ and an \
                        unrelated context.",
            expected: VerdictKind::Supported,
            corrected: None,
            ..printed
        }
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        (!self.corrected).then_some(Discrepancy {
            printed: "The superposed weight has $-\\xi_{m_i}u_{m_i}$ against $+u_m\\xi$ in (60).",
            witness: "With $\\xi < 0$ the printed weight is active for every context of either query.",
            range: "Everywhere.",
            correction: "$+\\xi_{m_i}u_{m_i}$.",
        })
    }

    fn schema(&self) -> Schema {
        vec![Spec::new(
            "tokens",
            Domain::Whole(3, 300),
            12,
            "M_C: a third of them each for pattern 1, pattern 2 and neither",
        )]
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let tokens = params.usize("tokens");
        let third = tokens / 3;
        let mut rng = streams.part("patterns", 0);
        // Orthonormal embeddings of all tokens and both queries; or ones with inner products .6.
        let all: Array2<f64> = match self.overlapping {
            true => Embeddings::coherent(tokens + 2, 0.6, 0.0)?.context,
            false => haar_basis(tokens + 2, tokens + 2, &mut rng)?,
        };
        let mut w = Array1::<f64>::zeros(all.nrows());
        let sign = if self.corrected { 1.0 } else { -1.0 };
        for i in 0..2 {
            let template: Vec<f64> = (0..third).map(|_| rng.random_range(0.5..1.5)).collect();
            // A context of the pattern responds with a mean of the template.
            let least = template.iter().copied().fold(f64::INFINITY, f64::min);
            for (l, v) in template.iter().enumerate() {
                w.scaled_add(*v, &all.column(i * third + l));
            }
            w.scaled_add(sign * BIAS * least, &all.column(tokens + i));
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
        vec![
            Mutant::new("wrong-sign", "with the sign as printed", Self::PRINTED),
            Mutant::new(
                "overlapping",
                "with embeddings whose inner products are 0.6",
                Superposition {
                    overlapping: true,
                    ..Self::CORRECTED
                },
            ),
        ]
    }
}

/// Where training moves a weight: Eq. (60).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Eq60 {
    /// The mutant: without the bias.
    without_bias: bool,
}

impl Claim for Eq60 {
    fn card(&self) -> Card {
        Card {
            id: "joma.eq60",
            paper: Paper::Joma,
            equation: "Section E.4, Eq. (60)",
            title: "A weight moves along the embeddings of tokens and query",
            statement: "$w(t) = w(0) + U_C[v(t) - v(0)] + u_m\\xi(t)$ with $\\xi(t) = \\int_0^t \
                        E_{q=m}[g_{h_k}h'_k] dt$.",
            kind: Kind::Identity,
            expected: VerdictKind::Supported,
            corrected: None,
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = sizes();
        schema.push(activation_spec("softplus"));
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
        vec![Mutant::new(
            "without-bias",
            "without the implicit bias",
            Eq60 { without_bias: true },
        )]
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
    fn card(&self) -> Card {
        Card {
            id: "joma.eq9",
            paper: Paper::Joma,
            equation: "Section E.1, Eq. (9)",
            title: "The dynamics climb the per-node objective",
            statement: "Our Assumption 1 has an equivalent per-hidden node loss: \
                        $\\max_{\\{w_k\\},\\{z_m\\}} E_D[\\sum_k g_{h_k} h_k]$.",
            kind: Kind::Identity,
            expected: VerdictKind::Supported,
            corrected: None,
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = sizes();
        schema.push(activation_spec("softplus"));
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
        vec![Mutant::new(
            "moving",
            "the same with the gradient of the cross-entropy, which is not stationary",
            Eq9 { moving: true },
        )]
    }
}
