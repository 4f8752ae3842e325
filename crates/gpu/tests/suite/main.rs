//! Tests of the passes on a GPU. Without the feature `wgpu` this suite is empty.
#![cfg(feature = "wgpu")]

mod passes;
mod strangers;
