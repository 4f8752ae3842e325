//! Tests of the laboratory, in one program.

mod calibration;
mod common;
mod evidence;
mod scaffold;
