//! Theorem 1 of the attention-only transformer, with the explicit constants of its proof.
//!
//! **As printed**: under (11) and (29), with probability at least 1 - KLN^{-Ω(1)}, every layer
//! multiplies every SNR by exactly 1 + ητ. The union bounds of the proof make that explicit: Lemma 2
//! fails with probability at most 2K/N + 4K/N² + 2/N + 4K/N, and the theorem takes L times that.
//!
//! See [`crate::theory::horizon`] for the first layer that fails, and
//! [`Theorem1Bounded`](super::theorem1_bounded::Theorem1Bounded) for what does hold.
//!
//! **How a trial decides.** With `columns = 0` it looks at every column: the depth horizon of the
//! draw, and up to [`NETWORK_TOKENS`] tokens also the network itself, layer by layer, whose first
//! layer off the rate must be the one that the horizon names. With `columns = m` it looks at m
//! columns of head 0 alone: if one of those leaves the pattern, the rate fails, so a refutation is
//! sound at the price of m columns of scores; a success would speak for the sample only. In both cases
//! [`computed`] brackets the failure probability: from above by [`LawOfBreaks::break_bound`], which supports the
//! theorem for networks of a few layers, from below by [`LawOfBreaks::break_at_least`].
//!
//! **Without noise** (δ = 0, or K = 1) every SNR is infinite before and after a layer; (8) then asks that the
//! signal grows by 1 + ητ and no noise appears. It fails where a token loses its own attention, which for τ ≥ 1/2 is
//! decided at the first layer: [`LawOfBreaks::signal_break_at_least`] and
//! [`LawOfBreaks::signal_matches`] bracket the probability.

mod observed;

pub(super) use observed::observe;
pub use observed::{NETWORK_TOKENS, RATIO_TOL};

use super::setting::{hypotheses_theorem1, mixture, mixture_schema, network_schema, seconds_of_scores};
use crate::quantities::*;
use crate::theory::Horizon as LawOfBreaks;
use attnlab_core::stats::{binomial, binomial_cdf, trials_for_lower_bound};
use attnlab_lab::claim::verdict;
use attnlab_lab::prelude::*;

/// Distance of τ from 1 from which on f32 tells a weight above τ from one below.
const NETWORK_TAU: f64 = 1e-4;

/// Level at which [`foreseen_by_draws`] asks whether trials decide, and the probability with which they must.
const LEVEL: f64 = 0.95;
/// See [`LEVEL`].
const POWER: f64 = 0.99;

/// Theorem 1 and its mutants.
///
/// The factor of one layer that the statement names is (1 + `share` ητ)^`power`, as printed with 1 for both.
#[derive(PartialEq, Serialize, Deserialize)]
pub struct Theorem1 {
    share: f64,
    power: i32,
    /// 1 + η: as if φ did not scale by τ.
    without_tau: bool,
}

impl Default for Theorem1 {
    fn default() -> Self {
        Theorem1 { share: 1.0, power: 1, without_tau: false }
    }
}

impl Theorem1 {
    fn factor(&self, eta: f64, tau: f64) -> f64 {
        if self.without_tau { 1.0 + eta } else { (1.0 + self.share * eta * tau).powi(self.power) }
    }
}

impl Claim for Theorem1 {
    from_sheet!("aot.theorem1");

    fn schema(&self) -> Schema {
        let mut schema = [mixture_schema(200_000, 2, 1300), network_schema(12)].concat();
        schema.push(
            SAMPLED_COLUMNS.or_from("0 (all) up to 20000 tokens, else 300", |p| {
                if p.real(TOKENS) > 20_000.0 { 300.0 } else { 0.0 }
            }),
        );
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        mixture(params).map(|_| ())
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        hypotheses_theorem1(params)
    }

    fn promise(&self, params: &Params) -> Promise {
        Promise::FailsAtMost(promised_failure(params))
    }

    fn computed(&self, params: &Params) -> Option<Computed> {
        (*self == Self::default()).then(|| computed(params, params.get(LAYERS) as u64))
    }

