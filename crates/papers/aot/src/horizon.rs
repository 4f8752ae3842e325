//! One horizon from parameters, or from given tokens, to a report: what `attnlab horizon` prints.

use crate::theory::Horizon as Law;
use crate::unroll::{Data, Given};
use attnlab_core::clock::Instant;
use attnlab_core::linalg::{orthonormality_defect, product};
use attnlab_lab::prelude::*;
use attnlab_lab::run::Progress;
use attnlab_theory::attention::horizon::{BreakKind, BrokenColumns, Horizon};
use attnlab_theory::attention::streaming::horizon::weight_of_column;
use attnlab_theory::attention::streaming::{Cpu, Machine};
use attnlab_theory::fit::DEFECT;
use attnlab_theory::measure::{horizon_of_mixture_on, horizon_ticks_on, weight_in_draw};
use attnlab_theory::sample::Mixture;
use ndarray::{Array2, Axis};

/// Layers beyond the first broken one whose broken columns are counted: enough to see the collapse
/// set in, while the bounds of the pass are still narrow.
const LAYERS_AFTER: u64 = 4;

/// Returns the peak memory (bytes) of the horizon of N tokens in subspaces of dimension p: one head in f32 and the state of
/// the pass, a few hundred bytes per token.
pub fn bytes(tokens: usize, dim: usize) -> u64 {
    let n = tokens as u64;
    memory::product(&[n, 4, dim as u64]).saturating_add(memory::product(&[n, 500]))
}

/// Returns the peak memory (bytes) of the horizon of N tokens in K subspaces of at most p dimensions, with the copies of
/// the blocks of a head, which [`bytes`] leaves out.
pub fn bytes_with_copies(tokens: u64, clusters: u64, dim: u64) -> u64 {
    // One head's coefficients in f32 and the copies, 8 p bytes of a column. Sums at twelve θ, maxima, scratch: some 400
    // bytes; 24 of bracket in every head.
    let column = dim.saturating_mul(8).saturating_add(400).saturating_add(clusters.saturating_mul(24));
    tokens.saturating_mul(column)
}

/// The depth horizon of one draw.
#[derive(Clone, Debug, Serialize)]
pub struct HorizonReport {
    /// N_k of every cluster.
    pub counts: Vec<usize>,
    /// p_k of every subspace.
    pub dims: Vec<usize>,
    /// Noise level δ of the law; None for tokens from files.
    pub delta: Option<f64>,
    /// Step size η.
    pub eta: f64,
    /// Threshold τ.
    pub tau: f64,
    /// Seed of every stream; None for tokens from files.
    pub seed: Option<u64>,
    /// θ at which the pattern (30) first breaks; None when it never does.
    pub theta_crit: Option<f64>,
    /// Number of layers l = 0, 1, .. whose update is exactly Theorem 1's; None when all are.
    pub exact_updates: Option<u64>,
    /// Column, key and weight of the first break.
    pub witness: Option<HorizonWitness>,
    /// Columns outside the pattern at the layers up to a few beyond the first break. They are those
    /// of the theorem's own score matrices M_k(θ_l): from the first break on the network leaves these.
    pub broken: Vec<BrokenAtLayer>,
    /// Columns that were decided again in f64.
    pub redecided: usize,
    /// The machine of the passes: "cpu" or the name of a GPU.
    pub backend: String,
    /// Wall-clock time in seconds, sampling included.
    pub wall_s: f64,
    /// Floating-point operations of the symmetric products, Σ_k N² p_k, per second of `wall_s`, in 10⁹.
    pub gflops: f64,
    /// Version of attnlab.
    pub version: &'static str,
}

/// The column, key and weight that end the exactness.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HorizonWitness {
    /// The first layer whose update is not exact.
    pub layer: u64,
    /// θ of that layer, (1 + ητ)^layer.
    pub theta: f64,
    /// Head, from 0.
    pub head: usize,
    /// Token whose column breaks.
    pub column: usize,
    /// Key whose weight has crossed τ.
    pub row: usize,
    /// Its weight at that layer, from the scores of this column alone, drawn again.
    pub weight: f64,
    /// Condition that the column breaks.
    pub kind: BreakKind,
}

/// Columns outside the pattern at one layer, over all heads.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BrokenAtLayer {
    /// The layer, from 0.
    pub layer: u64,
    /// (1 + ητ)^layer.
    pub theta: f64,
    /// Number of columns, with bounds.
    pub columns: BrokenColumns,
}

