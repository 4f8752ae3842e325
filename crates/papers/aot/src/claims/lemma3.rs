//! Lemma 3, Eq. (30): φ = h∘softmax turns every M_k(θ) into the block-diagonal pattern.
//!
//! The lemma defines M_k(θ) for a $\theta \ge 1$ and states (30) for it, for each θ by itself: the claim is judged at the
//! θ that is given. For large θ it is false on every draw in which some noise column has a positive in-cluster score:
//! the largest of the scores $\theta \langle a_i, e_{j,k} \rangle$ outgrows all others, its weight tends to 1, and
//! passes any τ < 1.
//!
//! For $1 \le \theta \le 3\sqrt{\log N/p}/(8\delta)$, which at the largest δ of (11) is θ ≤ 3, it holds under the
//! printed hypotheses: [`Horizon::break_bound`](crate::theory::Horizon::break_bound) proves it at any given parameters,
//! and the exponent of that bound, $2 - 1/(2b^2)$ in N with $b = \theta\delta\sqrt{p/\log N} \le 3/8$, is below $-3/2$.
//! The printed proof, with θ kept, reaches θ ≤ 4/3 only. The truth is near $b = 0.586$ (`aot.horizon_theta`).

use super::columns::*;
use super::lemma2::DEFAULT_TOKENS;
use super::setting::{hypotheses_theorem1, mixture_schema};
use super::theorem1::{foreseen_by_draws, law_of_breaks};
use crate::quantities::*;
use crate::theory::printed::delta_limit;
use attnlab_lab::claim::verdict;
use attnlab_lab::prelude::*;

/// φ(M_k(θ)) = BlkDiag(0, .., τI, .., 0) for every k.
#[derive(Serialize, Deserialize)]
pub struct Lemma3 {
    /// For all θ from 1 up to the given one, in place of the given one alone.
    bounded: bool,
    /// The noise columns keep τ on the diagonal too.
    identity: bool,
    /// The pattern with τ = `tau_averages`/N, in place of the given τ.
    tau_averages: Option<f64>,
    /// Factor of the given θ.
    theta: f64,
}

impl Lemma3 {
    /// For the given θ ≥ 1, as printed.
    pub fn printed() -> Self {
        Lemma3 { bounded: false, identity: false, tau_averages: None, theta: 1.0 }
    }

    /// For 1 ≤ θ ≤ 3√(log N/p)/(8δ).
    pub fn bounded() -> Self {
        Lemma3 { bounded: true, ..Self::printed() }
    }

    /// The θ at which a trial looks.
    fn theta(&self, params: &Params) -> f64 {
        self.theta * params.get(THETA)
    }

    /// Records the distance of a column of M_k(θ) from the pattern: the largest weight that should be at most τ
    /// and, for a signal column, τ over the weight that should be above it.
    fn record_column(&self, column: &Column, theta: f64, tau: f64, worst: &mut Worst) {
        let signal = column.is_signal();
        let exponent = |(i, x): (usize, &f64)| {
            x * match (signal, column.cluster.contains(&i)) {
                (true, true) => theta * theta,
                (true, false) | (false, true) => theta,
                (false, false) => 1.0,
            }
        };
        let mut weights: Vec<f64> = column.scores.iter().enumerate().map(exponent).collect();
        let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        weights.iter_mut().for_each(|x| *x = (*x - top).exp());
        let sum: f64 = weights.iter().sum();
        for (i, weight) in weights.iter().map(|x| x / sum).enumerate() {
            let in_pattern = i == column.index && (signal || self.identity);
            let excess = if !in_pattern {
                weight / tau
            } else if weight > tau {
                0.0
            } else {
                // Not above τ is broken, equality included.
                (tau / weight).max(1.0 + f64::EPSILON)
            };
            worst.record(excess, column, i);
        }
    }
}

impl Claim for Lemma3 {
    from_sheet!(self, if self.bounded { sheet!("aot.lemma3_bounded") } else { sheet!("aot.lemma3") });

