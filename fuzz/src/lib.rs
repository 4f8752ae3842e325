//! Readers of files, as the targets of `cargo fuzz` call them.

pub mod readers;
