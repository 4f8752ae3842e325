//! The adapter: which there are, which is used, and what it can hold.

use super::work::Kernel;
use crate::error::{Error, Result};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an adapter is and offers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdapterReport {
    /// As the driver calls it.
    pub name: String,
    /// "discrete", "integrated", "virtual", "software" or "other".
    pub kind: &'static str,
    /// The interface: "vulkan" or "metal".
    pub interface: String,
    /// Driver and its version.
    pub driver: String,
    /// Largest buffer that a kernel can see at once, in bytes.
    pub largest_binding: u64,
    /// Largest buffer, in bytes.
    pub largest_buffer: u64,
    /// Memory of one workgroup, in bytes.
    pub workgroup_memory: u32,
    /// Smallest and largest subgroup.
    pub subgroup_sizes: [u32; 2],
    /// Half precision in kernels.
    pub f16: bool,
    /// Operations across a subgroup.
    pub subgroups: bool,
    /// Matrix units: rows x columns x inner dimension, type of the operands and of the sums.
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
            driver: format!("{} {}", info.driver, info.driver_info)
                .trim()
                .to_string(),
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

    /// Whether it is a program on the CPU, such as Mesa's lavapipe.
    pub fn software(&self) -> bool {
        self.kind == "software"
    }

    /// Hardware before software, a card of its own before a share of the CPU's memory.
    fn rank(&self) -> usize {
        ["discrete", "integrated", "virtual", "other", "software"]
            .iter()
            .position(|k| *k == self.kind)
            .unwrap_or(usize::MAX)
    }
}

/// How a GPU is chosen and used; the default takes the best there is, software included.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Refuse adapters that are programs on the CPU.
    pub hardware_only: bool,
    /// Use bindings of at most this many bytes, where the adapter allows more.
    pub largest_binding: Option<u64>,
}

/// The adapters, best first. wgpu's environment is honoured: `WGPU_BACKEND` (vulkan, metal) and
/// `WGPU_ADAPTER_NAME` (a part of the name).
pub fn adapters() -> Vec<AdapterReport> {
    found().into_iter().map(|(report, _)| report).collect()
}

fn found() -> Vec<(AdapterReport, wgpu::Adapter)> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    // The validation layers of debug builds look for programs that are not ours to install.
    descriptor.flags = wgpu::InstanceFlags::empty().with_env();
    let backends = descriptor.backends;
    let instance = wgpu::Instance::new(descriptor);
    let wanted = std::env::var("WGPU_ADAPTER_NAME").map(|name| name.to_lowercase());
    let mut all: Vec<_> = pollster::block_on(instance.enumerate_adapters(backends))
        .into_iter()
        .filter(|a| {
            let flags = a.get_downlevel_capabilities().flags;
            flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
        })
        .map(|a| (AdapterReport::new(&a), a))
        .filter(|(report, _)| {
            let name = report.name.to_lowercase();
            wanted.as_ref().is_ok_and(|w| name.contains(w)) || wanted.is_err()
        })
        .collect();
    all.sort_by_key(|(report, _)| report.rank());
    all
}

/// A GPU that is ready to compute.
pub struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    report: AdapterReport,
    largest_binding: u64,
    /// The first thing that went wrong outside of any call's result.
    trouble: Arc<Mutex<Option<String>>>,
    pub(super) kernels: Mutex<HashMap<String, Arc<Kernel>>>,
}

impl Gpu {
    /// Opens the best adapter.
    ///
    /// # Errors
    /// When there is none, or it cannot be opened.
    pub fn open(options: &Options) -> Result<Gpu> {
        let mut all = found();
        if options.hardware_only {
            all.retain(|(report, _)| !report.software());
        }
        let Some((report, adapter)) = all.into_iter().next() else {
            return Err(Error::Gpu(none_text()));
        };
        let offered = adapter.limits();
        let required_limits = wgpu::Limits {
            max_storage_buffer_binding_size: offered.max_storage_buffer_binding_size,
            max_buffer_size: offered.max_buffer_size,
            ..wgpu::Limits::default()
        };
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("attnlab"),
            required_limits,
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
        // Vectors of four numbers.
        let largest_binding = limit.min(offered).min(report.largest_buffer) / 16 * 16;
        Ok(Gpu {
            device,
            queue,
            largest_binding,
            report,
            trouble,
            kernels: Mutex::default(),
        })
    }

    /// What it is.
    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    /// Bytes that a kernel may see in one buffer.
    pub(super) fn largest_binding(&self) -> u64 {
        self.largest_binding
    }

    /// What went wrong so far, as an error.
    pub(super) fn check(&self) -> Result<()> {
        match &*unpoisoned(&self.trouble) {
            None => Ok(()),
            Some(text) => Err(Error::Gpu(format!(
                "{}: {text}. Write --backend cpu, or smaller parameters if its memory is short",
                self.report.name
            ))),
        }
    }
}

/// What to tell where no adapter is found.
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
