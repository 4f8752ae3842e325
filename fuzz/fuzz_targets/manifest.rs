//! `cargo fuzz run manifest`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(manifest);
