//! The device and the precision in which a network computes.

use attnlab_core::error::{Error, Result};
use burn::tensor::{DType, Device, Int, Tensor, TensorCreationOptions, TensorData};
#[cfg(feature = "gpu")]
use std::sync::{Mutex, PoisonError};

/// A device and a floating-point type.
#[derive(Clone, Debug)]
pub struct ComputeDevice {
    device: Device,
    dtype: DType,
    name: &'static str,
    /// Flag: attention is one operation, and so is a norm.
    pub(super) fuses: bool,
}

impl ComputeDevice {
    /// Returns the CPU in f32, in which networks are trained.
    pub fn cpu() -> Self {
        ComputeDevice { device: Device::flex(), dtype: DType::F32, name: "cpu", fuses: true }
    }

    /// Returns the CPU in f64, for tests of derivatives.
    pub fn cpu_f64() -> Self {
        ComputeDevice { dtype: DType::F64, ..ComputeDevice::cpu() }
    }

    /// Returns the device with attention and norms as graphs of primitive operations, as on a GPU: the
    /// reference of the CPU's fused operations in tests and timings.
    pub fn unfused(self) -> Self {
        ComputeDevice { fuses: false, ..self }
    }

    /// Opens the GPU through wgpu, in f32.
    ///
    /// # Errors
    /// [`Error::Gpu`] where there is no adapter, with what to do about it.
    #[cfg(feature = "gpu")]
    pub fn gpu() -> Result<Self> {
        static OPEN: Mutex<bool> = Mutex::new(false);
        let device = Device::wgpu(burn::tensor::DeviceKind::DefaultDevice);
        // One thread at a time: a driver (NVIDIA 580) crashes where several open the card at once.
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if !*open {
            // burn panics without an adapter, so our own kernels look for one first.
            attnlab_gpu::Gpu::open(&attnlab_gpu::Options::default())?;
            // burn opens the card with the first tensor.
            let first: Tensor<1> = Tensor::from_data(TensorData::new(vec![0.0_f32], [1]), &device);
            drop(first.into_data());
            *open = true;
        }
        Ok(ComputeDevice { device, dtype: DType::F32, name: "gpu", fuses: false })
    }

    /// Reads "cpu", or "gpu" where it is built in.
    ///
    /// # Errors
    /// [`Error::Unknown`] for another name, [`Error::Invalid`] for "gpu" in a build without it.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "cpu" => Ok(ComputeDevice::cpu()),
            #[cfg(feature = "gpu")]
            "gpu" => ComputeDevice::gpu(),
            #[cfg(not(feature = "gpu"))]
            "gpu" => {
                let allowed = "must be cpu in this build. For a GPU build with --features train-gpu";
                Err(Error::invalid("backend", name, allowed))
            }
            _ => Err(Error::unknown("backend", name, ["cpu", "gpu"])),
        }
    }

    /// Returns the name in settings.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn is_f64(&self) -> bool {
        self.dtype == DType::F64
    }

    pub(crate) fn options(&self) -> TensorCreationOptions {
        (&self.device, self.dtype).into()
    }

    /// Moves numbers, last index fastest, to a tensor on the device, without derivatives.
    pub fn tensor<const D: usize>(&self, values: Vec<f64>, shape: [usize; D]) -> Tensor<D> {
        Tensor::from_data(TensorData::new(values, shape), self.options())
    }

    /// Moves token ids to a tensor (batch, tokens) on the device.
    pub fn token_ids(&self, values: Vec<i64>, shape: [usize; 2]) -> Tensor<2, Int> {
        Tensor::from_data(TensorData::new(values, shape), &self.device)
    }
}