    fn partial(&self, params: &Params) -> bool {
        params.get(SAMPLED_COLUMNS) > 0
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        verdict::foreseen(self.promise(params), self.computed(params)).unwrap_or_else(|| {
            let (failure, rate) = (failure_of_trial(params), promised_failure(params));
            foreseen_by_draws(failure, rate, self.partial(params), self.default_trials(params))
        })
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // At large N one trial takes seconds, and one failure in one already refutes a promise of 0.999 at 95 %.
        if self.partial(params) || params.get(TOKENS) > NETWORK_TOKENS {
            return 3;
        }
        if *self != Self::default() {
            return 10;
        }
        let rate = promised_failure(params);
        let rare = rate < 1.0 && failure_of_trial(params) < 0.01 * rate;
        // Enough to support the promise if none fails.
        let needed = trials_for_lower_bound(1.0 - rate, LEVEL).filter(|_| rare);
        needed.map_or(10, |needed| needed.clamp(10, 200))
    }

    fn memory(&self, params: &Params) -> u64 {
        memory(params)
    }

    fn seconds(&self, params: &Params) -> f64 {
        // Measured: the draws behind one column of each token, of all its scores or of those that are looked at.
        let draws = if self.partial(params) { 1.3e-5 } else { 4.4e-5 };
        let network = if network_tells(params) { params.real(LAYERS) * seconds_of_scores(params, 0.0) } else { 0.0 };
        draws * params.real(TOKENS) + network
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (eta, tau) = (params.get(ETA), params.get(TAU));
        observe(params, streams, params.get(LAYERS) as u64, self.factor(eta, tau), network_tells(params))
    }
}

/// L (2K/N + 4K/N² + 2/N + 4K/N): what the union bounds of the proof leave out.
fn promised_failure(params: &Params) -> f64 {
    let (n, k) = (params.real(TOKENS), params.real(CLUSTERS));
    params.real(LAYERS) * ((6.0 * k + 2.0) / n + 4.0 * k / (n * n))
}

/// Decides whether a trial runs the network too: it is small, and one broken column moves a ratio by at least
/// ητ/N, which f32 resolves.
fn network_tells(params: &Params) -> bool {
    let (tau, n) = (params.get(TAU), params.get(TOKENS));
    let step = params.get(ETA) * tau / n as f64;
    let resolved = step > 5.0 * RATIO_TOL && 1.0 - tau > NETWORK_TAU;
    params.get(SAMPLED_COLUMNS) == 0 && n <= NETWORK_TOKENS && resolved
}

/// The law of breaks at these parameters, with K = 1 and δ = 0 allowed, where only its bounds have a meaning.
pub(super) fn law_of_breaks(params: &Params) -> LawOfBreaks {
    let [tokens, clusters, dim] = [TOKENS, CLUSTERS, DIM].map(|q| params.get(q));
    let (delta, tau) = (params.get(DELTA), params.get(TAU));
    LawOfBreaks { tokens, clusters, dim, delta, tau }
}

/// θ of the last of `layers` updates, (1 + ητ)^(layers - 1).
fn last_theta(params: &Params, layers: u64) -> f64 {
    let growth = (params.get(ETA) * params.get(TAU)).ln_1p();
    (growth * layers.saturating_sub(1) as f64).exp()
}

/// Bracket of the probability that one of `layers` updates is not exact.
pub(super) fn computed(params: &Params, layers: u64) -> Computed {
    /// Relative error of the tails and of the quadrature behind both ends.
    const ROUNDING: f64 = 1e-6;
    let (law, theta) = (law_of_breaks(params), last_theta(params, layers));
    // Any layer's failure is one of the theorem: from the layer on at which all has broken, the bound stays.
    // A token that loses its own attention at the first layer may win it back later.
    let low = law.break_at_least(law.clipped(theta)).max(law.signal_break_at_least(1.0));
    Computed {
        failure: Bracket::new(low, law.break_bound(theta).max(low)).widened(ROUNDING),
        how: "from above by a union over columns and keys of normal tails, uniform in theta up to the last \
              layer; from below by one noise column of each head, with Markov's inequality for its normaliser, \
              and by the shortest signal token of each head",
    }
}

