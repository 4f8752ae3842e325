//! Tests of the command and of the whole catalogue, in one program.

mod command_lines;
mod common;
mod sweeps;

mod bombs;
mod browser;
mod claims;
mod cli_audit;
mod cli_backend;
mod cli_check;
mod cli_check_text;
mod cli_experiments;
mod cli_lsa;
mod cli_refusals;
#[cfg(feature = "train")]
mod cli_train;
mod cli_unroll;
mod diff;
mod docs;
mod gallery;
mod hostile;
mod kills;
mod layering;
mod report;
mod rows;
mod sweep;
mod sweep_cells;
mod sweep_maps;
mod top_up;
mod trust;
mod tutorial;
