//! `--backend auto|cpu|gpu`: where the passes over all scores run.

use crate::attention::streaming::{Cpu, Machine};
use crate::error::Result;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

/// The option, for commands to flatten into their own.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Where {
    /// Where the scores are computed; the GPU needs a build with --features gpu
    #[arg(long, value_name = "WHERE", default_value = "auto")]
    pub backend: Backend,
}

/// Where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// The GPU where there is one (programs on the CPU do not count), else the CPU
    Auto,
    /// The CPU
    Cpu,
    /// The GPU, a software one if there is no other
    Gpu,
    /// The same without its matrix units: equal results, for drivers that fail with them
    #[value(name = "gpu-f32")]
    GpuF32,
}

impl Backend {
    /// The machine; what `auto` found is said on standard error.
    ///
    /// # Errors
    /// `gpu` and `gpu-f32` where there is none, or where none is built in.
    pub fn machine(self) -> Result<Box<dyn Machine>> {
        match self {
            Backend::Cpu => Ok(Box::new(Cpu)),
            Backend::Auto => Ok(build::auto()),
            Backend::Gpu => build::gpu(false),
            Backend::GpuF32 => build::gpu(true),
        }
    }
}

/// What `doctor` says of GPUs.
#[derive(Serialize)]
pub struct Report {
    /// Whether this build can use one.
    built_in: bool,
    /// Those there are, best first.
    adapters: Vec<Value>,
    /// What `--backend auto` uses: "cpu" or the name of an adapter.
    auto: String,
    /// In what the best adapter multiplies where a pass ends in decisions.
    products: Option<String>,
    /// The same for people.
    #[serde(skip)]
    pub lines: Vec<(&'static str, String)>,
}

/// What GPUs there are.
pub fn report() -> Report {
    build::report()
}

#[cfg(feature = "gpu")]
mod build {
    use super::{Cpu, Machine, Report, Result};
    use crate::cli::out::note;
    use crate::gpu::{AdapterReport, Gpu, Options, Precision, adapters};
    use crate::run::memory::size;

    pub fn gpu(single: bool) -> Result<Box<dyn Machine>> {
        let precision = match single {
            true => Precision::Single,
            false => Precision::Auto,
        };
        let gpu = Gpu::open(&Options {
            precision,
            ..Options::default()
        })?;
        note(&format!("computing on {}", gpu.name()));
        Ok(Box::new(gpu))
    }

    pub fn auto() -> Box<dyn Machine> {
        let hardware = Options {
            hardware_only: true,
            ..Options::default()
        };
        let all = adapters();
        let why = match all.first() {
            None => "no GPU found".into(),
            Some(only) if only.software() => format!(
                "the only GPU is a program, {} (--backend gpu uses it)",
                only.name
            ),
            Some(_) => match Gpu::open(&hardware) {
                Ok(gpu) => {
                    note(&format!("computing on {}", gpu.name()));
                    return Box::new(gpu);
                }
                Err(error) => error.to_string(),
            },
        };
        note(&format!("{why}: computing on the CPU"));
        Box::new(Cpu)
    }

    pub fn report() -> Report {
        let all = adapters();
        let hardware = all.iter().find(|a| !a.software());
        let auto = hardware.map_or("cpu".into(), |a| a.name.clone());
        let mut lines: Vec<_> = all.iter().flat_map(of_adapter).collect();
        let products = match Gpu::open(&Options::default()) {
            Ok(gpu) => Some(gpu.products()),
            Err(error) => {
                let text = match all.is_empty() {
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
        let adapters = all.iter().map(|a| serde_json::json!(a)).collect();
        Report {
            built_in: true,
            adapters,
            auto,
            products,
            lines,
        }
    }

    fn of_adapter(a: &AdapterReport) -> [(&'static str, String); 3] {
        let yes = |has: bool| if has { "yes" } else { "no" };
        let matrices = match a.cooperative_matrices.len() {
            0 => "no".to_string(),
            _ => a.cooperative_matrices.join(", "),
        };
        let [least, most] = a.subgroup_sizes;
        [
            (
                "gpu",
                format!("{} ({}, {}, {})", a.name, a.kind, a.interface, a.driver),
            ),
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

#[cfg(not(feature = "gpu"))]
mod build {
    use super::{Cpu, Machine, Report, Result};
    use crate::error::Error;

    pub fn gpu(single: bool) -> Result<Box<dyn Machine>> {
        Err(Error::invalid(
            "backend",
            if single { "gpu-f32" } else { "gpu" },
            "this attnlab was built without GPU support: build it with cargo build --release \
             --features gpu, or write --backend cpu",
        ))
    }

    pub fn auto() -> Box<dyn Machine> {
        Box::new(Cpu)
    }

    pub fn report() -> Report {
        let text = "not built in: cargo build --release --features gpu".to_string();
        Report {
            built_in: false,
            adapters: vec![],
            auto: "cpu".into(),
            products: None,
            lines: vec![("gpu", text)],
        }
    }
}
