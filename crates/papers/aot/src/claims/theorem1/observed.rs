//! One draw of Theorem 1: the depth horizon decides, and at small sizes the network itself, which must agree.

use super::super::setting::mixture;
use crate::quantities::*;
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

/// One draw: does every layer l < `layers` multiply every SNR by `factor`? The horizon decides, and
/// with `network` the network itself, which must agree with it.
pub fn observe(params: &Params, streams: &Streams, layers: u64, factor: f64, network: bool) -> Result<Outcome> {
    let (eta, tau) = (params.get(ETA), params.get(TAU));
    let rate = 1.0 + eta * tau;
    let mixture = mixture(params)?;
    let first_break = match params.get(SAMPLED_COLUMNS) {
        0 => first_of_all(&mixture, tau, rate, streams)?,
        columns => first_of_sample(&mixture, columns, tau, rate, streams)?,
    };
    let theta_crit = first_break.as_ref().map_or(f64::INFINITY, |f| f.first.theta);
    let exact = exact_updates(theta_crit, eta, tau).map_or(layers, |n| n.min(layers));
    let columns = match params.get(SAMPLED_COLUMNS) {
        0 => params.get(TOKENS) * params.get(CLUSTERS),
        columns => columns,
    };
    let mut witness = witness! { "exact_updates" => exact, "columns_seen" => columns };
    if let Some(FirstBreak { head, first: b, weight }) = first_break.filter(|_| exact < layers) {
        witness.extend(witness! {
            "layer" => exact, "head" => head, "column" => b.column, "row" => b.row,
            "weight" => weight, "kind" => b.kind, "theta_crit" => b.theta,
        });
    }
    let mut holds = exact == layers && factor == rate;
    // The layers that the network can run in f32.
    let finite = (NETWORK_GROWTH.ln() / rate.ln()) as u64;
    let layers_run = if network { layers.min(exact + 1).min(NETWORK_LAYERS).min(finite) } else { 0 };
    if layers_run > 0 {
        let run = run_network(&mixture, params, streams, layers_run)?;
        if run.exact != exact.min(layers_run) {
            return Err(Error::contradiction(format!(
                "the network leaves the rate at layer {} but the horizon pass says {exact}",
                run.exact
            )));
        }
        let off = run.ratios.iter().position(|r| (r / factor - 1.0).abs() > RATIO_TOL);
        holds = off.is_none() && exact == layers;
        witness.insert("largest_error_of_exact_ratios".into(), run.largest_error.into());
        if let Some(l) = off {
            let ratio = run.ratios[l];
            witness.extend(witness! { "ratio_layer" => l, "ratio" => ratio, "ratio_claimed" => factor });
        }
    }
    Ok(Outcome::Event { holds, witness })
}

/// The first break that a trial found.
struct FirstBreak {
    head: usize,
    first: Break,
    /// The weight that crossed τ, at the first layer that is not exact.
    weight: f64,
}

/// θ of the first layer that is not exact.
fn theta_of_layer(first: &Break, rate: f64) -> f64 {
    rate.powf(exact_updates(first.theta, 1.0, rate - 1.0).unwrap_or(0) as f64)
}

/// The first break of all columns of all heads.
fn first_of_all(mixture: &Mixture, tau: f64, rate: f64, streams: &Streams) -> Result<Option<FirstBreak>> {
    let Some((head, first)) = horizon_of_mixture(mixture, tau, streams, || {})?.first() else { return Ok(None) };
    let weight = weight_in_draw(mixture, head, (first.column, first.row), theta_of_layer(&first, rate), streams)?;
    Ok(Some(FirstBreak { head, first, weight }))
}

/// The first break among `columns` columns of head 0 whose tokens lie outside cluster 0. The columns are exchangeable,
/// so evenly spaced ones are as good as random ones; what they see of the other tokens is drawn in their span alone.
fn first_of_sample(
    mixture: &Mixture,
    columns: usize,
    tau: f64,
    rate: f64,
    streams: &Streams,
) -> Result<Option<FirstBreak>> {
    let cluster = mixture.cluster(0);
    let outside = cluster.end..mixture.tokens();
    let step = (outside.len() / columns).max(1);
    let chosen: Vec<usize> = outside.step_by(step).take(columns).collect();
    if chosen.is_empty() {
        return Ok(None); // one cluster: there are no noise columns
    }
    let y = mixture.head_around(0, &chosen, streams)?;
    let breaks = horizon_of_columns(y.view(), &cluster, &chosen, tau);
    let first = breaks.into_iter().flatten().min_by(|a, b| a.theta.total_cmp(&b.theta));
    Ok(first.map(|first| {
        let weight = weight_of_column(y.view(), &cluster, (first.column, first.row), theta_of_layer(&first, rate));
        FirstBreak { head: 0, first, weight }
    }))
}

/// The layers of the network itself.
struct NetworkRun {
    /// Layers before the first whose SNR ratios are not all 1 + ητ.
    exact: u64,
    /// For each layer, the ratio of that cluster whose ratio is farthest from 1 + ητ.
    ratios: Vec<f64>,
    /// Largest relative deviation among the exact layers.
    largest_error: f64,
}

/// Runs `layers` layers on the coefficients and compares every SNR ratio with 1 + ητ.
fn run_network(mixture: &Mixture, params: &Params, streams: &Streams, layers: u64) -> Result<NetworkRun> {
    let (eta, tau) = (params.get(ETA), params.get(TAU));
    let (rate, labels) = (1.0 + eta * tau, mixture.labels());
    let layer = Mssa::new(ThresholdedSoftmax { tau }, eta);
    let mut heads: Vec<Array2<f32>> = (0..mixture.clusters()).map(|k| mixture.head(k, streams)).collect();
    let energies = |heads: &[Array2<f32>]| -> Vec<Vec<f64>> {
        heads.iter().map(|y| energy_by_cluster(y.view(), &labels, mixture.clusters())).collect()
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
    Ok(NetworkRun { exact: exact as u64, ratios, largest_error })
}

/// The factor by which the SNR (6) of cluster s grows; where it is infinite before and after, that of the signal.
fn snr_ratio(before: &[Vec<f64>], after: &[Vec<f64>], s: usize) -> f64 {
    let noise =
        |energy: &[Vec<f64>]| -> f64 { energy.iter().enumerate().filter(|(k, _)| *k != s).map(|(_, e)| e[s]).sum() };
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
    fn infinite_ratios_compare_the_signal() {
        let (before, after) = ([vec![2.0, 0.0], vec![0.0, 8.0]], [vec![8.0, 0.0], vec![0.0, 8.0]]);
        assert_eq!(snr_ratio(&before, &after, 0), 2.0);
        assert_eq!(snr_ratio(&before, &after, 1), 1.0);
        assert_eq!(snr_ratio(&before, &[vec![8.0, 0.0], vec![1.0, 8.0]], 0), 0.0);
    }
}
