//! The claims, closed forms and experiments of this room against simulation and independent numbers.

mod claims;
mod horizon;
#[cfg(feature = "train")]
mod icl;
#[cfg(feature = "train")]
mod language;
mod maps;
mod settings;
mod theory;
mod unroll;
mod witnesses;
