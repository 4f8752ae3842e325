//! Theorem 1: the invariants that tie attention logits to the weights of the MLP layer.
//!
//! A trial trains a layer on random data and follows the invariant; where it drifts, the witness gives
//! the share of each assumption. See [`dynamics::joma`](crate::dynamics::joma) for the terms.

use super::joma_setting::{
    GRADIENTS, activation_spec, equal, normal_state, random_layer, sizes, with_coherence,
};
use super::*;
use crate::dynamics::flow::{Flow, Method};
use crate::dynamics::joma::account;
use crate::dynamics::joma::{Account, Attention, Backpropagated, Cause, Form, Run, Training};
use crate::witness;
use ndarray::Array2;
use rand::RngExt;

/// The invariant of one kind of attention.
#[derive(Clone, Copy, Debug)]
pub struct Theorem1 {
    attention: Attention,
    form: Form,
}

/// Training ends when a weight or a logit reaches this: exp attention blows up in finite time.
const MOST: f64 = 3.0;
/// The project's promise for conserved quantities.
const CONSERVED: f64 = 1e-8;

impl Theorem1 {
    /// (1), linear attention.
    pub const LINEAR: Self = Theorem1 {
        attention: Attention::Linear,
        form: Form::DERIVED,
    };
    /// (2), exp attention.
    pub const EXP: Self = Theorem1 {
        attention: Attention::Exp,
        form: Form::DERIVED,
    };
    /// (3), softmax attention, as the theorem prints it.
    pub const SOFTMAX: Self = Theorem1 {
        attention: Attention::Softmax,
        form: Form {
            squares: 0.5,
            mean: 1.0,
        },
    };
    /// The same as (18) has it.
    pub const SOFTMAX_CORRECTED: Self = Theorem1 {
        attention: Attention::Softmax,
        form: Form::DERIVED,
    };

    fn softmax(self) -> bool {
        self.attention == Attention::Softmax
    }

    fn printed(self) -> bool {
        self.softmax() && self.form.mean == 1.0
    }
}

/// What is broken on purpose at these parameters, by name.
fn broken(claim: &Theorem1, params: &Params) -> bool {
    let random = claim.softmax() && params.text("data") == "random";
    let coherent = ["coherence", "query_overlap", "step"].map(|name| params.f64(name));
    random || coherent.iter().any(|x| *x != 0.0)
}

impl Claim for Theorem1 {
    fn card(&self) -> Card {
        let linear = Card {
            id: "joma.theorem1_linear",
            paper: Paper::Joma,
            equation: "Theorem 1 (1), Eq. (14)",
            title: "Linear attention: the squared logits follow the squared weights",
            statement: "Let $v_k := U_C^T w_k$, then the dynamics of Eqn. 2 satisfies the invariants. (1) \
                        For linear attention, $z_m^2(t) = \\sum_k v_k^2(t) + c$.",
            kind: Kind::Identity,
            expected: VerdictKind::Supported,
            corrected: Some(
                "Needs orthonormal contextual embeddings and a query orthogonal to them, and continuous \
                 time. A stationary gradient and a homogeneous activation are not needed: it holds under \
                 the true cross-entropy and for any φ. From zero linear attention never moves: \
                 z = 0, w = 0 is a fixed point, so that the remark on c = 0 says nothing there.",
            ),
        };
        match self.attention {
            Attention::Linear => linear,
            Attention::Exp => Card {
                id: "joma.theorem1_exp",
                equation: "Theorem 1 (2), Eq. (14)",
                title: "Exp attention: the logits are half the squared weights",
                statement: "(2) for exp attention, $z_m(t) = \\frac12\\sum_k v_k^2(t) + c$.",
                corrected: Some(
                    "Needs orthonormal contextual embeddings and a query orthogonal to them, and \
                     continuous time. A stationary gradient and a homogeneous activation are not \
                     needed: it holds under the true cross-entropy and for any φ.",
                ),
                ..linear
            },
            Attention::Softmax if self.printed() => Card {
                id: "joma.theorem1_softmax",
                equation: "Theorem 1 (3)",
                title: "Softmax attention: the invariant of the theorem's text",
                statement: "(3) for softmax attention, if $\\bar b_m := E_{q=m}[b]$ is a constant over time \
                            and $E_{q=m}[\\sum_k g_{h_k} h'_k bb^T] = \\bar b_m E_{q=m}[\\sum_k g_{h_k} h'_k \
                            b]$, then $z_m(t) = \\frac12\\sum_k v_k^2(t) - \\|v_k(t)\\|_2^2 \\bar b_m + c$.",
                expected: VerdictKind::Refuted,
                corrected: Some(
                    "$z_m = \\frac12\\sum_k (v_k^2 - \\|v_k\\|_2^2 \\bar b_m) + c$, (18) of the proof \
                     (`joma.theorem1_softmax_corrected`), under the second hypothesis for every node \
                     by itself (`joma.eq17`).",
                ),
                ..linear
            },
            Attention::Softmax => Card {
                id: "joma.theorem1_softmax_corrected",
                equation: "Theorem 1 (3), Eq. (18)",
                title: "Softmax attention: the invariant of the proof",
                statement: "If $\\bar b_m$ is a constant over time and $E_{q=m}[g_{h_k} h'_k bb^T] v_k = \
                            \\bar b_m E_{q=m}[g_{h_k} h'_k b]^T v_k$ for every k, then $z_m(t) = \\frac12 \
                            \\sum_k (v_k^2(t) - \\|v_k(t)\\|_2^2 \\bar b_m) + c$.",
                corrected: Some(
                    "A constant $\\bar b_m$ forces $\\dot z_m = 0$ (see the documentation of \
                     `dynamics::joma`), so the hypothesis holds only while attention rests. On data of \
                     other kinds (`data=random`) the invariant is an approximation, and the witness \
                     says which hypothesis fails by how much.",
                ),
                ..linear
            },
        }
    }

