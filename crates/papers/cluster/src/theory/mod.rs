//! Closed forms of the room.
//!
//! - [`equiangular`]: the common inner product of tokens from an orthonormal start, its pre-LN form, and how far
//!   random tokens deviate from it.
//! - [`pair`]: the merging of the closest pair of clusters.
//! - [`long_context`]: one attention layer on equiangular tokens at β = γ log n.
//! - [`modes`]: growth rates of the modes of a uniform law on the circle.
//! - [`caps`]: areas of spherical caps, which count strong Rényi centres.
//! - [`collapse`]: the collapse of tokens under pure attention, and its printed bound.

pub mod caps;
pub mod collapse;
pub mod equiangular;
pub mod long_context;
pub mod modes;
pub mod pair;
