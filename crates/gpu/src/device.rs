//! Adapters: their list, choice and limits.

use super::blocks::Portions;
use super::units::{Unit, check};
use super::work::Kernel;
use attnlab_core::error::{Error, Result};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Adapter: its name, kind, limits and features.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdapterReport {
    /// Name in the driver.
    pub name: String,
    /// Kind: "discrete", "integrated", "virtual", "software" or "other".
    pub kind: &'static str,
    /// Interface: "vulkan" or "metal".
    pub interface: String,
    /// Driver and its version.
    pub driver: String,
    /// Size of the largest buffer that a kernel can address at once, in bytes.
    pub largest_binding: u64,
    /// Size of the largest buffer, in bytes.
    pub largest_buffer: u64,
    /// Memory of one workgroup, in bytes.
    pub workgroup_memory: u32,
    /// Smallest and largest subgroup.
    pub subgroup_sizes: [u32; 2],
    /// Flag: kernels can use half precision.
    pub f16: bool,
    /// Flag: kernels can use operations across a subgroup.
    pub subgroups: bool,
    /// Shapes of the matrix units: rows x columns x inner dimension, type of the operands and of the
    /// sums.
    pub cooperative_matrices: Vec<String>,
}

impl AdapterReport {
    fn new(adapter: &wgpu::Adapter) -> Self {
        let (info, limits) = (adapter.get_info(), adapter.limits());
        let features = adapter.features();
        let mut matrices: Vec<_> = adapter
            .cooperative_matrix_properties()
            .iter()
            .map(|m| {
                let (a, c) = (m.ab_type, m.cr_type);
                format!("{}x{}x{} {a:?} -> {c:?}", m.m_size, m.n_size, m.k_size)
            })
            .collect();
        matrices.dedup();
        AdapterReport {
            kind: match info.device_type {
                wgpu::DeviceType::DiscreteGpu => "discrete",
                wgpu::DeviceType::IntegratedGpu => "integrated",
                wgpu::DeviceType::VirtualGpu => "virtual",
                wgpu::DeviceType::Cpu => "software",
                wgpu::DeviceType::Other => "other",
            },
            interface: info.backend.to_string(),
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_string(),
            name: info.name,
            largest_binding: limits.max_storage_buffer_binding_size,
            largest_buffer: limits.max_buffer_size,
            workgroup_memory: limits.max_compute_workgroup_storage_size,
            subgroup_sizes: [info.subgroup_min_size, info.subgroup_max_size],
            f16: features.contains(wgpu::Features::SHADER_F16),
            subgroups: features.contains(wgpu::Features::SUBGROUP),
            cooperative_matrices: matrices,
        }
    }

    /// Returns `true` for a software renderer, such as Mesa's lavapipe.
    pub fn software(&self) -> bool {
        self.kind == "software"
    }

    /// Returns the rank of the adapter: hardware before software, discrete before integrated.
    fn rank(&self) -> usize {
        ["discrete", "integrated", "virtual", "other", "software"]
            .iter()
            .position(|k| *k == self.kind)
            .unwrap_or(usize::MAX)
    }
}

/// Options for the choice and use of a GPU; the default takes the best adapter, software included.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Flag: software renderers are refused.
    pub hardware_only: bool,
    /// Largest binding to use, in bytes, if the adapter allows more.
    pub largest_binding: Option<u64>,
    /// Precision of the operands of scores in passes that end in decisions.
    pub precision: Precision,
}

/// Precision of the operands of scores in passes that end in decisions. Doubtful decisions are repeated
/// in f64, so that results do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Half precision on matrix units, if the adapter has them and they pass a check; otherwise single, and for horizons.
    #[default]
    Auto,
    /// Single precision, f32.
    Single,
    /// Half precision everywhere, for horizons and without matrix units too: slower than single there, for tests.
    Half,
}

/// Lists the adapters, best first. The environment variables of wgpu apply: `WGPU_BACKEND` (vulkan,
/// metal) and `WGPU_ADAPTER_NAME` (a part of the name).
pub fn adapters() -> Vec<AdapterReport> {
    ranked_adapters().into_iter().map(|(report, _)| report).collect()
}

