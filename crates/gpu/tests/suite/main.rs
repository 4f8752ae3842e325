//! Tests of the passes on a GPU; without the feature `wgpu` there is nothing to test here.
#![cfg(feature = "wgpu")]

mod passes;
mod strangers;
