//! Values of tensors on burn's CPU backend, and their sums in a fixed order.

use attnlab_theory::attention::streaming::{Exp, LANES, fold_lanes};
use burn::backend::flex::FlexTensor;
use burn::tensor::{Element, TensorData};

/// Floating-point type of burn and of the kernels. Networks compute in f32, tests of derivatives in f64.
pub(super) trait Number: Exp + Element {
    /// Returns the values of a contiguous tensor of this type.
    fn values(tensor: &FlexTensor) -> Option<&[Self]>;
}

impl Number for f32 {
    fn values(tensor: &FlexTensor) -> Option<&[f32]> {
        tensor.as_slice()
    }
}

impl Number for f64 {
    fn values(tensor: &FlexTensor) -> Option<&[f64]> {
        tensor.as_slice()
    }
}

/// Returns the values of a contiguous tensor, whose type the caller has looked at.
pub(super) fn values<T: Number>(tensor: &FlexTensor) -> &[T] {
    T::values(tensor).expect("a contiguous tensor of this type")
}

/// Calls a function at the floating-point type of a tensor.
macro_rules! at_type_of {
    ($tensor:expr, $function:ident($($argument:expr),*)) => {
        match $tensor.dtype() {
            burn::tensor::DType::F64 => $function::<f64>($($argument),*),
            _ => $function::<f32>($($argument),*),
        }
    };
}
pub(super) use at_type_of;

/// Computes Σ_i f(a_i, b_i) in a fixed number of lanes.
#[inline(always)]
pub(super) fn sum<T: Exp>(a: &[T], b: &[T], f: impl Fn(T, T) -> T) -> T {
    let mut lanes = [T::zero(); LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            lanes[l] += f(a[l], b[l]);
        }
    }
    for (l, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        lanes[l] += f(*a, *b);
    }
    fold_lanes(lanes)
}

pub(super) fn tensor<T: Number>(values: Vec<T>, shape: impl Into<Vec<usize>>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape.into()))
}
