//! Tests of the room for tokens as particles.

mod audit;
mod claims;
mod closed_forms;
mod experiments;
mod witnesses;
