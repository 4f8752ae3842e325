//! What is drawn: the data models of the papers, each a pure function of parameters and streams.

pub mod mixture;

pub use mixture::{Bases, Draw, Mixture};
