//! Tests of operators, samplers, dynamics and chains.

mod fit;
mod fit_centre;
mod fit_level;
mod flow;
mod markov;
mod memory;
mod particles;
mod power;
mod sampling;
mod sparsemax;
mod streaming;
mod training;
