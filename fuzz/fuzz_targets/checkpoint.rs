//! `cargo fuzz run checkpoint`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(checkpoint);
