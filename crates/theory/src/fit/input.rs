//! Tokens before a fit: refusals, what their storage type can tell, and repeats.

use attnlab_core::error::{Error, Result, require, require_shape};
use attnlab_core::linalg::{product, symmetric_eigen};
use ndarray::{Array2, ArrayView2, Axis};
use std::collections::HashSet;

/// Singular value, relative to the largest, below which a direction is not in the support, whatever the storage type:
/// the squares that the eigenvalues are computed from have errors of √(d · 2^-53) and float64 files often hold float32
/// results of many operations.
pub(super) const SUPPORT: f64 = 1e-6;
/// Factor over the largest singular value that rounding is expected to have.
const MARGIN: f64 = 2.0;
/// Range of the largest entry: products of four entries are taken.
const RANGE: [f64; 2] = [1e-60, 1e60];
/// Share of the energy of all tokens that one token must have to be named.
const SHARE: f64 = 0.5;

/// Significant bits of bfloat16, float16, float32 and float64.
const BITS: [u32; 4] = [8, 11, 24, 53];

/// Refuses tokens that no fit can be computed of.
pub(super) fn validate(tokens: ArrayView2<f64>) -> Result<()> {
    let (d, n) = tokens.dim();
    require_shape(d > 0 && n >= 4, "tokens", (d, n), "(d, N) with at least 4 tokens")?;
    let name = |(i, j): (usize, usize)| format!("tokens[{i}, {j}]");
    if let Some((place, x)) = tokens.indexed_iter().find(|(_, x)| !x.is_finite()) {
        return Err(Error::invalid(name(place), x, "must be a finite number"));
    }
    let largest = tokens.indexed_iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    let Some((place, x)) = largest.filter(|(_, x)| **x != 0.0) else {
        return Err(Error::invalid("tokens", 0, "must not all be zero"));
    };
    let ([low, high], size) = (RANGE, x.abs());
    let allowed = format!(
        "the largest entry must be from {low:.0e} to {high:.0e} in absolute value; \
         products of four entries must be numbers. Divide all tokens by {size:e}"
    );
    require((low..=high).contains(&size), name(place), format!("{x:e}"), allowed)
}

/// Causes in the tokens themselves that no draw of Definition 1 has, one sentence each.
#[derive(Clone, Debug, Default)]
pub(super) struct Causes {
    /// Repeated tokens, which a continuous law has with probability 0.
    pub(super) repeats: Option<String>,
    /// One token that outweighs all others.
    pub(super) outlier: Option<String>,
}

impl Causes {
    /// An error of the fit with the cause in the tokens, if there is one.
    pub(super) fn explain(&self, error: Error) -> Error {
        match self.repeats.as_ref().or(self.outlier.as_ref()) {
            Some(cause) => Error::undefined(format!("{error}: {cause}")),
            None => error,
        }
    }
}

/// Finds repeats and outliers.
pub(super) fn causes(tokens: ArrayView2<f64>) -> Causes {
    let n = tokens.ncols();
    let bits = |token: ndarray::ArrayView1<f64>| token.iter().map(|x| (x + 0.0).to_bits()).collect::<Vec<_>>();
    let distinct = tokens.columns().into_iter().map(bits).collect::<HashSet<_>>().len();
    let repeats = (2 * distinct <= n)
        .then(|| format!("only {distinct} of {n} tokens are different: draws of Definition 1 repeat no token"));
    let energies = tokens.map_axis(Axis(0), |token| token.dot(&token));
    let total = energies.sum();
    let heaviest = energies.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    let outlier = heaviest.filter(|(_, e)| n >= 16 && **e > SHARE * total).map(|(i, e)| {
        let rest = (total - e) / (n - 1) as f64;
        let ratio = if rest > 0.0 { (e / rest).sqrt() } else { f64::INFINITY };
        format!(
            "token {i} is {ratio:.1e} times as long as the others and has {:.3} of the energy of all: leave it out",
            e / total
        )
    });
    Causes { repeats, outlier }
}

