//! Tests of the room for associative memories.

mod arrays;
mod closed_forms;
mod experiments;
mod sheets;
