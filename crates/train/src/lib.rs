//! Networks, data and training of attnlab, on burn.
//!
//! - [`model`]: the papers' networks, from a [`ModelConfig`] to a [`Model`] whose activations can be
//!   [recorded](Recording); [`preset`] finds them by name;
//! - [`training`]: the [plan](TrainingPlan), optimisers, schedules, [`train()`] and the checkpoints from which
//!   a killed run goes on to the same bits; the tasks are [regression in context](training::in_context) and
//!   [language](training::language);
//! - [`baseline`]: the estimators that regression in context is compared with.
//!
//! This crate is the only one that depends on burn, and nothing of attnlab needs it but the experiments
//! that train networks. Its feature `gpu` adds training on a GPU of any vendor.
//!
//! A network learns linear functions from examples in its prompt, three steps long:
//!
//! ```
//! use attnlab_core::rng::Streams;
//! use attnlab_lab::run::TrialContext;
//! use attnlab_theory::sample::Functions;
//! use attnlab_train::training::in_context::InContextTask;
//! use attnlab_train::training::{Curriculum, Ramp};
//! use attnlab_train::{ComputeDevice, Model, TrainingPlan, preset, train};
//!
//! let streams = Streams::new(1, "doc", 0, 0);
//! let config = preset("icl-aot-mssa")?.resized(1, 16, 2);
//! let model = Model::new(config, &ComputeDevice::cpu(), &streams)?;
//! let curriculum = Curriculum { dims: Ramp::fixed(20), points: Ramp::fixed(5) };
//! let task = InContextTask { functions: Functions::Linear, dim: 20, curriculum };
//! let plan = TrainingPlan { report_every: 1, ..TrainingPlan::constant(3, 4, 1e-3) };
//! let trained = train(&task, model, &plan, &streams, "example", &TrialContext::none())?;
//! assert_eq!(trained.history.steps, [1, 2, 3]);
//! # Ok::<(), attnlab_core::Error>(())
//! ```

pub mod baseline;
pub mod model;
pub mod training;

pub use baseline::RegressionBaseline;
pub use model::{ComputeDevice, Model, ModelConfig, Recording, preset};
pub use training::{Trained, Trainer, TrainingPlan, TrainingTask, train};
