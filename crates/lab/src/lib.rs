//! The laboratory of attnlab: from a statement to a verdict, from a run to rows, from rows to figures and
//! one page to send. It knows no paper by name.
//!
//! - [`claim`]: printed statements, their [sheets](claim::Sheet), outcomes and [verdicts](claim::verdict);
//! - [`catalogue`]: all claims, experiments and closed forms, with a [`Room`](catalogue::Room) per package;
//! - [`build`]: which code computes the rows;
//! - [`run`]: checks, grids, rows that survive a kill; [`experiment`]: figures of papers as cells × trials;
//! - [`sweep`]: a claim or an experiment over axes; [`formula`]: closed forms with names;
//! - [`figure`]: draws from stored rows and never samples; [`report`]: verdicts and figures on one page;
//! - [`audit`]: every claim at random settings inside its domain;
//! - [`compare`]: verdicts and estimates that differ between two stored runs;
//! - [`reproduce`]: all checks and figures in one run; [`folder`]: stored runs;
//! - [`glossary`]: definitions of every quantity, verdict word and term;
//! - [`scaffold`]: a new package with a theorem of one's own;
//! - [`command`]: subcommands that a room adds to the command line;
//! - [`prelude`]: the names that a file with a claim needs;
//! - [`sheet_test`]: numbers and verdicts in sheets, held to the computed ones, and experiments that must be
//!   reproducible, for the tests of a package;
//! - [`toy`]: a coin, for examples and tests.

pub mod audit;
pub mod build;
pub mod catalogue;
pub mod claim;
pub mod command;
pub mod compare;
pub mod experiment;
pub mod figure;
pub mod folder;
pub mod formula;
pub mod glossary;
pub mod prelude;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod scaffold;
pub mod sheet_test;
pub mod sweep;
pub mod toy;
mod words;

use claim::Paper;

/// JSON values, for [`witness!`](crate::witness).
pub use serde_json::json;

/// Papers of the sheets in this package: those of the [`toy`].
pub(crate) static PAPERS: &[Paper] = toy::PAPERS;