    fn schema(&self) -> Schema {
        let mut schema = mixture_schema(DEFAULT_TOKENS, 2, 1300);
        schema.push(TAU.or(0.55));
        let theta = THETA.within(Domain::right_open(1.0, f64::INFINITY));
        schema.push(if self.bounded {
            theta
                .meaning("the largest factor of the signal")
                .or_from("max(1, 3 sqrt(log(tokens) / dim) / (8 delta))", |p| theta_limit(p).clamp(1.0, 1e6))
        } else {
            theta.meaning("the factor of the signal for which (30) is stated").or(100.0)
        });
        schema.push(COLUMNS.or(8));
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        validate(params)
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let mut hypotheses = hypotheses_theorem1(params);
        if self.bounded {
            let (limit, theta) = (theta_limit(params), params.get(THETA));
            let slack = 4.0 * f64::EPSILON * limit;
            let printed = "theta <= 3 sqrt(log N / p) / (8 delta)";
            hypotheses.push(Hypothesis::new("theta (corrected)", printed, limit + slack - theta));
        }
        hypotheses
    }

    fn promise(&self, params: &Params) -> Promise {
        let (n, k) = (params.real(TOKENS), params.real(CLUSTERS));
        Promise::FailsAtMost((6.0 * k + 2.0) / n + 4.0 * k / (n * n))
    }

    fn computed(&self, params: &Params) -> Option<Computed> {
        if self.identity || self.tau_averages.is_some() {
            return None;
        }
        let (law, theta) = (law_of_breaks(params), self.theta(params));
        let low = law.break_at_least(law.clipped(theta));
        let high = law.break_bound(theta).max(low);
        Some(Computed {
            failure: Bracket::new(low, high).widened(1e-6),
            how: "from above by a union over columns and keys of normal tails, uniform in theta: a sum of \
                  exponentials is at least their number times the exponential of the mean; from below by one \
                  noise column of each head, with Markov's inequality for its normaliser, and by the shortest \
                  signal token of each head",
        })
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        if let Some(foreseen) = verdict::foreseen(self.promise(params), self.computed(params)) {
            return foreseen;
        }
        // By the law, where no bound decides.
        let Promise::FailsAtMost(rate) = self.promise(params) else { return self.sheet().expected };
        let law = law_of_breaks(params);
        let columns = params.get(COLUMNS);
        let of_head = |tokens: usize| if columns == 0 { tokens } else { columns.min(tokens) };
        let [signal, noise] =
            [law.per_cluster(), law.tokens - law.per_cluster()].map(|tokens| (of_head(tokens) * law.clusters) as f64);
        let theta = law.clipped(params.get(THETA));
        let captured = match noise > 0.0 && law.delta > 0.0 && law.tau < 1.0 {
            true => law.lambda(theta) * noise / law.noise_columns(),
            false if law.equal_weights_break() => f64::INFINITY,
            false => 0.0,
        };
        let broken = captured + signal * law.signal_column_break(theta);
        foreseen_by_draws(-(-broken).exp_m1(), rate, self.partial(params), self.default_trials(params))
    }

    fn partial(&self, params: &Params) -> bool {
        // Up to a given θ the breaks are nearly, but not exactly, nested.
        self.bounded && params.get(THETA) > 1.0 || partial(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let theta = self.theta(params);
        let tau = self.tau_averages.map_or(params.get(TAU), |averages| averages / params.real(TOKENS));
        let worst = worst_column(params, Side::Both, streams, |column, worst| {
            self.record_column(column, theta, tau, worst);
        })?;
        Ok(worst.at_most("largest_weight_over_tau", 1.0).noting("theta", theta).noting("tau", tau))
    }

    fn default_trials(&self, params: &Params) -> u64 {
        default_trials(params)
    }

    fn memory(&self, params: &Params) -> u64 {
        // Signal and noise columns: twice as many.
        memory(params).saturating_mul(2)
    }

    fn seconds(&self, params: &Params) -> f64 {
        2.0 * seconds(params)
    }
}

/// 3√(log N/p)/(8δ).
fn theta_limit(params: &Params) -> f64 {
    3.0 * delta_limit(params.real(TOKENS), params.real(DIM)) / params.get(DELTA)
}
