//! `cargo fuzz run dataset`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(dataset);
