//! The depth horizon of AoT Theorem 1 on one draw: the depth up to which the block-diagonal pattern holds.
//!
//! As long as the pattern of AoT Eq. (30) holds, a layer multiplies the coefficients a_i of the tokens of cluster k by
//! 1 + ητ in their own head and changes nothing else. After l layers the scores of head k are therefore M_k(θ) of AoT
//! Eq. (26) at θ = θ_l = (1 + ητ)^l, with s_ij = <y_i, y_j> the scores of the draw itself:
//!
//! | column j | key i in C_k | other key i |
//! |---|---|---|
//! | in C_k (signal) | θ² s_ij | θ s_ij |
//! | not in C_k (noise) | θ s_ij | s_ij |
//!
//! The pattern makes two statements about φ = h∘softmax: in a signal column the token itself gets weight τ and every
//! other key 0; in a noise column every key gets 0. Each column j of each head has a first θ ≥ 1 at which its statement
//! fails, its break. The least of these θ is θ_crit: update l is exact as long as θ_l < θ_crit.
//!
//! [`plain`] is the definition in f64 with the whole score matrix in memory;
//! [`streaming::horizon`](super::streaming::horizon) computes the same at about the cost of one layer.

mod column;

pub(crate) use column::Column;

use attnlab_core::error::{Result, require};
use attnlab_core::linalg::product;
use ndarray::ArrayView2;
use serde::Serialize;
use std::ops::Range;

/// Kind of break: the way in which a column leaves the pattern of AoT Eq. (30).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakKind {
    /// A noise column gives a signal key a weight above τ: the failure of AoT Lemma 3, Case 2.
    Captured,
    /// A noise column gives a noise key (most often itself) a weight above τ.
    NoiseKept,
    /// A signal column gives itself τ or less; this happens at θ = 1 or never.
    SelfLost,
    /// A signal column gives another key a weight above τ (possible only for τ < 1/2).
    Distracted,
}

/// First break of one column of one head.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Break {
    /// Infimum of the θ ≥ 1 at which the column is outside the pattern.
    pub theta: f64,
    /// Index of the token whose column breaks.
    pub column: usize,
    /// Index of the key whose weight crosses τ.
    pub row: usize,
    /// Weight of that key at `theta`: τ up to rounding, unless the column is broken at θ = 1 already.
    pub weight: f64,
    /// Kind of the break.
    pub kind: BreakKind,
}

/// Bounds on the first break θ_j of one column, `low ≤ θ_j ≤ high`, and the best estimate `value`.
///
/// A column that never breaks has all three infinite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bracket {
    /// Lower bound: the column keeps the pattern below this θ.
    pub low: f64,
    /// Best estimate of θ_j.
    pub value: f64,
    /// Upper bound: the column is broken somewhere at or before this θ.
    pub high: f64,
}

impl Bracket {
    /// Makes a bracket from a value known to rounding.
    pub fn exact(theta: f64) -> Self {
        Bracket { low: theta, value: theta, high: theta }
    }

    /// Makes the bracket of a column whose first break is known; `None` if it never breaks.
    pub(crate) fn of_break(first_break: Option<Break>) -> Self {
        Bracket::exact(first_break.map_or(f64::INFINITY, |b| b.theta))
    }
}

/// The horizon of one head.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadHorizon {
    /// Bounds on the first break of every column.
    pub theta: Vec<Bracket>,
    /// Exact first break of the head; `None` if no column ever breaks. Among columns that break at the
    /// same θ (most often at 1) it is the one with the smallest index.
    pub first: Option<Break>,
    /// Number of columns that were decided again in f64 to make `first` exact.
    pub redecided: usize,
}

/// Returns the earlier of two breaks of one head; at the same θ, the one with the smaller column.
pub(crate) fn earlier(a: Break, b: Break) -> Break {
    if (b.theta, b.column) < (a.theta, a.column) { b } else { a }
}

/// Horizon of a draw: all heads together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Horizon {
    /// Horizons of the heads, in their order.
    pub heads: Vec<HeadHorizon>,
}

/// Number of columns outside the pattern at some θ: exact when `low == high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenColumns {
    /// Number of columns that are certainly broken at or before θ.
    pub low: usize,
    /// Number by the best estimate of each column.
    pub value: usize,
    /// Number of columns that are possibly broken.
    pub high: usize,
}

impl Horizon {
    /// Returns the first break and its head; at the same θ, the smaller head.
    pub fn first(&self) -> Option<(usize, Break)> {
        let breaks = self.heads.iter().enumerate().filter_map(|(k, head)| head.first.map(|b| (k, b)));
        breaks.reduce(|a, b| if b.1.theta < a.1.theta { b } else { a })
    }

    /// Returns θ_crit, infinite if the pattern never breaks.
    pub fn theta(&self) -> f64 {
        self.first().map_or(f64::INFINITY, |(_, b)| b.theta)
    }

