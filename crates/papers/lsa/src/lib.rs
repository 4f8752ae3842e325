//! Lecture notes on linear self-attention, with the theorems of Zhang, Frei and Bartlett that they state.
//!
//! A room of attnlab: statements in `sheets/`, [`claims`], closed forms ([`theory`], [`formulas`]),
//! [`experiments`] with their settings, and the [`quantities`] they share.

pub mod claims;
pub mod dynamics;
pub mod experiments;
pub mod formulas;
pub mod prompts;
pub mod quantities;
pub mod theory;

use attnlab_lab::catalogue::Room;
use attnlab_lab::claim::Paper;

/// The papers of this room. The notes name neither author nor year nor place; the latest work that they
/// cite is of 2024 (Zhang, Frei and Bartlett, JMLR).
pub static PAPERS: &[Paper] = &[Paper {
    key: "notes",
    title: "Lecture notes: transformers and linear attention",
    authors: "",
    venue: "",
    year: 0,
    link: "",
}];

/// Everything in this room.
pub fn room() -> Room {
    Room::new("lsa", PAPERS)
        .subjects(&["in-context learning", "linear attention", "training dynamics"])
        .claims(claims::all())
        .experiments(experiments::entries())
        .formulas(formulas::formulas())
}
