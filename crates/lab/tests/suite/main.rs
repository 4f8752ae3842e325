//! Tests of the laboratory, in one program.

mod evidence;
mod scaffold;
