//! Option `--backend auto|cpu|gpu|gpu-f32`: the machine that runs the passes over all scores.
//!
//! This module is part of every build. Without the feature `wgpu` it offers the CPU alone and reports
//! that no GPU is built in. It prints nothing: a [`Chosen`] machine carries its note for standard error.
//!
//! ```
//! use attnlab_gpu::backend::Backend;
//! let chosen = Backend::Cpu.machine()?;
//! assert_eq!((chosen.machine.name().as_str(), chosen.note), ("cpu", None));
//! # Ok::<(), attnlab_core::Error>(())
//! ```

use attnlab_core::error::Result;
use attnlab_theory::attention::streaming::{Cpu, Machine};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

/// Option `--backend`, which commands flatten into their own options.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Where {
    /// Machine that computes the scores; the GPU needs a build with --features gpu
    #[arg(long, value_name = "WHERE", default_value = "auto")]
    pub backend: Backend,
}

/// Values of `--backend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// The GPU if there is one (software renderers do not count), otherwise the CPU
    Auto,
    /// The CPU
    Cpu,
    /// The GPU, or a software renderer if there is no GPU
    Gpu,
    /// The GPU without its matrix units: equal results, for drivers that fail with them
    #[value(name = "gpu-f32")]
    GpuF32,
}

/// Machine chosen by a [`Backend`] on this computer.
pub struct Chosen {
    /// The machine, ready to compute.
    pub machine: Box<dyn Machine>,
    /// Line for standard error: the GPU in use, or the reason why `auto` uses the CPU.
    pub note: Option<String>,
}

impl Chosen {
    fn cpu(note: Option<String>) -> Self {
        Chosen { machine: Box::new(Cpu), note }
    }
}

impl Backend {
    /// Opens the machine of this backend.
    ///
    /// # Errors
    /// For `gpu` and `gpu-f32`, if there is no GPU or none is built in. `auto` falls back to the CPU and
    /// gives the reason in the note.
    pub fn machine(self) -> Result<Chosen> {
        match self {
            Backend::Cpu => Ok(Chosen::cpu(None)),
            Backend::Auto => Ok(build::auto()),
            Backend::Gpu => build::gpu(false),
            Backend::GpuF32 => build::gpu(true),
        }
    }
}

/// GPUs of this computer, for `attnlab doctor`.
#[derive(Debug, Serialize)]
pub struct GpuReport {
    /// Flag: this build can use a GPU.
    pub built_in: bool,
    /// Adapters as JSON objects, best first.
    pub adapters: Vec<Value>,
    /// Machine that `--backend auto` uses: "cpu" or the name of an adapter.
    pub auto: String,
    /// Arithmetic of the best adapter in passes that end in decisions; `None` without an adapter.
    pub products: Option<String>,
    /// The same information for people: a label and its text on each line.
    #[serde(skip)]
    pub lines: Vec<(&'static str, String)>,
}

/// Lists the GPUs of this computer and describes them.
pub fn report() -> GpuReport {
    build::report()
}

#[cfg(feature = "wgpu")]
mod build {
    use super::{Chosen, GpuReport, Result};
    use crate::{AdapterReport, Gpu, Options, Precision, adapters};
    use attnlab_core::format::size;
    use attnlab_theory::attention::streaming::Machine;

    fn chosen(gpu: Gpu) -> Chosen {
        Chosen { note: Some(format!("computing on {}", gpu.name())), machine: Box::new(gpu) }
    }

    pub fn gpu(single: bool) -> Result<Chosen> {
        let precision = if single { Precision::Single } else { Precision::Auto };
        let options = Options { precision, ..Options::default() };
        Gpu::open(&options).map(chosen)
    }

    pub fn auto() -> Chosen {
        let hardware = Options { hardware_only: true, ..Options::default() };
        let adapters = adapters();
        let why = match adapters.first() {
            None => "no GPU found".into(),
            Some(only) if only.software() => {
                format!("the only GPU is a software renderer, {} (--backend gpu uses it)", only.name)
            }
            Some(_) => match Gpu::open(&hardware) {
                Ok(gpu) => return chosen(gpu),
                Err(error) => error.to_string(),
            },
        };
        Chosen::cpu(Some(format!("{why}: computing on the CPU")))
    }

    pub fn report() -> GpuReport {
        let adapters = adapters();
        let hardware = adapters.iter().find(|a| !a.software());
        let auto = hardware.map_or("cpu".into(), |a| a.name.clone());
        let mut lines: Vec<_> = adapters.iter().flat_map(of_adapter).collect();
        let products = match Gpu::open(&Options::default()) {
            Ok(gpu) => Some(gpu.products()),
            Err(error) => {
                let text = match adapters.is_empty() {
                    true => "none found: install the card's Vulkan driver".to_string(),
                    false => error.to_string(),
                };
                lines.push(("gpu", text));
                None
            }
        };
        let text = |p: &String| ("  decisions", format!("scores from products in {p}"));
        lines.extend(products.as_ref().map(text));
        lines.push(("--backend auto", format!("uses {auto}")));
        let adapters = adapters.iter().map(|a| serde_json::json!(a)).collect();
        GpuReport { built_in: true, adapters, auto, products, lines }
    }

    fn of_adapter(a: &AdapterReport) -> [(&'static str, String); 3] {
        let yes = |has: bool| if has { "yes" } else { "no" };
        let matrices = match a.cooperative_matrices.len() {
            0 => "no".to_string(),
            _ => a.cooperative_matrices.join(", "),
        };
        let [least, most] = a.subgroup_sizes;
        [
            ("gpu", format!("{} ({}, {}, {})", a.name, a.kind, a.interface, a.driver)),
            (
                "  limits",
                format!(
                    "bindings of {}, buffers of {}, {} per workgroup",
                    size(a.largest_binding),
                    size(a.largest_buffer),
                    size(a.workgroup_memory.into())
                ),
            ),
            (
                "  features",
                format!(
                    "f16 {}, subgroups {} ({least} to {most}), cooperative matrices {matrices}",
                    yes(a.f16),
                    yes(a.subgroups),
                ),
            ),
        ]
    }
}

#[cfg(not(feature = "wgpu"))]
mod build {
    use super::{Chosen, GpuReport, Result};
    use attnlab_core::error::Error;

    pub fn gpu(single: bool) -> Result<Chosen> {
        Err(Error::invalid(
            "backend",
            if single { "gpu-f32" } else { "gpu" },
            "must be auto or cpu; this attnlab was built without GPU support. Build it with cargo build \
             --release --features gpu, or write --backend cpu",
        ))
    }

    pub fn auto() -> Chosen {
        Chosen::cpu(None)
    }

    pub fn report() -> GpuReport {
        let text = "not built in: cargo build --release --features gpu".to_string();
        GpuReport { built_in: false, adapters: vec![], auto: "cpu".into(), products: None, lines: vec![("gpu", text)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_what_auto_uses() {
        let report = report();
        assert_eq!(report.built_in, cfg!(feature = "wgpu"));
        let auto = Backend::Auto.machine().unwrap();
        assert_eq!(auto.machine.name(), report.auto);
        assert!(!report.lines.is_empty());
    }

    #[cfg(not(feature = "wgpu"))]
    #[test]
    fn a_gpu_that_is_not_built_in_is_refused() {
        for (backend, name) in [(Backend::Gpu, "gpu"), (Backend::GpuF32, "gpu-f32")] {
            let text = backend.machine().err().unwrap().to_string();
            assert!(text.starts_with(&format!("backend = {name}: must be auto or cpu;")));
        }
    }
}
