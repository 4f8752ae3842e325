//! `cargo fuzz run settings`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(settings);
