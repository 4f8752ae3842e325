//! Tests of the room for tokens as particles.

mod collapse;
mod experiments;
