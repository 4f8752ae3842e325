//! Tokens, bases and labels from outside, checked against each other.

use attnlab_core::error::{Error, Result, require, require_shape};
use attnlab_core::linalg::orthonormality_defect;
use attnlab_networks::npy;
use ndarray::{Array2, ArrayView2};
use std::path::{Path, PathBuf};

/// Largest accepted entry of |UᵀU - I|. A QR factor in float32 leaves about 1e-6; at a defect ε the projection that
/// defines the SNR leaks ε of the signal into the noise, so that an SNR beyond 1/ε = 10^5 could not be measured.
const DEFECT: f64 = 1e-5;

/// Tokens Z (d, N), bases U_k (d, p_k) and labels (N,) that fit together.
#[derive(Clone, Debug)]
pub struct Data {
    /// Z (d, N).
    pub tokens: Array2<f64>,
    /// U_k (d, p_k), each with orthonormal columns.
    pub bases: Vec<Array2<f64>>,
    /// Cluster of each token, from 0.
    pub labels: Vec<usize>,
    /// Oddities that the user should know of, though they are no errors.
    pub warnings: Vec<String>,
}

impl Data {
    /// Checks everything: `bases[k]` must have orthonormal columns, `labels[i]` is the cluster of token i from 0.
    ///
    /// # Errors
    /// When shapes do not fit together, a basis is not orthonormal, or a label has no basis.
    pub fn new(tokens: Array2<f64>, bases: Vec<Array2<f64>>, labels: Vec<usize>) -> Result<Data> {
        let warnings = check(tokens.dim(), &bases, Some(&labels))?;
        Ok(Data { tokens, bases, labels, warnings })
    }

    /// Reads NumPy files, one per basis, and checks everything.
    ///
    /// # Errors
    /// As [`Data::new`]; a file that cannot be read, of another type or shape, or with an entry that is
    /// NaN or infinite (with its place).
    pub fn read(tokens: &Path, bases: &[PathBuf], labels: &Path) -> Result<Data> {
        Data::read_with(npy::matrix("tokens", tokens)?, bases, labels)
    }

    /// Reads bases and labels for tokens Z (d, N), and checks everything.
    ///
    /// # Errors
    /// As [`Data::read`].
    pub fn read_with(tokens: Array2<f64>, bases: &[PathBuf], labels: &Path) -> Result<Data> {
        let basis = |(k, path): (usize, &PathBuf)| npy::matrix(&format!("bases[{k}]"), path);
        let bases: Vec<_> = bases.iter().enumerate().map(basis).collect::<Result<_>>()?;
        let label = |(i, value): (usize, i128)| match usize::try_from(value) {
            Ok(k) if k < bases.len() => Ok(k),
            _ => Err(unknown_label(i, value, bases.len())),
        };
        let labels =
            npy::labels("labels", labels)?.into_iter().enumerate().map(label).collect::<Result<Vec<usize>>>()?;
        Data::new(tokens, bases, labels)
    }

    /// Returns a view of tokens, bases and labels.
    pub fn view(&self) -> Given<'_> {
        Given { tokens: self.tokens.view(), bases: &self.bases, labels: Some(&self.labels) }
    }
}

/// Tokens, bases and labels that [`check`] has accepted, in memory of the caller.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Z (d, N).
    pub tokens: ArrayView2<'a, f64>,
    /// U_k (d, p_k), each with orthonormal columns.
    pub bases: &'a [Array2<f64>],
    /// Cluster of each token, from 0; None: there is no SNR.
    pub labels: Option<&'a [usize]>,
}

/// Checks bases and labels for tokens of shape (d, N), as [`Data::new`] does. Returns [`Data::warnings`].
///
/// # Errors
/// As [`Data::new`].
pub fn check((d, n): (usize, usize), bases: &[Array2<f64>], labels: Option<&[usize]>) -> Result<Vec<String>> {
    for (k, u) in bases.iter().enumerate() {
        check_basis(&format!("bases[{k}]"), u, d)?;
    }
    let total: usize = bases.iter().map(|u| u.ncols()).sum();
    let allowed = format!("must be at most d = {d} columns in all: they cannot be orthogonal");
    require(total <= d, "columns of the bases", total, allowed)?;
    if let Some(labels) = labels {
        if let Some((i, label)) = labels.iter().enumerate().find(|(_, k)| **k >= bases.len()) {
            return Err(unknown_label(i, label, bases.len()));
        }
        require_shape(labels.len() == n, "labels", (labels.len(),), format!("({n},), one label per token"))?;
    }
    Ok(warnings(bases, labels))
}

/// Builds the error of a label that is none of 0 .. clusters.
pub fn unknown_label(token: usize, label: impl std::fmt::Display, clusters: usize) -> Error {
    let allowed = match clusters {
        0 => "must have a basis; there are no bases".to_string(),
        _ => format!("must be a whole number from 0 to {}, one per basis", clusters - 1),
    };
    Error::invalid(format!("labels[{token}]"), label, allowed)
}

fn check_basis(name: &str, u: &Array2<f64>, d: usize) -> Result<()> {
    require_shape(u.nrows() == d, name, u.dim(), format!("(d, p) with d = {d} as the tokens have"))?;
    require_shape(u.ncols() <= d, name, u.dim(), format!("at most d = {d} columns"))?;
    let defect = orthonormality_defect(std::slice::from_ref(u));
    if defect > DEFECT {
        let allowed =
            format!("must be at most {DEFECT:.0e}: the SNR needs orthonormal columns, such as numpy.linalg.qr(u)[0]");
        return Err(Error::invalid(format!("|U'U - I| of {name}"), format!("{defect:.1e}"), allowed));
    }
    Ok(())
}

fn warnings(bases: &[Array2<f64>], labels: Option<&[usize]>) -> Vec<String> {
    let mut warnings = vec![];
    let defect = orthonormality_defect(bases);
    if defect > DEFECT {
        warnings.push(format!(
            "the bases are not orthogonal to each other (largest |U_k'U_l| = {defect:.1e}): the theorem's setting (7) \
             does not hold"
        ));
    }
    let absent = (0..bases.len()).filter(|k| labels.is_some_and(|labels| !labels.contains(k)));
    warnings.extend(absent.map(|k| format!("no token has the label {k}: its SNR is undefined")));
    warnings
}
