//! `cargo fuzz run npy`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(npy);
