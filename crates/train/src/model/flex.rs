//! Values of tensors on burn's CPU backend.

use attnlab_theory::attention::streaming::Exp;
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

pub(super) fn tensor<T: Number>(values: Vec<T>, shape: impl Into<Vec<usize>>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape.into()))
}
