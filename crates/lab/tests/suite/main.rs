//! Tests of the laboratory, in one program.

mod calibration;
mod evidence;
mod scaffold;
