//! In-context denoising with one-layer transformers: one attention layer as one gradient step on the energy
//! of a dense associative memory.
//!
//! A room of attnlab: statements in `sheets/`, [`claims`], closed forms ([`theory`], [`formulas`]),
//! [`experiments`] with their settings, and the [`quantities`] they share.

pub mod claims;
pub mod experiments;
pub mod formulas;
pub mod prompts;
pub mod quantities;
pub mod scales;
pub mod theory;

use attnlab_lab::catalogue::Room;
use attnlab_lab::claim::Paper;

/// The papers of this room.
pub static PAPERS: &[Paper] = &[Paper {
    key: "denoising",
    title: "In-Context Denoising with One-Layer Transformers",
    authors: "Matthew Smart, Alberto Bietti, Anirvan M. Sengupta",
    venue: "",
    year: 2025,
    link: "https://arxiv.org/abs/2502.05164",
}];

/// Everything in this room.
pub fn room() -> Room {
    Room::new("denoising", PAPERS)
        .subjects(&["denoising", "in-context learning", "memories"])
        .claims(claims::all())
        .experiments(experiments::entries())
        .formulas(formulas::formulas())
}
