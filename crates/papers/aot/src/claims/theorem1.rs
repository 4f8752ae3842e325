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
//! sound at the price of m columns of scores; a success would speak for the sample only.

use super::setting::{hypotheses_theorem1, mixture, mixture_schema, network_schema};
use crate::quantities::*;
use attnlab_lab::prelude::*;
use attnlab_theory::attention::horizon::{Break, exact_updates};
use attnlab_theory::attention::streaming::horizon::{horizon_of_columns, weight_of_column};
use attnlab_theory::attention::{Mssa, ThresholdedSoftmax};
use attnlab_theory::measure::snr::{energy_by_cluster, snr_of_heads};
use attnlab_theory::measure::{horizon_of_mixture, weight_in_draw};
use attnlab_theory::sample::Mixture;
use ndarray::Array2;

/// Up to this many tokens a trial runs the whole network too: some tenths of a second a layer.
pub const NETWORK_TOKENS: usize = 4096;

/// Largest relative deviation of an SNR ratio from 1 + ητ. The coefficients are f32: each entry is rounded by 6e-8
/// of itself in each layer, and the norms of thousands of entries by less; a single captured column
/// moves the ratio by 1e-4 or more.
pub const RATIO_TOL: f64 = 1e-6;

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
    /// (1 + ητ)²: as if the noise shrank too.
    Squared,
}

impl Rate {
    fn factor(self, eta: f64, tau: f64) -> f64 {
        match self {
            Rate::Printed => 1.0 + eta * tau,
            Rate::Unthresholded => 1.0 + eta,
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
        let (n, k) = (params.real(TOKENS), params.real(CLUSTERS));
        let lemma2 = (6.0 * k + 2.0) / n + 4.0 * k / (n * n);
        Promise::FailsAtMost(params.real(LAYERS) * lemma2)
    }

    fn partial(&self, params: &Params) -> bool {
        params.get(SAMPLED_COLUMNS) > 0
    }

    fn expected(&self, params: &Params) -> VerdictKind {
        // The law says to which depth: the theorem is true of networks that end before it.
        let deep = |updates| updates < params.get(LAYERS) as u64;
        match super::theorem1_bounded::predicted_updates(params, 0.5) {
            Some(updates) if deep(updates) => VerdictKind::Refuted,
            _ => VerdictKind::Supported,
        }
    }

    fn default_trials(&self, params: &Params) -> u64 {
        // At large N one trial takes seconds, and one failure in one already refutes a promise of
        // 0.999 at 95 %.
        if params.get(TOKENS) > NETWORK_TOKENS {
            3
        } else {
            10
        }
    }

    fn memory(&self, params: &Params) -> u64 {
        memory(params)
    }

    fn trial(&self, params: &Params, streams: &Streams) -> Result<Outcome> {
        let (eta, tau) = (params.get(ETA), params.get(TAU));
        let factor = self.rate.factor(eta, tau);
        let network = params.get(SAMPLED_COLUMNS) == 0 && params.get(TOKENS) <= NETWORK_TOKENS;
        observe(params, streams, params.get(LAYERS) as u64, factor, network)
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
            small("squared", Rate::Squared),
        ]
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
    if network {
        let seen = run_network(&mixture, params, streams, layers.min(exact + 1))?;
        if seen.exact != exact {
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
    let snr = |heads: &[Array2<f32>]| {
        let energy = |y: &Array2<f32>| energy_by_cluster(y.view(), &labels, mixture.clusters());
        snr_of_heads(&heads.iter().map(energy).collect::<Vec<_>>())
    };
    let error = |r: &f64| (r / rate - 1.0).abs();
    let mut ratios = vec![];
    let mut before = snr(&heads);
    for _ in 0..layers {
        layer.apply_coefficients(&mut heads)?;
        let after = snr(&heads);
        let of_layer = after.iter().zip(&before).map(|(a, b)| a / b);
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