    fn discrepancy(&self) -> Option<Discrepancy> {
        match self.attention {
            _ if self.printed() => Some(Discrepancy {
                printed: "The second term is $\\|v_k\\|_2^2 \\bar b_m$, without the factor 1/2 and outside the \
                          sum over k, against (17) and (18).",
                witness: "Data on which both hypotheses hold exactly (one token per sample, gradient in \
                          proportion to $p_l^{-1/2}$): attention rests, (18) is conserved to rounding, and \
                          the printed combination moves by as much as its terms.",
                range: "Wherever the weights move.",
                correction: "$\\frac12\\sum_k (v_k^2 - \\|v_k\\|_2^2 \\bar b_m)$. Besides: a constant $\\bar b_m$ \
                             implies $\\dot z_m = 0$, as $0 = \\dot z^T \\dot{\\bar b} = E[\\dot z^T L \\dot z]$ \
                             with $L = \\mathrm{diag}(b) - bb^T$ null on constants alone; so (3) never \
                             describes attention that moves, except approximately.",
            }),
            Attention::Linear => Some(Discrepancy {
                printed: "Under zero-initialization the constant c is 0 (for all three kinds of attention).",
                witness: "At $z = 0$, $w = 0$ linear attention has $b = 0$, so $\\dot v_k = 0$ and \
                          $\\dot z = 0$.",
                range: "Linear attention from zero, under any gradient.",
                correction: "The invariant holds from any start; the remark is true but empty for linear \
                             attention, which does not train from zero.",
            }),
            _ => None,
        }
    }

    fn schema(&self) -> Schema {
        let mut schema = sizes();
        schema.extend([
            activation_spec(if self.softmax() { "linear" } else { "relu" }),
            Spec::new(
                "gradient",
                Domain::Choice(&GRADIENTS),
                if self.softmax() { "stationary" } else { "positive" },
                "back-propagated gradient: fixed normal numbers (stationary, Assumption 1) or their absolute \
                 values (positive: then few flows come to slide along a kink of φ), or that of the \
                 cross-entropy of random labels",
            ),
        ]);
        if self.softmax() {
            schema.push(Spec::new(
                "data",
                Domain::Choice(&["exact", "random"]),
                "exact",
                "exact: both hypotheses hold (one token per sample, the gradient in proportion to \
                 p_l^{-1/2}, zero start); random: neither does",
            ));
        }
        let breaks = |name, domain, doc| Spec::new(name, domain, 0.0, doc);
        schema.extend([
            breaks(
                "coherence",
                Domain::Number {
                    low: 0.0,
                    low_in: true,
                    high: 1.0,
                    high_in: false,
                },
                "inner product of any two contextual embeddings; not 0 breaks an assumption",
            ),
            breaks(
                "query_overlap",
                Domain::Number {
                    low: -1.0,
                    low_in: false,
                    high: 1.0,
                    high_in: false,
                },
                "inner product of the query with every contextual embedding; not 0 breaks an assumption",
            ),
            breaks(
                "step",
                Domain::NON_NEGATIVE,
                "0 for the flow, else the step size of gradient descent",
            ),
            Spec::new("until", Domain::POSITIVE, 4.0, "time of training"),
        ]);
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        if self.softmax()
            && params.text("data") == "exact"
            && params.text("gradient") != "stationary"
        {
            let allowed = "stationary, where data is exact: the gradient is then given";
            return Err(Error::invalid("gradient", params.text("gradient"), allowed));
        }
        crate::dynamics::joma::Embeddings::coherent(
            params.usize("tokens"),
            params.f64("coherence"),
            params.f64("query_overlap"),
        )
        .map(|_| ())
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        if self.printed() || broken(self, params) {
            return VerdictKind::Refuted;
        }
        VerdictKind::Supported
    }

