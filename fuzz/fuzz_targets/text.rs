//! `cargo fuzz run text`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(text);
