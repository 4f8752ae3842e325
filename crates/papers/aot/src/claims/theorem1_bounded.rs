//! Theorem 1 as it holds: the linear rate up to a bounded depth.
//!
//! As long as θ_l δ√p stays below (2 - √2) √log N the pattern (30) holds with high probability, and
//! with it the rate (8); above, it fails. The derivation is in [`crate::theory::horizon`].
//!
//! **Hypotheses.** The limit is one for K = O(1), log N = o(p) and N → ∞; what these mean at given ε and
//! promised failure probability α:
//!
//! - K: with K = N^κ the constant is $\max(2 - \sqrt{2 + 2\kappa}, 1/2)$, so that $2 - \sqrt 2 - \varepsilon$ is
//!   below it for $K \le N^{\sqrt 2 \varepsilon + \varepsilon^2/2}$ (times 2: K = 2 is no power of N), and for
//!   every K once $\varepsilon \ge 3/2 - \sqrt 2$.
//! - p: signal columns lose their own token through a neighbour; their expected number is at most
//!   $\frac{N^2}{2K(1-\tau)} 2^{-p/2}$ ([`signal_matches`](crate::theory::Horizon::signal_matches)), at most α/4 for
//!   the stated p. That is $(4/\ln 2) \log N$ and the price of τ near 1: at the upper end of (29) about
//!   $15 \log N$. (The bound is some √p times the truth, τ/(1-τ) times
//!   [`self_match_lambda`](crate::theory::printed::self_match_lambda).)
//! - N: the expected number of captured columns Λ at the last θ is at most α/4. It falls like
//!   $N^{-4.8\varepsilon}$, and more slowly where p is a small multiple of log N: the lengths |e| then spread by
//!   a factor that counts, $N^{2.1 \log N/p}$.
//! - All other breaks ([`other_breaks`](crate::theory::Horizon::other_breaks)) are expected less than α/4 times.
//!
//! Together a column breaks with probability at most 3α/4.
//!
//! **How it is tested.** Up to [`NETWORK_TOKENS`] tokens, and where enough draws take seconds, by the exact horizon of
//! direct draws, which the printed theorem's trials hold against the network itself. Beyond, they take minutes and
//! below the horizon hardly any shows a failure; there a trial is one unbiased value of the expected number of broken
//! columns ([`RareBreaks`]), plus closed-form bounds on what that leaves out. By the union bound their mean is at least
//! the failure probability: below the promised one it supports the claim. It can never refute it
//! ([`Side::UpperBound`]).

use super::setting::{horizon_law, hypotheses_29, mixture, noisy_mixture_schema, seconds_of_scores, takes_seconds};
use super::theorem1::{NETWORK_TOKENS, computed, foreseen_by_draws, memory, observe, shown_failure};
use crate::quantities::*;
use crate::rare_event::RareBreaks;
use crate::theory::horizon::LARGE_N_CONSTANT;
use attnlab_core::stats::binomial;
use attnlab_lab::claim::{Side, verdict};
use attnlab_lab::prelude::*;

/// Share of the promised failure probability that each kind of break may take: captured columns, signal columns
/// by their bound, and the others by theirs.
const SHARE: f64 = 0.25;

/// Slack from which on the constant 1/2 of many clusters is not reached: 3/2 - √2.
const ANY_K_SLACK: f64 = 1.5 - std::f64::consts::SQRT_2;

/// Theorem 1 for the layers below the horizon, and its mutants.
///
/// The statement goes up to θ δ√p < (2 - √2 - ε) √log N.
#[derive(Default, Serialize, Deserialize)]
pub struct Theorem1Bounded {
    /// 2 - √2 + ε in place of 2 - √2 - ε: the other side of the horizon.
    above: bool,
    /// A constant in place of 2 - √2 - ε.
    constant: Option<f64>,
}

/// Draws behind a bracket that decides alone: they guard against an error in its derivation.
const GUARDS: u64 = 20;

fn direct(params: &Params) -> bool {
    match params.get(METHOD) {
        "direct" => true,
        "rare-event" => false,
        _ => {
            let least_draws = trials_with(0, params.get(FAILURE_PROBABILITY));
            params.get(TOKENS) <= NETWORK_TOKENS && takes_seconds(params, least_draws)
        }
    }
}

impl Claim for Theorem1Bounded {
    from_sheet!("aot.theorem1_bounded");

