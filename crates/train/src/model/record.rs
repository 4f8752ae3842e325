//! Activations by name.

use super::parameters::read;
use attnlab_core::error::{Error, Result};
use burn::tensor::Tensor;
use ndarray::{Array2, ArrayView2};

/// Activations of a forward pass: those whose names end with one of the chosen endings.
///
/// Names: `embedding`; per block l `blocks.l.normed` (the input of attention), `blocks.l.weights` (batch,
/// head, query, key), `blocks.l.heads` (outputs of the heads side by side), `blocks.l.attention` (its
/// update), `blocks.l.mlp`, `blocks.l.output`; `final`.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    endings: Vec<String>,
    activations: Vec<RecordedActivation>,
}

/// An activation with its name.
#[derive(Clone, Debug)]
pub struct RecordedActivation {
    /// Name, such as `blocks.3.output`.
    pub name: String,
    /// Shape: (batch, tokens, width), or (batch, head, query, key) for weights.
    pub shape: Vec<usize>,
    /// Values, last index fastest.
    pub values: Vec<f64>,
}

impl Recording {
    /// Creates an empty recording that keeps activations whose names end with one of these; `""` keeps all.
    pub fn keeping<'a>(endings: impl IntoIterator<Item = &'a str>) -> Self {
        Recording { endings: endings.into_iter().map(str::to_string).collect(), activations: vec![] }
    }

    /// Returns the activations, in the order of the forward pass.
    pub fn activations(&self) -> &[RecordedActivation] {
        &self.activations
    }

    /// Returns the activation of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`] when it was not kept, with the names that were.
    pub fn get(&self, name: &str) -> Result<&RecordedActivation> {
        let known = || self.activations.iter().map(|a| a.name.as_str());
        let unknown = || Error::unknown("activation", name, known());
        self.activations.iter().find(|a| a.name == name).ok_or_else(unknown)
    }

    pub(super) fn keep<const D: usize>(&mut self, name: &str, tensor: &Tensor<D>) -> Result<()> {
        self.keep_computed(name, || tensor.clone())
    }

    /// Keeps a tensor that is computed only if it is asked for.
    pub(super) fn keep_computed<const D: usize>(
        &mut self,
        name: &str,
        tensor: impl FnOnce() -> Tensor<D>,
    ) -> Result<()> {
        if self.endings.iter().any(|e| name.ends_with(e.as_str())) {
            let tensor = tensor();
            self.activations.push(RecordedActivation {
                name: name.to_string(),
                shape: tensor.dims().to_vec(),
                values: read(&tensor)?,
            });
        }
        Ok(())
    }
}

impl RecordedActivation {
    /// Returns the tokens of sequence `b` as columns, (width, tokens).
    ///
    /// # Errors
    /// [`Error::Shape`] when the shape is not (batch, tokens, width), or there is no such sequence.
    pub fn tokens(&self, b: usize) -> Result<Array2<f64>> {
        let fail = || Error::shape(self.name.as_str(), &self.shape, format!("(batch, tokens, width) with batch > {b}"));
        let [batch, n, d] = self.shape.as_slice() else { return Err(fail()) };
        if b >= *batch {
            return Err(fail());
        }
        let rows = &self.values[b * n * d..(b + 1) * n * d];
        Ok(ArrayView2::from_shape((*n, *d), rows).map_err(|_| fail())?.reversed_axes().to_owned())
    }
}
