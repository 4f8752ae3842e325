//! Theorem 1 along a run: how far its invariant drifts, and which assumption is to blame.

use super::{Attention, Sample, Training};
use attnlab_core::error::{Error, Result};
use attnlab_theory::dynamics::flow::{Flow, VectorField, Watch, descend};
use ndarray::{Array1, ArrayView1, ArrayViewMut1, Axis};

/// An assumption of Theorem 1; see the [module](super) for the term of the drift that is its.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// U_CᵀU_C = I.
    Context,
    /// U_Cᵀu_m = 0.
    Query,
    /// E[g h' b bᵀ] v_k = b̄ E[g h' b]ᵀ v_k for every node: softmax alone.
    Correlation,
    /// b̄ is constant: softmax alone.
    MeanMoves,
    /// Training is a flow: steps of gradient descent have a length.
    Steps,
}

impl Cause {
    /// All, in the order of the state.
    pub const ALL: [Cause; 5] = [Cause::Context, Cause::Query, Cause::Correlation, Cause::MeanMoves, Cause::Steps];

    /// The assumption in words.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Context => "orthonormal contextual embeddings",
            Cause::Query => "query orthogonal to the context",
            Cause::Correlation => "attention uncorrelated with the gradient at every node",
            Cause::MeanMoves => "constant mean attention",
            Cause::Steps => "continuous time",
        }
    }
}

/// Account of the invariant over one run.
#[derive(Clone, Debug)]
pub struct Account {
    /// The largest |Z - Ẑ - c| over tokens and steps, over the scale: the largest |Z| and Σ_k v_k²/2.
    pub drift: f64,
    /// Largest |z - z(0)|.
    pub moved: f64,
    /// Largest change of Σ_k v_k²/2 over tokens and steps, over the scale.
    pub weights_moved: f64,
    /// The share of the drift of the [derived](Form::DERIVED) form at the end that each cause adds: the
    /// size of its term over the sum of sizes (Euclidean norms); zeros without drift.
    pub shares: [f64; 5],
    /// Distance of the sum of the terms from the drift, over the scale: the error of the integrator; 0 for descent.
    pub unexplained: f64,
    /// End of the run: time, and the state of [`Training`].
    pub end: (f64, Vec<f64>),
    /// Flag: it ended early because the flow came to slide along a kink of φ.
    pub slides: bool,
    /// Steps taken.
    pub steps: usize,
}

impl Account {
    /// The assumption with the largest share of the drift.
    pub fn main_cause(&self) -> Cause {
        Cause::ALL[(0..5).max_by(|a, b| self.shares[*a].total_cmp(&self.shares[*b])).unwrap_or(0)]
    }
}

/// The form that Ẑ is claimed to have: squares Σ_k v_k² - mean b̄_0 Σ_k |v_k|², the second part for softmax alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// Factor of Σ_k v_k².
    pub squares: f64,
    /// Factor of b̄_0 Σ_k |v_k|².
    pub mean: f64,
}

impl Form {
    /// One half each, as (18) has it.
    pub const DERIVED: Form = Form { squares: 0.5, mean: 0.5 };
}

/// Way of training.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// Gradient flow.
    Flow(Flow),
    /// Gradient descent with this step size.
    Descent(f64),
}

