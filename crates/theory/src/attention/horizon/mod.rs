//! The depth horizon of AoT Theorem 1 on one draw: how far the block-diagonal pattern really lasts.
//!
//! As long as the pattern (30) holds, a layer multiplies the coefficients a_i of the tokens of
//! cluster k by 1 + ητ in their own head and changes nothing else. After l layers the scores of
//! head k are therefore M_k(θ) of Eq. (26) at θ = θ_l = (1 + ητ)^l, with s_ij = <y_i, y_j> the
//! scores of the draw itself:
//!
//! | column j | key i in C_k | other key i |
//! |---|---|---|
//! | in C_k (signal) | θ² s_ij | θ s_ij |
//! | not in C_k (noise) | θ s_ij | s_ij |
//!
//! The pattern says of φ = h∘softmax: in a signal column the token itself gets τ and nobody else
//! anything; in a noise column nobody gets anything. Each column j of each head has a first θ ≥ 1 at
//! which that breaks. The least of them, θ_crit, decides the depth: update l is exact as long as
//! θ_l < θ_crit.
//!
//! [`plain`] is the definition in f64 with the whole score matrix in memory;
//! [`streaming::horizon`](super::streaming::horizon) finds the same at the price of about one layer.

mod column;

pub(crate) use column::Column;

use attnlab_core::error::{Error, Result};
use attnlab_core::linalg::product;
use ndarray::ArrayView2;
use serde::Serialize;
use std::ops::Range;

/// In which way a column leaves the pattern (30).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakKind {
    /// A noise column gives a signal key a weight above τ: the failure of Lemma 3, Case 2.
    Captured,
    /// A noise column gives a noise key (most often itself) a weight above τ.
    NoiseKept,
    /// A signal column gives itself τ or less: only ever at θ = 1 already.
    SelfLost,
    /// A signal column gives another key a weight above τ (possible only for τ < 1/2).
    Distracted,
}

/// The first break of one column of one head.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Break {
    /// The infimum of the θ ≥ 1 at which the column is outside the pattern.
    pub theta: f64,
    /// Token whose column breaks.
    pub column: usize,
    /// Key whose weight crosses τ.
    pub row: usize,
    /// That weight at `theta`: τ up to rounding, unless the column is broken at θ = 1 already.
    pub weight: f64,
    /// In which way.
    pub kind: BreakKind,
}

/// Bounds on the first break of one column, `low ≤ θ_j ≤ high`, and the best `value`.
///
/// A column that never breaks has all three infinite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bracket {
    /// No break below this θ.
    pub low: f64,
    /// Best estimate.
    pub value: f64,
    /// Broken somewhere at or before this θ.
    pub high: f64,
}

impl Bracket {
    /// A value known to rounding.
    pub fn exact(theta: f64) -> Self {
        Bracket {
            low: theta,
            value: theta,
            high: theta,
        }
    }
}

/// The horizon of one head.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadHorizon {
    /// Bounds on the first break of every column.
    pub theta: Vec<Bracket>,
    /// The first break of all, exact; None when no column ever breaks. Columns that break at the
    /// same θ (at 1, most often) are told apart by the least column.
    pub first: Option<Break>,
    /// Columns that were decided again in f64 to make `first` exact.
    pub redecided: usize,
}

impl HeadHorizon {
    /// From the break of every column.
    fn from_breaks(breaks: Vec<Option<Break>>) -> Self {
        let theta = |b: &Option<Break>| Bracket::exact(b.map_or(f64::INFINITY, |b| b.theta));
        HeadHorizon {
            theta: breaks.iter().map(theta).collect(),
            first: breaks.into_iter().flatten().reduce(earlier),
            redecided: 0,
        }
    }
}

/// The earlier of two breaks of one head; at the same θ, the one with the smaller column.
pub(crate) fn earlier(a: Break, b: Break) -> Break {
    if (b.theta, b.column) < (a.theta, a.column) {
        b
    } else {
        a
    }
}

/// The horizon of a draw: all heads together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Horizon {
    /// Head by head.
    pub heads: Vec<HeadHorizon>,
}

