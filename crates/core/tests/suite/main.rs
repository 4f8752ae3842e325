//! Tests of the ground that attnlab stands on.

mod statistics;
