//! The depth horizon of one draw, beside the law that predicts it.

use super::{Progress, memory};
use crate::attention::horizon::{Break, exact_updates};
use crate::attention::streaming::horizon::{horizon_of_mixture, ticks};
use crate::error::{Error, Result};
use crate::rng::Streams;
use crate::sample::Mixture;
use crate::theory;
use serde::Serialize;
use std::time::Instant;

/// What is drawn and run: AoT Definition 1 with equal clusters, φ = h∘softmax.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HorizonSetting {
    /// N.
    pub tokens: usize,
    /// K.
    pub clusters: usize,
    /// p.
    pub dim: usize,
    /// Noise level δ.
    pub delta: f64,
    /// Step size η.
    pub eta: f64,
    /// Threshold τ.
    pub tau: f64,
    /// Seed of the draw.
    pub seed: u64,
}

/// What was found, and what the law says.
#[derive(Clone, Debug, Serialize)]
pub struct HorizonReport {
    /// The setting.
    #[serde(flatten)]
    pub setting: HorizonSetting,
    /// θ at which the pattern (30) first breaks; None when it never does.
    pub theta: Option<f64>,
    /// Number of layers whose update is exactly the theorem's; None when all are.
    pub exact_updates: Option<u64>,
    /// Where it breaks.
    pub first: Option<FirstBreak>,
    /// The law; None where it does not apply (K = 1, δ = 0, τ = 1).
    pub predicted: Option<Predicted>,
    /// Columns that were decided again in f64.
    pub redecided: usize,
    /// Wall-clock time in seconds.
    pub wall_s: f64,
    /// Version of attnlab.
    pub version: &'static str,
}

/// The first break and the head that it happens in.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FirstBreak {
    /// Head, from 0.
    pub head: usize,
    /// Column, key, weight and kind.
    #[serde(flatten)]
    pub place: Break,
}

/// The law of θ_crit at the same parameters.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Predicted {
    /// θ by which 5, 50 and 95 % of draws have broken.
    pub theta: [f64; 3],
    /// Exact updates at these θ.
    pub exact_updates: [u64; 3],
    /// Share of draws that have broken by the θ seen here: uniform on (0, 1) if the law is right.
    pub rank: Option<f64>,
}

/// The horizon of one draw over every column of every head, exact for its coefficients in f32.
///
/// # Errors
/// Parameters that cannot be drawn, or a draw that does not fit into memory.
///
/// ```
/// use attnlab::run::{Silent, horizon::{HorizonSetting, horizon}};
/// let setting = HorizonSetting {
///     tokens: 200, clusters: 2, dim: 40, delta: 0.05, eta: 0.5, tau: 0.55, seed: 0,
/// };
/// let found = horizon(&setting, &Silent)?;
/// assert!(found.exact_updates.unwrap() > 2);
/// # Ok::<(), attnlab::Error>(())
/// ```
pub fn horizon(setting: &HorizonSetting, progress: &dyn Progress) -> Result<HorizonReport> {
    let started = Instant::now();
    if !(setting.eta > 0.0 && setting.eta.is_finite()) {
        return Err(Error::invalid("eta", setting.eta, "a finite number > 0"));
    }
    if !(setting.tau > 0.0 && setting.tau <= 1.0) {
        return Err(Error::invalid("tau", setting.tau, "a number in (0, 1]"));
    }
    let HorizonSetting {
        tokens,
        clusters,
        dim,
        delta,
        ..
    } = *setting;
    memory::ensure("the horizon of one draw", bytes(tokens, clusters, dim))?;
    let mixture = Mixture::balanced(tokens, clusters, dim, delta)?;
    progress.start("horizon", ticks(tokens).saturating_mul(clusters as u64));
    let streams = Streams::new(setting.seed, "aot.horizon", 0, 0);
    let found = horizon_of_mixture(&mixture, setting.tau, &streams, || progress.advance(1));
    progress.finish();
    let found = found?;
    let theta = found.theta();
    Ok(HorizonReport {
        setting: *setting,
        theta: theta.is_finite().then_some(theta),
        exact_updates: exact_updates(theta, setting.eta, setting.tau),
        first: found
            .first()
            .map(|(head, place)| FirstBreak { head, place }),
        predicted: predict(setting, theta),
        redecided: found.redecided(),
        wall_s: started.elapsed().as_secs_f64(),
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// One head's coefficients in f32 with its blocks' copies, and what is kept of every column.
fn bytes(tokens: usize, clusters: usize, dim: usize) -> u64 {
    let (n, k, p) = (tokens as u64, clusters as u64, dim as u64);
    // Sums at twelve θ, maxima and scratch of a noise column: about 400 bytes (measured by
    // counting fields); 24 bytes of bracket per column and head remain.
    let per_token = p.saturating_mul(8).saturating_add(400);
    let per_token = per_token.saturating_add(k.saturating_mul(24));
    n.saturating_mul(per_token)
}

fn predict(setting: &HorizonSetting, seen: f64) -> Option<Predicted> {
    let HorizonSetting {
        tokens,
        clusters,
        dim,
        delta,
        eta,
        tau,
        ..
    } = *setting;
    let law = theory::Horizon::new(tokens, clusters, dim, delta, tau).ok()?;
    let at = |probability| -> Option<(f64, u64)> {
        let updates = law.exact_updates(eta, probability).ok()?;
        Some((law.theta(probability).ok()?, updates))
    };
    let (low, median, high) = (at(0.05)?, at(0.5)?, at(0.95)?);
    let rank = seen.is_finite().then(|| -(-law.lambda(seen)).exp_m1());
    Some(Predicted {
        theta: [low.0, median.0, high.0],
        exact_updates: [low.1, median.1, high.1],
        rank,
    })
}