/// Measures the depth horizon of one draw of `mixture` over every column of every head.
///
/// # Errors
/// When η or τ is out of range, or the mixture cannot be drawn with orthonormal bases.
///
/// ```
/// use attnlab_aot::horizon::horizon;
/// use attnlab_lab::run::Silent;
/// use attnlab_theory::sample::Mixture;
/// let mixture = Mixture::balanced(1000, 2, 100, 0.03)?;
/// let report = horizon(&mixture, 0.5, 0.55, 1, &Silent)?;
/// let witness = report.witness.unwrap();
/// assert_eq!(Some(witness.layer), report.exact_updates);
/// assert!(witness.weight > 0.55);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn horizon(mixture: &Mixture, eta: f64, tau: f64, seed: u64, progress: &dyn Progress) -> Result<HorizonReport> {
    horizon_on(&Cpu, mixture, eta, tau, seed, progress)
}

/// [`horizon`] with the passes over the scores on `machine`. The first break and its witness do not
/// depend on the machine; the bounds on later breaks, and how many columns were decided again, may.
///
/// # Errors
/// As [`horizon`], or when the machine fails.
pub fn horizon_on(
    machine: &dyn Machine,
    mixture: &Mixture,
    eta: f64,
    tau: f64,
    seed: u64,
    progress: &dyn Progress,
) -> Result<HorizonReport> {
    positive("eta", eta)?;
    let started = Instant::now();
    let streams = Streams::new(seed, "aot.horizon", 0, 0);
    progress.start("horizon", horizon_ticks_on(machine, mixture));
    let horizon = horizon_of_mixture_on(machine, mixture, tau, &streams, &|| progress.advance(1));
    progress.finish();
    let horizon = horizon?;

    let weight = |head, at, theta| weight_in_draw(mixture, head, at, theta, &streams);
    let (counts, dims, source) = (mixture.counts.clone(), mixture.dims.clone(), (Some(mixture.delta), Some(seed)));
    let measured = Measured { counts, dims, source, rates: (eta, tau), started, backend: machine.name() };
    measured.report(&horizon, |place| place, weight)
}

/// Measures the depth horizon of given tokens, bases and labels, over every column of every head. Clusters may
/// be in any order; coefficients are U_kᵀZ, rounded to f32 as those of [`horizon`] are.
///
/// # Errors
/// When η or τ is out of range, the bases are not jointly orthonormal, a cluster has no token, or the machine
/// fails.
pub fn horizon_of_tokens(
    machine: &dyn Machine,
    data: &Data,
    eta: f64,
    tau: f64,
    progress: &dyn Progress,
) -> Result<HorizonReport> {
    horizon_of_given(machine, data.view(), eta, tau, progress)
}

/// [`horizon_of_tokens`] on tokens in memory of the caller.
///
/// # Errors
/// As [`horizon_of_tokens`]; no labels.
pub fn horizon_of_given(
    machine: &dyn Machine,
    given: Given,
    eta: f64,
    tau: f64,
    progress: &dyn Progress,
) -> Result<HorizonReport> {
    positive("eta", eta)?;
    let started = Instant::now();
    let unset = || Error::invalid("labels", "None", "must be set; the horizon of a head needs tokens of its cluster");
    let labels = given.labels.ok_or_else(unset)?;
    let defect = orthonormality_defect(given.bases);
    if defect > DEFECT {
        let allowed =
            format!("must be at most {DEFECT:.0e}; the horizon is defined for jointly orthonormal bases, (7)");
        return Err(Error::invalid("|B'B - I| of the bases", format!("{defect:.1e}"), allowed));
    }
    let n = labels.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|i| labels[*i]);
    let mut counts = vec![0; given.bases.len()];
    labels.iter().for_each(|k| counts[*k] += 1);
    if let Some(k) = counts.iter().position(|n| *n == 0) {
        let allowed = "must be a whole number >= 1; the horizon of a head needs tokens of its cluster";
        return Err(Error::invalid(format!("tokens with label {k}"), 0, allowed));
    }
    let dims: Vec<usize> = given.bases.iter().map(Array2::ncols).collect();
    let tokens = given.tokens.select(Axis(1), &order);
    let head = |k: usize| product(given.bases[k].t(), tokens.view()).mapv(|x| x as f32);
    let cluster = |k: usize| {
        let start: usize = counts[..k].iter().sum();
        start..start + counts[k]
    };
    progress.start("horizon", dims.iter().map(|p| machine.ticks(*p, n)).sum());
    let tick = || progress.advance(1);
    let heads = (0..dims.len()).map(|k| machine.horizon_of_head(head(k).view(), cluster(k), tau, &tick));
    let heads = heads.collect::<Result<_>>();
    progress.finish();
    let horizon = Horizon { heads: heads? };
    let weight = |k: usize, at, theta| Ok(weight_of_column(head(k).view(), &cluster(k), at, theta));
    let (counts, source) = (counts.clone(), (None, None));
    let measured = Measured { counts, dims, source, rates: (eta, tau), started, backend: machine.name() };
    measured.report(&horizon, |place| order[place], weight)
}

