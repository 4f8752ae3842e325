//! Samplers: the data models of the papers, each a pure function of parameters and streams.

pub mod in_context;
pub mod markov;
pub mod mixture;

pub use in_context::{Functions, InContext, Regression, Shift};
pub use mixture::{Bases, Draw, Mixture};
