//! Tests of the room for associative memories.

mod claims;
mod closed_forms;
mod experiments;
