//! Closed forms of JoMA (joint dynamics of MLP and attention).
//!
//! - [`linear`]: Theorem 2, the winner-take-all flow of a linear activation under exp attention;
//! - [`convergence`]: Eq. (6) and Theorem 4, when salient and other components converge;
//! - [`tree`]: hierarchical binary latent trees, Theorem 5 and Lemmas 8 and 9.

pub mod convergence;
pub mod linear;
pub mod tree;
