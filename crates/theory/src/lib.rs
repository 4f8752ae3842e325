//! The mathematics that more than one paper of attnlab uses. Tokens are columns, (d, N).
//!
//! - [`attention`]: the operators. The plain definitions in f64 follow the papers term by term; the
//!   [streaming](attention::streaming) fast path is tested against them.
//! - [`sample`]: laws that are drawn from, such as the
//!   [mixture of noisy low-rank Gaussians](sample::Mixture).
//! - [`measure`]: named quantities, such as the [signal-to-noise ratio](measure::snr()).
//! - [`dynamics`]: gradient flows and training of one-layer attention.
//! - [`markov`]: entropy rates of Markov chains, exactly.
//!
//! Operators and laws of a single paper are in that paper's room (`crates/papers`).

pub mod attention;
pub mod dynamics;
pub mod markov;
pub mod measure;
pub mod sample;
