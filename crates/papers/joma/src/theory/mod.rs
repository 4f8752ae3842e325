//! Closed forms of JoMA (joint dynamics of MLP and attention).
//!
//! - [`activation`]: φ, homogeneous or not;
//! - [`linear`]: Theorem 2, the winner-take-all flow of a linear activation under exp attention;
//! - [`isotropic`]: θ_1, θ_2 and F of isotropic inputs, Lemmas 1 to 3 and 5;
//! - [`shell`]: blurred spheres, whose coordinates may have two modes, Section E.4;
//! - [`marginal`]: laws of one coordinate by name, and the right sides of Lemmas 1 and 2;
//! - [`critical`]: critical points of the nonlinear flow and its linearisation, Lemma 4 and Theorem 3;
//! - [`convergence`]: Eq. (6) and Theorem 4, when salient and other components converge;
//! - [`attention_entropy`]: entropy of the attention along Eq. (6), Fig. 4;
//! - [`chance`]: chance levels and ceilings that trained networks are held against;
//! - [`tree`]: hierarchical binary latent trees, Theorem 5 and Lemmas 8 and 9.

pub mod activation;
pub mod attention_entropy;
mod bisection;
pub mod chance;
pub mod convergence;
pub mod critical;
pub mod isotropic;
pub mod linear;
pub mod marginal;
pub mod shell;
pub mod tree;

pub use activation::Activation;
pub(crate) use bisection::bisect;
pub use critical::{Betas, CriticalPoint};
pub use isotropic::{Isotropic, Radial};
pub use shell::Shell;
