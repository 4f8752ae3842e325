//! Tests of the room for tokens as particles.

mod closed_forms;
mod collapse;
mod experiments;
mod settings;
mod witnesses;
