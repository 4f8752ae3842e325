//! Theorem 1 of the attention-only transformer, with the explicit constants of its proof.
//!
//! **As printed**: under (11) and (29), with probability at least 1 - KLN^{-Ω(1)}, every layer
//! multiplies every SNR by exactly 1 + ητ. The union bounds of the proof make that explicit: Lemma 2
//! fails with probability at most 2K/N + 4K/N² + 2/N + 4K/N, and the theorem takes L times that.
//!
//! **What is wrong.** Lemma 3 is applied to scores multiplied by θ = (1+ητ)^l, but the bounds (18)
//! and (19) that it rests on are proved at θ = 1 only. See [`crate::theory::horizon`] for the first
//! layer that fails, and [`Theorem1Bounded`](super::theorem1_bounded::Theorem1Bounded) for what
//! does hold.
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
//! signal grows by 1 + ητ and no noise appears.

use super::setting::{hypotheses_theorem1, mixture, mixture_schema, network_schema};
use crate::quantities::*;
use crate::theory::Horizon as LawOfBreaks;
use crate::theory::printed::self_match_lambda;
use attnlab_core::stats::{binomial, binomial_cdf, trials_for_lower_bound};
use attnlab_lab::claim::verdict;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::horizon::{Break, exact_updates};
use attnlab_theory::attention::streaming::horizon::{horizon_of_columns, weight_of_column};
use attnlab_theory::attention::{Mssa, ThresholdedSoftmax};
use attnlab_theory::measure::snr::energy_by_cluster;
use attnlab_theory::measure::{horizon_of_mixture, weight_in_draw};
use attnlab_theory::sample::Mixture;
use ndarray::Array2;

/// Up to this many tokens a trial runs the whole network too: some tenths of a second a layer.
pub const NETWORK_TOKENS: usize = 4096;

/// Largest relative deviation of an SNR ratio from 1 + ητ. The coefficients are f32: each entry is rounded by 6e-8
/// of itself in each layer, and the norms of thousands of entries by less; a single captured column
/// moves the ratio by 1e-4 or more.
pub const RATIO_TOL: f64 = 1e-6;

/// Layers of the network that a trial runs at most; beyond, the horizon decides alone.
const NETWORK_LAYERS: u64 = 64;

/// Growth of the signal up to which the network runs in f32: its squares stay finite.
const NETWORK_GROWTH: f64 = 1e9;

/// Distance of τ from 1 from which on f32 tells a weight above τ from one below.
const NETWORK_TAU: f64 = 1e-4;

/// Level at which [`foreseen_by_draws`] asks whether trials decide, and the probability with which they must.
const LEVEL: f64 = 0.95;
/// See [`LEVEL`].
const POWER: f64 = 0.99;

/// Theorem 1 and its mutants.
#[derive(Clone, Copy, Debug, Default)]
pub struct Theorem1 {
    rate: Rate,
}

/// The factor of one layer that the statement names.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Rate {
    /// 1 + ητ: the theorem.
    #[default]
    Printed,
    /// 1 + η: as if φ did not scale by τ.
    Unthresholded,
    /// 1 + .999ητ.
    Nearly,
    /// (1 + ητ)²: as if the noise shrank too.
    Squared,
}

impl Rate {
    fn factor(self, eta: f64, tau: f64) -> f64 {
        match self {
            Rate::Printed => 1.0 + eta * tau,
            Rate::Unthresholded => 1.0 + eta,
            Rate::Nearly => 1.0 + 0.999 * eta * tau,
            Rate::Squared => (1.0 + eta * tau).powi(2),
        }
    }
}

