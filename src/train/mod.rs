//! Training of the networks of [`crate::model`]: optimisers, schedules, the loop, and checkpoints from
//! which a killed run goes on to the same bits.
//!
//! Everything random is a function of (streams, step): the batch of step s comes from the streams of
//! number s and never from a generator that was used before. A checkpoint therefore holds the
//! parameters, what the optimiser remembers and the number of the step, and nothing else decides what
//! happens next.
//!
//! [`in_context`] and [`language`] say what is learnt.

mod checkpoint;
pub mod in_context;
pub mod language;
mod optimiser;
mod schedule;
mod steps;

pub use checkpoint::{Checkpoint, State};
pub use optimiser::{Memory, Optimiser, OptimiserKind, clip};
pub use schedule::{Climb, Curriculum, Rate, Stage};
pub use steps::{Batch, Found, History, Plan, Task, Trained, Trainer, train};
