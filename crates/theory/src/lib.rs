//! Mathematics shared by several papers of attnlab. Tokens are columns: Z is (d, N).
//!
//! - [`attention`]: attention operators. The plain definitions in f64 follow the papers term by term; the
//!   [streaming](attention::streaming) fast path is tested against them.
//! - [`sample`]: random laws, such as the [mixture of noisy low-rank Gaussians](sample::Mixture).
//! - [`measure`]: named quantities, such as the [signal-to-noise ratio](measure::snr()).
//! - [`fit`]: the mixture that fits given tokens, with a test.
//! - [`dynamics`]: gradient flows and training of one-layer attention.
//! - [`particles`]: tokens as particles on a sphere, attention in continuous depth.
//! - [`markov`]: exact entropy rates of Markov chains.
//!
//! Operators and laws of a single paper are in the crate of that paper (`crates/papers`).

pub mod attention;
pub mod dynamics;
pub mod fit;
pub mod markov;
pub mod measure;
pub mod particles;
pub mod sample;
