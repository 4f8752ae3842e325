//! Tests of the room for tokens as particles.

mod experiments;
