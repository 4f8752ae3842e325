//! Tests of the laboratory, in one program.

mod scaffold;
