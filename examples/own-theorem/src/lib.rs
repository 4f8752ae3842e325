//! Sparsemax attention as a room of attnlab: a [nonlinearity](sparsemax::Sparsemax), two claims
//! ([`projection`], [`support`]), a [closed form](formulas) and an [experiment](experiments).

pub mod experiments;
pub mod formulas;
pub mod projection;
pub mod quantities;
pub mod sparsemax;
pub mod support;

use attnlab::catalogue::Room;
use attnlab::prelude::*;

/// The papers whose statements this package checks; sheets name them by `key`.
pub static PAPERS: &[Paper] = &[
    Paper {
        key: "sparsemax",
        title: "From Softmax to Sparsemax: A Sparse Model of Attention and Multi-Label Classification",
        authors: "A. F. T. Martins, R. F. Astudillo",
        venue: "ICML 2016",
        year: 2016,
        link: "https://arxiv.org/abs/1602.02068",
    },
    Paper { key: "notes", title: "Notes on the support of sparsemax", authors: "", venue: "", year: 2026, link: "" },
];

/// Everything in this package.
pub fn room() -> Room {
    Room::new("own", PAPERS)
        .claim(projection::Projection::printed())
        .claim(support::Support::PRINTED)
        .formulas(formulas::all())
        .experiments(experiments::entries())
        .terms(&[("support", "the entries of a column of attention whose weight is not 0")])
}
