//! Tests of the room for tokens as particles.

mod closed_forms;
mod settings;
mod witnesses;
