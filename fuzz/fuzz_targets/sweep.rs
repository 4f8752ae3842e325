//! `cargo fuzz run sweep`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(sweep);