/// Trains from `start` to time `until`, or until a weight or logit reaches `most` (flows under exp attention
/// may blow up in finite time), and takes account of the invariant of Theorem 1.
///
/// Where a sample pulls a node below a kink of φ and the others push it back, the flow slides along the
/// kink: (2) then has no solution in the classical sense, steps become as small as the tolerance, and
/// the account ends after the [steps that it can afford](Training::affordable_steps).
///
/// # Errors
/// As [`Flow::watched`] and [`descend`].
pub fn account(training: &Training, start: &[f64], until: f64, most: f64, run: Run, form: Form) -> Result<Account> {
    let field = Accounted { training, mean: training.mean_scores(start) };
    let size = training.dim();
    let first = field.gap(start, form);
    let (mut drift, mut scale, mut moved) = (0.0_f64, 0.0_f64, 0.0_f64);
    // Without the norm, which may cancel the squares.
    let half_squares = Form { squares: 0.5, mean: 0.0 };
    let begin = training.logits(start).to_owned();
    let (first_squares, mut weights_moved) = (field.claimed(start, half_squares), 0.0_f64);
    let (mut last, mut looks) = ((0.0, vec![]), 0);
    let mut look = |t: f64, x: &[f64]| {
        (last, looks) = ((t, x.to_vec()), looks + 1);
        let state = &x[..size];
        let largest = |a: &Array1<f64>| a.fold(0.0_f64, |m, x| m.max(x.abs()));
        drift = drift.max(largest(&(field.gap(state, form) - &first)));
        scale = scale.max(largest(&training.potential(state)));
        let squares = field.claimed(state, half_squares);
        scale = scale.max(largest(&squares));
        weights_moved = weights_moved.max(largest(&(&squares - &first_squares)));
        moved = moved.max(largest(&(&training.logits(state) - &begin)));
    };
    let mut from = start.to_vec();
    from.resize(field.dim(), 0.0);
    let bound = |x: &[f64]| most - x[..size].iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let watch = Watch { event: Some(&bound), step: Some(&mut look), ..Watch::default() };
    let most_steps = training.affordable_steps();
    let path = match run {
        Run::Flow(flow) => {
            Flow { most_steps: flow.most_steps.min(most_steps), ..flow }.watched(&field, &from, &[until], watch)
        }
        Run::Descent(eta) => descend(&field, &from, eta, &[until], watch),
    };
    let (slides, steps) = match &path {
        Ok(path) => (false, path.steps),
        // The start is looked at too.
        Err(Error::NotConverged(_)) if looks > most_steps => (true, looks - 1),
        Err(_) => (false, 0),
    };
    let (time, end) = match path {
        _ if slides => last,
        Ok(path) => (path.event.as_ref().map_or(until, |(t, _)| *t), path.end().to_vec()),
        Err(error) => return Err(error),
    };
    let (state, terms) = end.split_at(size);
    let terms: Vec<Array1<f64>> = terms.chunks(training.tokens()).map(|term| Array1::from(term.to_vec())).collect();
    let total = field.gap(state, Form::DERIVED) - field.gap(start, Form::DERIVED);
    let rest = terms.iter().fold(total, |rest, term| rest - term);
    let (steps_term, unexplained) = match run {
        Run::Descent(_) => (norm(&rest), 0.0),
        Run::Flow(_) => (0.0, norm(&rest) / scale.max(f64::MIN_POSITIVE)),
    };
    let sizes: Vec<f64> = terms.iter().map(norm).chain([steps_term]).collect();
    let sum: f64 = sizes.iter().sum();
    Ok(Account {
        drift: drift / scale.max(f64::MIN_POSITIVE),
        moved,
        weights_moved: weights_moved / scale.max(f64::MIN_POSITIVE),
        shares: std::array::from_fn(|i: usize| if sum > 0.0 { sizes[i] / sum } else { 0.0 }),
        unexplained,
        end: (time, state.to_vec()),
        slides,
        steps,
    })
}

fn norm(a: &Array1<f64>) -> f64 {
    a.dot(a).sqrt()
}

/// The training with the four terms of the drift behind its state, each (M_C,).
struct Accounted<'a> {
    training: &'a Training,
    /// b̄ at the start.
    mean: Array1<f64>,
}

impl Accounted<'_> {
    /// Ẑ.
    fn claimed(&self, state: &[f64], form: Form) -> Array1<f64> {
        let v = self.training.weights(state);
        let mut claimed = v.mapv(|v| form.squares * v * v).sum_axis(Axis(1));
        if self.training.attention == Attention::Softmax {
            let length2: f64 = v.iter().map(|v| v * v).sum();
            claimed.scaled_add(-form.mean * length2, &self.mean);
        }
        claimed
    }

    /// Z - Ẑ.
    fn gap(&self, state: &[f64], form: Form) -> Array1<f64> {
        self.training.potential(state) - self.claimed(state, form)
    }

    /// y ∘ v, less b̄_0 yᵀv for softmax.
    fn along(&self, y: &Array1<f64>, v: ArrayView1<f64>) -> Array1<f64> {
        let mut term = y * &v;
        if self.training.attention == Attention::Softmax {
            term.scaled_add(-y.dot(&v), &self.mean);
        }
        term
    }
}

impl VectorField for Accounted<'_> {
    fn dim(&self) -> usize {
        self.training.dim() + 4 * self.training.tokens()
    }

    fn rate(&self, x: &[f64], out: &mut [f64]) {
        let (t, size) = (self.training, self.training.dim());
        let (state, m) = (&x[..size], t.tokens());
        t.rate(state, &mut out[..size]);
        let v = t.weights(state);
        let samples = t.samples(state);
        let context = &t.embeddings.context;
        let overlap = context.t().dot(&t.embeddings.query);
        let mut terms: [Array1<f64>; 4] = std::array::from_fn(|_| Array1::zeros(m));
        let mean = t.mean_scores(state);
        for k in 0..t.nodes {
            let (mut s_k, mut gamma, v_k) = (Array1::<f64>::zeros(m), 0.0, v.column(k));
            // E[g h' (bᵀv) b].
            let mut mixed = Array1::<f64>::zeros(m);
            for Sample { b, c } in &samples {
                s_k.scaled_add(c[k], b);
                mixed.scaled_add(c[k] * b.dot(&v_k), b);
                gamma += c[k];
            }
            terms[0] -= &self.along(&(context.t().dot(&context.dot(&s_k)) - &s_k), v_k);
            terms[1] -= &self.along(&(&overlap * gamma), v_k);
            if t.attention == Attention::Softmax {
                let inner = s_k.dot(&v_k);
                terms[2] -= &(mixed - &mean * inner);
                terms[3].scaled_add(-inner, &(&mean - &self.mean));
            }
        }
        for (i, term) in terms.iter().enumerate() {
            let from = size + i * m;
            ArrayViewMut1::from(&mut out[from..from + m]).assign(term);
        }
    }
}