/// Rounding errors of stored tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounding {
    /// Mean variance of an entry's error.
    pub(super) variance: f64,
    /// Squared singular value that the errors of all tokens may have together.
    pub(super) energy: f64,
}

/// Computes the size of the rounding errors of tokens (d, N) stored with unit roundoff u; for u = 0 the storage type is
/// told from the numbers, as by [`bits`].
///
/// Rounding to nearest is off by at most u|x|, and by at most half of the least step g that all entries are multiples
/// of (float16 below 6e-5, where g = 2^-24); an error uniform in that range has the variance max(u|x|, g/2)²/3. Errors of
/// different entries are independent, so that their matrix E has a largest singular value of about
/// √(max_j Σ_i Var E_ji) (1 + √(d/N)), the edge of Marchenko and Pastur for rows of the largest energy.
pub(super) fn rounding(tokens: ArrayView2<f64>, roundoff: f64) -> Rounding {
    let (bits, step) = significands(tokens);
    let u = if roundoff > 0.0 { roundoff } else { 0.5_f64.powi(bits as i32) };
    let (d, n) = tokens.dim();
    let half_step = 0.5 * step.min(0.5_f64.powi(24));
    let errors = tokens.mapv(|x| (u * x.abs()).max(half_step).powi(2) / 3.0).sum_axis(Axis(1));
    let largest = errors.iter().copied().fold(0.0, f64::max);
    let edge = 1.0 + (d as f64 / n as f64).sqrt();
    Rounding { variance: errors.sum() / (d * n) as f64, energy: (MARGIN * edge).powi(2) * largest }
}

/// Returns the significant bits of a number type that holds every entry: of bfloat16, float16, float32 or float64.
pub fn bits(tokens: ArrayView2<f64>) -> u32 {
    significands(tokens).0
}

/// The significant bits of a number type that holds every entry, and the largest power of 2 that divides all entries.
fn significands(tokens: ArrayView2<f64>) -> (u32, f64) {
    let (mut most, mut least) = (0, i32::MAX);
    for x in tokens.iter().filter(|x| **x != 0.0) {
        let bits = x.to_bits();
        let (exponent, fraction) = (((bits >> 52) & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let significand = if exponent == 0 { fraction } else { fraction | 1 << 52 };
        let zeros = significand.trailing_zeros();
        most = most.max(64 - significand.leading_zeros() - zeros);
        least = least.min(exponent.max(1) - 1075 + zeros as i32);
    }
    let bits = BITS.into_iter().find(|bits| most <= *bits).unwrap_or(53);
    (bits, 2.0_f64.powi(least.max(-1000)))
}

/// An orthonormal basis (d, r) of the span of tokens (d, N), without what rounding alone may have put there.
pub(super) fn support(tokens: ArrayView2<f64>, rounding: Rounding) -> Result<Array2<f64>> {
    let basis = support_of(tokens, 0.0, rounding)?;
    let allowed = "must differ by more than the rounding of their storage type";
    require(basis.ncols() > 0, "tokens", "all equal", allowed)?;
    match basis.ncols() == tokens.nrows() {
        // The tokens fill the space: no change of coordinates.
        true => Ok(Array2::eye(tokens.nrows())),
        false => Ok(basis),
    }
}

/// The same, with a least squared singular value.
pub(super) fn support_of(tokens: ArrayView2<f64>, least: f64, rounding: Rounding) -> Result<Array2<f64>> {
    let (values, vectors) = symmetric_eigen(product(tokens, tokens.t()).view())?;
    let largest = values.iter().copied().fold(0.0, f64::max);
    let least = least.max(SUPPORT * SUPPORT * largest).max(rounding.energy);
    let support: Vec<usize> = (0..values.len()).filter(|i| values[*i] > least).collect();
    Ok(vectors.select(Axis(1), &support))
}
