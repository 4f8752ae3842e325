//! Tests of the room for linear self-attention.

mod experiments;
mod refusals;
mod risk;
mod setting;
mod settings;
mod stiff;
mod theory;
mod witnesses;
