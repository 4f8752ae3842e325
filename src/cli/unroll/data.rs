//! The user's own tokens, bases and labels, checked against each other.

use super::npy;
use crate::error::{Error, Result};
use crate::linalg::orthonormality_defect;
use ndarray::Array2;
use std::path::{Path, PathBuf};

/// Largest accepted entry of |UᵀU - I|. A QR factor in float32 leaves about 1e-6; at a defect ε the
/// projection that defines the SNR leaks ε of the signal into the noise, so that an SNR beyond
/// 1/ε = 10^5 could not be measured.
const DEFECT: f64 = 1e-5;

/// Tokens Z (d, N), bases U_k (d, p_k), labels (N).
pub struct Data {
    /// Z (d, N).
    pub tokens: Array2<f64>,
    /// U_k (d, p_k), each with orthonormal columns.
    pub bases: Vec<Array2<f64>>,
    /// Cluster of each token, from 0.
    pub labels: Vec<usize>,
    /// What the user should know, though it is no error.
    pub warnings: Vec<String>,
}

impl Data {
    /// Reads and checks everything.
    ///
    /// # Errors
    /// As the readers, and when shapes do not fit together or a basis is not orthonormal.
    pub fn read(tokens: &Path, bases: &[PathBuf], labels: &Path) -> Result<Data> {
        let z = npy::matrix("tokens", tokens)?;
        let (d, n) = z.dim();
        let mut all = vec![];
        for (k, path) in bases.iter().enumerate() {
            let name = format!("bases[{k}]");
            let u = npy::matrix(&name, path)?;
            check_basis(&name, &u, d)?;
            all.push(u);
        }
        let total: usize = all.iter().map(|u| u.ncols()).sum();
        if total > d {
            let allowed = format!("at most d = {d} columns in all: they cannot be orthogonal");
            return Err(Error::invalid("columns of the bases", total, allowed));
        }
        let y = npy::labels(labels, all.len())?;
        if y.len() != n {
            let expected = format!("({n},), one label per token");
            return Err(Error::shape("labels", (y.len(),), expected));
        }
        let warnings = warnings(&all, &y);
        Ok(Data {
            tokens: z,
            bases: all,
            labels: y,
            warnings,
        })
    }
}

fn check_basis(name: &str, u: &Array2<f64>, d: usize) -> Result<()> {
    if u.nrows() != d {
        let expected = format!("(d, p) with d = {d} as the tokens have");
        return Err(Error::shape(name, u.dim(), expected));
    }
    if u.ncols() > d {
        let expected = format!("at most d = {d} columns");
        return Err(Error::shape(name, u.dim(), expected));
    }
    let defect = orthonormality_defect(std::slice::from_ref(u));
    if defect > DEFECT {
        return Err(Error::invalid(
            format!("|U'U - I| of {name}"),
            format!("{defect:.1e}"),
            format!(
                "at most {DEFECT:.0e}: the SNR needs orthonormal columns, such as \
                 numpy.linalg.qr(u)[0]"
            ),
        ));
    }
    Ok(())
}

fn warnings(bases: &[Array2<f64>], labels: &[usize]) -> Vec<String> {
    let mut warnings = vec![];
    let defect = orthonormality_defect(bases);
    if defect > DEFECT {
        warnings.push(format!(
            "the bases are not orthogonal to each other (largest |U_k'U_l| = {defect:.1e}): the \
             theorem's setting (7) does not hold"
        ));
    }
    for k in 0..bases.len() {
        if !labels.contains(&k) {
            warnings.push(format!("no token has the label {k}: its SNR is undefined"));
        }
    }
    warnings
}
