//! `cargo fuzz run tokenizer`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(tokenizer);
