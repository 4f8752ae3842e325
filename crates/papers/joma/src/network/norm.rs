//! Layer normalisation of columns.

use super::layout::NormSlots;
use attnlab_core::linalg::Real;
use ndarray::Array2;

/// ε added to the variance, as in the authors' networks.
const EPSILON: f64 = 1e-5;

/// Parts of a normalisation that its derivative needs.
pub struct NormPass<T> {
    /// Columns of mean 0 and variance 1, before gain and shift.
    normalised: Array2<T>,
    /// 1 / standard deviation of every column.
    inverse: Vec<T>,
    /// Columns after gain and shift.
    pub output: Array2<T>,
}

impl<T: Real> NormPass<T> {
    /// Normalises every column of `x` (d, T).
    pub fn forward(slots: NormSlots, flat: &[T], x: Array2<T>) -> Self {
        let d = T::of_f64(x.nrows() as f64);
        let mut normalised = x;
        let mut inverse = Vec::with_capacity(normalised.ncols());
        for mut column in normalised.columns_mut() {
            let mean = column.sum() / d;
            column.mapv_inplace(|x| x - mean);
            let scale = T::one() / (column.fold(T::zero(), |sum, x| sum + *x * *x) / d + T::of_f64(EPSILON)).sqrt();
            column.mapv_inplace(|x| x * scale);
            inverse.push(scale);
        }
        let mut output = &normalised * &slots.gain.of(flat);
        output += &slots.shift.of(flat);
        NormPass { normalised, inverse, output }
    }

    /// Adds the derivatives by gain and shift to `gradient`, and returns that by the input.
    pub fn backward(&self, slots: NormSlots, flat: &[T], mut upstream: Array2<T>, gradient: &mut [T]) -> Array2<T> {
        let d = T::of_f64(upstream.nrows() as f64);
        for (column, normalised) in upstream.columns().into_iter().zip(self.normalised.columns()) {
            for ((sum, g), x) in slots.gain.slice_mut(gradient).iter_mut().zip(column).zip(normalised) {
                *sum += *g * *x;
            }
            for (sum, g) in slots.shift.slice_mut(gradient).iter_mut().zip(column) {
                *sum += *g;
            }
        }
        upstream *= &slots.gain.of(flat);
        let columns = upstream.columns_mut().into_iter();
        for ((mut column, x), scale) in columns.zip(self.normalised.columns()).zip(&self.inverse) {
            let mean = column.sum() / d;
            let along = column.dot(&x) / d;
            column.iter_mut().zip(x).for_each(|(g, x)| *g = *scale * (*g - mean - along * *x));
        }
        upstream
    }
}
