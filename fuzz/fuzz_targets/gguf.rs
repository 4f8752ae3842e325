//! `cargo fuzz run gguf`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(gguf);
