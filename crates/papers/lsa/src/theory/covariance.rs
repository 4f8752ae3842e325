//! Covariances Λ with their principal axes.

use attnlab_core::error::{self, Error, Result, require_shape};
use attnlab_core::linalg::symmetric_eigen;
use ndarray::{Array1, Array2};

/// A symmetric positive definite matrix Λ = Q diag(λ) Qᵀ.
#[derive(Clone, Debug, PartialEq)]
pub struct Covariance {
    matrix: Array2<f64>,
    values: Array1<f64>,
    axes: Array2<f64>,
}

impl Covariance {
    /// Covariance with this matrix.
    ///
    /// # Errors
    /// A matrix that is not square, finite, symmetric and positive definite, with the entry or the
    /// eigenvalue that shows it.
    ///
    /// ```
    /// use attnlab_lsa::theory::Covariance;
    /// use ndarray::array;
    /// assert_eq!(Covariance::new(array![[2.0, 1.0], [1.0, 2.0]])?.trace(), 4.0);
    /// let error = Covariance::new(array![[1.0, 2.0], [2.0, 1.0]]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "covariance = an eigenvalue -1: must be a symmetric matrix with eigenvalues > 0"
    /// );
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn new(matrix: Array2<f64>) -> Result<Self> {
        let (rows, columns) = matrix.dim();
        require_shape(rows == columns && rows > 0, "covariance", matrix.dim(), "a square matrix")?;
        let named = |i: usize, j: usize| format!("covariance[{i}][{j}]");
        if let Some(((i, j), x)) = matrix.indexed_iter().find(|(_, x)| !x.is_finite()) {
            return Err(Error::invalid(named(i, j), x, "must be a finite number"));
        }
        let largest = matrix.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        for ((i, j), x) in matrix.indexed_iter() {
            // What rounding leaves of symmetry in a matrix that someone computed.
            if (x - matrix[[j, i]]).abs() > 1e-12 * largest {
                let allowed = format!("must be a symmetric matrix: [{j}][{i}] is {}", matrix[[j, i]]);
                return Err(Error::invalid(named(i, j), x, allowed));
            }
        }
        let (values, axes) = symmetric_eigen(matrix.view())?;
        // Below this an eigenvalue is indistinguishable from 0.
        let zero = rows as f64 * f64::EPSILON * largest;
        if let Some(bad) = values.iter().find(|l| **l <= zero) {
            let allowed = "must be a symmetric matrix with eigenvalues > 0";
            // As many digits as mean something.
            let value = format!("an eigenvalue {}", (bad / largest * 1e9).round() * 1e-9 * largest);
            return Err(Error::invalid("covariance", value, allowed));
        }
        Ok(Covariance { matrix, values, axes })
    }

    /// The diagonal matrix with these entries.
    ///
    /// # Errors
    /// No entries, or one that is not positive and finite.
    pub fn diagonal(values: &[f64]) -> Result<Self> {
        error::require(!values.is_empty(), "covariance", "[]", "must be at least one entry")?;
        for (i, value) in values.iter().enumerate() {
            error::positive(&format!("covariance[{i}][{i}]"), *value)?;
        }
        let values = Array1::from(values.to_vec());
        Ok(Covariance { matrix: Array2::from_diag(&values), axes: Array2::eye(values.len()), values })
    }

    /// Covariance Q diag(λ) Qᵀ for an orthogonal Q (d, d).
    ///
    /// # Errors
    /// As [`Covariance::diagonal`], or a Q of another shape.
    pub fn with_axes(values: &[f64], axes: Array2<f64>) -> Result<Self> {
        let mut covariance = Covariance::diagonal(values)?;
        let expected = format!("{:?}, one row and column per value", covariance.axes.dim());
        require_shape(axes.dim() == covariance.axes.dim(), "axes", axes.dim(), expected)?;
        covariance.axes = axes;
        covariance.matrix = covariance.with_values(&covariance.values);
        Ok(covariance)
    }

    /// Dimension d.
    pub fn dim(&self) -> usize {
        self.values.len()
    }

    /// Matrix Λ (d, d).
    pub fn matrix(&self) -> &Array2<f64> {
        &self.matrix
    }

    /// Eigenvalues λ (d).
    pub fn values(&self) -> &Array1<f64> {
        &self.values
    }

    /// Principal axes Q (d, d), as columns.
    pub fn axes(&self) -> &Array2<f64> {
        &self.axes
    }

    /// Trace tr Λ.
    pub fn trace(&self) -> f64 {
        self.values.sum()
    }

    /// The matrix with these eigenvalues (d) on the same axes.
    pub fn with_values(&self, values: &Array1<f64>) -> Array2<f64> {
        (&self.axes * values).dot(&self.axes.t())
    }

    /// Covariance cΛ.
    ///
    /// # Errors
    /// When c is not a finite number > 0.
    pub fn scaled(&self, c: f64) -> Result<Self> {
        error::positive("scale", c)?;
        Ok(Covariance { matrix: &self.matrix * c, values: &self.values * c, axes: self.axes.clone() })
    }
}
