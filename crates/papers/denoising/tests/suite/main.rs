//! Tests of in-context denoising.

mod experiments;
mod laws;
mod scales;
mod settings;
mod training;
mod witnesses;

use attnlab_lab::catalogue::Catalogue;

/// This room alone.
fn catalogue() -> Catalogue {
    Catalogue::new().with(attnlab_denoising::room())
}