fn ranked_adapters() -> Vec<(AdapterReport, wgpu::Adapter)> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    // The validation layers of debug builds need programs that this library does not install.
    descriptor.flags = wgpu::InstanceFlags::empty().with_env();
    // Other crates of a build may have enabled OpenGL, which these kernels do not support.
    descriptor.backends &= wgpu::Backends::PRIMARY;
    let backends = descriptor.backends;
    let instance = wgpu::Instance::new(descriptor);
    let wanted = std::env::var("WGPU_ADAPTER_NAME").map(|name| name.to_lowercase());
    let mut adapters: Vec<_> = pollster::block_on(instance.enumerate_adapters(backends))
        .into_iter()
        .filter(|a| a.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS))
        .map(|a| (AdapterReport::new(&a), a))
        .filter(|(report, _)| {
            let name = report.name.to_lowercase();
            wanted.as_ref().is_ok_and(|w| name.contains(w)) || wanted.is_err()
        })
        .collect();
    adapters.sort_by_key(|(report, _)| report.rank());
    adapters
}

/// A GPU that is ready to compute.
pub struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    report: AdapterReport,
    largest_binding: u64,
    /// First error outside the result of any call.
    trouble: Arc<Mutex<Option<String>>>,
    pub(super) kernels: Mutex<HashMap<String, Arc<Kernel>>>,
    /// Matrix units with which the device was opened.
    offered: Option<Unit>,
    precision: Precision,
    /// Unit of half precision, or the reason why there is none; determined on first use.
    unit: OnceLock<std::result::Result<Unit, String>>,
}

impl Gpu {
    /// Opens the best adapter.
    ///
    /// # Errors
    /// If there is none, or it cannot be opened.
    pub fn open(options: &Options) -> Result<Gpu> {
        let mut adapters = ranked_adapters();
        if options.hardware_only {
            adapters.retain(|(report, _)| !report.software());
        }
        let Some((report, adapter)) = adapters.into_iter().next() else { return Err(Error::Gpu(none_text())) };
        let wanted = options.precision != Precision::Single;
        let units = matrix_units(&adapter).filter(|_| wanted);
        let offered = adapter.limits();
        let required_limits = wgpu::Limits {
            max_storage_buffer_binding_size: offered.max_storage_buffer_binding_size,
            max_buffer_size: offered.max_buffer_size,
            ..wgpu::Limits::default()
        };
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("attnlab"),
            required_limits,
            required_features: units.map_or(wgpu::Features::empty(), |_| UNITS),
            experimental_features: experiments(units.is_some()),
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|e| Error::Gpu(format!("{} cannot be opened: {e}", report.name)))?;
        let trouble = Arc::new(Mutex::new(None));
        let tell = |trouble: &Arc<Mutex<Option<String>>>| {
            let trouble = trouble.clone();
            move |text: String| {
                unpoisoned(&trouble).get_or_insert(text);
            }
        };
        let (error, lost) = (tell(&trouble), tell(&trouble));
        device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| error(e.to_string())));
        device.set_device_lost_callback(move |reason, text| {
            if reason != wgpu::DeviceLostReason::Destroyed {
                lost(format!("the device was lost: {text}"));
            }
        });
        let limit = options.largest_binding.unwrap_or(u64::MAX);
        let offered = offered.max_storage_buffer_binding_size;
        // The limit is a multiple of 16 bytes, a vector of four numbers.
        let largest_binding = limit.min(offered).min(report.largest_buffer) / 16 * 16;
        Ok(Gpu {
            device,
            queue,
            largest_binding,
            report,
            trouble,
            kernels: Mutex::default(),
            offered: units,
            precision: options.precision,
            unit: OnceLock::new(),
        })
    }

    /// Returns the unit of half precision, if there is one.
    pub(super) fn unit(&self) -> Option<Unit> {
        self.tried().as_ref().ok().copied()
    }

    /// Returns the unit of half precision for horizons: none, unless it was asked for. A horizon brings its tokens, whose
    /// rounding on the host costs more than the products save: on an H100 half precision takes 2.4 times as long.
    pub(super) fn unit_of_horizons(&self) -> Option<Unit> {
        if self.precision == Precision::Half { self.unit() } else { None }
    }

    fn tried(&self) -> &std::result::Result<Unit, String> {
        self.unit.get_or_init(|| {
            let unit = match (self.offered, self.precision) {
                (_, Precision::Single) => return Err("f32".into()),
                (Some(unit), _) => unit,
                (None, Precision::Half) => Unit::Rounded,
                (None, Precision::Auto) => {
                    return Err("f32 (no matrix units for f16 -> f32)".into());
                }
            };
            check(self, unit).map(|()| unit).map_err(|why| {
                // The kernel is not used again, and a lost device reports its error again.
                unpoisoned(&self.trouble).take();
                format!("f32 (its matrix units fail a comparison with f64: {why})")
            })
        })
    }

    /// Describes the arithmetic of scores in passes that end in decisions.
    pub fn products(&self) -> String {
        match self.tried() {
            Ok(Unit::Matrix { size, .. }) => {
                format!("f16 on matrix units of {size} x {size}, sums in f32, compared with f64")
            }
            Ok(Unit::Rounded) => "f32, of numbers rounded to f16".into(),
            Err(why) => why.clone(),
        }
    }

    /// Returns the report on the adapter.
    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    /// Returns the number of bytes that a kernel may address in one buffer.
    pub(super) fn largest_binding(&self) -> u64 {
        self.largest_binding
    }

    /// Returns the size of the work that the device is given at a time.
    pub(super) fn portions(&self) -> Portions {
        if self.report.kind == "discrete" { Portions::LARGE } else { Portions::SMALL }
    }

    /// Returns the first error so far.
    pub(super) fn check(&self) -> Result<()> {
        match &*unpoisoned(&self.trouble) {
            None => Ok(()),
            Some(text) => Err(Error::Gpu(format!(
                "{}: {text}. Write --backend cpu, or smaller parameters if memory is short",
                self.report.name
            ))),
        }
    }
}

