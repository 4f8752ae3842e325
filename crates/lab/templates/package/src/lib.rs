//! A room of attnlab: one claim, one experiment, and the paper that they belong to.

pub mod experiments;
pub mod theorem;

use attnlab::catalogue::Room;
use attnlab::prelude::*;

/// The papers whose statements this package checks; sheets name them by `key`.
pub static PAPERS: &[Paper] = &[Paper {
    key: "notes",
    title: "Notes on the entropy of attention",
    authors: "",
    venue: "",
    year: 2026,
    link: "",
}];

/// Returns the room of this package.
pub fn room() -> Room {
    Room::new("my_theorem", PAPERS)
        .claim(theorem::EntropyGap::PRINTED)
        .experiments(experiments::entries())
}