    fn default_trials(&self, _params: &Params) -> u64 {
        10
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let exact = self.softmax() && params.text("data") == "exact";
        let training = if exact {
            exact_layer(params, streams)?
        } else {
            random_layer(self.attention, params, params.text("gradient"), streams)?
        };
        let training = with_coherence(training, params)?;
        let start = match exact {
            true => training.zero(),
            // Linear attention does not train from zero.
            false => normal_state(training.zero().len(), 0.5, streams),
        };
        let run = match params.f64("step") {
            0.0 => Run::Flow(Flow::new(Method::Tsit45).within(1e-12)),
            step => Run::Descent(step),
        };
        let found = account(&training, &start, params.f64("until"), MOST, run, self.form)?;
        Ok(equal(found.drift, 0.0, CONSERVED, evidence(&found)))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let this = *self;
        let other = |squares, mean| Theorem1 {
            form: Form { squares, mean },
            ..this
        };
        let mut mutants = vec![
            Mutant::new(
                "factor",
                "the sum of squares with another factor",
                other(
                    if this.attention == Attention::Exp {
                        1.0
                    } else {
                        0.25
                    },
                    this.form.mean,
                ),
            ),
            Mutant::new(
                "coherent",
                "contextual embeddings with inner products 0.2",
                this,
            )
            .at("coherence", 0.2),
            Mutant::new(
                "query",
                "a query with inner product 0.2 with every contextual embedding",
                this,
            )
            .at("query_overlap", 0.2),
        ];
        if self.softmax() {
            mutants.push(Mutant::new("random", "on random data", this).at("data", "random"));
        } else {
            mutants.push(
                Mutant::new("descent", "under gradient descent of step 0.05", this)
                    .at("step", 0.05),
            );
        }
        mutants
    }
}

/// Data on which both hypotheses of (3) hold at all times: sample l is the token l alone, with probability
/// p_l, and $g_k = s_k p_l^{-1/2}$. Then b = e_l whatever z, so that b̄ = p; from zero $v_{kl} \propto s_k\sqrt{p_l}$, and
/// $p_l g_{kl} v_{kl}$ is p_l times a constant.
fn exact_layer(params: &Params, streams: &Streams) -> Result<Training> {
    let (tokens, nodes) = (params.usize("tokens"), params.usize("nodes"));
    let mut rng = streams.part("exact", 0);
    let weights: Vec<f64> = (0..tokens).map(|_| 0.1 + rng.random::<f64>()).collect();
    let sum: f64 = weights.iter().sum();
    let p: Vec<f64> = weights.iter().map(|w| w / sum).collect();
    let scale: Vec<f64> = (0..nodes).map(|_| 0.1 + rng.random::<f64>()).collect();
    let gradient = Array2::from_shape_fn((nodes, tokens), |(k, l)| scale[k] / p[l].sqrt());
    Training::new(
        Attention::Softmax,
        super::joma_setting::activation(params)?,
        nodes,
        Array2::eye(tokens),
        p,
        Backpropagated::Stationary(gradient),
    )
}

/// The drift and the share of each assumption in it.
fn evidence(found: &Account) -> Witness {
    let mut witness = witness! {
        "relative_drift" => found.drift,
        "logits_moved" => found.moved,
        "until" => found.end.0,
        "steps" => found.steps,
        "slides_along_a_kink" => found.slides,
        "unexplained" => found.unexplained,
    };
    if found.shares.iter().any(|s| *s > 0.0) && found.drift > CONSERVED {
        witness.insert("broken_assumption".into(), found.main_cause().name().into());
        for (cause, share) in Cause::ALL.into_iter().zip(found.shares) {
            if share > 0.0 {
                witness.insert(format!("share: {}", cause.name()), share.into());
            }
        }
    }
    witness
}