/// Grants wgpu's permission for features that it calls experimental, here cooperative matrices.
#[allow(unsafe_code)]
fn experiments(wanted: bool) -> wgpu::ExperimentalFeatures {
    if !wanted {
        return wgpu::ExperimentalFeatures::disabled();
    }
    // SAFETY: the token says that this code knows of an experiment which may have bugs. Cooperative
    // matrices are used by one kernel, within bounds that follow from the plan as for all others, and
    // not before its results were compared with f64 on this device (`units::check`, `tests/suite/passes.rs`).
    unsafe { wgpu::ExperimentalFeatures::enabled() }
}

/// Features that the kernel of matrix units needs.
const UNITS: wgpu::Features = wgpu::Features::SHADER_F16.union(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX);

/// Returns the largest matrix units that multiply f16 and add in f32.
fn matrix_units(adapter: &wgpu::Adapter) -> Option<Unit> {
    use wgpu::CooperativeScalarType::{F16, F32};
    let info = adapter.get_info();
    let kinds = adapter.cooperative_matrix_properties();
    let squares =
        kinds.iter().filter(|m| (m.ab_type, m.cr_type) == (F16, F32) && m.m_size == m.n_size && m.n_size == m.k_size);
    let size = squares.map(|m| m.m_size as usize).max()?;
    adapter.features().contains(UNITS).then_some(Unit::Matrix {
        size,
        // If subgroups may be smaller, several of them compute the same tile.
        lanes: info.subgroup_max_size,
    })
}

/// Makes the message for the case that no adapter is found.
fn none_text() -> String {
    let seen = match std::env::var("WGPU_ADAPTER_NAME") {
        Ok(name) => format!("no GPU with '{name}' in its name (WGPU_ADAPTER_NAME)"),
        Err(_) => "no GPU found".into(),
    };
    format!(
        "{seen}: install the card's Vulkan driver (or mesa-vulkan-drivers, which computes on the \
         CPU), or write --backend cpu"
    )
}

pub(super) fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
