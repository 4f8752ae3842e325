//! Theorem 1: the invariants that tie attention logits to the weights of the MLP layer.
//!
//! A trial trains a layer on random data and follows the invariant; where it drifts, the witness gives
//! the share of each assumption. See [`dynamics`](crate::dynamics) for the terms.

use super::lemma1::homogeneous;
use super::setting::*;
use crate::dynamics::{Account, Cause, Form, Run, account};

/// The invariant of one kind of attention.
#[derive(Serialize, Deserialize)]
pub struct Theorem1 {
    misprint: bool,
    attention: Attention,
    /// Factors of the [`Form`].
    squares: f64,
    mean: f64,
    /// Inner product of contextual embeddings, in place of the parameter, by which a mutant breaks an assumption.
    coherence: Option<f64>,
    /// Inner product of the query with each of them, likewise.
    query: Option<f64>,
    /// Step size, likewise.
    step: Option<f64>,
    /// Flag of a mutant: random data.
    random: bool,
}

/// Largest weight or logit, at which training ends: exp attention blows up in finite time.
const MOST: f64 = 3.0;
/// Relative tolerance of the integrator.
const INTEGRATOR: f64 = 1e-12;
/// Largest relative drift that counts as conserved: twice [`INTEGRATOR`] over at most 2000 steps is 4e-9.
const CONSERVED: f64 = 1e-8;
/// Least movement of Σ_k v_k²/2, relative to its largest value: a factor off by CONSERVED / LEAST_MOVED is then seen.
const LEAST_MOVED: f64 = 1e-4;
/// Largest number of steps of gradient descent.
const MOST_STEPS: f64 = 2e4;

impl Theorem1 {
    const fn derived(attention: Attention) -> Self {
        let Form { squares, mean } = Form::DERIVED;
        Theorem1 { misprint: false, attention, squares, mean, coherence: None, query: None, step: None, random: false }
    }
    /// Part (1), linear attention.
    pub const LINEAR: Self = Self::derived(Attention::Linear);
    /// Part (2), exp attention.
    pub const EXP: Self = Self::derived(Attention::Exp);
    /// Part (3), softmax attention, as the theorem prints it.
    pub const SOFTMAX: Self = Theorem1 { misprint: true, mean: 1.0, ..Self::SOFTMAX_CORRECTED };
    /// Part (3) as (18) has it.
    pub const SOFTMAX_CORRECTED: Self = Self::derived(Attention::Softmax);

    fn softmax(&self) -> bool {
        self.attention == Attention::Softmax
    }

    /// Returns `true` if training is on the data of (3).
    fn exact(&self, params: &Params) -> bool {
        self.softmax() && !self.random && params.get(DATA) == "exact"
    }

    /// The layer and the state at its start.
    fn layer(&self, params: &Params, streams: &Streams) -> Result<(Training, Vec<f64>)> {
        let exact = self.exact(params);
        let training = match exact {
            true => exact_layer(params, streams)?,
            false => random_layer(self.attention, params, params.get(BACKPROPAGATED), streams)?,
        };
        let context = self.coherence.unwrap_or(params.get(COHERENCE));
        let query = self.query.unwrap_or(params.get(QUERY_OVERLAP));
        let training = with_coherence(training, context, query)?;
        let start = match exact {
            true => training.zero(),
            // Linear attention does not train from zero.
            false => normal_state(training.zero().len(), 0.5, streams),
        };
        Ok((training, start))
    }

    fn run(&self, params: &Params) -> Run {
        match self.step.unwrap_or(params.get(STEP)) {
            0.0 => Run::Flow(Flow::new(Method::Tsit45).within(INTEGRATOR)),
            step => Run::Descent(step),
        }
    }
}

impl Claim for Theorem1 {
    from_sheet!(
        self,
        match self.attention {
            Attention::Linear => sheet!("joma.theorem1_linear"),
            Attention::Exp => sheet!("joma.theorem1_exp"),
            Attention::Softmax if self.misprint => sheet!("joma.theorem1_softmax"),
            Attention::Softmax => sheet!("joma.theorem1_softmax_corrected"),
        }
    );

