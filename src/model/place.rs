//! Where a network computes, and in which precision.

use crate::error::{Error, Result};
use burn::tensor::{DType, Device, Int, Tensor, TensorCreationOptions, TensorData};

/// A device and a floating-point type.
#[derive(Clone, Debug)]
pub struct Place {
    device: Device,
    dtype: DType,
    name: &'static str,
}

impl Place {
    /// The CPU, in f32: what networks are trained in.
    pub fn cpu() -> Self {
        Place {
            device: Device::flex(),
            dtype: DType::F32,
            name: "cpu",
        }
    }

    /// The CPU in f64, for tests of derivatives.
    pub fn cpu_f64() -> Self {
        Place {
            dtype: DType::F64,
            ..Place::cpu()
        }
    }

    /// The GPU through wgpu, in f32.
    ///
    /// # Errors
    /// No adapter, with what to do about it.
    #[cfg(feature = "train-gpu")]
    pub fn gpu() -> Result<Self> {
        // burn panics where there is none; our own kernels look first.
        crate::gpu::Gpu::open(&crate::gpu::Options::default())?;
        Ok(Place {
            device: Device::wgpu(burn::tensor::DeviceKind::DefaultDevice),
            dtype: DType::F32,
            name: "gpu",
        })
    }

    /// "cpu", or "gpu" where it is built in.
    ///
    /// # Errors
    /// Another name, or "gpu" in a build without it.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "cpu" => Ok(Place::cpu()),
            #[cfg(feature = "train-gpu")]
            "gpu" => Place::gpu(),
            #[cfg(not(feature = "train-gpu"))]
            "gpu" => {
                let allowed = "cpu; for a GPU build with --features train-gpu";
                Err(Error::invalid("backend", name, allowed))
            }
            _ => Err(Error::unknown("backend", name, ["cpu", "gpu"])),
        }
    }

    /// Its name in settings.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn is_f64(&self) -> bool {
        self.dtype == DType::F64
    }

    pub(crate) fn options(&self) -> TensorCreationOptions {
        (&self.device, self.dtype).into()
    }

    /// Numbers, last index fastest, as a tensor there. Without derivatives.
    pub fn tensor<const D: usize>(&self, values: Vec<f64>, shape: [usize; D]) -> Tensor<D> {
        Tensor::from_data(TensorData::new(values, shape), self.options())
    }

    /// Token numbers as a tensor there.
    pub fn numbers(&self, values: Vec<i64>, shape: [usize; 2]) -> Tensor<2, Int> {
        Tensor::from_data(TensorData::new(values, shape), &self.device)
    }
}
