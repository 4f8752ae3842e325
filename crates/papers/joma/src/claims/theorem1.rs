//! Theorem 1: the invariants that tie attention logits to the weights of the MLP layer.
//!
//! A trial trains a layer on random data and follows the invariant; where it drifts, the witness gives
//! the share of each assumption. See [`dynamics`](crate::dynamics) for the terms.

use super::setting::{activation, equal, normal_state, random_layer, sizes, with_coherence};
use crate::dynamics::{
    Account, Attention, Backpropagated, Cause, Embeddings, Form, Run, Training, account,
};
use crate::quantities::{
    ACTIVATION, BACKPROPAGATED, COHERENCE, DATA, NODES, QUERY_OVERLAP, STEP, TOKENS, UNTIL,
};
use attnlab_lab::prelude::*;
use attnlab_theory::dynamics::flow::{Flow, Method};
use ndarray::Array2;
use rand::RngExt;

/// The invariant of one kind of attention.
#[derive(Clone, Copy, Debug)]
pub struct Theorem1 {
    attention: Attention,
    form: Form,
}

/// Largest weight or logit, at which training ends: exp attention blows up in finite time.
const MOST: f64 = 3.0;
/// Largest relative drift that counts as conserved: the integrator's tolerance of 1e-12 over up to 2000 steps,
/// with room.
const CONSERVED: f64 = 1e-8;

impl Theorem1 {
    /// Part (1), linear attention.
    pub const LINEAR: Self = Theorem1 {
        attention: Attention::Linear,
        form: Form::DERIVED,
    };
    /// Part (2), exp attention.
    pub const EXP: Self = Theorem1 {
        attention: Attention::Exp,
        form: Form::DERIVED,
    };
    /// Part (3), softmax attention, as the theorem prints it.
    pub const SOFTMAX: Self = Theorem1 {
        attention: Attention::Softmax,
        form: Form {
            squares: 0.5,
            mean: 1.0,
        },
    };
    /// Part (3) as (18) has it.
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

/// Whether an assumption is broken on purpose at these parameters.
fn broken(claim: &Theorem1, params: &Params) -> bool {
    let random = claim.softmax() && params.get(DATA) == "random";
    let coherent = [COHERENCE, QUERY_OVERLAP, STEP].map(|breaks| params.get(breaks));
    random || coherent.iter().any(|x| *x != 0.0)
}

impl Claim for Theorem1 {
    fn sheet(&self) -> &'static Sheet {
        match self.attention {
            Attention::Linear => sheet!("joma.theorem1_linear"),
            Attention::Exp => sheet!("joma.theorem1_exp"),
            Attention::Softmax if self.printed() => sheet!("joma.theorem1_softmax"),
            Attention::Softmax => sheet!("joma.theorem1_softmax_corrected"),
        }
    }

    fn schema(&self) -> Schema {
        let (phi, gradient) = match self.softmax() {
            true => ("linear", "stationary"),
            false => ("relu", "positive"),
        };
        let mut schema = sizes();
        schema.extend([ACTIVATION.or(phi), BACKPROPAGATED.or(gradient)]);
        if self.softmax() {
            schema.push(DATA.or("exact"));
        }
        schema.extend([
            COHERENCE.or(0.0),
            QUERY_OVERLAP.or(0.0),
            STEP.or(0.0),
            UNTIL.or(4.0),
        ]);
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        if self.softmax()
            && params.get(DATA) == "exact"
            && params.get(BACKPROPAGATED) != "stationary"
        {
            let given = params.get(BACKPROPAGATED);
            let allowed = "must be stationary when data = exact; these data give the gradient";
            return Err(Error::invalid(BACKPROPAGATED.name, given, allowed));
        }
        Embeddings::coherent(
            params.get(TOKENS),
            params.get(COHERENCE),
            params.get(QUERY_OVERLAP),
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
        let exact = self.softmax() && params.get(DATA) == "exact";
        let training = if exact {
            exact_layer(params, streams)?
        } else {
            random_layer(self.attention, params, params.get(BACKPROPAGATED), streams)?
        };
        let training = with_coherence(training, params)?;
        let start = match exact {
            true => training.zero(),
            // Linear attention does not train from zero.
            false => normal_state(training.zero().len(), 0.5, streams),
        };
        let run = match params.get(STEP) {
            0.0 => Run::Flow(Flow::new(Method::Tsit45).within(1e-12)),
            step => Run::Descent(step),
        };
        let found = account(&training, &start, params.get(UNTIL), MOST, run, self.form)?;
        Ok(equal(found.drift, 0.0, CONSERVED, evidence(&found)))
    }

    fn mutants(&self) -> Vec<Mutant> {
        let squares = if self.attention == Attention::Exp {
            1.0
        } else {
            0.25
        };
        let mean = self.form.mean;
        let factor = Theorem1 {
            form: Form { squares, mean },
            ..*self
        };
        let mut mutants = vec![
            Mutant::new("factor", factor),
            Mutant::new("coherent", *self).with(COHERENCE, 0.2),
            Mutant::new("query", *self).with(QUERY_OVERLAP, 0.2),
        ];
        mutants.push(match self.softmax() {
            true => Mutant::new("random", *self).with(DATA, "random"),
            false => Mutant::new("descent", *self).with(STEP, 0.05),
        });
        mutants
    }
}

/// A layer on data on which both hypotheses of (3) hold at all times: sample l is the token l alone, with probability
/// p_l, and $g_k = s_k p_l^{-1/2}$. Then b = e_l whatever z, so that b̄ = p; from zero $v_{kl} \propto s_k\sqrt{p_l}$, and
/// $p_l g_{kl} v_{kl}$ is p_l times a constant.
fn exact_layer(params: &Params, streams: &Streams) -> Result<Training> {
    let (tokens, nodes) = (params.get(TOKENS), params.get(NODES));
    let mut rng = streams.part("exact", 0);
    let weights: Vec<f64> = (0..tokens).map(|_| 0.1 + rng.random::<f64>()).collect();
    let sum: f64 = weights.iter().sum();
    let p: Vec<f64> = weights.iter().map(|w| w / sum).collect();
    let scale: Vec<f64> = (0..nodes).map(|_| 0.1 + rng.random::<f64>()).collect();
    let gradient = Array2::from_shape_fn((nodes, tokens), |(k, l)| scale[k] / p[l].sqrt());
    Training::new(
        Attention::Softmax,
        activation(params)?,
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
