//! Tests of the room for associative memories.

mod closed_forms;
mod experiments;
mod sheets;
mod storage;