    /// Counts the layers l = 0, 1, .. whose update is exactly that of AoT Theorem 1; `None` if all are.
    /// See [`exact_updates`].
    pub fn exact_updates(&self, eta: f64, tau: f64) -> Option<u64> {
        exact_updates(self.theta(), eta, tau)
    }

    /// Counts the columns over all heads that have left the pattern at or before `theta`.
    pub fn broken(&self, theta: f64) -> BrokenColumns {
        let columns = || self.heads.iter().flat_map(|head| &head.theta);
        let count = |of: fn(&Bracket) -> f64| columns().filter(|b| of(b) <= theta).count();
        BrokenColumns { low: count(|b| b.high), value: count(|b| b.value), high: count(|b| b.low) }
    }

    /// Counts the columns that were decided again in f64.
    pub fn redecided(&self) -> usize {
        self.heads.iter().map(|head| head.redecided).sum()
    }
}

/// Counts the layers whose update is exact when the pattern breaks at `theta_crit`. Layer l works at θ_l
/// = (1+ητ)^l and is exact iff θ_l < θ_crit, so the number is ⌈log θ_crit / log(1+ητ)⌉; `None` if no
/// layer ever breaks. The number is a lower bound if the broken column returns to the pattern strictly
/// between two layers, which is possible only for noise keys and scores of a few tokens.
///
/// ```
/// use attnlab_theory::attention::horizon::exact_updates;
/// assert_eq!(exact_updates(5.16, 0.5, 0.55), Some(7)); // 1.275^6 = 4.30 < 5.16 <= 1.275^7 = 5.48
/// assert_eq!(exact_updates(1.0, 0.5, 0.55), Some(0));
/// assert_eq!(exact_updates(f64::INFINITY, 0.5, 0.55), None);
/// ```
pub fn exact_updates(theta_crit: f64, eta: f64, tau: f64) -> Option<u64> {
    let rate = (eta * tau).ln_1p();
    if theta_crit == f64::INFINITY || rate <= 0.0 && theta_crit > 1.0 {
        return None;
    }
    let layers = (theta_crit.ln() / rate).max(0.0).ceil();
    // A quotient of logarithms may be off by a rounding at a whole number, so the definition decides.
    let exact = |layers: f64| (rate * layers).exp() < theta_crit;
    if layers >= 1.0 && !exact(layers - 1.0) {
        Some(layers as u64 - 1)
    } else if layers < 1e15 && exact(layers) {
        Some(layers as u64 + 1)
    } else {
        Some(layers as u64)
    }
}

/// Checks that τ is in (0, 1] and that the cluster is a range of tokens.
pub(crate) fn validate(tokens: usize, own: &Range<usize>, tau: f64) -> Result<()> {
    require(tau > 0.0 && tau <= 1.0, "tau", tau, "must be a number in (0, 1]")?;
    let allowed = format!("must be a non-empty range within the {tokens} tokens");
    require(!own.is_empty() && own.end <= tokens, "own", format!("{own:?}"), allowed)
}

/// Computes the horizon of one head by the plain definition. `y` (p, N) holds the coefficients U_kᵀZ of
/// the draw, `own` the tokens of cluster k. The function keeps N² numbers in memory.
///
/// # Errors
/// If τ is outside (0, 1], `own` is not a range of tokens, or a coefficient is not finite.
///
/// ```
/// use attnlab_theory::attention::horizon::{BreakKind, plain};
/// use ndarray::array;
/// // One signal token a = 3 and one noise token e = 1 in one dimension. The noise column has the
/// // scores 3 theta and 1: the signal's weight 1/(1 + e^{1 - 3 theta}) exceeds tau = 0.9 from
/// // theta = (1 + log 9) / 3 on.
/// let head = plain(array![[3.0, 1.0]].view(), 0..1, 0.9)?;
/// let first = head.first.unwrap();
/// assert!((first.theta - (1.0 + 9.0_f64.ln()) / 3.0).abs() < 1e-14);
/// assert_eq!((first.column, first.row, first.kind), (1, 0, BreakKind::Captured));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn plain(y: ArrayView2<f64>, own: Range<usize>, tau: f64) -> Result<HeadHorizon> {
    validate(y.ncols(), &own, tau)?;
    require(y.iter().all(|x| x.is_finite()), "y", "NaN or infinite", "must be finite numbers")?;
    let scores = product(y.t(), y);
    let break_of = |(j, column): (usize, ndarray::ArrayView1<f64>)| {
        let scores = column.to_vec();
        Column::new(&scores, &own, j).first_break(tau)
    };
    let breaks: Vec<Option<Break>> = scores.columns().into_iter().enumerate().map(break_of).collect();
    let theta = breaks.iter().map(|b| Bracket::of_break(*b)).collect();
    Ok(HeadHorizon { theta, first: breaks.into_iter().flatten().reduce(earlier), redecided: 0 })
}
