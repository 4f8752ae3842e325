//! JoMA: joint dynamics of MLP and attention in training.
//!
//! A room of attnlab: statements in `sheets/`, [`claims`], closed forms ([`theory`], [`formulas`]),
//! [`experiments`] with their settings, and the [`quantities`] they share.

pub mod alignment;
pub mod claims;
#[cfg(not(target_family = "wasm"))]
mod commands;
pub mod dynamics;
pub mod experiments;
pub mod formulas;
pub mod hierarchy;
pub mod network;
pub mod quantities;
pub mod text;
pub mod theory;
pub mod tokens;
pub mod tree;

use attnlab_lab::catalogue::Room;
use attnlab_lab::claim::Paper;

/// The papers of this room.
///
/// The numbers of equations, lemmas and appendices are those of the anonymous manuscript, which names neither
/// authors nor venue; published versions may count otherwise.
pub static PAPERS: &[Paper] = &[Paper {
    key: "joma",
    title: "JoMA: Demystifying Multilayer Transformers via Joint Dynamics",
    authors: "Yuandong Tian, Yiping Wang, Zhenyu Zhang, Beidi Chen, Simon Du",
    venue: "",
    year: 2024,
    link: "https://arxiv.org/abs/2310.00535",
}];

/// Everything in this room.
pub fn room() -> Room {
    let room = Room::new("joma", PAPERS)
        .subjects(&["training dynamics", "sparse attention"])
        .claims(claims::all())
        .experiments(experiments::entries())
        .formulas(formulas::formulas());
    // They work on files, which a browser has not.
    #[cfg(not(target_family = "wasm"))]
    let room = room.commands(commands::all());
    room
}