    fn schema(&self) -> Schema {
        let (phi, gradient) = if self.softmax() { ("linear", "stationary") } else { ("relu", "positive") };
        let mut schema = layer_schema(phi);
        schema.push(BACKPROPAGATED.or(gradient));
        if self.softmax() {
            schema.push(DATA.or("exact"));
        }
        schema.extend([COHERENCE.or(0.0), QUERY_OVERLAP.or(0.0), STEP.or(0.0), UNTIL.or(4.0)]);
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        let (exact, gradient) = (self.softmax() && params.get(DATA) == "exact", params.get(BACKPROPAGATED));
        let allowed = "must be stationary when data = exact; these data give the gradient";
        require(!exact || gradient == "stationary", BACKPROPAGATED.name, gradient, allowed)?;
        let (step, until) = (params.get(STEP), params.get(UNTIL));
        let least = until / MOST_STEPS;
        let allowed = format!(
            "must be 0 or at least {least}, a {MOST_STEPS}th of until = {until}; more steps take minutes. Choose 0 for \
             the flow, or a smaller until"
        );
        require(step == 0.0 || until / step <= MOST_STEPS, STEP.name, step, allowed)?;
        affordable(params, &[NODES, SAMPLES], MOST_TRAINED)?;
        Embeddings::coherent(params.get(TOKENS), params.get(COHERENCE), params.get(QUERY_OVERLAP)).map(|_| ())
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let [coherence, query, step] = [COHERENCE, QUERY_OVERLAP, STEP].map(|distance| -params.get(distance).abs());
        let orthonormal = "U_C^T U_C = I: minus the inner product of two of them";
        let mut hypotheses = vec![
            Hypothesis::new("orthonormal embeddings", orthonormal, coherence),
            Hypothesis::new("orthogonal query", "U_C^T u_m = 0: minus its largest inner product", query),
            Hypothesis::new("continuous time", "the dynamics of Eqn. 2: minus the step size", step),
        ];
        if self.softmax() {
            hypotheses.push(data_of_3(params));
        }
        hypotheses
    }

    /// Beyond the hypotheses the invariant drifts.
    fn expected(&self, params: &Params) -> VerdictKind {
        match self.misprint || self.hypotheses(params).iter().any(|h| !h.holds) {
            true => VerdictKind::Refuted,
            false => VerdictKind::Supported,
        }
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // Few nodes and samples are dead together in about half of the trials.
        if params.get(NODES) * params.get(SAMPLES) < 6 { 40 } else { 12 }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (training, start) = self.layer(params, streams)?;
        let (until, run) = (params.get(UNTIL), self.run(params));
        let account = account(&training, &start, until, MOST, run, Form { squares: self.squares, mean: self.mean })?;
        if account.weights_moved < LEAST_MOVED {
            let reason = "the weights hardly move: dead nodes, or a short time";
            return Ok(Outcome::uninformative(reason, evidence(&account)));
        }
        Ok(Outcome::equal(account.drift, 0.0, CONSERVED, evidence(&account)))
    }
}

/// The hypotheses of (3) on the data.
fn data_of_3(params: &Params) -> Hypothesis {
    let margin = match params.get(DATA) {
        // The gradient of these data is made for a constant slope h'.
        "exact" => homogeneous(params).margin,
        _ => -1.0,
    };
    Hypothesis::new("data of (3)", "b̄ is constant and E[g h' b b^T] v_k = b̄ E[g h' b]^T v_k for every k", margin)
}

/// A layer on data on which both hypotheses of (3) hold at all times: sample l is the token l alone, with probability
/// p_l, and $g_k = s_k p_l^{-1/2}$. Then b = e_l whatever z, so that b̄ = p; from zero $v_{kl} \propto s_k\sqrt{p_l}$, and
/// $p_l g_{kl} v_{kl}$ is p_l times a constant. φ must have one slope above 0, where all nodes stay.
fn exact_layer(params: &Params, streams: &Streams) -> Result<Training> {
    let (tokens, nodes) = (params.get(TOKENS), params.get(NODES));
    let mut rng = streams.part("exact", 0);
    let p = probabilities(tokens, 0.1, &mut rng);
    let scale: Vec<f64> = (0..nodes).map(|_| 0.1 + rng.random::<f64>()).collect();
    let gradient = Backpropagated::Stationary(Array2::from_shape_fn((nodes, tokens), |(k, l)| scale[k] / p[l].sqrt()));
    Training::new(Attention::Softmax, activation(params)?, nodes, Array2::eye(tokens), p, gradient)
}

/// The drift and the share of each assumption in it.
fn evidence(account: &Account) -> Witness {
    let mut witness = witness! {
        "relative_drift" => account.drift,
        "logits_moved" => account.moved,
        "weights_moved" => account.weights_moved,
        "until" => account.end.0,
        "steps" => account.steps,
        "slides_along_a_kink" => account.slides,
        "unexplained" => account.unexplained,
    };
    if account.shares.iter().any(|s| *s > 0.0) && account.drift > CONSERVED {
        witness.insert("broken_assumption".into(), account.main_cause().name().into());
        for (cause, share) in Cause::ALL.into_iter().zip(account.shares) {
            if share > 0.0 {
                witness.insert(format!("share: {}", cause.name()), share.into());
            }
        }
    }
    witness
}
