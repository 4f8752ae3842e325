//! Attention-only transformers via unrolled subspace denoising: tokens from noisy low-rank Gaussians,
//! denoised by unrolled multi-head subspace self-attention; Theorem 1 and its lemmas.
//!
//! A room of attnlab: statements in `sheets/`, [`claims`], closed forms ([`theory`], [`formulas`]),
//! [`experiments`] with their settings, the [`quantities`] they share, and the [`commands`], which
//! [`draws`], [`evaluate`], [`horizon::horizon`], [`inspect::inspect`] and [`unroll::unroll`] offer to Rust.

pub mod arrays;
pub mod claims;
#[cfg(not(target_family = "wasm"))]
pub mod commands;
#[cfg(not(target_family = "wasm"))]
pub mod corpus;
pub mod draws;
#[cfg(not(target_family = "wasm"))]
pub mod evaluate;
#[cfg(not(target_family = "wasm"))]
pub mod experiments;
pub mod formulas;
pub mod horizon;
#[cfg(not(target_family = "wasm"))]
pub mod inspect;
pub mod quantities;
pub mod rare_event;
pub mod theory;
pub mod unroll;

use attnlab_lab::catalogue::Room;
use attnlab_lab::claim::Paper;

/// The papers of this room.
pub static PAPERS: &[Paper] = &[
    Paper {
        key: "aot-2024",
        title: "Attention-Only Transformers via Unrolled Subspace Denoising",
        authors: "Anonymous",
        venue: "2024",
        year: 2024,
        link: "",
    },
    Paper {
        key: "aot-2025",
        title: "Attention-Only Transformers via Unrolled Subspace Denoising",
        authors: "Peng Wang, Yifu Lu, Yaodong Yu, Druv Pai, Qing Qu, Yi Ma",
        venue: "ICML 2025",
        year: 2025,
        link: "https://arxiv.org/abs/2506.03790",
    },
];

/// Terms of this room, for the glossary.
const TERMS: &[(&str, &str)] = &[
    (
        "pattern (30)",
        "the weights that Lemma 3 finds: a token of cluster k gives weight τ to itself and none to any other, and \
         a token outside cluster k gives no weight to any",
    ),
    (
        "horizon",
        "the first factor θ = (1 + ητ)^l of the scores, and so the first layer l, at which the pattern (30) breaks \
         in a draw",
    ),
    (
        "captured",
        "of a column outside a cluster: it gives one token of that cluster more than τ of its attention, and \
         is amplified like signal from then on",
    ),
    ("reach", "b = θδ√(p / log N), the scale on which horizons of different sizes agree"),
    (
        "decided again",
        "of a column: its decision lies within the rounding bound of the fast pass and was computed again in \
         f64",
    ),
];

/// Everything in this room.
pub fn room() -> Room {
    let room = Room::new("aot", PAPERS)
        .subjects(&["denoising", "unrolling", "subspaces", "trained networks"])
        .claims(claims::all())
        .formulas(formulas::formulas())
        .terms(TERMS);
    // Both work on files, which a browser has not.
    #[cfg(not(target_family = "wasm"))]
    let room = room.experiments(experiments::entries()).commands(commands::all());
    room
}
