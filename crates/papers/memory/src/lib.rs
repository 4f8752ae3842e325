//! Dense associative memories: storage and retrieval by modern Hopfield networks, whose update is softmax attention.
//!
//! A room of attnlab: statements in `sheets/`, [`claims`], closed forms ([`theory`], [`formulas`]), [`experiments`]
//! with their settings, and the [`quantities`] they share. The update and its energy are those of
//! [`DenseMemory`](attnlab_theory::attention::memory::DenseMemory) at α = 1.

pub mod claims;
pub mod experiments;
pub mod formulas;
pub mod patterns;
pub mod quantities;
pub mod theory;

use attnlab_lab::catalogue::Room;
use attnlab_lab::claim::Paper;

/// The papers of this room.
pub static PAPERS: &[Paper] = &[
    Paper {
        key: "hopfield",
        title: "Hopfield networks is all you need",
        authors: "Hubert Ramsauer, Bernhard Schäfl, Johannes Lehner, Philipp Seidl, Michael Widrich, Thomas Adler, \
                  Lukas Gruber, Markus Holzleitner, Milena Pavlović, Geir Kjetil Sandve, Victor Greiff, David Kreil, \
                  Michael Kopp, Günter Klambauer, Johannes Brandstetter, Sepp Hochreiter",
        venue: "ICLR 2021, arXiv 2008.02217v3",
        year: 2021,
        link: "https://arxiv.org/abs/2008.02217",
    },
    Paper {
        key: "exponential",
        title: "The exponential capacity of dense associative memories",
        authors: "Carlo Lucibello, Marc Mézard",
        venue: "Physical Review Letters 132, arXiv 2304.14964",
        year: 2024,
        link: "https://arxiv.org/abs/2304.14964",
    },
];

const TERMS: &[(&str, &str)] = &[
    (
        "stored pattern",
        "a pattern x_i in a ball S_i, disjoint from the balls of the others, with a single fixed point x_i* to which \
         all points of S_i converge",
    ),
    ("separation Δ_i", "the least of ⟨x_i, x_i⟩ - ⟨x_i, x_j⟩ over the other patterns x_j"),
];

/// Everything in this room.
pub fn room() -> Room {
    Room::new("memory", PAPERS)
        .subjects(&["memories", "Hopfield networks", "capacity"])
        .claims(claims::all())
        .experiments(experiments::entries())
        .formulas(formulas::formulas())
        .terms(TERMS)
}
