//! attnlab checks the mathematics of attention by simulation.

pub mod attention;
pub mod claim;
pub mod cli;
pub mod error;
pub mod experiment;
pub mod figure;
pub mod format;
pub mod linalg;
pub mod measure;
pub mod params;
pub mod report;
pub mod rng;
pub mod run;
pub mod sample;
pub mod special;
pub mod stats;
pub mod theory;

pub use error::{Error, Result};