impl Claim for Theorem1 {
    fn sheet(&self) -> &'static Sheet {
        sheet!("aot.theorem1")
    }

    fn schema(&self) -> Schema {
        let mut schema = [mixture_schema(200_000, 2, 1300), network_schema(12)].concat();
        schema.push(columns_spec());
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
        (self.rate == Rate::Printed).then(|| computed(params, params.get(LAYERS) as u64))
    }

    fn partial(&self, params: &Params) -> bool {
        params.get(SAMPLED_COLUMNS) > 0
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        let foreseen = verdict::foreseen(self.promise(params), self.computed(params));
        foreseen.unwrap_or_else(|| {
            let (failure, rate) = (seen_failure(params), promised_failure(params));
            foreseen_by_draws(
                failure,
                rate,
                self.partial(params),
                self.default_trials(params),
            )
        })
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // At large N one trial takes seconds, and one failure in one already refutes a promise of
        // 0.999 at 95 %.
        if self.partial(params) || params.get(TOKENS) > NETWORK_TOKENS {
            return 3;
        }
        if self.rate != Rate::Printed {
            return 10;
        }
        let rate = promised_failure(params);
        let rare = rate < 1.0 && seen_failure(params) < 0.01 * rate;
        match trials_for_lower_bound(1.0 - rate, LEVEL).filter(|_| rare) {
            // Enough to support the promise if none fails.
            Some(needed) => needed.clamp(10, 200),
            None => 10,
        }
    }

    fn memory(&self, params: &Params) -> u64 {
        memory(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (eta, tau) = (params.get(ETA), params.get(TAU));
        let factor = self.rate.factor(eta, tau);
        observe(
            params,
            streams,
            params.get(LAYERS) as u64,
            factor,
            network_tells(params),
        )
    }

    fn mutants(&self) -> Vec<Mutant> {
        // One layer at a size where the theorem's own rate holds: the rate alone must fail.
        let small = |name, rate| {
            Mutant::new(name, Theorem1 { rate })
                .with(TOKENS, 400)
                .with(DIM, 80)
                .with(LAYERS, 1)
        };
        vec![
            small("without_tau", Rate::Unthresholded),
            small("nearly", Rate::Nearly),
            small("squared", Rate::Squared),
        ]
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
fn law_of_breaks(params: &Params) -> LawOfBreaks {
    let [tokens, clusters, dim] = [TOKENS, CLUSTERS, DIM].map(|q| params.get(q));
    let (delta, tau) = (params.get(DELTA), params.get(TAU));
    LawOfBreaks {
        tokens,
        clusters,
        dim,
        delta,
        tau,
    }
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
    let low = law.break_at_least(law.clipped(theta));
    Computed {
        failure: Bracket::new(low, law.break_bound(theta).max(low)).widened(ROUNDING),
        how: "from above by a union over columns and keys of normal tails, uniform in theta up to the last \
              layer; from below by one noise column of each head, with Markov's inequality for its normaliser",
    }
}

/// The probability, by the law, that one of `layers` updates breaks a column that a trial sees: one of `columns`
/// noise columns of head 0, or any column for 0.
pub(super) fn shown_failure(params: &Params, layers: u64, columns: usize) -> f64 {
    let law = law_of_breaks(params);
    if law.clusters < 2 || law.delta == 0.0 || law.tau >= 1.0 {
        return 0.0;
    }
    let captured = law.lambda(law.clipped(last_theta(params, layers)));
    let expected = match columns {
        0 => {
            // A signal column loses its own token about τ/(1-τ) times as often as to one neighbour alone.
            let odds = (law.tau / (1.0 - law.tau)).max(1.0);
            captured + odds * self_match_lambda(law.tokens, law.clusters, law.dim)
        }
        m => (m as f64 / law.noise_columns()).min(1.0) * captured,
    };
    -(-expected).exp_m1()
}

fn seen_failure(params: &Params) -> f64 {
    let (layers, columns) = (params.get(LAYERS) as u64, params.get(SAMPLED_COLUMNS));
    shown_failure(params, layers, columns)
}

/// The verdict that this many trials give with probability [`POWER`], where one fails with probability
/// `failure` and at most `rate` is promised; inconclusive where none has it. `partial` trials never support.
pub(super) fn foreseen_by_draws(
    failure: f64,
    rate: f64,
    partial: bool,
    trials: u64,
) -> VerdictKind {
    let interval = |failures: u64| binomial(trials - failures, trials, LEVEL).ok();
    let at_most = |failures: u64| binomial_cdf(failures, trials, failure).unwrap_or(0.0);
    let refutes = |f: &u64| interval(*f).is_some_and(|e| e.high < 1.0 - rate);
    let supports = |f: &u64| interval(*f).is_some_and(|e| e.low >= 1.0 - rate);
    let refuting = (0..=trials).find(refutes);
    let refuted = refuting.map_or(0.0, |f| if f == 0 { 1.0 } else { 1.0 - at_most(f - 1) });
    let supporting = (0..=trials).take_while(supports).last();
    let supported = supporting.map_or(0.0, at_most);
    if refuted >= POWER {
        VerdictKind::Refuted
    } else if !partial && supported >= POWER {
        VerdictKind::Supported
    } else {
        VerdictKind::Inconclusive
    }
}

/// The `columns` parameter: 0 for all of them.
pub(super) fn columns_spec() -> Spec {
    SAMPLED_COLUMNS.or_from("0 (all) up to 20000 tokens, else 300", |p| {
        if p.real(TOKENS) > 20_000.0 {
            300.0
        } else {
            0.0
        }
    })
}

/// Bytes of one trial: the coefficients of all heads for the network, in f32 and twice while a layer
/// is written; else of one head; for a sample its span in f64, and the scores of some columns.
pub(super) fn memory(params: &Params) -> u64 {
    let (n, p) = (params.get(TOKENS), params.get(DIM));
    if params.get(SAMPLED_COLUMNS) > 0 {
        return 8 * (n * params.get(SAMPLED_COLUMNS).min(p)) as u64 + (100 << 20);
    }
    let heads = if n <= NETWORK_TOKENS {
        2 * params.get(CLUSTERS)
    } else {
        1
    };
    4 * (n * p * heads) as u64
}

/// One draw: does every layer l < `layers` multiply every SNR by `factor`? The horizon decides, and
/// with `network` the network itself, which must agree with it.
pub(super) fn observe(
    params: &Params,
    streams: &Streams,
    layers: u64,
    factor: f64,
    network: bool,
) -> Result<Outcome> {
    let (eta, tau) = (params.get(ETA), params.get(TAU));
    let rate = 1.0 + eta * tau;
    let mixture = mixture(params)?;
    let found = match params.get(SAMPLED_COLUMNS) {
        0 => first_of_all(&mixture, tau, rate, streams)?,
        columns => first_of_sample(&mixture, columns, tau, rate, streams)?,
    };
    let theta_crit = found.as_ref().map_or(f64::INFINITY, |f| f.first.theta);
    let exact = exact_updates(theta_crit, eta, tau).map_or(layers, |n| n.min(layers));
    let mut witness = witness! { "exact_updates" => exact, "columns_seen" => columns_seen(params) };
    if let Some(Found {
        head,
        first: b,
        weight,
    }) = found.filter(|_| exact < layers)
    {
        witness.extend(witness! {
            "layer" => exact, "head" => head, "column" => b.column, "row" => b.row,
            "weight" => weight, "kind" => b.kind, "theta_crit" => b.theta,
        });
    }
    let mut holds = exact == layers && factor == rate;
    let run = if network {
        network_layers(layers.min(exact + 1), rate)
    } else {
        0
    };
    if run > 0 {
        let seen = run_network(&mixture, params, streams, run)?;
        if seen.exact != exact.min(run) {
            return Err(Error::contradiction(format!(
                "the network leaves the rate at layer {} but the horizon pass says {exact}",
                seen.exact
            )));
        }
        let off = seen
            .ratios
            .iter()
            .position(|r| (r / factor - 1.0).abs() > RATIO_TOL);
        holds = off.is_none() && exact == layers;
        witness.insert(
            "largest_error_of_exact_ratios".into(),
            seen.largest_error.into(),
        );
        if let Some(l) = off {
            witness.insert("ratio_layer".into(), l.into());
            witness.insert("ratio".into(), seen.ratios[l].into());
            witness.insert("ratio_claimed".into(), factor.into());
        }
    }
    Ok(Outcome::Event { holds, witness })
}

/// Of so many layers those that the network can run in f32.
fn network_layers(layers: u64, rate: f64) -> u64 {
    let finite = (NETWORK_GROWTH.ln() / rate.ln()) as u64;
    layers.min(NETWORK_LAYERS).min(finite)
}

fn columns_seen(params: &Params) -> usize {
    match params.get(SAMPLED_COLUMNS) {
        0 => params.get(TOKENS) * params.get(CLUSTERS),
        m => m,
    }
}

/// The first break that a trial found.
struct Found {
    head: usize,
    first: Break,
    /// The weight that crossed τ, at the first layer that is not exact.
    weight: f64,
}

/// θ of the first layer that is not exact.
fn theta_of_layer(first: &Break, rate: f64) -> f64 {
    let layer = exact_updates(first.theta, 1.0, rate - 1.0).unwrap_or(0);
    rate.powf(layer as f64)
}

/// The first break of all columns of all heads.
fn first_of_all(
    mixture: &Mixture,
    tau: f64,
    rate: f64,
    streams: &Streams,
) -> Result<Option<Found>> {
    let Some((head, first)) = horizon_of_mixture(mixture, tau, streams, || {})?.first() else {
        return Ok(None);
    };
    let theta = theta_of_layer(&first, rate);
    let weight = weight_in_draw(mixture, head, (first.column, first.row), theta, streams)?;
    Ok(Some(Found {
        head,
        first,
        weight,
    }))
}

/// The first break among `columns` columns of head 0 whose tokens lie outside cluster 0. The columns
/// are exchangeable, so evenly spaced ones are as good as random ones; what they see of the other
/// tokens is drawn in their span alone.
fn first_of_sample(
    mixture: &Mixture,
    columns: usize,
    tau: f64,
    rate: f64,
    streams: &Streams,
) -> Result<Option<Found>> {
    let own = mixture.cluster(0);
    let outside = own.end..mixture.tokens();
    let step = (outside.len() / columns).max(1);
    let chosen: Vec<usize> = outside.step_by(step).take(columns).collect();
    if chosen.is_empty() {
        return Ok(None); // one cluster: there are no noise columns
    }
    let y = mixture.head_around(0, &chosen, streams)?;
    let breaks = horizon_of_columns(y.view(), &own, &chosen, tau);
    let first = breaks
        .into_iter()
        .flatten()
        .min_by(|a, b| a.theta.total_cmp(&b.theta));
    Ok(first.map(|first| {
        let at = (first.column, first.row);
        let weight = weight_of_column(y.view(), &own, at, theta_of_layer(&first, rate));
        Found {
            head: 0,
            first,
            weight,
        }
    }))
}

/// The layers of the network itself.
struct Seen {
    /// Layers before the first whose SNR ratios are not all 1 + ητ.
    exact: u64,
    /// For each layer, the ratio of that cluster whose ratio is farthest from 1 + ητ.
    ratios: Vec<f64>,
    /// Largest relative deviation among the exact layers.
    largest_error: f64,
}

/// Runs `layers` layers on the coefficients and compares every SNR ratio with 1 + ητ.
fn run_network(mixture: &Mixture, params: &Params, streams: &Streams, layers: u64) -> Result<Seen> {
    let (eta, tau) = (params.get(ETA), params.get(TAU));
    let (rate, labels) = (1.0 + eta * tau, mixture.labels());
    let layer = Mssa::new(ThresholdedSoftmax { tau }, eta);
    let mut heads: Vec<Array2<f32>> = (0..mixture.clusters())
        .map(|k| mixture.head(k, streams))
        .collect();
    let energies = |heads: &[Array2<f32>]| -> Vec<Vec<f64>> {
        let energy = |y: &Array2<f32>| energy_by_cluster(y.view(), &labels, mixture.clusters());
        heads.iter().map(energy).collect()
    };
    let error = |r: &f64| (r / rate - 1.0).abs();
    let mut ratios = vec![];
    let mut before = energies(&heads);
    for _ in 0..layers {
        layer.apply_coefficients(&mut heads)?;
        let after = energies(&heads);
        let of_layer = (0..mixture.clusters()).map(|s| snr_ratio(&before, &after, s));
        ratios.extend(of_layer.max_by(|a, b| error(a).total_cmp(&error(b))));
        before = after;
    }
    let exact = ratios.iter().take_while(|r| error(r) <= RATIO_TOL).count();
    let largest_error = ratios[..exact].iter().map(error).fold(0.0, f64::max);
    Ok(Seen {
        exact: exact as u64,
        ratios,
        largest_error,
    })
}

/// The factor by which the SNR (6) of cluster s grows; where it is infinite before and after, that of the signal.
fn snr_ratio(before: &[Vec<f64>], after: &[Vec<f64>], s: usize) -> f64 {
    let noise = |energy: &[Vec<f64>]| -> f64 {
        let others = energy.iter().enumerate().filter(|(k, _)| *k != s);
        others.map(|(_, e)| e[s]).sum()
    };
    let shrunk = match (noise(before), noise(after)) {
        (0.0, 0.0) => 1.0,
        (was, is) => was / is,
    };
    (after[s][s] / before[s][s] * shrunk).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_draws_decide() {
        let foreseen =
            |failure, rate, partial, trials| foreseen_by_draws(failure, rate, partial, trials);
        assert_eq!(foreseen(0.0, 0.05, false, 72), VerdictKind::Supported);
        assert_eq!(foreseen(0.0, 0.05, true, 72), VerdictKind::Inconclusive);
        assert_eq!(foreseen(0.01, 0.05, false, 72), VerdictKind::Inconclusive);
        assert_eq!(foreseen(0.9, 0.05, true, 10), VerdictKind::Refuted);
        // One failure in three refutes a promise of .999.
        assert_eq!(foreseen(0.9, 1e-3, true, 3), VerdictKind::Refuted);
        assert_eq!(foreseen(0.1, 1e-3, true, 3), VerdictKind::Inconclusive);
    }

    #[test]
    fn infinite_ratios_compare_the_signal() {
        let (before, after) = (
            [vec![2.0, 0.0], vec![0.0, 8.0]],
            [vec![8.0, 0.0], vec![0.0, 8.0]],
        );
        assert_eq!(snr_ratio(&before, &after, 0), 2.0);
        assert_eq!(snr_ratio(&before, &after, 1), 1.0);
        let noisy = [vec![8.0, 0.0], vec![1.0, 8.0]];
        assert_eq!(snr_ratio(&before, &noisy, 0), 0.0);
    }
}
