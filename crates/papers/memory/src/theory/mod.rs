//! Closed forms and certificates: capacity, storage, weights on the sphere.

pub mod ramsauer;
pub mod sphere;
pub mod stored;