/// The law of the first break at the parameters of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// θ by which 5, 50 and 95 % of draws have broken.
    pub theta: [f64; 3],
    /// Exact updates at these θ.
    pub exact_updates: [u64; 3],
    /// Share of draws that have broken by the θ seen here: uniform on (0, 1) if the law is right.
    pub rank: Option<f64>,
}

impl Predicted {
    /// Returns the law at the parameters of a report. None where it does not apply: tokens that are no draw, K = 1,
    /// clusters of different sizes or dimensions, δ = 0, τ = 1.
    pub fn beside(report: &HorizonReport) -> Option<Self> {
        let equal = |sizes: &[usize]| sizes.iter().all(|n| *n == sizes[0]);
        if !equal(&report.counts) || !equal(&report.dims) {
            return None;
        }
        let (n, k) = (report.counts.iter().sum(), report.counts.len());
        let law = Law::new(n, k, *report.dims.first()?, report.delta?, report.tau).ok()?;
        let theta = |probability| law.theta(probability).ok();
        let updates = |probability| law.exact_updates(report.eta, probability).ok();
        Some(Predicted {
            theta: [theta(0.05)?, theta(0.5)?, theta(0.95)?],
            exact_updates: [updates(0.05)?, updates(0.5)?, updates(0.95)?],
            rank: report.theta_crit.map(|theta| -(-law.lambda(theta)).exp_m1()),
        })
    }
}

/// Facts about a horizon beside its columns.
struct Measured {
    counts: Vec<usize>,
    dims: Vec<usize>,
    /// δ and seed of a draw.
    source: (Option<f64>, Option<u64>),
    /// η and τ.
    rates: (f64, f64),
    started: Instant,
    backend: String,
}

impl Measured {
    /// `name` gives the caller's index of a token; `weight` draws the witness's weight again.
    fn report(
        self,
        horizon: &Horizon,
        name: impl Fn(usize) -> usize,
        weight: impl Fn(usize, (usize, usize), f64) -> Result<f64>,
    ) -> Result<HorizonReport> {
        let (eta, tau) = self.rates;
        let exact_updates = horizon.exact_updates(eta, tau);
        let theta = |layer: u64| ((eta * tau).ln_1p() * layer as f64).exp();
        let witness = match (horizon.first(), exact_updates) {
            (Some((head, first)), Some(layer)) => Some(HorizonWitness {
                layer,
                theta: theta(layer),
                head,
                column: name(first.column),
                row: name(first.row),
                weight: weight(head, (first.column, first.row), theta(layer))?,
                kind: first.kind,
            }),
            _ => None,
        };
        let layers = 0..=exact_updates.unwrap_or(0).saturating_add(LAYERS_AFTER);
        let broken =
            layers.map(|layer| BrokenAtLayer { layer, theta: theta(layer), columns: horizon.broken(theta(layer)) });
        let wall_s = self.started.elapsed().as_secs_f64();
        let tokens = self.counts.iter().sum::<usize>() as f64;
        let flops = tokens * tokens * self.dims.iter().sum::<usize>() as f64;
        Ok(HorizonReport {
            counts: self.counts,
            dims: self.dims,
            delta: self.source.0,
            eta,
            tau,
            seed: self.source.1,
            theta_crit: Some(horizon.theta()).filter(|t| t.is_finite()),
            exact_updates,
            witness,
            broken: broken.collect(),
            redecided: horizon.redecided(),
            backend: self.backend,
            wall_s,
            gflops: flops / wall_s / 1e9,
            version: env!("CARGO_PKG_VERSION"),
        })
    }
}
