//! The claims of this room, one file per statement or family of statements.

pub mod columns;
mod eq35;
mod eq9;
mod horizon_law;
mod lemma1;
mod lemma2;
mod lemma3;
mod mssa_is_mhsa;
pub mod setting;
mod softmax_rate;
mod tau_interval;
mod theorem1;
mod theorem1_bounded;

#[cfg(not(target_family = "wasm"))]
pub(crate) use theorem1::Theorem1;

use attnlab_lab::claim::Claim;
use lemma2::{Event, Lemma2Claim};
use std::sync::Arc;

/// All claims, in the order in which the papers print them.
pub fn all() -> Vec<Arc<dyn Claim>> {
    vec![
        Arc::new(theorem1::Theorem1::default()),
        Arc::new(theorem1_bounded::Theorem1Bounded::default()),
        Arc::new(horizon_law::HorizonLaw::default()),
        Arc::new(softmax_rate::SoftmaxRate::default()),
        Arc::new(lemma1::Lemma1::default()),
        Arc::new(Lemma2Claim::printed(Event::PartI)),
        Arc::new(Lemma2Claim::printed(Event::Signal12)),
        Arc::new(Lemma2Claim::printed(Event::Noise13)),
        Arc::new(Lemma2Claim::printed(Event::PartII)),
        Arc::new(Lemma2Claim::printed(Event::Signal14)),
        Arc::new(Lemma2Claim::printed(Event::Mixed15)),
        Arc::new(Lemma2Claim::printed(Event::Noise16)),
        Arc::new(Lemma2Claim::printed(Event::Noise16Corrected)),
        Arc::new(Lemma2Claim::printed(Event::Maximum17)),
        Arc::new(Lemma2Claim::printed(Event::Maximum17Corrected)),
        Arc::new(Lemma2Claim::printed(Event::PartIV)),
        Arc::new(Lemma2Claim::printed(Event::Signal18)),
        Arc::new(Lemma2Claim::printed(Event::Noise19)),
        Arc::new(lemma3::Lemma3::printed()),
        Arc::new(lemma3::Lemma3::bounded()),
        Arc::new(tau_interval::TauInterval::default()),
        Arc::new(eq35::Eq35::default()),
        Arc::new(eq9::Eq9::default()),
        Arc::new(mssa_is_mhsa::MssaIsMhsa::default()),
    ]
}