/// The probability, by the law, that one of `layers` updates breaks a column that a trial sees: one of `columns`
/// noise columns of head 0, or any column for 0.
pub(super) fn shown_failure(params: &Params, layers: u64, columns: usize) -> f64 {
    let law = law_of_breaks(params);
    if law.equal_weights_break() {
        return 1.0;
    }
    let noisy = law.clusters >= 2 && law.delta > 0.0 && law.tau < 1.0;
    let captured = if noisy { law.lambda(law.clipped(last_theta(params, layers))) } else { 0.0 };
    if columns > 0 {
        let share = (columns as f64 / law.noise_columns()).min(1.0);
        return if noisy { -(-share * captured).exp_m1() } else { 0.0 };
    }
    // For τ ≥ 1/2 a signal column breaks at the first layer or not at all.
    let signal = law.tokens as f64 * law.signal_column_break(1.0);
    law.signal_break_at_least(1.0).max(-(-captured - signal).exp_m1())
}

/// The same at the layers and columns of the parameters.
fn failure_of_trial(params: &Params) -> f64 {
    shown_failure(params, params.get(LAYERS) as u64, params.get(SAMPLED_COLUMNS))
}

/// The verdict that this many trials give with probability [`POWER`], where one fails with probability
/// `failure` and at most `rate` is promised; inconclusive where none has it. `partial` trials never support.
pub(super) fn foreseen_by_draws(failure: f64, rate: f64, partial: bool, trials: u64) -> VerdictKind {
    let interval = |failures: u64| binomial(trials - failures, trials, LEVEL).ok();
    let at_most = |failures: u64| binomial_cdf(failures, trials, failure).unwrap_or(0.0);
    let refutes = |f: &u64| interval(*f).is_some_and(|e| e.high < 1.0 - rate);
    let supports = |f: &u64| interval(*f).is_some_and(|e| e.low >= 1.0 - rate);
    let refuted = (0..=trials).find(refutes).map_or(0.0, |f| if f == 0 { 1.0 } else { 1.0 - at_most(f - 1) });
    let supported = (0..=trials).take_while(supports).last().map_or(0.0, at_most);
    if refuted >= POWER {
        VerdictKind::Refuted
    } else if !partial && supported >= POWER {
        VerdictKind::Supported
    } else {
        VerdictKind::Inconclusive
    }
}

/// Bytes of one trial: the coefficients of all heads for the network, in f32 and twice while a layer
/// is written; else of one head; for a sample its span in f64, and the scores of some columns.
pub(super) fn memory(params: &Params) -> u64 {
    let [n, p, k, columns] = [TOKENS, DIM, CLUSTERS, SAMPLED_COLUMNS].map(|q| params.get(q) as u64);
    match columns {
        0 if n <= NETWORK_TOKENS as u64 => attnlab_lab::run::memory::product(&[4, n, p, 2, k]),
        0 => attnlab_lab::run::memory::product(&[4, n, p]),
        _ => attnlab_lab::run::memory::total(&[&[8, n, columns.min(p)], &[100 << 20]]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_draws_decide() {
        assert_eq!(foreseen_by_draws(0.0, 0.05, false, 72), VerdictKind::Supported);
        assert_eq!(foreseen_by_draws(0.0, 0.05, true, 72), VerdictKind::Inconclusive);
        assert_eq!(foreseen_by_draws(0.01, 0.05, false, 72), VerdictKind::Inconclusive);
        assert_eq!(foreseen_by_draws(0.9, 0.05, true, 10), VerdictKind::Refuted);
        // One failure in three refutes a promise of .999.
        assert_eq!(foreseen_by_draws(0.9, 1e-3, true, 3), VerdictKind::Refuted);
        assert_eq!(foreseen_by_draws(0.1, 1e-3, true, 3), VerdictKind::Inconclusive);
    }
}
