//! Base crate of attnlab: errors, random streams, linear algebra, special functions, statistics, NumPy files, and the
//! typed parameters of claims, experiments and closed forms.
//!
//! - [`error`]: the kinds of error, each message naming the wrong value and what to write instead;
//! - [`rng`]: a trial is a pure function of (seed, claim, cell, trial), and generators are made here only;
//! - [`linalg`]: products and decompositions that give the same bits on any number of threads;
//! - [`special`], [`quadrature`]: functions and integrals with known accuracy;
//! - [`stats`]: exact intervals; an [`Estimate`](stats::Estimate) is point, interval and level;
//! - [`bracket`]: rigorous enclosures of computed numbers;
//! - [`npy`]: reader and writer of NumPy files;
//! - [`input`]: the door through which input files are opened, so that a run knows them;
//! - [`memo`]: values of pure functions that were computed before;
//! - [`named!`]: names of the variants of an enum;
//! - [`params`]: parameters of claims, with types, symbols, units, ranges and defaults;
//! - [`clock`]: times computations, also in a browser;
//! - [`format`](mod@format): numbers and tables formatted for people.

pub mod bracket;
pub mod clock;
pub mod error;
pub mod format;
pub mod input;
pub mod linalg;
pub mod memo;
mod named;
pub mod npy;
pub mod params;
pub mod quadrature;
pub mod rng;
pub mod special;
pub mod stats;

pub use error::{Error, Result};
