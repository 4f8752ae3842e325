//! The commands of this room: `attnlab evaluate`, `attnlab horizon`, `attnlab inspect`, `attnlab sample` and `attnlab unroll`.

mod evaluate;
mod evaluate_findings;
mod findings;
mod horizon;
mod inspect;
mod network_findings;
mod reasons;
mod results;
mod sample;
mod summary;
mod unroll;

use attnlab_core::error::Result;
use attnlab_gpu::backend::Where;
use attnlab_lab::command::{Command, WithArgs, note};
use attnlab_networks::Transformer;
use attnlab_theory::attention::streaming::Machine;
use std::path::Path;
use std::sync::Arc;

/// All commands of this room.
pub fn all() -> Vec<Arc<dyn Command>> {
    vec![
        Arc::new(WithArgs { name: "evaluate", run: evaluate::run }),
        Arc::new(WithArgs { name: "horizon", run: horizon::run }),
        Arc::new(WithArgs { name: "inspect", run: inspect::run }),
        Arc::new(WithArgs { name: "sample", run: sample::run }),
        Arc::new(WithArgs { name: "unroll", run: unroll::run }),
    ]
}

/// Returns the machine that the user chose, and prints what is to be said of the choice.
fn machine(device: &Where) -> Result<Box<dyn Machine>> {
    let chosen = device.backend.machine()?;
    if let Some(line) = &chosen.note {
        note(line);
    }
    Ok(chosen.machine)
}

/// Prints what was taken off or replaced in the names of a network's tensors.
fn note_renamings(network: &Path) -> Result<()> {
    for renaming in Transformer::renamings(network)? {
        note(&format!("{}: {renaming}", network.display()));
    }
    Ok(())
}
