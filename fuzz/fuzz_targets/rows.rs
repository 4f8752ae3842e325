//! `cargo fuzz run rows`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(rows);
