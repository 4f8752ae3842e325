//! Training of the networks of [`crate::model`]: optimisers, schedules, the loop, and checkpoints from
//! which a killed run goes on to the same bits.
//!
//! Everything random is a function of (streams, step): the batch of step s comes from the streams of
//! number s and never from a generator that was used before. A checkpoint therefore holds the
//! parameters, the state of the optimiser and the number of the step, which determine all later steps.
//!
//! [`images`], [`in_context`] and [`language`] are the [tasks](TrainingTask).

mod checkpoint;
pub mod images;
pub mod in_context;
pub mod language;
mod optimiser;
mod schedule;
mod steps;

pub use checkpoint::{Checkpoint, CheckpointState, TrainedNetwork};
pub use optimiser::{OptimiserKind, OptimiserSettings, OptimiserState, clip};
pub use schedule::{Curriculum, LearningRate, Ramp, Stage};
pub use steps::{Batch, StepReport, Trained, Trainer, TrainingHistory, TrainingPlan, TrainingTask, train};
