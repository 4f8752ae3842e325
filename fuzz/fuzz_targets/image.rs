//! `cargo fuzz run image`.
#![cfg_attr(fuzzing, no_main)]
attnlab_fuzz::fuzz_target!(image);
