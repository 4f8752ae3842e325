//! `cargo fuzz run expression`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(expression);
