//! Tests of the command and of the whole catalogue, in one program.

mod common;
mod rounding;
mod sweeps;

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
mod docs;
mod gallery;
mod layering;
mod report;
mod rows;
mod sweep;
mod sweep_cells;
mod sweep_maps;
mod tutorial;
