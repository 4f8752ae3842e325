//! Tests of this room against independent values, by its public interface.

mod closed_forms;
mod training;
mod witnesses;