/// Number of columns outside the pattern at some θ: exact when `low == high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenColumns {
    /// Certainly broken at or before θ.
    pub low: usize,
    /// By the best estimate of each column.
    pub value: usize,
    /// Possibly broken.
    pub high: usize,
}

impl Horizon {
    /// The first break and its head; at the same θ, the smaller head.
    pub fn first(&self) -> Option<(usize, Break)> {
        let breaks = self.heads.iter().enumerate();
        let breaks = breaks.filter_map(|(k, head)| head.first.map(|b| (k, b)));
        breaks.reduce(|a, b| if b.1.theta < a.1.theta { b } else { a })
    }

    /// θ_crit, infinite when the pattern never breaks.
    pub fn theta(&self) -> f64 {
        self.first().map_or(f64::INFINITY, |(_, b)| b.theta)
    }

    /// The number of layers l = 0, 1, .. whose update is exactly the theorem's; None when all are.
    /// See [`exact_updates`].
    pub fn exact_updates(&self, eta: f64, tau: f64) -> Option<u64> {
        exact_updates(self.theta(), eta, tau)
    }

    /// Columns over all heads that have left the pattern at or before `theta`.
    pub fn broken(&self, theta: f64) -> BrokenColumns {
        let columns = || self.heads.iter().flat_map(|head| &head.theta);
        let count = |of: fn(&Bracket) -> f64| columns().filter(|b| of(b) <= theta).count();
        BrokenColumns {
            low: count(|b| b.high),
            value: count(|b| b.value),
            high: count(|b| b.low),
        }
    }

    /// Columns that were decided again in f64.
    pub fn redecided(&self) -> usize {
        self.heads.iter().map(|head| head.redecided).sum()
    }
}

/// The number of layers whose update is exact when the pattern breaks at `theta_crit`: layer l works
/// at θ_l = (1+ητ)^l and is exact iff θ_l < θ_crit, so it is ⌈log θ_crit / log(1+ητ)⌉. None when no
/// layer ever breaks. Should the column that broke heal again strictly between two layers (possible
/// only for noise keys and scores of a handful of tokens), it is a lower bound.
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
    // A quotient of logarithms may be off by a rounding at a whole number: ask the definition.
    let exact = |layers: f64| (rate * layers).exp() < theta_crit;
    if layers >= 1.0 && !exact(layers - 1.0) {
        Some(layers as u64 - 1)
    } else if layers < 1e15 && exact(layers) {
        Some(layers as u64 + 1)
    } else {
        Some(layers as u64)
    }
}

/// Refuses what has no horizon: τ outside (0, 1], a cluster outside the tokens, NaN.
pub(crate) fn validate(tokens: usize, own: &Range<usize>, tau: f64) -> Result<()> {
    if !(tau > 0.0 && tau <= 1.0) {
        return Err(Error::invalid("tau", tau, "must be a number in (0, 1]"));
    }
    if own.is_empty() || own.end > tokens {
        let allowed = format!("must be a non-empty range within the {tokens} tokens");
        return Err(Error::invalid("own", format!("{own:?}"), allowed));
    }
    Ok(())
}

/// The horizon of one head by the plain definition: `y` (p, N) holds the coefficients U_kᵀZ of the
/// draw, `own` the tokens of cluster k. Needs N² numbers of memory.
///
/// # Errors
/// When τ is outside (0, 1], `own` is not a range of tokens, or a coefficient is not finite.
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
    if y.iter().any(|x| !x.is_finite()) {
        return Err(Error::invalid(
            "y",
            "NaN or infinite",
            "must be finite numbers",
        ));
    }
    let scores = product(y.t(), y);
    let break_of = |(j, column): (usize, ndarray::ArrayView1<f64>)| {
        let scores = column.to_vec();
        Column::new(&scores, &own, j).first_break(tau)
    };
    let breaks = scores.columns().into_iter().enumerate().map(break_of);
    Ok(HeadHorizon::from_breaks(breaks.collect()))
}
