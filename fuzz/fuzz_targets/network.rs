//! `cargo fuzz run network`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(network);
