//! Random subspaces: Haar-distributed bases, and sets of bases with a chosen coherence.

use super::{column_major, product, qr_q};
use crate::error::{Error, Result, require};
use crate::rng::Generator;
use ndarray::{Array2, ShapeBuilder, s};
use rand_distr::{Distribution, StandardNormal};

/// Draws a (d, p) matrix of independent standard normals, column by column.
pub fn normal_matrix(d: usize, p: usize, rng: &mut Generator) -> Array2<f64> {
    let mut a = Array2::zeros((d, p).f());
    for mut column in a.columns_mut() {
        column.mapv_inplace(|_: f64| StandardNormal.sample(rng));
    }
    a
}

/// Draws a Haar-distributed orthonormal basis U (d, p): the factor Q of a normal matrix with fixed signs.
///
/// # Errors
/// If p is 0 or larger than d.
///
/// ```
/// use attnlab_core::linalg::{haar_basis, product};
/// use attnlab_core::rng::Streams;
/// let u = haar_basis(7, 3, &mut Streams::new(1, "doc", 0, 0).part("basis", 0)).unwrap();
/// let gram = product(u.t(), u.view());
/// assert!((gram[[0, 0]] - 1.0).abs() < 1e-14 && gram[[0, 1]].abs() < 1e-14);
/// ```
pub fn haar_basis(d: usize, p: usize, rng: &mut Generator) -> Result<Array2<f64>> {
    require((1..=d).contains(&p), "dim", p, format!("must be a whole number from 1 to ambient = {d}"))?;
    qr_q(normal_matrix(d, p, rng).view())
}

/// Draws bases U_k (d, p_k) with `[U_1 .. U_K]` orthonormal, jointly Haar-distributed (AoT Eq. 7).
///
/// # Errors
/// If the dimensions add up to more than d.
pub fn orthonormal_bases(d: usize, dims: &[usize], rng: &mut Generator) -> Result<Vec<Array2<f64>>> {
    let total: usize = dims.iter().sum();
    let allowed = format!("must be at least {total}, the sum of the subspace dimensions");
    require(total <= d, "ambient", d, allowed)?;
    let (joint, mut start) = (haar_basis(d, total, rng)?, 0);
    let part = |p: &usize| {
        start += p;
        column_major(joint.slice(s![.., start - p..start]))
    };
    Ok(dims.iter().map(part).collect())
}

/// Draws K bases (d, p) whose mutual principal cosines all equal c = `coherence`: U_kᵀU_l = c·I for k ≠
/// l. With jointly Haar blocks Q_0, .., Q_K: U_k = √c Q_0 + √(1-c) Q_k.
///
/// # Errors
/// If the coherence is outside [0, 1) or d < (K+1) p.
pub fn coherent_bases(
    d: usize,
    p: usize,
    clusters: usize,
    coherence: f64,
    rng: &mut Generator,
) -> Result<Vec<Array2<f64>>> {
    require((0.0..1.0).contains(&coherence), "coherence", coherence, "must be a number in [0, 1)")?;
    let blocks = orthonormal_bases(d, &vec![p; clusters + 1], rng).map_err(|_| {
        let need = (clusters + 1) * p;
        Error::invalid("ambient", d, format!("must be at least {need}; coherent bases need (clusters + 1) dim"))
    })?;
    let (shared, separate) = (coherence.sqrt(), (1.0 - coherence).sqrt());
    Ok(blocks[1..].iter().map(|q| &blocks[0] * shared + q * separate).collect())
}

/// Computes the largest entry of |U_kᵀU_l - δ_kl I| over all pairs: 0 for a jointly orthonormal set.
pub fn orthonormality_defect(bases: &[Array2<f64>]) -> f64 {
    let mut worst = 0.0_f64;
    for (k, a) in bases.iter().enumerate() {
        for (l, b) in bases.iter().enumerate().skip(k) {
            for ((i, j), g) in product(a.t(), b.view()).indexed_iter() {
                let target = if k == l && i == j { 1.0 } else { 0.0 };
                worst = worst.max((g - target).abs());
            }
        }
    }
    worst
}
