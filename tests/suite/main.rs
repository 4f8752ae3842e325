//! Tests of the command and of the whole catalogue, in one program.

mod common;
mod rounding;
mod sweeps;

#[cfg(target_os = "linux")]
mod bombs;
mod browser;
mod claims;
mod cli_backend;
mod cli_check;
#[cfg(feature = "train")]
mod cli_train;
mod cli_unroll;
mod command_lines;
mod docs;
mod follow;
mod gallery;
mod inputs;
mod kills;
mod layering;
mod report;
mod rows;
mod sweep;
mod sweep_cells;
mod sweep_maps;
mod top_up;
#[cfg(unix)]
mod transcripts;
mod trust;
