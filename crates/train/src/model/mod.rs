//! Trainable networks: attention-only transformers with MSSA or MHSA, their hybrids, GPT-2 and Llama,
//! and the vision networks, as one [`ModelConfig`] each.
//!
//! Inside, tokens are rows: a batch is (batch, tokens, width), which is what tensor libraries are fast at. Everything
//! that leaves goes back to the library's convention, tokens as columns ([`RecordedActivation::tokens`]).
//!
//! A [`Model`] is its configuration and a list of named matrices. Tensors are burn's: the same code
//! runs on the CPU and on any GPU, chosen at run time by a [`ComputeDevice`].
//!
//! ```
//! use attnlab_train::model::{Model, ComputeDevice, preset};
//! use attnlab_core::rng::Streams;
//! let config = preset("icl-aot-mssa")?;
//! assert_eq!(config.parameters(), 1_089_793);
//! let small = attnlab_train::model::ModelConfig { layers: 2, width: 16, heads: 2, ..config };
//! let model = Model::new(small, &ComputeDevice::cpu(), &Streams::new(1, "doc", 0, 0))?;
//! assert!(model.parameters().any(|p| p.spec.name == "blocks.1.attention.out"));
//! # Ok::<(), attnlab_core::Error>(())
//! ```

mod adapt;
mod attention;
mod block;
mod config;
mod device;
mod entropy;
mod flex;
mod norm;
mod parameters;
mod presets;
mod record;

pub use config::{AttentionForm, FirstPositions, Input, Mlp, ModelConfig, Norm, Output, Positions};
pub use device::ComputeDevice;
pub use entropy::cross_entropy;
pub(crate) use parameters::read;
pub use parameters::{Initialiser, Model, Parameter, ParameterSpec};
pub use presets::{PRESETS, Preset, preset};
pub use record::{RecordedActivation, Recording};

pub use burn::tensor::{Int, Tensor};