    fn schema(&self) -> Schema {
        // At this η the last θ below the limit at the defaults, 3.89, is 1.253^6 = 3.87.
        let mut schema = noisy_mixture_schema(2000, 2, 900);
        schema.extend([ETA.or(0.46), TAU.within(Domain::OPEN_UNIT).or(0.55), LAYERS.or(12)]);
        let slack = Domain::right_open(0.0, LARGE_N_CONSTANT);
        let all_columns = SAMPLED_COLUMNS.within(Domain::Whole(0, 0));
        schema.extend([
            SLACK.within(slack).or(0.1),
            FAILURE_PROBABILITY.or(0.05),
            all_columns.meaning("every column of every head").or(0),
            METHOD.or("auto"),
        ]);
        schema
    }

    fn validate(&self, params: &Params) -> Result<()> {
        mixture(params)?;
        horizon_law(params).map(|_| ())
    }

    fn seconds(&self, params: &Params) -> f64 {
        if direct(params) { seconds_of_scores(params, 0.0) } else { 0.0 }
    }

    fn hypotheses(&self, params: &Params) -> Vec<Hypothesis> {
        let allowed = SHARE * params.get(FAILURE_PROBABILITY);
        let mut hypotheses = vec![hypothesis_clusters(params), hypothesis_dim(params)];
        hypotheses.extend(hypotheses_29(params));
        let Ok(law) = horizon_law(params) else { return hypotheses };
        let theta = law.clipped(self.last_theta(params));
        hypotheses.push(Hypothesis::new(
            "captured columns",
            "N large: Lambda(theta) <= failure_probability / 4 at the last layer",
            allowed - law.lambda(theta),
        ));
        let others = law.other_breaks(theta);
        let signal = law.signal_matches().map_or(f64::INFINITY, |m| m.others);
        hypotheses.push(Hypothesis::new(
            "other columns",
            "expected breaks through other noise <= failure_probability / 4",
            allowed - (others.own_score + others.noise_scores + signal),
        ));
        hypotheses
    }

    fn promise(&self, params: &Params) -> Promise {
        let failure = params.get(FAILURE_PROBABILITY);
        if self.layers(params) == 0 {
            // Not even the first layer lies below the horizon: nothing is said.
            Promise::AtLeast(0.0)
        } else if direct(params) {
            Promise::FailsAtMost(failure)
        } else {
            Promise::MeanIn(f64::NEG_INFINITY, failure)
        }
    }

    fn side(&self, params: &Params) -> Side {
        if direct(params) || self.layers(params) == 0 { Side::Exact } else { Side::UpperBound }
    }

    fn computed(&self, params: &Params) -> Option<Computed> {
        let layers = self.layers(params);
        (layers > 0 && direct(params)).then(|| computed(params, layers))
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        if self.layers(params) == 0 {
            return VerdictKind::Vacuous;
        }
        if let Some(foreseen) = verdict::foreseen(self.promise(params), self.computed(params)) {
            return foreseen;
        }
        let promised = params.get(FAILURE_PROBABILITY);
        if direct(params) {
            let failure = shown_failure(params, self.layers(params), 0);
            return foreseen_by_draws(failure, promised, false, self.default_trials(params));
        }
        let Ok(law) = horizon_law(params) else { return VerdictKind::Inconclusive };
        let theta = law.clipped(self.last_theta(params));
        // The interval of 100 values, each spread like its mean, is about a fifth wide.
        let supported = law.lambda(theta) * 1.5 + law.other_breaks(theta).total() < promised;
        if supported { VerdictKind::Supported } else { VerdictKind::Inconclusive }
    }

    fn default_trials(&self, params: &Params) -> u64 {
        if !direct(params) {
            // Values spread by less than their mean, which is far below what is promised.
            return 100;
        }
        let layers = self.layers(params);
        if layers == 0 {
            return 1; // nothing is said
        }
        let failure = shown_failure(params, layers, 0);
        let needed = trials_to_support(failure, params.get(FAILURE_PROBABILITY), |draws| takes_seconds(params, draws));
        let decided = verdict::foreseen(self.promise(params), self.computed(params)).is_some();
        if decided { needed.min(GUARDS) } else { needed }
    }

