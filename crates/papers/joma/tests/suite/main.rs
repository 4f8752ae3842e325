//! Tests of this room against independent values, by its public interface.

mod closed_forms;
mod experiments;
mod layer;
mod network;
mod scope;
mod settings;
mod statements;
mod trained;
mod weights;
mod witnesses;
