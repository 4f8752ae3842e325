//! The claims, closed forms and experiments of this room against simulation and independent numbers.

mod claims;
#[cfg(feature = "train")]
mod configured;
mod corpus;
mod drawn;
mod evaluate;
mod evaluate_files;
mod horizon;
#[cfg(feature = "train")]
mod icl;
mod inspect;
mod inspect_network;
#[cfg(feature = "train")]
mod language;
mod maps;
#[cfg(feature = "train")]
mod opened;
mod sample;
mod theory;
mod unroll;
#[cfg(feature = "train")]
mod vision;
mod witnesses;

use attnlab_lab::catalogue::Catalogue;
use std::path::{Path, PathBuf};

/// This room alone.
fn catalogue() -> Catalogue {
    Catalogue::new().with(attnlab_aot::room())
}

/// A file of `crates/networks/tests/data`.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/networks/tests/data").join(name)
}

#[test]
fn sheets_claims_and_parameters_fit_together() {
    attnlab_aot::room().validate().unwrap();
}