    fn memory(&self, params: &Params) -> u64 {
        // A rare event holds the scores of one column.
        if direct(params) { memory(params) } else { (params.get(TOKENS) as u64).saturating_mul(24) }
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let layers = self.layers(params);
        if direct(params) {
            return observe(params, streams, layers, 1.0 + params.get(ETA) * params.get(TAU), false);
        }
        let law = horizon_law(params)?;
        let theta = law.clipped(self.last_theta(params));
        let breaks =
            RareBreaks { tokens: law.tokens, clusters: law.clusters, dim: law.dim, delta: law.delta, tau: law.tau };
        let value = breaks.draw(theta, streams)?;
        let rest = law.other_breaks(theta).total();
        let witness = witness! {
            "layers" => layers, "theta" => theta, "expected_broken_columns" => value,
            "bound_on_other_breaks" => rest,
        };
        Ok(Outcome::Value { value: value + rest, witness })
    }
}

impl Theorem1Bounded {
    /// Number of layers l < L with (1+ητ)^l < θ_max.
    fn layers(&self, params: &Params) -> u64 {
        let slack = if self.above { -params.get(SLACK) } else { params.get(SLACK) };
        let constant = self.constant.unwrap_or(LARGE_N_CONSTANT - slack);
        let theta_max = constant * params.real(TOKENS).ln().sqrt() / (params.get(DELTA) * params.real(DIM).sqrt());
        let rate = 1.0 + params.get(ETA) * params.get(TAU);
        (0..params.get(LAYERS) as u64).take_while(|l| rate.powf(*l as f64) < theta_max).count() as u64
    }

    /// θ of the last layer that the statement is about.
    fn last_theta(&self, params: &Params) -> f64 {
        let rate = 1.0 + params.get(ETA) * params.get(TAU);
        rate.powf(self.layers(params).saturating_sub(1) as f64)
    }
}

/// K ≤ 2 N^(√2 ε + ε²/2), or any K from [`ANY_K_SLACK`] on.
fn hypothesis_clusters(params: &Params) -> Hypothesis {
    let (slack, n) = (params.get(SLACK), params.real(TOKENS));
    let power = std::f64::consts::SQRT_2 * slack + 0.5 * slack * slack;
    let most = if slack >= ANY_K_SLACK { n } else { 2.0 * n.powf(power) };
    let printed = "K <= 2 N^(sqrt(2) eps + eps^2 / 2), or eps >= 3/2 - sqrt(2)";
    Hypothesis::new("clusters", printed, most - params.real(CLUSTERS))
}

/// N² 2^(-p/2) / (2K(1 - τ)) ≤ α/4, solved for p.
fn hypothesis_dim(params: &Params) -> Hypothesis {
    let (n, k) = (params.real(TOKENS), params.real(CLUSTERS));
    let allowed = SHARE * params.get(FAILURE_PROBABILITY);
    let least = n * n / (2.0 * k * (1.0 - params.get(TAU)) * allowed);
    let printed = "p >= (2 / ln 2) log(2 N^2 / (K (1 - tau) failure_probability))";
    Hypothesis::new("dim", printed, params.real(DIM) - 2.0 * least.log2())
}

/// Trials with which a promise is supported with probability .99, if one fails with probability `failure`: the
/// least number of failures that is rarely exceeded, and the trials that support with so many, where so many are
/// `affordable`.
fn trials_to_support(failure: f64, promised: f64, affordable: impl Fn(u64) -> bool) -> u64 {
    /// Failures beyond which trials are not worth their time: the promise is then nearly broken.
    const MOST: u64 = 12;
    for failures in 0..=MOST {
        let needed = trials_with(failures, promised);
        if !affordable(needed) {
            break;
        }
        if foreseen_by_draws(failure, promised, false, needed) == VerdictKind::Supported {
            return needed;
        }
    }
    trials_with(0, promised)
}

/// The least number of trials whose interval lies above 1 - `promised` with so many failures.
fn trials_with(failures: u64, promised: f64) -> u64 {
    let supports = |trials: u64| binomial(trials - failures, trials, 0.95).is_ok_and(|e| e.low >= 1.0 - promised);
    let (mut low, mut high) = (failures, 2 * failures + 2);
    while !supports(high) && high < attnlab_core::stats::MAX_TRIALS / 2 {
        (low, high) = (high, 2 * high);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if supports(middle) { high = middle } else { low = middle }
    }
    high
}
