//! Layer normalisation of columns. Gain and shift are applied to one column after the other, whose entries lie side by side
//! in memory: broadcast over the matrix, they would be read entry by entry.

use super::layout::NormSlots;
use attnlab_core::linalg::Real;
use ndarray::{Array2, ArrayView1, ArrayViewMut1, Zip};

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
        let [gain, shift] = [slots.gain, slots.shift].map(|slot| ArrayView1::from(slot.slice(flat)));
        let mut output = normalised.clone();
        for column in output.columns_mut() {
            Zip::from(column).and(gain).and(shift).for_each(|y, g, s| *y = *y * *g + *s);
        }
        NormPass { normalised, inverse, output }
    }

    /// Adds the derivatives by gain and shift to `gradient`, and returns that by the input.
    pub fn backward(&self, slots: NormSlots, flat: &[T], mut upstream: Array2<T>, gradient: &mut [T]) -> Array2<T> {
        let d = T::of_f64(upstream.nrows() as f64);
        let gain = ArrayView1::from(slots.gain.slice(flat));
        let columns = upstream.columns_mut().into_iter();
        for ((mut column, x), scale) in columns.zip(self.normalised.columns()).zip(&self.inverse) {
            let by_gain = ArrayViewMut1::from(slots.gain.slice_mut(gradient));
            Zip::from(by_gain).and(&column).and(x).for_each(|sum, g, x| *sum += *g * *x);
            ArrayViewMut1::from(slots.shift.slice_mut(gradient)).zip_mut_with(&column, |sum, g| *sum += *g);
            column *= &gain;
            let mean = column.sum() / d;
            let along = column.dot(&x) / d;
            Zip::from(column).and(x).for_each(|g, x| *g = *scale * (*g - mean - along * *x));
        }
        upstream
    }
}
